"""Jobs, behaviours and profiles in YAML and JSON files."""
