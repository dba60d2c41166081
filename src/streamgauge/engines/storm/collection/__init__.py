"""What is seen of a running Storm cluster from outside, and how it becomes raw metrics."""
