"""Samples summed by block: one row a series, with its blocks as arrays.

A task sums what it reads; where a series lies in several files its rows are added where they meet,
which is exact (`exact_sums`). What regressions multiply is kept by bucket besides. Counters cannot
be summed before the sample before each is known, so they go on as they are.

Without knowing how long everyone was there, what was not written cannot be told from zero. A
worker's heartbeats say in which buckets it was known. Where a worker sends none, the buckets in
which anything was written of it count; where samples name no worker, those of their own task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.pipeline.calibrate.history import history_rows
from streamgauge.pipeline.calibrate.lake_parts import (
    COUNTERS,
    DAY_US,
    FACTORS,
    HEARTBEATS,
    HISTORY_LABELS,
    MOST_FACTOR,
    NO_NUMBER,
    NO_WORD,
    OF_EXECUTORS_TOO,
    SERIES,
    SQUARED,
    Arrays,
    Part,
    codes_of,
    numbered,
    read_samples,
    run_starts,
)
from streamgauge.pipeline.calibrate.periods import StablePeriod
from streamgauge.pipeline.calibrate.readings import (
    Readings,
    Scope,
    at_places,
    code_of,
    in_period,
    read_readings,
    reordered,
    rows_among,
    sorting,
    superfluous,
    table_of,
    with_column,
)
from streamgauge.pipeline.estimation.blocks import MICROSECONDS, rounded_lengths_us
from streamgauge.pipeline.estimation.exact_sums import Limbs, limb_sums, square_sums
from streamgauge.pipeline.estimation.roster import label_of
from streamgauge.pipeline.estimation.schemas import (
    SERIES_SUMS,
    TRANSFERS,
    Bools,
    Kind,
    Whole,
    flattened,
)

READ = (*SERIES, "bucket_start", "bucket_seconds", "value", "count")
_TWICE = HISTORY_LABELS & COUNTERS
# How long before a sample of a counter another must be, for what was added to be known.
_LOOK_BACK_US, _LOOK_BACK_BUCKETS = 30 * MICROSECONDS, 6
# Who is heard; the plan is told apart from these.
WHO = ("cluster", "topology", "component", "task", "executor", "worker", "node")
# No code of anything: what is left out of a name.
_LEFT_OUT = NO_NUMBER + 1
# Buckets so much longer than most of somebody's are another writer's.
_MUCH_LONGER = 1.5


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
    block = readings.start_us - readings.start_us % _of_periods(readings, scopes, "block_us")
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


def _of_periods(readings: Readings, scopes: Sequence[Scope], name: str) -> Whole:
    """A number of each reading's period."""
    return np.asarray([getattr(one.period, name) for one in scopes], np.int64)[readings.job]


def _slot_arrays(
    readings: Readings, scopes: Sequence[Scope], number: Whole
) -> dict[str, tuple[Whole, Whole]]:
    """What is multiplied, by bucket of the usual length, counted from 1970.

    Shorter buckets are added. Longer ones would be multiplied with what came in a part of them.
    """
    usual_us = _of_periods(readings, scopes, "bucket_us")
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


def heard_rows(readings: Readings, scopes: Sequence[Scope]) -> Iterator[pa.Table]:
    """Buckets in which anything was written of those who send no heartbeats that day.

    The worker was heard, else the task, else the executor. A transfer without a worker says nothing
    of the task that received.
    """
    chosen = readings.where(_silent(readings, scopes))
    if not len(chosen.row):
        return
    worker, task = chosen.code("worker"), chosen.code("task")
    of_worker = worker != NO_WORD
    names = [chosen.code(name) for name in ("cluster", "node", "plan_id")]
    names += [np.where(of_worker, _LEFT_OUT, chosen.code("component"))]
    names += [np.where(of_worker, _LEFT_OUT, task)]
    names += [np.where(of_worker | (task != NO_NUMBER), _LEFT_OUT, chosen.code("executor"))]
    number, _ = numbered([*names, worker, chosen.job], len(chosen.row))
    order = np.lexsort((chosen.bucket_us, chosen.start_us, number))
    chosen, number = reordered(chosen, order), number[order]
    first = run_starts([number, chosen.start_us, chosen.bucket_us], len(number))
    heads = np.searchsorted(number, np.arange(int(number[-1]) + 1))
    arrays = {
        "start": (number[first], chosen.start_us[first]),
        "span_us": (number[first], chosen.bucket_us[first]),
    }
    columns = ("cluster", "plan_id", *WHO[2:])
    rows = table_of(
        chosen.where(at_places(heads, len(number))), scopes, Kind.HEARD, arrays, columns=columns
    )
    named = rows["worker"].is_valid()
    for name, nobody in (
        ("executor", pc.or_(named, rows["task"].is_valid())),
        ("component", named),
        ("task", named),
    ):
        rows = with_column(rows, name, pc.if_else(nobody, None, rows[name]).combine_chunks())
    yield rows


def _silent(readings: Readings, scopes: Sequence[Scope]) -> Bools:
    """Which are of somebody who sent no heartbeats that day."""
    worker, day = readings.code("worker"), readings.start_us // DAY_US
    told = np.asarray([one.beating is not None for one in scopes])[readings.job]
    told &= readings.code("topology") != NO_WORD
    told &= (worker != NO_WORD) | ~readings.labelled(TRANSFERS)
    beating = [
        (job, code_of(readings.samples, "worker", name), number)
        for job, one in enumerate(scopes)
        for name, number in one.beating or ()
    ]
    told &= ~rows_among((readings.job, worker, day), beating)
    return told


def heartbeats_of(rows: pa.Table) -> pa.Table:
    """Samples of heartbeats, of nothing, for every bucket in which somebody was heard.

    Buckets of someone that are much longer than most of that day do not count. Where some name the
    plan and some do not, it is named.

    Args:
        rows: All rows of `heard_rows` of some of those who were heard.
    """
    length, start = flattened(rows["start"])
    bucket = flattened(rows["span_us"])[1]
    row = np.repeat(np.arange(len(rows)), length)
    words = sorted(set(pc.unique(rows["own_plan"]).to_pylist()) - {None})
    plans = np.asarray(
        pc.fill_null(pc.index_in(rows["own_plan"], pa.array(words, pa.string())), -1)
    )
    names, _ = codes_of(rows.select(WHO))
    who = numbered(list(names.values()), len(rows))[0][row]
    day_of, heads = numbered([who, start // DAY_US], len(row))
    order = np.lexsort((bucket, day_of))
    ends = np.searchsorted(day_of[order], np.arange(len(heads) + 1))
    median = bucket[order][(ends[:-1] + ends[1:] - 1) // 2]
    kept = bucket <= _MUCH_LONGER * median[day_of]
    row, who, start, bucket = row[kept], who[kept], start[kept], bucket[kept]
    order = np.lexsort((plans[row], start, who))
    row, who, start, bucket = row[order], who[order], start[order], bucket[order]
    first = run_starts([who, start], len(who))
    last = np.append(first[1:], len(who)) - 1
    beats = rows.select(WHO).take(pa.array(row[last]))
    plan = rows["own_plan"].take(pa.array(row[last]))
    made = {
        "plan_id": plan,
        "metric": pa.array([HEARTBEATS] * len(last), pa.string()),
        "bucket_start": pa.array(start[last], pa.timestamp("us", tz="UTC")),
        "bucket_seconds": pa.array(np.maximum.reduceat(bucket, first) / 1e6, pa.float64()),
        "value": pa.array(np.zeros(len(last)), pa.float64()),
        "count": pa.array(np.zeros(len(last), np.int64), pa.int64()),
    }
    nobody = [name for name in SERIES if name not in {*WHO, *made}]
    made |= {name: pa.nulls(len(last), SERIES_SUMS.field(name).type) for name in nobody}
    for name, column in made.items():
        beats = beats.append_column(name, column)
    return beats


def seat_rows(beats: pa.Table, scopes: Sequence[Scope]) -> pa.Table:
    """Sums of heartbeats of workers as those of whoever is in them, and of nothing.

    Queues are not among those: who writes of a queue writes its length in every bucket.
    """
    by_job = {one.period.job: one.period for one in scopes}
    names = [beats[name].to_pylist() for name in ("cluster", "topology", "worker")]
    seats = [
        (place, *seat)
        for place, (*job, worker) in enumerate(zip(*names, strict=True))
        for seat in _seats(by_job[tuple(job)], worker)
    ]
    rows = beats.take(pa.array([place for place, *_ in seats], pa.int64()))
    for column, name in enumerate(("component", "task", "executor"), 1):
        kind = SERIES_SUMS.field(name).type
        rows = with_column(rows, name, pa.array([seat[column] for seat in seats], kind))
    for name in ("observations", "total_low", "square_low"):
        length, values = flattened(rows[name])
        offsets = np.concatenate([[0], np.cumsum(length)]).astype(np.int32)
        zeros = pa.array(np.zeros(len(values), np.int64))
        rows = with_column(rows, name, pa.ListArray.from_arrays(pa.array(offsets), zeros))
    return rows


def _seats(period: StablePeriod, worker: str) -> Iterator[tuple[str, int | None, str | None]]:
    """Who is in a worker: component, and task or executor."""
    for one in period.executors:
        if one.worker == worker:
            yield one.component, None, label_of(one)
            for task in range(one.first_task, one.last_task + 1):
                yield one.component, task, None
