"""Keys and execution times from traces; and bins as a column."""

import math

import pyarrow as pa

from streamgauge.lake.histogram import EDGES, bin_of
from streamgauge.lake.records import Hop, Trace
from streamgauge.pipeline.calibrate.bins import bin_number
from streamgauge.pipeline.calibrate.stretches import Stretch
from streamgauge.pipeline.calibrate.tracing import key_counts, service_times, traced_hops
from tests.pipeline.calibrate.frames import DAY_US, SECOND, traces_frame


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
    stretch = Stretch(
        cluster=None,
        topology="job",
        plan_id="p",
        from_us=DAY_US,
        to_us=DAY_US + 10 * SECOND,
        block_seconds=30,
    )
    traces = [
        trace("1", 0, born, first, hop("b", 4, 200, 210, "out", "k1")),
        trace("1", 1, born, first, hop("b", 4, 210, 240, "out", "k2")),
        trace("2", 0, born, again, plan_id=None),
        trace("3", 0, born, hop("a", 2, 10, 10, "default", "y"), second=9),
        trace("4", 0, born, first, second=10),
        trace("5", 0, born, first, topology="other"),
    ]
    hops = traced_hops(traces_frame(spark, traces), [stretch])
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
    times = {
        (row.component, row.task, row.stream, row.source_component, row.bin): row
        for row in service_times(hops).collect()
    }
    assert {key: row.observations for key, row in times.items()} == {
        ("s", 1, None, None, bin_of(5)): 3,
        ("a", 2, "default", "s", bin_of(100)): 1,
        ("a", 2, "default", "s", 0): 1,
        ("a", 3, "default", "s", bin_of(110)): 1,
        ("b", 4, "out", "a", bin_of(10)): 1,
        ("b", 4, "out", "a", bin_of(30)): 1,
    }
    source = times["s", 1, None, None, bin_of(5)]
    assert (source.total_ns, source.squares_ns) == (15, 75)
