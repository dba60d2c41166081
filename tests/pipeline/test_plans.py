"""What Spark is asked to do: few shuffles, no Python by the row, filters that reach the files."""

import re
from dataclasses import replace

import pytest
from pyspark.sql import functions as f

from streamgauge.lake.schemas import SAMPLES
from streamgauge.pipeline.calibrate.job import estimate, sum_series
from streamgauge.pipeline.calibrate.lake_parts import Pinned, read_samples
from streamgauge.pipeline.calibrate.periods import StablePeriod
from streamgauge.pipeline.calibrate.readings import Scope
from streamgauge.pipeline.ingest import deduplication, job
from streamgauge.pipeline.ingest.staging import Span
from streamgauge.pipeline.table_files import deal_rows, read_files
from tests.lake.small_lakes import NOON, after, heartbeat, lake_of, sample

DAY = 86_400
NOON_US = int(NOON.timestamp()) * 1_000_000
SCOPE = Scope(
    period=StablePeriod(
        cluster=None,
        topology="words",
        plan_id="p1",
        from_us=NOON_US,
        to_us=NOON_US + 3_600_000_000,
        bucket_us=10_000_000,
        nodes=("node-1",),
    ),
    first_us=NOON_US,
    last_us=NOON_US + 3_600_000_000,
    look_back_us=60_000_000,
)
SHUFFLE = re.compile(r"Exchange (?:hash|range|Single|RoundRobin)\w*")
PYTHON_BY_THE_ROW = ("BatchEvalPython", "ArrowEvalPython")


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """Samples of three days, a file each."""
    days = [
        row for day in range(3) for row in (sample("executed", day * DAY, 5), heartbeat(day * DAY))
    ]
    return lake_of(tmp_path_factory.mktemp("plans") / "lake", *days)


@pytest.fixture(scope="module")
def samples(spark, lake):
    table = lake.table("samples")
    return read_files(spark, table, table.snapshot().files)


def plan_of(frame):
    """The plan as it is run, with all that is pushed to the files."""
    key = "spark.sql.maxMetadataStringLength"
    conf = frame.sparkSession.conf
    before = conf.get(key)
    conf.set(key, "100000")
    try:
        return frame._jdf.queryExecution().executedPlan().toString()
    finally:
        conf.set(key, before)


def shuffles(frame):
    return len(SHUFFLE.findall(plan_of(frame)))


def candidates(samples, tasks):
    """What an ingest compares: new rows and those that the lake has."""
    origins = (deduplication.NEW, deduplication.KEPT, deduplication.SUPERSEDED)
    held = samples.withColumns({deduplication.HOLDER: f.lit("a"), deduplication.PLACE: f.lit(0)})
    new, kept, old = (held.withColumn(deduplication.ORIGIN, f.lit(one)) for one in origins)
    rows = new.unionByName(kept).unionByName(old)
    return deal_rows(rows, tasks, deduplication.range_columns(SAMPLES))


@pytest.mark.parametrize("tasks", [1, 7])
def test_rows_are_compared_in_one_shuffle(samples, tasks):
    distinct = deduplication.distinct_rows(candidates(samples, tasks), SAMPLES)
    assert shuffles(distinct) == 1
    # They are judged where they are.
    assert shuffles(deduplication.judged(distinct, SAMPLES)) == 1


def test_nothing_is_computed_by_the_row_in_python(samples):
    distinct = deduplication.distinct_rows(candidates(samples, 2), SAMPLES)
    judged = deduplication.judged(distinct, SAMPLES)
    for frame in (distinct, judged):
        plan = plan_of(frame)
        assert "FileScan parquet" in plan
        assert not [name for name in PYTHON_BY_THE_ROW if name in plan]


def test_a_fleet_is_estimated_in_as_many_shuffles_as_one_topology(spark, lake):
    parts = Pinned.now(spark, lake).parts(None)
    fleet = [
        replace(SCOPE, period=replace(SCOPE.period, topology=f"job-{number}"))
        for number in range(100)
    ]
    for scopes in (fleet, [SCOPE]):
        figures = estimate(sum_series(spark, parts, scopes, None), scopes, tasks=2, seed=0)
        assert shuffles(figures) == 1
    # Where some send no heartbeats, what was heard of them comes together first.
    silent = [replace(SCOPE, beating=frozenset())]
    figures = estimate(sum_series(spark, parts, silent, None), silent, tasks=2, seed=0)
    assert shuffles(figures) == 2


def test_small_files_are_read_together_and_others_topologies_are_not(spark, lake):
    pinned = Pinned.now(spark, lake)
    ((*parts,),) = pinned.parts(None)
    assert len(parts) == 3
    (table,) = read_samples(parts, ("topology", "metric"), None)
    assert len(table) == 6
    assert pinned.parts("absent") == []


def test_files_of_other_days_are_not_compared(spark, lake):
    table = lake.table("samples")
    span = Span(day=after(DAY).date(), first=after(DAY - 5), last=after(DAY + 5))
    files = job._near(table.snapshot().files, [span])
    (read,) = read_files(spark, table, files).inputFiles()
    assert "date=2026-01-02" in read
    # Nor is the day's own file, where all that is new comes later.
    late = replace(span, first=after(DAY + 60), last=after(DAY + 90))
    assert job._near(table.snapshot().files, [late]) == []


def test_a_snapshot_knows_which_files_hold_a_time(spark, lake):
    table = lake.table("samples")
    files = table.snapshot().within(after(0), after(10), "words")
    (read,) = read_files(spark, table, files).inputFiles()
    assert "date=2026-01-01" in read
