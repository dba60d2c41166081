"""Applications and platforms in YAML and JSON files."""
