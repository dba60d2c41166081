"""Measured parameters: the profile's own plan with what was seen of it, and nothing predicted.

Shares, rates and service times are those that were measured, executor by executor, contention
included. What then differs from the measured latency is the fault of queueing and windows alone
(Cooper 2020, section 5.7, checks the core of the model so).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.flow import Rates
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.loading import Loaded, load
from streamgauge.models.parameters import Parameters, parameters_of
from streamgauge.models.routing import keyed_shares
from streamgauge.models.source_plan import measured_plan, measured_workload
from streamgauge.profile.figures import InputFigures, OutputFigures, TaskProfile, TimeFigures
from streamgauge.profile.pooling import pool_times
from streamgauge.profile.profile import Profile
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.topology import OperatorKind
from streamgauge.topology.tuple_flow import TupleFlow

Vector = NDArray[np.float64]
SECONDS_PER_MS = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The profile's own plan as it was measured.

    Attributes:
        parameters: Routing and rates as measured; work as the model takes it.
        loaded: Service times as measured.
    """

    parameters: Parameters
    loaded: Loaded


def measured_parameters(profile: Profile) -> Measured:
    """Everything that was measured of the profile's own plan, and the model's view of the rest.

    Raises:
        NotEnoughData: The profile does not say where its executors ran, or what sources emitted.
    """
    plan = measured_plan(profile)
    behaviour = JobBehaviour.from_profile(profile)
    predicted = parameters_of(behaviour, plan, measured_workload(profile))
    flow = _routed(predicted.flow, behaviour)
    missing: list[str] = []
    parameters = replace(
        predicted, flow=flow, rates=_rates(flow, profile, predicted.rates, missing)
    )
    loaded = load(parameters)
    mean, variance = loaded.service.mean.copy(), loaded.service.variance.copy()
    for name, span in plan.logical.spans.items():
        of_source = plan.logical.topology.operator(name).kind is OperatorKind.SOURCE
        for index, tasks in zip(span, _seen(profile, plan.logical, name), strict=True):
            seen = _service(tasks, of_source=of_source)
            if seen is not None:
                mean[index] = seen.mean_ms.value * SECONDS_PER_MS
                scv = 1.0 if seen.scv is None else seen.scv.value
                variance[index] = scv * mean[index] ** 2
    notes = predicted.notes
    if missing:
        notes = (*notes, f"rates that were not measured are predicted: {', '.join(missing)}")
    return Measured(
        parameters=replace(parameters, notes=notes),
        loaded=replace(loaded, service=replace(loaded.service, mean=mean, variance=variance)),
    )


def _routed(flow: TupleFlow, behaviour: JobBehaviour) -> TupleFlow:
    """Every task's tuples dealt as they were, whatever the grouping."""
    blocks = []
    for block in flow.blocks:
        shares = None
        if not block.stream.is_system:
            shares = keyed_shares(flow.plan.logical, block.stream, behaviour, as_measured=True)
        copies = float(block.shares.sum(axis=1).max(initial=1.0))
        blocks.append(block if shares is None else replace(block, shares=copies * shares))
    return replace(flow, blocks=tuple(blocks))


def _rates(flow: TupleFlow, profile: Profile, predicted: Rates, missing: list[str]) -> Rates:
    """What came and left; what would have, where it was not counted."""
    logical = flow.plan.logical
    arrived, emitted = dict(predicted.arrived), dict(predicted.emitted)
    for stream in logical.topology.streams:
        came = _per_second(
            [
                [task.inputs.get(stream.key) for task in one]
                for one in _seen(profile, logical, stream.target)
            ]
        )
        if came is not None:
            arrived[stream.subscription] = came
        elif not stream.is_system:
            missing.append(f"{stream.key} → {stream.target}")
    for key in predicted.emitted:
        left = _per_second(
            [
                [task.outputs.get(key.name) for task in one]
                for one in _seen(profile, logical, key.source)
            ]
        )
        if left is not None:
            emitted[key] = left
    return replace(predicted, arrived=arrived, emitted=emitted)


def _per_second(
    figures: Sequence[Sequence[InputFigures | OutputFigures | None]],
) -> Vector | None:
    """By executor, the sum over its tasks; nothing where no task has a rate."""
    rates = [
        [one.per_second.value for one in tasks if one is not None and one.per_second is not None]
        for tasks in figures
    ]
    return np.asarray([math.fsum(known) for known in rates]) if any(rates) else None


def _seen(profile: Profile, logical: LogicalPlan, operator: str) -> list[list[TaskProfile]]:
    """The profiled tasks of each executor of an operator."""
    tasks, start = profile.tasks_of(operator), logical.tasks_of(operator).start
    return [
        [tasks[task - start] for task in executor.tasks if task - start in tasks]
        for executor in logical.executors_of(operator)
    ]


def _service(tasks: Iterable[TaskProfile], *, of_source: bool) -> TimeFigures | None:
    """Wall-clock time of a tuple, all inputs of all tasks of an executor."""
    figures = [
        one.wall
        for task in tasks
        for one in (task.outputs if of_source else task.inputs).values()
        if one.wall is not None
    ]
    return pool_times(figures)
