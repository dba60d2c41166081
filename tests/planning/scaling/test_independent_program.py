"""Scalers against a plain program that was written from the algorithms alone."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.planning.scaling.contract import load_scaler
from streamgauge.planning.scaling.graph import Component, Edge, LinearLaw, ScalingGraph
from streamgauge.planning.scaling.rates import propagate
from tests.planning.scaling import independent_program as plain

SHARES = (0.2, 0.25, 0.4, 0.5, 0.75, 1.0)


def source(units, per_unit):
    return {"source": True, "units": units, "per_unit_output": per_unit}


def bolt(units, most, ratio=1):
    return {"source": False, "units": units, "unit_max": most, "ratio": ratio}


def graph_of(components, edges):
    return ScalingGraph(
        name="drawn",
        components=tuple(
            Component(
                name=str(name),
                units=one["units"],
                law=LinearLaw(
                    per_unit=float(one["per_unit_output" if one["source"] else "unit_max"])
                ),
                source=one["source"],
                out_per_in=float(one.get("ratio", 1)),
            )
            for name, one in components.items()
        ),
        edges=tuple(
            Edge(source=str(parent), target=str(child), share=float(share))
            for parent, children in edges.items()
            for child, share in children.items()
        ),
    )


@st.composite
def drawn_graphs(draw):
    """One or two sources, up to six bolts behind any of what comes before; round numbers."""
    sources = draw(st.integers(1, 2))
    bolts = draw(st.integers(1, 6))
    components = {
        n: source(draw(st.integers(1, 2)), draw(st.sampled_from((100, 300, 600, 1000))))
        for n in range(1, sources + 1)
    }
    edges = {}
    for n in range(sources + 1, sources + bolts + 1):
        parents = draw(st.sets(st.integers(1, n - 1), min_size=1, max_size=2))
        components[n] = bolt(
            draw(st.integers(1, 2)),
            draw(st.sampled_from((50, 100, 150, 200, 400, 900))),
            draw(st.sampled_from((0.5, 1, 2))),
        )
        for parent in sorted(parents):
            edges.setdefault(parent, {})[n] = draw(st.sampled_from(SHARES))
    return components, edges


def as_named(allocation):
    return {str(name): units for name, units in allocation.items()}


PLAIN = {
    "stela": plain.stela,
    "predictive": plain.predictive,
    "residual": plain.residual,
    "combined": lambda *arguments: plain.combined(*arguments)[1],
}


@pytest.mark.parametrize("name", PLAIN)
@given(drawn=drawn_graphs(), units=st.integers(1, 6))
@settings(max_examples=40)
def test_the_same_units_go_to_the_same_components(name, drawn, units):
    graph = graph_of(*drawn)
    expected = PLAIN[name](*drawn, units)
    found = load_scaler(name).scale(graph, units)
    assert dict(found.allocation) == as_named(expected)
    assert found.increase == pytest.approx(float(plain.increase(*drawn, expected)), abs=1e-6)


@given(drawn=drawn_graphs(), units=st.integers(1, 3))
@settings(max_examples=25)
def test_nothing_gains_more_than_the_exact_scaler(drawn, units):
    _, most = plain.exhaustive(*drawn, units)
    found = load_scaler("exact").scale(graph_of(*drawn), units)
    assert found.increase == pytest.approx(float(most), rel=1e-6, abs=1e-6)


@given(drawn=drawn_graphs(), given_units=st.dictionaries(st.integers(1, 3), st.integers(0, 3)))
def test_rates_are_those_of_the_plain_program(drawn, given_units):
    components, edges = drawn
    extra = {name: units for name, units in given_units.items() if name in components}
    expected = plain.propagate(components, edges, extra)
    found = propagate(graph_of(*drawn), as_named(extra))
    assert found.throughput == pytest.approx(float(expected["throughput"]))
    for name in components:
        assert found[str(name)].output == pytest.approx(float(expected["output"][name]))
        if not components[name]["source"]:
            assert found[str(name)].dropped == pytest.approx(
                float(expected["dropped"][name]), abs=1e-9
            )


# What no published table can tell: each of these comes out otherwise where a rule is left out.
TELLING = {
    "residual units stay in the subtree they began in": (
        "residual",
        {1: source(2, 100), 2: source(1, 100), 3: bolt(1, 150)},
        {1: {3: 1}},
        3,
        {"3": 1, "1": 2},
    ),
    "packages are chosen anew in that subtree": (
        "residual",
        {1: source(1, 300), 2: bolt(1, 150), 3: bolt(2, 50, 2), 4: bolt(2, 200, 0.5)},
        {1: {2: 0.3, 3: 0.3, 4: 0.4}, 3: {4: 1}},
        3,
        {"1": 1, "3": 1, "4": 1},
    ),
    "of two that need as little, the one that gains more": (
        "residual",
        {1: source(2, 100), 2: source(2, 100), 3: bolt(1, 150, 2), 4: bolt(1, 400, 0.5)},
        {1: {3: 0.5, 4: 0.5}, 2: {3: 1}},
        2,
        {"3": 1, "2": 1},
    ),
    "of two packages that gain as much a unit, the first declared": (
        "predictive",
        {1: source(2, 300), 2: source(1, 1000), 3: bolt(2, 150), 4: bolt(2, 150)},
        {1: {3: 0.2, 4: 0.8}, 2: {3: 1}},
        3,
        {"3": 3},
    ),
    "a sink that two ways reach counts once": (
        "stela",
        {1: source(2, 100), 2: source(1, 300), 3: bolt(2, 200), 4: bolt(1, 150, 0.5)},
        {2: {3: 0.2, 4: 0.8}, 3: {4: 1}},
        2,
        {"4": 1, "1": 1},
    ),
}


@pytest.mark.parametrize("rule", TELLING)
def test_a_rule_that_published_tables_cannot_tell(rule):
    name, components, edges, units, expected = TELLING[rule]
    assert dict(load_scaler(name).scale(graph_of(components, edges), units).allocation) == expected


def test_rounding_does_not_break_a_tie_of_two_packages():
    components = {
        1: source(2, 900),
        2: bolt(2, 180, "1.3"),
        3: bolt(2, 180),
        4: bolt(1, 33),
        5: bolt(2, 30, "1.1"),
    }
    edges = {1: {2: "0.67", 4: "0.33"}, 2: {3: 1}, 3: {5: 1}}
    # Both heads gain 33 a unit; 4 is declared first.
    found = load_scaler("predictive").scale(graph_of(components, edges), 4)
    assert dict(found.allocation) == {"4": 4}
