"""Tests; a package of its own, whatever else is installed under that name."""
