"""Placement problems small enough to try every placement."""

from dataclasses import replace
from itertools import product

import numpy as np
from hypothesis import strategies as st

from streamgauge.planning.scheduling.contract import Expected
from streamgauge.planning.scheduling.placement_problem import Limit, PlacementProblem, classes_of
from streamgauge.planning.scheduling.traffic import Traffic, even_traffic
from streamgauge.topology import All, Configuration, Fields, Global, LogicalPlan, Shuffle
from tests.planning.scheduling.graphs import topology

SHAPES = (("s-b",), ("s-b", "b-c"), ("s-b", "s-c"), ("s-b", "s-c", "b-c"), ("s-b", "b-b"))


def traffic_matrix(traffic: Traffic):
    """Tuples per second between every two executors, one way."""
    size = len(traffic.logical.executors)
    found = np.zeros((size, size))
    for one in traffic.streams:
        found[np.ix_(list(one.sources), list(one.targets))] += one.per_second
    return found


def every_placement(problem: PlacementProblem, traffic: Traffic):
    """Remote traffic of every placement that keeps the limits, executor by executor."""
    between = traffic_matrix(traffic)
    found = []
    for nodes in product(range(problem.nodes), repeat=len(between)):
        if problem.allows(problem.count_nodes(nodes)):
            apart = np.not_equal.outer(nodes, nodes)
            found.append(float((between * apart).sum()))
    return found


@st.composite
def tiny_problems(draw):
    """Up to seven executors on two or three nodes, with cores that differ and limits that hold."""
    shape = draw(st.sampled_from(SHAPES))
    names = sorted({end for edge in shape for end in edge.split("-")} - {"s"})
    tasks = {"s": draw(st.integers(1, 3)), **{name: draw(st.integers(1, 2)) for name in names}}
    made = topology(*shape, **tasks)
    kinds = st.sampled_from((Shuffle(), Fields(keys=("k",)), All(), Global()))
    made = replace(made, streams=tuple(replace(one, grouping=draw(kinds)) for one in made.streams))
    executors = {name: draw(st.integers(1, count)) for name, count in tasks.items()}
    logical = LogicalPlan.of(made, Configuration(executors=executors))
    rates = {one.key: float(draw(st.integers(0, 9))) for one in made.streams}
    traffic = even_traffic(logical, Expected(rates=rates))
    members, pairs = classes_of(traffic)
    nodes = draw(st.integers(2, 3))
    load = np.asarray([draw(st.integers(0, 3)) for _ in members], dtype=np.float64)
    shared = draw(st.booleans())
    group = np.asarray([0, 0, 1][:nodes] if shared else range(nodes), dtype=np.intp)
    total = float(sum(weight * len(group) for weight, group in zip(load, members, strict=True)))
    least = np.ceil(total / (group.max() + 1))
    most = least + np.asarray([draw(st.integers(0, 2)) for _ in range(group.max() + 1)])
    problem = PlacementProblem(
        members=members,
        pairs=pairs,
        nodes=nodes,
        most_nodes=draw(st.integers(1, nodes)),
        limits=(Limit(load=load, group=group, most=most.astype(np.float64)),),
    )
    return problem, traffic
