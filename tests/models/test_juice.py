"""Juice: the worked examples of Henge, and laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.models.juice import juice_of


def juice(edges, *, sources, scale=1.0, acked=None):
    """Edges: (parent, child) → (sent, executed). Sinks are those that have no children."""
    names = sorted({name for edge in edges for name in edge})
    executed = np.zeros((len(names), len(names)))
    sent = np.zeros(len(names))
    for (parent, child), (out, done) in edges.items():
        executed[names.index(parent), names.index(child)] = done * scale
        sent[names.index(parent)] += out * scale
    parents = {parent for parent, _ in edges}
    found = juice_of(
        executed,
        sent,
        sources=np.asarray([name in sources for name in names]),
        sinks=np.asarray([name not in parents for name in names]),
        acked=None if acked is None else np.asarray(acked),
    )
    return float(found.topology), dict(zip(names, found.operators.tolist(), strict=True))


# Henge, figures 2.1 and 2.6: thousands of tuples.
DIAMOND = {
    ("s", "a"): (10, 10),
    ("a", "b"): (8, 8),
    ("a", "c"): (8, 6),
    ("b", "d"): (8, 8),
    ("c", "d"): (6, 6),
}
TWO_SOURCES = {
    ("s1", "a"): (10, 5),
    ("a", "b"): (5, 5),
    ("s2", "d"): (8, 8),
    ("d", "e"): (8, 4),
    ("e", "b"): (2, 2),
    ("e", "f"): (2, 1.6),
    ("b", "c"): (7, 7),
}


def test_example_2_1_has_juice_0_875():
    whole, operators = juice(DIAMOND, sources={"s"})
    assert whole == pytest.approx(0.875)
    assert operators == pytest.approx({"s": 1, "a": 1, "b": 0.5, "c": 0.375, "d": 0.875})


def test_example_2_1_without_its_sink_has_the_same():
    shorter = {edge: counts for edge, counts in DIAMOND.items() if edge[1] != "d"}
    assert juice(shorter, sources={"s"})[0] == pytest.approx(0.875)


def test_example_2_2_has_juice_0_475():
    whole, operators = juice(TWO_SOURCES, sources={"s1", "s2"})
    assert whole == pytest.approx(0.475)
    assert operators["b"] == pytest.approx(0.75)
    assert operators["f"] == pytest.approx(0.2)


def test_acked_roots_count_once_for_the_whole():
    assert juice(DIAMOND, sources={"s"}, acked=0.9)[0] == pytest.approx(0.7875)


def test_an_operator_that_lets_nothing_pass_is_a_sink():
    edges = {("s", "a"): (10, 10), ("a", "b"): (0, 0)}
    assert juice(edges, sources={"s"})[0] == pytest.approx(1.0)


def test_a_filter_loses_nothing():
    edges = {("s", "a"): (1000, 1000), ("a", "b"): (100, 100)}
    assert juice(edges, sources={"s"})[0] == pytest.approx(1.0)


def test_a_source_that_sends_nothing_does_not_count():
    edges = {("s", "a"): (10, 5), ("quiet", "a"): (0, 0)}
    assert juice(edges, sources={"s", "quiet"})[0] == pytest.approx(0.5)


def test_tuples_that_go_round_are_counted_until_they_leave():
    # A third of what `a` sends comes back to it: J(a) = 1 + J(a)/3, and two thirds of it leave.
    edges = {("s", "a"): (10, 10), ("a", "a"): (5, 5), ("a", "b"): (10, 10)}
    whole, operators = juice(edges, sources={"s"})
    assert operators["a"] == pytest.approx(1.5)
    assert whole == pytest.approx(1.0)


@given(st.floats(0.1, 1000.0))
def test_it_does_not_depend_on_the_rate(scale):
    assert juice(TWO_SOURCES, sources={"s1", "s2"}, scale=scale)[0] == pytest.approx(0.475)


@given(st.floats(0.0, 1.0))
def test_what_a_chain_loses_is_missing(lost):
    edges = {("s", "a"): (100, 100 * (1 - lost)), ("a", "b"): (50, 50)}
    assert juice(edges, sources={"s"})[0] == pytest.approx(1 - lost)


@given(st.data())
def test_any_graph_without_losses_has_one(data):
    size = data.draw(st.integers(2, 7))
    edges = {}
    for child in range(1, size):
        # Each has a parent before it, so that all are behind the source.
        parents = data.draw(st.sets(st.integers(0, child - 1), min_size=1))
        for parent in sorted(parents):
            count = data.draw(st.integers(1, 1000))
            edges[str(parent), str(child)] = (count, count)
    assert juice(edges, sources={"0"})[0] == pytest.approx(1.0)
