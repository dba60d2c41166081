"""The cheapest plan that meets an objective: capacity first, then latency, then trimming."""
