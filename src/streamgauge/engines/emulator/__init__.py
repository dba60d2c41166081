"""The simulator seen as an engine: it writes what the metrics agents of a cluster would."""
