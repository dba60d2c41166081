"""Samples summed by block: one row a series, with its blocks as arrays.

A task sums what it reads; where a series lies in several files its rows are added where they meet,
which is exact (`exact_sums`). What regressions multiply is kept by bucket besides.
Counters cannot be summed before the sample before each is known, so they go on as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.pipeline.calibrate.coverage import heard_rows, heartbeats_of, seat_rows
from streamgauge.pipeline.calibrate.history import history_rows
from streamgauge.pipeline.calibrate.lake_parts import (
    SERIES,
    Arrays,
    Part,
    codes_of,
    numbered,
    read_samples,
    run_starts,
)
from streamgauge.pipeline.calibrate.readings import (
    Readings,
    Scope,
    at_places,
    in_period,
    read_readings,
    reordered,
    sorting,
    superfluous,
    table_of,
    with_column,
)
from streamgauge.pipeline.calibrate.summing_rules import (
    COUNTERS,
    FACTORS,
    HEARTBEATS,
    HISTORY_LABELS,
    MOST_FACTOR,
    OF_EXECUTORS_TOO,
    SQUARED,
)
from streamgauge.pipeline.estimation.arrays import Bools, Whole
from streamgauge.pipeline.estimation.blocks import MICROSECONDS, rounded_lengths_us
from streamgauge.pipeline.estimation.exact_sums import Limbs, limb_sums, square_sums
from streamgauge.pipeline.estimation.schemas import Kind, flattened

READ = (*SERIES, "bucket_start", "bucket_seconds", "value", "count")
_TWICE = HISTORY_LABELS & COUNTERS
# How long before a sample of a counter another must be, for what was added to be known.
_LOOK_BACK_US, _LOOK_BACK_BUCKETS = 30 * MICROSECONDS, 6


def summed_parts(
    parts: Iterable[Part], scopes: Sequence[Scope], topology: str | None
) -> Iterator[pa.Table]:
    """Rows in the columns of `SERIES_SUMS` of some parts of the lake's samples."""
    for table in read_samples(parts, READ, topology):
        yield from series_rows(Arrays.of(table), scopes)


def series_rows(samples: Arrays, scopes: Sequence[Scope]) -> Iterator[pa.Table]:
    """What calibration needs of some samples."""
    everyone = read_readings(samples, scopes)
    if not len(everyone.row):
        return
    yield from heard_rows(everyone, scopes)
    readings = everyone.where(~superfluous(everyone, scopes))
    counters = readings.labelled(COUNTERS)
    yield from counter_rows(readings.where(counters), scopes)
    yield from sum_rows(readings.where(~counters), scopes)


def sum_rows(readings: Readings, scopes: Sequence[Scope]) -> Iterator[pa.Table]:
    """Sums of the period, and history, of readings that are no counters."""
    inside = readings.where(in_period(readings, scopes))
    if len(inside.row):
        rows = _block_rows(inside, scopes)
        yield rows
        yield from _shared_rows(rows, scopes)
    yield from history_rows(readings, inside, scopes)


def _block_rows(readings: Readings, scopes: Sequence[Scope]) -> pa.Table:
    """A row a series: its sums by block."""
    names = [readings.code(name) for name in SERIES if name not in ("topology", "plan_id")]
    number, heads = numbered([*names, readings.job], len(readings.row))
    order = sorting(number, readings.start_us)
    if order is not None:
        readings, number = reordered(readings, order), number[order]
        heads = np.searchsorted(number, np.arange(len(heads)))
    squared = readings.labelled(SQUARED)
    block = readings.start_us - readings.start_us % _of_scopes(readings, scopes, "block_us")
    first = run_starts([number, block], len(number))
    owner = number[first]
    total = limb_sums(readings.amount, first)
    square = square_sums(np.where(squared, readings.value, 0.0), first)
    has_squares = squared[first]
    arrays = {
        "start": (owner, block[first]),
        "buckets": (owner, np.diff(np.append(first, len(number)))),
        "span_us": (owner, _added(readings.bucket_us, first)),
        "observations": (owner, _added(readings.count, first)),
        **_limb_arrays("total", total, owner, np.ones(len(owner), dtype=bool)),
        **_limb_arrays("square", square, owner, has_squares),
        **_slot_arrays(readings, scopes, number),
    }
    return table_of(readings.where(at_places(heads, len(number))), scopes, Kind.SUMS, arrays)


def _added(values: Whole, first: Whole) -> Whole:
    return np.add.reduceat(values, first) if len(first) else np.zeros(0, np.int64)


def _limb_arrays(
    name: str, limbs: Limbs, owner: Whole, known: Bools
) -> dict[str, tuple[Whole, Whole]]:
    """Limbs by series; upper ones only where there are any."""
    arrays = {f"{name}_low": (owner[known], limbs.low[known])}
    for limb, values in (("middle", limbs.middle), ("top", limbs.top)):
        if values is not None:
            some = np.zeros(int(owner[-1]) + 1, dtype=bool)
            some[owner[values != 0]] = True
            large = known & some[owner]
            arrays[f"{name}_{limb}"] = (owner[large], values[large])
    return arrays


def _of_scopes(readings: Readings, scopes: Sequence[Scope], name: str) -> Whole:
    """A number of each reading's scope."""
    return np.asarray([getattr(one, name) for one in scopes], dtype=np.int64)[readings.job]


def _slot_arrays(
    readings: Readings, scopes: Sequence[Scope], number: Whole
) -> dict[str, tuple[Whole, Whole]]:
    """What is multiplied, by bucket of the usual length, counted from 1970.

    Shorter buckets are added. Longer ones would be multiplied with what came in a part of them.
    """
    usual_us = _of_scopes(readings, scopes, "bucket_us")
    divisor = readings.samples.numbers("metric", FACTORS, np.nan)[readings.row]
    with np.errstate(invalid="ignore"):
        factor = np.rint(readings.value / divisor)
        known = factor < MOST_FACTOR
    known &= rounded_lengths_us(readings.bucket_us) <= usual_us
    number, factor = number[known], factor[known].astype(np.int64)
    slot = readings.start_us[known] // usual_us[known]
    first = run_starts([number, slot], len(number))
    return {
        "slot": (number[first], slot[first]),
        "slot_sum": (number[first], _added(factor, first)),
    }


def _shared_rows(rows: pa.Table, scopes: Sequence[Scope]) -> Iterator[pa.Table]:
    """Rows once more for others: heartbeats for who is in the worker, tuples for executors.

    What a task executed is multiplied with the CPU time of its executor. Who is silent was there
    nevertheless if its worker was; queues are not among those, as who writes of a queue writes its
    length in every bucket.
    """
    metrics = np.asarray(rows["metric"].to_pylist(), dtype=object)
    executors = np.asarray(rows["executor"].is_valid())
    mine = np.flatnonzero(np.isin(metrics, sorted(OF_EXECUTORS_TOO)) & executors)
    if len(mine):
        shared = rows.take(pa.array(mine))
        # Whose tuples they were tells rows of an executor apart.
        shared = with_column(shared, "source_task", shared["task"])
        yield with_column(shared, "task", pa.nulls(len(mine), pa.int32()))
    beats = np.flatnonzero((metrics == HEARTBEATS) & ~np.asarray(rows["component"].is_valid()))
    seated = seat_rows(rows.take(pa.array(beats)), scopes)
    if len(seated):
        yield seated


def look_back_us(bucket_us: Whole) -> Whole:
    """How far before a bucket the one before may be, for what was added to a counter to be known.

    Args:
        bucket_us: How long buckets are.
    """
    return np.asarray(np.maximum(_LOOK_BACK_US, _LOOK_BACK_BUCKETS * bucket_us))


def counter_rows(readings: Readings, scopes: Sequence[Scope]) -> Iterator[pa.Table]:
    """Counters of the period and the time before it; for history of all times."""
    needed = in_period(readings, scopes, look_back=True) | readings.labelled(_TWICE)
    chosen = readings.where(needed)
    if not len(chosen.row):
        return
    columns = [chosen.code(name) for name in SERIES if name != "topology"]
    number, heads = numbered([*columns, chosen.job], len(chosen.row))
    order = sorting(number, chosen.start_us)
    if order is not None:
        chosen, number = reordered(chosen, order), number[order]
        heads = np.searchsorted(number, np.arange(len(heads)))
    arrays = {
        "start": (number, chosen.start_us),
        "span_us": (number, chosen.bucket_us),
        "observations": (number, chosen.count),
        # Values are whole but may be large: they go as the bits that they have.
        "total_low": (number, chosen.value.view(np.int64)),
    }
    yield table_of(chosen.where(at_places(heads, len(number))), scopes, Kind.COUNTER, arrays)


def increments_of(rows: pa.Table) -> pa.Table:
    """Samples of what was added to counters in each bucket.

    A counter is its process's, whatever plan that runs; an executor that moves begins a new one. A
    counter that falls was started anew, and all it shows was added since. A sample with no other
    shortly before it says nothing: the first one, and the one after a long gap.

    Args:
        rows: All rows of counters of some subjects.
    """
    length, start = flattened(rows["start"])
    span, count, bits = (
        flattened(rows[name])[1] for name in ("span_us", "observations", "total_low")
    )
    value = bits.view(np.float64)
    row = np.repeat(np.arange(len(rows)), length)
    codes, _ = codes_of(rows.select([name for name in SERIES if name != "plan_id"]))
    counter = numbered(list(codes.values()), len(rows))[0][row]
    plans = rows["own_plan"].combine_chunks()
    words = pa.array(sorted(set(plans.to_pylist()) - {None}), pa.string())
    plan = np.asarray(pc.fill_null(pc.index_in(plans, words), -1))[row]
    order = np.lexsort((plan, start, counter))
    row, counter, start, span = row[order], counter[order], start[order], span[order]
    value, count = value[order], count[order]
    follows = np.zeros(len(row), dtype=bool)
    follows[1:] = (np.diff(counter) == 0) & (np.diff(start) <= look_back_us(span)[1:])
    now, before = np.flatnonzero(follows), np.flatnonzero(follows) - 1
    restarted = (value[now] < value[before]) | (count[now] < count[before])
    samples = rows.select([name for name in SERIES if name != "plan_id"]).take(pa.array(row[now]))
    made = {
        "plan_id": plans.take(pa.array(row[now])),
        "bucket_start": pa.array(start[now], pa.timestamp("us", tz="UTC")),
        "bucket_seconds": pa.array(span[now] / 1e6, pa.float64()),
        "value": pa.array(np.where(restarted, value[now], value[now] - value[before])),
        "count": pa.array(np.where(restarted, count[now], count[now] - count[before])),
    }
    for name, column in made.items():
        samples = samples.append_column(name, column)
    return samples


def counters_summed(rows: pa.Table, scopes: Sequence[Scope]) -> Iterator[pa.Table]:
    """The sums of counters."""
    yield from sum_rows(read_readings(Arrays.of(increments_of(rows)), scopes), scopes)


def heard_summed(rows: pa.Table, scopes: Sequence[Scope]) -> Iterator[pa.Table]:
    """The sums of heartbeats of those who were heard."""
    yield from sum_rows(read_readings(Arrays.of(heartbeats_of(rows)), scopes), scopes)
