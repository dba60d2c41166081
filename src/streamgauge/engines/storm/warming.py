"""Warming a topology up: by calls, at a raised rate, drained, until two windows agree."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from streamgauge.engines.runner import StepOrder, WarmUp
from streamgauge.engines.storm.agent import AgentFiles
from streamgauge.lake.metrics import Metric
from streamgauge.topology.files.document import write_whole

_MICROSECONDS = 1_000_000
# Agents write a bucket soon after it ends.
LATE_SECONDS = 2.0
_LOOK_SECONDS = 0.5
_DRAIN_SECONDS = 120.0

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RateControl:
    """The file through which sources are told how fast to be."""

    file: Path

    def set(self, factor: float) -> None:
        """Let sources emit at this multiple of the rates they were submitted with."""
        write_whole(self.file, json.dumps({"rate_factor": factor}) + "\n")


@dataclass(slots=True)
class Observed:
    """What agents have told so far.

    Attributes:
        executed: Calls by operator.
        executed_at: Calls of all operators by the start of their bucket, in µs.
        latency_ns: Sum of latencies by the start of their bucket.
        arrived: Of how many tuples.
    """

    executed: Counter[str] = field(default_factory=Counter)
    executed_at: Counter[int] = field(default_factory=Counter)
    latency_ns: Counter[int] = field(default_factory=Counter)
    arrived: Counter[int] = field(default_factory=Counter)

    def take(self, files: AgentFiles) -> None:
        """Read what came since."""
        for sample in files.new_samples(Metric.EXECUTED, Metric.END_TO_END_LATENCY_SUM):
            bucket = sample.bucket_start_us
            if sample.metric == Metric.EXECUTED.label:
                self.executed[sample.component or ""] += int(sample.value)
                self.executed_at[bucket] += int(sample.value)
            else:
                self.latency_ns[bucket] += int(sample.value)
                self.arrived[bucket] += sample.count

    def mean_latency(self, start_us: int, end_us: int) -> float | None:
        """Mean latency of tuples that arrived in buckets of a window; None without any."""
        buckets = [bucket for bucket in self.arrived if start_us <= bucket < end_us]
        arrived = sum(self.arrived[bucket] for bucket in buckets)
        return sum(self.latency_ns[bucket] for bucket in buckets) / arrived if arrived else None


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmingUp:
    """How a topology is made warm.

    The factor is that of the step's own rates, in multiples of those submitted. `tell` is told what
    is being done.
    """

    order: StepOrder
    files: AgentFiles
    control: RateControl
    factor: float
    tell: Tell

    @property
    def rule(self) -> WarmUp:
        """What is asked for."""
        return self.order.warm_up

    def run(self) -> list[str]:
        """Warm up; what did not come about in time, a line each."""
        began = time.monotonic()
        deadline = began + self.rule.most_seconds
        observed, notes = Observed(), []
        self.control.set(self.factor * self.rule.rate_factor)
        while not self._is_called(observed, time.monotonic() - began):
            if time.monotonic() > deadline:
                notes.append(self._too_few(observed))
                break
            self._look(observed, self._calls(observed))
        if self.rule.rate_factor != 1.0:
            notes += self._drain(observed)
        self.control.set(self.factor)
        if not notes:
            notes += self._agree(observed, deadline)
        return notes

    def _is_called(self, observed: Observed, elapsed: float) -> bool:
        called = observed.executed.values()
        return elapsed >= self.rule.seconds and (
            self.rule.calls == 0 or (bool(called) and min(called) >= self.rule.calls)
        )

    def _calls(self, observed: Observed) -> str:
        least = min(observed.executed.values(), default=0)
        return f"warming up: {least} of {self.rule.calls} calls"

    def _too_few(self, observed: Observed) -> str:
        low = {name: calls for name, calls in observed.executed.items() if calls < self.rule.calls}
        seen = ", ".join(f"{name} {calls}" for name, calls in sorted(low.items())) or "none at all"
        return (
            f"warm-up ended after {self.rule.most_seconds:g} s with fewer than {self.rule.calls} "
            f"calls of some operators: {seen}"
        )

    def _drain(self, observed: Observed) -> list[str]:
        """Stop the sources until nothing is executed for the length of a bucket."""
        self.control.set(0.0)
        deadline = time.monotonic() + _DRAIN_SECONDS
        paused = next_bucket_us(self.order.bucket_seconds)
        while time.monotonic() < deadline:
            self._look(observed, "draining")
            ended = paused + round(self.order.bucket_seconds * _MICROSECONDS)
            if time.time() < ended / _MICROSECONDS + LATE_SECONDS:
                continue
            if observed.executed_at[paused] == 0:
                return []
            paused = ended
        return [f"queues were not empty {_DRAIN_SECONDS:g} s after the raised load"]

    def _agree(self, observed: Observed, deadline: float) -> list[str]:
        """Wait for two windows in a row whose mean latencies are near each other."""
        length = round(self.order.window_seconds * _MICROSECONDS)
        start, before, mean = next_bucket_us(self.order.bucket_seconds), None, None
        while True:
            end = start + length
            while time.time() < end / _MICROSECONDS + LATE_SECONDS:
                if time.monotonic() > deadline:
                    return [_disagreement(self.rule, before, mean)]
                self._look(observed, "waiting for two windows to agree")
            before, mean = mean, observed.mean_latency(start, end)
            if before is not None and mean is not None and _are_near(before, mean, self.rule):
                return []
            start = end

    def _look(self, observed: Observed, doing: str) -> None:
        time.sleep(_LOOK_SECONDS)
        observed.take(self.files)
        self.tell(doing)


def next_bucket_us(bucket_seconds: float) -> int:
    """When the next bucket begins, in microseconds since 1970."""
    return round(math.ceil(time.time() / bucket_seconds) * bucket_seconds * _MICROSECONDS)


def _are_near(one: float, other: float, rule: WarmUp) -> bool:
    return abs(one - other) <= rule.agreement * max(abs(one), abs(other))


def _disagreement(rule: WarmUp, before: float | None, mean: float | None) -> str:
    if before is None or mean is None:
        return "warm-up ended before two windows had tuples that arrived at a sink"
    return (
        f"warm-up ended after {rule.most_seconds:g} s; the last two windows had mean latencies of "
        f"{before / 1e6:.3g} and {mean / 1e6:.3g} ms"
    )
