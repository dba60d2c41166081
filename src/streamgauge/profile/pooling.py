"""Pooling: one figure from the figures of several tasks.

Tasks are weighted by their samples, or equally where none has any. Buckets are periods of time
that tasks share, so a pooled figure has as many as the task with the most. Errors of tasks are
assumed to be independent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from streamgauge.profile.figures import ExecutorFigures, Figure, TimeFigures
from streamgauge.topology.logical_plan import Executor


def weigh_by_samples(figures: Sequence[Figure]) -> list[float]:
    """The part of the samples that each figure rests on."""
    total = sum(figure.samples for figure in figures)
    if total == 0:
        return [1.0 / len(figures)] * len(figures)
    return [figure.samples / total for figure in figures]


def pool_mean(figures: Sequence[Figure]) -> Figure | None:
    """The mean over all samples; None without figures."""
    return _combine(figures, weigh_by_samples(figures)) if figures else None


def pool_total(figures: Sequence[Figure]) -> Figure | None:
    """The sum, such as the rate of all tasks; None without figures."""
    return _combine(figures, [1.0] * len(figures)) if figures else None


def pool_slowdown(executors: Mapping[str, ExecutorFigures]) -> dict[str, Figure]:
    """By operator, how many times as long its work took for want of a core.

    Executors count by the CPU time of their work.
    """
    by_operator: dict[str, list[tuple[Figure, float]]] = {}
    for label, one in executors.items():
        if one.slowdown is not None and one.cores is not None:
            idle = 0.0 if one.idle_cores is None else one.idle_cores.value
            worked = max(one.cores.value - idle, 0.0)
            name = Executor.parse(label).operator
            by_operator.setdefault(name, []).append((one.slowdown, worked))
    found = {}
    for name, known in by_operator.items():
        total = math.fsum(worked for _, worked in known)
        if total > 0.0:
            weights = [worked / total for _, worked in known]
            found[name] = _combine([figure for figure, _ in known], weights)
    return found


def pool_times(times: Sequence[TimeFigures]) -> TimeFigures | None:
    """The time of a tuple of any task.

    The variability is that within tasks and between them (law of total variance), where all
    tasks with samples know theirs. Quantiles do not add up: each is that of the slowest task.
    """
    if not times:
        return None
    means = [one.mean_ms for one in times]
    weights = weigh_by_samples(means)
    mean = _combine(means, weights)
    quantiles: dict[float, float] = {}
    for one in times:
        for probability, value in one.quantiles_ms.items():
            quantiles[probability] = max(value, quantiles.get(probability, 0.0))
    # Not every task may know every quantile, and none may fall below the one before.
    highest = 0.0
    for probability in sorted(quantiles):
        highest = quantiles[probability] = max(highest, quantiles[probability])
    return TimeFigures(mean_ms=mean, scv=_pool_scv(times, weights, mean), quantiles_ms=quantiles)


def _pool_scv(
    times: Sequence[TimeFigures], weights: Sequence[float], mean: Figure
) -> Figure | None:
    known = [one.scv for one, weight in zip(times, weights, strict=True) if weight > 0.0]
    scvs = [scv for scv in known if scv is not None]
    if len(scvs) < len(known) or mean.value <= 0.0:
        return None
    counted = [one for one, weight in zip(times, weights, strict=True) if weight > 0.0]
    shares = [weight for weight in weights if weight > 0.0]
    second = math.fsum(
        share * (1.0 + scv.value) * (one.mean_ms.value / mean.value) ** 2
        for share, scv, one in zip(shares, scvs, counted, strict=True)
    )
    rough = _combine(scvs, shares)
    return Figure(
        value=max(0.0, second - 1.0),
        samples=rough.samples,
        buckets=rough.buckets,
        standard_error=rough.standard_error,
    )


def _combine(figures: Sequence[Figure], weights: Sequence[float]) -> Figure:
    counted = [(one, weight) for one, weight in zip(figures, weights, strict=True) if weight > 0.0]
    errors = [one.standard_error for one, _ in counted]
    known = [error for error in errors if error is not None]
    error = None
    if known and len(known) == len(errors):
        error = math.hypot(*(weight * one for (_, weight), one in zip(counted, known, strict=True)))
    return Figure(
        value=math.fsum(weight * one.value for one, weight in counted),
        samples=sum(one.samples for one in figures),
        buckets=max(one.buckets for one in figures),
        standard_error=error,
    )
