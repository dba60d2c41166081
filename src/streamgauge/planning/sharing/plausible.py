"""Figures that cannot be: negative, huge, from the future. Nothing is decided on them."""

from __future__ import annotations

import math

from streamgauge.planning.sharing.observation import JobSeen, OperatorSeen
from streamgauge.planning.sharing.sliding_window import (
    MICROSECONDS,
    Measured,
    WindowRules,
    end_of,
)
from streamgauge.planning.sharing.totals import TAKES

# No task counts more of anything in a second; no thread spends more time than this many of it.
MOST_PER_SECOND = 1e9
MOST_TIMES = 100.0
# Nothing that lasts longer is a latency of a stream.
MOST_LATENCY_SECONDS = 1e6
MOST_TUPLES = 1e15
# A job that drains its queues processes more than comes, but not so many times as much.
MOST_JUICE = 100.0
NANOSECONDS = 1e9


def doubt_sample(sample: Measured, at: float, rules: WindowRules) -> str:
    """Why a sample that came at this time, in seconds since 1970, cannot be; empty where it can."""
    who = sample.component or sample.worker or sample.machine or sample.node or "cluster"
    what = f"{sample.metric} of {who}"
    ahead = end_of(sample) / MICROSECONDS - at
    if ahead > rules.ahead_seconds:
        return f"{what} is from {ahead:.0f} s in the future"
    if sample.metric in TAKES and not abs(sample.value) <= _most(sample):
        return f"{what} is {sample.value:.3g} in {sample.bucket_seconds:g} s"
    return ""


def _most(sample: Measured) -> float:
    """What a value that is used can be at most."""
    if sample.metric.endswith("_sum"):
        return MOST_LATENCY_SECONDS * NANOSECONDS * max(sample.count, 1)
    if sample.metric in ("executor_cpu", "backpressure_caused"):
        return MOST_TIMES * NANOSECONDS * sample.bucket_seconds
    return MOST_PER_SECOND * max(sample.bucket_seconds, 1.0)


def doubt_job(job: JobSeen) -> str:
    """Why what is seen of a job cannot be; empty where it can."""
    if job.doubt:
        return job.doubt
    for what, value, most in (
        ("input", job.offered_per_second, MOST_TUPLES),
        ("lag", job.lag, MOST_TUPLES),
        ("juice", job.quality.juice or 0.0, MOST_JUICE),
    ):
        if _is_impossible(value, most):
            return f"its {what} is {value:.3g}"
    for statistic, latency in job.quality.latency_seconds.items():
        # What never arrives has an infinite latency.
        if latency < 0.0 or math.isnan(latency):
            return f"its {statistic} latency is {latency:.3g} s"
    for name, one in job.operators.items():
        fault = _doubt_operator(one)
        if fault:
            return f"{fault} of {name}"
    return ""


def _doubt_operator(one: OperatorSeen) -> str:
    if not 1 <= one.executors <= one.tasks:
        return f"{one.executors} executors for {one.tasks} tasks"
    figures = {
        "capacity": (one.capacity, MOST_TIMES),
        "cores": (one.cores, MOST_TUPLES),
        "queue": (one.queue, MOST_TUPLES),
        "output": (one.sent_per_second, MOST_TUPLES),
        "time held back": (one.held_back, 1.0 + 1e-6),
        "arrivals": (one.arrived_per_second or 0.0, MOST_TUPLES),
        **{f"input from {name}": (rate, MOST_TUPLES) for name, rate in one.executed.items()},
    }
    for what, (value, most) in figures.items():
        if _is_impossible(value, most):
            return f"{what} {value:.3g}"
    return ""


def _is_impossible(value: float, most: float) -> bool:
    return not 0.0 <= value <= most
