"""Probes take as long as the links say."""

import numpy as np
import pytest

from streamgauge.engines.emulator.cluster_samples import PROBES, Probes
from streamgauge.topology.cluster import Cluster, Link, Machine, Node

CLUSTER = Cluster(
    machines=(Machine(name="m", cores=1.0),),
    nodes=tuple(Node(name=name, machine="m") for name in "abc"),
    links=(
        Link(source="a", target="b", latency_ms=2.0, jitter_ms=0.5),
        Link(source="b", target="a", latency_ms=6.0),
    ),
    latency_ms=1.0,
)


def probe(times=1, seed=1):
    probes = Probes(CLUSTER, ("a", "b", "c"), None, np.random.default_rng(seed))
    return [link for time in range(times) for link in probes.at(time)]


def between(links, source, target, kind):
    return [
        one
        for one in links
        if (one.source_node, one.target_node, one.kind) == (source, target, kind)
    ]


def test_every_pair_is_probed_both_ways_and_both_kinds():
    links = probe()
    assert len({(one.source_node, one.target_node, one.kind) for one in links}) == len(links) == 12
    assert {one.sent for one in links} == {one.received for one in links} == {PROBES}


def test_a_link_without_jitter_always_takes_the_same():
    (link,) = between(probe(), "b", "a", "one-way")
    assert (link.least_ns, link.mean_ns, link.most_ns) == (6_000_000,) * 3


def test_jitter_has_the_link_s_mean_and_least():
    links = between(probe(times=400), "a", "b", "one-way")
    assert np.mean([one.mean_ns for one in links]) == pytest.approx(2e6, rel=0.02)
    # An exponential part of 0.5 ms on a fixed one of 1.5 ms.
    assert min(one.least_ns for one in links) == pytest.approx(1.5e6, rel=0.01)
    assert all(one.least_ns < one.mean_ns < one.most_ns for one in links)


def test_a_round_trip_is_both_ways():
    for source, target in (("a", "b"), ("b", "a")):
        links = between(probe(times=400), source, target, "round-trip")
        assert np.mean([one.mean_ns for one in links]) == pytest.approx(8e6, rel=0.01)


def test_a_single_node_has_nobody_to_probe():
    assert list(Probes(CLUSTER, ("a",), None, np.random.default_rng(1)).at(0)) == []
