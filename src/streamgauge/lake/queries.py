"""Answers to questions about one metric, without Spark.

Files and rows that cannot matter are not read: the period, the topology and the metric are
conditions on what is known of a file and of its parts. A bucket counts in the window in which it
begins.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.lake import histogram, query_sql
from streamgauge.lake.definition import Kind, Level
from streamgauge.lake.metrics import Metric
from streamgauge.lake.query_sql import Ask, Measure
from streamgauge.lake.questions import SUBJECTS, Answer, Question, Series, Window
from streamgauge.lake.scanning import database, dataset_of
from streamgauge.lake.schemas import SAMPLES
from streamgauge.lake.tables import NO_TABLE, Lake

MOST_WINDOWS = 100_000
# A series for the eye has about as many points as fit on a line.
SERIES_POINTS = 60
_STEPS = (1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
# A counter's first value says nothing without the one before, which is looked for this far back.
COUNTER_MARGIN = timedelta(hours=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECONDS = 1_000_000


def ask(lake: Lake, question: Question, version: int | None = None) -> Answer:
    """Answer a question from the samples of a lake.

    Raises:
        NotEnoughData: There is no sample to answer it from.
        InvalidInput: There is no such version; or the answer would be too long.
    """
    table = lake.table(SAMPLES.name)
    snapshot = table.snapshot(version)
    first = question.start
    if first is not None and question.metric.kind is Kind.CUMULATIVE:
        first -= COUNTER_MARGIN
    topology = question.where.get("topology")
    files = snapshot.within(first, question.end, None if topology is None else str(topology))
    if snapshot.version == NO_TABLE or not files:
        raise NotEnoughData(_nothing(question))
    rows = dataset_of(table, snapshot.version, files)
    plan = Ask(
        kind=question.metric.kind,
        measure=question.measure,
        by=question.by,
        key=tuple(name for name in SAMPLES.key if name != SAMPLES.day_of),
        probability=question.probability,
        has_workers=question.metric.level not in (Level.NODE, Level.MACHINE),
    )
    with database() as connection:
        _load(connection, plan, rows, question, first)
        span = connection.sql(query_sql.SPAN).fetchall()[0]
        if span[0] is None:
            raise NotEnoughData(_nothing(question))
        begin, end, longest = (int(one) for one in span)
        window = question.window_seconds
        if window is None and question.is_series:
            window = series_window((end - begin) / _MICROSECONDS, longest / _MICROSECONDS)
        width = None if window is None else round(window * _MICROSECONDS)
        found = connection.execute(query_sql.answer(plan, width)).fetchmany(_most_rows(plan))
    series = tuple(_series(question, plan, found, begin))
    if sum(len(one.windows) for one in series) > MOST_WINDOWS:
        raise InvalidInput.single(
            ("window",),
            seen=f"more than {MOST_WINDOWS:,} figures",
            expected="fewer",
            remedy="ask for longer windows, a shorter period or one topology",
        )
    return Answer(
        question=question,
        version=snapshot.version,
        window_seconds=window,
        first=_moment(begin),
        last=_moment(end),
        series=series,
    )


def series_window(span_seconds: float, bucket_seconds: float) -> float:
    """A round length of windows: no shorter than a bucket, and not too many of them."""
    for step in _STEPS:
        if step >= bucket_seconds and step * SERIES_POINTS >= span_seconds:
            return float(step)
    days = math.ceil(span_seconds / SERIES_POINTS / _STEPS[-1])
    return float(max(days, math.ceil(bucket_seconds / _STEPS[-1])) * _STEPS[-1])


def _load(
    connection: duckdb.DuckDBPyConnection,
    plan: Ask,
    rows: ds.Dataset,
    question: Question,
    first: datetime | None,
) -> None:
    """Read the samples into what the answer is made from."""
    where = _where(question, first) & (ds.field("metric") == question.metric.label)
    connection.register("rows", _reader(rows, plan.columns, where))
    start = -1 if question.start is None else _microseconds(question.start)
    connection.execute(query_sql.cells(plan, start))
    if not plan.needs_heartbeats:
        return
    # Whoever has a heartbeat in a bucket has counted there, be it nothing.
    alive = _where(question, first, only=("cluster", "topology", "worker", "node"))
    alive &= ds.field("metric") == Metric.WORKER_HEARTBEATS.label
    connection.register("beats", _reader(rows, ("cluster", "topology", "worker"), alive))
    connection.execute(query_sql.HEARTBEATS)


def _reader(rows: ds.Dataset, columns: Sequence[str], where: ds.Expression) -> pa.RecordBatchReader:
    chosen = {name: ds.field(name) for name in columns}
    # Whole microseconds, so that no time zone has a say.
    chosen["start_us"] = ds.field(SAMPLES.day_of).cast(pa.int64())
    chosen["bucket_seconds"] = ds.field("bucket_seconds")
    return rows.scanner(columns=chosen, filter=where).to_reader()


def _where(
    question: Question, first: datetime | None, only: Sequence[str] = SUBJECTS
) -> ds.Expression:
    time = ds.field(SAMPLES.day_of)
    where = ds.scalar(True)
    if first is not None:
        where &= time >= pa.scalar(first, pa.timestamp("us", "UTC"))
    if question.end is not None:
        where &= time < pa.scalar(question.end, pa.timestamp("us", "UTC"))
    for name, value in question.where.items():
        if name in only:
            where &= ds.field(name) == value
    return where


def _series(
    question: Question, plan: Ask, rows: Sequence[tuple[Any, ...]], begin: int
) -> Iterator[Series]:
    size = len(question.by)
    for key, rows_of_key in groupby(rows, key=lambda row: row[:size]):
        group = list(rows_of_key)
        windows = _binned(question, group, size) if plan.is_binned else _plain(group, size)
        yield Series(
            by=dict(zip(question.by, key, strict=True)),
            windows=tuple(
                Window(start=_moment(begin if at is None else at), **figures)
                for at, figures in windows
            ),
        )


def _plain(
    rows: Iterable[tuple[Any, ...]], size: int
) -> Iterator[tuple[int | None, dict[str, Any]]]:
    for row in rows:
        at, value, total, seconds, observations, samples = row[size:]
        yield (
            at,
            {
                "value": _finite(value),
                "total": _finite(total),
                "seconds": seconds,
                "observations": int(observations),
                "samples": int(samples),
            },
        )


def _binned(
    question: Question, rows: Iterable[tuple[Any, ...]], size: int
) -> Iterator[tuple[int | None, dict[str, Any]]]:
    for at, group in groupby(rows, key=lambda row: row[size]):
        bins = list(group)
        weights = {int(row[size + 1]): float(row[size + 2]) for row in bins}
        yield (
            at,
            {
                "value": _of_bins(question, weights),
                "total": None,
                "seconds": None,
                "observations": sum(int(row[size + 3]) for row in bins),
                "samples": sum(int(row[size + 4]) for row in bins),
            },
        )


def _of_bins(question: Question, weights: Mapping[int, float]) -> float | None:
    whole = sum(weights.values())
    if not whole:
        return None
    if question.measure is Measure.MEAN:
        return sum(weight * _centre(number) for number, weight in weights.items()) / whole
    probability = 0.5 if question.probability is None else question.probability
    return histogram.quantile(weights, probability)


def _centre(number: int) -> float:
    """The mean of what lies in a bin, spread evenly over the logarithm, as for quantiles."""
    low, high = histogram.bounds_of(number)
    if number == 0:
        return 0.5
    if number == histogram.LAST_BIN:
        return low
    return (high - low) / math.log(high / low)


def _most_rows(plan: Ask) -> int:
    per_window = histogram.LAST_BIN + 1 if plan.is_binned else 1
    return (MOST_WINDOWS + 1) * per_window


def _nothing(question: Question) -> str:
    named = ", ".join(f"{name} {value}" for name, value in question.where.items())
    period = [
        f"{word} {time.isoformat()}"
        for word, time in (("from", question.start), ("to", question.end))
        if time is not None
    ]
    seen = " ".join(part for part in (f"of {question.metric}", named, *period) if part)
    return (
        f"no samples {seen}; expected at least one: what never happened leaves none;"
        " `streamgauge lake info` shows what the lake holds"
    )


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _moment(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)
