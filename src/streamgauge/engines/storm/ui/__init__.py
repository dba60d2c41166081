"""Storm's UI as a source: its REST service, and what its documents say."""
