"""Whether a simulated mean agrees with an expected one."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit


def agree(samples: Sequence[float], expected: float, *, within: float = 0.1) -> None:
    """Compares the mean of a series that depends on itself, by the means of 30 long stretches.

    The interval of 99.9 % must hold the expected value, and must not reach farther than the share
    `within` of it to either side.
    """
    batches = 30
    size = len(samples) // batches
    means = np.asarray(samples[: size * batches], dtype=float).reshape(batches, size).mean(axis=1)
    half = stdtrit(batches - 1, 0.9995) * means.std(ddof=1) / math.sqrt(batches)
    print(f"expected {expected:.5f}, found {means.mean():.5f} ± {half:.5f}")
    assert abs(means.mean() - expected) <= half + 1e-9 * abs(expected)
    assert half <= within * abs(expected)
