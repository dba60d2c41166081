"""The page behind ``streamgauge predict --html``: the verdict, then pictures, then all figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamgauge import __version__
from streamgauge.cli import html_page as html
from streamgauge.cli import prediction_html_tables as tables
from streamgauge.cli.html_page import Column, Rows
from streamgauge.cli.output import counted
from streamgauge.cli.prediction_charts import latency_pictures, plans_figure
from streamgauge.cli.seen import (
    Seen,
    any_duration,
    any_share,
    busiest_of,
    changed,
    emission,
    highest_rate,
    percentile,
    quantile_of,
    rate,
    verdict_parts,
)
from streamgauge.drawing.topology_picture import HIGH_LEVEL

if TYPE_CHECKING:
    from streamgauge.models.latency import Latency
    from streamgauge.models.prediction import Prediction

ANCHORS = {
    "plans": "Operators and how busy they are",
    "latency": "Latency",
    "reasons": "What stands in the way, and what would help",
    "models": "What each model says",
    "figures": "All figures",
    "notes": "What to keep in mind",
    "made": "How this was made",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasons:
    """A prepared table on why a plan behaves as it does.

    Attributes:
        caption: What it lists.
        columns: The first one names the rows.
        rows: Cells as they are shown.
        note: What to know when reading it.
    """

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    note: str = ""


def prediction_page(
    before: Seen | None,
    after: Seen,
    *,
    others: Sequence[Prediction] = (),
    reasons: Sequence[Reasons] = (),
    command: str,
) -> str:
    """One self-contained HTML document; the same arguments give the same page.

    Args:
        before: The plan as it is; None where only one plan is predicted.
        after: The plan in question.
        others: What other models say of the same plan under the same load.
        reasons: Why it behaves so, as tables.
        command: How to make this page again.
    """
    found = after.prediction
    sections = {
        "plans": [plans_figure(before, after)],
        "latency": [
            latency_pictures(_compared(before, after, others)),
            tables.latency_table(before, after),
            tables.latency_parts_table(before, after),
        ],
        "reasons": [
            html.table(one.caption, one.columns, [Rows(rows=one.rows)], one.note) for one in reasons
        ],
        "models": [tables.model_table([found, *others])] if others else [],
        "figures": [
            tables.operator_table(before, after),
            tables.delay_parts_table(after),
            tables.executor_table(after),
            tables.worker_table(found),
            tables.machine_table(found),
        ],
        "notes": _notes([found, *others]),
        "made": _made(before, after, others, command),
    }
    shown = {anchor: parts for anchor, parts in sections.items() if parts}
    links = "".join(f'<a href="#{anchor}">{html.text(ANCHORS[anchor])}</a>' for anchor in shown)
    name = after.plan.logical.topology.name
    word, reason = verdict_parts(found)
    return html.page(
        f"{word}: {name}, predicted",
        f"<h1>{html.text(name)}, predicted</h1>",
        f'<p class="about">{html.text(after.about)}</p>',
        f'<div class="verdict {_grade(found)}">',
        f"<p><strong>{html.text(word)}</strong>{html.text(reason)}</p>",
        html.terms(list(_headline(before or after, after))),
        *(html.paragraph(caution) for caution in _cautions(found, others)),
        "</div>",
        f'<nav aria-label="Parts of this page">{links}</nav>',
        *(html.section(anchor, ANCHORS[anchor], *parts) for anchor, parts in shown.items()),
    )


def _grade(prediction: Prediction) -> str:
    if prediction.overloaded:
        return "bad"
    nearly_full = prediction.limit.factor * HIGH_LEVEL < 1.0 or busiest_of(prediction) >= HIGH_LEVEL
    return "warning" if nearly_full else "fine"


def _headline(was: Seen, seen: Seen) -> Iterator[tuple[str, str]]:
    """The figures that one looks for first, with what they were before."""
    former, found = was.prediction, seen.prediction
    limits = (former.limit.per_second, found.limit.per_second)
    yield "sources emit", f"{changed(was.per_second, seen.per_second, emission)} tuples/s"
    yield "highest rate that fits", changed(*limits, highest_rate)
    yield "busiest executor", changed(busiest_of(former), busiest_of(found), any_share)
    yield "mean latency", changed(former.latency.mean, found.latency.mean, any_duration)
    for level in found.latency.quantiles:
        name = "median latency" if level == 0.5 else f"{percentile(level)} of latency"
        pair = (quantile_of(former.latency, level), quantile_of(found.latency, level))
        yield name, changed(*pair, any_duration)
    if found.complete is not None:
        before = math.nan if former.complete is None else former.complete.mean
        yield "mean complete latency", changed(before, found.complete.mean, any_duration)


def _cautions(prediction: Prediction, others: Sequence[Prediction]) -> Iterator[str]:
    """What one should not overlook."""
    dissenting = [one.model for one in others if one.verdict != prediction.verdict]
    if dissenting:
        yield f"Not all models agree: {', '.join(dissenting)} would not say so."
    swing = prediction.swing
    if swing is not None:
        lowest, highest = any_duration(swing.lowest), any_duration(swing.highest)
        every = "" if swing.period is None else f", once in {any_duration(swing.period)}"
        yield f"Mean latency goes to and fro between {lowest} and {highest}{every}."
    for name, one in prediction.operators.items():
        if one.idle:
            yield f"{one.idle} of {counted(one.executors, 'executor')} of {name} would get nothing."


def _compared(before: Seen | None, after: Seen, others: Sequence[Prediction]) -> dict[str, Latency]:
    """Latencies to draw beside each other: of plans, models or sources."""
    found = after.prediction
    if others:
        former = {f"before, {before.prediction.model}": before.prediction.latency} if before else {}
        return former | {one.model: one.latency for one in (found, *others)}
    if before:
        return {"before": before.prediction.latency, "after": found.latency}
    return {"all": found.latency} | (dict(found.by_source) if len(found.by_source) > 1 else {})


def _notes(predictions: Sequence[Prediction]) -> list[str]:
    several = len(predictions) > 1
    return [
        html.paragraph(f"{one.model}: {note}" if several else note)
        for one in predictions
        for note in one.notes
    ]


def _made(
    before: Seen | None, after: Seen, others: Sequence[Prediction], command: str
) -> list[str]:
    pairs = [("plan", after.name), ("load", f"{rate(after.per_second)}, {after.load}")]
    if before:
        pairs += [
            ("plan before", before.name),
            ("load before", f"{rate(before.per_second)}, {before.load}"),
        ]
    models = [one.model for one in (after.prediction, *others)]
    pairs.append(("models" if others else "model", ", ".join(models)))
    for key, value in after.prediction.provenance.items():
        pairs.append((f"profile, {key.replace('_', ' ')}", value))
    pairs.append(("streamgauge", __version__))
    return [
        f"<p><code>{html.text(command)}</code></p>",
        html.terms(pairs, kind="made"),
        html.paragraph(
            "What is predicted, by which rules and how near it comes: docs/prediction.md."
        ),
    ]
