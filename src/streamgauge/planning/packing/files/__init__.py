"""Catalogues of machine types as files."""
