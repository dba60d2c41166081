"""Questions about a metric as SQL of DuckDB.

Samples become cells: what was added from one time to another, or a level that held so long. Cells
become windows. Names of columns come from the tables' schemas, never from a person.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from streamgauge.lake.definition import Kind

# Whose heartbeats say that a bucket is known.
_PROCESS = ("cluster", "topology", "worker")
# Shares of time are sums of whole numbers times a fraction: allow for its rounding.
_HAIR = 1e-12


class Measure(StrEnum):
    """What the value of an answer is."""

    RATE = "rate"
    RATE_QUANTILE = "quantile of the rates of buckets"
    PER_OBSERVATION = "mean per observation"
    MEAN = "mean"
    QUANTILE = "quantile"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What the SQL depends on.

    Attributes:
        kind: Of the metric.
        measure: What is wanted.
        by: Columns that have an answer for each of their values.
        key: Columns that make two samples parts of one series.
        probability: Of a quantile.
        has_workers: Whether workers report the metric, which have heartbeats.
    """

    kind: Kind
    measure: Measure
    by: tuple[str, ...]
    key: tuple[str, ...]
    probability: float | None
    has_workers: bool

    @property
    def is_binned(self) -> bool:
        """Whether the answer has a row for each bin."""
        return self.kind is Kind.HISTOGRAM_BIN

    @property
    def is_added(self) -> bool:
        """Whether values are added up over time."""
        return self.kind in (Kind.DELTA, Kind.CUMULATIVE)

    @property
    def needs_heartbeats(self) -> bool:
        """Whether a missing sample may stand for zero."""
        rates = (Measure.RATE, Measure.RATE_QUANTILE)
        return self.kind is Kind.DELTA and self.has_workers and self.measure in rates

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of samples that are read, times left out."""
        names = [*self.by, "value", "count"]
        if self.is_binned:
            names.append("bin")
        if self.kind is Kind.CUMULATIVE:
            names += self.key
        if self.kind is Kind.DELTA:
            names += _PROCESS
        return tuple(dict.fromkeys(names))


# When the first bucket begins, when the last one ends, and how long the longest is.
SPAN = "SELECT min(at_us), max(to_us), max(to_us - at_us) FROM cells"

HEARTBEATS = f"""
    CREATE TEMP TABLE alive AS
    SELECT DISTINCT {", ".join(_PROCESS)}, start_us AS from_us,
        start_us + greatest(1, round(bucket_seconds * 1e6)::BIGINT) AS to_us
    FROM beats
"""


def cells(ask: Ask, first_us: int) -> str:
    """A table of cells from the samples in `rows`; counters may begin before `first_us`."""
    if ask.kind is Kind.CUMULATIVE:
        return _counter_cells(ask, first_us)
    if ask.is_added or ask.is_binned:
        kept = [*ask.by, *(_PROCESS if ask.is_added else ("bin",))]
        figures = "sum(value) AS total, sum(count) AS observations, count(*) AS samples"
    else:
        kept = list(ask.by)
        figures = "value, count AS observations, 1 AS samples"
    return f"""
        CREATE TEMP TABLE cells AS
        SELECT {_listed(kept)} start_us AS at_us, start_us AS from_us,
            start_us + greatest(1, round(bucket_seconds * 1e6)::BIGINT) AS to_us, {figures}
        FROM rows {"GROUP BY ALL" if ask.is_added or ask.is_binned else ""}
    """


def _counter_cells(ask: Ask, first_us: int) -> str:
    """What counters grew by from one sample to the next; one that fell began anew from zero."""
    series = ", ".join(_quoted(ask.key))
    return f"""
        CREATE TEMP TABLE cells AS
        WITH timed AS (
            SELECT *, start_us + greatest(1, round(bucket_seconds * 1e6)::BIGINT) AS to_us FROM rows
        ), followed AS (
            SELECT *, lag(value) OVER series AS value_before,
                lag(count) OVER series AS count_before, lag(to_us) OVER series AS before_us
            FROM timed WINDOW series AS (PARTITION BY {series} ORDER BY start_us)
        )
        SELECT {_listed(ask.by)} start_us AS at_us,
            CASE WHEN value < value_before THEN start_us ELSE least(before_us, start_us) END
                AS from_us,
            to_us,
            sum(CASE WHEN value < value_before THEN value ELSE value - value_before END) AS total,
            sum(CASE WHEN value < value_before OR count < count_before THEN count
                ELSE count - count_before END) AS observations,
            count(*) AS samples
        FROM followed WHERE value_before IS NOT NULL AND start_us >= {first_us:d} GROUP BY ALL
    """


def answer(ask: Ask, window_us: int | None) -> str:
    """For each window: its columns and start, then value, total, seconds, observations, samples.

    Of histograms, each bin with its weight, observations and samples.
    """
    window = "NULL::BIGINT" if window_us is None else f"at_us - at_us % {window_us:d}"
    order = ", ".join(f"{name} NULLS FIRST" for name in [*_quoted(ask.by), "window_us"])
    if ask.is_binned:
        return f"""
            SELECT {_listed(ask.by)} {window} AS window_us, bin, sum(total), sum(observations),
                sum(samples)
            FROM cells GROUP BY {_listed(ask.by)} window_us, bin ORDER BY {order}, bin
        """
    if ask.is_added:
        return f"{_added(ask, window)} ORDER BY {order}"
    weight = "(to_us - from_us)" if ask.kind is Kind.GAUGE else "observations"
    levels = f"""
        SELECT {_listed(ask.by)} {window} AS window_us, value AS x, {weight} AS weight,
            observations, samples
        FROM cells
    """
    value = "sum(x * weight) / nullif(sum(weight), 0)"
    if ask.probability is not None:
        levels, value = _ranked(ask, f"({levels})"), _quantile(ask.probability)
    return f"""
        SELECT {_listed(ask.by)} window_us, {value}, NULL, NULL, sum(observations), sum(samples)
        FROM ({levels}) GROUP BY {_listed(ask.by)} window_us ORDER BY {order}
    """


def _added(ask: Ask, window: str) -> str:
    """Totals, and rates over the time that is known."""
    group = f"{_listed(ask.by)} window_us"
    parts = f"""
        SELECT {_listed(ask.by)} {window} AS window_us, from_us, to_us, total, observations, samples
        FROM cells
    """
    if ask.needs_heartbeats:
        parts += f" UNION ALL {_silent(ask, window)}"
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
    if ask.measure is not Measure.RATE_QUANTILE or ask.probability is None:
        over = "seconds" if ask.measure is Measure.RATE else "observations"
        return f"""{sums}
            SELECT {group}, total / nullif({over}, 0), total, seconds, observations, samples
            FROM sums
        """
    rates = f"""
        SELECT {group}, total * 1e6 / (to_us - from_us) AS x, to_us - from_us AS weight
        FROM buckets
    """
    return f"""{sums}, ranks AS (
            SELECT {group}, {_quantile(ask.probability)} AS value
            FROM ({_ranked(ask, f"({rates})")}) GROUP BY ALL
        )
        SELECT {_listed(ask.by, "sums.")} sums.window_us AS window_us, value, total, seconds,
            observations, samples
        FROM sums JOIN ranks ON {_alike([*ask.by, "window_us"], "sums", "ranks")}
    """


def _silent(ask: Ask, window: str) -> str:
    """Buckets in which the workers of a group lived, with nothing counted."""
    others = [name for name in _PROCESS if name not in ask.by]
    return f"""
        SELECT {_listed(ask.by, "crew.")} {window.replace("at_us", "alive.from_us")} AS window_us,
            alive.from_us, alive.to_us, 0, 0, 0
        FROM alive JOIN (
            SELECT DISTINCT {", ".join(_quoted([*ask.by, *others]))} FROM cells
        ) AS crew ON {_alike(_PROCESS, "alive", "crew")}
    """


def _ranked(ask: Ask, source: str) -> str:
    group = f"{_listed(ask.by)} window_us"
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
