"""Plans: building them with their connections, and summing their paths, as operators grow."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np

from benchmarks.jobs import random_topology
from benchmarks.report import Entry, growth
from streamgauge.planning.scheduling.contract import PlacementRequest
from streamgauge.planning.scheduling.even import EvenScheduler
from streamgauge.topology import Cluster, Configuration, TupleFlow
from streamgauge.topology.paths import count_paths, sum_paths
from streamgauge.transport import storm1

EXECUTORS = 16
SIZES, LARGE_SIZES = (20, 200), (20, 200, 1000)


def run(*, large: bool) -> list[Entry]:
    """Seconds by size, and how they grow with the connections that are walked."""
    entry = Entry("plans", f"{EXECUTORS} executors an operator, acked; growth exponent 1 is linear")
    sizes = LARGE_SIZES if large else SIZES
    for operators in sizes:
        flow = _make_flow(operators)
        lengths = partial(sum_paths, flow, lengths=lambda block: block.types.astype(np.float64))
        # Plans are built with their ack streams; paths run along data streams only.
        for part, work, blocks in (
            ("build", partial(_make_flow, operators), flow.blocks),
            ("sum", lengths, flow.data_blocks),
        ):
            name = f"{part} {operators} operators"
            entry.time(name, work, repetitions=7)
            connections = sum(int(block.exists.sum()) for block in blocks)
            paths = float(sum(count_paths(flow).values()))
            entry.cases[name] |= {"connections": connections, "paths": paths}
    for part in ("build", "sum"):
        cases = [entry.cases[f"{part} {operators} operators"] for operators in sizes]
        for (before, after), (small, big) in zip(pairwise(sizes), pairwise(cases), strict=True):
            times = big["connections"] / small["connections"]
            exponent = growth(small["seconds"], big["seconds"], times)
            entry.ratios[f"growth exponent: {part}, {before} → {after} operators"] = exponent
    return [entry]


def _make_flow(operators: int) -> TupleFlow:
    topology = random_topology(operators, tasks=EXECUTORS, seed=operators)
    workers, nodes = operators // 2, max(1, operators // 8)
    executors = dict.fromkeys(topology.operator_names, EXECUTORS)
    configuration = Configuration(executors=executors, workers=workers)
    cluster = Cluster.uniform(nodes=nodes, slots=-(-workers // nodes), cores=8)
    plan = EvenScheduler().schedule(PlacementRequest(topology, configuration, cluster)).plan
    return TupleFlow.of(plan, storm1.HOPS)
