"""Latency between nodes, and clocks that are apart."""

from collections import Counter
from itertools import permutations

import pytest

from streamgauge.lake.histogram import bin_of
from streamgauge.lake.records import Link
from streamgauge.pipeline.calibrate.probes import (
    clock_skews,
    corrected,
    link_histograms,
    links_within,
    skew_notes,
)
from streamgauge.pipeline.calibrate.stretches import Stretch
from tests.pipeline.calibrate.frames import DAY_US, SECOND, links_frame


def link(source, target, kind, times, second=0, received=None, **keys):
    least, mean, most = times
    return Link(
        source_node=source,
        target_node=target,
        kind=kind,
        measured_at_us=DAY_US + second * SECOND,
        sent=10,
        received=10 if received is None else received,
        least_ns=least,
        mean_ns=mean,
        most_ns=most,
        **keys,
    )


@pytest.fixture
def stretch():
    return Stretch(
        cluster=None,
        topology="job",
        plan_id="p",
        from_us=DAY_US,
        to_us=DAY_US + 60 * SECOND,
        block_seconds=60,
        nodes=("a", "b"),
    )


def test_probes_are_binned_such_that_count_mean_and_extremes_are_right(spark, stretch):
    # The clock of b is 500 ns ahead of that of a, and the way takes 1,000 ns.
    records = [
        link("a", "b", "one-way", (1500, 1600, 2500)),
        link("a", "b", "one-way", (1700, 1700, 1700), second=10, received=1),
        link("b", "a", "one-way", (500, 700, 900), received=2),
        link("a", "b", "round-trip", (2000, 2100, 3000)),
        # Outside of the time, of the plan's nodes, of the cluster; and not answered.
        link("a", "b", "round-trip", (1, 1, 1), second=60),
        link("a", "c", "round-trip", (1, 1, 1)),
        link("a", "b", "round-trip", (1, 1, 1), cluster="other"),
        link("a", "b", "round-trip", (None, None, None), second=20, received=0),
    ]
    links = links_within(links_frame(spark, records), [stretch])
    skews = clock_skews(links)
    (skew,) = skews.collect()
    assert (skew.topology, skew.node, skew.other_node, skew.skew_ns) == ("job", "a", "b", 500)
    rows = link_histograms(corrected(links, skews)).collect()
    found = {}
    for row in rows:
        key = (row.source_node, row.target_node, row.kind)
        bins, total, records_in = found.get(key, ({}, 0, 0))
        found[key] = (
            bins | {row.bin: row.probes},
            total + int(row.total_ns),
            records_in + row.measurements,
        )
    # Eight probes at (16,000 − 1,500 − 2,500) / 8 = 1,500, less the skew.
    assert found["a", "b", "one-way"] == (
        Counter({bin_of(1000): 9, bin_of(2000): 1, bin_of(1200): 1}),
        9 * 1000 + 2000 + 1200,
        2,
    )
    assert found["b", "a", "one-way"] == ({bin_of(1000): 1, bin_of(1400): 1}, 2400, 1)
    assert found["a", "b", "round-trip"] == ({bin_of(2000): 9, bin_of(3000): 1}, 21_000, 1)
    assert len(found) == 3


def test_clocks_that_are_half_a_bucket_apart_are_told():
    skews = [("a", "b", 5_000_000_001), ("a", "c", -5_000_000_000)]
    assert all(skew_notes(order, 10.0) == skew_notes(skews, 10.0) for order in permutations(skews))
    (note,) = skew_notes(skews, 10.0)
    assert note.startswith("the clock of b is +5 s off that of a, more than half a bucket of 10 s")
