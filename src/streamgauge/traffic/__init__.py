"""Forecasts of traffic: series on a regular grid, experts, their combination, its intervals."""
