"""Clusters: machines, the nodes on them, and the latency between nodes."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from streamgauge.errors import Findings, InvalidInput, did_you_mean
from streamgauge.topology.field_checks import check_known, check_name, check_number, check_whole
from streamgauge.topology.frozen import freeze

FIRST_PORT = 6700
MAX_PORT = 65_535
MAX_NODES = 100_000
# Of Linux 6.18 with two cores (docs/contention.md).
USUAL_BALANCE_MS = 6.0
BYTES_OF_GBIT = 1e9 / 8.0


def number_ports(slots: int) -> tuple[int, ...]:
    """The ports of `slots` slots, numbered from 6700 as in Storm."""
    with Findings() as findings:
        check_whole(findings, slots, "slots", most=MAX_PORT - FIRST_PORT + 1)
    return tuple(range(FIRST_PORT, FIRST_PORT + slots))


class Slot(NamedTuple):
    """A place on a node where one worker process can run."""

    node: str
    port: int

    def __str__(self) -> str:
        return f"{self.node}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Hardware: the cores that all threads on it share.

    Attributes:
        cores: Cores that threads can run on at once; a fraction where a quota limits them.
        memory_bytes: Memory for all that runs there, where known.
        background_cores: Cores that something else keeps busy on average.
        balance_ms: How often a core with less to do takes over a thread that waits for another;
            zero where threads find any free core at once, None where it is not known: 6.
        network_gbit_per_second: Speed of its network card, each way, where known.
    """

    name: str
    cores: float
    memory_bytes: int | None = None
    background_cores: float = 0.0
    balance_ms: float | None = None
    network_gbit_per_second: float | None = None

    def __post_init__(self) -> None:
        with Findings() as findings:
            check_name(findings, self.name, "name")
            fine = check_number(findings, self.cores, "cores", above=0.0)
            if self.memory_bytes is not None:
                check_whole(findings, self.memory_bytes, "memory_bytes")
            if check_number(findings, self.background_cores, "background_cores") and fine:
                check_number(findings, self.background_cores, "background_cores", most=self.cores)
            if self.balance_ms is not None:
                check_number(findings, self.balance_ms, "balance_ms")
            speed = self.network_gbit_per_second
            if speed is not None:
                check_number(findings, speed, "network_gbit_per_second", above=0.0)

    @property
    def network_bytes_per_second(self) -> float:
        """What its network card carries each way; infinite where that is not known."""
        speed = self.network_gbit_per_second
        return math.inf if speed is None else speed * BYTES_OF_GBIT

    @property
    def balance_seconds(self) -> float:
        """The same in seconds, as usual where it is not known."""
        return (USUAL_BALANCE_MS if self.balance_ms is None else self.balance_ms) / 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A supervisor (task manager, container host) with its slots; several may share a machine.

    Attributes:
        ports: One slot each, identified by the port its worker would listen on.
        rack: Where the machine stands; nodes of one rack are closer.
    """

    name: str
    machine: str
    ports: tuple[int, ...] = (FIRST_PORT,)
    rack: str = "default-rack"

    def __post_init__(self) -> None:
        freeze(self, "ports")
        findings = Findings()
        check_name(findings, self.name, "name")
        check_name(findings, self.rack, "rack")
        if not self.ports:
            findings.add("ports", seen="no slot", expected="at least one slot per node")
        for index, port in enumerate(self.ports):
            # Report only the first wrong port: a wrong range has thousands.
            if not check_whole(findings, port, "ports", index, most=MAX_PORT):
                break
        if len(set(self.ports)) < len(self.ports):
            findings.add("ports", seen=f"a port twice in {list(self.ports)}", expected="each once")
        findings.raise_if_any()

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The node's slots, lowest port first."""
        return tuple(Slot(self.name, port) for port in sorted(self.ports))


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One-way network latency between two nodes; holds both ways unless the other is given.

    Attributes:
        latency_ms: Mean.
        jitter_ms: Standard deviation; at most the latency, of which it is the random part.
    """

    source: str
    target: str
    latency_ms: float
    jitter_ms: float = 0.0

    def __post_init__(self) -> None:
        with Findings() as findings:
            check_number(findings, self.latency_ms, "latency_ms")
            if check_number(findings, self.jitter_ms, "jitter_ms") and not findings:
                check_number(findings, self.jitter_ms, "jitter_ms", most=self.latency_ms)


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Machines, nodes on them, and how far nodes are apart.

    Attributes:
        links: Measured latencies between pairs of nodes.
        latency_ms: One-way latency between two nodes that no link names.
    """

    machines: tuple[Machine, ...]
    nodes: tuple[Node, ...]
    links: tuple[Link, ...] = ()
    latency_ms: float = 0.0

    def __post_init__(self) -> None:
        freeze(self, "machines", "nodes", "links")
        findings = Findings()
        machines = [machine.name for machine in self.machines]
        nodes = [node.name for node in self.nodes]
        _check_unique(findings, machines, "machines")
        _check_unique(findings, nodes, "nodes")
        check_number(findings, self.latency_ms, "latency_ms")
        known_machines, known_nodes = dict.fromkeys(machines), dict.fromkeys(nodes)

        def check(name: str, known: Mapping[str, None], *place: str | int) -> None:
            seen, expected = f"unknown name {name!r}", "a declared name"
            check_known(findings, name, known, *place, seen=seen, expected=expected)

        for node in self.nodes:
            check(node.machine, known_machines, "nodes", node.name, "machine")
        pairs: set[tuple[str, str]] = set()
        for index, link in enumerate(self.links):
            check(link.source, known_nodes, "links", index, "from")
            check(link.target, known_nodes, "links", index, "to")
            if (link.source, link.target) in pairs:
                findings.add(
                    "links",
                    index,
                    seen=f"a second link from {link.source!r} to {link.target!r}",
                    expected="each pair once",
                )
            pairs.add((link.source, link.target))
        findings.raise_if_any()

    @classmethod
    def uniform(
        cls,
        *,
        nodes: int,
        slots: int = 1,
        cores: float = 1.0,
        memory_bytes: int | None = None,
        latency_ms: float = 0.0,
        network_gbit_per_second: float | None = None,
    ) -> Cluster:
        """`nodes` equal machines ``m1``, ``m2``, … with one node ``n1``, ``n2``, … each."""
        with Findings() as findings:
            check_whole(findings, nodes, "nodes", most=MAX_NODES)
        width = len(str(nodes))
        numbers = [str(number).zfill(width) for number in range(1, nodes + 1)]
        ports = number_ports(slots)
        return cls(
            machines=tuple(
                Machine(
                    name=f"m{number}",
                    cores=cores,
                    memory_bytes=memory_bytes,
                    network_gbit_per_second=network_gbit_per_second,
                )
                for number in numbers
            ),
            nodes=tuple(
                Node(name=f"n{number}", machine=f"m{number}", ports=ports) for number in numbers
            ),
            latency_ms=latency_ms,
        )

    def list_balance_ms(self, learned: Mapping[str, float]) -> list[float]:
        """The balance of each machine: its own, what was learned of it, or the usual one.

        Machines of which nothing was learned are taken to be like the others.
        """
        usual = statistics.median(learned.values()) if learned else USUAL_BALANCE_MS
        return [
            learned.get(one.name, usual) if one.balance_ms is None else one.balance_ms
            for one in self.machines
        ]

    @property
    def slots(self) -> tuple[Slot, ...]:
        """Every slot, node by node."""
        return tuple(slot for node in self.nodes for slot in node.slots)

    def node(self, name: str) -> Node:
        """The node of that name, or InvalidInput with the nearest names."""
        node = self._nodes_by_name.get(name)
        if node is not None:
            return node
        raise InvalidInput.single(
            (),
            seen=f"node {name!r}",
            expected="a node of the cluster",
            remedy=did_you_mean(name, [node.name for node in self.nodes]),
        )

    def machine_of(self, node: str) -> Machine:
        """The machine whose cores `node` uses."""
        return self._machines_by_name[self.node(node).machine]

    def latency_between(self, source: str, target: str) -> float:
        """One-way latency in milliseconds; zero inside a node."""
        if source == target:
            return 0.0
        link = self._link(source, target)
        return self.latency_ms if link is None else link.latency_ms

    def jitter_between(self, source: str, target: str) -> float:
        """Random part of the one-way latency in milliseconds; zero inside a node."""
        link = None if source == target else self._link(source, target)
        return 0.0 if link is None else link.jitter_ms

    def _link(self, source: str, target: str) -> Link | None:
        links = self._links_by_ends
        return links.get((source, target), links.get((target, source)))

    @cached_property
    def _nodes_by_name(self) -> dict[str, Node]:
        return {node.name: node for node in self.nodes}

    @cached_property
    def _machines_by_name(self) -> dict[str, Machine]:
        return {machine.name: machine for machine in self.machines}

    @cached_property
    def _links_by_ends(self) -> dict[tuple[str, str], Link]:
        return {(link.source, link.target): link for link in self.links}


def _check_unique(findings: Findings, names: Sequence[str], what: str) -> None:
    if not names:
        findings.add(what, seen=f"no {what}", expected="at least one")
    for name in sorted(name for name, times in Counter(names).items() if times > 1):
        findings.add(what, name, seen=f"the name {name!r} twice", expected="each name once")
