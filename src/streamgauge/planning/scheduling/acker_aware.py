"""Schedulers that place ackers apart from the job's own executors.

Pagliari 2021, section 3.4: first the resource-aware placement of the job's own executors, then a
rule of its own for executors that serve the engine. Ackers count as needing nothing, so that no
limit keeps them from where the rule puts them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Self

from streamgauge.planning.scheduling.acker_count import dry_run_ackers
from streamgauge.planning.scheduling.contract import Expected, Schedule
from streamgauge.planning.scheduling.needs import Requirements
from streamgauge.planning.scheduling.packing import Packing
from streamgauge.planning.scheduling.resource_aware import pack, packing_warnings
from streamgauge.topology.cluster import Cluster, Slot
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.logical_plan import Executor, LogicalPlan, TaskOrder
from streamgauge.topology.topology import ACKER, Topology
from streamgauge.transport.engine import load_engine


@dataclass(frozen=True, slots=True, kw_only=True)
class AckersApart(ABC):
    """The resource-aware plan of the job's own executors, with ackers dealt by a rule.

    Attributes:
        task_order: How tasks are numbered.
    """

    task_order: TaskOrder = TaskOrder.ALPHABETICAL

    @classmethod
    def for_engine(cls, engine: str) -> Self:
        """With tasks numbered as that engine does."""
        return cls(task_order=load_engine(engine).task_order)

    @abstractmethod
    def deal(self, packing: Packing, ackers: tuple[Executor, ...]) -> tuple[str, ...]:
        """Put ackers into slots of a packing that holds all others; what to warn of."""

    def schedule(
        self,
        topology: Topology,
        configuration: Configuration,
        cluster: Cluster,
        *,
        expected: Expected | None = None,
        taken: Collection[Slot] = (),
    ) -> Schedule:
        """The job's own executors packed, ackers dealt; what is expected is not looked at.

        Where the configuration gives no number of ackers, there is one for each worker that the
        job's own executors fill.

        Raises:
            Infeasible: Some of the job's own executors fit nowhere.
        """
        del expected
        warnings: list[str] = []
        if topology.acked and configuration.ackers is None:
            count = dry_run_ackers(topology, configuration, cluster, taken=taken)
            configuration = replace(configuration, ackers=count)
            warnings.append(
                f"no number of ackers is given: taking {count}, one for each worker of the job's "
                f"own executors; submit it with topology.acker.executors: {count}"
            )
        logical = LogicalPlan.of(topology, configuration, task_order=self.task_order)
        requirements = Requirements.of(topology, configuration)
        packing = pack(logical, cluster, requirements, taken=taken, ackers=False)
        if ACKER in logical.spans:
            warnings += self.deal(packing, logical.executors_of(ACKER))
        warnings += packing_warnings(configuration, len(packing.workers), len(taken))
        return Schedule(plan=packing.plan(logical), warnings=tuple(warnings))
