"""Latency between nodes, and clocks that are apart; keys from traces; bins as a column."""

import math
from collections import Counter
from itertools import permutations

import pyarrow as pa
import pytest

from streamgauge.lake.histogram import EDGES, bin_of
from streamgauge.lake.records import Hop, Link, Trace
from streamgauge.pipeline.calibrate.links_and_keys import (
    bin_number,
    clock_skews,
    corrected,
    key_counts,
    link_histograms,
    links_within,
    skew_notes,
    traced_hops,
)
from streamgauge.pipeline.calibrate.periods import StablePeriod
from tests.pipeline.calibrate.frames import DAY_US, SECOND, links_frame, traces_frame


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
def period():
    return StablePeriod(
        cluster=None,
        topology="job",
        plan_id="p",
        from_us=DAY_US,
        to_us=DAY_US + 60 * SECOND,
        bucket_us=10 * SECOND,
        nodes=("a", "b"),
    )


def test_probes_are_binned_such_that_count_mean_and_extremes_are_right(spark, period):
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
    links = links_within(links_frame(spark, records), [period])
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


def test_a_column_has_the_bins_of_the_histogram_at_every_edge(spark):
    values = [0.0, 0.5, math.nextafter(1.0, 0.0), 2.0**100]
    for edge in EDGES:
        values += [math.nextafter(edge, 0.0), edge, math.nextafter(edge, math.inf)]
    frame = spark.createDataFrame(pa.table({"value": values}))
    found = frame.select("value", bin_number("value").alias("bin")).collect()
    assert [row.bin for row in found] == [bin_of(row.value) for row in found]
    whole = spark.range(0, 5000).select("id", bin_number("id").alias("bin")).collect()
    assert [row.bin for row in whole] == [bin_of(row.id) for row in whole]


def hop(component, task, started, finished, stream=None, key=None):
    return Hop(
        component=component,
        task=task,
        stream=stream,
        key=key,
        arrived_ns=started - 1,
        started_ns=started,
        finished_ns=finished,
    )


def trace(root, path, *hops, second=0, **keys):
    return Trace(
        **{"topology": "job", "plan_id": "p", **keys},
        root=root,
        path=path,
        started_at_us=DAY_US + second * SECOND,
        hops=hops,
        latency_ns=hops[-1].finished_ns,
        outcome="arrived",
    )


def test_keys_and_times_of_hops_that_paths_share_count_once(spark):
    born, first = hop("s", 1, -5, 0), hop("a", 2, 10, 110, "default", "x")
    again = hop("a", 3, 20, 130, "default", "x")
    period = StablePeriod(
        cluster=None,
        topology="job",
        plan_id="p",
        from_us=DAY_US,
        to_us=DAY_US + 10 * SECOND,
        bucket_us=SECOND,
    )
    traces = [
        trace("1", 0, born, first, hop("b", 4, 200, 210, "out", "k1")),
        trace("1", 1, born, first, hop("b", 4, 210, 240, "out", "k2")),
        trace("2", 0, born, again, plan_id=None),
        trace("3", 0, born, hop("a", 2, 10, 10, "default", "y"), second=9),
        trace("4", 0, born, first, second=10),
        trace("5", 0, born, first, topology="other"),
    ]
    hops = traced_hops(traces_frame(spark, traces), [period])
    counts = {
        (row.source_component, row.stream, row.component, row.key): (row.tuples, row["keys"])
        for row in key_counts(hops, most=1).collect()
    }
    assert counts == {
        ("s", "default", "a", "x"): (2, 1),
        ("s", "default", "a", None): (1, 1),
        ("a", "out", "b", "k1"): (1, 1),
        ("a", "out", "b", None): (1, 1),
    }
