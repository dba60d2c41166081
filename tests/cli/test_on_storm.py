"""The commands that run something on real Storm, as people call them."""

import json

import pytest

from tests.engines.storm.toolchain import require_jars

pytestmark = pytest.mark.storm

EXPERIMENT = """\
streamgauge: 1
experiment: small
job:
  streamgauge: 1
  topology:
    name: small
    acked: true
    operators: {events: {kind: source}, work: {tasks: 4}, out: {}}
    streams:
      - {from: events, to: work, grouping: shuffle}
      - {from: work, to: out, grouping: shuffle}
  behaviours:
    work: {service: {wait_ms: 5}, outputs: {default: 1}}
    out: {service: {cpu_ms: 0.02}}
  configuration:
    executors: {work: 2}
    workers: 2
    settings:
      topology.disable.loadaware.messaging: true
      topology.bolt.wait.progressive.level2.count: 0
  workload: [{source: events, per_second: 100}]
cluster: {uniform: {nodes: 2, slots: 2, cores: 2}}
steps:
  even: {placement: even}
  apart:
    executors: {work: 4}
    placement:
      task_order: alphabetical
      workers:
        - {node: n1, port: 6700, executors: ["__acker[1]", "events[3]", "out[4]"]}
        - node: n2
          port: 6701
          executors: ["__acker[2]", "work[5]", "work[6]", "work[7]", "work[8]"]
warm_up: {seconds: 5, calls: 200, agreement: 0.9, most_seconds: 60}
windows: 3
window_seconds: 5
repetitions: 1
"""


@pytest.fixture(scope="module", autouse=True)
def engine():
    """Storm, where Java and Maven are there."""
    require_jars()


def test_an_experiment_ends_in_its_truth_and_its_metrics_in_a_profile(run, tmp_path):
    file, folder = tmp_path / "small.yaml", tmp_path / "small"
    file.write_text(EXPERIMENT)
    done = run("experiment", "run", file, "--engine", "storm", "--output", folder, "--json")
    assert done.code == 0, done.err
    steps = json.loads(done.out)["truth"]["steps"]
    assert set(steps) == {"even", "apart"}
    assert all(step["windows"] == 3 and step["figures"] for step in steps.values())
    lake, profile = tmp_path / "lake", tmp_path / "profile.json"
    taken = run("ingest", folder / "raw", "--lake", lake)
    assert taken.code == 0, taken.err
    calibrated = run("calibrate", "--lake", lake, "--topology", "small", "--output", profile)
    assert calibrated.code == 0, calibrated.err
    seen = run("predict", "--profile", profile, "--json")
    assert seen.code == 0, seen.err
    # Five milliseconds of waiting, and what two hops and sleeping threads add.
    assert 0.005 < json.loads(seen.out)["prediction"]["latency"]["mean"] < 0.1


def test_an_application_runs_on_storm(run, project, tmp_path):
    application = project / "examples" / "applications" / "word-counter.yaml"
    done = run(
        "app",
        "run",
        application,
        "--engine",
        "storm",
        "--seconds",
        6,
        "--warmup",
        5,
        "--output",
        tmp_path / "words",
        "--json",
    )
    assert done.code == 0, done.err
    steps = json.loads(done.out)["truth"]["steps"]
    figures = {
        (one["kind"], one["subject"], one["quantity"]): one["value"]
        for one in steps["run"]["figures"]
    }
    emitted = figures["throughput", "word_generator", "emitted_per_second"]
    executed = [figures["throughput", task, "executed_per_second"] for task in ("counter", "sink")]
    assert [emitted, *executed] == pytest.approx([1000.0] * 3, rel=0.1)
    # Microseconds of work, and what two hops and sleeping threads add.
    assert 0.0 < figures["latency", "all", "mean"] < 0.1
