"""Who is who in a plan: numbers of tasks, their places within operators, and their cluster."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from streamgauge.lake.records import PlacedExecutor, Plan
from streamgauge.profile.figures import HostFigures, TaskId, WorkerFigures
from streamgauge.profile.files.jobs import parse_job
from streamgauge.topology.cluster import Cluster, Machine, Node
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.logical_plan import Executor
from streamgauge.topology.topology import OperatorKind, StreamKey


class Subject(NamedTuple):
    """Whoever figures are about: `kind` and what names it."""

    kind: str
    name: str
    task: int = -1
    queue: str = ""


class Roster:
    """A plan as it was recorded.

    Args:
        plan: With the job file and the executors.

    Attributes:
        job: The job.
        topology: The job's topology with its ackers.
        tasks: Every task of the plan, in the topology's order, as figures name it.
        executor_of: The label of every task's executor.
        placement: Executor label → worker.
        unplaced: Tasks of the plan that the topology does not have.

    Raises:
        InvalidInput: The plan's document is no job file.
    """

    def __init__(self, plan: Plan) -> None:
        self.job = parse_job(plan.document, name=f"plan {plan.plan_id} of {plan.topology}")
        self.topology = self.job.topology.with_ackers(self.job.configuration.acker_count)
        self.tasks: dict[TaskId, Subject] = {}
        self.executor_of: dict[TaskId, str] = {}
        self.placement: dict[str, str] = {}
        self.unplaced: list[str] = []
        self._places: dict[str, dict[int, int]] = {}
        self._inputs = {
            name: tuple(dict.fromkeys(one.key for one in self.topology.streams_into(name)))
            for name in self.topology.operator_names
        }
        by_component: dict[str, list[PlacedExecutor]] = {}
        for executor in sorted(plan.executors, key=lambda one: (one.first_task, one.component)):
            by_component.setdefault(executor.component, []).append(executor)
            self.placement[label_of(executor)] = executor.worker
        for name in self.topology.operator_names:
            self._number(name, by_component.pop(name, []))
        for executors in by_component.values():
            self.unplaced += [label_of(one) for one in executors]

    def _number(self, name: str, executors: list[PlacedExecutor]) -> None:
        most = self.topology.operator(name).tasks
        places = self._places.setdefault(name, {})
        for executor in executors:
            for number in range(executor.first_task, executor.last_task + 1):
                if len(places) == most:
                    self.unplaced.append(f"{name} {number}")
                    continue
                task = TaskId(name, len(places))
                places[number] = task.place
                self.tasks[task] = Subject("task", name, number)
                self.executor_of[task] = label_of(executor)

    def place_of(self, operator: str, number: int) -> int | None:
        """The place of a task among its operator's, by the engine's number."""
        return self._places.get(operator, {}).get(number)

    def task_count(self, operator: str) -> int:
        """Tasks of an operator."""
        return self.topology.operator(operator).tasks

    def inputs(self, operator: str) -> tuple[StreamKey, ...]:
        """Streams into an operator, the engine's own included."""
        return self._inputs.get(operator, ())

    def receives(self, operator: str, key: StreamKey) -> bool:
        """Whether a stream goes to an operator."""
        return key in self.inputs(operator)

    def outputs(self, operator: str) -> tuple[str, ...]:
        """Names of the streams of an operator."""
        return tuple(dict.fromkeys(one.name for one in self.topology.streams_from(operator)))

    def subscribers(self, operator: str, name: str) -> tuple[str, ...]:
        """Who gets a stream."""
        return tuple(one.target for one in self.topology.streams_from(operator) if one.name == name)

    def is_source(self, operator: str) -> bool:
        """Whether an operator of that name is a source."""
        return any(source.name == operator for source in self.topology.sources)

    @property
    def operators(self) -> tuple[str, ...]:
        """All but the ackers."""
        return tuple(
            one.name for one in self.topology.operators if one.kind is not OperatorKind.ACKER
        )


def label_of(executor: PlacedExecutor) -> str:
    """``splitter[7-8]``, as everywhere."""
    return Executor(executor.first_task, executor.last_task, executor.component).label


def find_cluster(
    declared: Cluster | None,
    plan: Plan,
    machines: Mapping[str, HostFigures],
    workers: Mapping[str, WorkerFigures] = FrozenDict(),
) -> Cluster | None:
    """The cluster that was declared, else what was seen of it.

    What a machine used beyond the job's workers is its background load, where all were measured and
    nothing else was declared.
    """
    cluster = declared or _seen_cluster(plan, machines)
    if cluster is None:
        return None
    machine_of = {node.name: node.machine for node in cluster.nodes}
    slots = {executor.worker: machine_of.get(executor.node) for executor in plan.executors}
    return replace(
        cluster,
        machines=tuple(
            replace(
                one,
                background_cores=_find_background(
                    one,
                    machines[one.name],
                    [workers.get(slot) for slot, machine in slots.items() if machine == one.name],
                ),
            )
            if one.background_cores == 0.0 and one.name in machines
            else one
            for one in cluster.machines
        ),
    )


def _seen_cluster(plan: Plan, machines: Mapping[str, HostFigures]) -> Cluster | None:
    """Nodes with the slots that executors were in, on the machines whose cores were measured.

    A worker knows its own machine only. Of another node the machine is taken to be the one that has
    its name, with or without a domain; where there is none the cluster is not known.
    """
    cores = {name: one.available.value for name, one in machines.items() if one.available}
    ports: dict[str, set[int]] = {}
    machine_of: dict[str, str] = {}
    for executor in plan.executors:
        port = executor.worker.rpartition(":")[2]
        if not port.isdecimal():
            return None
        ports.setdefault(executor.node, set()).add(int(port))
        machine = executor.machine or _namesake(executor.node, cores)
        if machine is not None:
            machine_of[executor.node] = machine
    if not ports or any(cores.get(machine_of.get(node, ""), 0.0) <= 0.0 for node in ports):
        return None
    return Cluster(
        machines=tuple(
            Machine(name=name, cores=cores[name]) for name in sorted(set(machine_of.values()))
        ),
        nodes=tuple(
            Node(name=node, machine=machine_of[node], ports=tuple(sorted(slots_there)))
            for node, slots_there in sorted(ports.items())
        ),
    )


def _find_background(
    machine: Machine, measured: HostFigures, workers: Sequence[WorkerFigures | None]
) -> float:
    """Cores that everything but these workers used, to the nearest of ten thousand parts."""
    known = [one.cores.value for one in workers if one is not None and one.cores is not None]
    if measured.cores is None or len(known) < len(workers):
        return 0.0
    others = measured.cores.value - math.fsum(known)
    # Times of machines are counted in larger steps: what is left may be less than nothing.
    return min(max(round(others, 4), 0.0), machine.cores)


def _namesake(node: str, machines: Mapping[str, float]) -> str | None:
    if node in machines:
        return node
    short = node.partition(".")[0]
    alike = [name for name in machines if name.partition(".")[0] == short]
    # Addresses of one network begin alike and are no names.
    return alike[0] if len(alike) == 1 and not short.isdecimal() else None
