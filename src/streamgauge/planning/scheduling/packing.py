"""First fit: executors go, one after the other, into the first slot that holds what they need.

Storm 1.x's resource-aware scheduler, which Pagliari 2021, section 2.2.3, describes: cores and
memory are limits of a machine, the heap is one of a worker, and slots are looked at in an order
that is found once. What executors need and a worker can hold is declared, or Storm's default.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from streamgauge.errors import Findings, Infeasible
from streamgauge.topology.cluster import Cluster, Machine, Node, Slot
from streamgauge.topology.configuration import Configuration, Resources
from streamgauge.topology.field_checks import check_number, format_value
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.logical_plan import Executor, LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import ACKER

UNITS_PER_CORE = 100.0
MEBIBYTE = 2**20

COMPONENT_CPU = "topology.component.cpu.pcore.percent"
COMPONENT_MEMORY = "topology.component.resources.onheap.memory.mb"
ACKER_CPU = "topology.acker.cpu.pcore.percent"
ACKER_MEMORY = "topology.acker.resources.onheap.memory.mb"
WORKER_HEAP = "topology.worker.max.heap.size.mb"
# Storm 2.8.3's own (defaults.yaml). Ackers have none there: they need what a component does,
# which is what Pagliari 2021, section 3.3.2, gives for them.
DEFAULTS: Mapping[str, float] = {COMPONENT_CPU: 10.0, COMPONENT_MEMORY: 128.0, WORKER_HEAP: 768.0}
# Needs are summed in floating point: 26 × 0.3 and 2 × 0.1 must fill 8 cores, not exceed them.
SLACK = 1e-9
MAX_NAMED = 8


class Needs(NamedTuple):
    """What one executor takes up: cores of its machine, bytes of its machine and its worker."""

    cores: float
    memory_bytes: float

    def __str__(self) -> str:
        return f"{self.cores:g} cores and {mebibytes(self.memory_bytes)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """What a configured topology needs.

    Attributes:
        needs: Of one executor of each operator, ackers included.
        heap_bytes: What the executors of one worker may need together.
    """

    needs: Mapping[str, Needs]
    heap_bytes: float

    @classmethod
    def of(cls, logical: LogicalPlan) -> Requirements:
        """As declared; else Storm's settings; else Storm's defaults.

        Raises:
            InvalidInput: A setting is no number.
        """
        settings = _read_settings(logical.configuration)
        percent, mebibytes_each = settings[COMPONENT_CPU], settings[COMPONENT_MEMORY]
        usual = Needs(percent / UNITS_PER_CORE, mebibytes_each * MEBIBYTE)
        declared = logical.configuration.resources
        needs = {
            name: _fill_in(declared.get(name), usual) for name in logical.topology.operator_names
        }
        needs[ACKER] = Needs(
            settings.get(ACKER_CPU, percent) / UNITS_PER_CORE,
            settings.get(ACKER_MEMORY, mebibytes_each) * MEBIBYTE,
        )
        return cls(needs=FrozenDict(needs), heap_bytes=settings[WORKER_HEAP] * MEBIBYTE)

    def check(self, operators: Iterable[str]) -> None:
        """Raise InvalidInput where an executor needs more than any worker may have.

        No cluster could run it, and Storm refuses such a topology too.
        """
        findings = Findings()
        for operator in operators:
            needs = self.needs[operator]
            if needs.memory_bytes > self.heap_bytes:
                findings.add(
                    "configuration",
                    "resources",
                    operator,
                    seen=f"an executor that needs {mebibytes(needs.memory_bytes)}",
                    expected=f"at most a worker's heap, {mebibytes(self.heap_bytes)}",
                    remedy=f"raise {WORKER_HEAP}, or declare smaller needs",
                )
        findings.raise_if_any()


def mebibytes(size: float) -> str:
    """Bytes as Storm counts them."""
    return f"{size / MEBIBYTE:g} MB"


def _fill_in(resources: Resources | None, usual: Needs) -> Needs:
    if resources is None:
        return usual
    cores, memory = resources.cpu_cores, resources.memory_bytes
    return Needs(
        usual.cores if cores is None else float(cores),
        usual.memory_bytes if memory is None else float(memory),
    )


def _read_settings(configuration: Configuration) -> dict[str, float]:
    """Storm's figures by their own names; those without a default only where they are set."""
    findings = Findings()
    settings = dict(DEFAULTS)
    for name in (*DEFAULTS, ACKER_CPU, ACKER_MEMORY):
        value = configuration.settings.get(name)
        if value is None:
            continue
        if isinstance(value, bool | str):
            findings.add(
                "configuration", "settings", name, seen=format_value(value), expected="a number"
            )
        elif check_number(findings, value, "configuration", "settings", name):
            settings[name] = float(value)
    findings.raise_if_any()
    return settings


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
        self._cores, self._memory = {}, {}
        for machine in cluster.machines:
            memory = machine.memory_bytes
            self._cores[machine.name] = machine.cores - machine.background_cores
            self._memory[machine.name] = math.inf if memory is None else float(memory)
        self._heaps = [float(heap_bytes)] * len(self.slots)
        self._next: dict[Needs, int] = {}

    def put(self, executor: Executor, needs: Needs) -> bool:
        """Whether there was a slot for it."""
        slots = range(self._next.get(needs, 0), len(self.slots))
        slot = next((slot for slot in slots if self._holds(slot, needs)), len(self.slots))
        self._next[needs] = slot
        if slot == len(self.slots):
            return False
        self._cores[self._machines[slot]] -= needs.cores
        self._memory[self._machines[slot]] -= needs.memory_bytes
        self._heaps[slot] -= needs.memory_bytes
        self.placed[executor] = slot
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
        cores = max(self._cores[machine] for machine in machines)
        memory = max(self._memory[machine] for machine in machines)
        heap = max(self._heaps)
        short = []
        if not _fits(needs.cores, cores):
            short.append(f"at most {cores:.4g} cores are left on a machine")
        if not _fits(needs.memory_bytes, memory):
            short.append(f"at most {mebibytes(memory)} are left on a machine")
        if not _fits(needs.memory_bytes, heap):
            short.append(f"at most {mebibytes(heap)} of heap are left in a slot")
        return ", ".join(short) or "no slot has cores, memory and heap for it at once"

    def _holds(self, slot: int, needs: Needs) -> bool:
        machine = self._machines[slot]
        return (
            _fits(needs.cores, self._cores[machine])
            and _fits(needs.memory_bytes, self._memory[machine])
            and _fits(needs.memory_bytes, self._heaps[slot])
        )


def infeasible(
    packing: Packing, logical: LogicalPlan, unplaced: Sequence[Executor], requirements: Requirements
) -> Infeasible:
    """The error that names the executors without a slot, and what was short."""
    reasons = []
    for operator in dict.fromkeys(executor.operator for executor in unplaced):
        needs = requirements.needs[operator]
        reasons.append(f"one of {operator} needs {needs}, and {packing.shortage(needs)}")
    return Infeasible(
        f"not enough resources for {logical.topology.name!r}: {len(unplaced)} of "
        f"{len(logical.executors)} executors have no slot: {list_executors(unplaced)}. "
        f"{'; '.join(reasons)}. Add machines, "
        "slots or heap, ask for fewer executors or ackers, or declare smaller needs"
    )


def list_executors(executors: Sequence[Executor]) -> str:
    """The labels of the first, and how many there are more."""
    listed = ", ".join(executor.label for executor in executors[:MAX_NAMED])
    more = len(executors) - MAX_NAMED
    return f"{listed} and {more} more" if more > 0 else listed


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
        cores, memory, known = 0.0, 0.0, True
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
