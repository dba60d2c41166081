"""How many ackers: one for each worker that a scheduler that packs would use.

Storm needs the number before it schedules, and a scheduler that packs knows its workers only
afterwards (Pagliari 2021, section 3.4).
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

from streamgauge.errors import Findings
from streamgauge.planning.scheduling.needs import Needs, Requirements, mebibytes
from streamgauge.planning.scheduling.resource_aware import pack
from streamgauge.topology.cluster import Cluster, Slot
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.topology import Topology
from streamgauge.topology.validation import check_whole


def estimated_ackers(executors: int, needs: Needs, *, node_cores: float, heap_bytes: float) -> int:
    """Workers of executors that all need the same, on nodes that are all the same.

    Nodes × workers of a full node, so an upper estimate: the last node may be partly filled. The
    memory of a node is no part of it. Pagliari 2021, section 3.4, gives it in words; it yields
    every number of ackers in Tables 3.1 and 3.2.

    Args:
        executors: Of the job's own operators.
        needs: Of each of them.
        node_cores: Of each node.
        heap_bytes: Of each worker.
    """
    findings = Findings()
    check_whole(findings, executors, "executors")
    if needs.cores > node_cores:
        findings.add(
            "needs", seen=f"{needs.cores:g} cores", expected=f"at most a node's, {node_cores:g}"
        )
    if needs.memory_bytes > heap_bytes:
        findings.add(
            "needs",
            seen=mebibytes(needs.memory_bytes),
            expected=f"at most a worker's heap, {mebibytes(heap_bytes)}",
        )
    findings.raise_if_any()
    per_node = _times(node_cores, needs.cores) or executors
    per_worker = _times(heap_bytes, needs.memory_bytes) or per_node
    return math.ceil(executors / per_node) * math.ceil(per_node / per_worker)


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


def _times(room: float, need: float) -> int:
    """How often a need goes into a room; zero where nothing is needed."""
    # 0.3 / 0.1 is just below 3 in floating point.
    return math.floor(room / need + 1e-9) if need > 0.0 else 0
