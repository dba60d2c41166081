"""The nouns in YAML and JSON files."""
