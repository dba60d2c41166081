"""From what was measured to how operators behave: Profile → Behaviour.

Tasks of an operator are pooled, each weighted by what it handled (its samples), so that the
behaviour reproduces the operator's totals; differences between tasks remain as `task_speed`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from streamgauge.errors import NotEnoughData
from streamgauge.profile.behaviour import (
    NOTHING,
    Behaviour,
    InputBehaviour,
    Service,
    WindowFunction,
)
from streamgauge.profile.counts import CountDistribution, Fixed
from streamgauge.profile.distribution import Constant, Distribution, Empirical, Exponential, Gamma
from streamgauge.profile.profile import Figure, InputFigures, Profile, TaskProfile, TimeFigures
from streamgauge.topology.topology import OperatorKind, StreamKey

# Below this a gamma is numerically a constant.
SMALLEST_SCV = 1e-6


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
    tasks = profile.tasks_of(operator)
    keys = [stream.key for stream in profile.topology.streams_into(operator)]
    inputs = {
        key: InputBehaviour(
            service=_service([t.inputs[key] for t in tasks.values() if key in t.inputs]),
            outputs=_outputs(tasks.values(), key),
        )
        for key in keys
        if any(key in task.inputs for task in tasks.values())
    }
    emitted = {stream.name for stream in profile.topology.streams_from(operator)}
    return Behaviour(
        inputs=inputs,
        keys={
            key.name: distribution
            for key, distribution in profile.keys.items()
            if key.source == operator
        },
        bytes={
            name: Constant(value=size)
            for name in sorted(emitted)
            if (size := _bytes(tasks.values(), name)) is not None
        },
        window=_window(profile, operator, tasks.values()),
        task_speed=_task_speed(profile, operator, tasks),
        origin="measured",
    )


def _has_service(profile: Profile, operator: str) -> bool:
    return any(
        figures.wall is not None or figures.cpu is not None
        for task in profile.tasks_of(operator).values()
        for figures in task.inputs.values()
    )


def _service(figures: list[InputFigures]) -> Service:
    """Pooled service: CPU as measured, waiting as what the clock shows beyond it."""
    wall = _pool_times(one.wall for one in figures)
    cpu = _pool_times(one.cpu for one in figures)
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
    scv = variance / mean**2
    if scv < SMALLEST_SCV:
        return Constant(value=mean)
    if math.isclose(scv, 1.0, rel_tol=1e-9):
        return Exponential(mean=mean)
    return Gamma(mean=mean, scv=scv)


def _pool_times(times: Iterable[TimeFigures | None]) -> Distribution | None:
    """The mixture of the tasks' times; exponential where no variability was measured."""
    known = [one for one in times if one is not None]
    if not known:
        return None
    if len(known) == 1 and known[0].quantiles_ms:
        return from_quantiles(known[0])
    weights = _weights([one.mean_ms for one in known])
    mean = _mean([one.mean_ms for one in known])
    second = math.fsum(
        weight * one.mean_ms.value**2 * (1.0 + (one.scv.value if one.scv else 1.0))
        for weight, one in zip(weights, known, strict=True)
    )
    return from_moments(mean, max(0.0, second - mean**2))


def from_quantiles(times: TimeFigures) -> Distribution:
    """Values at the measured quantiles, scaled so that the measured mean is kept."""
    probabilities = [0.0, *times.quantiles_ms, 1.0]
    # Each quantile stands for the probability half-way to its neighbours.
    weights = [
        (after - before) / 2.0
        for before, after in zip(probabilities[:-2], probabilities[2:], strict=True)
    ]
    shape = Empirical(values=tuple(times.quantiles_ms.values()), weights=tuple(weights))
    if shape.mean <= 0.0:
        return Constant(value=times.mean_ms.value)
    return shape.scaled(times.mean_ms.value / shape.mean)


def _weights(figures: list[Figure]) -> list[float]:
    total = sum(figure.samples for figure in figures)
    if total == 0:
        return [1.0 / len(figures)] * len(figures)
    return [figure.samples / total for figure in figures]


def _mean(figures: list[Figure]) -> float:
    return math.fsum(
        weight * figure.value for weight, figure in zip(_weights(figures), figures, strict=True)
    )


def _outputs(tasks: Iterable[TaskProfile], key: StreamKey) -> dict[str, CountDistribution]:
    coefficients: dict[str, list[Figure]] = {}
    for task in tasks:
        if task.window is not None:
            continue
        for name, output in task.outputs.items():
            if key in output.coefficients:
                coefficients.setdefault(name, []).append(output.coefficients[key])
    return {name: Fixed(mean=_mean(figures)) for name, figures in coefficients.items()}


def _bytes(tasks: Iterable[TaskProfile], stream: str) -> float | None:
    sizes = [task.outputs[stream].bytes for task in tasks if stream in task.outputs]
    known = [size for size in sizes if size is not None]
    return _mean(known) if known else None


def _window(profile: Profile, operator: str, tasks: Iterable[TaskProfile]) -> WindowFunction | None:
    window = profile.topology.operator(operator).window
    if window is None:
        return None
    known = list(tasks)
    service = _pool_times(task.window for task in known)
    return WindowFunction(
        service=Service(cpu_ms=service if service is not None else NOTHING),
        outputs=_outputs_per_trigger(profile, operator, known),
    )


def _outputs_per_trigger(
    profile: Profile, operator: str, tasks: list[TaskProfile]
) -> Mapping[str, CountDistribution]:
    """Outputs per input × inputs per trigger; the latter is the slide, in tuples."""
    window = profile.topology.operator(operator).window
    arrivals = math.fsum(
        figures.per_second.value
        for task in tasks
        for figures in task.inputs.values()
        if figures.per_second is not None
    )
    if window is None or not tasks or arrivals <= 0.0:
        return {}
    if window.slide_tuples is not None:
        triggers = arrivals / window.slide_tuples
    else:
        assert window.slide_seconds is not None
        triggers = len(tasks) / window.slide_seconds
    emitted: dict[str, float] = {}
    for task in tasks:
        for name, output in task.outputs.items():
            if output.per_second is not None:
                emitted[name] = emitted.get(name, 0.0) + output.per_second.value
    return {name: Fixed(mean=rate / triggers) for name, rate in emitted.items()}


def _task_speed(
    profile: Profile, operator: str, tasks: dict[int, TaskProfile]
) -> tuple[float, ...] | None:
    """Each task's mean wall time over the operator's; one where a task was not seen."""
    means = {
        index: _mean(figures)
        for index, task in tasks.items()
        if (figures := [one.wall.mean_ms for one in task.inputs.values() if one.wall])
    }
    if len(means) < 2:
        return None
    typical = math.fsum(means.values()) / len(means)
    if typical <= 0.0 or all(math.isclose(mean, typical) for mean in means.values()):
        return None
    count = profile.topology.operator(operator).tasks
    return tuple(means.get(index, typical) / typical or 1.0 for index in range(count))
