"""Synthetic traffic for tests: days and weeks with noise."""

import numpy as np

STEP_SECONDS = 900.0
DAY = 96


def course(days, *, noise=0.01, seed=0, weekend=1.0, level=1000.0):
    """Values of 15 minutes: a day's wave, a weekend's share, and relative noise."""
    at = np.arange(days * DAY)
    wave = 1.0 + 0.5 * np.sin(2.0 * np.pi * at / DAY) + 0.2 * np.cos(4.0 * np.pi * at / DAY)
    share = np.where(at // DAY % 7 >= 5, weekend, 1.0)
    random = np.random.default_rng(seed)
    return level * wave * share * (1.0 + noise * random.normal(size=len(at)))
