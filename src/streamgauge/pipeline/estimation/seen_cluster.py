"""The cluster that a plan ran on, where nobody described it: nodes by name, cores as measured."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.lake.records import Plan
from streamgauge.profile.figures import HostFigures
from streamgauge.topology.cluster import Cluster, Machine, Node


def seen_cluster(plan: Plan, machines: Mapping[str, HostFigures]) -> Cluster | None:
    """Nodes with the slots that executors were in, on the machines whose cores were measured.

    A worker knows its own machine only. Of another node the machine is taken to be the one that has
    its name, with or without a domain; where there is none the cluster is not known.
    """
    cores = {name: one.available.value for name, one in machines.items() if one.available}
    ports: dict[str, set[int]] = {}
    machine_of: dict[str, str] = {}
    for executor in plan.executors:
        port = executor.worker.rpartition(":")[2]
        if not port.isdecimal():
            return None
        ports.setdefault(executor.node, set()).add(int(port))
        machine = executor.machine or _namesake(executor.node, cores)
        if machine is not None:
            machine_of[executor.node] = machine
    if not ports or any(cores.get(machine_of.get(node, ""), 0.0) <= 0.0 for node in ports):
        return None
    used = sorted(set(machine_of.values()))
    return Cluster(
        machines=tuple(Machine(name=name, cores=cores[name]) for name in used),
        nodes=tuple(
            Node(name=node, machine=machine_of[node], ports=tuple(sorted(slots)))
            for node, slots in sorted(ports.items())
        ),
    )


def _namesake(node: str, machines: Mapping[str, float]) -> str | None:
    if node in machines:
        return node
    short = node.partition(".")[0]
    alike = [name for name in machines if name.partition(".")[0] == short]
    # Addresses of one network begin alike and are no names.
    return alike[0] if len(alike) == 1 and not short.isdecimal() else None
