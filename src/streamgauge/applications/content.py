"""What flows through an application: how many tuples per second, of which values and sizes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from streamgauge.applications.application import Application, Routing, Task
from streamgauge.applications.data import Data
from streamgauge.profile.distribution import Constant, Distribution, Empirical
from streamgauge.profile.keys import GivenKeys, KeyDistribution, count_letter_keys
from streamgauge.topology.topology import Window

# Long chains of filters or copies would underflow or overflow; only the shares matter.
LEAST_RATE, MOST_RATE = 1e-100, 1e100


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Tuples of one kind: a source's data, cut to a size.

    Attributes:
        data: What the source made.
        size: Bytes that are left of it.
        per_second: How many; relative to each other where a source has no limit.
    """

    data: Data
    size: int
    per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a task emits.

    Attributes:
        received: The kinds of tuples that it receives.
        emitted: The kinds of tuples that it emits to each subscriber.
    """

    received: tuple[Part, ...]
    emitted: tuple[Part, ...]

    @property
    def sizes(self) -> Distribution:
        """Bytes of what is emitted."""
        weights: dict[int, float] = defaultdict(float)
        for part in self.emitted:
            weights[part.size] += part.per_second
        if len(weights) == 1:
            return Constant(value=float(next(iter(weights))))
        sizes = tuple(float(size) for size in weights)
        return Empirical(values=sizes, weights=tuple(weights.values()))

    @property
    def keys(self) -> KeyDistribution:
        """Values of what is emitted; cutting keeps the letters that tell them apart."""
        if len(self.emitted) == 1:
            (only,) = self.emitted
            if only.data.values <= count_letter_keys(only.size):
                return Data(
                    size=only.size, values=only.data.values, distribution=only.data.distribution
                ).keys
        total = sum(part.per_second for part in self.emitted)
        weights: dict[str, float] = defaultdict(float)
        for part in self.emitted:
            keys = part.data.keys
            for name, share in zip(keys.names(), keys.shares().tolist(), strict=True):
                weights[name[-part.size :]] += share * part.per_second / total
        return GivenKeys(weights=weights)

    def was_larger(self, size: int) -> bool:
        """Whether any received tuple has more bytes."""
        return any(part.size > size for part in self.received)


def trace_contents(application: Application) -> dict[str, Content]:
    """By task: what it receives and emits on average.

    Where a source emits as fast as it can, its rate relative to other sources is unknown: every
    source then has the same weight.
    """
    counted = all(
        task.flow is not None and task.flow.mean_per_second is not None
        for task in application.sources
    )
    contents: dict[str, Content] = {}
    for task in application.in_order():
        if task.is_source:
            contents[task.name] = _make_source_content(task, counted=counted)
            continue
        copies = task.parallelism if task.routing is Routing.BROADCAST else 1
        rates: dict[tuple[Data, int], float] = defaultdict(float)
        for parent in task.parents:
            for part in contents[parent].emitted:
                rates[part.data, part.size] += part.per_second * copies
        received = _make_parts(rates)
        contents[task.name] = Content(
            received=received, emitted=_list_emitted(task, received, counted)
        )
    return contents


def _make_parts(rates: Mapping[tuple[Data, int], float]) -> tuple[Part, ...]:
    return tuple(
        Part(data=data, size=size, per_second=min(max(rate, LEAST_RATE), MOST_RATE))
        for (data, size), rate in rates.items()
    )


def _make_source_content(task: Task, *, counted: bool) -> Content:
    assert task.data is not None
    assert task.flow is not None
    mean = task.flow.mean_per_second
    rate = mean * task.parallelism if counted and mean is not None else 1.0
    return Content(
        received=(), emitted=(Part(data=task.data, size=task.data.size, per_second=rate),)
    )


def _list_emitted(task: Task, received: tuple[Part, ...], counted: bool) -> tuple[Part, ...]:
    forwarded = task.filtering
    total = sum(part.per_second for part in received)
    if task.window is not None and counted:
        forwarded *= _count_triggers_per_second(task, task.window, total) / total
    cut: dict[tuple[Data, int], float] = defaultdict(float)
    for part in received:
        size = part.size if task.resized_bytes is None else min(part.size, task.resized_bytes)
        cut[part.data, size] += part.per_second * forwarded
    return _make_parts(cut)


def _count_triggers_per_second(task: Task, window: Window, per_second: float) -> float:
    """Windows that are not empty, over all instances: one tuple comes out of each."""
    length, slide = window.length_seconds, window.slide_seconds
    assert length is not None
    assert slide is not None
    return min(task.parallelism / slide, per_second * max(length / slide, 1.0))
