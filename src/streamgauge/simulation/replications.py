"""Several independent runs of one simulation, and how far their mean can be trusted."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Protocol

from streamgauge.errors import Findings
from streamgauge.simulation.estimates import Estimate, estimate
from streamgauge.simulation.results import SimulationResult
from streamgauge.topology.field_checks import check_whole


def estimate_of(
    results: Sequence[SimulationResult], figure: Callable[[SimulationResult], float]
) -> Estimate:
    """One figure over all runs that have it; runs without, such as an empty sink, are left out."""
    values = [value for value in map(figure, results) if not math.isnan(value)]
    return estimate(values) if values else Estimate(mean=math.nan, half_width=math.nan, runs=0)


class Run(Protocol):
    """A simulation that lacks nothing but its seed; it must survive being sent to a process."""

    def __call__(self, *, seed: int) -> SimulationResult:
        """Run it."""
        ...


def replicate(
    run: Run, *, seed: int, replications: int, processes: int | None = None
) -> list[SimulationResult]:
    """Run the simulation with the seeds from `seed` on, on all cores.

    Args:
        run: What to run.
        seed: Of the first run.
        replications: How many runs.
        processes: How many at once; as many as there are cores when not given.
    """
    findings = Findings()
    check_whole(findings, replications, "replications")
    findings.raise_if_any()
    seeds = range(seed, seed + replications)
    workers = min(processes or os.cpu_count() or 1, replications)
    if workers == 1:
        return [run(seed=one) for one in seeds]
    # Fresh processes: a forked one would share the locks of libraries that run threads.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(run, seed=one) for one in seeds]
        return [future.result() for future in futures]
