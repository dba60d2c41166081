"""From what was measured to how operators behave: Profile → JobBehaviour.

Tasks of an operator are pooled, each weighted by what it handled (its samples); differences
between tasks remain as `relative_service`. Together they reproduce every task's mean and the
operator's mean and variance. Errors of tasks are taken to be independent. Service times are given
as they would be with cores to spare: the stretch by crowded machines (`measured_plan`) is taken
off; where the time on a core was not measured, it is the wall-clock time without the stretch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.models.distribution_fitting import from_quantiles
from streamgauge.models.job_behaviour import (
    NO_TIME,
    NONE,
    Coefficient,
    Estimate,
    InputBehaviour,
    JobBehaviour,
    OperatorBehaviour,
    Origin,
    ServiceTime,
    TaskShares,
    TimeMoments,
    WindowBehaviour,
)
from streamgauge.models.measured_capacity import MeasuredCurves
from streamgauge.models.measured_engine import learn_costs
from streamgauge.models.measured_plan import find_crowding
from streamgauge.profile.figures import (
    Figure,
    InputFigures,
    OutputFigures,
    TaskProfile,
    TimeFigures,
)
from streamgauge.profile.pooling import pool_mean, pool_times, weigh_by_samples
from streamgauge.profile.profile import Profile
from streamgauge.topology.topology import ACKER, Operator, OperatorKind, StreamKey, Subscription

# Fewer quantiles than this say less of a shape than mean and variability do.
ENOUGH_QUANTILES = 3
# Less than this is not worth a word.
NOTEWORTHY = 1.05
# The stretch is known to about this part of it: less waiting than that may be none.
UNCERTAIN = 0.1
# What is left of a variance after a larger one was taken off says little beyond this.
WIDEST = 4.0


def describe_profile(profile: Profile) -> JobBehaviour:
    """As `JobBehaviour.from_profile`."""
    operators = [o for o in profile.topology.operators if o.kind is not OperatorKind.ACKER]
    tasks = {one.name: _own_streams(profile, one.name) for one in operators}
    silent = find_unexercised(profile)
    _check_measured([one for one in operators if one.name not in silent], tasks)
    behaviours = {one.name: _operator(profile, one, tasks[one.name]) for one in operators}
    if profile.tasks_of(ACKER):
        behaviours[ACKER] = _acker(list(profile.tasks_of(ACKER).values()))
    measured = JobBehaviour(
        topology=profile.topology,
        configuration=profile.configuration,
        origin=Origin.MEASURED,
        operators=behaviours,
        shares=_shares(profile, tasks),
        keys=profile.keys,
        links={(one.source, one.target): _link(one.latency) for one in profile.links},
        balance_ms={
            one.name: one.balance_ms
            for one in (() if profile.cluster is None else profile.cluster.machines)
            if one.balance_ms is not None
        },
        curves=MeasuredCurves(profile=profile),
        provenance=_provenance(profile),
    )
    relieved = _take_off_crowding(measured, profile)
    costs, note = learn_costs(relieved, profile)
    return replace(relieved, costs=costs, notes=(*relieved.notes, *([note] if note else [])))


def find_unexercised(profile: Profile) -> tuple[str, ...]:
    """Processors that got no tuple while the job was measured, as nobody sent them any.

    Nothing is known of them, and nothing needs to be while none comes.
    """
    topology = profile.topology
    processors = [one.name for one in topology.operators if one.kind is OperatorKind.PROCESSOR]
    return tuple(name for name in processors if not any(_rates_into(profile, name)))


def _rates_into(profile: Profile, operator: str) -> Iterator[float]:
    """What an operator's tasks got, and what was sent to it; NaN where nobody says how much."""
    figures: list[InputFigures | OutputFigures] = [
        one for task in profile.tasks_of(operator).values() for one in task.inputs.values()
    ]
    for stream in profile.topology.streams_into(operator):
        senders = profile.tasks_of(stream.source).values()
        if not senders:
            yield math.nan
        figures += [task.outputs[stream.name] for task in senders if stream.name in task.outputs]
    for one in figures:
        yield math.nan if one.per_second is None else one.per_second.value


def _check_measured(
    operators: Iterable[Operator], tasks: Mapping[str, Mapping[int, TaskProfile]]
) -> None:
    """Raise where a processor has no figure, or no service time."""
    processors = [one.name for one in operators if one.kind is OperatorKind.PROCESSOR]
    unseen = [name for name in processors if not tasks[name]]
    if unseen:
        raise InvalidInput.single(
            ("profile", "operators"),
            seen=f"no figures of {', '.join(unseen)}",
            expected="figures of every operator of the topology",
            remedy="measure a period in which all of them run, or write their figures by hand",
        )
    timeless = [name for name in processors if not any(map(_has_service, tasks[name].values()))]
    if timeless:
        raise NotEnoughData(
            f"no service time was measured for {', '.join(timeless)}; expected at least one task of"
            " each with wall or cpu figures: profile a longer period, or write the figures by hand"
        )


def _own_streams(profile: Profile, operator: str) -> dict[int, TaskProfile]:
    """The operator's tasks without the engine's streams: what acks cost is the engine's matter."""
    received = {stream.key for stream in profile.topology.streams_into(operator)}
    emitted = {stream.name for stream in profile.topology.streams_from(operator)}
    return {
        place: replace(
            task,
            inputs={key: one for key, one in task.inputs.items() if key in received},
            outputs={name: one for name, one in task.outputs.items() if name in emitted},
        )
        for place, task in profile.tasks_of(operator).items()
    }


def _has_service(task: TaskProfile) -> bool:
    return any(one.wall is not None or one.cpu is not None for one in task.inputs.values())


def _operator(
    profile: Profile, operator: Operator, tasks: Mapping[int, TaskProfile]
) -> OperatorBehaviour:
    speeds = _speeds(tasks)
    alike = all(math.isclose(speed, 1.0, rel_tol=1e-9) for speed in speeds.values())
    keys = dict.fromkeys(stream.key for stream in profile.topology.streams_into(operator.name))
    emissions = [figures for task in tasks.values() for figures in task.outputs.values()]
    sizes = {
        name: pool_mean([one.bytes for one in figures if one.bytes is not None])
        for name, figures in _by_output(tasks.values()).items()
    }
    failed = [figures.failed_share for task in tasks.values() for figures in task.inputs.values()]
    share = pool_mean([one for one in failed if one is not None])
    weights = {place: _input_weight(task) for place, task in tasks.items()}
    return OperatorBehaviour(
        inputs={key: _input(key, tasks, speeds, operator.tasks) for key in keys},
        # Only a source's outputs carry times of their own: what it takes to emit a tuple.
        emit=pool_service(dict(enumerate(emissions)), {}),
        window=None if operator.window is None else _window(operator, tasks),
        relative_service=None if alike else _by_place(speeds, operator.tasks, missing=1.0),
        task_weights=_by_place(weights, operator.tasks),
        bytes={name: _estimate(size) for name, size in sizes.items() if size is not None},
        failed_share=NONE if share is None else _estimate(share, most=1.0),
    )


def _estimate(figure: Figure, *, most: float = math.inf) -> Estimate:
    return Estimate.of(min(figure.value, most), Origin.MEASURED, figure.standard_error)


def _by_place(values: Mapping[int, float], tasks: int, *, missing: float = 0.0) -> Estimate:
    """A number for each task of an operator."""
    return Estimate.of(
        [values.get(place, missing) for place in range(tasks)],
        Origin.MEASURED if values else Origin.ASSUMED,
    )


def _by_output(tasks: Iterable[TaskProfile]) -> dict[str, list[OutputFigures]]:
    by_name: dict[str, list[OutputFigures]] = {}
    for task in tasks:
        for name, figures in task.outputs.items():
            by_name.setdefault(name, []).append(figures)
    return {name: by_name[name] for name in sorted(by_name)}


def _input_weight(task: TaskProfile) -> float:
    """What comes to a task, all its streams together."""
    rates = [one.per_second or one.share for one in task.inputs.values()]
    return sum(rate.value for rate in rates if rate is not None)


def _input(
    key: StreamKey, tasks: Mapping[int, TaskProfile], speeds: Mapping[int, float], count: int
) -> InputBehaviour:
    figures = {place: task.inputs[key] for place, task in tasks.items() if key in task.inputs}
    # The task's part of its operator's input, or what is proportional to it.
    parts = {place: one.share or one.per_second for place, one in figures.items()}
    return InputBehaviour(
        service=pool_service(figures, speeds),
        outputs=_coefficients(key, tasks, count),
        task_weights=_by_place(
            {place: part.value for place, part in parts.items() if part is not None}, count
        ),
    )


def _coefficients(
    key: StreamKey, tasks: Mapping[int, TaskProfile], count: int
) -> dict[str, Coefficient]:
    """By output stream, tuples out per tuple in of one stream."""
    by_name: dict[str, dict[int, Figure]] = {}
    for place, task in tasks.items():
        for name, figures in task.outputs.items():
            if key in figures.coefficients:
                by_name.setdefault(name, {})[place] = figures.coefficients[key]
    coefficients = {}
    for name, by_place in by_name.items():
        mean = pool_mean(list(by_place.values()))
        assert mean is not None
        each = [by_place.get(place, mean) for place in range(count)]
        coefficients[name] = Coefficient(
            mean=_estimate(mean),
            by_task=Estimate.of(
                [one.value for one in each],
                Origin.MEASURED,
                [math.nan if one.standard_error is None else one.standard_error for one in each],
            ),
        )
    return coefficients


def _speeds(tasks: Mapping[int, TaskProfile]) -> dict[int, float]:
    """Service time of each task relative to all tasks, for the same mix of inputs.

    Time that a task's tuples took, over what they would have taken at the operator's means.
    """
    by_key: dict[StreamKey, dict[int, Figure]] = {}
    for place, task in tasks.items():
        for key, figures in task.inputs.items():
            times = figures.wall if figures.wall is not None else figures.cpu
            if times is not None:
                by_key.setdefault(key, {})[place] = times.mean_ms
    took: dict[int, float] = {}
    typical: dict[int, float] = {}
    for means in by_key.values():
        mean = pool_mean(list(means.values()))
        assert mean is not None
        for place, figure in means.items():
            handled = figure.samples or 1
            took[place] = took.get(place, 0.0) + handled * figure.value
            typical[place] = typical.get(place, 0.0) + handled * mean.value
    return {
        place: took[place] / typical[place] if took[place] > 0.0 and typical[place] > 0.0 else 1.0
        for place in took
    }


def _window(operator: Operator, tasks: Mapping[int, TaskProfile]) -> WindowBehaviour:
    triggers = {
        place: InputFigures(wall=task.window, cpu=task.window_cpu) for place, task in tasks.items()
    }
    service = pool_service(triggers, {})
    wall = pool_time({i: one.wall for i, one in triggers.items() if one.wall is not None}, {})
    if wall is not None and float(service.cpu.mean_ms) > float(wall.mean_ms):
        # The CPU time of a trigger is known by regression only, and is never more than it took.
        service = ServiceTime(cpu=wall)
    return WindowBehaviour(
        service=service,
        per_tuple_ms=NONE,
        outputs=_outputs_per_trigger(operator, list(tasks.values())),
    )


def _outputs_per_trigger(operator: Operator, tasks: list[TaskProfile]) -> dict[str, Estimate]:
    """Tuples out per window that fires: as counted, else emitted tuples over triggers."""
    triggers = _triggers(operator, tasks)
    outputs = {}
    for name, figures in _by_output(tasks).items():
        counted = pool_mean([one.per_trigger for one in figures if one.per_trigger is not None])
        emitted = _rate(figures)
        if counted is not None:
            outputs[name] = _estimate(counted)
        elif emitted > 0.0 and triggers > 0.0:
            outputs[name] = Estimate.of(emitted / triggers, Origin.MEASURED)
    return outputs


def _triggers(operator: Operator, tasks: list[TaskProfile]) -> float:
    """Windows that fire a second: as counted, else one per slide of tuples, or of time and task."""
    counted = [task.triggers_per_second for task in tasks]
    known = [figure.value for figure in counted if figure is not None]
    if known and len(known) == len(tasks):
        return math.fsum(known)
    window = operator.window
    assert window is not None
    if window.slide_seconds is not None:
        return len(tasks) / window.slide_seconds
    assert window.slide_tuples is not None
    return _rate(one for task in tasks for one in task.inputs.values()) / window.slide_tuples


def _rate(figures: Iterable[InputFigures | OutputFigures]) -> float:
    """Tuples per second in all, as far as they were measured."""
    return math.fsum(one.per_second.value for one in figures if one.per_second is not None)


def _acker(tasks: Sequence[TaskProfile]) -> OperatorBehaviour:
    """All ackers are alike: what their tasks took for a message of each stream."""
    inputs = {}
    for key in dict.fromkeys(key for task in tasks for key in task.inputs):
        figures = [task.inputs[key] for task in tasks if key in task.inputs]
        cpu = pool_times([one.cpu for one in figures if one.cpu is not None])
        time = cpu or pool_times([one.wall for one in figures if one.wall is not None])
        if time is not None:
            service = ServiceTime(cpu=_moments(time, _variance(time)))
            inputs[key] = InputBehaviour(service=service, task_weights=NONE)
    return OperatorBehaviour(inputs=inputs, task_weights=NONE)


def _shares(
    profile: Profile, tasks: Mapping[str, Mapping[int, TaskProfile]]
) -> dict[Subscription, TaskShares]:
    """By subscription; silent tasks have none (eq. 4.2 has no value for them)."""
    by_subscription = {}
    for stream in profile.topology.data_streams:
        senders, receivers = (
            profile.topology.operator(name).tasks for name in (stream.source, stream.target)
        )
        parts = np.full((senders, receivers), math.nan)
        weights, output_shares = np.zeros(senders), np.zeros(senders)
        for place, task in tasks[stream.source].items():
            figures = task.outputs.get(stream.name)
            if figures is None or stream.target not in figures.shares:
                continue
            dealt, rate, share = figures.shares[stream.target], figures.per_second, figures.share
            parts[place] = dealt.parts
            weights[place] = float(dealt.samples or 1) if rate is None else rate.value
            output_shares[place] = weights[place] if share is None else share.value
        if not np.isnan(parts).all():
            by_subscription[stream.subscription] = TaskShares(
                parts=Estimate.of(parts, Origin.MEASURED),
                weights=Estimate.of(weights, Origin.MEASURED),
                output_shares=Estimate.of(output_shares, Origin.MEASURED),
            )
    return by_subscription


def _link(latency: TimeFigures) -> TimeMoments:
    """Latency between two nodes; constant where no variability was measured."""
    if latency.scv is None:
        moments = _moments(latency, 0.0, variance_origin=Origin.ASSUMED)
    else:
        moments = _moments(latency, _variance(latency))
    if not latency.quantiles_ms:
        return moments
    return replace(
        moments,
        probabilities=tuple(latency.quantiles_ms),
        quantiles_ms=Estimate.of(list(latency.quantiles_ms.values()), Origin.MEASURED),
    )


def _moments(
    time: TimeFigures, variance: float, variance_origin: Origin | None = None
) -> TimeMoments:
    return TimeMoments.of(
        time.mean_ms.value,
        variance,
        Origin.MEASURED,
        mean_error=_mean_error(time.mean_ms),
        variance_error=_variance_error(time),
        variance_origin=variance_origin,
    )


def _provenance(profile: Profile) -> dict[str, str]:
    """Which plan and period a profile rests on."""
    provenance = {"plan_id": profile.plan_id or ""}
    if profile.period is not None:
        provenance |= {"from": profile.period.start, "to": profile.period.end}
    return {key: value for key, value in provenance.items() if value}


def pool_service(
    figures: Mapping[int, InputFigures] | Mapping[int, OutputFigures],
    speeds: Mapping[int, float],
) -> ServiceTime:
    """Pooled service: CPU as measured, waiting as the wall-clock time beyond it."""
    wall = pool_time({i: one.wall for i, one in figures.items() if one.wall is not None}, speeds)
    cpu = pool_time({i: one.cpu for i, one in figures.items() if one.cpu is not None}, speeds)
    if cpu is None:
        if wall is None:
            return ServiceTime()
        # That all of it is spent on a core is a guess.
        return ServiceTime(cpu=replace(wall, mean_ms=replace(wall.mean_ms, origin=Origin.ASSUMED)))
    if wall is None:
        return ServiceTime(cpu=cpu)
    if cpu.variance.origin is Origin.ASSUMED and wall.variance.origin is Origin.MEASURED:
        # As regressed CPU time: what the whole varies by is shared by its part on a core.
        part = float(cpu.mean_ms) / float(wall.mean_ms) if float(wall.mean_ms) > 0.0 else 1.0
        cpu = replace(cpu, variance=_scale(wall.variance, min(part, 1.0) ** 2))
    wait = TimeMoments.of(
        float(wall.mean_ms) - float(cpu.mean_ms),
        max(0.0, float(wall.variance) - float(cpu.variance)),
        Origin.MEASURED,
        mean_error=math.hypot(wall.mean_ms.error, cpu.mean_ms.error),
        variance_error=math.hypot(wall.variance.error, cpu.variance.error),
    )
    return ServiceTime(cpu=cpu, wait=wait)


def pool_time(times: Mapping[int, TimeFigures], speeds: Mapping[int, float]) -> TimeMoments | None:
    """A time that, scaled by each task's speed, has the moments of all of them.

    Exponential where no variability was measured.
    """
    if not times:
        return None
    known = list(times.values())
    weights = weigh_by_samples([one.mean_ms for one in known])
    parts = list(zip(weights, (speeds.get(place, 1.0) for place in times), known, strict=True))
    mean = math.fsum(weight * one.mean_ms.value for weight, _, one in parts)
    variance = math.fsum(weight * _variance(one) for weight, _, one in parts)
    slower = math.fsum(weight * speed for weight, speed, _ in parts)
    squares = math.fsum(weight * speed * speed for weight, speed, _ in parts)
    pooled = TimeMoments.of(
        mean / slower,
        variance / squares,
        Origin.MEASURED,
        mean_error=_combine_errors([(w, _mean_error(one.mean_ms)) for w, _, one in parts]) / slower,
        variance_error=_combine_errors([(w, _variance_error(one)) for w, _, one in parts])
        / squares,
        variance_origin=Origin.ASSUMED if any(one.scv is None for one in known) else None,
    )
    return _with_shape(pooled, known)


def _with_shape(pooled: TimeMoments, known: Sequence[TimeFigures]) -> TimeMoments:
    """With the moments and the shape of measured quantiles, where there is one task with enough."""
    if len(known) > 1 or len(known[0].quantiles_ms) < ENOUGH_QUANTILES:
        return pooled
    (time,) = known
    scv = None if time.scv is None else time.scv.value
    shape = from_quantiles(time.mean_ms.value, time.quantiles_ms, scv)
    if shape is None:
        return pooled
    return TimeMoments(
        mean_ms=replace(pooled.mean_ms, value=np.asarray(shape.mean)),
        variance=replace(pooled.variance, value=np.asarray(shape.variance)),
        shape=shape,
    )


def _mean_error(figure: Figure) -> float:
    """The standard error of a figure; NaN where it is not known."""
    return math.nan if figure.standard_error is None else figure.standard_error


def _combine_errors(parts: Iterable[tuple[float, float]]) -> float:
    """The error of a weighted sum of independent figures; NaN where one that counts has none."""
    return math.hypot(*(weight * error for weight, error in parts if weight > 0.0))


def _variance(times: TimeFigures) -> float:
    """Of a time; that of an exponential one where no variability was measured."""
    scv = 1.0 if times.scv is None else times.scv.value
    return scv * times.mean_ms.value * times.mean_ms.value


def _variance_error(times: TimeFigures) -> float:
    """To the first order; NaN where mean or variability have none."""
    if times.scv is None:
        return math.nan
    mean, scv = times.mean_ms, times.scv
    return math.hypot(
        mean.value * mean.value * _mean_error(scv), 2.0 * scv.value * mean.value * _mean_error(mean)
    )


def _take_off_crowding(behaviour: JobBehaviour, profile: Profile) -> JobBehaviour:
    """The behaviour without what other threads of the measured plan did to it."""
    crowding = find_crowding(profile)
    if crowding is None:
        note = (
            "the profile does not say on which machines it was measured: slowdown by sharing is"
            " not corrected"
        )
        return replace(behaviour, notes=(note,))
    stretches, warnings = crowding
    crowded = [f"{name} {by:.2f}" for name, by in stretches.items() if by > NOTEWORTHY]
    notes = list(warnings)
    if crowded:
        notes.append(
            "CPU times were measured on crowded machines and are corrected for it; the measured"
            f" times were longer by a factor: {', '.join(crowded)}"
        )
    return replace(
        behaviour,
        operators={
            name: _relieve(operator, stretches.get(name, 1.0))
            for name, operator in behaviour.operators.items()
        },
        stretch={name: Estimate.of(by, Origin.MEASURED) for name, by in stretches.items()},
        notes=tuple(notes),
    )


def _relieve(operator: OperatorBehaviour, stretch: float) -> OperatorBehaviour:
    """The operator with the stretch taken off all its times."""
    if stretch <= 1.0:
        return operator
    window = operator.window
    if window is not None:
        window = replace(window, service=_without(window.service, stretch))
    return replace(
        operator,
        inputs={
            key: replace(one, service=_without(one.service, stretch))
            for key, one in operator.inputs.items()
        },
        emit=_without(operator.emit, stretch),
        window=window,
    )


def _without(service: ServiceTime, stretch: float) -> ServiceTime:
    """Waiting less what the crowd added; where time on a core was not measured, that shortened."""
    cpu, wait = service.cpu, service.wait
    if cpu.mean_ms.origin is not Origin.MEASURED:
        return replace(
            service,
            cpu=replace(
                cpu,
                mean_ms=_scale(cpu.mean_ms, 1.0 / stretch),
                variance=_scale(cpu.variance, (1.0 / stretch) ** 2),
            ),
        )
    added = stretch - 1.0
    mean = float(wait.mean_ms) - added * float(cpu.mean_ms)
    if mean < UNCERTAIN * stretch * float(cpu.mean_ms):
        return replace(service, wait=NO_TIME)
    variance = float(wait.variance) - (stretch * stretch - 1.0) * float(cpu.variance)
    relieved = TimeMoments.of(
        mean,
        min(max(variance, 0.0), WIDEST * mean * mean),
        Origin.MEASURED,
        mean_error=math.hypot(wait.mean_ms.error, added * cpu.mean_ms.error),
    )
    return replace(service, wait=relieved)


def _scale(estimate: Estimate, factor: float) -> Estimate:
    return replace(
        estimate,
        value=estimate.value * factor,
        standard_error=estimate.standard_error * factor,
    )
