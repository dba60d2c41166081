"""From the counters of an executor to samples of its tasks.

Storm counts per executor, and the raw format per task: what an executor counted is divided evenly
among its tasks. The UI does not tell streams apart either: an executor's counters are divided as
those of its whole component are. Both divide what was added since the last report, in observations
really taken, so that no counter ever falls by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from streamgauge.engines.storm.collection.processes import Bucket, Process
from streamgauge.engines.storm.collection.snapshot import Key, Mean, Parts, ReportedExecutor
from streamgauge.lake.metrics import Metric
from streamgauge.lake.records import Sample

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
class Total:
    """Observations since the worker started, and their mean."""

    observations: int
    mean_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What is kept of an executor's last report.

    Attributes:
        worker: Where it ran.
        process: Of which process, and how old that was.
        observed: By counter and key, how many observations.
        totals: By mean and key; the key None stands for all of them.
    """

    worker: str
    process: Process
    observed: Mapping[Metric, Mapping[Key, int]] = field(default_factory=dict)
    totals: Mapping[Metric, Mapping[Key | None, Total]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A new report of an executor, and what it is to be compared with.

    Attributes:
        seen: What was reported.
        process: By which process.
        bucket: The time since the report before.
        before: That report, of the same process; None for its first.
        parts: Of its component.
        keys: By counter, what it can be about, whether it was counted or not.
        sampling: Tuples for each that is looked at.
        resolution_ms: What means are off by at most.
    """

    seen: ReportedExecutor
    process: Process
    bucket: Bucket
    before: Reading | None
    parts: Parts
    keys: Mapping[Metric, tuple[Key, ...]]
    sampling: int
    resolution_ms: float

    def reading(self) -> Reading:
        """What is to be kept of it."""
        observed = {metric: self._told_apart(metric) for metric in self.seen.counts}
        totals = {
            metric: {
                key: Total(observations=_number(observed, metric, key), mean_ms=mean.ms)
                for key, mean in means.items()
            }
            for metric, means in self.seen.means.items()
        }
        return Reading(
            worker=str(self.seen.slot), process=self.process, observed=observed, totals=totals
        )

    def samples(self, reading: Reading, base: Sample) -> Iterator[Sample]:
        """The samples of all its tasks; `base` has what they share.

        Args:
            reading: What `reading` gave.
            base: With topology, plan and bucket.
        """
        own = replace(
            base,
            component=self.seen.executor.operator,
            executor=self.seen.executor.label,
            worker=str(self.seen.slot),
            node=self.seen.slot.node,
        )
        if self.seen.capacity is not None:
            label = Metric.EXECUTOR_CAPACITY.label
            yield replace(own, metric=label, value=self.seen.capacity, count=1)
        for metric, by_key in reading.observed.items():
            for key, observations in sorted(by_key.items()):
                about = _about(own, metric, key)
                for task, number in self._dealt(observations):
                    yield replace(about, task=task, value=number * self.sampling, count=number)
        for metric, means in self.seen.means.items():
            for key, mean_ms, number in self._means(metric, means, reading):
                about = _about(own, metric, key)
                for task, count in self._dealt(number):
                    if count:
                        yield replace(about, task=task, value=mean_ms, count=count)

    def _dealt(self, observations: int) -> Iterator[tuple[int, int]]:
        """Observations by task, as evenly as whole numbers allow."""
        tasks = self.seen.executor.tasks
        least, rest = divmod(observations, len(tasks))
        for place, task in enumerate(tasks):
            yield task, least + (place < rest)

    def _told_apart(self, metric: Metric) -> dict[Key, int]:
        """Observations of a counter by key."""
        counts = self.seen.counts[metric]
        told = {key: count // self.sampling for key, count in counts.items() if key is not None}
        known = dict.fromkeys(self.keys.get(metric, ()), 0) | told
        together = counts.get(None)
        if together is None:
            return known
        parts = dict.fromkeys(known, 0) | dict(self.parts.counts.get(metric, {}))
        before = {} if self.before is None else self.before.observed.get(metric, {})
        added = together // self.sampling - sum(before.values())
        if added < 0:
            added, before = together // self.sampling, {}
        divided = in_proportion(added, parts)
        return {key: before.get(key, 0) + divided.get(key, 0) for key in sorted({*parts, *before})}

    def _means(
        self, metric: Metric, means: Mapping[Key | None, Mean], reading: Reading
    ) -> Iterator[tuple[Key, float, int]]:
        """By key the mean of what was added since the report before, and how much that was."""
        counter = COUNTED_BY[metric]
        for key, mean in means.items():
            mean_ms = self._since(metric, key, mean, reading)
            if mean_ms is None:
                continue
            if key is not None:
                yield key, mean_ms, self._added(counter, key, reading)
                continue
            ratios = self._ratios(metric)
            for one in reading.observed.get(counter, {}):
                yield one, mean_ms * ratios.get(one, 1.0), self._added(counter, one, reading)

    def _since(self, metric: Metric, key: Key | None, mean: Mean, reading: Reading) -> float | None:
        """A mean since the report before; nothing where it cannot be told."""
        now = reading.totals[metric][key]
        before = None if self.before is None else self.before.totals.get(metric, {}).get(key)
        if self.before is None:
            # Of a process that is older than its first bucket it is a mean of other times, too;
            # ages are whole seconds.
            whole = self.process.uptime_seconds <= self.bucket.seconds + 1
            return mean.ms if whole and now.observations else None
        if before is None:
            before = Total(observations=0, mean_ms=0.0)
        added = now.observations - before.observations
        if added <= 0:
            return None
        error_ms = self.resolution_ms * (now.observations + before.observations) / added
        if error_ms > _MOST_ERROR_MS:
            return mean.lately_ms
        spent = now.mean_ms * now.observations - before.mean_ms * before.observations
        return max(spent / added, 0.0)

    def _added(self, counter: Metric, key: Key, reading: Reading) -> int:
        before = {} if self.before is None else self.before.observed.get(counter, {})
        return max(reading.observed.get(counter, {}).get(key, 0) - before.get(key, 0), 0)

    def _ratios(self, metric: Metric) -> dict[Key, float]:
        """By key how its mean compares with that of all keys, in the whole component."""
        means = self.parts.means_ms.get(metric, {})
        weights = self.parts.counts.get(COUNTED_BY[metric], {})
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
