"""How many ackers: one for each worker that a scheduler that packs would use.

Storm needs the number before it schedules, and a scheduler that packs knows its workers only
afterwards (Pagliari 2021, section 3.4).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from streamgauge.planning.scheduling.needs import Requirements
from streamgauge.planning.scheduling.resource_aware import pack
from streamgauge.topology.cluster import Cluster, Slot
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.topology import Topology


def dry_run_ackers(
    topology: Topology,
    configuration: Configuration,
    cluster: Cluster,
    *,
    taken: Collection[Slot] = (),
) -> int:
    """Workers that the job's own executors fill, whatever each needs: exact, by packing them.

    None for a topology that is not acked.

    Raises:
        Infeasible: Some of them fit nowhere.
    """
    if not topology.acked:
        return 0
    bare = replace(configuration, ackers=0)
    requirements = Requirements.of(topology, bare)
    packing = pack(LogicalPlan.of(topology, bare), cluster, requirements, taken=taken)
    return len(packing.workers)
