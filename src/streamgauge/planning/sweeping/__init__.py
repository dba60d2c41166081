"""Sweeps: thousands of plans under several loads, by one or more models."""
