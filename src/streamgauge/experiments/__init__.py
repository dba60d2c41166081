"""Running jobs on an engine step by step, and keeping what was measured as the truth."""
