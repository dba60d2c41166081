"""Samples of the last while: taken in any order, added up over a window that slides.

A window is a whole number of sub-windows (Henge: 60 s of 10 s). It ends where all workers of a job
have reported: one that is late holds the window back, for a while. Buckets that begin elsewhere
than sub-windows count with the part of them that lies in the window. A sample that comes again
replaces the one before, as in the lake.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Protocol

from streamgauge.errors import Findings
from streamgauge.topology.field_checks import check_number

MICROSECONDS = 1_000_000
HEARTBEATS = "worker_heartbeats"


class Measured(Protocol):
    """A sample as the lake has it: one metric of one subject in one bucket."""

    @property
    def topology(self) -> str | None:
        """The job; nothing for machines."""

    @property
    def component(self) -> str | None:
        """Its operator."""

    @property
    def task(self) -> int | None:
        """The engine's number of the task."""

    @property
    def executor(self) -> str | None:
        """The executor's label."""

    @property
    def queue(self) -> str | None:
        """Which queue."""

    @property
    def worker(self) -> str | None:
        """The process that measured."""

    @property
    def node(self) -> str | None:
        """Where that runs."""

    @property
    def machine(self) -> str | None:
        """What the node runs on."""

    @property
    def metric(self) -> str:
        """The metric's label."""

    @property
    def stream(self) -> str | None:
        """Of a task's inputs or outputs."""

    @property
    def source_component(self) -> str | None:
        """Who sent it."""

    @property
    def source_task(self) -> int | None:
        """Which task of it."""

    @property
    def bin(self) -> int | None:
        """Of a histogram."""

    @property
    def bucket_start_us(self) -> int:
        """When the bucket began."""

    @property
    def bucket_seconds(self) -> float:
        """How long it was."""

    @property
    def value(self) -> float:
        """In the metric's unit."""

    @property
    def count(self) -> int:
        """Observations really taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowRules:
    """How the last while is looked at.

    Attributes:
        window_seconds: What figures are of.
        sub_seconds: Parts of it: it moves on by one at a time.
        late_seconds: By how much a worker may be behind; after that its job is not known.
        ahead_seconds: By how much clocks may differ: what is later than that is of the future.
        coarsest: Buckets may be so many sub-windows long.
        remembered_seconds: For how long a worker that is in no plan is expected to report.
    """

    window_seconds: float = 60.0
    sub_seconds: float = 10.0
    late_seconds: float = 60.0
    ahead_seconds: float = 5.0
    coarsest: float = 1.5
    remembered_seconds: float = 300.0

    def __post_init__(self) -> None:
        findings = Findings()
        check_number(findings, self.sub_seconds, "sub_seconds", above=0.0)
        check_number(findings, self.window_seconds, "window_seconds", least=self.sub_seconds)
        for name in ("late_seconds", "ahead_seconds", "remembered_seconds"):
            check_number(findings, getattr(self, name), name)
        check_number(findings, self.coarsest, "coarsest", least=1.0)
        findings.raise_if_any()


@dataclass(frozen=True, slots=True)
class Span:
    """From when to when, in microseconds since 1970."""

    start_us: int
    end_us: int

    @property
    def seconds(self) -> float:
        """How long."""
        return (self.end_us - self.start_us) / MICROSECONDS

    def part_of(self, sample: Measured) -> float:
        """Which part of a sample's bucket lies in it."""
        length = round(sample.bucket_seconds * MICROSECONDS)
        return max(0, self._overlap(sample.bucket_start_us, length)) / max(length, 1)

    def holds_end_of(self, sample: Measured) -> bool:
        """Whether a bucket ends in it: what gauges say is of then."""
        return self.start_us < end_of(sample) <= self.end_us

    def covered_by(self, buckets: Iterable[tuple[int, int]]) -> float:
        """Seconds of it that buckets (from, to) cover; they do not overlap."""
        return sum(max(0, self._overlap(low, high - low)) for low, high in buckets) / MICROSECONDS

    def _overlap(self, start_us: int, length_us: int) -> int:
        return min(self.end_us, start_us + length_us) - max(self.start_us, start_us)


def end_of(sample: Measured) -> int:
    """When a sample's bucket ended, in microseconds since 1970."""
    return sample.bucket_start_us + round(sample.bucket_seconds * MICROSECONDS)


_key_of = attrgetter(
    *("metric", "component", "task", "executor", "queue", "worker", "node", "machine"),
    *("stream", "source_component", "source_task", "bin", "bucket_start_us"),
)


class SlidingWindow:
    """Samples of one job, or of machines."""

    def __init__(self, rules: WindowRules) -> None:
        self._rules = rules
        self._sub_us = round(rules.sub_seconds * MICROSECONDS)
        # By the sub-window that their buckets begin in.
        self._samples: dict[int, dict[object, Measured]] = {}
        # Buckets with a heartbeat, by worker: where one is, what is missing is zero.
        self._alive: dict[str, dict[int, int]] = {}
        self._longest_us = 0
        self._forgotten_us = 0
        self.too_late = 0

    def take(self, sample: Measured) -> None:
        """Keep a sample, unless its time is over."""
        if end_of(sample) <= self._forgotten_us:
            self.too_late += 1
            return
        begun = sample.bucket_start_us // self._sub_us
        self._samples.setdefault(begun, {})[_key_of(sample)] = sample
        self._longest_us = max(self._longest_us, end_of(sample) - sample.bucket_start_us)
        if sample.metric == HEARTBEATS and sample.worker is not None:
            self._alive.setdefault(sample.worker, {})[sample.bucket_start_us] = end_of(sample)

    def forget(self, before_us: int) -> None:
        """Let go of buckets that ended before then."""
        self._forgotten_us = max(self._forgotten_us, before_us)
        over = (before_us - self._longest_us) // self._sub_us
        for begun in [one for one in self._samples if one < over]:
            del self._samples[begun]
        for worker, buckets in list(self._alive.items()):
            kept = {start: end for start, end in buckets.items() if end > before_us}
            # The last one says when it was heard of.
            self._alive[worker] = kept or dict([max(buckets.items())])

    def heard_of(self) -> Mapping[str, int]:
        """When each worker's last bucket ended."""
        return {worker: max(buckets.values()) for worker, buckets in self._alive.items()}

    def newest_us(self) -> int:
        """When the last bucket of all ended; zero without any."""
        if not self._samples:
            return 0
        return max(end_of(one) for one in self._samples[max(self._samples)].values())

    def end_at(self, workers: Iterable[str]) -> int:
        """The end of the last sub-window that all these workers have reported."""
        heard = self.heard_of()
        return min(heard[worker] for worker in workers) // self._sub_us * self._sub_us

    def span_to(self, end_us: int) -> Span:
        """The window that ends then."""
        return Span(end_us - round(self._rules.window_seconds * MICROSECONDS), end_us)

    def covered(self, span: Span, worker: str) -> float:
        """Seconds of a window that a worker reported."""
        return span.covered_by(self._alive.get(worker, {}).items())

    def coarsest(self) -> float:
        """Seconds of the longest of the workers' newest buckets.

        The first one of a process lasts up to a round time, and does not count.
        """
        longest = 0
        for buckets in self._alive.values():
            start, end = max(buckets.items())
            if len(buckets) > 1 or end - start >= self._rules.window_seconds * MICROSECONDS:
                longest = max(longest, end - start)
        return longest / MICROSECONDS

    def within(self, span: Span) -> Iterator[Measured]:
        """All samples whose buckets lie in a window, or partly so."""
        first = (span.start_us - self._longest_us) // self._sub_us
        for begun in range(first, span.end_us // self._sub_us + 1):
            for sample in self._samples.get(begun, {}).values():
                if sample.bucket_start_us < span.end_us and end_of(sample) > span.start_us:
                    yield sample
