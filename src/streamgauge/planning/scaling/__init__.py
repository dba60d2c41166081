"""Scaling: which operators get how many more units."""
