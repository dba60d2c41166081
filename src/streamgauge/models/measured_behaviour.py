"""From what was measured to how operators behave: Profile → JobBehaviour.

Tasks of an operator are pooled, each weighted by what it handled (its samples); differences
between tasks remain as `relative_service`. Together they reproduce every task's mean and the
operator's mean and variance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.models.job_behaviour import (
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
from streamgauge.models.measured_slowdown import take_off_crowding
from streamgauge.models.pooled_times import (
    error_of,
    pool_service,
    pool_time,
    variance_error_of,
    variance_of,
)
from streamgauge.profile.figures import (
    Figure,
    InputFigures,
    OutputFigures,
    TaskProfile,
    TimeFigures,
)
from streamgauge.profile.pooling import pool_mean, pool_times
from streamgauge.profile.profile import Profile
from streamgauge.topology.topology import ACKER, Operator, OperatorKind, Stream, StreamKey


def behaviour_of_profile(profile: Profile) -> JobBehaviour:
    """The behaviour that reproduces what was measured, crowding taken off.

    Raises:
        InvalidInput: Nothing at all was measured of a processor.
        NotEnoughData: A processor has no measured service time.
    """
    operators = [o for o in profile.topology.operators if o.kind is not OperatorKind.ACKER]
    tasks = {one.name: _own_streams(profile, one.name) for one in operators}
    _check_measured(operators, tasks)
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
        provenance=_provenance(profile),
    )
    return take_off_crowding(measured, profile)


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
    found: dict[str, list[OutputFigures]] = {}
    for task in tasks:
        for name, figures in task.outputs.items():
            found.setdefault(name, []).append(figures)
    return {name: found[name] for name in sorted(found)}


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
    found = {}
    for name, by_place in by_name.items():
        mean = pool_mean(list(by_place.values()))
        assert mean is not None
        each = [by_place.get(place, mean) for place in range(count)]
        found[name] = Coefficient(
            mean=_estimate(mean),
            by_task=Estimate.of(
                [one.value for one in each],
                Origin.MEASURED,
                [math.nan if one.standard_error is None else one.standard_error for one in each],
            ),
        )
    return found


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
        wall = pool_times([one.wall for one in figures if one.wall is not None])
        known = cpu if cpu is not None else wall
        if known is not None:
            time = TimeMoments.of(
                known.mean_ms.value,
                variance_of(known),
                Origin.MEASURED,
                mean_error=error_of(known.mean_ms),
                variance_error=variance_error_of(known),
            )
            inputs[key] = InputBehaviour(service=ServiceTime(cpu=time), task_weights=NONE)
    return OperatorBehaviour(inputs=inputs, task_weights=NONE)


def _shares(
    profile: Profile, tasks: Mapping[str, Mapping[int, TaskProfile]]
) -> dict[tuple[str, str, str], TaskShares]:
    found = {}
    for stream in profile.topology.data_streams:
        sizes = [profile.topology.operator(name).tasks for name in (stream.source, stream.target)]
        shares = _shares_of(stream, tasks[stream.source], *sizes)
        if shares is not None:
            found[stream.subscription] = shares
    return found


def _shares_of(
    stream: Stream, tasks: Mapping[int, TaskProfile], senders: int, receivers: int
) -> TaskShares | None:
    """Silent tasks have none (eq. 4.2 has no value for them)."""
    parts = np.full((senders, receivers), math.nan)
    weights, output_shares = np.zeros(senders), np.zeros(senders)
    for place, task in tasks.items():
        figures = task.outputs.get(stream.name)
        if figures is None or stream.target not in figures.shares:
            continue
        dealt, rate, share = figures.shares[stream.target], figures.per_second, figures.share
        parts[place] = dealt.parts
        weights[place] = float(dealt.samples or 1) if rate is None else rate.value
        output_shares[place] = weights[place] if share is None else share.value
    if np.isnan(parts).all():
        return None
    return TaskShares(
        parts=Estimate.of(parts, Origin.MEASURED),
        weights=Estimate.of(weights, Origin.MEASURED),
        output_shares=Estimate.of(output_shares, Origin.MEASURED),
    )


def _link(latency: TimeFigures) -> TimeMoments:
    """Latency between two nodes; constant where no variability was measured."""
    mean, scv = latency.mean_ms.value, latency.scv
    moments = TimeMoments.of(
        mean,
        0.0 if scv is None else scv.value * mean * mean,
        Origin.MEASURED,
        mean_error=error_of(latency.mean_ms),
        variance_error=variance_error_of(latency),
        variance_origin=Origin.ASSUMED if scv is None else None,
    )
    if not latency.quantiles_ms:
        return moments
    return replace(
        moments,
        probabilities=tuple(latency.quantiles_ms),
        quantiles_ms=Estimate.of(list(latency.quantiles_ms.values()), Origin.MEASURED),
    )


def _provenance(profile: Profile) -> dict[str, str]:
    """Which plan and period a profile rests on."""
    found = {"plan_id": profile.plan_id or ""}
    if profile.period is not None:
        found |= {"from": profile.period.start, "to": profile.period.end}
    return {key: value for key, value in found.items() if value}
