"""A prediction's figures as tables of an HTML page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from streamgauge.cli.html_page import Column, Rows, table
from streamgauge.cli.seen import (
    ENDLESS,
    Seen,
    any_duration,
    any_share,
    bottleneck,
    busiest_of,
    changed,
    highest_rate,
    mean_of,
    percentile,
    quantile_of,
    verdict_parts,
)
from streamgauge.cli.simulation_tables import MOST_ROWS, PER_SECOND
from streamgauge.drawing.quantities import MISSING, number, share

if TYPE_CHECKING:
    from streamgauge.models.latency import Latency
    from streamgauge.models.prediction import OperatorPrediction, Prediction

# What a time is made up of, in seconds by part, and the whole.
_Made = tuple[Mapping[str, float], float]


def latency_table(before: Seen | None, after: Seen) -> str:
    """Latency by source, and of whole trees where they are tracked, with percentiles."""
    groups = _by_plan(before, after)
    named = [one for group in groups.values() for one in group.values()]
    levels = sorted({level for one in named for level in one.quantiles})
    columns = [
        Column(name="latency", words=True),
        Column(name="mean"),
        *(Column(name=percentile(level)) for level in levels),
    ]
    rows = [
        Rows(heading=heading, rows=[_latency_row(name, one, levels) for name, one in group.items()])
        for heading, group in groups.items()
    ]
    return table("Latency with percentiles", columns, rows)


def _latency_row(name: str, latency: Latency, levels: Sequence[float]) -> list[str]:
    quantiles = [any_duration(quantile_of(latency, level)) for level in levels]
    return [name, mean_of(latency), *quantiles]


def _by_plan(before: Seen | None, after: Seen) -> dict[str, dict[str, Latency]]:
    if before is None:
        return {"": _latencies(after.prediction)}
    return {"before": _latencies(before.prediction), "after": _latencies(after.prediction)}


def _latencies(prediction: Prediction) -> dict[str, Latency]:
    """All that is known of a plan's latency, by what it is of."""
    found = {"all, from source to sink": prediction.latency}
    if len(prediction.by_source) > 1:
        found |= {f"from {name}": one for name, one in prediction.by_source.items()}
    if prediction.complete is not None:
        found["complete, as the engine reports it"] = prediction.complete
    if prediction.seen_by_source is not None:
        found["complete, as the source sees it"] = prediction.seen_by_source
    return found


def latency_parts_table(before: Seen | None, after: Seen) -> str:
    """What mean latencies are made up of, as far as that is known."""
    groups = {
        heading: {name: (_named(one), one.mean) for name, one in group.items()}
        for heading, group in _by_plan(before, after).items()
    }
    return _parts_table("What mean latency is made up of", "latency", groups)


def delay_parts_table(seen: Seen) -> str:
    """What the delays at operators are made up of."""
    delays = {
        name: (one.parts, one.delay_seconds)
        for name, one in seen.prediction.operators.items()
        if name not in seen.sources
    }
    return _parts_table("What mean delays at operators are made up of", "operator", {"": delays})


def _named(latency: Latency) -> dict[str, float]:
    return {str(part): seconds for part, seconds in latency.parts.items()}


def _parts_table(caption: str, of: str, groups: Mapping[str, Mapping[str, _Made]]) -> str:
    """Parts as columns; nothing where none is known."""
    known = {
        heading: {
            name: (parts, whole)
            for name, (parts, whole) in list(group.items())[:MOST_ROWS]
            if parts and math.isfinite(whole) and whole > 0.0
        }
        for heading, group in groups.items()
    }
    every = [parts for group in known.values() for parts, _ in group.values()]
    shown = dict.fromkeys(part for parts in every for part, it in parts.items() if it > 0.0)
    if not shown:
        return ""
    columns = [Column(name=of, words=True), *(Column(name=part) for part in shown)]
    rows = [
        Rows(
            heading=heading,
            rows=[
                [name, *(_part(parts.get(part, 0.0), whole) for part in shown)]
                for name, (parts, whole) in group.items()
            ],
        )
        for heading, group in known.items()
        if group
    ]
    return table(caption, columns, rows)


def _part(seconds: float, whole: float) -> str:
    return f"{any_duration(seconds)} ({share(seconds / whole)})" if seconds > 0.0 else MISSING


def model_table(predictions: Sequence[Prediction]) -> str:
    """What each model says of one plan."""
    levels = sorted({level for one in predictions for level in one.latency.quantiles})
    has_complete = any(one.complete is not None for one in predictions)
    columns = [
        Column(name="model", words=True),
        Column(name="verdict", words=True),
        Column(name="highest rate", unit="that fits"),
        Column(name="full first", words=True),
        Column(name="busiest", unit="executor"),
        Column(name="latency", unit="mean"),
        *(Column(name=percentile(level)) for level in levels),
        *([Column(name="complete", unit="mean")] if has_complete else []),
    ]
    rows = []
    for one in predictions:
        complete = MISSING if one.complete is None else mean_of(one.complete)
        name, *latency = _latency_row(one.model, one.latency, levels)
        rows.append(
            [
                name,
                verdict_parts(one)[0],
                highest_rate(one.limit.per_second),
                bottleneck(one) or MISSING,
                any_share(busiest_of(one)),
                *latency,
                *([complete] if has_complete else []),
            ]
        )
    return table("Models", columns, [Rows(rows=rows)])


def operator_table(before: Seen | None, after: Seen) -> str:
    """Operators in the plan's order, with what becomes of their figures."""
    columns = (
        Column(name="operator", words=True),
        Column(name="executors"),
        Column(name="gets", unit=PER_SECOND),
        Column(name="emits", unit=PER_SECOND),
        Column(name="busy", unit="mean"),
        Column(name="busiest", unit="executor"),
        Column(name="service", unit="mean"),
        Column(name="delay", unit="mean"),
    )
    found = after.prediction.operators
    was = before.prediction.operators if before else found
    rows = [
        _operator_row(name, was.get(name, one), one, is_source=name in after.sources)
        for name, one in list(found.items())[:MOST_ROWS]
    ]
    notes = ["Messages of the engine, such as acknowledgements, are counted with the tuples."]
    if before:
        notes.append("Arrows: what becomes of the figure before.")
    return table("Operators", columns, [Rows(rows=rows)], _note(*notes, _more(len(found))))


def _operator_row(
    name: str, was: OperatorPrediction, one: OperatorPrediction, *, is_source: bool
) -> list[str]:
    arrived = changed(was.arrived_per_second, one.arrived_per_second, number)
    delay = changed(was.delay_seconds, one.delay_seconds, any_duration)
    idle = f" ({one.idle} idle)" if one.idle else ""
    return [
        name,
        changed(was.executors, one.executors, "{:.0f}".format) + idle,
        # What comes to a source is acknowledgements, and how long they take delays no tuple.
        MISSING if is_source else arrived,
        changed(was.emitted_per_second, one.emitted_per_second, number),
        changed(was.utilisation, one.utilisation, any_share),
        changed(was.busiest, one.busiest, any_share),
        changed(was.service_seconds, one.service_seconds, any_duration),
        MISSING if is_source else delay,
    ]


def executor_table(seen: Seen) -> str:
    """Executors, the busiest first."""
    columns = (
        Column(name="executor", words=True),
        Column(name="worker", words=True),
        Column(name="gets", unit=PER_SECOND),
        Column(name="emits", unit=PER_SECOND),
        Column(name="busy", unit="of the time"),
        Column(name="slowed down", unit="times"),
        Column(name="service", unit="mean"),
        Column(name="delay", unit="mean"),
        Column(name="waiting", unit="tuples, mean"),
        Column(name="state", words=True),
    )
    busiest = sorted(seen.prediction.executors, key=lambda one: -one.utilisation)
    rows = [
        [
            one.name,
            one.worker,
            MISSING if one.operator in seen.sources else number(one.arrived_per_second),
            number(one.emitted_per_second),
            any_share(one.utilisation),
            _any_number(one.stretch),
            any_duration(one.service_seconds),
            MISSING if one.operator in seen.sources else any_duration(one.delay_seconds),
            _any_number(one.queue_length),
            "overloaded" if one.utilisation >= 1.0 else "",
        ]
        for one in busiest[:MOST_ROWS]
    ]
    note = _note(
        "Slowed down: how many times as long the same work takes on its crowded machine.",
        _more(len(busiest), ", less busy,"),
    )
    return table("Executors, the busiest first", columns, [Rows(rows=rows)], note)


def _any_number(value: float) -> str:
    return ENDLESS if math.isinf(value) else number(value)


def worker_table(prediction: Prediction) -> str:
    """Workers in the plan's order."""
    columns = (
        Column(name="worker", words=True),
        Column(name="executors"),
        Column(name="CPU", unit="cores"),
        Column(name="sends to others", unit=PER_SECOND),
    )
    rows = [
        [one.name, str(one.executors), number(one.cores), number(one.sent_per_second)]
        for one in prediction.workers[:MOST_ROWS]
    ]
    return table("Workers", columns, [Rows(rows=rows)], _more(len(prediction.workers)))


def machine_table(prediction: Prediction) -> str:
    """Machines and what keeps their cores busy."""
    columns = (
        Column(name="machine", words=True),
        Column(name="has", unit="cores"),
        Column(name="the job's work", unit="cores"),
        Column(name="its idle threads", unit="cores"),
        Column(name="others", unit="cores"),
        Column(name="in use"),
        Column(name="state", words=True),
    )
    rows = [
        [
            one.name,
            f"{one.cores:g}",
            number(one.busy),
            number(one.polling),
            number(one.background),
            any_share((one.busy + one.polling + one.background) / one.cores),
            "overloaded" if one.overloaded else "",
        ]
        for one in prediction.machines[:MOST_ROWS]
    ]
    return table("Machines", columns, [Rows(rows=rows)], _more(len(prediction.machines)))


def _note(*sentences: str) -> str:
    return " ".join(one for one in sentences if one)


def _more(count: int, which: str = "") -> str:
    """How many rows a table leaves out."""
    return f"{count - MOST_ROWS:,} more{which} are left out." if count > MOST_ROWS else ""
