"""From partial sums to figures, and from figures to a profile: statistics without Spark."""
