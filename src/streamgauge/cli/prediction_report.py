"""Predictions for people and programs: the verdict first, then what it rests on."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from streamgauge.cli.output import print_document, print_table, printable, terminal_width
from streamgauge.cli.prediction_reasons import reasons_of
from streamgauge.cli.prediction_verdict import verdict_of
from streamgauge.cli.seen import (
    Seen,
    any_duration,
    any_share,
    bottleneck,
    busiest_of,
    highest_rate,
    mean_of,
    percentile,
    quantile_of,
    verdict_parts,
)
from streamgauge.drawing.quantities import duration, number, share

if TYPE_CHECKING:
    from streamgauge.models.latency import Latency
    from streamgauge.models.prediction import Prediction


def print_prediction(seen: Seen, others: Sequence[Prediction]) -> None:
    """The whole of it.

    Args:
        seen: The plan, its load, and what the model says.
        others: What other models say.
    """
    found = seen.prediction
    print(printable(seen.about))
    _wrapped(verdict_of(found))
    if found.swing is not None:
        swing = found.swing
        every = "" if swing.period is None else f", once in {duration(swing.period)}"
        _wrapped(
            f"Mean latency goes to and fro between {duration(swing.lowest)} and"
            f" {duration(swing.highest)}{every}."
        )
    print()
    _latencies(found)
    if others:
        print_models([found, *others])
    for table in reasons_of(found):
        print_table(table.caption, [_heading(c.name, c.unit) for c in table.columns], table.rows)
    _operators(found)
    _machines(found)
    if found.notes:
        print("Notes")
        for note in found.notes:
            wrapped = textwrap.wrap(note, terminal_width() - 2, initial_indent="  ")
            print(printable("\n  ".join(wrapped)))


def print_document_of(seen: Seen, others: Sequence[Prediction], profile: str) -> None:
    """One document: the prediction, what others say, and which profile they rest on."""
    document = {
        "prediction": finite(seen.prediction.to_dict()),
        "verdict": verdict_of(seen.prediction),
        "plan": seen.name,
        "profile": profile,
    }
    if others:
        document["others"] = [finite(one.to_dict()) for one in others]
    print_document(document)


def print_models(predictions: Sequence[Prediction]) -> None:
    """What each model says of one plan."""
    levels = (0.5, 0.99)
    print_table(
        "Models",
        ["model", "verdict", "mean", *map(percentile, levels), "busiest", "up to", "then full"],
        [
            [
                one.model,
                verdict_parts(one)[0],
                mean_of(one.latency),
                *(
                    any_duration(quantile_of(one.latency, level)) if one.latency.quantiles else None
                    for level in levels
                ),
                any_share(busiest_of(one)),
                highest_rate(one.limit.per_second),
                bottleneck(one) or None,
            ]
            for one in predictions
        ],
    )


def finite(value: Any) -> Any:
    """The document without infinities and NaN, which JSON does not have: they become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return value


def _heading(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name


def _wrapped(text: str) -> None:
    for line in textwrap.wrap(text, terminal_width()):
        print(printable(line))


def _latencies(prediction: Prediction) -> None:
    rows = {"source to sink": prediction.latency}
    if len(prediction.by_source) > 1:
        rows |= {f"from {name}": one for name, one in prediction.by_source.items()}
    if prediction.complete is not None:
        rows["complete"] = prediction.complete
    if prediction.seen_by_source is not None:
        rows["seen by source"] = prediction.seen_by_source
    levels = sorted({level for one in rows.values() for level in one.quantiles})
    print_table(
        "Latency",
        ["", "mean", *map(percentile, levels), "made up of"],
        [
            [
                name,
                mean_of(one),
                *(duration(one.quantiles[p]) if p in one.quantiles else None for p in levels),
                _parts(one),
            ]
            for name, one in rows.items()
        ],
    )


def _parts(latency: Latency) -> str:
    """The largest first, as parts of the mean."""
    if not math.isfinite(latency.mean) or latency.mean <= 0.0 or not latency.parts:
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
                any_share(one.utilisation),
                any_share(one.busiest),
                any_duration(one.service_seconds),
                any_duration(one.delay_seconds),
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
