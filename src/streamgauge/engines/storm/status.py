"""What a cluster looks like from outside: daemons, nodes, slots, topologies."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from streamgauge.engines.storm.cluster import StormCluster
from streamgauge.engines.storm.daemons import trouble_in
from streamgauge.engines.storm.ports import NIMBUS_HOST
from streamgauge.errors import SourceUnreachable


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonStatus:
    """A daemon, and whether it lives."""

    name: str
    pid: int
    is_alive: bool
    log: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """A node; the slots in use are None where nimbus does not see it."""

    name: str
    slots: tuple[int, ...]
    used: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyStatus:
    """A topology that nimbus knows."""

    name: str
    status: str
    workers: int
    executors: int
    tasks: int
    uptime_seconds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterStatus:
    """A cluster as it is now: its folder, addresses, and what runs.

    Processes are those of daemons, workers and their log writers together. The trouble is why
    nimbus was not asked or did not answer; it is empty where it did.
    """

    data: str
    nimbus: str
    zookeeper: str
    processes: int
    daemons: tuple[DaemonStatus, ...]
    nodes: tuple[NodeStatus, ...]
    topologies: tuple[TopologyStatus, ...]
    trouble: str

    def to_dict(self) -> dict[str, Any]:
        """A document for ``--json``."""
        return asdict(self)


def status_of(data: Path) -> ClusterStatus:
    """Look at the cluster in a folder.

    Raises:
        SourceUnreachable: There is none.
    """
    cluster = StormCluster.find(data)
    answer: dict[str, Any] = {"supervisors": [], "topologies": []}
    trouble = "; ".join(
        f"{name} is dead; {trouble_in(cluster.layout, name)}" for name in cluster.dead_daemons()
    )
    try:
        with StormCluster.attach(data).bridge() as bridge:
            answer = bridge.ask("cluster")
    except SourceUnreachable as error:
        trouble = trouble or str(error)
    state = cluster.state
    used = {one["host"]: one["used_slots"] for one in answer["supervisors"]}
    names = ("name", "status", "workers", "executors", "tasks", "uptime_seconds")
    return ClusterStatus(
        data=str(cluster.layout.data),
        nimbus=f"{NIMBUS_HOST}:{state.ports.nimbus}",
        zookeeper=f"{NIMBUS_HOST}:{state.ports.zookeeper}",
        processes=cluster.processes(),
        daemons=tuple(
            DaemonStatus(
                name=one.name,
                pid=one.process.pid,
                is_alive=one.process.is_alive(),
                log=str(one.log),
            )
            for one in state.daemons
        ),
        nodes=tuple(
            NodeStatus(name=node.name, slots=node.slots, used=used.get(node.name))
            for node in state.ports.nodes
        ),
        topologies=tuple(
            TopologyStatus(**{name: one[name] for name in names}) for one in answer["topologies"]
        ),
        trouble=trouble,
    )
