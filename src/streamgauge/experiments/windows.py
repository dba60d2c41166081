"""What is kept of a repetition: who ran where, and what was read, window by window.

Samples count for the window that the middle of their bucket lies in, traces for the one that they
ended in. Memory is bounded: times are counted in classes.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cached_property
from operator import itemgetter

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamgauge.lake.histogram import quantile
from streamgauge.lake.metrics import Metric
from streamgauge.lake.records import PlacedExecutor
from streamgauge.topology.logical_plan import Executor
from streamgauge.topology.topology import Topology
from streamgauge.topology.workload import Workload

MICROSECONDS = 1e6
NANOSECONDS = 1e9
# Digits of a single time that are kept: quantiles of what was traced are right to half a per cent.
DIGITS = 3
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Since(StrEnum):
    """What a latency to a sink counts from."""

    EMISSION = "emission"
    DUE = "due"


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Who ran where in a repetition, and which tasks have one clock.

    Attributes:
        sources: All of the topology's.
        paced: Those whose tuples are due at a time of their own, whether or not they are emitted.
    """

    executors: tuple[PlacedExecutor, ...]
    sources: tuple[str, ...]
    paced: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        topology: Topology,
        executors: Sequence[PlacedExecutor],
        workload: Workload | None = None,
    ) -> Placement:
        """The placement of a topology's executors; without a workload no tuple is ever due."""
        sources = tuple(operator.name for operator in topology.sources)
        eager = sources if workload is None else workload.eager_sources
        return cls(
            executors=tuple(executors), sources=sources, paced=frozenset(sources) - frozenset(eager)
        )

    @cached_property
    def workers(self) -> tuple[str, ...]:
        """All worker processes."""
        return tuple(dict.fromkeys(executor.worker for executor in self.executors))

    @cached_property
    def executor_labels(self) -> tuple[str, ...]:
        """``splitter[7-8]`` of each executor."""
        return tuple(
            Executor(one.first_task, one.last_task, one.component).label for one in self.executors
        )

    @cached_property
    def labels(self) -> dict[int, str]:
        """The executor of each task."""
        return {
            task: label
            for one, label in zip(self.executors, self.executor_labels, strict=True)
            for task in range(one.first_task, one.last_task + 1)
        }

    def tasks_share_clock(self, source: int, sink: int) -> bool:
        """Whether two tasks read the time from one clock: that of their machine."""
        clock = self._clocks.get(source)
        return clock is not None and clock == self._clocks.get(sink)

    def operator_shares_clock(self, operator: str, task: int) -> bool:
        """Whether all tasks of an operator read the time from the clock of a task."""
        return self._clocks_of_operators.get(operator) == {self._clocks.get(task)}

    @cached_property
    def _clocks_of_operators(self) -> dict[str, set[str]]:
        clocks: dict[str, set[str]] = {}
        for executor in self.executors:
            clocks.setdefault(executor.component, set()).add(self._clocks[executor.first_task])
        return clocks

    @cached_property
    def _clocks(self) -> dict[int, str]:
        # Nodes on one machine share its clock; where machines are not known, a node has its own.
        return {
            task: executor.machine or executor.node
            for executor in self.executors
            for task in range(executor.first_task, executor.last_task + 1)
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The windows of a repetition, one after the other.

    Attributes:
        start_us: When the first begins, in microseconds since 1970.
        bucket_us: Time that one sample spans.
    """

    start_us: int
    windows: int
    window_us: int
    bucket_us: int

    @classmethod
    def of(
        cls, start: datetime, *, windows: int, window_seconds: float, bucket_seconds: float
    ) -> Span:
        """The windows from a time on."""
        return cls(
            start_us=(start - _EPOCH) // timedelta(microseconds=1),
            windows=windows,
            window_us=round(window_seconds * MICROSECONDS),
            bucket_us=round(bucket_seconds * MICROSECONDS),
        )

    @property
    def window_seconds(self) -> float:
        """Length of a window."""
        return self.window_us / MICROSECONDS

    @property
    def bucket_seconds(self) -> float:
        """Length of a bucket."""
        return self.bucket_us / MICROSECONDS

    @property
    def buckets(self) -> int:
        """Buckets of all windows."""
        return max(round(self.windows * self.window_us / self.bucket_us), 1)

    def window_of(self, time_us: int) -> int | None:
        """The window that a time lies in."""
        place = (time_us - self.start_us) // self.window_us
        return place if 0 <= place < self.windows else None


@dataclass(slots=True)
class Times:
    """How long something took, in nanoseconds.

    An engine gives sums and counts in the lake's classes of 9 %; traces give single times. Both
    may come, of different subjects, never of one.

    Attributes:
        count: How many there are a mean of.
        bins: How many by class of the lake.
        single: How many by time, of those that were seen one by one.
    """

    count: float = 0.0
    total_ns: float = 0.0
    bins: Counter[int] = field(default_factory=Counter)
    single: Counter[int] = field(default_factory=Counter)

    def add_sum(self, total_ns: float, count: float) -> None:
        """That many took that long together."""
        self.total_ns += total_ns
        self.count += count

    def add_bin(self, number: int, count: int) -> None:
        """That many lay in a class of the lake."""
        self.bins[number] += count

    def add_single(self, time_ns: int) -> None:
        """One took that long."""
        self.add_sum(time_ns, 1)
        kept = DIGITS - 1 - math.floor(math.log10(abs(time_ns))) if time_ns else 0
        self.single[round(time_ns, kept)] += 1

    def merge(self, other: Times) -> None:
        """Take over what another has."""
        self.add_sum(other.total_ns, other.count)
        self.bins.update(other.bins)
        self.single.update(other.single)

    def up_to(self, seconds: float) -> Times:
        """Those of the times seen one by one that are no longer; none for NaN."""
        kept = Times()
        for time_ns, count in self.single.items():
            if time_ns <= seconds * NANOSECONDS:
                kept.add_sum(time_ns * count, count)
                kept.single[time_ns] += count
        return kept

    @property
    def observed(self) -> int:
        """How many a quantile rests on."""
        return sum(self.bins.values()) or sum(self.single.values())

    @property
    def mean_seconds(self) -> float:
        """NaN without any."""
        return self.total_ns / self.count / NANOSECONDS if self.count else math.nan

    def quantile_seconds(self, probability: float) -> float:
        """The time that a share `probability` does not exceed; NaN without any."""
        if self.bins:
            return quantile(self.bins, probability) / NANOSECONDS
        if not self.single:
            return math.nan
        # The smallest value with at least that share at or below it.
        values = sorted(self.single)
        reached = np.cumsum([self.single[value] for value in values])
        rank = max(math.ceil(probability * reached[-1] - 1e-9), 1)
        return float(values[np.searchsorted(reached, rank)]) / NANOSECONDS


@dataclass(slots=True)
class Total:
    """A quantity that adds up: how much, and in how much reported time."""

    value: float = 0.0
    seconds: float = 0.0
    most: float = 0.0

    def add(self, value: float, seconds: float, most: float) -> None:
        """More of it."""
        self.value += value
        self.seconds += seconds
        self.most = max(self.most, most)


@dataclass(slots=True)
class WindowReadings:
    """All that is known of one window.

    Attributes:
        to_sinks: Time to a sink by (since what, source, sink, whether their clock is one).
        on_paths: The same of traces, by since what, operators on the way and whether the clock is
            one.
        trees: Complete latency by source.
        sums: Other metrics by metric and subject.
    """

    to_sinks: dict[tuple[Since, str, str, bool], Times] = field(
        default_factory=lambda: defaultdict(Times)
    )
    on_paths: dict[tuple[Since, tuple[str, ...], bool], Times] = field(
        default_factory=lambda: defaultdict(Times)
    )
    trees: dict[str, Times] = field(default_factory=lambda: defaultdict(Times))
    sums: dict[tuple[Metric, str], Total] = field(default_factory=lambda: defaultdict(Total))

    def of(self, metric: Metric) -> list[tuple[str, Total]]:
        """The subjects of a metric by name, with what they spent."""
        of_metric = {subject: spent for (of, subject), spent in self.sums.items() if of is metric}
        return sorted(of_metric.items(), key=itemgetter(0))


@dataclass(slots=True)
class Series:
    """How a repetition went, bucket by bucket: sums over all sinks, sources and executors.

    Attributes:
        latency_ns: Since emission, of so many that
        arrived; and
        due_ns: since they were due, of
        due_arrived: those that were.
    """

    latency_ns: NDArray[np.float64]
    arrived: NDArray[np.float64]
    due_ns: NDArray[np.float64]
    due_arrived: NDArray[np.float64]
    emitted: NDArray[np.float64]
    held_ns: NDArray[np.float64]

    @classmethod
    def of_length(cls, buckets: int) -> Series:
        """Nothing has happened."""
        return cls(*(np.zeros(buckets) for _ in range(6)))

    def add_latencies(
        self,
        since: Since,
        places: int | NDArray[np.int64],
        latency_ns: ArrayLike,
        arrived: ArrayLike,
    ) -> None:
        """Sums of latencies, and of how many, in buckets by their places."""
        sums, counts = (
            (self.latency_ns, self.arrived)
            if since is Since.EMISSION
            else (self.due_ns, self.due_arrived)
        )
        np.add.at(sums, places, latency_ns)
        np.add.at(counts, places, arrived)
