"""Schedulers: which worker runs which executor."""
