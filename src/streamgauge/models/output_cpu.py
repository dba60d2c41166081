"""ψ: CPU in proportion to output, as Caladrius predicts it; a baseline beside the CPU model.

Kalim et al. 2019, section IV.D: CPU of an instance grows in proportion to what it emits, and is
highest at saturation. So cores = ψ·output, at any parallelism. What threads use without a tuple is
in ψ, unless loads differ enough to tell an intercept from it. A sink emits nothing: its input
counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from streamgauge.models.capacity_fit import Fitted, slope_of
from streamgauge.models.queueing import as_vector

# The highest load must be so many times the lowest for an intercept to be fitted,
SPREAD = 1.5
# from so many observations.
FEWEST = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputCpu:
    """Cores by output.

    Attributes:
        psi: Core seconds for each tuple out.
        idle_cores: Of an executor that emits nothing; zero where that cannot be told.
    """

    psi: Fitted
    idle_cores: float = 0.0

    def cores(self, per_second: float, executors: int) -> float:
        """Of all executors of an operator that emit so much together."""
        return self.psi.value * per_second + self.idle_cores * executors


def fit_output_cpu(
    per_second: ArrayLike, cores: ArrayLike, executors: ArrayLike
) -> OutputCpu | None:
    """ψ from observations of an operator; None without any.

    Args:
        per_second: Tuples out by observation.
        cores: Of all its executors' threads.
        executors: How many there were.
    """
    rates, used, count = (
        as_vector(one).ravel() for one in np.broadcast_arrays(per_second, cores, executors)
    )
    known = np.isfinite(used) & np.isfinite(rates) & (rates > 0.0) & (count > 0.0)
    rates, used, count = rates[known], used[known], count[known]
    if not len(rates):
        return None
    idle = 0.0
    each = rates / count
    if len(rates) >= FEWEST and each.max() > SPREAD * each.min():
        _, intercept = np.polyfit(each, used / count, 1)
        idle = max(0.0, float(intercept))
    psi = slope_of(rates, used - idle * count)
    return OutputCpu(psi=psi, idle_cores=idle) if math.isfinite(psi.value) else None
