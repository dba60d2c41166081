"""Files of clusters that jobs share."""
