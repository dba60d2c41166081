"""What runs of a cluster, written down beside it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamgauge.engines.storm.daemons import RunningDaemon
from streamgauge.engines.storm.layout import NodePorts, Ports
from streamgauge.engines.storm.processes import ProcessKey
from streamgauge.errors import UnreadableFile
from streamgauge.topology.files.document import write_whole

_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """A cluster that was brought up.

    Attributes:
        cluster: Its id, which its processes carry.
        ports: All of its ports.
        daemons: In the order in which they were started.
    """

    cluster: str
    ports: Ports
    daemons: tuple[RunningDaemon, ...]

    def to_dict(self) -> dict[str, Any]:
        """As the file has it."""
        return {
            "version": _VERSION,
            "cluster": self.cluster,
            "zookeeper_port": self.ports.zookeeper,
            "nimbus_port": self.ports.nimbus,
            "nodes": [
                {"name": node.name, "thrift_port": node.thrift, "slots": list(node.slots)}
                for node in self.ports.nodes
            ],
            "daemons": [
                {
                    "name": one.name,
                    "pid": one.process.pid,
                    "started": one.process.started,
                    "log": str(one.log),
                }
                for one in self.daemons
            ],
        }

    def save(self, path: Path) -> None:
        """Write it whole."""
        write_whole(path, json.dumps(self.to_dict(), indent=2) + "\n")

    @classmethod
    def load(cls, path: Path) -> ClusterState | None:
        """The state in a file; None where there is none.

        Raises:
            UnreadableFile: It is no state.
        """
        try:
            return cls._of(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UnreadableFile.single(
                (),
                file=str(path),
                seen=f"no state of a cluster ({type(error).__name__})",
                expected="the file that `storm up` wrote",
                remedy="`storm down` ends what runs there and removes it",
            ) from None

    @classmethod
    def _of(cls, data: dict[str, Any]) -> ClusterState:
        if data["version"] != _VERSION:
            raise ValueError("another version")
        nodes = tuple(
            NodePorts(name=node["name"], thrift=node["thrift_port"], slots=tuple(node["slots"]))
            for node in data["nodes"]
        )
        return cls(
            cluster=data["cluster"],
            ports=Ports(zookeeper=data["zookeeper_port"], nimbus=data["nimbus_port"], nodes=nodes),
            daemons=tuple(
                RunningDaemon(
                    name=one["name"],
                    process=ProcessKey(one["pid"], one["started"]),
                    log=Path(one["log"]),
                )
                for one in data["daemons"]
            ),
        )
