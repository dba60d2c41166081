"""From samples to partial sums: exact, and the same however they come."""

from datetime import date

import pytest

from streamgauge.lake.schemas import PARTIALS
from streamgauge.pipeline.calibrate.columns import PARTIAL_COLUMNS
from streamgauge.pipeline.calibrate.partial_sums import combined, day_partials, partials
from streamgauge.pipeline.calibrate.wanted import COUNTERS, STAND_INS, WANTED
from tests.pipeline.calibrate.brute_force import partial_sums
from tests.pipeline.calibrate.fleet import SILENT
from tests.pipeline.calibrate.frames import stored, sums_of

DAYS = (date(2025, 12, 31), date(2026, 1, 1))
EXACT = WANTED - COUNTERS - {metric.label for metric in STAND_INS}


@pytest.fixture(scope="module")
def direct(samples, stretches):
    return sums_of(partials(samples, stretches))


def test_sums_are_those_of_a_loop_over_all_records(direct, records, stretches):
    assert direct == partial_sums(records, stretches)
    # What agents do not count is taken from the engine, and what they do is not.
    found = {(key[1], key[3], key[8], key[10]) for key in direct}
    assert ("job", "b", "n2", "executed_total") in found
    assert ("job", "a", "n1", "executed_total") not in found
    # Nodes are counted for the topologies that run on them, and for no others.
    assert ("job", None, "n2", "node_cpu") in found
    assert "n3" not in {node for _, _, node, _ in found}


def test_sums_from_cached_days_are_the_same(spark, samples, stretches, direct, tmp_path):
    kept = stored(spark, day_partials(samples, DAYS), tmp_path / "kept")
    edges = stored(spark, partials(samples, stretches, cached=DAYS), tmp_path / "edges")
    assert sums_of(combined(kept, edges, stretches)) == direct
    # And not all of it was summed from samples again.
    assert edges.count() < len(direct)


@pytest.mark.parametrize(
    ("tasks", "adaptive"), [(200, "true"), pytest.param(1, "false", marks=pytest.mark.slow)]
)
def test_neither_order_nor_partitions_nor_plans_change_a_sum(
    spark, samples, stretches, direct, tasks, adaptive
):
    conf = {"spark.sql.shuffle.partitions": str(tasks), "spark.sql.adaptive.enabled": adaptive}
    before = {name: spark.conf.get(name) for name in conf}
    for name, value in conf.items():
        spark.conf.set(name, value)
    try:
        shuffled = samples.orderBy("value").coalesce(1) if tasks == 1 else samples.repartition(7)
        found = sums_of(partials(shuffled, stretches, labels=EXACT, all_beat=True))
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
    # A worker that sends no heartbeats is not listened for here.
    assert found == {
        key: row
        for key, row in direct.items()
        if key[10] in EXACT and not (key[10] == "worker_heartbeats" and key[7] == SILENT)
    }


def test_sums_have_the_columns_of_their_table(samples, stretches):
    found = partials(samples, stretches, labels=EXACT, all_beat=True)
    table = PARTIALS.schema
    assert tuple(found.columns) == PARTIAL_COLUMNS
    kinds = {"timestamp[us, tz=UTC]": "timestamp", "string": "string", "int64": "bigint"}
    kinds |= {"int32": "int", "int16": "smallint", "double": "double"}
    kinds |= {"decimal128(38, 0)": "decimal(38,0)", "list<item: int64>": "array<bigint>"}
    assert dict(found.dtypes) == {
        name: kinds[str(table.field(name).type)] for name in PARTIAL_COLUMNS
    }
