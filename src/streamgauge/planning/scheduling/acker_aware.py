"""Schedulers that place ackers apart from the job's own executors.

Pagliari 2021, section 3.4: first the resource-aware placement of the job's own executors, then a
rule of its own for executors that serve the engine. Ackers count as needing nothing, so that no
limit keeps them from where the rule puts them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

from streamgauge.planning.scheduling.contract import PlacementRequest, Schedule, TaskNumbering
from streamgauge.planning.scheduling.packing import Packing
from streamgauge.planning.scheduling.resource_aware import pack, packing_warnings
from streamgauge.topology.logical_plan import Executor, LogicalPlan
from streamgauge.topology.topology import ACKER


@dataclass(frozen=True, slots=True, kw_only=True)
class AckersApart(TaskNumbering, ABC):
    """The resource-aware plan of the job's own executors, with ackers dealt by a rule."""

    @abstractmethod
    def deal(self, packing: Packing, ackers: tuple[Executor, ...]) -> tuple[str, ...]:
        """Put ackers into slots of a packing that holds all others; what to warn of."""

    def schedule(self, request: PlacementRequest) -> Schedule:
        """The job's own executors packed, ackers dealt; what is expected is not looked at.

        Where the configuration gives no number of ackers, there is one for each worker that the
        job's own executors fill.

        Raises:
            Infeasible: Some of the job's own executors fit nowhere.
        """
        warnings: list[str] = []
        if request.topology.acked and request.configuration.ackers is None:
            count = dry_run_ackers(request)
            request = replace(request, configuration=replace(request.configuration, ackers=count))
            warnings.append(
                f"no number of ackers is given: taking {count}, one for each worker of the job's "
                f"own executors; submit it with topology.acker.executors: {count}"
            )
        logical = self.number_tasks(request)
        packing = pack(logical, request.cluster, request.taken, ackers=False)
        if ACKER in logical.spans:
            warnings += self.deal(packing, logical.executors_of(ACKER))
        warnings += packing_warnings(
            request.configuration, len(packing.workers), len(request.taken)
        )
        return Schedule(plan=packing.plan(logical), warnings=tuple(warnings))


def dry_run_ackers(request: PlacementRequest) -> int:
    """One acker for each worker that the job's own executors fill: exact, by packing them.

    Storm needs the number before it schedules, and a scheduler that packs knows its workers only
    afterwards (Pagliari 2021, section 3.4). A topology that is not acked has none.

    Raises:
        Infeasible: Some of them fit nowhere.
    """
    if not request.topology.acked:
        return 0
    logical = LogicalPlan.of(request.topology, replace(request.configuration, ackers=0))
    return len(pack(logical, request.cluster, request.taken).workers)
