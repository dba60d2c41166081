"""The schedulers of Pagliari 2021 a second time: plain first fit, one executor after another.

Sections 2.2.3 (Even, Algorithm 1; resource-aware, Algorithm 2) and 3.4 (number of ackers, One-
per-Worker, Isolated Queue), with the order of racks and nodes of Storm 1's default strategy.

    components = {"spout": {"parallelism": 2, "cpu": 50, "memory": 128}, ...}
    edges = {"spout": ["bolt"], ...}
    nodes = [{"id": 1, "rack": "a", "cpu": 800, "memory": 32768, "slots": 20}, ...]

CPU is in hundredths of a core, memory and `heap` (of one worker) in MB. A placement maps
executors ("bolt", 0) to workers (node id, slot number) in order of assignment; ackers are
("acker", i). It is None where something does not fit: then nothing is scheduled.
"""

from fractions import Fraction
from typing import Any

Components = dict[str, dict[str, Any]]
Edges = dict[str, list[str]]
Nodes = list[dict[str, Any]]
Executor = tuple[str, int]
Placement = dict[Executor, tuple[Any, int]]


def connections(components: Components, edges: Edges, one: str) -> dict[str, int]:
    """Neighbours of a component and the links between their executors and its own."""
    near = list(edges.get(one, [])) + [p for p in components if one in edges.get(p, [])]
    own = components[one]["parallelism"]
    return {other: own * components[other]["parallelism"] for other in near}


def executor_order(components: Components, edges: Edges) -> list[Executor]:
    """Most connected components first, each in turns with its neighbours; ties by name."""
    links = {c: connections(components, edges, c) for c in components}
    waiting = {c: [(c, i) for i in range(components[c]["parallelism"])] for c in components}
    order: list[Executor] = []
    for c in sorted(components, key=lambda c: (-sum(links[c].values()), c)):
        turn = [c, *sorted(links[c], key=lambda other: (-links[c][other], other))]
        while any(waiting[member] for member in turn):
            order += [waiting[member].pop(0) for member in turn if waiting[member]]
    return order


def by_resources(groups: dict[Any, Nodes]) -> list[Any]:
    """Names by the smaller of the shares of CPU and memory, their mean, then by name."""
    cpu = {name: sum(n["cpu"] for n in nodes) for name, nodes in groups.items()}
    memory = {name: sum(n["memory"] for n in nodes) for name, nodes in groups.items()}

    def rank(name: Any) -> tuple[Any, ...]:
        shares = (
            Fraction(cpu[name]) / Fraction(sum(cpu.values())),
            Fraction(memory[name]) / Fraction(sum(memory.values())),
        )
        return (-min(shares), -sum(shares), name)

    return sorted(groups, key=rank)


def node_order(nodes: Nodes) -> Nodes:
    """Rack by rack; the order is found once, before anything is placed."""
    racks: dict[Any, Nodes] = {}
    for node in nodes:
        racks.setdefault(node["rack"], []).append(node)
    ordered: Nodes = []
    for rack in by_resources(racks):
        singles = {node["id"]: [node] for node in racks[rack]}
        ordered += [singles[name][0] for name in by_resources(singles)]
    return ordered


def first_fit(
    demands: list[tuple[Executor, Any, Any]], nodes: Nodes, heap: Any
) -> Placement | None:
    """Each executor with its CPU and memory to the first node, there the first slot, with room."""
    ordered = node_order(nodes)
    cpu = {node["id"]: node["cpu"] for node in ordered}
    memory = {node["id"]: node["memory"] for node in ordered}
    room = {(node["id"], slot): heap for node in ordered for slot in range(node["slots"])}
    placement: Placement = {}
    for executor, needed_cpu, needed_memory in demands:
        for worker, heap_left in room.items():
            name = worker[0]
            fits_node = cpu[name] >= needed_cpu and memory[name] >= needed_memory
            if fits_node and heap_left >= needed_memory:
                break
        else:
            return None
        placement[executor] = worker
        cpu[name] -= needed_cpu
        memory[name] -= needed_memory
        room[worker] -= needed_memory
    return placement


def ackers_named(count: int) -> list[Executor]:
    return [("acker", i) for i in range(count)]


def ras(
    components: Components,
    edges: Edges,
    nodes: Nodes,
    heap: Any,
    ackers: int = 0,
    acker_cpu: Any = 10,
    acker_memory: Any = 128,
) -> Placement | None:
    """Algorithm 2; ackers come last, like any executor."""
    demands = [
        ((c, i), components[c]["cpu"], components[c]["memory"])
        for c, i in executor_order(components, edges)
    ]
    demands += [(acker, acker_cpu, acker_memory) for acker in ackers_named(ackers)]
    return first_fit(demands, nodes, heap)


def opw(
    components: Components, edges: Edges, nodes: Nodes, heap: Any, ackers: int
) -> Placement | None:
    """Algorithm 3: ackers in turn to the workers in use."""
    placement = ras(components, edges, nodes, heap)
    if placement is None:
        return None
    used = list(dict.fromkeys(placement.values()))
    return placement | {acker: used[acker[1] % len(used)] for acker in ackers_named(ackers)}


def iq(
    components: Components, edges: Edges, nodes: Nodes, heap: Any, ackers: int
) -> Placement | None:
    """Algorithm 4: ackers in turn to the nodes in use, there to a worker of their own.

    None where a node has no slot left for that worker: the thesis says nothing of it.
    """
    placement = ras(components, edges, nodes, heap)
    if placement is None:
        return None
    used = list(dict.fromkeys(node for node, _ in placement.values()))
    slots = {node["id"]: node["slots"] for node in nodes}
    taken = set(placement.values())
    for acker in ackers_named(ackers):
        node = used[acker[1] % len(used)]
        free = [slot for slot in range(slots[node]) if (node, slot) not in taken]
        if not free:
            return None
        placement[acker] = (node, free[0])
    return placement


def even(components: Components, nodes: Nodes, workers: int, ackers: int) -> Placement:
    """Algorithm 1: executors in order of declaration, ackers last, dealt out to the workers."""
    slots = [(slot, at) for at, node in enumerate(nodes) for slot in range(node["slots"])]
    chosen = [(nodes[at]["id"], slot) for slot, at in sorted(slots)][:workers]
    executors = [(c, i) for c in components for i in range(components[c]["parallelism"])]
    executors += ackers_named(ackers)
    return {executor: chosen[i % len(chosen)] for i, executor in enumerate(executors)}


def estimated_ackers(executors: int, cpu: int, memory: int, node_cpu: int, heap: int) -> int:
    """Section 3.4: nodes needed, times the workers of a full node, for uniform needs."""
    per_node = node_cpu // cpu
    per_worker = heap // memory
    needed_nodes = -(-executors // per_node)
    workers_per_node = -(-per_node // per_worker)
    return needed_nodes * workers_per_node


def counts(placement: Placement | None) -> tuple[int, int, int] | None:
    """Workers, nodes and ackers, the columns of Tables 3.1 and 3.2."""
    if placement is None:
        return None
    workers = set(placement.values())
    ackers = sum(component == "acker" for component, _ in placement)
    return len(workers), len({node for node, _ in workers}), ackers


def word_count(parallelism: tuple[int, int, int, int], cpu: int, memory: int) -> Components:
    """Section 3.5.2: generators, counters, rankers and merger of equal needs."""
    names = ("generator", "counter", "ranker", "merger")
    return {
        name: {"parallelism": k, "cpu": cpu, "memory": memory}
        for name, k in zip(names, parallelism, strict=True)
    }


LARGE = (75, 150, 150, 1)
SMALL = (5, 10, 10, 1)
WORD_COUNT_EDGES: Edges = {
    "generator": ["counter"],
    "counter": ["ranker"],
    "ranker": ["merger"],
}
HEAP = 1024
CLUSTER: Nodes = [
    {"id": i, "rack": "sophia", "cpu": 800, "memory": 32768, "slots": 20} for i in range(16)
]


def word_count_row(
    scheduler: str, parallelism: tuple[int, int, int, int], cpu: int, memory: int
) -> tuple[int, int, int] | None:
    """A row of Table 3.1 or 3.2 for "ras", "opw" or "iq" with the estimated ackers."""
    components = word_count(parallelism, cpu, memory)
    ackers = estimated_ackers(sum(parallelism), cpu, memory, CLUSTER[0]["cpu"], HEAP)
    place = {"ras": ras, "opw": opw, "iq": iq}[scheduler]
    return counts(place(components, WORD_COUNT_EDGES, CLUSTER, HEAP, ackers))
