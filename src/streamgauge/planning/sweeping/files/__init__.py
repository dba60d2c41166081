"""The file of a sweep."""
