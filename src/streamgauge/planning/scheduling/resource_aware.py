"""The resource-aware scheduler: packs as tightly as declared needs allow, neighbours together."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from streamgauge.planning.scheduling.contract import PlacementRequest, Schedule, TaskNumbering
from streamgauge.planning.scheduling.packing import Packing, Requirements, infeasible
from streamgauge.topology.cluster import Cluster, Slot
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.logical_plan import Executor, LogicalPlan
from streamgauge.topology.topology import ACKER


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceAwareScheduler(TaskNumbering):
    """Storm 1.x's default strategy (Pagliari 2021, Algorithm 2), also known as R-Storm.

    Ackers come last, with needs of their own. There are as many as the configuration says, one
    for each worker asked for unless it gives a number; Storm 1.x itself would take one.
    """

    name: str = "resource-aware"

    def describe(self) -> str:
        """The rule in a sentence."""
        return (
            "packs executors into the nearest slot with enough cores, memory and heap for what "
            "they declare, neighbours next to each other, ackers last; takes as many workers as "
            "that needs"
        )

    def schedule(self, request: PlacementRequest) -> Schedule:
        """Every executor in the first slot that holds it; what is expected is not looked at.

        Raises:
            Infeasible: Some executors fit nowhere; it names them and what was short.
            InvalidInput: An executor needs more than the heap that any worker may have.
        """
        logical = self.number_tasks(request)
        packing = pack(logical, request.cluster, request.taken)
        warnings = packing_warnings(request.configuration, len(packing.workers), len(request.taken))
        return Schedule(plan=packing.plan(logical), warnings=tuple(warnings))


def pack(
    logical: LogicalPlan, cluster: Cluster, taken: Collection[Slot] = (), *, ackers: bool = True
) -> Packing:
    """The executors of a plan in the first slots that hold them; ackers, if at all, come last.

    Raises:
        Infeasible: Some executors fit nowhere.
        InvalidInput: One needs more than the heap that any worker may have.
    """
    order = list(interleave(logical))
    if ackers and ACKER in logical.spans:
        order += logical.executors_of(ACKER)
    requirements = Requirements.of(logical)
    requirements.check(dict.fromkeys(executor.operator for executor in order))
    packing = Packing(cluster, taken, requirements.heap_bytes)
    unplaced = [
        executor
        for executor in order
        if not packing.put(executor, requirements.needs[executor.operator])
    ]
    if unplaced:
        raise infeasible(packing, logical, unplaced, requirements)
    return packing


def interleave(logical: LogicalPlan) -> Iterator[Executor]:
    """The job's own executors in the order of Algorithm 2.

    From the best connected operator on: one of its executors, then one of each neighbour, the
    best connected first, until none of them has any left.
    """
    links = connections(logical)
    degrees = {name: sum(of_operator.values()) for name, of_operator in links.items()}
    left = {name: deque(logical.executors_of(name)) for name in links}
    for operator in sorted(degrees, key=lambda name: (-degrees[name], name)):
        near = links[operator]
        group = [operator, *sorted(near, key=lambda name: (-near[name], name))]
        queues = [left[name] for name in dict.fromkeys(group)]
        while any(queues):
            for queue in queues:
                if queue:
                    yield queue.popleft()


def connections(logical: LogicalPlan) -> Mapping[str, Mapping[str, int]]:
    """For each operator and neighbour the links between their executors.

    What an operator sends and what it gets both count; a second stream between two operators adds
    nothing (Storm 1.x; the degree is the sum over neighbours).
    """
    spans = {name: len(span) for name, span in logical.spans.items() if name != ACKER}
    links: dict[str, dict[str, int]] = {name: {} for name in spans}
    for source, target in dict.fromkeys(
        (stream.source, stream.target) for stream in logical.topology.data_streams
    ):
        for operator, neighbour in ((source, target), (target, source)):
            before = links[operator].get(neighbour, 0)
            links[operator][neighbour] = before + spans[source] * spans[target]
    return links


def packing_warnings(configuration: Configuration, used: int, taken: int) -> Iterator[str]:
    """What a reader of a packed plan may not expect."""
    if used != configuration.workers:
        yield (
            f"{used} workers are used and {configuration.workers} were asked for: a packing "
            "scheduler takes what needs and free slots require, not that number"
        )
    if taken:
        yield (
            f"what the jobs in {taken} taken slots use of their machines is not known and counts "
            "as free; declare it as background_cores"
        )
