"""Pure functions from a profile, a plan and a workload to numbers."""
