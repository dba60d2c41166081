"""Pictures of topologies: layered layouts and terminal drawings."""
