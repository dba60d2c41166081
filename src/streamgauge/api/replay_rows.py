"""Rows of a replay: what every job did in every step, under every policy and in every world."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.planning.sharing.course import Course

SCHEMA = pa.schema(
    [
        pa.field("policy", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("seed", pa.int32(), nullable=False),
        # When the step began.
        pa.field("at_seconds", pa.float64(), nullable=False),
        pa.field("job", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        # Utility over its maximum, and whether the objective was met.
        pa.field("satisfaction", pa.float64(), nullable=False),
        pa.field("met", pa.bool_(), nullable=False),
        pa.field("offered_per_second", pa.float64(), nullable=False),
        pa.field("processed_per_second", pa.float64(), nullable=False),
        pa.field("lag", pa.float64(), nullable=False),
        # Of the statistic that the objective names.
        pa.field("latency_seconds", pa.float64(), nullable=False),
        pa.field("executors", pa.int32(), nullable=False),
        pa.field("cores", pa.float64(), nullable=False),
        # Whether the policy changed executors of the job in this step.
        pa.field("rescaled", pa.bool_(), nullable=False),
    ]
)


def make_table(course: Course) -> pa.Table:
    """The rows of one course, by time and job; jobs that are not there have none."""
    there = course.present.ravel()
    steps, jobs = course.present.shape
    rescaled = np.zeros((steps, jobs), dtype=bool)
    for acted in course.acted:
        step = round(acted.at / course.step_seconds)
        for number, name in enumerate(course.jobs):
            rescaled[step, number] |= name in acted.decision.executors
    figures = {
        "seed": np.full(steps * jobs, course.seed),
        "at_seconds": np.repeat(course.times, jobs),
        "satisfaction": course.share.ravel(),
        "met": course.met.ravel(),
        "offered_per_second": course.offered.ravel(),
        "processed_per_second": course.processed.ravel(),
        "lag": course.lag.ravel(),
        "latency_seconds": course.latency_seconds.ravel(),
        "executors": course.executors.ravel(),
        "cores": course.cores.ravel(),
        "rescaled": rescaled.ravel(),
    }
    rows = int(there.sum())
    names = np.tile(np.arange(jobs, dtype=np.int32), steps)[there]
    columns = {name: pa.array(values[there]) for name, values in figures.items()} | {
        "policy": pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int32), [course.policy]),
        "job": pa.DictionaryArray.from_arrays(names, list(course.jobs)),
    }
    return pa.table({field.name: columns[field.name] for field in SCHEMA}).cast(SCHEMA)


def write_rows(courses: Iterable[Course], path: str | Path) -> None:
    """All courses in one Parquet file, a group of rows for each."""
    with pq.ParquetWriter(Path(path), SCHEMA) as writer:
        for course in courses:
            writer.write_table(make_table(course))
