"""A fleet whose truth is known: jobs of 50 tasks, one of which holds half of all samples.

A job is a chain of 25 operators with two tasks each, one task an executor, ten executors a worker.
Tuples are conserved: what a task sends is what the next two execute. Services take one of two
times, so that means, variability and histograms are known exactly. All jobs ran for the same
days; most report every 96 minutes, one is watched so closely that it has half of all samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.lake.histogram import bin_of

Values = npt.NDArray[np.int64]

OPERATORS, WIDTH, WORKERS = 25, 2, 5
# CPU and idle time of every task; what all but the last emit; seven of all but the first, and what
# they got from each sender; three of every worker.
SERIES = 2 * OPERATORS * WIDTH + (OPERATORS - 1) * WIDTH * (6 + WIDTH) + 3 * WORKERS
START = datetime(2026, 3, 1, tzinfo=UTC)
START_US = int(START.timestamp() * 1e6)
# Five of these are a block of eight hours, and 45 are three days.
BUCKET_US = 96 * 60 * 1_000_000
DAY_US = 86_400 * 1_000_000
# Tuples a second of each source task, and the part by which that rises and falls in a day.
RATE, SWING = 20.0, 0.5
SPLIT = 0.6
FAST_NS, SLOW_NS, FAST_SHARE = 200_000, 1_500_000, 0.8
CPU_NS, POLL_SHARE = 150_000, 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """How large a fleet is: how many jobs, and how long they ran."""

    topologies: int
    days: int

    @property
    def samples(self) -> int:
        """Samples of all jobs."""
        return SERIES * sum(len(self.starts_us(number)) for number in range(self.topologies))

    def names(self) -> list[str]:
        """The jobs in order; the first is the watched one."""
        return [f"job-{number:04d}" for number in range(self.topologies)]

    def bucket_us(self, number: int) -> int:
        """How long the buckets of a job are."""
        return BUCKET_US if number else BUCKET_US // (self.topologies - 1)

    def starts_us(self, number: int) -> Values:
        """When the buckets of a job begin."""
        length = self.bucket_us(number)
        return START_US + length * np.arange(self.days * DAY_US // length, dtype=np.int64)

    def each_day(self, number: int) -> Iterator[tuple[date, slice]]:
        """Which buckets of a job lie in which day."""
        days = (self.starts_us(number) - START_US) // DAY_US
        for day in range(self.days):
            yield START.date() + timedelta(days=day), slice(*np.searchsorted(days, [day, day + 1]))


@dataclass(frozen=True, slots=True)
class Series:
    """One series of a job: what names it, and its values with their counts by bucket."""

    metric: str
    worker: int
    labels: dict[str, Any]
    values: Values
    counts: Values

    @property
    def order(self) -> tuple[Any, ...]:
        """What the lake's table is sorted by."""
        labels = self.labels
        return self.metric, labels.get("component", ""), labels.get("task", 0), self.worker


@dataclass(frozen=True, slots=True)
class Task:
    """A task by its operator's place in the chain and its own among that operator's."""

    place: int
    index: int

    @property
    def operator(self) -> str:
        """Name of its operator."""
        return f"op-{self.place:02d}"

    @property
    def number(self) -> int:
        """The engine's number of it."""
        return 1 + self.place * WIDTH + self.index

    @property
    def worker(self) -> int:
        """Which of the job's workers runs it."""
        return (self.number - 1) * WORKERS // (OPERATORS * WIDTH)

    @property
    def executor(self) -> dict[str, Any]:
        """What names its executor."""
        return {"component": self.operator, "executor": f"{self.operator}[{self.number}]"}

    @property
    def labels(self) -> dict[str, Any]:
        """What names a stream of it."""
        return {**self.executor, "task": self.number, "stream": "default"}


def all_tasks() -> list[Task]:
    """The tasks of a job, in the order of their numbers."""
    return [Task(place, index) for place in range(OPERATORS) for index in range(WIDTH)]


def job_series(fleet: Fleet, number: int) -> list[Series]:
    """All series of a job, in the order of the lake's table."""
    draw = np.random.default_rng([1, number])
    seconds = fleet.bucket_us(number) / 1e6
    buckets = len(fleet.starts_us(number))
    # By day and night: what a tuple costs shows only where the load changes.
    days = (np.arange(buckets) + 0.5) * fleet.bucket_us(number) / DAY_US
    load = RATE * seconds * (1.0 + SWING * np.sin(2.0 * np.pi * days))
    once = np.ones(buckets, dtype=np.int64)
    arrived = np.zeros((OPERATORS, WIDTH, buckets), dtype=np.int64)
    worker_cpu = np.zeros((WORKERS, buckets), dtype=np.int64)
    series: list[Series] = []
    for task in all_tasks():
        executed, busy = arrived[task.place, task.index], np.zeros(buckets, dtype=np.int64)
        if task.place:
            fast = draw.binomial(executed, FAST_SHARE)
            busy = fast * FAST_NS + (executed - fast) * SLOW_NS
            series += _execution(task, executed, fast)
        idle = np.maximum(np.int64(seconds * 1e9) - busy, 0)
        noise = draw.normal(1.0, 0.001, buckets)
        cpu = ((executed * CPU_NS + idle * POLL_SHARE) * noise).astype(np.int64)
        worker_cpu[task.worker] += cpu
        for metric, values in (("executor_cpu", cpu), ("executor_idle", idle)):
            series.append(Series(metric, task.worker, task.executor, values, once))
        if task.place < OPERATORS - 1:
            # Odd operators emit more than they get, even ones less.
            coefficient = 1.25 if task.place % 2 else 0.8
            emitted = draw.poisson(executed * coefficient if task.place else load, buckets)
            first = draw.binomial(emitted, SPLIT)
            parts = (first, emitted - first)
            arrived[task.place + 1] += parts
            series.append(Series("emitted", task.worker, task.labels, emitted, emitted))
            series += _transfers(task, parts)
    for worker, cpu in enumerate(worker_cpu):
        heap = draw.integers(1 << 28, 1 << 29, buckets)
        for metric, values in (
            ("worker_cpu", cpu + cpu // 10),
            ("worker_heartbeats", once),
            ("heap_used", heap),
        ):
            series.append(Series(metric, worker, {}, values, once))
    return sorted(series, key=lambda one: one.order)


def _execution(task: Task, executed: Values, fast: Values) -> Iterator[Series]:
    """What a task executed and how long that took, some tuples fast and all others slowly."""
    slow = executed - fast
    labels = {**task.labels, "source_component": Task(task.place - 1, 0).operator}
    for metric, values in (
        ("executed", executed),
        ("execute_latency_sum", fast * FAST_NS + slow * SLOW_NS),
        ("execute_latency_squares", fast * FAST_NS**2 + slow * SLOW_NS**2),
    ):
        yield Series(metric, task.worker, labels, values, executed)
    for time_ns, values in ((FAST_NS, fast), (SLOW_NS, slow)):
        binned = {**labels, "bin": bin_of(time_ns)}
        yield Series("execute_latency_bin", task.worker, binned, values, values)


def _transfers(sender: Task, parts: tuple[Values, ...]) -> Iterator[Series]:
    """What each task of the next operator was sent."""
    source = {"source_component": sender.operator, "source_task": sender.number}
    for index, values in enumerate(parts):
        labels = {**Task(sender.place + 1, index).labels, **source}
        yield Series("transferred", sender.worker, labels, values, values)
