"""Small graphs of every kind, and the best allocation of all."""

from itertools import combinations_with_replacement

from hypothesis import strategies as st

from streamgauge.planning.scaling.graph import (
    Component,
    Edge,
    LinearLaw,
    ScalingGraph,
    ScalingLaw,
    TableLaw,
)
from streamgauge.planning.scaling.rates import FlowModel

RATES = st.integers(min_value=1, max_value=1000).map(float)
SHARES = st.integers(min_value=0, max_value=12).map(lambda tenths: tenths / 10)
LINEAR_LAWS = st.builds(LinearLaw, per_unit=RATES)
TABLE_LAWS = st.lists(RATES, min_size=1, max_size=4).map(
    lambda rates: TableLaw(rates=tuple(sorted(rates)))
)


@st.composite
def graphs(
    draw: st.DrawFn,
    laws: st.SearchStrategy[ScalingLaw] = LINEAR_LAWS | TABLE_LAWS,
    most: int = 6,
    tree: bool = False,
) -> ScalingGraph:
    """The first component is a source; edges lead from earlier to later ones."""
    size = draw(st.integers(min_value=2, max_value=most))
    sources = {0} if tree else {0, *draw(st.sets(st.integers(1, size - 1), max_size=1))}
    components = [
        Component(
            name=f"c{index}",
            units=draw(st.integers(min_value=1, max_value=3)),
            law=draw(LINEAR_LAWS if index in sources else laws),
            source=index in sources,
            out_per_in=draw(st.sampled_from((0.0, 0.5, 1.0, 1.0, 2.5))),
        )
        for index in range(size)
    ]
    edges = []
    for child in range(1, size):
        if child in sources:
            continue
        several = 1 if tree else 3
        parents = draw(st.sets(st.integers(0, child - 1), min_size=1, max_size=several))
        edges += [
            Edge(source=f"c{parent}", target=f"c{child}", share=draw(SHARES))
            for parent in sorted(parents)
        ]
    return ScalingGraph(name="any", components=tuple(components), edges=tuple(edges))


def best_of_all(graph: ScalingGraph, units: int) -> float:
    """The highest throughput over all allocations of so many units."""
    model = FlowModel(graph)
    allocations = combinations_with_replacement(model.names, units)
    return max(
        model.throughput(model.flow({name: chosen.count(name) for name in chosen}))
        for chosen in allocations
    )


def levelling_off() -> ScalingGraph:
    """a is congested; of what it lets through, b never takes more than 90 and c takes all."""
    return ScalingGraph(
        name="levelling off",
        components=(
            Component(name="s", units=1, law=LinearLaw(per_unit=200.0), source=True),
            Component(name="a", units=1, law=LinearLaw(per_unit=160.0)),
            Component(name="b", units=1, law=TableLaw(rates=(80.0, 90.0, 90.0))),
            Component(name="c", units=1, law=LinearLaw(per_unit=200.0)),
        ),
        edges=(
            Edge(source="s", target="a", share=1.0),
            Edge(source="a", target="b", share=0.5),
            Edge(source="a", target="c", share=0.5),
        ),
    )
