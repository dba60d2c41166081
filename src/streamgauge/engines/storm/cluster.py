"""A real Storm cluster on this machine: brought up, looked at, and taken down."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamgauge.engines.storm import daemons
from streamgauge.engines.storm.bridge import Bridge
from streamgauge.engines.storm.daemons import NIMBUS, ZOOKEEPER, ClusterState, RunningDaemon
from streamgauge.engines.storm.jars import own_jar, storm_jars
from streamgauge.engines.storm.layout import Layout
from streamgauge.engines.storm.ports import NIMBUS_HOST, choose_ports
from streamgauge.engines.storm.processes import (
    Mark,
    ProcessKey,
    end_all,
    marked_processes,
    orphans,
    processes_of,
)
from streamgauge.engines.writing import lock_file, unwritable
from streamgauge.errors import Findings, InvalidInput, SourceUnreachable, UnreadableFile
from streamgauge.topology.cluster import Cluster, Machine, Node
from streamgauge.topology.field_checks import check_whole

MAX_NODES = 16
MAX_SLOTS = 32
_READY_SECONDS = 300.0
_POLL_SECONDS = 0.2
_ATTEMPTS = 3
_ID_LENGTH = 12

Say = Callable[[str], None]


class _PortTaken(Exception):
    """Another process was quicker to listen on a port that was free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StormCluster:
    """A cluster that is up: where its data lie, and what runs."""

    layout: Layout
    state: ClusterState

    @classmethod
    def up(
        cls,
        data: Path,
        *,
        nodes: int = 2,
        slots: int = 2,
        outlives: bool = True,
        settings: Mapping[str, Any] | None = None,
        say: Say = lambda _: None,
    ) -> StormCluster:
        """Bring a cluster up: it answers and has all its nodes when this returns.

        Args:
            data: Its folder, made where it does not exist.
            nodes: Supervisors, each with a loopback address of its own.
            slots: Of each node.
            outlives: Whether it shall run on when this process ends. What does not and is left by
                a process that was killed is ended by the next cluster that comes up.
            settings: Storm's settings for all daemons, beside our own.
            say: Told what is being done.

        Raises:
            InvalidInput: A cluster runs there already, or Java or Maven are missing.
            SourceUnreachable: A daemon does not come up; the message says what its log says.
        """
        findings = Findings()
        check_whole(findings, nodes, "nodes", most=MAX_NODES)
        check_whole(findings, slots, "slots", most=MAX_SLOTS)
        findings.raise_if_any()
        layout = Layout(data.resolve())
        say("looking for Storm's jars")
        jars, own = storm_jars(), own_jar()
        with _only_one(layout):
            cluster = cluster_id(layout.data)
            _refuse_running(layout, cluster)
            _end_leftovers(cluster, say)
            owner = None if outlives else ProcessKey.of(os.getpid())
            mark = Mark(cluster=cluster, owner=owner)
            try:
                layout.prepare(jars, own)
                state = _start_somewhere(layout, mark, nodes, slots, settings or {}, say)
            except BaseException as error:
                end_all(cluster)
                layout.state.unlink(missing_ok=True)
                if isinstance(error, OSError):
                    raise _unwritable(layout, error) from None
                raise
        return cls(layout=layout, state=state)

    @classmethod
    def find(cls, data: Path) -> StormCluster:
        """The cluster that was brought up there, dead or alive.

        Raises:
            SourceUnreachable: None was.
        """
        layout = Layout(data.resolve())
        state = ClusterState.load(layout.state)
        if state is None:
            raise SourceUnreachable(f"no cluster of streamgauge at {data}; start one: storm up")
        return cls(layout=layout, state=state)

    @classmethod
    def attach(cls, data: Path) -> StormCluster:
        """The cluster that runs there.

        Raises:
            SourceUnreachable: None does, or nimbus is dead.
        """
        cluster = cls.find(data)
        if NIMBUS.name in cluster.dead_daemons():
            raise SourceUnreachable(
                f"nimbus is dead; {daemons.trouble_in(cluster.layout, NIMBUS.name)}\n"
                "take the cluster down and bring it up again: storm down, storm up"
            )
        return cluster

    def dead_daemons(self) -> list[str]:
        """The names of daemons that run no more."""
        return [one.name for one in self.state.daemons if not one.process.is_alive()]

    def down(self) -> int:
        """End all its processes; how many there were."""
        return take_down(self.layout.data)

    def bridge(self) -> Bridge:
        """A bridge to its nimbus, to be used as a context."""
        log = self.layout.logs / "bridge.log"
        return Bridge(NIMBUS_HOST, self.state.ports.nimbus, log=log)

    @property
    def cluster(self) -> Cluster:
        """Its nodes and slots; all nodes share this machine's cores, daemons and us included."""
        machine = Machine(name=socket.gethostname(), cores=float(len(os.sched_getaffinity(0))))
        nodes = (
            Node(name=node.name, machine=machine.name, ports=node.slots)
            for node in self.state.ports.nodes
        )
        return Cluster(machines=(machine,), nodes=tuple(nodes))

    def has_workers(self) -> bool:
        """Whether workers or their log writers still run."""
        # Every supervisor has a shell that starts it again.
        daemons = len(self.state.daemons) + len(self.state.ports.nodes)
        return self.processes() > daemons

    def processes(self) -> int:
        """Processes that it has now, workers and their log writers included."""
        return len(processes_of(self.state.cluster))


def cluster_id(data: Path) -> str:
    """The id of the cluster in a folder: known even where nothing is left in the folder."""
    return hashlib.sha256(os.fsencode(data.resolve())).hexdigest()[:_ID_LENGTH]


def take_down(data: Path, say: Say = lambda _: None) -> int:
    """End the processes of a folder's cluster, and of those whose owner is gone; how many."""
    layout = Layout(data.resolve())
    if not layout.data.is_dir():
        # Its folder may have been removed while it ran.
        return _end_leftovers(cluster_id(layout.data), say)
    with _only_one(layout):
        ended = _end_leftovers(cluster_id(layout.data), say)
        layout.state.unlink(missing_ok=True)
    return ended


def _end_leftovers(cluster: str, say: Say) -> int:
    ended = 0
    for one in sorted({cluster} | {process.mark.cluster for process in orphans()}):
        count = end_all(one)
        if count and one != cluster:
            say(f"ended {count} processes of cluster {one}, whose owner is gone")
        ended += count
    return ended


def _refuse_running(layout: Layout, cluster: str) -> None:
    """A whole cluster is not taken for leftovers."""
    try:
        state = ClusterState.load(layout.state)
    except UnreadableFile:
        return
    alive = state is not None and all(one.process.is_alive() for one in state.daemons)
    if alive and any(not one.mark.is_orphaned() for one in processes_of(cluster)):
        raise InvalidInput.single(
            (),
            seen=f"a cluster that runs at {layout.data}",
            expected="a folder without one",
            remedy="take it down (storm down), or name another folder (--data)",
        )


def _start_somewhere(
    layout: Layout, mark: Mark, nodes: int, slots: int, settings: Mapping[str, Any], say: Say
) -> ClusterState:
    """Start on ports that are free, on others where somebody was quicker."""
    for _ in range(_ATTEMPTS):
        try:
            return _start(layout, mark, nodes, slots, settings, say)
        except _PortTaken as taken:
            say(f"{taken} found its port in use")
            end_all(mark.cluster)
    raise SourceUnreachable(
        f"ports that were free were in use a moment later, {_ATTEMPTS} times; "
        "see what else is started on this machine"
    )


def _start(
    layout: Layout, mark: Mark, nodes: int, slots: int, settings: Mapping[str, Any], say: Say
) -> ClusterState:
    # Ports of workers that do not run yet look free and are not.
    claimed = {port for process in marked_processes() for port in process.ports}
    ports = choose_ports(nodes, slots, taken=claimed)
    layout.write_settings(ports, settings)
    _clear_past(layout)
    running: list[RunningDaemon] = []
    state = ClusterState(cluster=mark.cluster, ports=ports, daemons=())

    def begin(daemon: daemons.Daemon) -> None:
        nonlocal state
        running.append(daemons.start(daemon, layout, mark, ports))
        state = ClusterState(cluster=mark.cluster, ports=ports, daemons=tuple(running))
        # At once: a kill must not leave a daemon that is not written down.
        state.save(layout.state)

    say("starting ZooKeeper")
    begin(ZOOKEEPER)
    _wait(lambda: _answers(ports.zookeeper), layout, running, "ZooKeeper to answer")
    say(f"starting nimbus and {nodes} supervisors")
    for daemon in (NIMBUS, *daemons.supervisors(ports)):
        begin(daemon)
    cluster = StormCluster(layout=layout, state=state)
    _wait(lambda: _accepts(ports.nimbus), layout, running, "nimbus to listen")
    with cluster.bridge() as bridge:
        _wait(lambda: _is_whole(bridge, nodes), layout, running, f"nimbus to see {nodes} nodes")
    return state


def _wait(
    ready: Callable[[], bool], layout: Layout, running: list[RunningDaemon], what: str
) -> None:
    """Until something is ready, as long as all daemons live, and not for too long."""
    deadline = time.monotonic() + _READY_SECONDS
    while not ready():
        for one in running:
            if one.process.is_alive():
                continue
            if daemons.could_not_listen(layout, one.name):
                raise _PortTaken(one.name)
            raise SourceUnreachable(f"{one.name} died; {daemons.trouble_in(layout, one.name)}")
        if time.monotonic() > deadline:
            last = running[-1].name if len(running) == 1 else NIMBUS.name
            raise SourceUnreachable(
                f"waited {_READY_SECONDS:g} s for {what}; {daemons.trouble_in(layout, last)}"
            )
        time.sleep(_POLL_SECONDS)


def _accepts(port: int) -> bool:
    try:
        with socket.create_connection((NIMBUS_HOST, port), timeout=1.0):
            return True
    except OSError:
        return False


def _answers(port: int) -> bool:
    """Whether a ZooKeeper answers there, not only somebody."""
    try:
        with socket.create_connection((NIMBUS_HOST, port), timeout=1.0) as connection:
            connection.sendall(b"srvr")
            return b"Zookeeper" in connection.recv(1024)
    except OSError:
        return False


def _is_whole(bridge: Bridge, nodes: int) -> bool:
    try:
        found = bridge.ask("cluster")
    except SourceUnreachable:
        return False
    has_leader = any(one["leader"] for one in found["nimbuses"])
    return has_leader and len(found["supervisors"]) == nodes


def _clear_past(layout: Layout) -> None:
    """A new cluster begins without the topologies of the last one there; logs are kept."""
    for name in ("zookeeper", "local"):
        shutil.rmtree(layout.data / name, ignore_errors=True)
    for file in layout.plans.iterdir():
        file.unlink()


@contextmanager
def _only_one(layout: Layout) -> Iterator[None]:
    """One process at a time brings a folder's cluster up or down."""
    busy = InvalidInput.single(
        (),
        seen=f"another process that brings the cluster at {layout.data} up or down",
        expected="one at a time",
        remedy="wait for it to finish",
    )
    try:
        layout.data.mkdir(parents=True, exist_ok=True)
        lock = lock_file(layout.data / ".lock", busy)
    except OSError as error:
        raise _unwritable(layout, error) from None
    with lock:
        yield


def _unwritable(layout: Layout, error: OSError) -> UnreadableFile:
    remedy = "name another folder with --data"
    return unwritable(layout.data, error, remedy=remedy, when_full="make room there")
