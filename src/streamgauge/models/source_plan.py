"""What a profile itself says of plan and load: the plan it was measured on, and the rates there."""

from __future__ import annotations

from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.profile.profile import Profile
from streamgauge.topology.cluster import Cluster, Machine, Node, Slot
from streamgauge.topology.logical_plan import Executor, LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.workload import Emission, Workload
from streamgauge.transport.engine import load_engine


def measured_plan(profile: Profile) -> PhysicalPlan:
    """The plan that a profile was measured on.

    Engines number tasks as they like; executors are matched by their rank in their operator.

    Raises:
        InvalidInput: A worker of the profile is not NODE:PORT, or not of its cluster.
        NotEnoughData: The profile does not say where its executors ran.
    """
    configuration = profile.configuration
    order = load_engine(configuration.engine).task_order
    logical = LogicalPlan.of(profile.topology, configuration, task_order=order)
    by_operator: dict[str, list[Executor]] = {}
    for label in profile.placement:
        executor = Executor.parse(label)
        by_operator.setdefault(executor.operator, []).append(executor)
    slots: dict[Slot, list[str]] = {}
    for name in logical.spans:
        executors = logical.executors_of(name)
        placed = sorted(by_operator.get(name, []))
        if len(placed) != len(executors):
            raise NotEnoughData(
                f"the profile places {len(placed)} executors of {name}, its configuration has"
                f" {len(executors)}: name the plan to predict, or profile a period with one plan"
            )
        for mine, theirs in zip(executors, placed, strict=True):
            slots.setdefault(_slot(profile.placement[theirs.label]), []).append(mine.label)
    cluster = profile.cluster or _cluster(list(slots))
    return PhysicalPlan.explicit(logical, cluster, slots)


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
