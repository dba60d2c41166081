"""What the samples of a window add up to, by operator and executor."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from streamgauge.planning.sharing.sliding_window import MICROSECONDS, Measured, Span, end_of

Pair = tuple[str, str]
# Streams and operators of the engine's own.
SYSTEM = "__"


class Since(StrEnum):
    """From when latency counts, the best first."""

    DUE = "due"
    EMISSION = "emission"
    COMPLETE = "emission, to the last ack"


@dataclass(slots=True)
class LatencyTotal:
    """Latencies of a window: their sum and number, and how many lie in which bin of the lake's."""

    nanoseconds: float = 0.0
    count: float = 0.0
    bins: dict[int, float] = field(default_factory=lambda: defaultdict(float))


@dataclass(slots=True)
class Level:
    """A gauge over a window: its mean, and its first and last reading."""

    total: float = 0.0
    weight: float = 0.0
    first: tuple[int, float] | None = None
    last: tuple[int, float] | None = None

    @property
    def mean(self) -> float:
        """Over time; zero without a reading."""
        return self.total / self.weight if self.weight > 0.0 else 0.0

    @property
    def per_second(self) -> float:
        """By how much it grew, from its first to its last reading."""
        if self.first is None or self.last is None or self.last[0] <= self.first[0]:
            return 0.0
        return (self.last[1] - self.first[1]) / (self.last[0] - self.first[0]) * MICROSECONDS

    def take(self, at_us: int, value: float, weight: float) -> None:
        """One reading."""
        self.total += value * weight
        self.weight += weight
        if self.first is None or at_us < self.first[0]:
            self.first = (at_us, value)
        if self.last is None or at_us > self.last[0]:
            self.last = (at_us, value)


def _sums() -> dict[str, float]:
    return defaultdict(float)


def _pair_sums() -> dict[Pair, float]:
    return defaultdict(float)


def _levels() -> dict[Pair, Level]:
    return defaultdict(Level)


@dataclass(slots=True)
class Totals:
    """One window of one job; pairs are of an operator and an executor unless said otherwise.

    Attributes:
        executed: Tuples by parent and child.
        transferred: Tuples that were sent, by parent and child.
        emitted: Tuples by operator, each once.
        sent: Copies of them, one for each task that they went to.
        roots_acked: Roots whose tree was acked.
        busy: Nanoseconds in execute.
        engine_busy: Part of the time in execute, as the engine itself has it.
        queues: Tuples in receive queues.
        overflows: Tuples behind these.
        lags: Tuples that are due and not emitted.
        cores: Nanoseconds on a core.
        held: Nanoseconds in which a task held its senders back, by operator and task.
        latency: By what it counts from.
        executors: Those that were heard of.
    """

    executed: dict[Pair, float] = field(default_factory=_pair_sums)
    transferred: dict[Pair, float] = field(default_factory=_pair_sums)
    emitted: dict[str, float] = field(default_factory=_sums)
    sent: dict[str, float] = field(default_factory=_sums)
    roots_acked: float = 0.0
    busy: dict[Pair, float] = field(default_factory=_pair_sums)
    engine_busy: dict[Pair, Level] = field(default_factory=_levels)
    queues: dict[Pair, Level] = field(default_factory=_levels)
    overflows: dict[Pair, Level] = field(default_factory=_levels)
    lags: dict[Pair, Level] = field(default_factory=_levels)
    cores: dict[Pair, float] = field(default_factory=_pair_sums)
    held: dict[Pair, float] = field(default_factory=_pair_sums)
    latency: dict[Since, LatencyTotal] = field(
        default_factory=lambda: {since: LatencyTotal() for since in Since}
    )
    executors: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


_Take = Callable[[Totals, Measured, float], None]


def add_up(samples: Iterable[Measured], span: Span) -> Totals:
    """The samples of a window together; buckets that lie partly in it count in part."""
    totals = Totals()
    for sample in samples:
        take = TAKES.get(sample.metric)
        if take is None or not sample.component or sample.component.startswith(SYSTEM):
            continue
        if sample.stream is not None and sample.stream.startswith(SYSTEM):
            continue
        if take is not _transferred:
            # That is the sender's word of a task, and names no executor.
            totals.executors[sample.component].add(_executor(sample))
        take(totals, sample, span.part_of(sample))
    return totals


def _executor(sample: Measured) -> str:
    return sample.executor or f"{sample.component}[{sample.task}]"


def _own(sample: Measured) -> Pair:
    return (sample.component or "", _executor(sample))


def _edge(sample: Measured) -> Pair:
    return (sample.source_component or "", sample.component or "")


def _executed(totals: Totals, sample: Measured, part: float) -> None:
    totals.executed[_edge(sample)] += sample.value * part


def _transferred(totals: Totals, sample: Measured, part: float) -> None:
    totals.transferred[_edge(sample)] += sample.value * part


def _emitted(totals: Totals, sample: Measured, part: float) -> None:
    totals.emitted[sample.component or ""] += sample.value * part


def _sent(totals: Totals, sample: Measured, part: float) -> None:
    totals.sent[sample.component or ""] += sample.value * part


def _roots_acked(totals: Totals, sample: Measured, part: float) -> None:
    totals.roots_acked += sample.value * part


def _held(totals: Totals, sample: Measured, part: float) -> None:
    totals.held[sample.component or "", str(sample.task)] += sample.value * part


def _pair(name: str) -> _Take:
    def take(totals: Totals, sample: Measured, part: float) -> None:
        getattr(totals, name)[_own(sample)] += sample.value * part

    return take


def _level(name: str) -> _Take:
    def take(totals: Totals, sample: Measured, part: float) -> None:
        if sample.queue in (None, "receive"):
            seconds = part * sample.bucket_seconds
            getattr(totals, name)[_own(sample)].take(end_of(sample), sample.value, seconds)

    return take


def _latency(since: Since) -> tuple[_Take, _Take]:
    def take_sum(totals: Totals, sample: Measured, part: float) -> None:
        totals.latency[since].nanoseconds += sample.value * part
        totals.latency[since].count += sample.count * part

    def take_bin(totals: Totals, sample: Measured, part: float) -> None:
        totals.latency[since].bins[sample.bin or 0] += sample.value * part

    return take_sum, take_bin


# By the labels of the lake's metrics.
TAKES: Mapping[str, _Take] = {
    "executed": _executed,
    "transferred": _transferred,
    "emitted": _emitted,
    "sent": _sent,
    "roots_acked": _roots_acked,
    "execute_latency_sum": _pair("busy"),
    "executor_cpu": _pair("cores"),
    "backpressure_caused": _held,
    "executor_capacity": _level("engine_busy"),
    "queue_population": _level("queues"),
    "queue_overflow": _level("overflows"),
    "source_lag": _level("lags"),
    **{
        f"{stem}_{what}": take
        for stem, since in (
            ("since_due_latency", Since.DUE),
            ("end_to_end_latency", Since.EMISSION),
            ("complete_latency", Since.COMPLETE),
        )
        for what, take in zip(("sum", "bin"), _latency(since), strict=True)
    },
}
