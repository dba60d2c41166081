"""Delays: how long a tuple is in each element of a plan, by what it waits for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

import numpy as np

from streamgauge.errors import InvalidInput
from streamgauge.models.flow import Traffic
from streamgauge.models.lateness import Lateness
from streamgauge.models.load_limit import Loaded
from streamgauge.models.parameters import Parameters
from streamgauge.models.queueing import Moments
from streamgauge.models.service import ServiceTimes
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
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
        lateness: From when tuples were due until their source has emitted them; None where that is
            not known.
    """

    executors: Mapping[Part, Vector]
    spread: Vector
    executor_transform: Transform
    send: Moments
    send_transform: Transform
    transfer: Moments
    transfer_transform: Transform
    utilisation: Vector
    lateness: Lateness | None = None

    @property
    def executor_mean(self) -> Vector:
        """All parts of an executor's delay together."""
        return np.asarray(np.sum(list(self.executors.values()), axis=0))


def no_wait(size: int) -> tuple[Moments, Transform]:
    """The moments and the transform of what takes no time, in so many elements."""
    none = np.zeros(size)
    return Moments(mean=none, variance=none), lambda s: np.ones((len(s), size), dtype=np.complex128)


class DelayFormulas(Protocol):
    """What an engine's record names as `delays`."""

    def __call__(self, traffic: Traffic, service: ServiceTimes) -> Delays:
        """The delays in a plan's elements, by wall-clock service times."""
        ...


def find_delays(parameters: Parameters, loaded: Loaded) -> Delays:
    """The delays in a plan's elements under its load."""
    formulas = _formulas_of(parameters.flow.plan.logical.configuration.engine)
    service, rate = loaded.service, parameters.works.tuples.per_second
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
