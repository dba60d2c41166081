"""Raw metrics into the lake: every row once, nothing lost, all of a batch or nothing."""
