"""Partial sums as arrays: one row for each series and common block, in an order of their own.

The order is that of the texts themselves, so that sums of the same rows are the same numbers
however the rows came and whatever came with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.errors import InvalidInput
from streamgauge.lake.metrics import METRICS, Metric
from streamgauge.pipeline.estimation.arrays import Floats, Whole
from streamgauge.pipeline.estimation.blocks import MICROSECONDS, SLOTS, starts_of
from streamgauge.pipeline.estimation.schemas import (
    NAMED_BY,
    OPTIONAL,
    OWNER,
    SUBJECT_PARTIALS,
    TRANSFERS,
)

# Where a text or number is null.
NOTHING = -1
LABELS = tuple(sorted(METRICS))
CODES = {label: code for code, label in enumerate(LABELS)}
# What makes a series, besides its subject.
SERIES = ("metric", "stream", "source", "target", "target_task", "bin")
_TUPLES = tuple(CODES[metric.label] for metric in (Metric.EXECUTED, Metric.WINDOW_TRIGGERS))
_SUMMED = ("total", "squares", "observations", "buckets", "span_us")
_TEXTS = tuple(field.name for field in SUBJECT_PARTIALS if pa.types.is_string(field.type))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Partials:
    """All that is known of some subjects.

    Attributes:
        words: Every name that occurs, sorted; columns hold places in it, -1 for none.
        owners: A row a subject: the owner's columns as places in `words`, `task` as a number.
        series: A row a series: subject, and what else names it (`SERIES`).
        sums: A row a series and block: `series`, `start_us` of the block, `total`, `squares`,
            `observations`, `buckets`, `span_us`.
        coverage: A row a subject and block in which it was known: `subject`, `start_us`,
            `alive_us`.
        steps_us: How long the blocks of each subject are.
        factors: What regressions multiply: a row a series and block of its own length, with
            `subject`, `metric`, `stream`, `source` and `start_us` of the common block. Rows of one
            `run`, which is a subject in a worker in a block, are multiplied with each other.
        slots: A row for each of these: its numbers by fifteenth of the block, NaN for none.
    """

    words: tuple[str, ...]
    owners: pd.DataFrame
    series: pd.DataFrame
    sums: pd.DataFrame
    coverage: pd.DataFrame
    steps_us: Whole
    factors: pd.DataFrame
    slots: Floats


def read(table: pa.Table) -> Partials:
    """The partial sums of a table with the columns of `SUBJECT_PARTIALS`, in any order.

    Raises:
        InvalidInput: A column is missing.
    """
    columns = _columns(table)
    words = _words(columns)
    codes = _codes(columns, words)
    owner, target = _owners(codes)
    subject, owners = dense({name: owner[name] for name in OWNER})
    named = {
        "subject": subject,
        "metric": codes["metric"],
        "stream": codes["stream"],
        "source": np.where(target["moved"], NOTHING, codes["source_component"]),
        "target": target["component"],
        "target_task": target["task"],
        "bin": codes["bin"],
    }
    common_us = _common(columns, subject)
    starts = starts_of(columns["block_start"], common_us)
    steps = np.zeros(len(owners), dtype=np.int64)
    steps[subject] = common_us
    worker = np.where(codes["metric"] == CODES[Metric.RECEIVED.label], NOTHING, codes["worker"])
    # What the tasks of an executor executed comes for it too, to be multiplied with its CPU time.
    own = ~(np.isin(codes["metric"], _TUPLES) & (codes["task"] == NOTHING))
    place, series = dense({name: column[own] for name, column in named.items()})
    factors, slots = _factors(columns, named, starts, worker)
    sums_of = {name: columns[name][own] for name in (*_SUMMED, "block_start", "block_seconds")}
    return Partials(
        words=words,
        owners=owners,
        series=series,
        sums=_sums(sums_of, place, starts[own], codes["worker"][own]),
        coverage=_coverage(columns, subject, starts, worker),
        steps_us=steps,
        factors=factors,
        slots=slots,
    )


def dense(columns: dict[str, Whole]) -> tuple[Whole, pd.DataFrame]:
    """Number the distinct rows in their order, first column first.

    Returns:
        The number of each row's combination, and the combinations.
    """
    names = list(columns)
    number = np.zeros(len(columns[names[0]]), dtype=np.int64)
    size = 1
    for name in names:
        column = columns[name]
        low = int(column.min(initial=0))
        width = int(column.max(initial=0)) - low + 1
        if size > np.iinfo(np.int64).max // width:
            distinct, number = np.unique(number, return_inverse=True)
            size = len(distinct)
        number = number * width + (column - low)
        size *= width
    _, first, number = np.unique(number, return_index=True, return_inverse=True)
    return number, pd.DataFrame({name: columns[name][first] for name in names})


def _columns(table: pa.Table) -> dict[str, Any]:
    """Columns by name: texts as Arrow's dictionaries, the rest as NumPy's arrays."""
    missing = [
        name for name in SUBJECT_PARTIALS.names if name not in {*table.column_names, *OPTIONAL}
    ]
    if missing:
        raise InvalidInput.single(
            ("partials",), seen=f"no column {', '.join(missing)}", expected="all of them"
        )
    known = pc.is_in(pc.unique(table["metric"]), value_set=pa.array(LABELS))
    if not pc.all(known, min_count=0).as_py():
        table = table.filter(pc.is_in(table["metric"], value_set=pa.array(LABELS)))
    columns: dict[str, Any] = {}
    for field in SUBJECT_PARTIALS:
        if field.name not in table.column_names:
            columns[field.name] = np.full(len(table), np.nan)
            continue
        column = table[field.name].combine_chunks()
        if pa.types.is_string(field.type):
            columns[field.name] = column.cast(pa.string()).dictionary_encode()
        elif pa.types.is_list(field.type):
            columns[field.name] = column
        elif pa.types.is_timestamp(field.type):
            columns[field.name] = _numbers(column.cast(field.type).cast(pa.int64()))
        elif field.name in OPTIONAL:
            columns[field.name] = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        elif pa.types.is_floating(field.type):
            columns[field.name] = column.to_numpy(zero_copy_only=False)
        else:
            columns[field.name] = _numbers(column)
    return columns


def _numbers(column: pa.Array) -> Whole:
    filled = pc.fill_null(column.cast(pa.int64()), NOTHING)
    return np.asarray(filled.to_numpy(zero_copy_only=False))


def _words(columns: dict[str, Any]) -> tuple[str, ...]:
    found: set[str] = set()
    for name in _TEXTS:
        if name != "metric":
            found.update(columns[name].dictionary.to_pylist())
    return tuple(sorted(found))


def _codes(columns: dict[str, Any], words: Sequence[str]) -> dict[str, Whole]:
    all_words, labels = pa.array(words, pa.string()), pa.array(LABELS)
    codes: dict[str, Whole] = {}
    for name in _TEXTS:
        known = labels if name == "metric" else all_words
        places = _numbers(pc.index_in(columns[name].dictionary, value_set=known))
        # The last place stands for null.
        codes[name] = np.append(places, NOTHING)[_numbers(columns[name].indices)]
    for name in ("task", "source_task", "bin"):
        codes[name] = columns[name]
    return codes


def _owners(codes: dict[str, Whole]) -> tuple[dict[str, Whole], dict[str, Whole]]:
    """Whose each row is; and of transfers the target."""
    moved = np.isin(codes["metric"], [CODES[label] for label in TRANSFERS])
    owner = {name: codes[name] for name in OWNER}
    owner["component"] = np.where(moved, codes["source_component"], codes["component"])
    owner["task"] = np.where(moved, codes["source_task"], codes["task"])
    named = np.zeros(len(moved), dtype=bool)
    for name in NAMED_BY:
        owner[name] = np.where(named, NOTHING, owner[name])
        named |= owner[name] != NOTHING
    target = {
        "moved": moved,
        "component": np.where(moved, codes["component"], NOTHING),
        "task": np.where(moved, codes["task"], NOTHING),
    }
    return owner, target


def _common(columns: dict[str, Any], subject: Whole) -> Whole:
    """The common block length of each row, in microseconds."""
    own = np.asarray(columns["block_seconds"], dtype=np.float64)
    longest = np.zeros(int(subject.max(initial=-1)) + 1)
    np.maximum.at(longest, subject, own)
    given = np.asarray(columns["common_block_seconds"], dtype=np.float64)
    seconds = np.where(np.isnan(given), longest[subject], given)
    common: Whole = np.rint(seconds * MICROSECONDS).astype(np.int64)
    return common


def _sums(columns: dict[str, Any], series: Whole, starts: Whole, worker: Whole) -> pd.DataFrame:
    total = np.asarray(columns["total"], dtype=np.float64)
    order = np.lexsort((total, worker, columns["block_seconds"], columns["block_start"], series))
    series, starts = series[order], starts[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(series) != 0) | (np.diff(starts) != 0)
    first = np.flatnonzero(new)
    summed: dict[str, Any] = {"series": series[first], "start_us": starts[first]}
    for name in _SUMMED:
        values = np.asarray(columns[name], dtype=np.float64)[order]
        summed[name] = np.add.reduceat(values, first) if len(first) else values
    return pd.DataFrame(summed)


def _factors(
    columns: dict[str, Any], named: dict[str, Whole], starts: Whole, worker: Whole
) -> tuple[pd.DataFrame, Floats]:
    """What is multiplied, by run and series; rows of one series and run are added first."""
    lists = columns["slots"]
    some = np.flatnonzero(lists.is_valid().to_numpy(zero_copy_only=False))
    numbers = lists.drop_null().flatten().cast(pa.float64()).to_numpy(zero_copy_only=False)
    if len(numbers) != len(some) * SLOTS:
        raise InvalidInput.single(
            ("partials", "slots"),
            seen=f"{len(numbers)} numbers in {len(some)} rows",
            expected=f"{SLOTS} in each",
        )
    lengths = np.rint(np.asarray(columns["block_seconds"])[some] * MICROSECONDS).astype(np.int64)
    run, runs = dense(
        {
            "subject": named["subject"][some],
            "block": columns["block_start"][some],
            "length": lengths,
            "worker": worker[some],
        }
    )
    names = ("metric", "stream", "source")
    place, rows = dense({"run": run, **{name: named[name][some] for name in names}})
    order = np.argsort(place, kind="stable")
    matrix = numbers.reshape(-1, SLOTS)[order]
    first = np.searchsorted(place[order], np.arange(len(rows)))
    known, summed = ~np.isnan(matrix), np.nan_to_num(matrix)
    if len(first) < len(matrix):
        known = np.logical_or.reduceat(known, first)
        summed = np.add.reduceat(summed, first)
    start_of = np.zeros(len(runs), dtype=np.int64)
    start_of[run] = starts[some]
    frame = rows.assign(
        subject=runs["subject"].to_numpy()[rows["run"]], start_us=start_of[rows["run"]]
    )
    return frame, np.where(known, summed, np.nan)


def _coverage(
    columns: dict[str, Any], subject: Whole, starts: Whole, worker: Whole
) -> pd.DataFrame:
    """How long each subject was known alive in each common block.

    The longest span of any row of a worker, for each worker that ran the subject in the block;
    rows that name no worker count where none of the block does.
    """
    rows = pd.DataFrame(
        {
            "subject": subject,
            "block": columns["block_start"],
            "start_us": starts,
            "worker": worker,
            "alive_us": np.asarray(columns["span_us"], dtype=np.float64),
        }
    )
    by_worker = rows.groupby(["subject", "start_us", "block", "worker"], as_index=False).max()
    block = by_worker.groupby(["subject", "block"])["worker"].transform("max")
    counted = by_worker[(by_worker["worker"] != NOTHING) | (block == NOTHING)]
    return counted.groupby(["subject", "start_us"], as_index=False)["alive_us"].sum()
