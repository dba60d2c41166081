"""Which figure is taken from which metric, the best first (docs/raw-format.md, last table).

Words that end in `_rate` are per second. Shares of time and cores are time over time. Times are in
milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from streamgauge.lake.metrics import Metric


class How(StrEnum):
    """How a figure comes from a metric's sums.

    RATE: Total over the time the subject was alive.
    LEVEL: Mean of a gauge over time.
    MEAN: Total over observations.
    PER: Total over the total of another metric.
    """

    RATE = "rate"
    LEVEL = "level"
    MEAN = "mean"
    PER = "per"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One way to a figure.

    Attributes:
        figure: The figure's word.
        metric: Whose totals are divided.
        how: By what.
        scale: What a total is multiplied by.
        per: The other metric, where the total is divided by one.
        evidence: A metric that is there wherever this one would be; without it, no total is not
            zero but unknown.
    """

    figure: str
    metric: Metric
    how: How
    scale: float = 1.0
    per: Metric | None = None
    evidence: Metric | None = None


_NANO = 1e-9
_MILLI = 1e-6
# Partial sums of means are a million times value × count.
_MILLIONTH = 1e-6


def _rate(figure: str, *metrics: Metric, scale: float = 1.0) -> tuple[Source, ...]:
    return tuple(
        Source(figure=figure, metric=metric, how=How.RATE, scale=scale) for metric in metrics
    )


def _level(figure: str, metric: Metric) -> Source:
    return Source(figure=figure, metric=metric, how=How.LEVEL)


def _time(figure: str, total: Metric, mean: Metric | None = None) -> tuple[Source, ...]:
    sources = [Source(figure=figure, metric=total, how=How.MEAN, scale=_MILLI)]
    if mean is not None:
        sources.append(Source(figure=figure, metric=mean, how=How.MEAN, scale=_MILLIONTH))
    return tuple(sources)


# In order of preference where a figure stands several times. A source takes effect for a subject
# and stream as a whole.
SOURCES: tuple[Source, ...] = (
    *_rate("arrival_rate", Metric.EXECUTED, Metric.EXECUTED_TOTAL),
    *_rate("emission_rate", Metric.EMITTED, Metric.EMITTED_TOTAL),
    *_rate("sent_rate", Metric.SENT, Metric.SENT_TOTAL),
    *_rate("transfer", Metric.TRANSFERRED, Metric.RECEIVED),
    *_rate("roots_acked_rate", Metric.ROOTS_ACKED, Metric.ROOTS_ACKED_TOTAL),
    *_rate("trigger_rate", Metric.WINDOW_TRIGGERS),
    *_rate("backpressure", Metric.BACKPRESSURE_CAUSED, scale=_NANO),
    *_time("service_wall", Metric.EXECUTE_LATENCY_SUM, Metric.EXECUTE_LATENCY_MEAN),
    *_time("service_cpu", Metric.EXECUTE_CPU_SUM),
    *_time("emit_wall", Metric.EMIT_LATENCY_SUM),
    *_time("emit_cpu", Metric.EMIT_CPU_SUM),
    *_time("complete", Metric.COMPLETE_LATENCY_SUM, Metric.COMPLETE_LATENCY_MEAN),
    *_time("root", Metric.ROOT_LATENCY_SUM),
    *_time("end_to_end", Metric.END_TO_END_LATENCY_SUM),
    *_time("window_wall", Metric.WINDOW_LATENCY_SUM, Metric.WINDOW_LATENCY_MEAN),
    *_time("window_cpu", Metric.WINDOW_CPU_SUM),
    Source(
        figure="window_cpu",
        metric=Metric.WINDOW_THREAD_CPU,
        how=How.PER,
        scale=_MILLI,
        per=Metric.WINDOW_TRIGGERS,
    ),
    Source(figure="tuple_bytes", metric=Metric.EMITTED_BYTES, how=How.MEAN),
    Source(
        figure="window_tuples",
        metric=Metric.WINDOW_TUPLES,
        how=How.PER,
        per=Metric.WINDOW_TRIGGERS,
    ),
    Source(
        figure="failed_share",
        metric=Metric.FAILED,
        how=How.PER,
        per=Metric.EXECUTED,
        evidence=Metric.ACKED,
    ),
    Source(
        figure="failed_share",
        metric=Metric.FAILED_TOTAL,
        how=How.PER,
        per=Metric.EXECUTED_TOTAL,
        evidence=Metric.ACKED_TOTAL,
    ),
    # Executors.
    *_rate("executor_cores", Metric.EXECUTOR_CPU, scale=_NANO),
    *_rate("idle", Metric.EXECUTOR_IDLE, scale=_NANO),
    *_rate("held", Metric.BACKPRESSURE_HELD, scale=_NANO),
    _level("engine_capacity", Metric.EXECUTOR_CAPACITY),
    # Queues.
    *_rate("queue_rate", Metric.QUEUE_ARRIVALS),
    _level("queue_rate", Metric.QUEUE_ARRIVAL_RATE),
    Source(
        figure="tuples_per_list",
        metric=Metric.QUEUE_ARRIVALS,
        how=How.PER,
        per=Metric.QUEUE_LISTS,
    ),
    Source(
        figure="tuples_per_list",
        metric=Metric.TUPLES_PER_LIST_MEAN,
        how=How.MEAN,
        scale=_MILLIONTH,
    ),
    _level("queue_length", Metric.QUEUE_POPULATION),
    _level("queue_overflow", Metric.QUEUE_OVERFLOW),
    _level("queue_limit", Metric.QUEUE_CAPACITY),
    *_time("sojourn", Metric.QUEUE_SOJOURN_SUM, Metric.QUEUE_SOJOURN_MEAN),
    *_rate("drop_rate", Metric.QUEUE_DROPS, Metric.QUEUE_DROPS_TOTAL),
    # Workers.
    *_rate("worker_cores", Metric.WORKER_CPU, scale=_NANO),
    _level("worker_cores", Metric.WORKER_CORES),
    _level("worker_threads", Metric.WORKER_THREADS),
    *_rate("transfer_cores", Metric.TRANSFER_THREAD_CPU, scale=_NANO),
    *_rate("network_cores", Metric.NETWORK_THREADS_CPU, scale=_NANO),
    *_rate("gc_cores", Metric.GC_CPU, scale=_NANO),
    _level("heap_bytes", Metric.HEAP_USED),
    _level("memory_bytes", Metric.RESIDENT_MEMORY),
    *_rate("bytes_rate", Metric.NETWORK_BYTES_SENT),
    # Nodes and machines.
    *_rate("host_cores", Metric.NODE_CPU, Metric.MACHINE_CPU, scale=_NANO),
    _level("host_threads", Metric.NODE_THREADS),
    _level("host_threads", Metric.MACHINE_THREADS),
    _level("available", Metric.MACHINE_CORES),
    *_rate("stolen", Metric.MACHINE_STOLEN, scale=_NANO),
)

# Shares of a count, whose errors cannot be nothing.
SHARES = frozenset({"failed_share"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Where the variability and quantiles of a time come from: sums of squares, and bins."""

    total: Metric
    squares: Metric | None = None
    bins: Metric | None = None


SHAPES: dict[str, Shape] = {
    "service_wall": Shape(
        total=Metric.EXECUTE_LATENCY_SUM,
        squares=Metric.EXECUTE_LATENCY_SQUARES,
        bins=Metric.EXECUTE_LATENCY_BIN,
    ),
    "service_cpu": Shape(
        total=Metric.EXECUTE_CPU_SUM,
        squares=Metric.EXECUTE_CPU_SQUARES,
        bins=Metric.EXECUTE_CPU_BIN,
    ),
    "emit_wall": Shape(
        total=Metric.EMIT_LATENCY_SUM,
        squares=Metric.EMIT_LATENCY_SQUARES,
        bins=Metric.EMIT_LATENCY_BIN,
    ),
    "emit_cpu": Shape(
        total=Metric.EMIT_CPU_SUM, squares=Metric.EMIT_CPU_SQUARES, bins=Metric.EMIT_CPU_BIN
    ),
    "complete": Shape(
        total=Metric.COMPLETE_LATENCY_SUM,
        squares=Metric.COMPLETE_LATENCY_SQUARES,
        bins=Metric.COMPLETE_LATENCY_BIN,
    ),
    "root": Shape(
        total=Metric.ROOT_LATENCY_SUM,
        squares=Metric.ROOT_LATENCY_SQUARES,
        bins=Metric.ROOT_LATENCY_BIN,
    ),
    "end_to_end": Shape(
        total=Metric.END_TO_END_LATENCY_SUM,
        squares=Metric.END_TO_END_LATENCY_SQUARES,
        bins=Metric.END_TO_END_LATENCY_BIN,
    ),
    "window_wall": Shape(
        total=Metric.WINDOW_LATENCY_SUM,
        squares=Metric.WINDOW_LATENCY_SQUARES,
        bins=Metric.WINDOW_LATENCY_BIN,
    ),
    "window_cpu": Shape(
        total=Metric.WINDOW_CPU_SUM, squares=Metric.WINDOW_CPU_SQUARES, bins=Metric.WINDOW_CPU_BIN
    ),
    "sojourn": Shape(
        total=Metric.QUEUE_SOJOURN_SUM,
        squares=Metric.QUEUE_SOJOURN_SQUARES,
        bins=Metric.QUEUE_SOJOURN_BIN,
    ),
}
