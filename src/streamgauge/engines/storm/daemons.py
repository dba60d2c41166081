"""The daemons of a cluster: how each is started, which run, and what a log says of a dead one."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamgauge.engines.storm.jars import java_command
from streamgauge.engines.storm.layout import Layout, supervisor_of
from streamgauge.engines.storm.ports import NodePorts, Ports
from streamgauge.engines.storm.processes import CLAIM, MARK, Mark, ProcessKey
from streamgauge.errors import InternalError, UnreadableFile
from streamgauge.topology.files.document import write_whole

# Nothing that would change the classes or options of our processes comes from outside.
_UNWANTED = ("CLASSPATH", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "EXT_CLASSPATH")
_LEAN = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
# A supervisor ends itself when a topology moves away while it fetches it, and counts on somebody to
# start it again. One that never comes up is given up.
_REVIVE = 'lives=20; while [ $lives -gt 0 ]; do "$@"; lives=$((lives - 1)); sleep 1; done'
_STATE_VERSION = 1
_TAIL_BYTES = 200_000
_TELLING = re.compile(
    r"\[(?:ERROR|FATAL)\]|^(?:Caused by|Exception in|Error)|Exception|No space left"
)
_MANY_LINES = 6
# The last is ZooKeeper's, also where it was told which port to take.
_PORT_IN_USE = ("Address already in use", "BindException", "No port is available")


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """A daemon to start, by its main class; some are started again when they end by themselves."""

    name: str
    main: str
    heap_mb: int
    is_revived: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningDaemon:
    """A daemon that was started."""

    name: str
    process: ProcessKey
    log: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """What runs of a cluster, written down beside it; daemons in the order they were started.

    `cluster` is the id that its processes carry.
    """

    cluster: str
    ports: Ports
    daemons: tuple[RunningDaemon, ...]

    def to_dict(self) -> dict[str, Any]:
        """As the file has it."""
        return {
            "version": _STATE_VERSION,
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
        if data["version"] != _STATE_VERSION:
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


ZOOKEEPER = Daemon(name="zookeeper", main="org.apache.storm.command.DevZookeeper", heap_mb=96)
NIMBUS = Daemon(name="nimbus", main="org.apache.storm.daemon.nimbus.Nimbus", heap_mb=256)


def supervisors(ports: Ports) -> Iterator[Daemon]:
    """One for each node."""
    for node in ports.nodes:
        yield Daemon(
            name=supervisor_of(node.name),
            main="org.apache.storm.daemon.supervisor.Supervisor",
            heap_mb=128,
            is_revived=True,
        )


def start(daemon: Daemon, layout: Layout, mark: Mark, ports: Ports) -> RunningDaemon:
    """Start a daemon in a session of its own; it is not waited for."""
    environ = {name: value for name, value in os.environ.items() if name not in _UNWANTED}
    environ |= {
        MARK: str(mark),
        CLAIM: ",".join(str(port) for port in sorted(ports.all)),
        # Workers look for their settings where their supervisor's environment says.
        "STORM_CONF_DIR": str(layout.settings_of(daemon.name)),
    }
    for old in (layout.log_of(daemon.name), layout.printed_by(daemon.name)):
        if old.exists():
            old.replace(old.with_name(f"{old.name}.before"))
    with layout.printed_by(daemon.name).open("wb") as printed:
        process = subprocess.Popen(
            _command(daemon, layout),
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            cwd=layout.data,
            env=environ,
            start_new_session=True,
        )
    key = ProcessKey.of(process.pid)
    # It may outlive us, and its end is noticed otherwise; the object would complain of that.
    process.returncode = 0
    if key is None:
        raise InternalError(f"{daemon.name} ended at once: {trouble_in(layout, daemon.name)}")
    return RunningDaemon(name=daemon.name, process=key, log=layout.log_of(daemon.name))


def _command(daemon: Daemon, layout: Layout) -> list[str]:
    properties: Mapping[str, object] = {
        "storm.home": layout.home,
        "storm.log.dir": layout.logs,
        "logfile.name": layout.log_of(daemon.name).name,
        "log4j.configurationFile": layout.home / "log4j2" / "cluster.xml",
        "java.net.preferIPv4Stack": "true",
    }
    jars = f"{layout.home}/lib/*:{layout.home}/extlib-daemon/*"
    return [
        *(("/bin/sh", "-c", _REVIVE, "sh") if daemon.is_revived else ()),
        java_command(),
        f"-Xmx{daemon.heap_mb}m",
        *_LEAN,
        *(f"-D{name}={value}" for name, value in properties.items()),
        "-cp",
        f"{jars}:{layout.settings_of(daemon.name)}",
        daemon.main,
    ]


def trouble_in(layout: Layout, daemon: str) -> str:
    """The lines of a daemon's log that tell of trouble, the last ones, and where the log is."""
    log = layout.log_of(daemon)
    lines = [*_last_lines(layout.printed_by(daemon)), *_last_lines(log)]
    telling = [line for line in lines if _TELLING.search(line)] or lines
    shown = "".join(f"\n  {line[:300]}" for line in telling[-_MANY_LINES:])
    where = log if log.exists() else layout.printed_by(daemon)
    return f"see {where}{shown}"


def could_not_listen(layout: Layout, daemon: str) -> bool:
    """Whether a daemon says that another process has its port."""
    lines = [*_last_lines(layout.printed_by(daemon)), *_last_lines(layout.log_of(daemon))]
    return any(words in line for words in _PORT_IN_USE for line in lines)


def _last_lines(file: Path) -> list[str]:
    try:
        with file.open("rb") as stream:
            stream.seek(max(0, file.stat().st_size - _TAIL_BYTES))
            return stream.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []
