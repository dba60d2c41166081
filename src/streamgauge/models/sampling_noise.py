"""How far what a window of time measures scatters around the long run.

A mean of N latencies scatters less the more tuples it is of, but tuples that wait in one queue wait
for the same ones ahead. In an M/M/1 queue the variance of the mean of n waits, over their squared
mean, is (2 + 5ρ − 4ρ² + ρ³)/(ρ·(1 − ρ)²·n) (Blomqvist 1967, Daley 1968: waits are correlated). Of
other queues it is taken to be (cₐ² + cₛ²)/2 times as much, which is right in heavy traffic (Whitt
1989, Management Science 35, p. 1341). By Kingman's W = (cₐ² + cₛ²)/2·ρ/(1 − ρ)·s that factor is
W·(1 − ρ)/(ρ·s). All other parts of latency are taken as independent from tuple to tuple.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from streamgauge.models.delays import Part
from streamgauge.models.end_to_end_latency import Latency
from streamgauge.models.prediction import OperatorPrediction

# Operators by name, as predicted.
Operators = Mapping[str, OperatorPrediction]

# Squared variation of what comes and of what a tuple takes, where none is at hand.
VARIED = 1.0
# A mean that scatters by more than itself is not known at all.
MOST = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A time in which something is measured.

    Attributes:
        roots_per_second: What all sources emit together.
    """

    seconds: float
    roots_per_second: float

    @property
    def roots(self) -> float:
        """Tuples that sources emit in it."""
        return self.seconds * self.roots_per_second


def scatter_of_mean(latency: Latency, operators: Operators, window: Window) -> float:
    """Standard deviation of the mean latency in a window, as a part of the mean."""
    if not math.isfinite(latency.mean) or latency.mean <= 0.0 or window.roots <= 0.0:
        return math.nan
    alone = latency.variance / window.roots
    queued = _scatter_of_queues(latency, operators, window)
    return min(math.sqrt(alone + queued) / latency.mean, MOST)


def _scatter_of_queues(latency: Latency, operators: Operators, window: Window) -> float:
    """Variance of the mean time in queues, in squared seconds; queues of executors are independent.

    What a tuple waits in all is divided among operators as all tuples' waiting is.
    """
    waited = {
        name: one.arrived_per_second * one.parts.get(Part.QUEUEING.value, 0.0)
        for name, one in operators.items()
    }
    total = math.fsum(waited.values())
    known = latency.parts.get(Part.QUEUEING)
    # Of whole trees the parts are not known: all that waits counts then, once a root.
    if total <= 0.0 or not math.isfinite(total):
        return 0.0
    queueing = total / window.roots_per_second if known is None else known
    variance = 0.0
    for name, one in operators.items():
        part = waited[name] / total
        relative = _scatter_of_wait(one, window.seconds)
        variance += (part * queueing) ** 2 * relative / max(one.executors - one.idle, 1)
    return variance


def _scatter_of_wait(operator: OperatorPrediction, seconds: float) -> float:
    """Variance of the mean wait at an executor over its square."""
    busy = operator.utilisation
    wait = operator.parts.get(Part.QUEUEING.value, 0.0)
    if not 0.0 < busy < 1.0 or wait <= 0.0:
        return 0.0
    correlated = 2.0 + 5.0 * busy - 4.0 * busy**2 + busy**3
    return wait * correlated / (busy**3 * (1.0 - busy) * seconds)


def scatter_of_quantile(
    latency: Latency, level: float, operators: Operators, window: Window
) -> float:
    """Standard deviation of a percentile in a window, as a part of it.

    √(p·(1 − p)/N)/f, with as many independent latencies N as would scatter like the mean does, and
    the density f of an exponential tail through the two nearest percentiles.
    """
    of_mean = scatter_of_mean(latency, operators, window)
    levels = sorted(latency.quantiles)
    value = latency.quantiles.get(level, math.nan)
    if math.isnan(of_mean) or not math.isfinite(value) or value <= 0.0 or len(levels) < 2:
        return math.nan
    independent = latency.variance / (of_mean * latency.mean) ** 2
    place = max(levels.index(level), 1)
    low, high = levels[place - 1], levels[place]
    apart = latency.quantiles[high] - latency.quantiles[low]
    tail = apart / math.log((1.0 - low) / (1.0 - high))
    return min(tail * math.sqrt(level / ((1.0 - level) * independent)) / value, MOST)


def scatter_of_count(per_second: float, window: Window) -> float:
    """Standard deviation of a rate in a window, as a part of it: as of a Poisson process."""
    counted = per_second * window.seconds
    return min(1.0 / math.sqrt(counted), MOST) if counted > 0.0 else math.nan


def scatter_of_work(per_second: float, window: Window) -> float:
    """The same of the time that so many tuples keep an executor or a core busy."""
    return min(math.sqrt(1.0 + VARIED) * scatter_of_count(per_second, window), MOST)
