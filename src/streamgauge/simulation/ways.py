"""The ways that tuples take through a topology: latencies are kept apart by them.

A way begins at a source and follows streams. Where there are too many ways, or cycles, latencies
are kept apart by source and sink alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.simulation.records import NONE
from streamgauge.topology.topology import Stream, Topology

MAX_WAYS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """All ways, numbered; the first are the sources themselves.

    Attributes:
        following: The way of a tuple that leaves on a subscription, by way.
        row: Row of (way, operator) among the latencies, or NONE.
        source: Place among the sources where each way begins.
        rows: What each row is: the operators on the way, first to last; source and sink alone
            where ways are not told apart.
        complete: Whether ways are told apart.
    """

    following: NDArray[Any]
    row: NDArray[Any]
    source: NDArray[Any]
    rows: tuple[tuple[str, ...], ...]
    complete: bool


def find_ways(topology: Topology, streams: tuple[Stream, ...]) -> Ways:
    """Number the ways from every source to every sink."""
    sources = [operator.name for operator in topology.sources]
    names = list(topology.operator_names)
    sinks = [operator.name for operator in topology.sinks]
    ways: list[tuple[str, ...]] = [(source,) for source in sources]
    following: list[dict[int, int]] = [{} for _ in sources]
    origin = list(range(len(sources)))
    at = 0
    while at < len(ways) and len(ways) <= MAX_WAYS:
        for number, stream in enumerate(streams):
            if stream.source == ways[at][-1]:
                following[at][number] = len(ways)
                following.append({})
                ways.append((*ways[at], stream.target))
                origin.append(origin[at])
        at += 1
    if len(ways) > MAX_WAYS:
        pairs = tuple((source, sink) for source in sources for sink in sinks)
        table = np.full((len(sources), len(names)), NONE, dtype=np.int64)
        for index, (source, sink) in enumerate(pairs):
            table[sources.index(source), names.index(sink)] = index
        own = np.arange(len(sources))
        return Ways(
            following=np.repeat(own[:, None], len(streams), axis=1),
            row=table,
            source=own,
            rows=pairs,
            complete=False,
        )
    rows = tuple(dict.fromkeys(way for way in ways if way[-1] in sinks))
    numbers = {way: index for index, way in enumerate(rows)}
    table = np.full((len(ways), len(names)), NONE, dtype=np.int64)
    steps = np.full((len(ways), len(streams)), NONE, dtype=np.int64)
    for index, way in enumerate(ways):
        if way in numbers:
            table[index, names.index(way[-1])] = numbers[way]
        for number, target in following[index].items():
            steps[index, number] = target
    return Ways(
        following=steps,
        row=table,
        source=np.asarray(origin, dtype=np.int64),
        rows=rows,
        complete=True,
    )
