"""The data folder of a cluster: an installation of Storm, settings and logs of each daemon.

::

    home/        what Storm takes for its installation: links to jars, settings of logging
    conf/NAME/   storm.yaml of each daemon
    local/NAME/  what each daemon keeps
    logs/        of daemons; of workers below logs/NODE
    plans/       a file for each topology that shall be placed by us
    state.json   what runs
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamgauge.engines.storm.jars import JAR_NAME, StormJars
from streamgauge.engines.storm.ports import NIMBUS_HOST, Ports
from streamgauge.topology.files.document import dump_yaml, write_whole

SCHEDULER = "io.streamgauge.storm.scheduler.PlanScheduler"
PLANS_SETTING = "streamgauge.scheduler.plans"
LOGGING = Path(__file__).parent / "home" / "log4j2"
WORKER_HEAP_MB = 256
_LOG_WRITER_HEAP_MB = 32


def default_folder() -> Path:
    """Where a cluster's data lies if nothing else is said: in the user's state folder."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "streamgauge" / "storm"


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything of a cluster lies."""

    data: Path

    @property
    def home(self) -> Path:
        """What Storm takes for its installation."""
        return self.data / "home"

    @property
    def logs(self) -> Path:
        """Logs of daemons, and those of workers below."""
        return self.data / "logs"

    @property
    def plans(self) -> Path:
        """Plan files."""
        return self.data / "plans"

    @property
    def state(self) -> Path:
        """What runs."""
        return self.data / "state.json"

    def settings_of(self, daemon: str) -> Path:
        """The folder of a daemon's storm.yaml."""
        return self.data / "conf" / daemon

    def log_of(self, daemon: str) -> Path:
        """The log of a daemon."""
        return self.logs / f"{daemon}.log"

    def printed_by(self, daemon: str) -> Path:
        """What a daemon prints, before it has a log."""
        return self.logs / f"{daemon}.out"

    def worker_logs(self, node: str) -> Path:
        """Logs of a node's workers."""
        return self.logs / node

    def prepare(self, jars: StormJars, own: Path) -> None:
        """Make folders and links."""
        for folder in ("extlib", "extlib-daemon"):
            (self.home / folder).mkdir(parents=True, exist_ok=True)
            _link(self.home / folder / JAR_NAME, own)
        (self.home / "conf").mkdir(exist_ok=True)
        _link(self.home / "lib", jars.daemons)
        _link(self.home / "lib-worker", jars.workers)
        _link(self.home / "log4j2", LOGGING)
        for path in (self.logs, self.plans):
            path.mkdir(exist_ok=True)

    def write_settings(self, ports: Ports, extra: Mapping[str, Any]) -> None:
        """Write the storm.yaml of every daemon."""
        common = {**_common(ports), PLANS_SETTING: str(self.plans), **extra}
        self._write("zookeeper", common, {"dev.zookeeper.path": str(self.data / "zookeeper")})
        self._write("nimbus", common, {"storm.local.hostname": NIMBUS_HOST})
        for node in ports.nodes:
            own = {
                "storm.local.hostname": node.name,
                "supervisor.thrift.port": node.thrift,
                "supervisor.slots.ports": list(node.slots),
                "storm.workers.artifacts.dir": str(self.worker_logs(node.name)),
            }
            self._write(supervisor_of(node.name), common, own)

    def _write(self, daemon: str, common: Mapping[str, Any], own: Mapping[str, Any]) -> None:
        folder = self.settings_of(daemon)
        folder.mkdir(parents=True, exist_ok=True)
        local = {"storm.local.dir": str(self.data / "local" / daemon)}
        write_whole(folder / "storm.yaml", dump_yaml({**common, **local, **own}))


def supervisor_of(node: str) -> str:
    """The name of a node's supervisor among the daemons."""
    return f"supervisor-{node}"


def _common(ports: Ports) -> dict[str, Any]:
    """Settings that all daemons share: small, and quick to notice what changes."""
    return {
        "storm.zookeeper.servers": [NIMBUS_HOST],
        "storm.zookeeper.port": ports.zookeeper,
        "nimbus.seeds": [NIMBUS_HOST],
        "nimbus.thrift.port": ports.nimbus,
        "nimbus.monitor.freq.secs": 1,
        "supervisor.monitor.frequency.secs": 1,
        "supervisor.heartbeat.frequency.secs": 2,
        "supervisor.worker.shutdown.sleep.secs": 1,
        "executor.metrics.frequency.secs": 10,
        "storm.scheduler": SCHEDULER,
        # A supervisor that ended and came back is as good as before: nimbus would else give its
        # slots to nobody for half an hour.
        "blacklist.scheduler.tolerance.count": 1_000_000,
        # Nobody reads this store, which unpacks a native library at every start.
        "storm.metricstore.class": "org.apache.storm.metricstore.NoOpMetricStore",
        "worker.childopts": f"-Xmx{WORKER_HEAP_MB}m -XX:+UseSerialGC",
        "topology.worker.logwriter.childopts": f"-Xmx{_LOG_WRITER_HEAP_MB}m -XX:+UseSerialGC "
        "-XX:TieredStopAtLevel=1",
    }


def _link(place: Path, target: Path) -> None:
    """A link in place of whatever an earlier cluster had there."""
    place.unlink(missing_ok=True)
    place.symlink_to(target)
