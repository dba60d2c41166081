"""Event-driven simulators, compiled with Numba."""
