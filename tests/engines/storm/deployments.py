"""Jobs on the cluster that tests share."""

import socket
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from streamgauge.engines.storm.applying import read_assignment, remove_plan
from streamgauge.engines.storm.jars import own_jar
from streamgauge.engines.storm.program import program_text, topology_program
from streamgauge.profile.files.jobs import parse_job

PATIENCE_SECONDS = 180.0


def job(name, *, executors, workers=2, tasks=None, acked=True, ackers=None):
    """Three operators in a row that wait a little, with these executors and tasks."""
    counts = tasks or executors
    described = parse_job(
        f"""
streamgauge: 1
topology:
  name: {name}
  acked: {str(acked).lower()}
  operators:
    source: {{kind: source, tasks: {counts["source"]}}}
    work: {{tasks: {counts["work"]}}}
    end: {{tasks: {counts["end"]}}}
  streams:
    - {{from: source, to: work, grouping: shuffle}}
    - {{from: work, to: end, grouping: shuffle}}
behaviours:
  work: {{service: {{wait_ms: 1}}, outputs: {{default: 1}}}}
  end: {{service: {{cpu_ms: 0.01}}}}
configuration:
  settings:
    topology.bolt.wait.progressive.level2.count: 0
    topology.disable.loadaware.messaging: true
workload: [{{source: source, per_second: 200}}]
"""
    )
    configuration = replace(
        described.configuration, executors=executors, workers=workers, ackers=ackers
    )
    return replace(described, configuration=configuration)


def until(ready, what):
    """Wait for something; the clock only bounds how long a broken test takes."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := ready()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.2)
    return found


@contextmanager
def submitted(storm, bridge, described):
    """The job runs under its name, placed by nimbus; it is gone at the end.

    It is killed when its workers run: a supervisor ends itself that is still fetching a topology
    which goes away, and time passes until it is there again.
    """
    name = described.topology.name
    bridge.ask(
        "submit",
        topology=name,
        program=program_text(topology_program(described, seed=1)),
        jar=str(own_jar()),
    )
    try:
        until(lambda: read_assignment(bridge, name).slots, f"the assignment of {name}")
        yield name
    finally:
        slots = set(read_assignment(bridge, name).slots.values())
        until(lambda: all(map(listens, slots)), f"the workers of {name}")
        remove_plan(storm.layout.plans, name)
        bridge.ask("kill", topology=name, wait_seconds=0)
        until(lambda: name not in running(bridge), f"the end of {name}")
        until(lambda: not any(map(listens, slots)), "the end of its workers")


def listens(slot):
    """Whether a worker listens in a slot."""
    try:
        with socket.create_connection(slot, timeout=1.0):
            return True
    except OSError:
        return False


def running(bridge):
    """Names of topologies that nimbus knows."""
    return {one["name"] for one in bridge.ask("cluster")["topologies"]}


def command_of(pid):
    """The words that a process was started with; none where it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return []


def parent_of(pid):
    """The process that started another; 0 where it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[1])
