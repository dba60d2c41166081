"""Files that models read."""
