"""A fleet's samples and plans in a lake, as an ingest leaves them, and as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.pipeline_fleet import (
    DAY_US,
    OPERATORS,
    SERIES,
    START,
    START_US,
    WIDTH,
    WORKERS,
    Fleet,
    Series,
    operator,
    task_number,
    values_of,
    worker_of,
)
from streamgauge.lake.schemas import SAMPLES
from streamgauge.lake.tables import Lake, LakeTable

RECEIVED = datetime(2027, 1, 1, tzinfo=UTC)
# Long before the first sample: no warm-up is left out.
VALID_FROM = START - timedelta(days=1)
ROWS_PER_GROUP, ROWS_PER_FILE = 500_000, 4_000_000


def samples_of(fleet: Fleet, number: int) -> Iterator[tuple[date, pa.Table]]:
    """The samples of a job by day, sorted as the table is, in the columns of its files."""
    bucket_us = fleet.bucket_us(number)
    starts, values, counts = values_of(fleet, number)
    schema = LakeTable(Lake("lake"), SAMPLES).file_schema
    days = (starts - START_US) // DAY_US
    for day in range(fleet.days):
        here = slice(*np.searchsorted(days, [day, day + 1]))
        columns = _names(fleet.names()[number], len(starts[here]))
        rows = len(SERIES) * len(starts[here])
        columns |= {
            "bucket_start": pa.array(
                np.tile(starts[here], len(SERIES)), schema.field("bucket_start").type
            ),
            "bucket_seconds": pa.array(np.full(rows, bucket_us / 1e6)),
            "value": pa.array(np.concatenate([one[here] for one in values]).astype(np.float64)),
            "count": pa.array(np.concatenate([one[here] for one in counts])),
            "received_at": pa.array(
                np.full(rows, int(RECEIVED.timestamp() * 1e6)), schema.field("received_at").type
            ),
            "file": _repeated("made", rows),
        }
        names = schema.names
        yield START.date() + timedelta(days=day), pa.table([columns[n] for n in names], names=names)


def _names(topology: str, buckets: int) -> dict[str, pa.Array]:
    """The columns that name series, each series' rows one behind the other."""
    rows = buckets * len(SERIES)

    def each(values: list[Any], kind: pa.DataType) -> pa.Array:
        known = sorted({one for one in values if one is not None})
        places = {one: place for place, one in enumerate(known)}
        indices = np.repeat([places.get(one, -1) for one in values], buckets).astype(np.int32)
        coded = pa.array(indices, mask=indices < 0)
        return pa.DictionaryArray.from_arrays(coded, pa.array(known, kind))

    def plain(values: list[int | None], kind: pa.DataType) -> pa.Array:
        return each(values, kind).cast(kind)

    nodes = [f"{topology}-node-{row.worker}" for row in SERIES]
    return {
        "cluster": pa.nulls(rows, pa.string()),
        "topology": _repeated(topology, rows),
        "plan_id": _repeated("plan-1", rows),
        "component": each([row.component for row in SERIES], pa.string()),
        "task": plain([row.task for row in SERIES], pa.int32()),
        "executor": each([row.executor for row in SERIES], pa.string()),
        "queue": pa.nulls(rows, pa.string()),
        "worker": each([f"{node}:6700" for node in nodes], pa.string()),
        "node": each(list(nodes), pa.string()),
        "machine": pa.nulls(rows, pa.string()),
        "metric": each([row.metric for row in SERIES], pa.string()),
        "stream": each([row.stream for row in SERIES], pa.string()),
        "source_component": each([row.source_component for row in SERIES], pa.string()),
        "source_task": plain([row.source_task for row in SERIES], pa.int32()),
        "bin": plain([row.bin for row in SERIES], pa.int16()),
    }


def _repeated(text: str, rows: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int32), pa.array([text]))


def plan_row(topology: str) -> dict[str, Any]:
    """The plan of a job, as a row of the lake."""
    names = [operator(place) for place in range(OPERATORS)]
    document = {
        "streamgauge": 1,
        "topology": {
            "name": topology,
            "acked": False,
            "operators": {
                name: {"tasks": WIDTH, **({} if place else {"kind": "source"})}
                for place, name in enumerate(names)
            },
            "streams": [
                {"from": one, "to": other, "grouping": "shuffle"} for one, other in pairwise(names)
            ],
        },
        "configuration": {
            "engine": "storm-2",
            "workers": WORKERS,
            "executors": dict.fromkeys(names, WIDTH),
        },
    }
    executors = [
        {
            "component": operator(place),
            "first_task": task_number(place, index),
            "last_task": task_number(place, index),
            "worker": f"{topology}-node-{worker_of(place, index)}:6700",
            "node": f"{topology}-node-{worker_of(place, index)}",
            "machine": None,
        }
        for place in range(OPERATORS)
        for index in range(WIDTH)
    ]
    return {
        "topology": topology,
        "plan_id": "plan-1",
        "engine": "storm-2",
        "valid_from": VALID_FROM,
        "document": json.dumps(document),
        "executors": executors,
        "received_at": RECEIVED,
        "file": "made",
    }


def write_lake(folder: Path, fleet: Fleet) -> Lake:
    """A lake with the samples and plans of a fleet, as an ingest and a compaction leave it."""
    lake = Lake(folder)
    samples, plans = lake.table("samples"), lake.table("plans")
    waiting: dict[date, list[pa.Table]] = {}
    files = 0
    for number in range(fleet.topologies):
        for day, rows in samples_of(fleet, number):
            waiting.setdefault(day, []).append(rows.cast(samples.file_schema))
            if sum(map(len, waiting[day])) >= ROWS_PER_FILE:
                _write(samples, f"{files:04d}", day, waiting.pop(day))
                files += 1
    for day, parts in waiting.items():
        _write(samples, f"{files:04d}", day, parts)
    samples.commit(after=samples.snapshot(), added=["part-made"])
    rows = pa.Table.from_pylist([plan_row(name) for name in fleet.names()], plans.file_schema)
    _write(plans, "plans", VALID_FROM.date(), [rows])
    plans.commit(after=plans.snapshot(), added=["part-made"])
    return lake


def _write(table: LakeTable, name: str, day: date, parts: list[pa.Table]) -> None:
    place = Path(table.uri, "part-made", f"date={day}")
    place.mkdir(parents=True, exist_ok=True)
    rows = pa.concat_tables(parts)
    # Without the schema of pyarrow: dictionaries are how columns are stored, not what they are.
    pq.write_table(
        rows,
        place / f"{name}.parquet",
        compression="zstd",
        row_group_size=ROWS_PER_GROUP,
        store_schema=False,
    )


def write_lines(folder: Path, fleet: Fleet) -> int:
    """The samples of a fleet as agents write them, a file for each job and day; gives the lines."""
    folder.mkdir(parents=True)
    lines = 0
    for number, topology in enumerate(fleet.names()):
        heads = [_head(topology, row) for row in SERIES]
        for day, rows in samples_of(fleet, number):
            columns = (
                rows["bucket_start"].cast(pa.int64()).to_numpy().reshape(len(heads), -1).T,
                rows["value"].to_numpy().astype(np.int64).reshape(len(heads), -1).T,
                rows["count"].to_numpy().reshape(len(heads), -1).T,
            )
            seconds = fleet.bucket_us(number) / 1e6
            with (folder / f"{topology}-{day}.jsonl").open("w", encoding="ascii") as file:
                # Bucket by bucket: what is written first happened first.
                for starts, values, counts in zip(*columns, strict=True):
                    file.writelines(
                        f'{head}"bucket_start_us":{start},"bucket_seconds":{seconds:.12g},'
                        f'"value":{value},"count":{count}}}\n'
                        for head, start, value, count in zip(
                            heads, starts.tolist(), values.tolist(), counts.tolist(), strict=True
                        )
                    )
            lines += len(rows)
    return lines


def _head(topology: str, row: Series) -> str:
    """The part of a line that is the same in every bucket."""
    node = f"{topology}-node-{row.worker}"
    named = {
        "type": "sample",
        "v": 1,
        "topology": topology,
        "plan_id": "plan-1",
        "component": row.component,
        "task": row.task,
        "executor": row.executor,
        "worker": f"{node}:6700",
        "node": node,
        "metric": row.metric,
        "stream": row.stream,
        "source_component": row.source_component,
        "source_task": row.source_task,
        "bin": row.bin,
    }
    known = {key: value for key, value in named.items() if value is not None}
    return json.dumps(known, separators=(",", ":"))[:-1] + ","
