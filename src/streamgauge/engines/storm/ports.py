"""Ports of a cluster's daemons and slots, chosen among the free ones of this machine."""

from __future__ import annotations

import random
import socket
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain, islice

from streamgauge.errors import SourceUnreachable
from streamgauge.topology.cluster import FIRST_PORT, MAX_PORT

NIMBUS_HOST = "127.0.0.1"
# Below the ports that systems give to outgoing connections, above those of well-known services.
_DAEMON_PORTS = range(20_000, 30_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePorts:
    """A node and the ports that are its own."""

    name: str
    thrift: int
    slots: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """All ports of a cluster; workers of all nodes share the machine's."""

    zookeeper: int
    nimbus: int
    nodes: tuple[NodePorts, ...]

    @property
    def all(self) -> frozenset[int]:
        """Every one of them."""
        slots = (port for node in self.nodes for port in (node.thrift, *node.slots))
        return frozenset((self.zookeeper, self.nimbus, *slots))


def choose_ports(nodes: int, slots: int, *, taken: Collection[int]) -> Ports:
    """Free ports for a cluster of so many nodes, each with so many slots."""
    daemons = daemon_ports(2 + nodes, taken=taken, rng=random.Random())
    workers = slot_ports(nodes * slots, taken=taken)
    return Ports(
        zookeeper=daemons[0],
        nimbus=daemons[1],
        nodes=tuple(
            NodePorts(
                # Each has a loopback address of its own, beside that of nimbus.
                name=f"127.0.0.{index + 2}",
                thrift=daemons[2 + index],
                slots=workers[index * slots : (index + 1) * slots],
            )
            for index in range(nodes)
        ),
    )


def is_free(port: int) -> bool:
    """Whether a daemon could listen there, on all addresses of the machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def daemon_ports(count: int, *, taken: Collection[int], rng: random.Random) -> tuple[int, ...]:
    """Ports for daemons, from a random place on: two clusters that start at once rarely meet."""
    start = rng.randrange(len(_DAEMON_PORTS))
    candidates = chain(_DAEMON_PORTS[start:], _DAEMON_PORTS[:start])
    return _first_free(count, candidates, taken)


def slot_ports(count: int, *, taken: Collection[int]) -> tuple[int, ...]:
    """Ports for workers, from the number on that Storm begins with."""
    return _first_free(count, range(FIRST_PORT, MAX_PORT + 1), taken)


def _first_free(count: int, candidates: Iterable[int], taken: Collection[int]) -> tuple[int, ...]:
    free = (port for port in candidates if port not in taken and is_free(port))
    found = tuple(islice(free, count))
    if len(found) < count:
        raise SourceUnreachable(
            f"{count} free ports were needed and {len(found)} found; stop what listens there"
        )
    return found
