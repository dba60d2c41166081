"""Files of the lake: how rows of other systems become samples."""
