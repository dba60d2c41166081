"""Service times: what a tuple costs each executor of a plan that has never run.

Cooper 2020, sections 4.9 and 4.10: the mean of an operator's tasks where they are alike, their
means weighted by what each would get where keys tell them apart (eq. 4.11). Time on a core and
time spent waiting are kept apart, since only the former is stretched by what shares the machine
(`cpu_contention`). Several inputs are mixed by their rates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from streamgauge.models.job_behaviour import (
    NONE,
    JobBehaviour,
    OperatorBehaviour,
    ServiceTime,
    WindowBehaviour,
)
from streamgauge.models.machine_threads import multiply
from streamgauge.models.traffic_equations import Traffic, Vector, input_weights, sum_by_executor
from streamgauge.topology.topology import ACKER, OperatorKind
from streamgauge.topology.tuple_flow import as_slice

SECONDS_PER_MS = 1e-3
# An acker of whose messages nothing is known.
NOTHING_KNOWN = OperatorBehaviour(task_weights=NONE)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Work:
    """What a job of some kind costs each executor, in seconds.

    Attributes:
        per_second: How many there are.
        cpu: Mean time on a core.
        wait: Mean time off the cores.
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

    def stretch(self, factor: Vector) -> Work:
        """The same with times so many times as long."""
        return replace(
            self,
            cpu=self.cpu * factor,
            cpu_variance=self.cpu_variance * factor**2,
            wait=self.wait * factor,
            wait_variance=self.wait_variance * factor**2,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Works:
    """The work of all executors of a plan, in the plan's order.

    Attributes:
        tuples: What executing a tuple costs; of a source, emitting one.
        triggers: What a window that fires costs.
    """

    tuples: Work
    triggers: Work
    notes: tuple[str, ...]


def find_work(traffic: Traffic, behaviour: JobBehaviour) -> Works:
    """What tuples and windows cost every executor of a plan."""
    logical = traffic.flow.plan.logical
    size = len(logical.executors)
    tuples, triggers = Work.nothing(size), Work.nothing(size)
    notes: list[str] = []
    for operator in logical.topology.operators:
        span = logical.spans[operator.name]
        if operator.kind is OperatorKind.SOURCE:
            work = _source(traffic, behaviour, operator.name)
        else:
            work = _receiver(traffic, behaviour, operator.name)
        if operator.kind is OperatorKind.ACKER and not work.cpu.any():
            notes.append("the CPU time of ackers was not measured: taken as zero")
        _put(tuples, work, span)
        window = None if operator.window is None else behaviour.operators[operator.name].window
        if window is not None:
            sizes, fired = traffic.window_tuples(operator), traffic.rates.triggers[operator.name]
            _put(triggers, _windows(fired, sizes, window), span)
    return Works(tuples=tuples, triggers=triggers, notes=tuple(notes))


def _put(whole: Work, part: Work, span: range) -> None:
    for name in Work.__slots__:
        getattr(whole, name)[as_slice(span)] = getattr(part, name)


def _work(rate: Vector, service: ServiceTime, factor: Vector | float = 1.0) -> Work:
    """A service by rate; `factor` is how much slower each executor's tasks are."""
    slower = np.broadcast_to(np.asarray(factor, dtype=np.float64), rate.shape)
    return Work(
        per_second=rate,
        cpu=slower * float(service.cpu.mean_ms) * SECONDS_PER_MS,
        cpu_variance=slower**2 * float(service.cpu.variance) * SECONDS_PER_MS**2,
        wait=slower * float(service.wait.mean_ms) * SECONDS_PER_MS,
        wait_variance=slower**2 * float(service.wait.variance) * SECONDS_PER_MS**2,
    )


def _source(traffic: Traffic, behaviour: JobBehaviour, operator: str) -> Work:
    emitted = traffic.rates.out_of(traffic.flow, operator, system=False)
    return _work(emitted, behaviour.operators[operator].emit)


def _receiver(traffic: Traffic, behaviour: JobBehaviour, operator: str) -> Work:
    """What a tuple costs a processor, or a message an acker."""
    logical = traffic.flow.plan.logical
    own = behaviour.operators.get(operator, NOTHING_KNOWN)
    is_alike = operator == ACKER or own.relative_service is None
    weights = {} if is_alike else input_weights(logical, operator, behaviour)
    parts = [
        _work(
            traffic.rates.arrived[stream.subscription],
            own.service_of(stream.key),
            # Σ_t η_t·(relative service time of t); one where tasks are alike.
            sum_by_executor(logical, operator, weights[stream.key] * own.relative_service.value)
            if own.relative_service is not None and stream.key in weights
            else 1.0,
        )
        for stream in logical.topology.streams_into(operator)
    ]
    return Work.mixed(parts, len(logical.spans[operator]))


def _windows(fired: Vector, sizes: Vector, window: WindowBehaviour) -> Work:
    work = _work(fired, window.service)
    more = sizes * float(window.per_tuple_ms) * SECONDS_PER_MS
    return replace(work, cpu=work.cpu + more)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ServiceTimes:
    """Wall-clock service times of every executor of a plan, in seconds.

    Attributes:
        mean: Of a tuple.
        trigger_mean: Of a window that fires.
    """

    mean: Vector
    variance: Vector
    trigger_mean: Vector
    trigger_variance: Vector


def stretch_service(works: Works, stretch: Vector, trigger_stretch: Vector) -> ServiceTimes:
    """Service times where time on a core takes `stretch` times as long, waiting does not.

    No time on a core stays none, even if its machine stretches without bound.
    """
    tuples, triggers = works.tuples, works.triggers
    return ServiceTimes(
        mean=multiply(tuples.cpu, stretch) + tuples.wait,
        variance=multiply(tuples.cpu_variance, stretch**2) + tuples.wait_variance,
        trigger_mean=multiply(triggers.cpu, trigger_stretch) + triggers.wait,
        trigger_variance=multiply(triggers.cpu_variance, trigger_stretch**2)
        + triggers.wait_variance,
    )
