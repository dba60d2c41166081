"""A fleet whose truth is known: jobs of 50 tasks, one of which holds half of all samples.

A job is a chain of 25 operators with two tasks each, one task an executor, ten executors a worker.
Tuples are conserved: what a task sends is what the next two execute. Services take one of two
times, so that means, variability and histograms are known exactly. All jobs ran for the same
days; most report every 96 minutes, one is watched so closely that it has half of all samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.lake.histogram import bin_of

Values = npt.NDArray[np.int64]

OPERATORS, WIDTH, WORKERS = 25, 2, 5
START = datetime(2026, 3, 1, tzinfo=UTC)
START_US = int(START.timestamp() * 1e6)
# Five of these are a block of eight hours, and 45 are three days.
BUCKET_US = 96 * 60 * 1_000_000
DAY_US = 86_400 * 1_000_000
BUCKETS_PER_DAY = DAY_US // BUCKET_US
# Tuples a second of each source task, and the part by which that rises and falls in a day.
RATE, SWING = 20.0, 0.5
SPLIT = 0.6
FAST_NS, SLOW_NS, FAST_SHARE = 200_000, 1_500_000, 0.8
CPU_NS, POLL_SHARE = 150_000, 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """How large a fleet is.

    Attributes:
        topologies: How many.
        days: How long they ran.
        seed: Of everything random in it.
    """

    topologies: int
    days: int
    seed: int = 1

    @property
    def buckets(self) -> int:
        """Buckets of a job that is not watched."""
        return self.days * BUCKETS_PER_DAY

    @property
    def watched_bucket_us(self) -> int:
        """How long a bucket of the watched job is."""
        return BUCKET_US // (self.topologies - 1)

    @property
    def samples(self) -> int:
        """Samples of all jobs."""
        watched = self.days * DAY_US // self.watched_bucket_us
        return len(SERIES) * ((self.topologies - 1) * self.buckets + watched)

    @property
    def end_us(self) -> int:
        """When the last bucket ends, to a bucket."""
        return START_US + self.days * DAY_US

    def names(self) -> list[str]:
        """The jobs in order; the first is the watched one."""
        return [f"job-{number:04d}" for number in range(self.topologies)]

    def bucket_us(self, number: int) -> int:
        """How long the buckets of a job are."""
        return self.watched_bucket_us if number == 0 else BUCKET_US


@dataclass(frozen=True, slots=True)
class Series:
    """What names one series of a job, in the order in which the table is sorted."""

    metric: str
    component: str | None = None
    task: int | None = None
    executor: str | None = None
    worker: int = 0
    stream: str | None = None
    source_component: str | None = None
    source_task: int | None = None
    bin: int | None = None


def operator(place: int) -> str:
    """Name of the operator at a place of the chain."""
    return f"op-{place:02d}"


def coefficient(place: int) -> float:
    """Tuples out per tuple in."""
    return 1.25 if place % 2 else 0.8


def task_number(place: int, index: int) -> int:
    """The engine's number of a task."""
    return 1 + place * WIDTH + index


def worker_of(place: int, index: int) -> int:
    """Which of a job's workers runs the task."""
    return (task_number(place, index) - 1) * WORKERS // (OPERATORS * WIDTH)


def _task_rows(place: int, index: int) -> Iterator[Series]:
    name, task = operator(place), task_number(place, index)
    worker = worker_of(place, index)
    label = f"{name}[{task}]"
    for metric in ("executor_cpu", "executor_idle"):
        yield Series(metric, name, None, label, worker)
    if place < OPERATORS - 1:
        yield Series("emitted", name, task, label, worker, "default")
    if place == 0:
        return
    source = operator(place - 1)
    for metric in ("executed", "execute_latency_sum", "execute_latency_squares"):
        yield Series(metric, name, task, label, worker, "default", source)
    for time in (FAST_NS, SLOW_NS):
        bin_number = bin_of(time)
        yield Series(
            "execute_latency_bin", name, task, label, worker, "default", source, None, bin_number
        )
    for sender in range(WIDTH):
        from_task = task_number(place - 1, sender)
        at = worker_of(place - 1, sender)
        yield Series("transferred", name, task, label, at, "default", source, from_task)


def _series() -> list[Series]:
    rows = [
        row
        for place in range(OPERATORS)
        for index in range(WIDTH)
        for row in _task_rows(place, index)
    ]
    rows += [
        Series(metric, worker=worker)
        for metric in ("worker_cpu", "worker_heartbeats", "heap_used")
        for worker in range(WORKERS)
    ]
    return sorted(
        rows, key=lambda row: (row.metric, row.component or "", row.task or 0, row.worker)
    )


SERIES = _series()


def _flows(fleet: Fleet, number: int, buckets: int) -> dict[tuple[Any, ...], Values]:
    """Values of all series by metric and task, and by sender or bin where there are several."""
    draw = np.random.default_rng([fleet.seed, number])
    seconds = fleet.bucket_us(number) / 1e6
    # By day and night: what a tuple costs shows only where the load changes.
    times = (np.arange(buckets) + 0.5) * fleet.bucket_us(number) / DAY_US
    load = RATE * seconds * (1.0 + SWING * np.sin(2.0 * np.pi * times))
    found: dict[tuple[Any, ...], Values] = {}
    arriving = [np.zeros(buckets, dtype=np.int64) for _ in range(WIDTH)]
    for place in range(OPERATORS):
        coming = [np.zeros(buckets, dtype=np.int64) for _ in range(WIDTH)]
        for index in range(WIDTH):
            task, executed = task_number(place, index), arriving[index]
            busy = np.zeros(buckets, dtype=np.int64)
            if place:
                fast = draw.binomial(executed, FAST_SHARE)
                slow = executed - fast
                busy = fast * FAST_NS + slow * SLOW_NS
                found["executed", task] = executed
                found["execute_latency_sum", task] = busy
                found["execute_latency_squares", task] = fast * FAST_NS**2 + slow * SLOW_NS**2
                found["execute_latency_bin", task, bin_of(FAST_NS)] = fast
                found["execute_latency_bin", task, bin_of(SLOW_NS)] = slow
            idle = np.maximum(np.int64(seconds * 1e9) - busy, 0)
            noise = draw.normal(1.0, 0.001, buckets)
            used = (executed * CPU_NS + idle * POLL_SHARE) * noise
            found["executor_idle", task] = idle
            found["executor_cpu", task] = used.astype(np.int64)
            if place == OPERATORS - 1:
                continue
            mean = load if place == 0 else executed * coefficient(place)
            emitted = draw.poisson(mean, buckets)
            found["emitted", task] = emitted
            first = draw.binomial(emitted, SPLIT)
            for target, part in enumerate((first, emitted - first)):
                found["transferred", task_number(place + 1, target), task] = part
                coming[target] = coming[target] + part
        arriving = coming
    _worker_values(found, buckets, draw)
    return found


def _worker_values(
    found: dict[tuple[Any, ...], Values], buckets: int, draw: np.random.Generator
) -> None:
    for worker in range(WORKERS):
        used = np.zeros(buckets, dtype=np.int64)
        for place in range(OPERATORS):
            for index in range(WIDTH):
                if worker_of(place, index) == worker:
                    used += found["executor_cpu", task_number(place, index)]
        found["worker_cpu", worker] = used + used // 10
        found["worker_heartbeats", worker] = np.ones(buckets, dtype=np.int64)
        found["heap_used", worker] = draw.integers(1 << 28, 1 << 29, buckets)


def _key_of(row: Series) -> tuple[Any, ...]:
    if row.component is None:
        return row.metric, row.worker
    if row.task is None:
        assert row.executor is not None
        return row.metric, int(row.executor.partition("[")[2][:-1])
    more = row.source_task if row.source_task is not None else row.bin
    return (row.metric, row.task) if more is None else (row.metric, row.task, more)


def _counts(row: Series, flows: dict[tuple[Any, ...], Values], values: Values) -> Values:
    """Observations behind the values: what was timed, or what was counted."""
    if row.metric in ("execute_latency_sum", "execute_latency_squares"):
        return flows["executed", row.task]
    if row.metric in ("executor_cpu", "executor_idle", "worker_cpu", "heap_used"):
        return np.ones(len(values), dtype=np.int64)
    return values


def values_of(fleet: Fleet, number: int) -> tuple[Values, list[Values], list[Values]]:
    """Starts of a job's buckets in microseconds, and by series its values and their counts."""
    bucket_us = fleet.bucket_us(number)
    starts = START_US + np.arange(fleet.days * DAY_US // bucket_us, dtype=np.int64) * bucket_us
    found = _flows(fleet, number, len(starts))
    values = [found[_key_of(row)] for row in SERIES]
    counts = [_counts(row, found, value) for row, value in zip(SERIES, values, strict=True)]
    return starts, values, counts
