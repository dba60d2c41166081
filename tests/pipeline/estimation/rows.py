"""Sums of series by hand: blocks of 30 s with five buckets of 6 s, of task 1 of operator `a`."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa

from streamgauge.pipeline.estimation.schemas import ARRAYS, SERIES_SUMS
from streamgauge.pipeline.estimation.subjects import figures_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MASK = (1 << 40) - 1
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SECONDS, BUCKET_SECONDS = 30.0, 6.0
IN = {"stream": "default", "source_component": "s"}
OUT = {"stream": "default"}
TASK = {"component": "a", "task": 1, "executor": "a[1]", "worker": "n:1", "node": "n"}
EXECUTOR = {name: TASK[name] for name in ("component", "executor", "worker", "node")}


def row(metric, block, total, observations=None, squares=None, *, subject=TASK, **columns):
    """One block; without observations as many as the total says, as for exact counts."""
    return {
        "topology": "t",
        "plan_id": "p",
        "metric": metric,
        "block_start": BEGIN + timedelta(seconds=block * SECONDS),
        "block_seconds": SECONDS,
        "bucket_seconds": BUCKET_SECONDS,
        "buckets": 5,
        "span_us": 30_000_000,
        "observations": total if observations is None else observations,
        "total": int(total),
        "squares": None if squares is None else int(squares),
        **subject,
        **columns,
    }


def limbs(name, number):
    """A whole number as the arrays of one block."""
    parts = [number & MASK, number >> 40 & MASK, number >> 80]
    return {
        f"{name}_{part}": [one] for part, one in zip(("low", "middle", "top"), parts, strict=True)
    }


def series_of(block):
    """A block as a series that has no other."""
    names = {name: block.get(name) for name in SERIES_SUMS.names if name not in ARRAYS}
    start_us = round((block["block_start"] - EPOCH) / timedelta(microseconds=1))
    bucket_us = round(block["bucket_seconds"] * 1e6)
    slots = [(slot, one) for slot, one in enumerate(block.get("slots") or ()) if one is not None]
    squares = block.get("squares")
    return {
        **names,
        "kind": "sums",
        "bucket_us": bucket_us,
        "block_us": round(block["block_seconds"] * 1e6),
        "start": [start_us],
        **{name: [block[name]] for name in ("buckets", "span_us", "observations")},
        **limbs("total", int(block["total"])),
        **({} if squares is None else limbs("square", int(squares))),
        "slot": [start_us // bucket_us + slot for slot, _ in slots],
        "slot_sum": [number for _, number in slots],
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
            rows.append(row(metric, block, sum(numbers), subject=subject, slots=numbers, **names))
    return rows


def table(rows):
    """Blocks as a table of series, each of which has one."""
    return pa.Table.from_pylist([series_of(one) for one in rows], schema=SERIES_SUMS)


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
