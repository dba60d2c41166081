"""``streamgauge calibrate``: what it refuses before Spark starts, and what it writes."""

import json

import pytest

from streamgauge.profile.files.jobs import load_profile
from tests.engines.emulator.emulations import emulated
from tests.lake.small_lakes import lake_of, sample

JOB = """
streamgauge: 1
topology:
  name: pair
  operators:
    s: {kind: source, tasks: 1}
    a: {tasks: 1}
  streams: [{from: s, to: a, grouping: shuffle}]
behaviours:
  s: {service: {cpu_ms: 0.05}}
  a: {service: {cpu_ms: 2}}
configuration: {executors: {s: 1, a: 1}, workers: 2}
cluster: {uniform: {nodes: 2, slots: 1, cores: 4, latency_ms: 3}}
workload: [{source: s, per_second: 20, shape: regular}]
"""


@pytest.fixture
def lake(tmp_path):
    return lake_of(tmp_path / "lake", sample("executed", 0, 5)).uri


@pytest.fixture
def refusal(run, lake, tmp_path):
    """What is said where nothing is done."""

    def of(*arguments, place=lake):
        shown = run("calibrate", "--lake", place, *arguments)
        assert (shown.code, shown.out) == (2, "")
        assert not (tmp_path / "p.json").exists()
        return shown.err

    return of


@pytest.fixture
def wanted(tmp_path):
    return ("--topology", "words", "-o", tmp_path / "p.json")


def test_one_topology_or_all_of_them(refusal, tmp_path, wanted):
    assert "topology: both --topology and --all; expected one of them" in refusal(*wanted, "--all")
    said = refusal("-o", tmp_path / "p.json")
    assert "topology: neither --topology nor --all; expected one of them" in said


def test_all_problems_are_told_at_once(refusal):
    assert refusal().splitlines() == [
        "error: topology: neither --topology nor --all; expected one of them",
        "error: output: no --output; expected where the profile should go",
    ]


def test_a_period_has_two_ends_in_order_and_with_their_zones(refusal, wanted):
    first, last = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"
    for end in ("--from", "--to"):
        assert "only one of --from and --to; expected both or neither" in refusal(
            *wanted, end, first
        )
    said = refusal(*wanted, "--from", last, "--to", first)
    assert f"{last} to {first}; expected a start before the end" in said
    said = refusal(*wanted, "--from", "noon", "--to", last)
    assert "from: 'noon'; expected a time with its zone" in said


def test_a_period_and_a_plan_are_two_wishes(refusal, wanted, project):
    period = ("--from", "2026-01-01T00:00:00Z", "--to", "2026-01-01T01:00:00Z")
    said = refusal(*wanted, *period, "--for-plan", project / "examples" / "word-count.yaml")
    assert "for_plan: a period and a plan; expected one of them" in said


def test_a_plan_that_is_not_there_is_named(refusal, wanted):
    assert "none.yaml: no such file" in refusal(*wanted, "--for-plan", "none.yaml")


def test_a_warm_up_is_no_time_before_the_start(refusal, wanted):
    assert "warmup: -1.0; expected a finite number of at least 0" in refusal(
        *wanted, "--warmup", "-1"
    )


def test_an_output_that_cannot_be_written_is_named_before_spark_starts(refusal, tmp_path):
    place = tmp_path / "no" / "p.json"
    said = refusal("--topology", "words", "-o", place)
    assert f"{place}: no such file or directory; expected a file that can be written" in said
    (tmp_path / "file").touch()
    said = refusal("--all", "-o", tmp_path / "file")
    assert f"{tmp_path}/file: file exists; expected a folder that can be made" in said


def test_a_setting_needs_a_name_and_a_value(refusal, wanted):
    assert "conf: 'memory'; expected KEY=VALUE" in refusal(*wanted, "--conf", "memory")


def test_a_place_that_is_no_lake_is_named_with_the_command_that_makes_one(
    refusal, wanted, tmp_path
):
    said = refusal(*wanted, place=tmp_path / "none")
    assert f"{tmp_path}/none: no tables; expected a lake" in said
    assert "`streamgauge ingest SOURCE --lake URI` makes one" in said
    assert not (tmp_path / "none").exists()


def test_an_error_is_a_document_where_documents_are_wanted(run, tmp_path, wanted):
    shown = run("calibrate", "--lake", tmp_path / "none", *wanted, "--json")
    assert shown.code == 2
    assert json.loads(shown.out)["error"]["code"] == "unreadable-file"


def test_from_metrics_to_a_profile_here_and_in_the_lake(run, spark, tmp_path):
    emulated(JOB, tmp_path / "samples", seconds=120.0, bucket_seconds=2.0, trace_every=0)
    place, made = tmp_path / "new", tmp_path / "p.json"
    settings = ("--master", "local[2]", "--conf", "spark.sql.shuffle.partitions=2")
    assert run("ingest", tmp_path / "samples", "--lake", place, *settings).code == 0
    shown = run("calibrate", "--lake", place, "--topology", "pair", "-o", made, "--json", *settings)
    assert shown.code == 0, shown.err
    document = json.loads(shown.out)
    (written,) = document["profiles"]
    assert (written["topology"], written["file"]) == ("pair", str(made))
    assert document["faults"] == {}
    profile = load_profile(made)
    (task,) = profile.tasks_of("a").values()
    # Whether the profile is any good is said at once, as `profile show` would say it.
    quality = written["quality"]
    judged = json.loads(run("profile", "show", made, "--json").out)["quality"]
    assert quality["good"] == sum(one["verdict"] == "good" for one in judged) > 0
    assert len(quality["missing"]) == sum(one["verdict"] == "missing" for one in judged)
    ((_, figures),) = task.inputs.items()
    assert figures.wall.mean_ms.value == pytest.approx(2, rel=0.01)
    # Probes went both ways between the nodes.
    links = {(one.source, one.target): one.latency.mean_ms.value for one in profile.links}
    assert links == pytest.approx({("n1", "n2"): 3.0, ("n2", "n1"): 3.0})
    # The lake keeps it, too.
    kept = [path.read_bytes() for path in (place / "profiles").rglob("*.json")]
    assert kept == [made.read_bytes()]
    again = run("calibrate", "--lake", place, "--topology", "pair", "-o", made, *settings)
    assert f"wrote {made}" in again.err
    assert again.out.startswith(
        f"pair: {quality['good']} of {len(judged)} figures are well measured"
    )
    missing = run("calibrate", "--lake", place, "--topology", "pears", "-o", made, *settings)
    assert missing.code == 5
    assert "nothing of topology 'pears'; expected one of pair (did you mean 'pair'?)" in missing.err
