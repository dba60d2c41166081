"""Plans: building, classifying and summing paths, at 20 and at 200 operators."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.report import Entry, growth, measure
from benchmarks.topologies import configured, random_topology
from streamgauge.planning.scheduling.even import EvenScheduler
from streamgauge.topology import ConnectionBlock, TupleFlow
from streamgauge.topology.paths import count_paths, iter_paths, longest_paths, sum_paths
from streamgauge.topology.tuple_flow import Matrix
from streamgauge.transport import storm1

EXECUTORS = 16
SIZES = (20, 200)
BUILD = "build and classify"
SUM = "count, sum and longest by dynamic programming"
LARGE_SIZES = (20, 200, 1000)


def run(*, large: bool) -> list[Entry]:
    """The entries of this module."""
    return [_growth_entry(LARGE_SIZES if large else SIZES), _enumeration_entry()]


def _flow(operators: int) -> TupleFlow:
    topology = random_topology(operators, tasks=EXECUTORS, seed=operators)
    configuration, cluster = configured(
        topology, executors=EXECUTORS, workers=operators // 2, nodes=max(1, operators // 8)
    )
    schedule = EvenScheduler().schedule(topology, configuration, cluster)
    return TupleFlow.of(schedule.plan, storm1.HOPS)


def _lengths(block: ConnectionBlock) -> Matrix:
    return block.types.astype(np.float64)


def _sums(flow: TupleFlow) -> None:
    count_paths(flow)
    sum_paths(flow, lengths=_lengths)
    longest_paths(flow, lengths=_lengths)


def _connections(blocks: Iterable[ConnectionBlock]) -> int:
    return sum(int(block.exists.sum()) for block in blocks)


def _growth_entry(sizes: tuple[int, ...]) -> Entry:
    cases: dict[str, dict[str, Any]] = {}
    for operators in sizes:
        flow = _flow(operators)
        build = measure(partial(_flow, operators), repetitions=7)
        sums = measure(partial(_sums, flow), repetitions=7)
        cases[f"{operators} operators"] = {
            "executors": len(flow.plan.logical.executors),
            "connections": _connections(flow.blocks),
            "data connections": _connections(flow.data_blocks),
            "paths": float(sum(count_paths(flow).values())),
            BUILD: asdict(build),
            SUM: asdict(sums),
        }
    ratios = {}
    names = list(cases)
    for before, after in pairwise(names):
        small, big = cases[before], cases[after]
        # Plans are built with their ack streams; paths run along data streams only.
        for part, size in ((BUILD, "connections"), (SUM, "data connections")):
            times = big[size] / small[size]
            step = f"{part}, {before} → {after}"
            for figure in ("seconds", "peak_bytes"):
                ratios[f"growth exponent of {figure}: {step}"] = round(
                    growth(small[part][figure], big[part][figure], times), 3
                )
    return Entry(
        name="plans",
        about=f"{EXECUTORS} executors an operator, acked, even scheduler; growth exponents are "
        "per connection: 1 is linear",
        cases=cases,
        ratios=ratios,
    )


def _enumeration_entry() -> Entry:
    """What dynamic programming saves against walking every path, on a plan both can do."""
    flow = _flow(20)
    total = sum(count_paths(flow).values())
    # Every path of this plan would take hours; a fixed number of them gives the price of one.
    walked = 20_000

    def walk() -> None:
        for _, _path in zip(range(walked), iter_paths(flow), strict=False):
            pass

    enumerated = measure(walk, repetitions=3)
    summed = measure(lambda: _sums(flow), repetitions=7)
    per_path = enumerated.seconds / walked
    return Entry(
        name="paths by enumeration",
        about=f"walking {walked} of {total:.3g} paths of the 20-operator plan, one at a time",
        cases={"walk": asdict(enumerated), "dynamic programming": asdict(summed)},
        ratios={
            "all paths walked one by one / dynamic programming": per_path * total / summed.seconds,
        },
    )
