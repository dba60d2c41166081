"""Latency between nodes, from probes on whatever plan was measured.

Cooper 2020, section 4.11: the median, which spikes do not move, or another percentile. Between
nodes that were never probed the cluster's description counts, and else the median of all probed
pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.job_behaviour import JobBehaviour, TimeMoments
from streamgauge.topology.physical_plan import PhysicalPlan

MEDIAN = 0.5
SECONDS_PER_MS = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Network:
    """One-way latency between the nodes of a plan, in their order.

    Attributes:
        seconds: From row to column; zero on the diagonal.
        variance: Of the same.
        notes: What was assumed for want of probes.
    """

    seconds: NDArray[np.float64]
    variance: NDArray[np.float64]
    notes: tuple[str, ...]


def network_of(
    plan: PhysicalPlan, behaviour: JobBehaviour, *, percentile: float = MEDIAN
) -> Network:
    """How far the nodes of a plan are from each other.

    Args:
        plan: Whose nodes.
        behaviour: With probes between some of them, or none.
        percentile: Which latency counts; the median is typical, a high one for worst cases.
    """
    measured = behaviour.links
    usual = [_at(latency, percentile) for latency in measured.values()]
    typical = float(np.median(usual)) if usual else None
    size = len(plan.nodes)
    seconds, variance = np.zeros((size, size)), np.zeros((size, size))
    guessed: list[str] = []
    for row, source in enumerate(plan.nodes):
        for column, target in enumerate(plan.nodes):
            if row == column:
                continue
            known = measured.get((source, target), measured.get((target, source)))
            if known is not None:
                seconds[row, column] = _at(known, percentile)
                variance[row, column] = float(known.variance) * SECONDS_PER_MS**2
                continue
            declared = plan.cluster.latency_between(source, target) * SECONDS_PER_MS
            if declared == 0.0 and typical is not None:
                declared = typical
                guessed.append(f"{source} → {target}")
            seconds[row, column] = declared
            jitter = plan.cluster.jitter_between(source, target) * SECONDS_PER_MS
            variance[row, column] = jitter**2
    notes = []
    if guessed:
        notes.append(
            f"{len(guessed)} of {size * (size - 1)} pairs of nodes were not probed, such as"
            f" {guessed[0]}: the median of the others is used"
        )
    return Network(seconds=seconds, variance=variance, notes=tuple(notes))


def _at(latency: TimeMoments, percentile: float) -> float:
    """The percentile, between the recorded ones by a straight line; the mean without any."""
    if latency.quantiles_ms is None:
        return float(latency.mean_ms) * SECONDS_PER_MS
    quantile = np.interp(percentile, latency.probabilities, latency.quantiles_ms.value)
    return float(quantile) * SECONDS_PER_MS
