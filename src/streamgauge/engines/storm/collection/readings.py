"""Reports of workers and executors: which time one spans, and from its counters to samples.

A worker reports once in a heartbeat, together with its age in whole seconds. So what it reports
belongs to that age, not to the moment somebody asked, which may be a heartbeat later. Ages are put
on the calendar by one guess for each process, early enough that no report lies in the future.

Storm counts per executor, and the raw format per task: what an executor counted is divided evenly
among its tasks. The UI does not tell streams apart either: an executor's counters are divided as
those of its whole component are. Both divide what was added since the last report, in observations
really taken, so that no counter ever falls by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from streamgauge.engines.storm.collection.snapshot import (
    Key,
    Mean,
    Parts,
    ReportedExecutor,
    TopologySnapshot,
)
from streamgauge.lake.metrics import Metric
from streamgauge.lake.records import Sample

MICROSECONDS = 1_000_000
# After so many missed reports a bucket would be too long to be summed up with the others.
_MOST_MISSED = 5
# What the observations behind a mean are counted by.
COUNTED_BY = {
    Metric.EXECUTE_LATENCY_MEAN: Metric.EXECUTED_TOTAL,
    Metric.PROCESS_LATENCY_MEAN: Metric.ACKED_TOTAL,
    Metric.COMPLETE_LATENCY_MEAN: Metric.ROOTS_ACKED_TOTAL,
}
# The mean of a bucket is a difference of means since the start. Where these are written with three
# decimals it is only as good as the bucket is long against the worker's age.
_MOST_ERROR_MS = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A worker's process: when it began, by our guess, and its age at its last report."""

    began_us: int
    uptime_seconds: int

    @property
    def reported_us(self) -> int:
        """When it last reported."""
        return self.began_us + self.uptime_seconds * MICROSECONDS

    def is_followed_by(self, uptime_seconds: int) -> bool:
        """Whether that age is of the same process."""
        return uptime_seconds >= self.uptime_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """The time that a report spans."""

    start_us: int
    seconds: float


def process_at(
    uptime_seconds: int, before: Process | None, *, asked_us: int, heartbeat_seconds: float
) -> Process:
    """The process that had that age when it reported, at most a heartbeat before it was asked for.

    What was known of the worker before holds on where it can be the same process.
    """
    latest_us = asked_us - uptime_seconds * MICROSECONDS
    if before is not None and before.is_followed_by(uptime_seconds):
        # A report that came later than heartbeats say must not end in the future.
        return Process(began_us=min(before.began_us, latest_us), uptime_seconds=uptime_seconds)
    began_us = latest_us - round(heartbeat_seconds * MICROSECONDS)
    if before is not None:
        began_us = min(max(began_us, before.reported_us), latest_us)
    return Process(began_us=max(began_us, 0), uptime_seconds=uptime_seconds)


def continues(process: Process, before: Process | None, *, usual_seconds: float) -> bool:
    """Whether a report follows on the one before: of the same process, and soon enough.

    `usual_seconds` lie between two reports that somebody reads.
    """
    if before is None or not before.is_followed_by(process.uptime_seconds):
        return False
    gap_us = process.reported_us - before.reported_us
    return gap_us <= _MOST_MISSED * usual_seconds * MICROSECONDS


def bucket_of(process: Process, before: Process | None, *, usual_seconds: float) -> Bucket | None:
    """What the last report of a process spans; nothing where it is the same as before.

    `before` is the report that it follows on, None for the first one.
    """
    if before is None:
        return _ending(process.reported_us, min(usual_seconds, float(process.uptime_seconds)))
    seconds = (process.reported_us - before.reported_us) / MICROSECONDS
    if usual_seconds < seconds <= usual_seconds + 1:
        # Ages are whole seconds. Buckets that differ by what was cut off would be summed up apart.
        seconds = usual_seconds
    return _ending(process.reported_us, seconds)


def _ending(end_us: int, seconds: float) -> Bucket | None:
    start_us = end_us - round(seconds * MICROSECONDS)
    return Bucket(start_us=start_us, seconds=seconds) if seconds > 0 and start_us >= 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """Observations since the worker started, and their mean."""

    observations: int
    mean_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What is kept of an executor's last report: where it ran, and numbers of observations.

    They are by counter and key, and by mean and key; the key None stands for all of them.
    """

    worker: str
    process: Process
    observed: Mapping[Metric, Mapping[Key, int]] = field(default_factory=dict)
    totals: Mapping[Metric, Mapping[Key | None, Total]] = field(default_factory=dict)


class Report:
    """A new report of an executor, compared with the one before, and what is to be kept of it.

    The bucket is the time since the report before, which was of the same process; there is none
    before its first. Keys are what a counter can be about, whether it was counted or not.
    """

    def __init__(
        self,
        seen: ReportedExecutor,
        process: Process,
        bucket: Bucket,
        before: Reading | None,
        snapshot: TopologySnapshot,
        keys: Mapping[Metric, tuple[Key, ...]],
    ) -> None:
        self.bucket = bucket
        self._seen = seen
        self._before = before
        self._parts = snapshot.parts.get(seen.executor.operator, Parts())
        self._keys = keys
        self._sampling = snapshot.sampling
        self._resolution_ms = snapshot.resolution_ms
        observed = {metric: self._told_apart(metric) for metric in seen.counts}
        totals = {
            metric: {
                key: Total(observations=_number(observed, metric, key), mean_ms=mean.ms)
                for key, mean in means.items()
            }
            for metric, means in seen.means.items()
        }
        self.reading = Reading(
            worker=str(seen.slot), process=process, observed=observed, totals=totals
        )

    def samples(self, base: Sample) -> Iterator[Sample]:
        """The samples of all its tasks; `base` has topology, plan and bucket, which they share."""
        seen = self._seen
        own = replace(
            base,
            component=seen.executor.operator,
            executor=seen.executor.label,
            worker=str(seen.slot),
            node=seen.slot.node,
        )
        if seen.capacity is not None:
            label = Metric.EXECUTOR_CAPACITY.label
            yield replace(own, metric=label, value=seen.capacity, count=1)
        for metric, by_key in self.reading.observed.items():
            for key, observations in sorted(by_key.items()):
                about = _about(own, metric, key)
                for task, number in self._dealt(observations):
                    yield replace(about, task=task, value=number * self._sampling, count=number)
        for metric, means in seen.means.items():
            for key, mean_ms, number in self._means(metric, means):
                about = _about(own, metric, key)
                for task, count in self._dealt(number):
                    if count:
                        yield replace(about, task=task, value=mean_ms, count=count)

    def _dealt(self, observations: int) -> Iterator[tuple[int, int]]:
        """Observations by task, as evenly as whole numbers allow."""
        tasks = self._seen.executor.tasks
        least, rest = divmod(observations, len(tasks))
        for place, task in enumerate(tasks):
            yield task, least + (place < rest)

    def _told_apart(self, metric: Metric) -> dict[Key, int]:
        """Observations of a counter by key."""
        counts = self._seen.counts[metric]
        told = {key: count // self._sampling for key, count in counts.items() if key is not None}
        known = dict.fromkeys(self._keys.get(metric, ()), 0) | told
        together = counts.get(None)
        if together is None:
            return known
        parts = dict.fromkeys(known, 0) | dict(self._parts.counts.get(metric, {}))
        before = self._observed_before(metric)
        added = together // self._sampling - sum(before.values())
        if added < 0:
            added, before = together // self._sampling, {}
        divided = in_proportion(added, parts)
        return {key: before.get(key, 0) + divided.get(key, 0) for key in sorted({*parts, *before})}

    def _observed_before(self, counter: Metric) -> Mapping[Key, int]:
        return {} if self._before is None else self._before.observed.get(counter, {})

    def _means(
        self, metric: Metric, means: Mapping[Key | None, Mean]
    ) -> Iterator[tuple[Key, float, int]]:
        """By key the mean of what was added since the report before, and how much that was."""
        counter = COUNTED_BY[metric]
        for key, mean in means.items():
            mean_ms = self._since(metric, key, mean)
            if mean_ms is None:
                continue
            if key is not None:
                yield key, mean_ms, self._added(counter, key)
                continue
            ratios = self._ratios(metric)
            for one in self.reading.observed.get(counter, {}):
                yield one, mean_ms * ratios.get(one, 1.0), self._added(counter, one)

    def _since(self, metric: Metric, key: Key | None, mean: Mean) -> float | None:
        """A mean since the report before; nothing where it cannot be told."""
        now = self.reading.totals[metric][key]
        if self._before is None:
            # Of a process that is older than its first bucket it is a mean of other times, too;
            # ages are whole seconds.
            whole = self.reading.process.uptime_seconds <= self.bucket.seconds + 1
            return mean.ms if whole and now.observations else None
        nothing = Total(observations=0, mean_ms=0.0)
        before = self._before.totals.get(metric, {}).get(key, nothing)
        added = now.observations - before.observations
        if added <= 0:
            return None
        error_ms = self._resolution_ms * (now.observations + before.observations) / added
        if error_ms > _MOST_ERROR_MS:
            return mean.lately_ms
        spent = now.mean_ms * now.observations - before.mean_ms * before.observations
        return max(spent / added, 0.0)

    def _added(self, counter: Metric, key: Key) -> int:
        now = self.reading.observed.get(counter, {}).get(key, 0)
        return max(now - self._observed_before(counter).get(key, 0), 0)

    def _ratios(self, metric: Metric) -> dict[Key, float]:
        """By key how its mean compares with that of all keys, in the whole component."""
        means = self._parts.means_ms.get(metric, {})
        weights = self._parts.counts.get(COUNTED_BY[metric], {})
        spent = sum(mean * weights.get(key, 0) for key, mean in means.items())
        number = sum(weights.get(key, 0) for key in means)
        if spent <= 0:
            return {}
        return {key: mean * number / spent for key, mean in means.items()}


def in_proportion(total: int, parts: Mapping[Key, int]) -> dict[Key, int]:
    """A whole number divided as `parts` are, in whole numbers that sum to it.

    Equally where all parts are zero; what is left by rounding down goes to the largest remainders.
    """
    if not parts:
        return {}
    weights = dict(parts) if any(parts.values()) else dict.fromkeys(parts, 1)
    whole = sum(weights.values())
    divided = {key: total * weight // whole for key, weight in weights.items()}
    order = sorted(weights, key=lambda key: (-(total * weights[key] % whole), key))
    for key in order[: total - sum(divided.values())]:
        divided[key] += 1
    return divided


def _about(sample: Sample, metric: Metric, key: Key) -> Sample:
    source = key.source if "source_component" in metric.keys else None
    return replace(sample, metric=metric.label, stream=key.stream, source_component=source)


def _number(observed: Mapping[Metric, Mapping[Key, int]], metric: Metric, key: Key | None) -> int:
    by_key = observed.get(COUNTED_BY[metric], {})
    return sum(by_key.values()) if key is None else by_key.get(key, 0)
