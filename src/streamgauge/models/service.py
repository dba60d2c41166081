"""Service times: what a tuple costs each executor of a plan that has never run.

Cooper 2020, sections 4.9 and 4.10: the mean of an operator's tasks where they are alike, their
means weighted by what each would get where keys tell them apart (eq. 4.11). Time on a core and
time spent waiting are kept apart, since only the former is stretched by what shares the machine
(`contention`). Several inputs are mixed by their rates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.conversion import Conversion, input_weights
from streamgauge.models.flow import Rates, window_tuples
from streamgauge.profile.behaviour import Behaviour, Service
from streamgauge.profile.derive import from_moments
from streamgauge.profile.figures import InputFigures
from streamgauge.profile.pooling import pool_times
from streamgauge.profile.profile import Profile
from streamgauge.topology.topology import ACKER, OperatorKind
from streamgauge.topology.tuple_flow import TupleFlow, as_slice

Vector = NDArray[np.float64]
_MS = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Work:
    """What a job of some kind costs each executor, in seconds.

    Attributes:
        per_second: How many there are.
        cpu: Mean time on a core.
        cpu_variance: Of that.
        wait: Mean time off the cores.
        wait_variance: Of that.
    """

    per_second: Vector
    cpu: Vector
    cpu_variance: Vector
    wait: Vector
    wait_variance: Vector

    @classmethod
    def nothing(cls, size: int) -> Work:
        """No work at all, for so many executors."""
        return cls(**{name: np.zeros(size) for name in cls.__slots__})

    @classmethod
    def mixed(cls, parts: list[Work], size: int) -> Work:
        """A job of any of several kinds, as often as each comes."""
        if not parts:
            return cls.nothing(size)
        rates = np.asarray([one.per_second for one in parts])
        total = rates.sum(axis=0)
        weights = np.divide(rates, total, out=np.zeros_like(rates), where=total > 0.0)
        means = {}
        for name in ("cpu", "wait"):
            each = np.asarray([getattr(one, name) for one in parts])
            spread = np.asarray([getattr(one, f"{name}_variance") for one in parts])
            mean = (weights * each).sum(axis=0)
            means[name] = mean
            # The law of total variance.
            within = (weights * spread).sum(axis=0)
            means[f"{name}_variance"] = within + (weights * (each - mean) ** 2).sum(axis=0)
        return cls(per_second=total, **means)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Works:
    """The work of all executors of a plan, in the plan's order.

    Attributes:
        tuples: What executing a tuple costs; of a source, emitting one.
        triggers: What a window that fires costs.
        notes: What was assumed for want of figures.
    """

    tuples: Work
    triggers: Work
    notes: tuple[str, ...]


def works_of(
    flow: TupleFlow,
    rates: Rates,
    profile: Profile,
    behaviours: Mapping[str, Behaviour],
    conversions: Mapping[str, Conversion],
) -> Works:
    """What tuples and windows cost every executor.

    Args:
        flow: The proposed plan.
        rates: What comes to its executors.
        profile: What was measured.
        behaviours: Derived from that, by operator.
        conversions: What processors make of their input.
    """
    logical = flow.plan.logical
    size = len(logical.executors)
    tuples, triggers = Work.nothing(size), Work.nothing(size)
    notes: list[str] = []
    for operator in logical.topology.operators:
        span = logical.spans[operator.name]
        if operator.kind is OperatorKind.ACKER:
            found = _acker(flow, rates, profile)
            if not found.cpu.any() and not found.wait.any():
                notes.append("what an acker costs was not measured: taken as nothing")
        elif operator.kind is OperatorKind.SOURCE:
            found = _source(flow, rates, operator.name, behaviours[operator.name])
        else:
            found = _processor(flow, rates, operator.name, profile, behaviours[operator.name])
        _put(tuples, found, span)
        if operator.window is not None:
            sizes = window_tuples(flow, operator, rates.arrived, conversions[operator.name])
            fired = rates.triggers[operator.name]
            _put(triggers, _windows(fired, sizes, behaviours[operator.name]), span)
    return Works(tuples=tuples, triggers=triggers, notes=tuple(notes))


def _put(whole: Work, part: Work, span: range) -> None:
    for name in Work.__slots__:
        getattr(whole, name)[as_slice(span)] = getattr(part, name)


def _work(rate: Vector, service: Service, factor: Vector | float = 1.0) -> Work:
    """A service by rate; `factor` is how much slower each executor's tasks are."""
    slower = np.broadcast_to(np.asarray(factor, dtype=np.float64), rate.shape)
    return Work(
        per_second=rate,
        cpu=slower * service.cpu_ms.mean * _MS,
        cpu_variance=slower**2 * service.cpu_ms.variance * _MS**2,
        wait=slower * service.wait_ms.mean * _MS,
        wait_variance=slower**2 * service.wait_ms.variance * _MS**2,
    )


def _source(flow: TupleFlow, rates: Rates, operator: str, behaviour: Behaviour) -> Work:
    streams = {
        stream.key
        for stream in flow.plan.logical.topology.streams_from(operator)
        if not stream.is_system
    }
    zero = np.zeros(len(flow.plan.logical.spans[operator]))
    emitted = sum((rates.emitted[key] for key in sorted(streams)), start=zero)
    return _work(emitted, behaviour.service)


def _processor(
    flow: TupleFlow, rates: Rates, operator: str, profile: Profile, behaviour: Behaviour
) -> Work:
    logical = flow.plan.logical
    weights = input_weights(logical, operator, profile)
    parts = [
        _work(
            rates.arrived[stream.subscription],
            behaviour.service_of(stream.key),
            _slowness(behaviour, weights.get(stream.key)),
        )
        for stream in logical.topology.streams_into(operator)
        if not stream.is_system
    ]
    return Work.mixed(parts, len(logical.spans[operator]))


def _slowness(behaviour: Behaviour, weights: list[dict[int, float]] | None) -> Vector | float:
    """Σ_t η_t·(relative service time of t), of each executor; one where tasks are alike."""
    speeds = behaviour.relative_service
    if weights is None or speeds is None:
        return 1.0
    return np.asarray(
        [math.fsum(weight * speeds[place] for place, weight in one.items()) for one in weights]
    )


def _windows(fired: Vector, sizes: Vector, behaviour: Behaviour) -> Work:
    assert behaviour.window is not None
    found = _work(fired, behaviour.window.service)
    return replace(found, cpu=found.cpu + sizes * behaviour.window.per_tuple_ms * _MS)


def _acker(flow: TupleFlow, rates: Rates, profile: Profile) -> Work:
    """All ackers are alike: whatever their tasks were seen to take for a message."""
    tasks = profile.tasks_of(ACKER).values()
    parts = []
    for stream in flow.plan.logical.topology.streams_into(ACKER):
        figures = [task.inputs[stream.key] for task in tasks if stream.key in task.inputs]
        parts.append(_message(rates.arrived[stream.subscription], figures))
    return Work.mixed(parts, len(flow.plan.logical.spans[ACKER]))


def _message(rate: Vector, figures: list[InputFigures]) -> Work:
    cpu = pool_times([one.cpu for one in figures if one.cpu is not None])
    wall = pool_times([one.wall for one in figures if one.wall is not None])
    known = cpu if cpu is not None else wall
    if known is None:
        return replace(Work.nothing(len(rate)), per_second=rate)
    scv = 1.0 if known.scv is None else known.scv.value
    mean = known.mean_ms.value
    return _work(rate, Service(cpu_ms=from_moments(mean, scv * mean * mean)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ServiceTimes:
    """By the clock, of every executor of a plan, in seconds.

    Attributes:
        mean: Of a tuple.
        variance: Of the same.
        trigger_mean: Of a window that fires.
        trigger_variance: Of the same.
    """

    mean: Vector
    variance: Vector
    trigger_mean: Vector
    trigger_variance: Vector


def by_the_clock(works: Works, stretch: Vector) -> ServiceTimes:
    """Service times where time on a core takes `stretch` times as long, waiting does not."""
    tuples, triggers = works.tuples, works.triggers
    return ServiceTimes(
        mean=stretch * tuples.cpu + tuples.wait,
        variance=stretch**2 * tuples.cpu_variance + tuples.wait_variance,
        trigger_mean=stretch * triggers.cpu + triggers.wait,
        trigger_variance=stretch**2 * triggers.cpu_variance + triggers.wait_variance,
    )
