"""Sums of series as arrays: a row for each series and block, and how to get at them.

The order is that of the texts themselves, so that sums of the same rows are the same numbers
however the rows came and whatever came with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.errors import InvalidInput
from streamgauge.lake.metrics import METRICS, Metric
from streamgauge.pipeline.estimation.blocks import BUCKETS_PER_BLOCK
from streamgauge.pipeline.estimation.exact_sums import Limbs, added, carried, rounded
from streamgauge.pipeline.estimation.schemas import (
    NAMED_BY,
    NOTHING,
    OWNER,
    SERIES_SUMS,
    TRANSFERS,
    Floats,
    Whole,
    flattened,
)

LABELS = tuple(sorted(METRICS))
CODES = {label: code for code, label in enumerate(LABELS)}
# What makes a series, besides its subject.
SERIES = ("metric", "stream", "source", "target", "target_task", "bin")
_HEARTBEATS = CODES[Metric.WORKER_HEARTBEATS.label]
_TUPLES = tuple(CODES[metric.label] for metric in (Metric.EXECUTED, Metric.WINDOW_TRIGGERS))
_LIMBS = ("low", "middle", "top")
_COUNTED = ("observations", "buckets", "span_us")
_TEXTS = tuple(field.name for field in SERIES_SUMS if pa.types.is_string(field.type))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """All sums of some subjects, and where those of every series and subject stand.

    Attributes:
        words: Every name that occurs, sorted; columns hold places in it, -1 for none.
        owners: A row a subject: the owner's columns as places in `words`, `task` as a number.
        series: A row a series: subject, and what else names it (`SERIES`).
        sums: A row a series and block: `series`, `start_us` of the block, `total`, `squares`,
            `observations`, `buckets`, `span_us`.
        coverage: A row a subject and block in which it was known: `subject`, `start_us`,
            `alive_us`.
        steps_us: How long the blocks of each subject are.
        factors: What regressions multiply: a row a series and some buckets that follow each other,
            with `subject`, `metric`, `stream`, `source` and `start_us` of the block. Rows of one
            `run`, which is a subject in a worker in these buckets, are multiplied with each other.
        slots: A row for each of these: its numbers by bucket, NaN for none.
        series_offsets: Where the sums of each series begin, and the end of the last.
        cover_offsets: Where the known blocks of each subject begin, and the end of the last.
        cover: For each sum the row of its subject's block in the coverage.
        by_metric: The series of each metric, in their order.
        about: Equal for series of different metrics with the same subject, stream and source.
    """

    words: tuple[str, ...]
    owners: pd.DataFrame
    series: pd.DataFrame
    sums: pd.DataFrame
    coverage: pd.DataFrame
    steps_us: Whole
    factors: pd.DataFrame
    slots: Floats
    series_offsets: Whole
    cover_offsets: Whole
    cover: Whole
    by_metric: Mapping[int, Whole]
    about: Whole

    def series_of(self, metric: Metric) -> Whole:
        """The series of a metric, in their order."""
        return self.by_metric.get(CODES[metric.label], np.zeros(0, np.int64))

    def beside(self, series: Whole, metric: Metric) -> Whole:
        """The series of a metric about the same as each of `series`, -1 for none."""
        other = self.series_of(metric)
        if not len(other):
            return np.full(len(series), NOTHING)
        place = np.searchsorted(self.about[other], self.about[series])
        place = np.minimum(place, len(other) - 1)
        same = self.about[other][place] == self.about[series]
        return np.where(same, other[place], NOTHING)

    def rows_of(self, series: Whole) -> tuple[Whole, Whole]:
        """The sums of some series, one behind the other: whose each is, and its row."""
        return ranges(self.series_offsets, series)

    def blocks_of(self, subjects: Whole) -> tuple[Whole, Whole]:
        """The known blocks of some subjects, likewise."""
        return ranges(self.cover_offsets, subjects)

    def spread(self, series: Whole, column: str) -> Floats:
        """A column of some series over all known blocks of their subjects, zero where no row is."""
        return self.spread_for(series, self.series["subject"].to_numpy()[series], column)

    def spread_for(self, series: Whole, subjects: Whole, column: str) -> Floats:
        """As `spread`, where a series may be missing (-1): all zero."""
        lengths = np.diff(self.cover_offsets)[subjects]
        begins = np.concatenate([[0], np.cumsum(lengths)])
        values = np.zeros(int(begins[-1]))
        present = np.flatnonzero(series != NOTHING)
        group, row = self.rows_of(series[present])
        group = present[group]
        place = begins[group] + self.cover[row] - self.cover_offsets[subjects[group]]
        values[place] = self.sums[column].to_numpy()[row]
        return values


def read(table: pa.Table) -> Layout:
    """The sums of series of a table with the columns of `SERIES_SUMS`, in any order.

    A series may come in several rows, from different files; blocks that it has in several are
    added exactly.

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
    steps = np.zeros(len(owners), dtype=np.int64)
    steps[subject] = columns["block_us"]
    worker = np.where(codes["metric"] == CODES[Metric.RECEIVED.label], NOTHING, codes["worker"])
    # What the tasks of an executor executed comes for it too, to be multiplied with its CPU time.
    own = ~(np.isin(codes["metric"], _TUPLES) & (codes["task"] == NOTHING))
    blocks = _added_blocks(table, codes, subject)
    place, series = dense({name: column[own] for name, column in named.items()})
    places = np.full(len(own), NOTHING)
    places[own] = place
    factors, slots = _factors(table, columns, named, worker)
    sums, coverage = _sums(blocks, places), _coverage(blocks, subject, worker, codes["metric"])
    of_sum = sums["series"].to_numpy()
    return Layout(
        words=words,
        owners=owners,
        series=series,
        sums=sums,
        coverage=coverage,
        steps_us=steps,
        factors=factors,
        slots=slots,
        series_offsets=np.searchsorted(of_sum, np.arange(len(series) + 1)),
        cover_offsets=np.searchsorted(coverage["subject"].to_numpy(), np.arange(len(owners) + 1)),
        cover=_cover(series["subject"].to_numpy()[of_sum], sums, coverage),
        by_metric=_by_metric(series),
        about=dense({name: series[name].to_numpy() for name in ("subject", "stream", "source")})[0],
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
    """Columns by name but arrays: texts as Arrow's dictionaries, the rest as NumPy's arrays."""
    missing = [name for name in SERIES_SUMS.names if name not in table.column_names]
    if missing:
        raise InvalidInput.single(
            ("sums",), seen=f"no column {', '.join(missing)}", expected="all of them"
        )
    columns: dict[str, Any] = {}
    for field in SERIES_SUMS:
        if pa.types.is_list(field.type):
            continue
        column = table[field.name].combine_chunks()
        if pa.types.is_string(field.type):
            columns[field.name] = column.cast(pa.string()).dictionary_encode()
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Blocks:
    """Blocks of whatever has all names alike, one entry each, in order of these and of time.

    Attributes:
        row: A row that the block is of.
        start: When it begins.
        numbers: Its buckets, span and observations.
        total: The sum of its values.
        squares: That of their squares.
    """

    row: Whole
    start: Whole
    numbers: dict[str, Whole]
    total: Limbs
    squares: Limbs


def _added_blocks(table: pa.Table, codes: dict[str, Whole], subject: Whole) -> _Blocks:
    """All blocks; what several rows have of one is added."""
    lengths, start = flattened(table["start"])
    row = np.repeat(np.arange(len(lengths)), lengths)
    names = {name: codes[name] for name in codes if name not in ("kind", "own_plan")}
    whole, _ = dense({"subject": subject, **names})
    order, first = _grouped(whole[row], start)
    row, start = row[order], start[order]

    def summed(values: Whole) -> Whole:
        return np.add.reduceat(values[order], first) if len(first) else values

    def limbs(name: str) -> Limbs:
        low, middle, top = (_spread(table[f"{name}_{part}"], lengths) for part in _LIMBS)
        numbers = Limbs(np.zeros(len(order), np.int64) if low is None else low, middle, top)
        return added(carried(numbers).mapped(lambda limb: limb[order]), first)

    return _Blocks(
        row=row[first],
        start=start[first],
        numbers={name: summed(flattened(table[name])[1]) for name in _COUNTED},
        total=limbs("total"),
        squares=limbs("square"),
    )


def _grouped(*columns: Whole) -> tuple[Whole, Whole]:
    """How to sort by columns, the first one first, and where others begin in that order."""
    order = np.lexsort(columns[::-1])
    new = np.zeros(len(order), dtype=bool)
    new[:1] = True
    for column in columns:
        new[1:] |= np.diff(column[order]) != 0
    return order, np.flatnonzero(new)


def _spread(lists: pa.ChunkedArray, lengths: Whole) -> Whole | None:
    """The numbers of all rows, zero for those of a row that has none; nothing where none has."""
    known, numbers = flattened(lists)
    if not len(numbers):
        return None
    if len(numbers) == int(lengths.sum()):
        return numbers
    spread = np.zeros(int(lengths.sum()), dtype=np.int64)
    spread[np.repeat(known > 0, lengths)] = numbers
    return spread


def _sums(blocks: _Blocks, places: Whole) -> pd.DataFrame:
    """A row a series and block."""
    own = places[blocks.row] != NOTHING
    series, starts = places[blocks.row[own]], blocks.start[own]
    order, first = _grouped(series, starts)
    summed: dict[str, Any] = {"series": series[order][first], "start_us": starts[order][first]}
    for name, limbs in (("total", blocks.total), ("squares", blocks.squares)):
        mine = carried(limbs).mapped(lambda limb: limb[own][order])
        summed[name] = rounded(added(mine, first))
    for name, values in blocks.numbers.items():
        whole = values[own][order]
        summed[name] = (np.add.reduceat(whole, first) if len(first) else whole).astype(np.float64)
    return pd.DataFrame(summed)


def _factors(
    table: pa.Table, columns: dict[str, Any], named: dict[str, Whole], worker: Whole
) -> tuple[pd.DataFrame, Floats]:
    """What is multiplied, by run and series; rows of one series and run are added first."""
    lengths, slot = flattened(table["slot"])
    numbers = flattened(table["slot_sum"])[1]
    if len(numbers) != len(slot):
        raise InvalidInput.single(
            ("sums", "slot_sum"), seen=f"{len(numbers)} numbers", expected=f"{len(slot)}, as slots"
        )
    row = np.repeat(np.arange(len(lengths)), lengths)
    bucket_us, block_us = columns["bucket_us"], columns["block_us"]
    # No run crosses the end of a block, which has five buckets or fewer, or is merged of such.
    buckets = block_us // bucket_us
    fives = np.where(buckets % BUCKETS_PER_BLOCK == 0, BUCKETS_PER_BLOCK, 1)
    width = np.where(buckets < BUCKETS_PER_BLOCK, buckets, fives)[row]
    number, place = slot // width, slot % width
    run, runs = dense({"subject": named["subject"][row], "number": number, "worker": worker[row]})
    begin = np.zeros(len(runs), dtype=np.int64)
    begin[run] = number * width * bucket_us[row] // block_us[row] * block_us[row]
    names = ("metric", "stream", "source")
    factor, factors = dense({"run": run, **{name: named[name][row] for name in names}})
    summed = np.full((len(factors), BUCKETS_PER_BLOCK), np.nan)
    summed[factor, place] = 0.0
    np.add.at(summed, (factor, place), numbers)
    of_run = factors["run"].to_numpy()
    frame = factors.assign(subject=runs["subject"].to_numpy()[of_run], start_us=begin[of_run])
    return frame, summed


def _coverage(blocks: _Blocks, subject: Whole, worker: Whole, metric: Whole) -> pd.DataFrame:
    """How long each subject was known alive in each block.

    For each worker that ran the subject in the block, its heartbeats say so; where there are none,
    the series with most buckets does. Rows that name no worker count where none of the block does.
    """
    who, by = subject[blocks.row], worker[blocks.row]
    span, buckets = blocks.numbers["span_us"], blocks.numbers["buckets"]
    beats = (metric[blocks.row] == _HEARTBEATS).astype(np.int64)
    order = np.lexsort((span, buckets, beats, by, blocks.start, who))
    who, start, by, span = (one[order] for one in (who, blocks.start, by, span))
    new_block = (np.diff(who) != 0) | (np.diff(start) != 0)
    ends_block = np.append(new_block, True)[: len(who)]
    ends_worker = np.append(new_block | (np.diff(by) != 0), True)[: len(who)]
    # Of a block, workers come in order: those who name none first.
    counted = ends_worker & ((by != NOTHING) | ends_block)
    who, start, span = who[counted], start[counted], span[counted]
    _, first = _grouped(who, start)
    return pd.DataFrame(
        {
            "subject": who[first],
            "start_us": start[first],
            "alive_us": (np.add.reduceat(span, first) if len(first) else span).astype(np.float64),
        }
    )


def _cover(owner: Whole, sums: pd.DataFrame, coverage: pd.DataFrame) -> Whole:
    """Where the block of each sum stands among the known blocks of its subject."""
    starts = np.unique(coverage["start_us"].to_numpy())
    known, wanted = (
        who * len(starts) + np.searchsorted(starts, rows["start_us"].to_numpy())
        for who, rows in ((coverage["subject"].to_numpy(), coverage), (owner, sums))
    )
    return np.asarray(np.searchsorted(known, wanted))


def ranges(offsets: Whole, chosen: Whole) -> tuple[Whole, Whole]:
    """The rows of the chosen groups, one group behind the other."""
    lengths = np.diff(offsets)[chosen]
    group = np.repeat(np.arange(len(chosen)), lengths)
    first = np.concatenate([[0], np.cumsum(lengths)])[:-1]
    row = np.arange(len(group)) - first[group] + offsets[chosen][group]
    return group, row


def _by_metric(series: pd.DataFrame) -> dict[int, Whole]:
    metric = series["metric"].to_numpy()
    order = np.argsort(metric, kind="stable")
    ends = np.searchsorted(metric[order], np.arange(len(CODES) + 1))
    return {code: order[ends[code] : ends[code + 1]] for code in np.unique(metric).tolist()}
