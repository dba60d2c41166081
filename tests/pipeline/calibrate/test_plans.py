"""What Spark will do: nothing in Python, few shuffles, and filters where the files are read."""

import re

import pytest

from streamgauge.pipeline.calibrate.inventory import inventory
from streamgauge.pipeline.calibrate.partial_sums import day_partials, partials
from streamgauge.pipeline.calibrate.wanted import COUNTERS, STAND_INS, WANTED
from tests.pipeline.calibrate.test_partial_sums import DAYS

EXACT = WANTED - COUNTERS - {metric.label for metric in STAND_INS}
# Besides one for sums: which exact metrics there are, counters, who sends heartbeats, and who is
# heard instead; partly once for sums and once for heartbeats.
MOST_SHUFFLES = 8


@pytest.fixture
def planned(spark, capsys):
    """The text of a frame's plan."""
    length = "spark.sql.maxMetadataStringLength"
    before = spark.conf.get(length)
    spark.conf.set(length, "100000")

    def text(frame):
        frame.explain()
        return capsys.readouterr().out

    yield text
    spark.conf.set(length, before)


def shuffles(plan):
    return len(re.findall(r"\bExchange (?:hashpartitioning|SinglePartition|Round)", plan))


def test_plans_are_made_of_spark_s_own_parts_and_shuffle_little(samples, stretches, planned):
    lean = planned(partials(samples, stretches, labels=EXACT, all_beat=True))
    full = planned(partials(samples, stretches))
    by_day = planned(day_partials(samples, DAYS, labels=EXACT, all_beat=True))
    assert shuffles(lean) == shuffles(by_day) == 1
    assert shuffles(full) == MOST_SHUFFLES
    for plan in (lean, full, by_day, planned(inventory(samples))):
        assert "Python" not in plan
        assert "SortAggregate" not in plan
        assert "SortMergeJoin" not in plan
        assert "CartesianProduct" not in plan
        assert "ObjectHashAggregate" not in plan


def test_filters_on_topology_time_and_metric_reach_the_files(samples, stretches, planned):
    plan = planned(partials(samples, stretches, labels=EXACT, all_beat=True))
    scans = re.findall(r"PushedFilters: \[(.*?)\], ReadSchema", plan)
    # What is summed, and heartbeats once more.
    assert len(scans) == 2
    assert "EqualTo(metric,worker_heartbeats)" in scans[1]
    for pushed in scans:
        assert "EqualTo(topology,job)" in pushed
        assert "GreaterThanOrEqual(bucket_start,2025-12-31 23:59:25.0)" in pushed
        assert "LessThan(bucket_start,2026-01-01 00:00:43.0)" in pushed
        assert "In(date, [2025-12-31,2026-01-01])" in pushed
