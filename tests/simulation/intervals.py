"""Independent runs against a value, or against other runs: intervals of 99.9 %."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import stdtrit

RUNS = 10
SURE = 0.9995


def runs_of(run: Callable[[int], object], figure: Callable[[object], float]) -> list[float]:
    """A figure of ten runs with the seeds 1 to 10."""
    return [figure(run(seed)) for seed in range(1, RUNS + 1)]


def holds(values: Sequence[float], expected: float, *, within: float = 0.05) -> None:
    """The interval of the mean must hold the value, and be no wider than `within` of it."""
    mean, half = _interval(values)
    print(f"expected {expected:.6g}, found {mean:.6g} ± {half:.6g}")
    assert abs(mean - expected) <= half + 1e-9 * abs(expected)
    assert half <= within * abs(expected)


def alike(ours: Sequence[float], theirs: Sequence[float], *, within: float = 0.1) -> None:
    """Two means must differ by no more than chance allows, and that must not be much."""
    a, b = np.asarray(ours), np.asarray(theirs)
    error = a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b)
    freedom = min(len(a), len(b)) - 1
    half = float(stdtrit(freedom, SURE)) * math.sqrt(error)
    print(f"ours {a.mean():.6g}, theirs {b.mean():.6g}, may differ by {half:.6g}")
    assert abs(a.mean() - b.mean()) <= half + 1e-9 * abs(b.mean())
    assert half <= within * abs(b.mean())


def _interval(values: Sequence[float]) -> tuple[float, float]:
    found = np.asarray(values)
    half = float(stdtrit(len(found) - 1, SURE)) * found.std(ddof=1) / math.sqrt(len(found))
    return float(found.mean()), float(half)
