"""The back-test: what a model says of the plan and load that were measured, beside what was seen.

A profile holds results, too, which no prediction rests on: latency from end to end, of whole tuple
trees, cores and rates. Where a model misses those, it will miss other plans as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from streamgauge.models.prediction import Prediction
from streamgauge.profile.figures import Figure, OutputFigures, TimeFigures
from streamgauge.profile.pooling import pool_mean, pool_total
from streamgauge.profile.profile import Profile
from streamgauge.topology.topology import OperatorKind

MEAN, COMPLETE, SEEN = (
    "mean latency, source to sink",
    "mean complete (engine)",
    "mean complete (source)",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackTested:
    """A figure of the measured plan.

    Attributes:
        name: What it is of.
        unit: ``s``, ``cores``, ``1/s`` or ``B/s``.
        standard_error: Of what was measured; None where it is not known.
    """

    name: str
    unit: str
    predicted: float
    measured: float
    standard_error: float | None

    @property
    def error(self) -> float:
        """(predicted − measured)/measured."""
        return (self.predicted - self.measured) / self.measured


def back_test(profile: Profile, prediction: Prediction) -> tuple[BackTested, ...]:
    """What was measured beside what is predicted of the same plan and load, where there is any."""
    return tuple(one for one in _list_pairs(profile, prediction) if one.measured > 0.0)


def _list_pairs(profile: Profile, prediction: Prediction) -> Iterator[BackTested]:
    ends = [time for task in profile.tasks.values() for time in task.end_to_end.values()]
    yield from _pair_time(MEAN, prediction.latency.mean, ends)
    outputs = list(_list_root_outputs(profile))
    for name, latency, figures in (
        (COMPLETE, prediction.complete, [one.complete for one in outputs]),
        (SEEN, prediction.seen_by_source, [one.root for one in outputs]),
    ):
        if latency is not None:
            yield from _pair_time(name, latency.mean, [one for one in figures if one is not None])
    for operator in profile.topology.operators:
        rates = [
            figures.per_second
            for task in profile.tasks_of(operator.name).values()
            for figures in task.inputs.values()
        ]
        if operator.kind is OperatorKind.PROCESSOR and operator.name in prediction.operators:
            came = prediction.operators[operator.name].arrived_per_second
            total = pool_total([one for one in rates if one is not None])
            yield from _pair(f"into {operator.name}", "1/s", came, total)
    for worker in prediction.workers:
        measured = profile.workers.get(worker.name)
        cores = None if measured is None else measured.cores
        yield from _pair(f"CPU of {worker.name}", "cores", worker.cores, cores)
    flow = prediction.bytes
    for sender in () if flow is None or flow.unknown or not flow.is_known else flow.workers:
        seen = profile.workers.get(sender.name)
        sent = None if seen is None else seen.bytes_per_second
        yield from _pair(f"bytes from {sender.name}", "B/s", sender.sent_bytes_per_second, sent)


def _list_root_outputs(profile: Profile) -> Iterator[OutputFigures]:
    for source in profile.topology.sources:
        for task in profile.tasks_of(source.name).values():
            yield from task.outputs.values()


def _pair_time(name: str, seconds: float, times: list[TimeFigures]) -> Iterator[BackTested]:
    mean = pool_mean([one.mean_ms for one in times])
    if mean is not None:
        error = None if mean.standard_error is None else mean.standard_error / 1e3
        yield BackTested(
            name=name,
            unit="s",
            predicted=seconds,
            measured=mean.value / 1e3,
            standard_error=error,
        )


def _pair(name: str, unit: str, predicted: float, measured: Figure | None) -> Iterator[BackTested]:
    if measured is not None:
        yield BackTested(
            name=name,
            unit=unit,
            predicted=predicted,
            measured=measured.value,
            standard_error=measured.standard_error,
        )
