"""What of predictions is judged, and which errors are aimed at.

Targets are those of a prediction that a user can build on: a median absolute error over cells, and
for some quantities one that no cell exceeds. Where there is none, nothing is aimed at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from streamgauge.experiments.figures import FigureKind
from streamgauge.experiments.predicted_figures import MAP_WEIGHTED, TUPLE_WEIGHTED, Predicted
from streamgauge.experiments.predicted_paths import THESIS


class Scope(StrEnum):
    """What a quantity is about: a stage of the prediction, the whole job, or the thesis's own."""

    STAGE = "stage"
    WHOLE = "whole"
    THESIS = "thesis"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """What is judged together.

    Attributes:
        target: Median absolute error that is aimed at, as a part; None where nothing is.
        worst_target: The same of the worst cell.
    """

    name: str
    scope: Scope
    target: float | None = None
    worst_target: float | None = None


def _quantity(
    name: str, scope: Scope, target: float | None = None, worst_target: float | None = None
) -> Quantity:
    return Quantity(name=name, scope=scope, target=target, worst_target=worst_target)


_STAGE, _WHOLE, _THESIS = Scope.STAGE, Scope.WHOLE, Scope.THESIS
ROUTING = _quantity("routing shares", _STAGE)
OPERATOR_RATES = _quantity("arrival rates of operators", _STAGE, 0.02)
EXECUTOR_RATES = _quantity("arrival rates of executors", _STAGE, 0.02)
SATURATION = _quantity("saturation", _WHOLE, 0.03)
WORKER_CPU = _quantity("CPU of workers", _WHOLE, 0.10, 0.20)
MACHINE_CPU = _quantity("CPU of machines", _WHOLE, 0.10, 0.20)
WORKER_BYTES = _quantity("bytes that workers send", _WHOLE, 0.05)
SINCE = {FigureKind.LATENCY: "since emission", FigureKind.SINCE_DUE: "since due"}
_LATENCIES = {
    (kind, quantity): _quantity(f"{name} latency {since}", _WHOLE, *targets)
    for kind, since in SINCE.items()
    for quantity, name, targets in (
        ("mean", "mean", (0.05, 0.12)),
        ("p50", "p50", ()),
        ("p90", "p90", ()),
        ("p95", "p95", (0.08,)),
        ("p99", "p99", (0.12,)),
    )
}
MEAN_SINCE_EMISSION = _LATENCIES[FigureKind.LATENCY, "mean"]
MEAN_SINCE_DUE = _LATENCIES[FigureKind.SINCE_DUE, "mean"]
# By kind of figure, which figure of it, and in which way it was predicted.
_BY_KEY: Mapping[tuple[FigureKind, str, str], Quantity] = {
    (FigureKind.ROUTING, "share", ""): ROUTING,
    (FigureKind.OUTPUT, "per_second", ""): _quantity("outputs of measured inputs", _STAGE, 0.02),
    (FigureKind.SERVICE, "wall", ""): _quantity("service times, wall clock", _STAGE),
    (FigureKind.SERVICE, "cpu", ""): _quantity("service times, CPU", _STAGE),
    (FigureKind.SERVICE, "slowdown", ""): _quantity("slowdown (wall over CPU)", _STAGE, 0.06),
    **{
        (FigureKind.LIST_SIZE, "tuples_per_list", form): _quantity(
            f"list sizes{f', {form}' if form else ''}", _STAGE
        )
        for form in ("", MAP_WEIGHTED, TUPLE_WEIGHTED)
    },
    **{(*key, ""): quantity for key, quantity in _LATENCIES.items()},
    (FigureKind.PATH, "mean", ""): _quantity(
        "mean latency of paths since emission", _WHOLE, 0.05, 0.12
    ),
    (FigureKind.PATH_SINCE_DUE, "mean", ""): _quantity(
        "mean latency of paths since due", _WHOLE, 0.05, 0.12
    ),
    (FigureKind.COMPLETE, "mean", ""): _quantity("mean complete latency", _WHOLE, 0.06),
    **{
        (FigureKind.COMPLETE, name, ""): _quantity(f"{name} complete latency", _WHOLE)
        for name in ("p50", "p90", "p95", "p99")
    },
    (FigureKind.THROUGHPUT, "emitted_per_second", ""): _quantity("throughput", _WHOLE, 0.02),
    (FigureKind.THROUGHPUT, "executed_per_second", ""): _quantity("throughput", _WHOLE, 0.02),
    (FigureKind.LOAD, "carried_per_second", ""): SATURATION,
    (FigureKind.NETWORK, "sent_per_second", ""): WORKER_BYTES,
    (FigureKind.GROUND_TRUTH, "mean", ""): _quantity("ground truth, cleaned", _THESIS),
    (FigureKind.COMPLETE, "p50", THESIS): _quantity(
        "complete latency, p90 of paths against median", _THESIS
    ),
}


def find_quantity(predicted: Predicted) -> Quantity | None:
    """What a predicted figure is judged with; None where it is not judged."""
    key = predicted.key
    if key.kind is FigureKind.ARRIVAL:
        return EXECUTOR_RATES if key.subject.endswith("]") else OPERATOR_RATES
    if key.kind is FigureKind.CPU:
        return {"worker": WORKER_CPU, "machine": MACHINE_CPU}.get(key.subject.partition(" ")[0])
    return _BY_KEY.get((key.kind, key.quantity, predicted.form))


def list_quantities() -> list[str]:
    """All names, stages first."""
    rates = [OPERATOR_RATES, EXECUTOR_RATES]
    every = [*rates, *_BY_KEY.values(), WORKER_CPU, MACHINE_CPU]
    return list(dict.fromkeys(one.name for scope in Scope for one in every if one.scope is scope))
