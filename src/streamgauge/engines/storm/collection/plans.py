"""From what is seen of a topology to its plan: a job file, and who runs where."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from streamgauge.engines.storm.collection.snapshot import Component, Host, TopologySnapshot
from streamgauge.errors import InvalidInput
from streamgauge.lake.plans import plan_id_of
from streamgauge.lake.records import PlacedExecutor, Plan
from streamgauge.profile.files.jobs import job_to_data
from streamgauge.profile.job import Assignment, Job
from streamgauge.topology.cluster import FIRST_PORT, MAX_PORT, Cluster, Machine, Node, Slot
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.files.document import dump_json
from streamgauge.topology.logical_plan import Executor
from streamgauge.topology.topology import ACKER, Operator, OperatorKind, Stream, Topology
from streamgauge.transport.engine import load_engine

_ABOUT = "Collected from a running cluster. Cores are those that supervisors declare."


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningPlan:
    """A plan that is in place.

    Attributes:
        job: As a file would describe it.
        executors: Who runs where, with the engine's numbers of the tasks.
        notes: What could not be described.
    """

    job: Job
    executors: tuple[PlacedExecutor, ...]
    notes: tuple[str, ...] = ()

    @property
    def plan_id(self) -> str:
        """The same for the same placement."""
        return plan_id_of(self.executors)

    def is_that_of(self, record: Plan) -> bool:
        """Whether a plan that was recorded is still this: its placement, topology and settings."""
        if record.plan_id != self.plan_id:
            return False
        then, now = json.loads(record.document), json.loads(dump_json(job_to_data(self.job)))
        return all(then.get(part) == now.get(part) for part in ("topology", "configuration"))

    def record(self, cluster: str | None, valid_from_us: int) -> Plan:
        """The plan, which lasts."""
        return Plan(
            cluster=cluster,
            topology=self.job.topology.name,
            plan_id=self.plan_id,
            engine=self.job.configuration.engine,
            valid_from_us=valid_from_us,
            document=dump_json(job_to_data(self.job)),
            executors=self.executors,
        )


def describe_running_plan(snapshot: TopologySnapshot, hosts: Sequence[Host]) -> RunningPlan:
    """The plan of a topology whose executors have all reported.

    Raises:
        InvalidInput: A job file cannot describe it: it has no spout, or names that no file takes.
    """
    topology, notes = _topology(snapshot)
    ackers = sum(one.tasks for one in snapshot.components if one.name == ACKER)
    configuration = Configuration(
        engine=snapshot.engine,
        executors={
            one.name: one.executors
            for one in snapshot.components
            if one.name in topology.operator_names
        },
        workers=snapshot.workers,
        ackers=ackers if topology.acked else None,
        settings=snapshot.settings,
    )
    placed = sorted(snapshot.executors, key=lambda one: one.executor)
    places = [(one.executor, one.slot) for one in placed]
    job = Job(
        topology=topology,
        configuration=configuration,
        cluster=_cluster(hosts, [slot for _, slot in places]),
        about=_ABOUT,
    )
    if job.cluster is None:
        notes = (*notes, "the cores of nodes are not known; the plan's file has no cluster")
    else:
        try:
            job = replace(job, plan=_assignment(snapshot.engine, places))
        except InvalidInput:
            # Operators of the engine that a job file does not know have taken numbers of tasks.
            notes = (*notes, "tasks are not numbered as in a job file; it holds no placement")
    executors = tuple(
        PlacedExecutor(
            component=executor.operator,
            first_task=executor.first_task,
            last_task=executor.last_task,
            worker=str(slot),
            node=slot.node,
        )
        for executor, slot in places
    )
    return RunningPlan(
        job=job,
        executors=executors,
        notes=(*snapshot.notes, *notes),
    )


def _topology(snapshot: TopologySnapshot) -> tuple[Topology, tuple[str, ...]]:
    """The topology as far as tuples of its spouts come, and what is beyond that."""
    own = {one.name: one for one in snapshot.components if one.name != ACKER}
    streams = [one for one in snapshot.streams if one.source in own and one.target in own]
    reached = _reached((one.name for one in own.values() if one.is_spout), streams)
    beyond = sorted(set(own) - reached)
    first_task = {one.executor.operator: one.executor.first_task for one in snapshot.executors}
    described = sorted(
        (one for one in own.values() if one.name in reached),
        key=lambda one: (not one.is_spout, first_task.get(one.name, 0), one.name),
    )
    topology = Topology(
        name=snapshot.listed.name,
        operators=tuple(_operator(one) for one in described),
        streams=tuple(
            sorted(
                (one for one in streams if one.source in reached),
                key=lambda one: (one.source, one.name, one.target),
            )
        ),
        acked=any(one.name == ACKER and one.tasks for one in snapshot.components),
    )
    if not beyond:
        return topology, ()
    return topology, (f"no spout reaches {', '.join(beyond)}; left out of the plan's file",)


def _operator(component: Component) -> Operator:
    kind = OperatorKind.SOURCE if component.is_spout else OperatorKind.PROCESSOR
    return Operator(name=component.name, kind=kind, tasks=component.tasks)


def _reached(spouts: Iterable[str], streams: Iterable[Stream]) -> set[str]:
    targets: dict[str, list[str]] = {}
    for stream in streams:
        targets.setdefault(stream.source, []).append(stream.target)
    reached = set(spouts)
    frontier = list(reached)
    while frontier:
        new = [name for name in targets.get(frontier.pop(), ()) if name not in reached]
        reached.update(new)
        frontier += new
    return reached


def _cluster(hosts: Sequence[Host], slots: Iterable[Slot]) -> Cluster | None:
    """The nodes with as many slots as they say; ports that nobody uses are not known."""
    used: dict[str, set[int]] = {}
    for slot in slots:
        used.setdefault(slot.node, set()).add(slot.port)
    known: dict[str, Host] = {}
    for host in hosts:
        # Several supervisors of one name are one node with all their slots.
        other = known.get(host.name)
        known[host.name] = host if other is None else replace(host, slots=host.slots + other.slots)
    cores = {name: one.cores for name, one in sorted(known.items()) if one.cores is not None}
    if not used.keys() <= known.keys() or len(cores) < len(known):
        return None
    return Cluster(
        machines=tuple(
            Machine(name=name, cores=count, memory_bytes=known[name].memory_bytes)
            for name, count in cores.items()
        ),
        nodes=tuple(
            Node(name=name, machine=name, ports=_ports(known[name].slots, used.get(name, ())))
            for name in cores
        ),
    )


def _ports(slots: int, used: Iterable[int]) -> tuple[int, ...]:
    ports = sorted(used)
    fresh = (port for port in range(FIRST_PORT, MAX_PORT + 1) if port not in set(ports))
    while len(ports) < max(slots, 1):
        ports.append(next(fresh))
    return tuple(sorted(ports))


def _assignment(engine: str, places: Iterable[tuple[Executor, Slot]]) -> Assignment:
    workers: dict[Slot, list[str]] = {}
    for executor, slot in places:
        workers.setdefault(slot, []).append(executor.label)
    return Assignment(
        workers=tuple((slot, tuple(labels)) for slot, labels in sorted(workers.items())),
        task_order=load_engine(engine).task_order,
    )
