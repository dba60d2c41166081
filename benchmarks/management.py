"""What keeping jobs running costs on Storm 2.x: bytes a second between a cluster's processes.

Clusters of one, two and four nodes run a job that does nothing, in few and many workers and with
few and many tasks, at Storm's own periods. All packets of the loopback device are counted, by who
opened the connection and whom it leads to. The terms of J3 (Bedini et al. 2013) are fitted to each
kind of connection and to all together, and every configuration is predicted from the others. Data
between workers are not management; as nothing is emitted, what is left of them is what the engine
says. Twenty-five minutes.
"""

from __future__ import annotations

import math
import socket
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.agent_overhead import cleared
from benchmarks.loopback import Listener
from benchmarks.report import Entry, say
from streamgauge.engines.storm.cluster import StormCluster
from streamgauge.engines.storm.jars import own_jar, storm_jars
from streamgauge.engines.storm.processes import processes_of
from streamgauge.engines.storm.program import program_text, topology_program
from streamgauge.errors import InvalidInput, SourceUnreachable
from streamgauge.models.engine_costs import ROUNDING, fit_above_zero
from streamgauge.models.management import FEATURES
from streamgauge.profile.files.jobs import parse_job

ZOOKEEPER, NIMBUS, SUPERVISOR, WORKER = "ZooKeeper", "nimbus", "supervisor", "worker"
MAINS = {
    "org.apache.storm.command.DevZookeeper": ZOOKEEPER,
    "org.apache.storm.daemon.nimbus.Nimbus": NIMBUS,
    "org.apache.storm.daemon.supervisor.Supervisor": SUPERVISOR,
    "org.apache.storm.daemon.worker.Worker": WORKER,
}
# Storm's own; our clusters notice changes sooner.
PERIODS = {
    "nimbus.monitor.freq.secs": 10,
    "supervisor.monitor.frequency.secs": 3,
    "supervisor.heartbeat.frequency.secs": 5,
    "executor.metrics.frequency.secs": 60,
}
# Threads that have nothing to do shall not take the cores.
SLEEPY = {
    "topology.bolt.wait.progressive.level2.count": 0,
    "topology.bolt.wait.progressive.level3.sleep.millis": 50,
    "topology.spout.wait.progressive.level3.sleep.millis": 50,
}
# Workers and tasks by the number of nodes. All periods divide a minute, in which executors report
# once.
PLANS = {
    1: ((1, 4), (1, 60), (2, 30), (4, 60)),
    2: ((2, 8), (2, 80), (6, 40), (4, 80)),
    4: ((4, 8), (4, 80), (8, 80), (10, 40)),
}
SLOTS, MEASURED_SECONDS, SETTLED_SECONDS, UP_SECONDS = 4, 60.0, 30.0, 180.0
# Heartbeats and assignments: connections of a call each, too short to look whose they are.
USUAL = {ZOOKEEPER: NIMBUS, NIMBUS: SUPERVISOR, SUPERVISOR: WORKER, WORKER: WORKER}
# On a machine that is too busy packets are lost, and clocks go by.
ATTEMPTS, LATE_SECONDS = 3, 2.0
# Differences count as parts of their figures, of those beside nothing as parts of so many.
SMALL = 10.0
JOB = """
streamgauge: 1
topology:
  name: idle
  operators: {{in: {{kind: source}}, out: {{tasks: {tasks}}}}}
  streams: [{{from: in, to: out, grouping: shuffle}}]
behaviours: {{out: {{}}}}
configuration: {{executors: {{out: {tasks}}}, workers: {workers}}}
workload: [{{source: in, per_second: 0.01}}]
"""


class Seen(NamedTuple):
    """A configuration, and bytes and new connections a second by kind of connection."""

    nodes: int
    workers: int
    tasks: int
    bytes: Mapping[str, float]
    opened: Mapping[str, float]
    requests: float

    @property
    def terms(self) -> tuple[float, ...]:
        """What the coefficients of `FEATURES` are of."""
        n, w, t = float(self.nodes), float(self.workers), float(self.tasks)
        return 1.0, n, t, w, n * n, n * t, n * w, w * t

    @property
    def management(self) -> float:
        """Bytes a second that are not data."""
        return math.fsum(n for kind, n in self.bytes.items() if kind != name_kind(WORKER, WORKER))


def run(*, large: bool) -> list[Entry]:
    """All configurations, and what explains them."""
    try:
        storm_jars(), own_jar()
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()
    except (InvalidInput, SourceUnreachable, OSError) as error:
        say(f"management is left out: {error}")
        return []
    seen: list[Seen] = []
    with tempfile.TemporaryDirectory() as folder:
        for nodes, plans in PLANS.items():
            data = Path(folder) / f"of-{nodes}"
            cluster = StormCluster.up(
                data, nodes=nodes, slots=SLOTS, outlives=False, settings=PERIODS
            )
            try:
                for workers, tasks in plans:
                    seconds = MEASURED_SECONDS * (3 if large else 1)
                    seen.append(_measure(cluster, nodes, workers, tasks, seconds))
                    say(f"{seen[-1]}")
            finally:
                cluster.down()
    return [summarise(seen)]


def _measure(cluster: StormCluster, nodes: int, workers: int, tasks: int, seconds: float) -> Seen:
    """One job of so many workers and tasks, until it is gone again."""
    job = parse_job(JOB.format(workers=workers, tasks=tasks - 1))
    ports = cluster.state.ports
    servers = {ports.zookeeper: ZOOKEEPER, ports.nimbus: NIMBUS}
    for node in ports.nodes:
        servers |= {node.thrift: SUPERVISOR, **dict.fromkeys(node.slots, WORKER)}
    with cluster.bridge() as bridge, cleared(cluster, bridge):
        bridge.ask(
            "submit",
            topology="idle",
            program=program_text(topology_program(job, seed=1, trace_every=0)),
            jar=str(own_jar()),
            configuration=SLEEPY,
        )
        _await_workers(cluster, workers)
        time.sleep(SETTLED_SECONDS)
        for _ in range(ATTEMPTS):
            before, begun = _count_requests(ports.zookeeper), time.monotonic()
            with Listener(servers, USUAL, find_role, lambda: _list_processes(cluster)) as listener:
                time.sleep(seconds)
            requests = (_count_requests(ports.zookeeper) - before - 1) / seconds
            late = time.monotonic() - begun - seconds
            if not listener.lost and late < LATE_SECONDS:
                break
            say(f"{listener.lost} packets lost, {late:.1f} s late")
    sums: defaultdict[str, float] = defaultdict(float)
    opened: defaultdict[str, float] = defaultdict(float)
    for flow, size in listener.bytes.items():
        sums[name_kind(flow.client, flow.server)] += size / seconds
        opened[name_kind(flow.client, flow.server)] += listener.opened[flow] / seconds
    return Seen(nodes, workers, tasks, dict(sums), dict(opened), requests)


def name_kind(client: str, server: str) -> str:
    """What connections between two roles are called."""
    return f"{client} → {server}"


def find_role(process: int) -> str:
    """What a process is, by its main class; `other` where it is none of a cluster's."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_text().split("\0")
    except OSError:
        return "unknown"
    # A worker's log writer has the worker's command behind its own.
    mains = [word for word in words if word.startswith("org.apache.storm.")]
    return MAINS.get(mains[0], "other") if mains else "other"


def _list_processes(cluster: StormCluster) -> list[int]:
    return [one.pid for one in processes_of(cluster.state.cluster)]


def _await_workers(cluster: StormCluster, workers: int) -> None:
    deadline = time.monotonic() + UP_SECONDS
    while (found := _count_workers(cluster)) < workers:
        if time.monotonic() > deadline:
            raise SourceUnreachable(f"{found} of {workers} workers run; see {cluster.layout.logs}")
        time.sleep(0.5)


def _count_workers(cluster: StormCluster) -> int:
    return sum(find_role(process) == WORKER for process in _list_processes(cluster))


def _count_requests(port: int) -> int:
    """Packets that ZooKeeper has received so far."""
    with socket.create_connection(("127.0.0.1", port), timeout=5.0) as connection:
        connection.sendall(b"srvr")
        text = b"".join(iter(lambda: connection.recv(4096), b"")).decode()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Received:"))


def fit_terms(seen: Sequence[Seen], values: Iterable[float]) -> dict[str, float]:
    """What each term adds to a figure, by `FEATURES`; none below zero, zeros left out."""
    terms, figures = np.asarray([one.terms for one in seen]), np.asarray(list(values))
    size = np.linalg.norm(terms, axis=0)
    off = np.maximum(figures, SMALL)
    found = fit_above_zero(terms / size / off[:, np.newaxis], figures / off) / size
    return {name: n for name, n in zip(FEATURES, found.tolist(), strict=True) if n > ROUNDING}


def summarise(seen: Sequence[Seen]) -> Entry:
    """Terms by kind of connection, of all management, and how far they predict."""
    entry = Entry(
        "management",
        f"bytes a second beside data on Storm 2.x, {len(seen)} configurations; terms of one, N"
        " nodes, T tasks and W workers",
        cases={
            f"N {one.nodes}, W {one.workers}, T {one.tasks}": {
                "management": one.management,
                "requests to ZooKeeper a second": one.requests,
                **{f"{kind}, bytes": n for kind, n in sorted(one.bytes.items())},
                **{f"{kind}, connections": n for kind, n in sorted(one.opened.items())},
            }
            for one in seen
        },
    )
    kinds = sorted({kind for one in seen for kind in one.bytes})
    figures = {kind: [one.bytes.get(kind, 0.0) for one in seen] for kind in kinds}
    figures["management"] = [one.management for one in seen]
    figures["requests to ZooKeeper"] = [one.requests for one in seen]
    for what, values in figures.items():
        for name, coefficient in fit_terms(seen, values).items():
            entry.ratios[f"{what}: {name}"] = coefficient
    off = []
    for place, one in enumerate(seen):
        rest = [other for at, other in enumerate(seen) if at != place]
        found = fit_terms(rest, [other.management for other in rest])
        terms = zip(FEATURES, one.terms, strict=True)
        off.append(sum(found.get(name, 0.0) * n for name, n in terms) / one.management - 1.0)
        entry.ratios[f"left out: N {one.nodes}, W {one.workers}, T {one.tasks}"] = off[-1]
    entry.ratios["left out: median"] = float(np.median(np.abs(off)))
    entry.ratios["left out: worst"] = max(map(abs, off))
    return entry
