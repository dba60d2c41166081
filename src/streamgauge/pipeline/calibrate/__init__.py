"""From the lake's tables to exact partial sums and counts: the Spark half of calibration."""
