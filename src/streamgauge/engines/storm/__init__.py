"""Apache Storm: a cluster on this machine, plans applied to it, and what it measures."""
