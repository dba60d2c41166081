"""How samples are summed: which metrics calibration reads, and which numbers it can take."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.lake.definition import Kind
from streamgauge.lake.metrics import METRICS, Metric
from streamgauge.pipeline.estimation.catalogue import SHAPES, SOURCES

# Buckets that are shorter are left out.
LEAST_BUCKET_US = 1000
# What is summed is below this: the square of a year in nanoseconds.
MOST = 2.0**110
# Numbers that are squared or multiplied are below this; their halves have 24 bits.
MOST_FACTOR = 2.0**47
# Observations of a bucket are below this, so that a block's fit a long.
MOST_COUNT = 2.0**40

HEARTBEATS = Metric.WORKER_HEARTBEATS.label


def _wanted() -> frozenset[str]:
    """Whatever a figure can come from, and what says how long a worker was known."""
    metrics: set[Metric | None] = {Metric.WORKER_HEARTBEATS}
    for source in SOURCES:
        metrics |= {source.metric, source.per, source.evidence}
    for shape in SHAPES.values():
        metrics |= {shape.total, shape.squares, shape.bins}
    return frozenset(metric.label for metric in metrics if metric is not None)


WANTED = _wanted()
COUNTERS = frozenset(label for label in WANTED if METRICS[label].kind is Kind.CUMULATIVE)
GAUGES = frozenset(label for label in WANTED if METRICS[label].kind is Kind.GAUGE)
MEANS = frozenset(label for label in WANTED if METRICS[label].kind is Kind.MEAN)
# Their values by bucket are squared too, for the variability of arrivals.
SQUARED = frozenset(
    label
    for label in WANTED
    if METRICS[label].counts_observations and METRICS[label].kind in (Kind.DELTA, Kind.CUMULATIVE)
)

# What regressions multiply, bucket by bucket, and by what it is divided first: nanoseconds become
# whole microseconds.
FACTORS: Mapping[str, float] = {
    Metric.EXECUTED.label: 1.0,
    Metric.WINDOW_TRIGGERS.label: 1.0,
    Metric.EMITTED.label: 1.0,
    Metric.EXECUTOR_CPU.label: 1000.0,
    Metric.EXECUTOR_IDLE.label: 1000.0,
}
# Of these, what an executor's CPU time is explained by.
OF_EXECUTORS_TOO = frozenset({Metric.EXECUTED.label, Metric.WINDOW_TRIGGERS.label})

# What history is made of: what operators executed and emitted, and how long they held senders back.
EXECUTED = frozenset({Metric.EXECUTED.label, Metric.EXECUTED_TOTAL.label})
EMITTED = frozenset({Metric.EMITTED.label, Metric.EMITTED_TOTAL.label})
PRESSED = Metric.BACKPRESSURE_CAUSED.label
HISTORY_LABELS = EXECUTED | EMITTED | {PRESSED, HEARTBEATS}

# What the engine estimates, or the far end of a connection counts, and the exact metrics that make
# it superfluous when all of them were written of the same operator (or worker) on the same day.
# Failures are rare, so that their absence shows only by what an agent writes beside them.
STAND_INS: Mapping[Metric, tuple[Metric, ...]] = {
    Metric.EMITTED_TOTAL: (Metric.EMITTED,),
    Metric.SENT_TOTAL: (Metric.SENT,),
    Metric.EXECUTED_TOTAL: (Metric.EXECUTED, Metric.ACKED),
    Metric.ACKED_TOTAL: (Metric.ACKED,),
    Metric.FAILED_TOTAL: (Metric.ACKED,),
    Metric.ROOTS_ACKED_TOTAL: (Metric.ROOTS_ACKED,),
    Metric.RECEIVED: (Metric.TRANSFERRED,),
    Metric.EXECUTE_LATENCY_MEAN: (Metric.EXECUTE_LATENCY_SUM,),
    Metric.COMPLETE_LATENCY_MEAN: (Metric.COMPLETE_LATENCY_SUM,),
    Metric.WINDOW_LATENCY_MEAN: (Metric.WINDOW_LATENCY_SUM,),
    Metric.QUEUE_ARRIVAL_RATE: (Metric.QUEUE_ARRIVALS,),
    Metric.TUPLES_PER_LIST_MEAN: (Metric.QUEUE_ARRIVALS, Metric.QUEUE_LISTS),
    Metric.QUEUE_SOJOURN_MEAN: (Metric.QUEUE_SOJOURN_SUM,),
    Metric.QUEUE_DROPS_TOTAL: (Metric.QUEUE_DROPS,),
    Metric.WORKER_CORES: (Metric.WORKER_CPU,),
}


def largest(label: str) -> float:
    """What a value must be below, so that sums of a block are exact (see `exact_sums`).

    A gauge is multiplied by at most 2^37 microseconds, a mean by 2^40 observations and a million.
    """
    if label in SQUARED:
        return MOST_FACTOR
    if label in GAUGES:
        return MOST / 2.0**37
    return MOST / 2.0**60 if label in MEANS else MOST
