"""Independent runs of a simulation, or batches of a run, and how far their mean can be trusted."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from streamgauge.errors import Findings
from streamgauge.topology.field_checks import check_whole

if TYPE_CHECKING:
    from streamgauge.simulation.results import SimulationResult

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over independent runs, or over batches of one.

    Attributes:
        mean: Over the runs.
        half_width: The true mean lies this close with 95 % confidence; NaN for one run.
        runs: How many there were.
    """

    mean: float
    half_width: float
    runs: int


def estimate(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Mean and Student's confidence interval of independent values."""
    runs = len(values)
    mean = math.fsum(values) / runs
    if runs == 1:
        return Estimate(mean=mean, half_width=math.nan, runs=1)
    variance = math.fsum((value - mean) ** 2 for value in values) / (runs - 1)
    quantile = float(special.stdtrit(runs - 1, 0.5 + confidence / 2.0))
    return Estimate(mean=mean, half_width=quantile * math.sqrt(variance / runs), runs=runs)


def settled_after(series: NDArray[np.float64], most: int) -> int:
    """How many entries at the beginning of a series to leave out, at most `most` of them.

    The marginal standard error rule (White 1997): leave out as many as make the standard error of
    the mean of the rest smallest.
    """
    values = series[~np.isnan(series)]
    skipped = len(series) - len(values)
    if len(values) < 4:
        return 0
    errors = []
    for cut in range(min(most, len(values) - 2) + 1):
        rest = values[cut:]
        errors.append(float(rest.var()) / len(rest))
    return min(int(np.argmin(errors)) + skipped, most)


def estimate_of(
    results: Sequence[SimulationResult], figure: Callable[[SimulationResult], float]
) -> Estimate:
    """One figure over all runs that have it; runs without, such as an empty sink, are left out."""
    values = [value for value in map(figure, results) if not math.isnan(value)]
    return estimate(values) if values else Estimate(mean=math.nan, half_width=math.nan, runs=0)


class Run(Protocol):
    """A simulation that lacks nothing but its seed."""

    def __call__(self, *, seed: int) -> SimulationResult:
        """Run it."""
        ...


def replicate(
    run: Run, *, seed: int, replications: int, threads: int | None = None
) -> list[SimulationResult]:
    """Run the simulation with the seeds from `seed` on, on all cores; how many changes no result.

    Threads do, as the kernel runs without Python's lock.

    Args:
        run: What to run.
        seed: Of the first run.
        replications: How many runs.
        threads: How many at once; as many as there are cores when not given.
    """
    findings = Findings()
    check_whole(findings, replications, "replications")
    findings.raise_if_any()
    with ThreadPoolExecutor(min(threads or os.cpu_count() or 1, replications)) as pool:
        return list(pool.map(lambda one: run(seed=one), range(seed, seed + replications)))
