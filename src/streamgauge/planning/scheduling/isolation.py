"""The isolation scheduler: a worker runs executors of one operator only."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate

from streamgauge.errors import Findings, Infeasible, did_you_mean
from streamgauge.planning.scheduling.contract import PlacementRequest, Schedule, TaskNumbering
from streamgauge.topology.cluster import Cluster, Slot
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolationScheduler(TaskNumbering):
    """One operator a worker, workers even over machines (Puttaswamy 2018, section 6.1).

    Attributes:
        units: Workers of operators, ackers by their own name too. The others divide the workers
            that the configuration asks for, and that are not given away so, in proportion to
            their executors: at least one each, and never more than they have executors.
    """

    units: Mapping[str, int] = FrozenDict()
    name: str = "isolation"

    def __post_init__(self) -> None:
        object.__setattr__(self, "units", FrozenDict(self.units))

    def describe(self) -> str:
        """The rule in a sentence."""
        return (
            "gives every operator workers of its own, deals its executors over them, and spreads "
            "workers evenly over machines"
        )

    def schedule(self, request: PlacementRequest) -> Schedule:
        """Every operator in workers of its own; what is expected is not looked at.

        Raises:
            Infeasible: There are fewer free slots than workers that are needed.
            InvalidInput: An operator is to have more workers than executors.
        """
        logical, asked = self.number_tasks(request), request.configuration.workers
        operators = logical.topology.operator_names
        executors = {operator: len(logical.spans[operator]) for operator in operators}
        self._check(executors)
        slots = list(spread_slots(request.cluster, request.taken))
        workers = self._workers(executors, min(asked, len(slots)))
        needed = sum(workers.values())
        if needed > len(slots):
            named = ", ".join(f"{name}: {count}" for name, count in workers.items())
            raise Infeasible(
                f"{needed} workers are needed for {request.topology.name!r}, no two operators in "
                f"one ({named}), and {len(slots)} slots are free; add nodes or slots, or give "
                "units to fewer operators"
            )
        warnings: tuple[str, ...] = ()
        if needed != asked:
            warnings = (
                f"{needed} workers are used and {asked} were asked for: every operator has its "
                "own, at most one for each executor",
            )
        plan = PhysicalPlan.from_slots(logical, request.cluster, slots, _deal(logical, workers))
        return Schedule(plan=plan, warnings=warnings)

    def _check(self, executors: Mapping[str, int]) -> None:
        findings = Findings()
        for operator, units in self.units.items():
            place = ("units", operator)
            if operator not in executors:
                findings.add(
                    *place,
                    seen=f"unknown operator {operator!r}",
                    expected="an operator of the topology",
                    remedy=did_you_mean(operator, list(executors)),
                )
            elif not 1 <= units <= executors[operator]:
                findings.add(
                    *place,
                    seen=f"{units} workers for {executors[operator]} executors",
                    expected="at least one worker, and an executor for each",
                    remedy="a worker without an executor has nothing to run",
                )
        findings.raise_if_any()

    def _workers(self, executors: Mapping[str, int], total: int) -> dict[str, int]:
        """Workers of every operator, in the order of the topology."""
        free = {name: count for name, count in executors.items() if name not in self.units}
        shared = divide_total(total - sum(self.units.values()), free)
        return {name: self.units.get(name) or shared[name] for name in executors}


def divide_total(total: int, weights: Mapping[str, int]) -> dict[str, int]:
    """`total` in parts in proportion to whole weights: from one up to the weight itself.

    One after the other to whom it serves most weight for each part (D'Hondt); the total is missed
    where the bounds do not allow it.
    """
    parts = dict.fromkeys(weights, 1)
    ranks = {name: rank for rank, name in enumerate(weights)}
    waiting = [(-weight / 2, ranks[name], name) for name, weight in weights.items() if weight > 1]
    heapq.heapify(waiting)
    for _ in range(total - len(parts)):
        if not waiting:
            break
        _, rank, name = heapq.heappop(waiting)
        parts[name] += 1
        if parts[name] < weights[name]:
            heapq.heappush(waiting, (-weights[name] / (parts[name] + 1), rank, name))
    return parts


def spread_slots(cluster: Cluster, taken: Collection[Slot] = ()) -> Iterator[Slot]:
    """Free slots, each on the machine with the fewest used so far, and on its node with these.

    Equals come in the order of the cluster; slots that other jobs use count as used.
    """
    occupied = set(taken)
    rank = {machine.name: index for index, machine in enumerate(cluster.machines)}
    nodes: dict[str, list[tuple[int, int, list[Slot]]]] = {}
    used: dict[str, int] = {}
    for index, node in enumerate(cluster.nodes):
        free = [slot for slot in node.slots if slot not in occupied]
        busy = len(node.slots) - len(free)
        used[node.machine] = used.get(node.machine, 0) + busy
        if free:
            heapq.heappush(nodes.setdefault(node.machine, []), (busy, index, free[::-1]))
    machines = [(used[name], rank[name], name) for name in nodes]
    heapq.heapify(machines)
    while machines:
        count, order, name = heapq.heappop(machines)
        busy, index, free = heapq.heappop(nodes[name])
        yield free.pop()
        if free:
            heapq.heappush(nodes[name], (busy + 1, index, free))
        if nodes[name]:
            heapq.heappush(machines, (count + 1, order, name))


def _deal(logical: LogicalPlan, workers: Mapping[str, int]) -> list[int]:
    """The index of every executor's slot: round-robin over the workers of its operator."""
    firsts = accumulate(workers.values(), initial=0)
    starts = dict(zip(workers, firsts, strict=False))
    return [
        starts[executor.operator]
        + (index - logical.spans[executor.operator].start) % workers[executor.operator]
        for index, executor in enumerate(logical.executors)
    ]
