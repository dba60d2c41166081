"""Probes between nodes: what `ping` would say of the cluster's links.

A message takes the link's latency, of which the jitter is the exponential random part, as in the
simulator. All nodes have the same clock, so that one-way times are right.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.lake.records import Link, LinkKind
from streamgauge.topology.cluster import Cluster

PROBES = 10
_NANOSECONDS_PER_MS = 1e6


class Probes:
    """Sends probes between all pairs of nodes.

    Args:
        cluster: With its links.
        nodes: Those that probe each other.
        name: What the cluster is called, where it has a name.
        random: For the jitter.
    """

    def __init__(
        self,
        cluster: Cluster,
        nodes: tuple[str, ...],
        name: str | None,
        random: np.random.Generator,
    ) -> None:
        self._name = name
        self._random = random
        self._pairs = [(a, b) for a in nodes for b in nodes if a != b]
        self._latency = _matrix([cluster.latency_between(a, b) for a, b in self._pairs])
        self._jitter = _matrix([cluster.jitter_between(a, b) for a, b in self._pairs])
        place = {pair: index for index, pair in enumerate(self._pairs)}
        self._back = [place[b, a] for a, b in self._pairs]

    def at(self, measured_at_us: int) -> Iterator[Link]:
        """One-way times and round trips of all pairs."""
        # Drawn apart, since a round trip is not the way out and back of two other probes.
        alone, out, back = (self._one_way() for _ in range(3))
        both = out + back[self._back]
        for (source, target), one_way, trip in zip(self._pairs, alone, both, strict=True):
            for kind, times in ((LinkKind.ROUND_TRIP, trip), (LinkKind.ONE_WAY, one_way)):
                yield Link(
                    cluster=self._name,
                    source_node=source,
                    target_node=target,
                    kind=kind.value,
                    measured_at_us=measured_at_us,
                    sent=PROBES,
                    received=PROBES,
                    least_ns=round(float(times.min())),
                    mean_ns=round(float(times.mean())),
                    most_ns=round(float(times.max())),
                )

    def _one_way(self) -> NDArray[Any]:
        """Nanoseconds of each probe of each pair."""
        random = self._random.standard_exponential((len(self._pairs), PROBES))
        return np.asarray(self._latency + self._jitter * (random - 1.0))


def _matrix(milliseconds: list[float]) -> NDArray[np.float64]:
    return np.asarray(milliseconds).reshape(-1, 1) * _NANOSECONDS_PER_MS
