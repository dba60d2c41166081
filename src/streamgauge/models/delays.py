"""Delays: how long a tuple is in each element of a plan, by what it waits for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from streamgauge.errors import InvalidInput
from streamgauge.models.lateness import Lateness
from streamgauge.models.parameters import Parameters
from streamgauge.models.queueing import Moments
from streamgauge.models.service import ServiceTimes
from streamgauge.models.traffic_equations import Traffic
from streamgauge.models.transforms import Transform, Vector
from streamgauge.transport.engine import engine_names, load_engine


class Part(StrEnum):
    """What makes up a latency."""

    SOURCE = "source"  # for the source to wake up, to emit what was due before it, and to emit it
    BATCHING = "batching"  # for a batch to fill or be flushed
    TRANSFER = "transfer"  # for the transfer thread of the sender's worker
    NETWORK = "network"  # between nodes
    WAKE_UP = "wake-up"  # for a sleeping executor
    QUEUEING = "queueing"  # for the tuples before it
    SERVICE = "service"  # itself
    WINDOW = "window"  # for its window to fire, and the trigger to run


@dataclass(frozen=True, kw_only=True, eq=False)
class Delays:
    """Times in the elements of a plan; infinite where one is overloaded.

    Attributes:
        executors: From a tuple's arrival at an executor's queue until its outputs leave, by part:
            arrays over the plan's executors.
        spread: Variance of the whole of that.
        executor_transform: E[e^(−sT)] of the same, points × executors.
        send: From emission until the sender's own thread has passed a tuple on, by executor.
        transfer: In the sender's worker's transfer thread, by worker.
        transfer_transform: Of the same, points × workers.
        utilisation: Part of the time that each executor is busy; one and more: overloaded.
        shared: Variance of an executor's delay that two tuples of one root which come to its
            operator another way have in common, on the mean.
        dealt: The same of two that one execution sends to different executors.
        behind: How many more siblings, that were sent one after the other, the last one of them has
            before it than any of them.
        find_lateness: Finds how long after tuples were due their source emits them; None where that
            is not known. Not everybody asks.
    """

    executors: Mapping[Part, Vector]
    spread: Vector
    executor_transform: Transform
    send: Moments
    send_transform: Transform
    transfer: Moments
    transfer_transform: Transform
    utilisation: Vector
    shared: Vector | float = 0.0
    dealt: Vector | float = 0.0
    behind: Vector | float = 0.0
    find_lateness: Callable[[], Lateness] | None = None

    @cached_property
    def lateness(self) -> Lateness | None:
        """From when tuples were due until their source has emitted them."""
        return None if self.find_lateness is None else self.find_lateness()

    @cached_property
    def executor_mean(self) -> Vector:
        """All parts of an executor's delay together."""
        return np.asarray(np.sum(list(self.executors.values()), axis=0))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DelayLevels:
    """Delays at the levels of a machine's crowd, on which all elements are slow together.

    Attributes:
        probabilities: Of the levels.
        delays: At each of them.
    """

    probabilities: tuple[float, ...]
    delays: tuple[Delays, ...]

    @classmethod
    def single(cls, delays: Delays) -> DelayLevels:
        """A crowd that never changes."""
        return cls(probabilities=(1.0,), delays=(delays,))

    def __iter__(self) -> Iterator[tuple[float, Delays]]:
        return zip(self.probabilities, self.delays, strict=True)

    def change_lateness(self, change: Callable[[Lateness], Lateness]) -> DelayLevels:
        """The same with other latenesses of sources, where these are known."""

        def change_later(find: Callable[[], Lateness]) -> Callable[[], Lateness]:
            return lambda: change(find())

        changed = tuple(
            at
            if at.find_lateness is None
            else replace(at, find_lateness=change_later(at.find_lateness))
            for at in self.delays
        )
        return replace(self, delays=changed)

    def mix_elements(self) -> Delays:
        """Delays whose level is another in each element: as if no two were slow together."""
        if len(self.delays) == 1:
            return self.delays[0]
        first = self.delays[0]
        return replace(
            first,
            executors={
                part: self._mean([at.executors[part] for at in self.delays])
                for part in first.executors
            },
            spread=self._variance(
                [at.executor_mean for at in self.delays], [at.spread for at in self.delays]
            ),
            executor_transform=lambda s: self._mean(
                [at.executor_transform(s) for at in self.delays]
            ),
            find_lateness=None if first.find_lateness is None else self._mix_lateness,
        )

    def _mix_lateness(self) -> Lateness:
        late = [at.lateness for at in self.delays if at.lateness is not None]
        return Lateness(
            mean=self._mean([one.mean for one in late]),
            variance=self._variance([one.mean for one in late], [one.variance for one in late]),
            transform=lambda s: self._mean([one.transform(s) for one in late]),
        )

    def _mean(self, figures: Sequence[Any]) -> Any:
        return sum(p * figure for p, figure in zip(self.probabilities, figures, strict=True))

    def _variance(self, means: Sequence[Vector], variances: Sequence[Vector]) -> Vector:
        """The law of total variance; infinite where a mean is."""
        whole = self._mean(means)
        apart = [
            np.subtract(mean, whole, out=np.full_like(whole, np.inf), where=np.isfinite(whole))
            for mean in means
        ]
        return np.asarray(self._mean(variances) + self._mean([one**2 for one in apart]))


def no_wait(size: int) -> tuple[Moments, Transform]:
    """The moments and the transform of what takes no time, in so many elements."""
    none = np.zeros(size)
    return Moments(mean=none, variance=none), lambda s: np.ones((len(s), size), dtype=np.complex128)


class DelayFormulas(Protocol):
    """What an engine's record names as `delays`."""

    def __call__(self, traffic: Traffic, service: ServiceTimes) -> Delays:
        """The delays in a plan's elements, by wall-clock service times."""
        ...


def find_delays(parameters: Parameters, service: ServiceTimes) -> Delays:
    """The delays in a plan's elements, by wall-clock service times."""
    formulas = _formulas_of(parameters.flow.plan.logical.configuration.engine)
    rate = parameters.works.tuples.per_second
    infinite = ~np.isfinite(service.mean) | ~np.isfinite(service.trigger_mean)
    # Threads that an overloaded machine slows down without bound are overloaded: their load is two.
    overloaded_mean = np.divide(2.0, rate, out=np.ones_like(rate), where=rate > 0.0)
    finite = replace(
        service,
        mean=np.where(infinite, overloaded_mean, service.mean),
        variance=np.where(infinite, 0.0, service.variance),
        trigger_mean=np.where(infinite, 0.0, service.trigger_mean),
        trigger_variance=np.where(infinite, 0.0, service.trigger_variance),
    )
    return formulas(parameters, finite)


def _formulas_of(engine: str) -> DelayFormulas:
    formulas: DelayFormulas | None = load_engine(engine).load("delays")
    if formulas is None:
        having = [name for name in engine_names() if load_engine(name).delays]
        raise InvalidInput.single(
            ("configuration", "engine"),
            seen=f"engine {engine!r}",
            expected=f"an engine whose queues have formulas: {', '.join(having)}",
            remedy="use the model 'simulation'",
        )
    return formulas
