"""The same input gives the same profiles, byte by byte, however it came and was worked on."""

import itertools
from contextlib import contextmanager
from datetime import UTC, datetime
from random import Random

import pytest

from streamgauge.lake.tables import Lake
from streamgauge.pipeline.calibrate.job import calibrate
from streamgauge.pipeline.ingest.job import ingest_files
from streamgauge.pipeline.ingest.listing import find_files
from tests.pipeline.known_jobs import known_jobs, write_all

RECEIVED = datetime(2026, 2, 1, tzinfo=UTC)
PARTITIONS = "spark.sql.shuffle.partitions"
ADAPTIVE = "spark.sql.adaptive.enabled"
CODEGEN = "spark.sql.codegen.wholeStage"
# Of the session that tests have: 2 partitions, neither adaptive nor generated.
OTHERWISE = {PARTITIONS: "200", ADAPTIVE: "true", CODEGEN: "true"}


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    """The lines of two jobs, a file each."""
    folder = tmp_path_factory.mktemp("raw")
    # The second of them has a fork.
    jobs = known_jobs(4, seed=3)
    write_all([jobs[1], jobs[3]], folder)
    return folder


@pytest.fixture(scope="module")
def lake(spark, raw, tmp_path_factory):
    return taken(spark, Lake(tmp_path_factory.mktemp("lake")), raw)


@pytest.fixture(scope="module")
def bytes_of_all(spark, lake):
    return bytes_of(spark, lake)


def taken(spark, lake, folder):
    ingest_files(spark, lake, find_files([str(folder)], received_at=RECEIVED))
    return lake


def bytes_of(spark, lake, topology=None):
    """By topology: the profile's text, the name of its replicas' file and its content."""
    made = {one.topology: one for one in calibrate(spark, lake, topology, seed=7)}
    assert all(one.profile and one.replicas for one in made.values())
    return {name: (one.profile, one.replicas) for name, one in made.items()}


@contextmanager
def settings(spark, wanted):
    before = {name: spark.conf.get(name) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def deal(raw, folder, random):
    """The same lines in another order in other files, one in ten of them twice."""
    lines = [line for path in sorted(raw.iterdir()) for line in path.read_bytes().splitlines()]
    lines += random.sample(lines, len(lines) // 10)
    random.shuffle(lines)
    count = random.randint(3, 7)
    for number in range(count):
        part = b"\n".join(lines[number::count]) + b"\n"
        place = folder / f"delivery-{number % 2}"
        place.mkdir(exist_ok=True)
        (place / f"{number}.jsonl").write_bytes(part)


def check_any_delivery(spark, raw, folder, expected, seed):
    deal(raw, folder, Random(seed))
    lake = Lake(folder / "lake")
    # The second delivery first, and once more at the end.
    for name in ("delivery-1", "delivery-0", "delivery-1"):
        taken(spark, lake, folder / name)
    assert bytes_of(spark, lake) == expected


def test_any_order_split_and_repetition_gives_the_same_bytes(spark, raw, bytes_of_all, tmp_path):
    check_any_delivery(spark, raw, tmp_path, bytes_of_all, seed=1)


def test_settings_that_are_all_others_give_the_same_bytes(spark, lake, bytes_of_all):
    with settings(spark, OTHERWISE):
        assert bytes_of(spark, lake) == bytes_of_all


def test_a_topology_alone_has_the_bytes_it_has_among_others(spark, lake, bytes_of_all):
    name = min(bytes_of_all)
    assert bytes_of(spark, lake, name) == {name: bytes_of_all[name]}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 8))
def test_any_delivery_gives_the_same_bytes(spark, raw, bytes_of_all, tmp_path, seed):
    check_any_delivery(spark, raw, tmp_path, bytes_of_all, seed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("partitions", "adaptive", "codegen"),
    [*itertools.product(("1", "200"), ("false", "true"), ("false", "true"))],
)
def test_any_settings_give_the_same_bytes(
    spark, raw, lake, bytes_of_all, tmp_path, partitions, adaptive, codegen
):
    with settings(spark, {PARTITIONS: partitions, ADAPTIVE: adaptive, CODEGEN: codegen}):
        assert bytes_of(spark, lake) == bytes_of_all
        assert bytes_of(spark, taken(spark, Lake(tmp_path), raw)) == bytes_of_all


def twins(raw, folder, count):
    """As many copies of one job, under names of their own."""
    path = min(raw.iterdir())
    text = path.read_bytes()
    folder.mkdir()
    for number in range(count):
        twin = text.replace(path.stem.encode(), b"twin-%03d" % number)
        (folder / f"{number}.jsonl").write_bytes(twin)


def spark_jobs_of_all(spark, lake):
    """How many topologies are calibrated, and how many Spark jobs that takes."""
    context, group = spark.sparkContext, f"all of {lake.uri}"
    context.setJobGroup(group, "jobs are counted")
    try:
        topologies = len(bytes_of(spark, lake))
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)
    # Jobs are told of by another thread.
    context._jsc.sc().listenerBus().waitUntilEmpty()
    return topologies, len(context.statusTracker().getJobIdsForGroup(group))


@pytest.mark.slow
def test_twelve_topologies_take_as_many_spark_jobs_as_three(spark, raw, tmp_path):
    jobs = {}
    for count in (3, 12):
        folder = tmp_path / f"raw-{count}"
        twins(raw, folder, count)
        lake = taken(spark, Lake(tmp_path / f"lake-{count}"), folder)
        topologies, jobs[count] = spark_jobs_of_all(spark, lake)
        assert topologies == count
    assert jobs[3] == jobs[12] > 0
