"""From what was measured to how operators behave: Profile → Behaviour.

Tasks of an operator are pooled, each weighted by what it handled (its samples); differences
between tasks remain as `relative_service`. Together they reproduce every task's mean and the
operator's mean and variance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from streamgauge.errors import NotEnoughData
from streamgauge.profile.behaviour import (
    NOTHING,
    Behaviour,
    InputBehaviour,
    Service,
    WindowFunction,
)
from streamgauge.profile.counts import CountDistribution, Fixed
from streamgauge.profile.distribution import (
    Constant,
    Distribution,
    Empirical,
    Exponential,
    Gamma,
    squared_variation,
)
from streamgauge.profile.figures import (
    Figure,
    InputFigures,
    OutputFigures,
    TaskProfile,
    TimeFigures,
)
from streamgauge.profile.pooling import weights_of
from streamgauge.profile.profile import Profile
from streamgauge.topology.topology import OperatorKind, StreamKey

# Below this a gamma is numerically a constant.
SMALLEST_SCV = 1e-6
# Fewer quantiles than this say less of a shape than mean and variability do.
ENOUGH_QUANTILES = 3
GRID = 400


def derive_behaviours(profile: Profile) -> dict[str, Behaviour]:
    """One behaviour per operator of the profile's topology.

    Raises:
        NotEnoughData: A processor has no measured service time at all.
    """
    missing = [
        operator.name
        for operator in profile.topology.operators
        if operator.kind is OperatorKind.PROCESSOR and not _has_service(profile, operator.name)
    ]
    if missing:
        names = ", ".join(missing)
        raise NotEnoughData(
            f"no service time was measured for {names}; expected at least one task of each with "
            "wall or cpu figures: profile a longer period, or write the figures by hand"
        )
    return {
        operator.name: derive_behaviour(profile, operator.name)
        for operator in profile.topology.operators
        if operator.kind is not OperatorKind.ACKER
    }


def derive_behaviour(profile: Profile, operator: str) -> Behaviour:
    """The behaviour that reproduces what was measured of `operator`."""
    tasks = _own_streams(profile, operator)
    windowed = profile.topology.operator(operator).window is not None
    speeds = _speeds(tasks)
    inputs = {}
    for stream in profile.topology.streams_into(operator):
        seen = {index: t.inputs[stream.key] for index, t in tasks.items() if stream.key in t.inputs}
        if seen:
            inputs[stream.key] = InputBehaviour(
                service=_service(seen, speeds),
                # What a window gives comes with its trigger, not with a tuple.
                outputs={} if windowed else _outputs(tasks.values(), stream.key),
            )
    emitted = sorted({stream.name for stream in profile.topology.streams_from(operator)})
    sizes = {name: _bytes(tasks.values(), name) for name in emitted}
    count = profile.topology.operator(operator).tasks
    alike = all(math.isclose(speed, 1.0, rel_tol=1e-9) for speed in speeds.values())
    emissions = [figures for task in tasks.values() for figures in task.outputs.values()]
    return Behaviour(
        # Only a source's outputs carry times of their own: what it takes to emit a tuple.
        service=_service(dict(enumerate(emissions)), {}),
        inputs=inputs,
        keys={key.name: keys for key, keys in profile.keys.items() if key.source == operator},
        bytes={name: Constant(value=size) for name, size in sizes.items() if size is not None},
        window=_window(profile, operator, tasks) if windowed else None,
        fails=_fails(tasks.values()),
        relative_service=None if alike else tuple(speeds.get(index, 1.0) for index in range(count)),
        origin="measured",
    )


def _own_streams(profile: Profile, operator: str) -> dict[int, TaskProfile]:
    """The operator's tasks without the engine's streams: what acks cost is the engine's matter."""
    received = {stream.key for stream in profile.topology.streams_into(operator)}
    emitted = {stream.name for stream in profile.topology.streams_from(operator)}
    return {
        index: replace(
            task,
            inputs={key: one for key, one in task.inputs.items() if key in received},
            outputs={name: one for name, one in task.outputs.items() if name in emitted},
        )
        for index, task in profile.tasks_of(operator).items()
    }


def _has_service(profile: Profile, operator: str) -> bool:
    return any(
        figures.wall is not None or figures.cpu is not None
        for task in _own_streams(profile, operator).values()
        for figures in task.inputs.values()
    )


def _clock(figures: InputFigures) -> TimeFigures | None:
    """The service time to compare tasks by: by the clock, else on the core."""
    return figures.wall if figures.wall is not None else figures.cpu


def _speeds(tasks: Mapping[int, TaskProfile]) -> dict[int, float]:
    """Service time of each task relative to all tasks, for the same mix of inputs.

    Time that a task's tuples took, over what they would have taken at the operator's means.
    """
    by_key: dict[StreamKey, dict[int, Figure]] = {}
    for index, task in tasks.items():
        for key, figures in task.inputs.items():
            times = _clock(figures)
            if times is not None:
                by_key.setdefault(key, {})[index] = times.mean_ms
    took: dict[int, float] = {}
    typical: dict[int, float] = {}
    for means in by_key.values():
        mean = _mean(list(means.values()))
        for index, figure in means.items():
            handled = figure.samples or 1
            took[index] = took.get(index, 0.0) + handled * figure.value
            typical[index] = typical.get(index, 0.0) + handled * mean
    return {
        index: took[index] / typical[index] if took[index] > 0.0 and typical[index] > 0.0 else 1.0
        for index in took
    }


def _service(
    figures: Mapping[int, InputFigures] | Mapping[int, OutputFigures],
    speeds: Mapping[int, float],
) -> Service:
    """Pooled service: CPU as measured, waiting as what the clock shows beyond it."""
    wall = _pool({i: one.wall for i, one in figures.items() if one.wall is not None}, speeds)
    cpu = _pool({i: one.cpu for i, one in figures.items() if one.cpu is not None}, speeds)
    if cpu is None:
        return Service(cpu_ms=wall if wall is not None else NOTHING)
    if wall is None:
        return Service(cpu_ms=cpu)
    waiting = max(0.0, wall.mean - cpu.mean)
    variance = max(0.0, wall.variance - cpu.variance)
    return Service(cpu_ms=cpu, wait_ms=from_moments(waiting, variance))


def from_moments(mean: float, variance: float) -> Distribution:
    """The simplest distribution with that mean and variance."""
    if mean <= 0.0:
        return NOTHING
    scv = squared_variation(mean, variance)
    if scv < SMALLEST_SCV:
        return Constant(value=mean)
    if math.isclose(scv, 1.0, rel_tol=1e-9):
        return Exponential(mean=mean)
    return Gamma(mean=mean, scv=scv)


def _pool(times: Mapping[int, TimeFigures], speeds: Mapping[int, float]) -> Distribution | None:
    """One distribution that, scaled by each task's speed, has the moments of all of them.

    Exponential where no variability was measured.
    """
    if not times:
        return None
    known = list(times.values())
    if len(known) == 1 and len(known[0].quantiles_ms) >= ENOUGH_QUANTILES:
        return from_quantiles(known[0])
    weights = weights_of([one.mean_ms for one in known])
    parts = list(zip(weights, (speeds.get(index, 1.0) for index in times), known, strict=True))
    mean = math.fsum(w * one.mean_ms.value for w, _, one in parts)
    variance = math.fsum(w * _variance(one) for w, _, one in parts)
    mean /= math.fsum(w * speed for w, speed, _ in parts)
    variance /= math.fsum(w * speed * speed for w, speed, _ in parts)
    return from_moments(mean, variance)


def _variance(times: TimeFigures) -> float:
    scv = 1.0 if times.scv is None else times.scv.value
    return scv * times.mean_ms.value * times.mean_ms.value


def from_quantiles(times: TimeFigures) -> Distribution:
    """The measured quantiles joined up, with the measured mean and, where known, variability.

    Straight lines join the quantiles, from zero on; beyond the last the tail is exponential, at
    the rate at which the last two fall. A power of the values then meets the variability.
    """
    probabilities = np.asarray([0.0, *times.quantiles_ms])
    values = np.asarray([0.0, *times.quantiles_ms.values()])
    grid = (np.arange(GRID) + 0.5) / GRID
    shape = np.interp(grid, probabilities, values)
    rest = 1.0 - probabilities[-2:]
    if 0.0 < rest[1] < rest[0]:
        fall = (values[-1] - values[-2]) / math.log(rest[0] / rest[1])
        tail = grid > probabilities[-1]
        shape[tail] = values[-1] + fall * np.log(rest[1] / (1.0 - grid[tail]))
    if times.scv is not None:
        shape = _with_variation(shape, times.scv.value)
    mean = float(shape.mean())
    if mean <= 0.0:
        return from_moments(times.mean_ms.value, _variance(times))
    return Empirical(values=tuple((shape * times.mean_ms.value / mean).tolist()))


def _with_variation(shape: NDArray[np.float64], scv: float) -> NDArray[np.float64]:
    """The power of the values that has that squared coefficient of variation, as near as can be."""
    largest = float(shape.max())
    if largest <= 0.0:
        return shape
    scaled = shape / largest

    def excess(power: float) -> float:
        values = scaled**power
        return squared_variation(float(values.mean()), float(values.var())) - scv

    low, high = 0.01, 20.0
    if excess(low) >= 0.0 or excess(high) <= 0.0:
        return shape
    return np.asarray(scaled ** optimize.brentq(excess, low, high))


def _mean(figures: list[Figure]) -> float:
    return math.fsum(
        weight * figure.value for weight, figure in zip(weights_of(figures), figures, strict=True)
    )


def _outputs(tasks: Iterable[TaskProfile], key: StreamKey) -> dict[str, CountDistribution]:
    coefficients: dict[str, list[Figure]] = {}
    for task in tasks:
        for name, output in task.outputs.items():
            if key in output.coefficients:
                coefficients.setdefault(name, []).append(output.coefficients[key])
    return {name: Fixed(mean=_mean(figures)) for name, figures in coefficients.items()}


def _bytes(tasks: Iterable[TaskProfile], stream: str) -> float | None:
    sizes = [task.outputs[stream].bytes for task in tasks if stream in task.outputs]
    known = [size for size in sizes if size is not None]
    return _mean(known) if known else None


def _fails(tasks: Iterable[TaskProfile]) -> float:
    """Part of the tuples in that was failed, all inputs and tasks together."""
    shares = [figures.failed_share for task in tasks for figures in task.inputs.values()]
    known = [share for share in shares if share is not None]
    return min(1.0, _mean(known)) if known else 0.0


def _window(profile: Profile, operator: str, tasks: Mapping[int, TaskProfile]) -> WindowFunction:
    triggers = {
        index: InputFigures(wall=task.window, cpu=task.window_cpu) for index, task in tasks.items()
    }
    service = _service(triggers, {})
    wall = _pool({i: one.wall for i, one in triggers.items() if one.wall is not None}, {})
    if wall is not None and service.cpu_ms.mean > wall.mean:
        # What a trigger takes of a core is known by regression only, and never more than it took.
        service = Service(cpu_ms=wall)
    return WindowFunction(
        service=service,
        outputs=_outputs_per_trigger(profile, operator, list(tasks.values())),
    )


def _outputs_per_trigger(
    profile: Profile, operator: str, tasks: list[TaskProfile]
) -> Mapping[str, CountDistribution]:
    """Tuples out per window that fires: as counted, else emitted tuples over triggers."""
    triggers = _triggers(profile, operator, tasks)
    outputs: dict[str, CountDistribution] = {}
    for name in sorted({name for task in tasks for name in task.outputs}):
        figures = [task.outputs[name] for task in tasks if name in task.outputs]
        counted = [one.per_trigger for one in figures if one.per_trigger is not None]
        emitted = _rate(figures)
        if counted:
            outputs[name] = Fixed(mean=_mean(counted))
        elif emitted > 0.0 and triggers > 0.0:
            outputs[name] = Fixed(mean=emitted / triggers)
    return outputs


def _triggers(profile: Profile, operator: str, tasks: list[TaskProfile]) -> float:
    """Windows that fire a second: as counted, else one per slide of tuples, or of time and task."""
    counted = [task.triggers_per_second for task in tasks]
    known = [figure.value for figure in counted if figure is not None]
    if known and len(known) == len(tasks):
        return math.fsum(known)
    window = profile.topology.operator(operator).window
    assert window is not None
    if window.slide_seconds is not None:
        return len(tasks) / window.slide_seconds
    assert window.slide_tuples is not None
    return _rate(one for task in tasks for one in task.inputs.values()) / window.slide_tuples


def _rate(figures: Iterable[InputFigures | OutputFigures]) -> float:
    """Tuples per second in all, as far as they were measured."""
    return math.fsum(one.per_second.value for one in figures if one.per_second is not None)
