"""Small jobs and clusters for tests of schedulers."""

from streamgauge.topology import (
    Cluster,
    Configuration,
    Machine,
    Node,
    Operator,
    OperatorKind,
    Resources,
    Shuffle,
    Stream,
    Topology,
)
from streamgauge.topology.physical_plan import PhysicalPlan

MEGABYTE = 2**20
HEAP = "topology.worker.max.heap.size.mb"


def topology(*edges: str, acked: bool = False, grouping=Shuffle(), **tasks: int) -> Topology:  # noqa: B008
    """Operators of so many tasks, edges written "a-b"; the first operator is the source."""
    operators = [
        Operator(
            name=name,
            tasks=count,
            kind=OperatorKind.PROCESSOR if index else OperatorKind.SOURCE,
        )
        for index, (name, count) in enumerate(tasks.items())
    ]
    ends = (edge.split("-") for edge in edges)
    streams = [Stream(source=a, target=b, grouping=grouping) for a, b in ends]
    return Topology(name="t", operators=operators, streams=streams, acked=acked)


def figure_2_1(*, acked: bool = False) -> Topology:
    """Pagliari 2021, Figure 2.1."""
    edges = ("S-B1", "S-B2", "B1-B3", "B2-B3")
    return topology(*edges, acked=acked, S=2, B1=2, B2=2, B3=1)


def configured(
    made: Topology, *, cores: float = 0.1, megabytes: int = 128, heap: int = 1024, **given
) -> Configuration:
    """One executor a task, every one with the same needs."""
    needs = Resources(cpu_cores=cores, memory_bytes=megabytes * MEGABYTE)
    names = made.operator_names
    return Configuration(
        **{
            "executors": {op.name: op.tasks for op in made.operators},
            "resources": dict.fromkeys(names, needs),
            "settings": {HEAP: heap},
            **given,
        }
    )


def racks(**nodes: tuple[int, int]) -> Cluster:
    """Racks of so many nodes with so much memory in GB, 20 slots and 8 cores each."""
    machines, made = [], []
    for rack, (count, gigabytes) in nodes.items():
        for number in range(1, count + 1):
            name = f"{rack}-{number:02}"
            machines.append(Machine(name=name, cores=8, memory_bytes=gigabytes * 2**30))
            made.append(Node(name=name, machine=name, ports=tuple(range(1, 21)), rack=rack))
    return Cluster(machines=machines, nodes=made)


def placed(plan: PhysicalPlan) -> dict[str, list[str]]:
    """The operators of the executors of every worker, sorted."""
    return {
        str(worker): sorted(executor.operator for executor in plan.executors_in(worker))
        for worker in plan.workers
    }
