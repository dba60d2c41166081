"""How many siblings come to an executor, and how far apart, by counting on paper."""

import numpy as np
import pytest

from streamgauge.models.arrival_variability import bursts_into
from streamgauge.models.queueing import Moments
from streamgauge.models.sibling_pairs import WaitsOnTheWay, find_clusters
from streamgauge.topology import Operator
from streamgauge.topology.grouping import All, Fields
from streamgauge.transport.mechanics import PLAIN
from tests.models.plans import flow_of, per_input, rates_of, source, stream, traffic_of


def clusters_of(operators, streams, conversions, *, seconds=1e-3, executors=None, engine="storm-2"):
    """Of a job that is hardly ever busy, with constant services; by operator."""
    flow = flow_of((source("s"), *operators), streams, executors=executors, engine=engine)
    rates = rates_of(flow, {("s", "default"): 0.01}, conversions)
    traffic = traffic_of(flow, rates, conversions, PLAIN)
    size = len(flow.plan.logical.executors)
    none = Moments(mean=np.zeros(size), variance=np.zeros(size))
    waits = WaitsOnTheWay(
        find=lambda _: (none, none),
        service=Moments(mean=np.full(size, seconds), variance=np.zeros(size)),
        send=none,
        transfer=Moments(mean=np.zeros(1), variance=np.zeros(1)),
        release=0.0,
        released=np.zeros(size),
    )
    found = find_clusters(traffic, bursts_into(traffic, gathered=False), waits)
    return {name: (found, span) for name, span in flow.plan.logical.spans.items()}


def of(found, operator):
    clusters, span = found[operator]
    return {
        name: getattr(clusters, name)[span.start : span.stop]
        for name in ("siblings", "met", "per_root", "together", "dealt", "in_line")
    }


A, B, SINK = Operator(name="a"), Operator(name="b"), Operator(name="sink")
IN_A, OUT_OF_A = ("s", "default"), ("a", "default")
ROW = (stream("s", "a"), stream("a", "b"), stream("b", "sink"))


def test_grandchildren_have_cousins_beside_the_siblings_of_their_batch():
    """Two children of two each: a tuple has one sibling in its batch, and two cousins."""
    twice = {
        "a": per_input({(*IN_A, "default"): 2.0}),
        "b": per_input({(*OUT_OF_A, "default"): 2.0}),
        "sink": per_input({}),
    }
    found = clusters_of((A, B, SINK), ROW, twice)
    assert of(found, "b")["siblings"] == pytest.approx([0.0])
    assert of(found, "sink")["siblings"] == pytest.approx([2.0])
    assert of(found, "sink")["per_root"] == pytest.approx([4.0])
    # Of the two batches, one is sent a service after the other: both are in line.
    assert of(found, "sink")["in_line"] == pytest.approx(of(found, "sink")["met"])


def test_two_ways_bring_what_both_of_them_emit():
    """Two tuples by a and three by b: of five, three have three siblings of the other way, …"""
    ways = {
        "a": per_input({(*IN_A, "default"): 2.0}),
        "b": per_input({(*IN_A, "default"): 3.0}),
        "sink": per_input({}),
    }
    streams = (stream("s", "a"), stream("s", "b"), stream("a", "sink"), stream("b", "sink"))
    found = of(clusters_of((A, B, SINK), streams, ways), "sink")
    # … and two have three, three have two: 12 of 5, without those of their own batch.
    assert found["siblings"] == pytest.approx([12.0 / 5.0])
    # Both operators are idle and take as long, so all of them come at once, and wait together.
    assert found["met"] == pytest.approx([12.0 / 5.0], rel=1e-3)
    assert found["together"] == pytest.approx([1.0], rel=1e-3)
    assert found["in_line"] == pytest.approx([0.0])


def test_keys_bring_one_of_so_many_siblings_to_an_executor():
    ways = {
        "a": per_input({(*IN_A, "default"): 1.0}),
        "b": per_input({(*IN_A, "default"): 1.0}),
        "sink": per_input({}),
    }
    keyed = Fields(keys=("k",))
    streams = (
        stream("s", "a"),
        stream("s", "b"),
        stream("a", "sink", grouping=keyed),
        stream("b", "sink", grouping=keyed),
    )
    found = of(clusters_of((A, B, Operator(name="sink", tasks=4)), streams, ways), "sink")
    assert found["siblings"] == pytest.approx(np.full(4, 0.25))


def test_in_turn_nobody_gets_both_children_of_an_execution():
    """Dealt to two executors one each; at random, every second pair comes to one of them."""
    twice = {
        "a": per_input({(*IN_A, "default"): 2.0}),
        "b": per_input({(*OUT_OF_A, "default"): 1.0}),
        "sink": per_input({}),
    }
    two = Operator(name="b", tasks=2)
    for engine in ("storm-1", "storm-2"):
        found = of(clusters_of((A, two, SINK), ROW, twice, engine=engine), "sink")
        assert found["siblings"] == pytest.approx([1.0])
    # Of a pair of one batch nothing is in common at another executor but that both get all roots.
    dealt = of(clusters_of((A, two, SINK), ROW, twice, engine="storm-1"), "b")["dealt"]
    assert dealt == pytest.approx([1.0, 1.0])


def test_all_executors_get_a_copy_each_and_the_copies_meet_again():
    once = {
        "a": per_input({(*IN_A, "default"): 1.0}),
        "b": per_input({(*OUT_OF_A, "default"): 1.0}),
        "sink": per_input({}),
    }
    three = Operator(name="b", tasks=3)
    streams = (stream("s", "a"), stream("a", "b", grouping=All()), stream("b", "sink"))
    found = of(clusters_of((A, three, SINK), streams, once), "sink")
    assert found["siblings"] == pytest.approx([2.0])


def test_a_row_of_one_for_one_has_no_siblings():
    once = {
        "a": per_input({(*IN_A, "default"): 1.0}),
        "b": per_input({(*OUT_OF_A, "default"): 0.5}),
        "sink": per_input({}),
    }
    found = of(clusters_of((A, B, SINK), ROW, once), "sink")
    assert found["siblings"] == pytest.approx([0.0])
    assert found["met"] == pytest.approx([0.0])
