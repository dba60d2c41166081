"""First fit: executors go, one after the other, into the first slot that holds them.

Storm 1.x's resource-aware scheduler, which Pagliari 2021, section 2.2.3, describes: cores and
memory are limits of a machine, the heap is one of a worker, and slots are looked at in an order
that is found once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from streamgauge.errors import Infeasible
from streamgauge.planning.scheduling.needs import Needs, mebibytes
from streamgauge.topology.cluster import Cluster, Machine, Node, Slot
from streamgauge.topology.logical_plan import Executor, LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan

# Needs are summed in floating point: 26 × 0.3 and 2 × 0.1 must fill 8 cores, not exceed them.
SLACK = 1e-9
MAX_NAMED = 8


class Packing:
    """What is left of a cluster while executors are put into it.

    Room only shrinks: a slot that is too small for some needs stays so. A place in the order of
    the slots is kept for each kind of needs, and no slot is looked at twice.
    """

    def __init__(self, cluster: Cluster, taken: Collection[Slot], heap_bytes: float) -> None:
        self.cluster = cluster
        self.slots = nearest_slots(cluster, taken)
        self.placed: dict[Executor, int] = {}
        self._machines = [cluster.machine_of(slot.node).name for slot in self.slots]
        self._cores = {one.name: one.cores - one.background_cores for one in cluster.machines}
        self._memory = {
            one.name: float("inf") if one.memory_bytes is None else float(one.memory_bytes)
            for one in cluster.machines
        }
        self._heaps = [float(heap_bytes)] * len(self.slots)
        self._next: dict[Needs, int] = {}

    def put(self, executor: Executor, needs: Needs) -> bool:
        """Whether there was a slot for it."""
        start = self._next.get(needs, 0)
        found = next((at for at in range(start, len(self.slots)) if self._holds(at, needs)), None)
        self._next[needs] = len(self.slots) if found is None else found
        if found is None:
            return False
        self._cores[self._machines[found]] -= needs.cores
        self._memory[self._machines[found]] -= needs.memory_bytes
        self._heaps[found] -= needs.memory_bytes
        self.placed[executor] = found
        return True

    @property
    def workers(self) -> tuple[int, ...]:
        """The slots in use, in the order of their first executor."""
        return tuple(dict.fromkeys(self.placed.values()))

    def plan(self, logical: LogicalPlan) -> PhysicalPlan:
        """What was put where; every executor of `logical` must have been."""
        rank = {slot: index for index, slot in enumerate(self.workers)}
        return PhysicalPlan.from_slots(
            logical,
            self.cluster,
            [self.slots[slot] for slot in rank],
            [rank[self.placed[executor]] for executor in logical.executors],
        )

    def shortage(self, needs: Needs) -> str:
        """Why no slot holds these needs."""
        machines = set(self._machines)
        if not machines:
            return "no slot is free"
        left = {
            "cores": max(self._cores[one] for one in machines),
            "memory": max(self._memory[one] for one in machines),
            "heap": max(self._heaps),
        }
        short = []
        if not _fits(needs.cores, left["cores"]):
            short.append(f"at most {left['cores']:.4g} cores are left on a machine")
        if not _fits(needs.memory_bytes, left["memory"]):
            short.append(f"at most {mebibytes(left['memory'])} are left on a machine")
        if not _fits(needs.memory_bytes, left["heap"]):
            short.append(f"at most {mebibytes(left['heap'])} of heap are left in a slot")
        return ", ".join(short) or "no slot has cores, memory and heap for it at once"

    def _holds(self, slot: int, needs: Needs) -> bool:
        machine = self._machines[slot]
        return (
            _fits(needs.cores, self._cores[machine])
            and _fits(needs.memory_bytes, self._memory[machine])
            and _fits(needs.memory_bytes, self._heaps[slot])
        )


def infeasible(
    packing: Packing, logical: LogicalPlan, unplaced: Sequence[tuple[Executor, Needs]]
) -> Infeasible:
    """The error that names the executors without a slot, and what was short."""
    names = [executor.label for executor, _ in unplaced]
    listed = ", ".join(names[:MAX_NAMED])
    if len(names) > MAX_NAMED:
        listed += f" and {len(names) - MAX_NAMED} more"
    reasons = "; ".join(
        f"one of {operator} needs {needs}, and {packing.shortage(needs)}"
        for operator, needs in dict.fromkeys((one.operator, needs) for one, needs in unplaced)
    )
    return Infeasible(
        f"not enough resources for {logical.topology.name!r}: {len(names)} of "
        f"{len(logical.executors)} executors have no slot: {listed}. {reasons}. Add machines, "
        "slots or heap, ask for fewer executors or ackers, or declare smaller needs"
    )


def nearest_slots(cluster: Cluster, taken: Collection[Slot] = ()) -> tuple[Slot, ...]:
    """The free slots in the order in which Storm 1.x fills them.

    Racks, and nodes in a rack, by what they have of the whole: the smaller of their shares of
    cores and of memory first, then the mean of both, then the name. No rack or node has executors
    of the topology yet, which would come before all this, and the order is found once. Slots of a
    node come by port.
    """
    occupied = set(taken)
    racks: dict[str, list[Node]] = {}
    for node in cluster.nodes:
        racks.setdefault(node.rack, []).append(node)
    rooms = {rack: _Room.of(_machines(cluster, nodes)) for rack, nodes in racks.items()}
    whole = _Room.of(cluster.machines)
    ordered = []
    for rack in sorted(racks, key=lambda rack: (*rooms[rack].rank_in(whole), rack)):
        ranks = {
            node: _Room.of(_machines(cluster, [node])).rank_in(rooms[rack]) for node in racks[rack]
        }
        ordered += sorted(ranks, key=lambda node: (*ranks[node], node.name))
    return tuple(slot for node in ordered for slot in node.slots if slot not in occupied)


class _Room(NamedTuple):
    """Cores and memory of some machines; no memory where one's is unknown."""

    cores: float
    memory_bytes: float | None

    @classmethod
    def of(cls, machines: Iterable[Machine]) -> _Room:
        cores, memory = 0.0, 0.0
        known = True
        for machine in machines:
            cores += machine.cores - machine.background_cores
            memory += machine.memory_bytes or 0
            known = known and machine.memory_bytes is not None
        return cls(cores, memory if known else None)

    def rank_in(self, whole: _Room) -> tuple[float, float]:
        """Smallest first: minus the smaller of the shares in the whole, minus their mean."""
        shares = [self.cores / whole.cores if whole.cores > 0.0 else 0.0]
        if self.memory_bytes is not None and whole.memory_bytes:
            shares.append(self.memory_bytes / whole.memory_bytes)
        return -min(shares), -sum(shares) / len(shares)


def _machines(cluster: Cluster, nodes: Iterable[Node]) -> Collection[Machine]:
    return {node.machine: cluster.machine_of(node.name) for node in nodes}.values()


def _fits(need: float, room: float) -> bool:
    return need <= room + SLACK * max(need, 1.0)
