"""Predictions as tables for people: the verdict first, then what it rests on."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from streamgauge.cli.output import counted, print_table, printable, terminal_width
from streamgauge.drawing.quantities import duration, number, share

if TYPE_CHECKING:
    from streamgauge.models.latency import Latency
    from streamgauge.models.prediction import Prediction

# More of these say no more.
MOST_NAMED = 3


def verdict_of(prediction: Prediction) -> str:
    """What it comes to, in one sentence."""
    limit = prediction.limit
    if prediction.overloaded:
        worst = list(prediction.overloaded.items())
        named = ", ".join(f"{name} ({_load(load)})" for name, load in worst[:MOST_NAMED])
        more = f" and {len(worst) - MOST_NAMED} more" if len(worst) > MOST_NAMED else ""
        if limit.factor == 0.0:
            return f"Overloaded: {named}{more}. No rate at all would fit."
        return (
            f"Overloaded: {named}{more}. At most {number(limit.per_second)} tuples/s would fit,"
            f" {share(limit.factor)} of the load; then {limit.by} is full."
        )
    if math.isinf(limit.factor):
        return "Fits, and nothing that was measured limits the rate."
    return (
        f"Fits. Up to {number(limit.per_second)} tuples/s would,"
        f" {limit.factor:.3g} times the load; then {limit.by} is full."
    )


def _load(part: float) -> str:
    return share(part) if math.isfinite(part) else "no free core"


def print_prediction(prediction: Prediction, about: str) -> None:
    """The whole of it."""
    print(printable(about))
    for line in textwrap.wrap(verdict_of(prediction), terminal_width()):
        print(printable(line))
    print()
    _latencies(prediction)
    _operators(prediction)
    _machines(prediction)
    if prediction.notes:
        print("Notes")
        for note in prediction.notes:
            wrapped = textwrap.wrap(note, terminal_width() - 2, initial_indent="  ")
            print(printable("\n  ".join(wrapped)))


def _latencies(prediction: Prediction) -> None:
    rows = {"all": prediction.latency}
    if len(prediction.by_source) > 1:
        rows |= dict(prediction.by_source)
    levels = sorted({p for one in rows.values() for p in one.quantiles})
    print_table(
        "Latency from source to sink",
        ["from", "mean", *(f"p{100 * level:g}" for level in levels), "made up of"],
        [
            [
                name,
                duration(one.mean),
                *(duration(one.quantiles[p]) if p in one.quantiles else None for p in levels),
                _parts(one),
            ]
            for name, one in rows.items()
        ],
    )


def _parts(latency: Latency) -> str:
    """The largest first, as parts of the mean."""
    if not math.isfinite(latency.mean) or latency.mean <= 0.0:
        return "–"
    parts = sorted(latency.parts.items(), key=lambda one: -one[1])
    shown = [f"{part.value} {share(value / latency.mean)}" for part, value in parts if value > 0.0]
    return ", ".join(shown)


def _operators(prediction: Prediction) -> None:
    print_table(
        "Operators",
        ["operator", "executors", "in /s", "out /s", "busy", "busiest", "service", "delay"],
        [
            [
                name,
                f"{one.executors}" + (f" ({one.idle} idle)" if one.idle else ""),
                number(one.arrived_per_second),
                number(one.emitted_per_second),
                share(one.utilisation),
                share(one.busiest),
                duration(one.service_seconds),
                duration(one.delay_seconds),
            ]
            for name, one in prediction.operators.items()
        ],
    )


def _machines(prediction: Prediction) -> None:
    print_table(
        "Machines, in cores",
        ["machine", "cores", "job", "polling", "others", ""],
        [
            [
                one.name,
                f"{one.cores:g}",
                f"{one.busy:.2f}",
                f"{one.polling:.2f}",
                f"{one.background:.2f}",
                "overloaded" if one.overloaded else "",
            ]
            for one in prediction.machines
        ],
    )


def about(topology: str, executors: int, workers: int, nodes: int, model: str, load: str) -> str:
    """What is predicted, in one line."""
    return (
        f"{topology}: {counted(executors, 'executor')} in {counted(workers, 'worker')} on"
        f" {counted(nodes, 'node')}, {load}, model {model}"
    )
