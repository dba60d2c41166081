"""Answers to questions about one metric, without Spark.

Files and rows that cannot matter are not read: the period, the topology and the metric are
conditions on what is known of a file and of its parts. A bucket counts in the window in which it
begins.

Samples become cells: what was added from one time to another, or a level that held so long. Cells
become windows, both by SQL of DuckDB. Names of columns come from the tables' schemas, never from a
person.
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
from streamgauge.lake import histogram
from streamgauge.lake.definition import Kind, Level
from streamgauge.lake.metrics import Metric
from streamgauge.lake.questions import SUBJECTS, Answer, Measure, Question, Series, Window
from streamgauge.lake.schemas import SAMPLES
from streamgauge.lake.tables import NO_TABLE, Lake, open_database

MOST_WINDOWS = 100_000
# A series for the eye has about as many points as fit on a line.
SERIES_POINTS = 60
_STEPS = (1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
# A counter's first value says nothing without the one before, which is looked for this far back.
COUNTER_MARGIN = timedelta(hours=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECONDS = 1_000_000
# Whose heartbeats say that a bucket is known.
_PROCESS = ("cluster", "topology", "worker")
# What makes two samples parts of one series.
_SERIES = tuple(name for name in SAMPLES.key if name != SAMPLES.day_of)
# Shares of time are sums of whole numbers times a fraction: allow for its rounding.
_HAIR = 1e-12


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
    rows = table.dataset(snapshot.version, files)
    with open_database() as connection:
        _load(connection, rows, question, first)
        span = connection.sql(_SPAN).fetchall()[0]
        if span[0] is None:
            raise NotEnoughData(_nothing(question))
        begin, end, longest = (int(one) for one in span)
        window = question.window_seconds
        if window is None and question.is_series:
            window = series_window((end - begin) / _MICROSECONDS, longest / _MICROSECONDS)
        width = None if window is None else round(window * _MICROSECONDS)
        found = connection.execute(_make_windows(question, width)).fetchmany(_most_rows(question))
    series = tuple(_series(question, found, begin))
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
    rows: ds.Dataset,
    question: Question,
    first: datetime | None,
) -> None:
    """Read the samples into what the answer is made from."""
    where = _where(question, first) & (ds.field("metric") == question.metric.label)
    connection.register("rows", _reader(rows, _columns(question), where))
    start = -1 if question.start is None else _microseconds(question.start)
    connection.execute(_make_cells(question, start))
    if not _needs_heartbeats(question):
        return
    # Whoever has a heartbeat in a bucket has counted there, be it nothing.
    alive = _where(question, first, only=("cluster", "topology", "worker", "node"))
    alive &= ds.field("metric") == Metric.WORKER_HEARTBEATS.label
    connection.register("beats", _reader(rows, _PROCESS, alive))
    connection.execute(_HEARTBEATS)


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


def _series(question: Question, rows: Sequence[tuple[Any, ...]], begin: int) -> Iterator[Series]:
    size = len(question.by)
    for key, rows_of_key in groupby(rows, key=lambda row: row[:size]):
        group = list(rows_of_key)
        windows = _binned(question, group, size) if question.is_binned else _plain(group, size)
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


def _most_rows(question: Question) -> int:
    per_window = histogram.LAST_BIN + 1 if question.is_binned else 1
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


def _needs_heartbeats(question: Question) -> bool:
    """Whether a missing sample may stand for zero: workers, which report it, have heartbeats."""
    metric = question.metric
    has_workers = metric.level not in (Level.NODE, Level.MACHINE)
    return metric.kind is Kind.DELTA and has_workers and question.is_rate


def _columns(question: Question) -> tuple[str, ...]:
    """The columns of samples that are read, times left out."""
    names = [*question.by, "value", "count"]
    if question.is_binned:
        names.append("bin")
    if question.metric.kind is Kind.CUMULATIVE:
        names += _SERIES
    if question.metric.kind is Kind.DELTA:
        names += _PROCESS
    return tuple(dict.fromkeys(names))


# When the first bucket begins, when the last one ends, and how long the longest is.
_SPAN = "SELECT min(at_us), max(to_us), max(to_us - at_us) FROM cells"

_HEARTBEATS = f"""
    CREATE TEMP TABLE alive AS
    SELECT DISTINCT {", ".join(_PROCESS)}, start_us AS from_us,
        start_us + greatest(1, round(bucket_seconds * 1e6)::BIGINT) AS to_us
    FROM beats
"""


def _make_cells(question: Question, first_us: int) -> str:
    """A table of cells from the samples in `rows`; counters may begin before `first_us`."""
    if question.metric.kind is Kind.CUMULATIVE:
        return _counter_cells(question, first_us)
    if question.is_added or question.is_binned:
        kept = [*question.by, *(_PROCESS if question.is_added else ("bin",))]
        figures = "sum(value) AS total, sum(count) AS observations, count(*) AS samples"
    else:
        kept = list(question.by)
        figures = "value, count AS observations, 1 AS samples"
    return f"""
        CREATE TEMP TABLE cells AS
        SELECT {_listed(kept)} start_us AS at_us, start_us AS from_us,
            start_us + greatest(1, round(bucket_seconds * 1e6)::BIGINT) AS to_us, {figures}
        FROM rows {"GROUP BY ALL" if question.is_added or question.is_binned else ""}
    """


def _counter_cells(question: Question, first_us: int) -> str:
    """What counters grew by from one sample to the next; one that fell began anew from zero."""
    series = ", ".join(_quoted(_SERIES))
    return f"""
        CREATE TEMP TABLE cells AS
        WITH timed AS (
            SELECT *, start_us + greatest(1, round(bucket_seconds * 1e6)::BIGINT) AS to_us FROM rows
        ), followed AS (
            SELECT *, lag(value) OVER series AS value_before,
                lag(count) OVER series AS count_before, lag(to_us) OVER series AS before_us
            FROM timed WINDOW series AS (PARTITION BY {series} ORDER BY start_us)
        )
        SELECT {_listed(question.by)} start_us AS at_us,
            CASE WHEN value < value_before THEN start_us ELSE least(before_us, start_us) END
                AS from_us,
            to_us,
            sum(CASE WHEN value < value_before THEN value ELSE value - value_before END) AS total,
            sum(CASE WHEN value < value_before OR count < count_before THEN count
                ELSE count - count_before END) AS observations,
            count(*) AS samples
        FROM followed WHERE value_before IS NOT NULL AND start_us >= {first_us:d} GROUP BY ALL
    """


def _make_windows(question: Question, window_us: int | None) -> str:
    """For each window: its columns and start, then value, total, seconds, observations, samples.

    Of histograms, each bin with its weight, observations and samples.
    """
    window = "NULL::BIGINT" if window_us is None else f"at_us - at_us % {window_us:d}"
    order = ", ".join(f"{name} NULLS FIRST" for name in [*_quoted(question.by), "window_us"])
    if question.is_binned:
        return f"""
            SELECT {_listed(question.by)} {window} AS window_us, bin, sum(total), sum(observations),
                sum(samples)
            FROM cells GROUP BY {_listed(question.by)} window_us, bin ORDER BY {order}, bin
        """
    if question.is_added:
        return f"{_added(question, window)} ORDER BY {order}"
    weight = "(to_us - from_us)" if question.metric.kind is Kind.GAUGE else "observations"
    levels = f"""
        SELECT {_listed(question.by)} {window} AS window_us, value AS x, {weight} AS weight,
            observations, samples
        FROM cells
    """
    value = "sum(x * weight) / nullif(sum(weight), 0)"
    if question.probability is not None:
        levels, value = _ranked(question, f"({levels})"), _quantile(question.probability)
    return f"""
        SELECT {_listed(question.by)} window_us, {value}, NULL, NULL, sum(observations),
            sum(samples)
        FROM ({levels}) GROUP BY {_listed(question.by)} window_us ORDER BY {order}
    """


def _added(question: Question, window: str) -> str:
    """Totals, and rates over the time that is known."""
    group = f"{_listed(question.by)} window_us"
    parts = f"""
        SELECT {_listed(question.by)} {window} AS window_us, from_us, to_us, total, observations,
            samples
        FROM cells
    """
    if _needs_heartbeats(question):
        parts += f" UNION ALL {_silent(question, window)}"
    sums = f"""
        WITH parts AS ({parts}), buckets AS (
            SELECT {group}, from_us, to_us, sum(total) AS total,
                sum(observations) AS observations, sum(samples) AS samples
            FROM parts GROUP BY ALL
        ), reaching AS (
            SELECT *, max(to_us) OVER (PARTITION BY {group} ORDER BY from_us, to_us
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached_us
            FROM buckets
        ), sums AS (
            SELECT {group}, sum(total) AS total,
                sum(greatest(0, to_us - greatest(from_us, coalesce(reached_us, from_us)))) / 1e6
                    AS seconds,
                sum(observations) AS observations, sum(samples) AS samples
            FROM reaching GROUP BY ALL
        )
    """
    if question.measure is not Measure.RATE_QUANTILE or question.probability is None:
        over = "seconds" if question.measure is Measure.RATE else "observations"
        return f"""{sums}
            SELECT {group}, total / nullif({over}, 0), total, seconds, observations, samples
            FROM sums
        """
    rates = f"""
        SELECT {group}, total * 1e6 / (to_us - from_us) AS x, to_us - from_us AS weight
        FROM buckets
    """
    return f"""{sums}, ranks AS (
            SELECT {group}, {_quantile(question.probability)} AS value
            FROM ({_ranked(question, f"({rates})")}) GROUP BY ALL
        )
        SELECT {_listed(question.by, "sums.")} sums.window_us AS window_us, value, total, seconds,
            observations, samples
        FROM sums JOIN ranks ON {_alike([*question.by, "window_us"], "sums", "ranks")}
    """


def _silent(question: Question, window: str) -> str:
    """Buckets in which the workers of a group lived, with nothing counted."""
    others = [name for name in _PROCESS if name not in question.by]
    return f"""
        SELECT {_listed(question.by, "crew.")}
            {window.replace("at_us", "alive.from_us")} AS window_us,
            alive.from_us, alive.to_us, 0, 0, 0
        FROM alive JOIN (
            SELECT DISTINCT {", ".join(_quoted([*question.by, *others]))} FROM cells
        ) AS crew ON {_alike(_PROCESS, "alive", "crew")}
    """


def _ranked(question: Question, source: str) -> str:
    group = f"{_listed(question.by)} window_us"
    return f"""
        SELECT *, sum(weight) OVER (PARTITION BY {group} ORDER BY x
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS below,
            sum(weight) OVER (PARTITION BY {group}) AS whole
        FROM {source}
    """


def _quantile(probability: float) -> str:
    """The least value that a share of the weight does not exceed."""
    return f"min(x) FILTER (weight > 0 AND below >= {probability!r} * whole * (1 - {_HAIR!r}))"


def _alike(names: Sequence[str], one: str, other: str) -> str:
    pairs = [f"{one}.{name} IS NOT DISTINCT FROM {other}.{name}" for name in _quoted(names)]
    return " AND ".join(pairs)


def _listed(names: Sequence[str], of: str = "") -> str:
    """Names, each with a comma after it."""
    return "".join(f"{of}{name}, " for name in _quoted(names))


def _quoted(names: Sequence[str]) -> list[str]:
    return [f'"{name}"' for name in names]
