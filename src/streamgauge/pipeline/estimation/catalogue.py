"""Names of the figures that are estimated, and which is taken from which metric, the best first.

The order is that of docs/raw-format.md, last table. Names that end in ``rate`` are per second.
Shares of time and cores are time over time. Times are in milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from streamgauge.lake.metrics import Metric


class FigureName(StrEnum):
    """What a figure is: the column ``figure`` of the tables between Spark and a profile."""

    # Tuples of tasks, by stream.
    ARRIVAL_RATE = "arrival_rate"
    EMISSION_RATE = "emission_rate"
    SENT_RATE = "sent_rate"
    TRANSFER = "transfer"
    ROOTS_ACKED_RATE = "roots_acked_rate"
    DISPERSION = "dispersion"
    FAILED_SHARE = "failed_share"
    TUPLE_BYTES = "tuple_bytes"
    BACKPRESSURE = "backpressure"
    # Times of tasks.
    SERVICE_WALL = "service_wall"
    SERVICE_CPU = "service_cpu"
    CPU_BY_INPUT = "cpu_by_input"
    EMIT_WALL = "emit_wall"
    EMIT_CPU = "emit_cpu"
    COMPLETE = "complete"
    ROOT = "root"
    END_TO_END = "end_to_end"
    # Tuples out for tuples in.
    COEFFICIENT = "coefficient"
    LINEAR = "linear"
    # Windows of tasks.
    TRIGGER_RATE = "trigger_rate"
    PER_TRIGGER = "per_trigger"
    WINDOW_TUPLES = "window_tuples"
    WINDOW_WALL = "window_wall"
    WINDOW_CPU = "window_cpu"
    CPU_BY_TRIGGER = "cpu_by_trigger"
    # Executors.
    EXECUTOR_CORES = "executor_cores"
    IDLE = "idle"
    IDLE_CORES = "idle_cores"
    RUN_DELAY = "run_delay"
    IDLE_RUN_DELAY = "idle_run_delay"
    HELD = "held"
    ENGINE_CAPACITY = "engine_capacity"
    # Queues.
    QUEUE_RATE = "queue_rate"
    TUPLES_PER_LIST = "tuples_per_list"
    QUEUE_LENGTH = "queue_length"
    QUEUE_OVERFLOW = "queue_overflow"
    QUEUE_LIMIT = "queue_limit"
    SOJOURN = "sojourn"
    DROP_RATE = "drop_rate"
    # Workers.
    WORKER_CORES = "worker_cores"
    WORKER_THREADS = "worker_threads"
    TRANSFER_CORES = "transfer_cores"
    NETWORK_CORES = "network_cores"
    GC_CORES = "gc_cores"
    WINDOW_CORES = "window_cores"
    TIMER_CORES = "timer_cores"
    JIT_CORES = "jit_cores"
    AGENT_CORES = "agent_cores"
    EXECUTED_RATE = "executed_rate"
    MESSAGE_RATE = "message_rate"
    HEAP_BYTES = "heap_bytes"
    MEMORY_BYTES = "memory_bytes"
    BYTES_RATE = "bytes_rate"
    # Nodes and machines.
    HOST_CORES = "host_cores"
    HOST_THREADS = "host_threads"
    AVAILABLE = "available"
    STOLEN = "stolen"


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
        figure: Which figure.
        metric: Whose totals are divided.
        how: By what.
        scale: What a total is multiplied by.
        per: The other metric, where the total is divided by one.
        evidence: A metric that is there wherever this one would be; without it, no total is not
            zero but unknown.
    """

    figure: FigureName
    metric: Metric
    how: How
    scale: float = 1.0
    per: Metric | None = None
    evidence: Metric | None = None


_NANO = 1e-9
_MILLI = 1e-6
# Partial sums of means are a million times value × count.
_MILLIONTH = 1e-6


def _rate(figure: FigureName, *metrics: Metric, scale: float = 1.0) -> tuple[Source, ...]:
    return tuple(
        Source(figure=figure, metric=metric, how=How.RATE, scale=scale) for metric in metrics
    )


def _level(figure: FigureName, metric: Metric) -> Source:
    return Source(figure=figure, metric=metric, how=How.LEVEL)


def _time(figure: FigureName, total: Metric, mean: Metric | None = None) -> tuple[Source, ...]:
    sources = [Source(figure=figure, metric=total, how=How.MEAN, scale=_MILLI)]
    if mean is not None:
        sources.append(Source(figure=figure, metric=mean, how=How.MEAN, scale=_MILLIONTH))
    return tuple(sources)


# In order of preference where a figure stands several times. A source takes effect for a subject
# and stream as a whole.
SOURCES: tuple[Source, ...] = (
    *_rate(FigureName.ARRIVAL_RATE, Metric.EXECUTED, Metric.EXECUTED_TOTAL),
    *_rate(FigureName.EMISSION_RATE, Metric.EMITTED, Metric.EMITTED_TOTAL),
    *_rate(FigureName.SENT_RATE, Metric.SENT, Metric.SENT_TOTAL),
    *_rate(FigureName.TRANSFER, Metric.TRANSFERRED, Metric.RECEIVED),
    *_rate(FigureName.ROOTS_ACKED_RATE, Metric.ROOTS_ACKED, Metric.ROOTS_ACKED_TOTAL),
    *_rate(FigureName.TRIGGER_RATE, Metric.WINDOW_TRIGGERS),
    *_rate(FigureName.BACKPRESSURE, Metric.BACKPRESSURE_CAUSED, scale=_NANO),
    *_time(FigureName.SERVICE_WALL, Metric.EXECUTE_LATENCY_SUM, Metric.EXECUTE_LATENCY_MEAN),
    *_time(FigureName.SERVICE_CPU, Metric.EXECUTE_CPU_SUM),
    *_time(FigureName.EMIT_WALL, Metric.EMIT_LATENCY_SUM),
    *_time(FigureName.EMIT_CPU, Metric.EMIT_CPU_SUM),
    *_time(FigureName.COMPLETE, Metric.COMPLETE_LATENCY_SUM, Metric.COMPLETE_LATENCY_MEAN),
    *_time(FigureName.ROOT, Metric.ROOT_LATENCY_SUM),
    *_time(FigureName.END_TO_END, Metric.END_TO_END_LATENCY_SUM),
    *_time(FigureName.WINDOW_WALL, Metric.WINDOW_LATENCY_SUM, Metric.WINDOW_LATENCY_MEAN),
    *_time(FigureName.WINDOW_CPU, Metric.WINDOW_CPU_SUM),
    Source(
        figure=FigureName.WINDOW_CPU,
        metric=Metric.WINDOW_THREAD_CPU,
        how=How.PER,
        scale=_MILLI,
        per=Metric.WINDOW_TRIGGERS,
    ),
    Source(figure=FigureName.TUPLE_BYTES, metric=Metric.EMITTED_BYTES, how=How.MEAN),
    Source(
        figure=FigureName.WINDOW_TUPLES,
        metric=Metric.WINDOW_TUPLES,
        how=How.PER,
        per=Metric.WINDOW_TRIGGERS,
    ),
    Source(
        figure=FigureName.FAILED_SHARE,
        metric=Metric.FAILED,
        how=How.PER,
        per=Metric.EXECUTED,
        evidence=Metric.ACKED,
    ),
    Source(
        figure=FigureName.FAILED_SHARE,
        metric=Metric.FAILED_TOTAL,
        how=How.PER,
        per=Metric.EXECUTED_TOTAL,
        evidence=Metric.ACKED_TOTAL,
    ),
    # Executors.
    *_rate(FigureName.EXECUTOR_CORES, Metric.EXECUTOR_CPU, scale=_NANO),
    *_rate(FigureName.IDLE, Metric.EXECUTOR_IDLE, scale=_NANO),
    *_rate(FigureName.IDLE_CORES, Metric.EXECUTOR_IDLE_CPU, scale=_NANO),
    *_rate(FigureName.RUN_DELAY, Metric.EXECUTOR_RUN_DELAY, Metric.WORKER_RUN_DELAY, scale=_NANO),
    *_rate(FigureName.IDLE_RUN_DELAY, Metric.EXECUTOR_IDLE_RUN_DELAY, scale=_NANO),
    *_rate(FigureName.HELD, Metric.BACKPRESSURE_HELD, scale=_NANO),
    _level(FigureName.ENGINE_CAPACITY, Metric.EXECUTOR_CAPACITY),
    # Queues.
    *_rate(FigureName.QUEUE_RATE, Metric.QUEUE_ARRIVALS),
    _level(FigureName.QUEUE_RATE, Metric.QUEUE_ARRIVAL_RATE),
    Source(
        figure=FigureName.TUPLES_PER_LIST,
        metric=Metric.QUEUE_ARRIVALS,
        how=How.PER,
        per=Metric.QUEUE_LISTS,
    ),
    Source(
        figure=FigureName.TUPLES_PER_LIST,
        metric=Metric.TUPLES_PER_LIST_MEAN,
        how=How.MEAN,
        scale=_MILLIONTH,
    ),
    _level(FigureName.QUEUE_LENGTH, Metric.QUEUE_POPULATION),
    _level(FigureName.QUEUE_OVERFLOW, Metric.QUEUE_OVERFLOW),
    _level(FigureName.QUEUE_LIMIT, Metric.QUEUE_CAPACITY),
    *_time(FigureName.SOJOURN, Metric.QUEUE_SOJOURN_SUM, Metric.QUEUE_SOJOURN_MEAN),
    *_rate(FigureName.DROP_RATE, Metric.QUEUE_DROPS, Metric.QUEUE_DROPS_TOTAL),
    # Workers.
    *_rate(FigureName.WORKER_CORES, Metric.WORKER_CPU, scale=_NANO),
    _level(FigureName.WORKER_CORES, Metric.WORKER_CORES),
    _level(FigureName.WORKER_THREADS, Metric.WORKER_THREADS),
    *_rate(FigureName.TRANSFER_CORES, Metric.TRANSFER_THREAD_CPU, scale=_NANO),
    *_rate(FigureName.NETWORK_CORES, Metric.NETWORK_THREADS_CPU, scale=_NANO),
    *_rate(FigureName.GC_CORES, Metric.GC_CPU, scale=_NANO),
    *_rate(FigureName.WINDOW_CORES, Metric.WINDOW_THREADS_CPU, scale=_NANO),
    *_rate(FigureName.TIMER_CORES, Metric.TIMER_THREADS_CPU, scale=_NANO),
    *_rate(FigureName.JIT_CORES, Metric.JIT_CPU, scale=_NANO),
    *_rate(FigureName.AGENT_CORES, Metric.AGENT_CPU, scale=_NANO),
    *_rate(FigureName.EXECUTED_RATE, Metric.WORKER_EXECUTED),
    *_rate(FigureName.MESSAGE_RATE, Metric.NETWORK_MESSAGES_SENT),
    _level(FigureName.HEAP_BYTES, Metric.HEAP_USED),
    _level(FigureName.MEMORY_BYTES, Metric.RESIDENT_MEMORY),
    *_rate(FigureName.BYTES_RATE, Metric.NETWORK_BYTES_SENT),
    # Nodes and machines.
    *_rate(FigureName.HOST_CORES, Metric.NODE_CPU, Metric.MACHINE_CPU, scale=_NANO),
    _level(FigureName.HOST_THREADS, Metric.NODE_THREADS),
    _level(FigureName.HOST_THREADS, Metric.MACHINE_THREADS),
    _level(FigureName.AVAILABLE, Metric.MACHINE_CORES),
    *_rate(FigureName.STOLEN, Metric.MACHINE_STOLEN, scale=_NANO),
)

# Of times, which quantiles.
PROBABILITIES = (0.5, 0.9, 0.95, 0.99)

# Shares of a count, whose errors cannot be nothing.
SHARES = frozenset({FigureName.FAILED_SHARE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Where the variability and quantiles of a time come from: sums of squares, and bins."""

    total: Metric
    squares: Metric
    bins: Metric

    @classmethod
    def of(cls, name: str) -> Shape:
        """The metrics of a time, whose names begin alike."""
        return cls(
            total=Metric[f"{name}_SUM"],
            squares=Metric[f"{name}_SQUARES"],
            bins=Metric[f"{name}_BIN"],
        )


SHAPES = {
    FigureName.SERVICE_WALL: Shape.of("EXECUTE_LATENCY"),
    FigureName.SERVICE_CPU: Shape.of("EXECUTE_CPU"),
    FigureName.EMIT_WALL: Shape.of("EMIT_LATENCY"),
    FigureName.EMIT_CPU: Shape.of("EMIT_CPU"),
    FigureName.COMPLETE: Shape.of("COMPLETE_LATENCY"),
    FigureName.ROOT: Shape.of("ROOT_LATENCY"),
    FigureName.END_TO_END: Shape.of("END_TO_END_LATENCY"),
    FigureName.WINDOW_WALL: Shape.of("WINDOW_LATENCY"),
    FigureName.WINDOW_CPU: Shape.of("WINDOW_CPU"),
    FigureName.SOJOURN: Shape.of("QUEUE_SOJOURN"),
}
