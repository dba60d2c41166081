"""Predict how a streaming job would behave under a plan that has never been deployed."""

__version__ = "0.1.0"
