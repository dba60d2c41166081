"""A fleet's samples and plans in a lake, as an ingest leaves them, and as lines of JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

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
from benchmarks.processes import Answer
from streamgauge.lake.tables import Lake, LakeTable

RECEIVED = datetime(2027, 1, 1, tzinfo=UTC)
# Long before the first sample: no warm-up is left out.
VALID_FROM = START - timedelta(days=1)
ROWS_PER_GROUP, ROWS_PER_FILE = 200_000, 4_000_000
FOLDER = "part-made"
FEW_LINES = 1_000


def _place(topology: str, worker: int) -> dict[str, str]:
    node = f"{topology}-node-{worker}"
    return {"worker": f"{node}:6700", "node": node}


def _labels(topology: str, one: Series) -> dict[str, Any]:
    """What all samples of a series have in common."""
    place = _place(topology, one.worker)
    return {"topology": topology, "plan_id": "plan-1", "metric": one.metric, **place, **one.labels}


def _rows_by_day(
    fleet: Fleet, number: int, topology: str, schema: pa.Schema, shift_us: int
) -> Iterator[tuple[date, pa.Table]]:
    """The samples of a job by day, sorted as the table is, in the columns of its files."""
    series, starts = job_series(fleet, number), fleet.starts_us(number)
    same = {
        "bucket_seconds": fleet.bucket_us(number) / 1e6,
        "received_at": RECEIVED,
        "file": "made",
    }
    whole = pa.Table.from_pylist([_labels(topology, one) | same for one in series], schema)
    # Names as dictionaries: they take a fraction of the memory.
    heads = pa.table(
        [
            column.dictionary_encode() if pa.types.is_string(column.type) else column
            for column in whole.columns
        ],
        names=schema.names,
    )
    for day, buckets in fleet.each_day(number):
        rows = heads.take(np.repeat(np.arange(len(series)), len(starts[buckets])))
        for name, column in {
            "bucket_start": np.tile(starts[buckets] + shift_us, len(series)),
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


class _DayWriter:
    """The files of one day of a table; holds rows of one row group at most."""

    def __init__(self, table: LakeTable, day: date) -> None:
        self._folder = Path(table.uri, FOLDER, f"date={day}")
        self._folder.mkdir(parents=True)
        self._waiting: list[pa.Table] = []
        self._rows = self._files = 0
        self._file: pq.ParquetWriter | None = None

    def add(self, rows: pa.Table) -> None:
        self._waiting.append(rows)
        if sum(map(len, self._waiting)) >= ROWS_PER_GROUP:
            self._write()

    def close(self) -> None:
        self._write()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self) -> None:
        if not self._waiting:
            return
        rows = pa.concat_tables(self._waiting).unify_dictionaries().combine_chunks()
        self._waiting = []
        if self._file is None:
            place = self._folder / f"{self._files:04d}.parquet"
            self._file = pq.ParquetWriter(
                place, rows.schema, compression="zstd", store_schema=False
            )
        self._file.write_table(rows, row_group_size=ROWS_PER_GROUP)
        self._rows += len(rows)
        if self._rows >= ROWS_PER_FILE:
            self._file.close()
            self._file, self._rows, self._files = None, 0, self._files + 1


def write_lake(folder: Path, fleet: Fleet, *, shift_us: int = 0) -> Answer:
    """A lake with the samples and plans of a fleet, as an ingest and a compaction leave it.

    What is held in memory grows with the days, by a row group each, not with the samples.

    Args:
        folder: Where to.
        fleet: Whose.
        shift_us: By which all times are later, within their days.
    """
    lake = Lake(folder)
    samples, plans = lake.table("samples"), lake.table("plans")
    days: dict[date, _DayWriter] = {}
    for number, topology in enumerate(fleet.names()):
        for day, rows in _rows_by_day(fleet, number, topology, samples.file_schema, shift_us):
            if day not in days:
                days[day] = _DayWriter(samples, day)
            days[day].add(rows)
    days[VALID_FROM.date()] = plan_files = _DayWriter(plans, VALID_FROM.date())
    plan_rows = [_plan_row(topology) for topology in fleet.names()]
    plan_files.add(pa.Table.from_pylist(plan_rows, plans.file_schema))
    for files in days.values():
        files.close()
    for table in (samples, plans):
        table.commit(after=table.snapshot(), added=[FOLDER])
    return {"rows": samples.snapshot().rows}


class _Line(NamedTuple):
    """What all buckets' lines of one or several series begin with, and which series these are."""

    head: str
    places: list[int]


def write_lines(folder: Path, fleet: Fleet, *, grouped: bool = False) -> Answer:
    """The samples of a fleet as JSON lines, a file for each job and day.

    Args:
        folder: Where to.
        fleet: Whose.
        grouped: Whether what one subject measured in a bucket is one line, as agents write it, or
            every sample is one.
    """
    folder.mkdir(parents=True)
    written = 0
    for number, topology in enumerate(fleet.names()):
        series, starts = job_series(fleet, number), fleet.starts_us(number)
        seconds = fleet.bucket_us(number) / 1e6
        lines = _group(topology, series, grouped)
        values = np.array([one.values for one in series]).T
        counts = np.array([one.counts for one in series]).T
        for day, buckets in fleet.each_day(number):
            with (folder / f"{topology}-{day}.jsonl").open("w", encoding="ascii") as file:
                # Bucket by bucket: what is written first happened first.
                for start, *columns in zip(
                    starts[buckets], values[buckets].tolist(), counts[buckets].tolist(), strict=True
                ):
                    for head, places in lines:
                        value, count = ([column[place] for place in places] for column in columns)
                        file.write(f"{head},{_tail(start, seconds, value, count)}\n")
        written += len(lines) * len(starts)
    size = sum(path.stat().st_size for path in folder.iterdir())
    return {"samples": fleet.samples, "lines": written, "bytes": size}


def _group(topology: str, series: Sequence[Series], grouped: bool) -> list[_Line]:
    """The lines of a bucket: series that differ in their metric or bin alone may share one."""
    members: dict[str, list[int]] = {}
    for place, one in enumerate(series):
        own = _labels(topology, one)
        subject = {key: own[key] for key in own if key not in ("metric", "bin")}
        binned = own["metric"] if "bin" in own else ""
        members.setdefault(f"{subject}{binned}" if grouped else str(place), []).append(place)
    return [_Line(_head(topology, [series[i] for i in found]), found) for found in members.values()]


def write_few_lines(folder: Path, fleet: Fleet, *, after_us: int, value: int) -> None:
    """A file with `FEW_LINES` lines of all jobs of a fleet but the watched one.

    Args:
        folder: Where to.
        fleet: Whose jobs.
        after_us: How long after the begin of the fleet's last bucket they are of.
        value: What was measured; a line of a greater value was received later.
    """
    folder.mkdir()
    names = fleet.names()[1:]
    each = -(-FEW_LINES // len(names))
    start = int(fleet.starts_us(1)[-1]) + after_us
    tail = _tail(start, fleet.bucket_us(1) / 1e6, [value], [value])
    # What names a series does not depend on the days.
    brief = Fleet(topologies=fleet.topologies, days=1)
    heads = [
        _head(name, [one])
        for number, name in enumerate(names, start=1)
        for one in job_series(brief, number)[:each]
    ]
    path = folder / "lines.jsonl"
    path.write_text("".join(f"{head},{tail}\n" for head in heads[:FEW_LINES]), encoding="ascii")
    os.utime(path, (RECEIVED.timestamp() + value,) * 2)


def _head(topology: str, series: Sequence[Series]) -> str:
    """A `sample`, or what belongs together as `samples` or a `histogram`."""
    labels = [_labels(topology, one) for one in series]
    head: dict[str, Any] = {"type": "sample", "v": 1} | labels[0]
    if len(series) > 1:
        binned = "bin" in labels[0]
        head |= {"type": "histogram" if binned else "samples", "v": 2}
        name = "bin" if binned else "metric"
        del head[name]
        head[f"{name}s"] = [one[name] for one in labels]
    return json.dumps(head, separators=(",", ":"))[:-1]


def _tail(start_us: int, seconds: float, values: list[int], counts: list[int]) -> str:
    times = f'"bucket_start_us":{start_us},"bucket_seconds":{seconds:.12g}'
    if len(values) == 1:
        return f'{times},"value":{values[0]},"count":{counts[0]}}}'
    tail = f'{times},"values":{json.dumps(values, separators=(",", ":"))}'
    more = "" if counts == values else f',"counts":{json.dumps(counts, separators=(",", ":"))}'
    return f"{tail}{more}}}"
