"""Free ports of this machine."""

from __future__ import annotations

import random
import socket
from collections.abc import Collection, Iterable
from itertools import chain, islice

from streamgauge.errors import SourceUnreachable
from streamgauge.topology.cluster import FIRST_PORT, MAX_PORT

# Below the ports that systems give to outgoing connections, above those of well-known services.
_DAEMON_PORTS = range(20_000, 30_000)


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
