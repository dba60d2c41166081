"""Random topologies of a given size, for benchmarks and for looking at pictures."""

from __future__ import annotations

import random

from streamgauge.topology import (
    All,
    Cluster,
    Configuration,
    Fields,
    Global,
    Grouping,
    LocalOrShuffle,
    Operator,
    OperatorKind,
    Shuffle,
    Stream,
    Topology,
)

NAMES = ("parse", "enrich", "filter", "join", "count", "score", "route", "store", "alert", "merge")


def random_topology(operators: int, *, tasks: int, seed: int, acked: bool = True) -> Topology:
    """An acyclic topology: a tenth of its operators are sources, each other has 1 to 3 inputs.

    Inputs come from operators not far back, so that depth and width both grow with size.
    """
    generator = random.Random(seed)
    sources = max(1, operators // 10)
    names = [f"source-{index}" for index in range(sources)]
    names += [f"{NAMES[index % len(NAMES)]}-{index}" for index in range(sources, operators)]
    groupings: list[Grouping] = [
        Shuffle(),
        Shuffle(),
        Fields(keys=("user",)),
        LocalOrShuffle(),
        Global(),
        All(),
    ]
    streams = []
    for index in range(sources, operators):
        reach = range(max(0, index - 2 * sources - 4), index)
        for number in sorted(
            generator.sample(reach, min(len(reach), generator.choice((1, 1, 2, 3))))
        ):
            grouping = generator.choice(groupings if len(names) < 100 else groupings[:4])
            streams.append(
                Stream(source=names[number], target=names[index], name="out", grouping=grouping)
            )
    return Topology(
        name=f"random-{operators}",
        operators=tuple(
            Operator(
                name=name,
                kind=OperatorKind.SOURCE if index < sources else OperatorKind.PROCESSOR,
                tasks=tasks,
            )
            for index, name in enumerate(names)
        ),
        streams=tuple(streams),
        acked=acked,
    )


def configured(
    topology: Topology, *, executors: int, workers: int, nodes: int
) -> tuple[Configuration, Cluster]:
    """Every operator with that many executors, on a uniform cluster with slots for all workers."""
    configuration = Configuration(
        executors=dict.fromkeys(topology.operator_names, executors), workers=workers
    )
    return configuration, Cluster.uniform(nodes=nodes, slots=-(-workers // nodes), cores=8)
