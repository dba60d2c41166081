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
    OPERATORS,
    START,
    WIDTH,
    WORKERS,
    Fleet,
    Series,
    Task,
    all_tasks,
    job_series,
)
from streamgauge.lake.tables import Lake, LakeTable

RECEIVED = datetime(2027, 1, 1, tzinfo=UTC)
# Long before the first sample: no warm-up is left out.
VALID_FROM = START - timedelta(days=1)
ROWS_PER_GROUP, ROWS_PER_FILE = 500_000, 4_000_000


def _place(topology: str, worker: int) -> dict[str, str]:
    node = f"{topology}-node-{worker}"
    return {"worker": f"{node}:6700", "node": node}


def _labels(topology: str, one: Series) -> dict[str, Any]:
    """What all samples of a series have in common."""
    place = _place(topology, one.worker)
    return {"topology": topology, "plan_id": "plan-1", "metric": one.metric, **place, **one.labels}


def _rows_by_day(
    fleet: Fleet, number: int, topology: str, schema: pa.Schema
) -> Iterator[tuple[date, pa.Table]]:
    """The samples of a job by day, sorted as the table is, in the columns of its files."""
    series, starts = job_series(fleet, number), fleet.starts_us(number)
    same = {
        "bucket_seconds": fleet.bucket_us(number) / 1e6,
        "received_at": RECEIVED,
        "file": "made",
    }
    heads = pa.Table.from_pylist([_labels(topology, one) | same for one in series], schema)
    for day, buckets in fleet.each_day(number):
        rows = heads.take(np.repeat(np.arange(len(series)), len(starts[buckets])))
        for name, column in {
            "bucket_start": np.tile(starts[buckets], len(series)),
            "value": np.concatenate([one.values[buckets] for one in series]).astype(np.float64),
            "count": np.concatenate([one.counts[buckets] for one in series]),
        }.items():
            field = schema.field(name)
            rows = rows.set_column(
                schema.get_field_index(name), field, pa.array(column, field.type)
            )
        yield day, rows


def _plan_row(topology: str) -> dict[str, Any]:
    """The plan of a job, as a row of the lake."""
    names = [Task(place, 0).operator for place in range(OPERATORS)]
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
                {"from": sender, "to": receiver, "grouping": "shuffle"}
                for sender, receiver in pairwise(names)
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
            "component": task.operator,
            "first_task": task.number,
            "last_task": task.number,
            **_place(topology, task.worker),
        }
        for task in all_tasks()
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


def write_lake(folder: Path, fleet: Fleet) -> None:
    """A lake with the samples and plans of a fleet, as an ingest and a compaction leave it."""
    lake = Lake(folder)
    samples, plans = lake.table("samples"), lake.table("plans")
    waiting: dict[date, list[pa.Table]] = {}
    files = 0
    for number, topology in enumerate(fleet.names()):
        for day, rows in _rows_by_day(fleet, number, topology, samples.file_schema):
            waiting.setdefault(day, []).append(rows)
            if sum(map(len, waiting[day])) >= ROWS_PER_FILE:
                _write(samples, f"{files:04d}", day, waiting.pop(day))
                files += 1
    for day, parts in waiting.items():
        _write(samples, f"{files:04d}", day, parts)
    plan_rows = [_plan_row(topology) for topology in fleet.names()]
    rows = pa.Table.from_pylist(plan_rows, plans.file_schema)
    _write(plans, "plans", VALID_FROM.date(), [rows])
    for table in (samples, plans):
        table.commit(after=table.snapshot(), added=["part-made"])


def _write(table: LakeTable, name: str, day: date, parts: list[pa.Table]) -> None:
    folder = Path(table.uri, "part-made", f"date={day}")
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        pa.concat_tables(parts),
        folder / f"{name}.parquet",
        compression="zstd",
        row_group_size=ROWS_PER_GROUP,
        store_schema=False,
    )


def write_lines(folder: Path, fleet: Fleet) -> int:
    """The samples of a fleet as agents write them, a file for each job and day; gives the lines."""
    folder.mkdir(parents=True)
    for number, topology in enumerate(fleet.names()):
        series, starts = job_series(fleet, number), fleet.starts_us(number)
        seconds = fleet.bucket_us(number) / 1e6
        heads = [
            json.dumps({"type": "sample", "v": 1} | _labels(topology, one))[:-1] for one in series
        ]
        values = np.array([one.values for one in series]).T
        counts = np.array([one.counts for one in series]).T
        for day, buckets in fleet.each_day(number):
            with (folder / f"{topology}-{day}.jsonl").open("w", encoding="ascii") as file:
                # Bucket by bucket: what is written first happened first.
                for start, *columns in zip(
                    starts[buckets], values[buckets].tolist(), counts[buckets].tolist(), strict=True
                ):
                    file.writelines(
                        f'{head},"bucket_start_us":{start},"bucket_seconds":{seconds:.12g},'
                        f'"value":{value},"count":{count}}}\n'
                        for head, value, count in zip(heads, *columns, strict=True)
                    )
    return fleet.samples
