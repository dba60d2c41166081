"""How long everyone was known: without it, what was not written cannot be told from zero.

A worker's heartbeats say in which buckets it was known. Where a worker sends none, the buckets in
which anything was written of it count; where samples name no worker, those of their own task.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.pipeline.calibrate.lake_parts import (
    DAY_US,
    NO_NUMBER,
    NO_WORD,
    SERIES,
    codes_of,
    numbered,
    run_starts,
)
from streamgauge.pipeline.calibrate.readings import (
    Readings,
    Scope,
    at_places,
    code_of,
    reordered,
    rows_among,
    table_of,
    with_column,
)
from streamgauge.pipeline.calibrate.summing_rules import HEARTBEATS
from streamgauge.pipeline.estimation.arrays import Bools
from streamgauge.pipeline.estimation.schemas import SERIES_SUMS, TRANSFERS, Kind, flattened

# Who is heard; the plan is told apart from these.
WHO = ("cluster", "topology", "component", "task", "executor", "worker", "node")
# No code of anything: what is left out of a name.
_LEFT_OUT = NO_NUMBER + 1
# Buckets so much longer than most of somebody's are another writer's.
_MUCH_LONGER = 1.5


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
    by_job = {(one.cluster, one.topology): one for one in scopes}
    names = [beats[name].to_pylist() for name in ("cluster", "topology", "worker")]
    seats = [
        (place, *seat)
        for place, (cluster, topology, worker) in enumerate(zip(*names, strict=True))
        for seat in by_job[cluster, topology].seats.get(worker, ())
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
