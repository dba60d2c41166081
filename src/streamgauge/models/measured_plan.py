"""The plan that a profile was measured on: its rates, how crowded it was, and its own prediction.

Crowding: the wall-clock time beyond a tuple's time on a core is waiting only where cores were to be
had. On a crowded plan part of it is the crowd's, which another plan may not have (Cooper 2020,
section 5.5: errors of 20 to 300 %). `find_crowding` computes the stretch of every thread, or takes
the slowdown of threads that was measured.

Measured parameters are the profile's own plan with what was seen of it, and nothing predicted:
shares, rates and service times executor by executor, contention included. What then differs from
the measured latency is the fault of queueing and windows alone (section 5.7 checks the core of the
model so).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.models.cpu_contention import measure_stretch
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.load_limit import Loaded, load, machine_of_executor
from streamgauge.models.machine_threads import Machines, MeasuredThreads
from streamgauge.models.parameters import Parameters, find_parameters
from streamgauge.models.routing import keyed_shares
from streamgauge.models.traffic_equations import Rates, Vector
from streamgauge.models.worker_cpu import machine_of_worker, sum_at
from streamgauge.profile.figures import InputFigures, OutputFigures, TaskProfile, TimeFigures
from streamgauge.profile.pooling import pool_slowdown, pool_times
from streamgauge.profile.profile import Profile
from streamgauge.topology.cluster import Cluster, Machine, Node, Slot
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.logical_plan import Executor, LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import ACKER, OperatorKind, Topology
from streamgauge.topology.tuple_flow import TupleFlow
from streamgauge.topology.workload import Emission, Workload
from streamgauge.transport.engine import load_engine
from streamgauge.transport.mechanics import Mechanics

SECONDS_PER_MS = 1e-3
# A slowdown that was measured counts where its standard error is at most this part of it.
WELL_KNOWN = 0.1


def measured_plan(profile: Profile) -> PhysicalPlan:
    """The plan that a profile was measured on.

    Engines number tasks as they like; executors are matched by their rank in their operator.

    Raises:
        InvalidInput: A worker of the profile is not NODE:PORT, or not of its cluster.
        NotEnoughData: The profile does not say where its executors ran.
    """
    return place_as_measured(
        profile.topology, profile.configuration, profile.placement, profile.cluster
    )


def place_as_measured(
    topology: Topology,
    configuration: Configuration,
    placement: Mapping[str, str],
    cluster: Cluster | None,
) -> PhysicalPlan:
    """The plan whose executors an engine placed so, by their labels and workers there.

    Without a cluster, one of the workers' nodes is assumed, with a core for each worker.

    Raises:
        InvalidInput: A worker is not NODE:PORT, or not of the cluster.
        NotEnoughData: Executors of the configuration are missing.
    """
    order = load_engine(configuration.engine).task_order
    logical = LogicalPlan.of(topology, configuration, task_order=order)
    slots: dict[Slot, list[str]] = {}
    for executor, label in zip(logical.executors, match_executors(placement, logical), strict=True):
        slots.setdefault(_slot(placement[label]), []).append(executor.label)
    return PhysicalPlan.explicit(logical, cluster or _cluster(list(slots)), slots)


def match_executors(placement: Mapping[str, str], logical: LogicalPlan) -> list[str]:
    """What an engine that placed executors so calls each of a plan, in the order of these.

    Raises:
        NotEnoughData: Executors of the plan are missing.
    """
    by_operator: dict[str, list[Executor]] = {}
    for label in placement:
        executor = Executor.parse(label)
        by_operator.setdefault(executor.operator, []).append(executor)
    labels = []
    for name in logical.spans:
        executors = logical.executors_of(name)
        placed = sorted(by_operator.get(name, []))
        if len(placed) != len(executors):
            raise NotEnoughData(
                f"the profile places {len(placed)} executors of {name}, its configuration has"
                f" {len(executors)}: name the plan to predict, or profile a period with one plan"
            )
        labels += [one.label for one in placed]
    return labels


def measured_workload(profile: Profile) -> Workload:
    """What the sources emitted on the mean while the profile was measured.

    Raises:
        NotEnoughData: The rate of a source was not measured.
    """
    emissions, missing = [], []
    for source in profile.topology.sources:
        for name in dict.fromkeys(one.name for one in profile.topology.streams_from(source.name)):
            figures = [
                task.outputs[name].per_second
                for task in profile.tasks_of(source.name).values()
                if name in task.outputs
            ]
            known = [one.value for one in figures if one is not None]
            if not known:
                missing.append(f"{source.name}/{name}")
                continue
            emissions.append(Emission(source=source.name, stream=name, per_second=sum(known)))
    if missing:
        raise NotEnoughData(
            f"what {', '.join(missing)} emits was not measured: give --rate, or a workload in the"
            " plan's file"
        )
    return Workload(emissions=tuple(emissions))


def _slot(worker: str) -> Slot:
    node, _, port = worker.rpartition(":")
    if not node or not port.isdecimal():
        raise InvalidInput.single(
            ("profile", "placement"), seen=f"worker {worker!r}", expected="NODE:PORT"
        )
    return Slot(node, int(port))


def _cluster(slots: list[Slot]) -> Cluster:
    """Nodes as far as executors ran on them, a machine with a core for each of its workers."""
    ports: dict[str, list[int]] = {}
    for slot in slots:
        ports.setdefault(slot.node, []).append(slot.port)
    return Cluster(
        machines=tuple(Machine(name=node, cores=float(len(used))) for node, used in ports.items()),
        nodes=tuple(
            Node(name=node, machine=node, ports=tuple(sorted(used))) for node, used in ports.items()
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenThreads:
    """The executors' threads of the plan that a profile was measured on.

    Attributes:
        slowdown: What the agent measured of each: how many times as long its work took for want
            of a core; NaN where it could not tell.
        slowdown_error: Standard error of that.
    """

    plan: PhysicalPlan
    threads: MeasuredThreads
    machines: Machines
    mechanics: Mechanics
    slowdown: Vector
    slowdown_error: Vector

    def stretch(self, balance_seconds: Vector | None = None) -> tuple[Vector, tuple[str, ...]]:
        """By thread, what sharing cores did to its CPU times by the formulas; and warnings."""
        machines = self.machines
        if balance_seconds is not None:
            machines = replace(machines, balance_seconds=balance_seconds)
        return measure_stretch(self.threads, machines, self.mechanics)


def see_threads(profile: Profile) -> SeenThreads | None:
    """None where the profile does not say on which machines its executors ran."""
    if profile.cluster is None or not profile.placement:
        return None
    try:
        plan = measured_plan(profile)
    except (InvalidInput, NotEnoughData):
        return None
    logical, configuration = plan.logical, plan.logical.configuration
    sources = {source.name for source in logical.topology.sources}
    loads = [
        _load(tasks, is_source=name in sources)
        for name in logical.spans
        for tasks in _tasks_by_executor(profile, logical, name)
    ]
    rate, wall, cpu = np.asarray(loads).T
    is_bolt = np.asarray([one.operator not in sources for one in logical.executors])
    mechanics = load_engine(configuration.engine).mechanics(configuration.settings)
    work = rate * np.where(np.isnan(cpu), 0.0, cpu)
    engine = _engine_cores(profile, plan, work, polls=is_bolt & (mechanics.bolt_spin > 0.0))
    measured = [
        None if figures is None else figures.slowdown
        for figures in map(profile.executors.get, match_executors(profile.placement, logical))
    ]
    return SeenThreads(
        plan=plan,
        threads=MeasuredThreads(
            machine=machine_of_executor(plan),
            rate=rate,
            wall_seconds=wall,
            cpu_seconds=cpu,
            polls=is_bolt,
        ),
        machines=replace(Machines.of(plan.cluster), engine_cores=engine),
        mechanics=mechanics,
        slowdown=np.asarray([math.nan if one is None else one.value for one in measured]),
        slowdown_error=np.asarray(
            [
                math.nan if one is None or one.standard_error is None else one.standard_error
                for one in measured
            ]
        ),
    )


def find_crowding(profile: Profile) -> tuple[dict[str, float], tuple[str, ...]] | None:
    """By operator, how many times as long its time on a core took, its executors by their load.

    With warnings; None where the profile does not say on which machines it was measured.
    """
    seen = see_threads(profile)
    if seen is None:
        return None
    stretch, warnings = seen.stretch()
    rate, stretches = seen.threads.rate, {}
    for name, span in seen.plan.logical.spans.items():
        known = [i for i in span if rate[i] > 0.0 and math.isfinite(stretch[i])]
        if known and name != ACKER:
            weights = rate[known]
            stretches[name] = float(weights @ stretch[known] / weights.sum())
    measured = {
        name: max(slowdown.value, 1.0)
        for name, slowdown in pool_slowdown(profile.executors).items()
        if slowdown.standard_error is not None
        and slowdown.standard_error <= WELL_KNOWN * slowdown.value
    }
    return {name: measured.get(name, by) for name, by in stretches.items()}, warnings


def _engine_cores(
    profile: Profile, plan: PhysicalPlan, work: Vector, *, polls: NDArray[np.bool_]
) -> Vector:
    """By machine, what workers used for anything but work, as far as that was measured.

    Without what idle threads polled, which is a part of what sharing does.
    """
    cores = [
        math.nan if figures is None or figures.cores is None else figures.cores.value
        for figures in map(profile.executors.get, match_executors(profile.placement, plan.logical))
    ]
    taken = sum_at(plan.placement, np.where(polls, cores, work), len(plan.workers))
    by_machine = np.zeros(len(plan.cluster.machines))
    for slot, machine, mine in zip(plan.workers, machine_of_worker(plan), taken, strict=True):
        figures = profile.workers.get(str(slot))
        if figures is not None and figures.cores is not None and not math.isnan(mine):
            by_machine[machine] += max(figures.cores.value - mine, 0.0)
    return by_machine


def _load(tasks: list[TaskProfile], *, is_source: bool) -> tuple[float, float, float]:
    """Jobs a second of an executor, and wall-clock and CPU seconds of each; NaN: not measured."""
    figures: list[InputFigures | OutputFigures] = []
    for task in tasks:
        figures += task.outputs.values() if is_source else task.inputs.values()
    rates = [0.0 if one.per_second is None else one.per_second.value for one in figures]
    total = math.fsum(rates)
    if total <= 0.0:
        return 0.0, 0.0, 0.0
    walls, cpus = 0.0, 0.0
    for one, rate in zip(figures, rates, strict=True):
        cpu = math.nan if one.cpu is None else one.cpu.mean_ms.value * SECONDS_PER_MS
        wall = cpu if one.wall is None else one.wall.mean_ms.value * SECONDS_PER_MS
        # What has no time at all, as the engine's own messages, takes none.
        if one.wall is None and one.cpu is None:
            continue
        walls += rate * wall
        cpus += rate * cpu
    return total, walls / total, cpus / total


def measured_parameters(profile: Profile) -> tuple[Parameters, Loaded]:
    """Routing, rates and service times as measured; work, and what was not seen, as predicted.

    Raises:
        NotEnoughData: The profile does not say where its executors ran, or what sources emitted.
    """
    plan = measured_plan(profile)
    behaviour = JobBehaviour.from_profile(profile)
    predicted = find_parameters(behaviour, plan, measured_workload(profile))
    flow = _routed(predicted.flow, behaviour)
    missing: list[str] = []
    parameters = replace(
        predicted, flow=flow, rates=_rates(flow, profile, predicted.rates, missing)
    )
    loaded = load(parameters)
    mean, variance = loaded.service.mean.copy(), loaded.service.variance.copy()
    for name, span in plan.logical.spans.items():
        of_source = plan.logical.topology.operator(name).kind is OperatorKind.SOURCE
        by_executor = _tasks_by_executor(profile, plan.logical, name)
        for index, tasks in zip(span, by_executor, strict=True):
            wall = _wall_time(tasks, of_source=of_source)
            if wall is not None:
                mean[index] = wall.mean_ms.value * SECONDS_PER_MS
                scv = 1.0 if wall.scv is None else wall.scv.value
                variance[index] = scv * mean[index] ** 2
    notes = predicted.notes
    if missing:
        notes = (*notes, f"rates that were not measured are predicted: {', '.join(missing)}")
    return (
        replace(parameters, notes=notes),
        replace(loaded, service=replace(loaded.service, mean=mean, variance=variance)),
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
                [task.inputs.get(stream.key) for task in tasks]
                for tasks in _tasks_by_executor(profile, logical, stream.target)
            ]
        )
        if came is not None:
            arrived[stream.subscription] = came
        elif not stream.is_system:
            missing.append(f"{stream.key} → {stream.target}")
    for key in predicted.emitted:
        left = _per_second(
            [
                [task.outputs.get(key.name) for task in tasks]
                for tasks in _tasks_by_executor(profile, logical, key.source)
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


def _tasks_by_executor(
    profile: Profile, logical: LogicalPlan, operator: str
) -> list[list[TaskProfile]]:
    """The profiled tasks of each executor of an operator."""
    tasks, start = profile.tasks_of(operator), logical.tasks_of(operator).start
    return [
        [tasks[task - start] for task in executor.tasks if task - start in tasks]
        for executor in logical.executors_of(operator)
    ]


def _wall_time(tasks: Iterable[TaskProfile], *, of_source: bool) -> TimeFigures | None:
    """Wall-clock time of a tuple, all inputs of all tasks of an executor."""
    figures = [
        one.wall
        for task in tasks
        for one in (task.outputs if of_source else task.inputs).values()
        if one.wall is not None
    ]
    return pool_times(figures)
