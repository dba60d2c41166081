"""Observations of a job's operators, by executor, as arrays: what capacities are fitted to.

From what calibration kept by task (`Profile.observed`), or, in older profiles, by operator
(`Profile.saturation`), which is then taken to be spread evenly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamgauge.models.capacity_fit import is_free
from streamgauge.profile.figures import Saturation
from streamgauge.profile.observed import ObservedPlan
from streamgauge.profile.pooling import pool_times
from streamgauge.profile.profile import Profile
from streamgauge.topology.grouping import All, Direct
from streamgauge.topology.logical_plan import even_sizes
from streamgauge.topology.topology import StreamKey, Topology

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

# Rates, times and cores beyond are slips of whoever wrote them, and their squares no numbers.
LEAST, MOST = 1e-15, 1e15


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OperatorRun:
    """What one operator did under one plan; rates are per second, rows are steps.

    Attributes:
        demand: Tuples executed by each executor, each counted by its relative cost.
        emitted: Tuples out of each executor, all streams.
        pressure: Part of the time for which each executor held its senders back.
        sent: Tuples that operators before it sent, likewise by cost; NaN where that is not known.
        held: Whether an operator further on held others back, so that this one could not go on.
        cores: In use by all of its executors; NaN where that was not measured.
        by_executor: Whether executors were told apart.
    """

    plan_id: str
    executors: int
    demand: Matrix
    emitted: Matrix
    pressure: Matrix
    sent: Vector
    held: NDArray[np.bool_]
    cores: Vector
    by_executor: bool

    @property
    def output(self) -> Vector:
        """Tuples out of all executors; of a sink, tuples in."""
        out = self.emitted.sum(axis=1)
        return np.asarray(out if out.any() else self.demand.sum(axis=1))


def list_runs(profile: Profile) -> dict[str, tuple[OperatorRun, ...]]:
    """Every operator's runs, plan by plan; none where nothing was kept."""
    if profile.observed:
        found: dict[str, list[OperatorRun]] = {}
        for plan in profile.observed:
            for name, run in _runs_of(plan, profile):
                found.setdefault(name, []).append(run)
        return {name: tuple(runs) for name, runs in found.items()}
    return _runs_by_operator(profile)


def relative_costs(profile: Profile, operator: str) -> dict[StreamKey, float]:
    """By input stream, service time of its tuples over that of all the operator's tuples."""
    times: dict[StreamKey, float] = {}
    rates: dict[StreamKey, float] = {}
    tasks = profile.tasks_of(operator).values()
    for key in {stream.key for stream in profile.topology.streams_into(operator)}:
        figures = [task.inputs[key] for task in tasks if key in task.inputs]
        pooled = pool_times([time for one in figures if (time := one.wall or one.cpu) is not None])
        if pooled is not None and pooled.mean_ms.value > 0.0:
            times[key] = float(bounded(pooled.mean_ms.value))
            rates[key] = sum(
                float(bounded(one.per_second.value))
                for one in figures
                if one.per_second is not None
            )
    total = sum(rates.values())
    mean = sum(rates[key] * times[key] for key in times) / total if total > 0.0 else 0.0
    if mean <= 0.0:
        return {}
    return {key: time / mean for key, time in times.items()}


def _runs_of(plan: ObservedPlan, profile: Profile) -> Iterator[tuple[str, OperatorRun]]:
    """The runs of one plan's operators."""
    topology, steps = profile.topology, len(plan.minutes)
    pressed = {
        name: ~is_free(
            _sum([(0, one.backpressure) for one in by_place.values()], steps, 1, worst=True)[:, 0]
        )
        for name, by_place in plan.tasks.items()
    }
    for name, by_place in plan.tasks.items():
        if name not in topology.operator_names or name not in plan.executors:
            continue
        count = plan.executors[name]
        executor = _executor_of_task(topology.operator(name).tasks, count)
        costs = relative_costs(profile, name)
        placed = [(executor[int(place)], one) for place, one in by_place.items()]
        demand = [
            (at, _weigh(row, costs.get(key, 1.0)))
            for at, one in placed
            for key, row in one.inputs.items()
        ]
        emitted = [(at, row) for at, one in placed for row in one.outputs.values()]
        pressure = [(at, one.backpressure) for at, one in placed]
        cores = plan.cores.get(name, (None,) * steps)
        yield (
            name,
            OperatorRun(
                plan_id=plan.plan_id,
                executors=count,
                demand=_sum(demand, steps, count),
                emitted=_sum(emitted, steps, count),
                pressure=_sum(pressure, steps, count, worst=True),
                sent=_sent(plan, topology, name, costs),
                held=np.any(
                    [pressed[one] for one in _descendants(topology, name) if one in pressed]
                    or [np.zeros(steps, dtype=bool)],
                    axis=0,
                ),
                cores=bounded(np.asarray(cores, dtype=np.float64)),
                by_executor=True,
            ),
        )


def _executor_of_task(tasks: int, executors: int) -> list[int]:
    """Which executor each task is of: contiguous ranges, a remainder goes to the first."""
    return [
        place
        for place, size in enumerate(even_sizes(tasks, min(executors, tasks)))
        for _ in range(size)
    ]


def bounded(values: ArrayLike) -> Vector:
    """Numbers of which squares and sums exist; what is not known stays so."""
    numbers = np.asarray(values, dtype=np.float64)
    return np.clip(np.where(numbers < LEAST, 0.0, numbers), 0.0, MOST)


def _weigh(row: tuple[float, ...], cost: float) -> Vector:
    return cost * bounded(row)


def _sum(
    rows: Sequence[tuple[int, tuple[float, ...] | Vector]],
    steps: int,
    executors: int,
    *,
    worst: bool = False,
) -> Matrix:
    """Rows of tasks by executor: their sum, or the worst of them; an empty row is of zeros."""
    found = np.zeros((executors, steps))
    for place, row in rows:
        if len(row):
            one = bounded(row)
            found[place] = np.maximum(found[place], one) if worst else found[place] + one
    return found.T


def _sent(
    plan: ObservedPlan, topology: Topology, name: str, costs: Mapping[StreamKey, float]
) -> Vector:
    """What was emitted towards an operator, step by step; NaN where copies cannot be counted."""
    total = np.zeros(len(plan.minutes))
    for stream in topology.streams_into(name):
        if stream.is_system:
            continue
        if isinstance(stream.grouping, Direct) or stream.source not in plan.tasks:
            return np.full(len(plan.minutes), np.nan)
        copies = topology.operator(name).tasks if isinstance(stream.grouping, All) else 1
        for one in plan.tasks[stream.source].values():
            if stream.name in one.outputs:
                total += copies * _weigh(one.outputs[stream.name], costs.get(stream.key, 1.0))
    return total


def _descendants(topology: Topology, name: str) -> set[str]:
    """Operators that tuples of an operator may come to, that operator left out."""
    found: set[str] = set()
    ahead = [name]
    while ahead:
        for stream in topology.streams_from(ahead.pop()):
            if not stream.is_system and stream.target not in found:
                found.add(stream.target)
                ahead.append(stream.target)
    return found - {name}


def _runs_by_operator(profile: Profile) -> dict[str, tuple[OperatorRun, ...]]:
    """Runs of operators whose executors nobody told apart.

    Steps of two operators cannot be put side by side: where one further on ever held others back
    under a plan, what comes before it there is taken to have been held by it.
    """
    pressed = {
        (one.plan_id, name)
        for name, stretches in profile.saturation.items()
        for one in stretches
        if not is_free(one.backpressure)
    }
    found = {}
    for name, stretches in profile.saturation.items():
        if name not in profile.topology.operator_names:
            continue
        after = _descendants(profile.topology, name)
        groups: dict[tuple[str, int], list[Saturation]] = {}
        for one in stretches:
            if one.executors > 0:
                groups.setdefault((one.plan_id, one.executors), []).append(one)
        found[name] = tuple(
            _even_run(group, held=any((plan_id, one) in pressed for one in after))
            for (plan_id, _), group in groups.items()
        )
    return found


def _even_run(group: list[Saturation], *, held: bool) -> OperatorRun:
    """Of input, output and back-pressure by step."""
    figures = bounded(
        [(one.input_per_second, one.output_per_second, one.backpressure) for one in group]
    )
    executors = group[0].executors
    each = np.full((1, executors), 1.0 / executors)
    return OperatorRun(
        plan_id=group[0].plan_id,
        executors=executors,
        demand=figures[:, :1] * each,
        emitted=figures[:, 1:2] * each,
        pressure=np.repeat(figures[:, 2:], executors, axis=1),
        sent=np.full(len(figures), np.nan),
        held=np.full(len(figures), held),
        cores=np.full(len(figures), np.nan),
        by_executor=False,
    )
