"""Partial sums by hand: blocks of 30 s with six buckets of 5 s, of task 1 of operator `a`."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa

from streamgauge.pipeline.estimation.blocks import SLOTS
from streamgauge.pipeline.estimation.schemas import SUBJECT_PARTIALS
from streamgauge.pipeline.estimation.subjects import figures_of

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SECONDS = 30.0
IN = {"stream": "default", "source_component": "s"}
OUT = {"stream": "default"}
TASK = {"component": "a", "task": 1, "executor": "a[1]", "worker": "n:1", "node": "n"}
EXECUTOR = {name: TASK[name] for name in ("component", "executor", "worker", "node")}


def row(metric, block, total, observations=None, squares=None, *, subject=TASK, **columns):
    """One row; without observations as many as the total says, as for exact counts."""
    return {
        "topology": "t",
        "plan_id": "p",
        "metric": metric,
        "block_start": BEGIN + timedelta(seconds=block * SECONDS),
        "block_seconds": SECONDS,
        "buckets": 6,
        "span_us": 30_000_000,
        "observations": total if observations is None else observations,
        "total": float(int(total)),
        "squares": None if squares is None else float(int(squares)),
        "common_block_seconds": SECONDS,
        **subject,
        **columns,
    }


def counted(metric, totals, *, subject=TASK, **columns):
    """A row a block, in order."""
    return [
        row(metric, block, int(total), subject=subject, **columns)
        for block, total in enumerate(totals)
    ]


def slotted(columns, *, subject=TASK):
    """Rows with slots; columns: (metric, stream, source) → blocks × buckets."""
    rows = []
    for (metric, stream, source), blocks in columns.items():
        names = {"stream": stream, "source_component": source}
        for block, numbers in enumerate(blocks.tolist()):
            slots = [*numbers, *[None] * (SLOTS - len(numbers))]
            rows.append(row(metric, block, sum(numbers), subject=subject, slots=slots, **names))
    return rows


def table(rows):
    return pa.Table.from_pylist(rows, schema=SUBJECT_PARTIALS)


def figures(rows, **options):
    """Figures as dictionaries."""
    return figures_of(table(rows), **options).to_pylist()


def figure(rows, word, **keys):
    """The one figure of that word."""
    found = [
        one
        for one in figures(rows)
        if one["figure"] == word and all(one[name] == value for name, value in keys.items())
    ]
    assert len(found) == 1, [one["figure"] for one in found]
    return found[0]
