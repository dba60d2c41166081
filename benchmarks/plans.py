"""Plans: building, classifying and summing paths, at 20 and at 200 operators."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from itertools import islice, pairwise

import numpy as np

from benchmarks.jobs import random_topology
from benchmarks.report import Entry, growth, measure
from streamgauge.planning.scheduling.even import EvenScheduler
from streamgauge.topology import Cluster, Configuration, ConnectionBlock, TupleFlow
from streamgauge.topology.paths import count_paths, iter_paths, longest_paths, sum_paths
from streamgauge.topology.tuple_flow import Matrix
from streamgauge.transport import storm1

EXECUTORS = 16
SIZES, LARGE_SIZES = (20, 200), (20, 200, 1000)
BUILD = "build and classify"
SUM = "count, sum and longest by dynamic programming"
# Every path of a plan would take hours; a fixed number of them gives the price of one.
PATHS_WALKED = 20_000


def run(*, large: bool) -> list[Entry]:
    """How costs grow with size, and what walking every path would cost."""
    return [_measure_growth(LARGE_SIZES if large else SIZES), _measure_walking()]


def _make_flow(operators: int) -> TupleFlow:
    topology = random_topology(operators, tasks=EXECUTORS, seed=operators)
    workers, nodes = operators // 2, max(1, operators // 8)
    configuration = Configuration(
        executors=dict.fromkeys(topology.operator_names, EXECUTORS), workers=workers
    )
    cluster = Cluster.uniform(nodes=nodes, slots=-(-workers // nodes), cores=8)
    plan = EvenScheduler().schedule(topology, configuration, cluster).plan
    return TupleFlow.of(plan, storm1.HOPS)


def _lengths(block: ConnectionBlock) -> Matrix:
    return block.types.astype(np.float64)


def _sum_up(flow: TupleFlow) -> None:
    count_paths(flow)
    sum_paths(flow, lengths=_lengths)
    longest_paths(flow, lengths=_lengths)


def _measure_growth(sizes: tuple[int, ...]) -> Entry:
    entry = Entry(
        "plans",
        f"{EXECUTORS} executors an operator, acked, even scheduler; growth exponents are per "
        "connection: 1 is linear",
    )
    for operators in sizes:
        flow = _make_flow(operators)
        entry.cases[f"{operators} operators"] = {
            "executors": len(flow.plan.logical.executors),
            "connections": sum(int(block.exists.sum()) for block in flow.blocks),
            "data connections": sum(int(block.exists.sum()) for block in flow.data_blocks),
            "paths": float(sum(count_paths(flow).values())),
            BUILD: asdict(measure(partial(_make_flow, operators), repetitions=7)),
            SUM: asdict(measure(partial(_sum_up, flow), repetitions=7)),
        }
    for (before, small), (after, big) in pairwise(entry.cases.items()):
        # Plans are built with their ack streams; paths run along data streams only.
        for part, size in ((BUILD, "connections"), (SUM, "data connections")):
            for figure in ("seconds", "peak_bytes"):
                exponent = growth(small[part][figure], big[part][figure], big[size] / small[size])
                label = f"growth exponent of {figure}: {part}, {before} → {after}"
                entry.ratios[label] = round(exponent, 3)
    return entry


def _measure_walking() -> Entry:
    """What dynamic programming saves against walking every path, on a plan both can do."""
    flow = _make_flow(20)
    paths = sum(count_paths(flow).values())
    entry = Entry(
        "paths by enumeration",
        f"walking {PATHS_WALKED} of {paths:.3g} paths of the 20-operator plan, one at a time",
    )

    def walk() -> None:
        for _ in islice(iter_paths(flow), PATHS_WALKED):
            pass

    walked = entry.time("walk", walk, repetitions=3)
    summed = entry.time("dynamic programming", partial(_sum_up, flow), repetitions=7)
    every_path = walked.seconds * paths / PATHS_WALKED
    entry.ratios["all paths walked one by one / dynamic programming"] = every_path / summed.seconds
    return entry
