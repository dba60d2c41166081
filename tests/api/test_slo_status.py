"""Objectives by live metrics, from folders as agents and the emulator leave them."""

import json

import pytest

import streamgauge as sg
from streamgauge.api.slo_status import SloWatch
from streamgauge.errors import InvalidInput
from streamgauge.lake.raw import encode
from streamgauge.lake.records import group_samples
from tests.engines.emulator.emulations import run
from tests.planning.sharing.measurements import (
    BEGUN,
    DIAMOND,
    heartbeats,
    minute,
    sample,
)

# Work that keeps up, or can do 50/s, and what the job is to reach.
JOB = """
streamgauge: 1
topology:
  name: pages
  operators: {in: {kind: source}, work: {tasks: 4}, out: {}}
  streams: [{from: in, to: work, grouping: shuffle}, {from: work, to: out, grouping: shuffle}]
behaviours:
  in: {service: {cpu_ms: 0.1}}
  work: {service: {wait_ms: WAIT}, outputs: {default: 1}}
  out: {service: {cpu_ms: 0.1}}
configuration:
  settings:
    streamgauge.slo.latency_ms: 50
    streamgauge.slo.statistic: p95
    streamgauge.slo.juice: 0.99
    streamgauge.slo.max_utility: 35
cluster: {uniform: {nodes: 1, cores: 4}}
workload: [{source: in, per_second: 100, shape: regular}]
"""


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """A minute and a half of a job that keeps up: its file and its metrics."""
    return emulate(tmp_path_factory.mktemp("quick"), 2)


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """The same of one that processes half of what comes."""
    return emulate(tmp_path_factory.mktemp("slow"), 20)


def emulate(folder, wait_ms):
    text = JOB.replace("WAIT", str(wait_ms))
    (folder / "job.yaml").write_text(text, encoding="utf-8")
    run(text, folder / "metrics", seconds=90.0, trace_every=10)
    return folder / "job.yaml", folder / "metrics"


def test_a_job_that_keeps_up_meets_its_objective(quick):
    file, metrics = quick
    report = sg.slo_status(file, metrics=metrics)
    status = report.status.jobs["pages"]
    assert status.seen.quality.juice == pytest.approx(1.0, abs=2e-3)
    assert status.seen.utility == 35.0
    assert status.lag == 0.0
    assert 0.001 < status.seen.quality.latency_seconds["p95"] < 0.010
    # 100/s of 2 ms.
    assert status.seen.operators["work"].capacity == pytest.approx(0.2, rel=0.05)
    assert str(report.verdict) == "Met by 1 job."


def test_a_job_that_loses_ground_misses_it_where_it_is_congested(slow):
    file, metrics = slow
    report = sg.slo_status(file, metrics=metrics)
    status = report.status.jobs["pages"]
    # 50 of 100 a second are executed.
    assert status.seen.quality.juice == pytest.approx(0.5, abs=0.01)
    assert status.seen.meets_slo is False
    assert report.to_dict()["slo_status"]["jobs"]["pages"]["congested"] == ["work"]
    assert status.seen.operators["work"].queue_per_second == pytest.approx(50.0, rel=0.05)
    assert str(report.verdict) == "Missed by pages."


def test_h34_jobs_are_found_by_the_plans_in_the_metrics(quick):
    _, metrics = quick
    report = sg.slo_status(metrics=metrics)
    assert report.status.jobs["pages"].seen.utility == 35.0


def test_a_policy_is_asked_and_nothing_is_done(slow):
    file, metrics = slow
    report = sg.slo_status(file, metrics=metrics, policy="henge")
    assert report.decision.rule == "reconfiguration"
    # There cannot be more executors than tasks.
    assert report.decision.executors == {"pages": {"work": 4}}
    assert "storm rebalance pages -e work=4" in report.to_text()


def test_other_metrics_of_congestion_are_taken(slow):
    file, metrics = slow
    for name in ("queue", "etp"):
        body = sg.slo_status(file, metrics=metrics, congestion=name).to_dict()["slo_status"]
        assert body["congestion"] == name
        assert body["jobs"]["pages"]["congested"] == ["work"]


def test_the_report_has_all_figures(slow):
    file, metrics = slow
    report = sg.slo_status(file, metrics=metrics)
    frame = report.to_pandas()
    assert {"job", "operator", "machine"} == set(frame.subject)
    assert "p95 ≤ 50" in report.to_text()
    assert "<table" in report.to_html()


class Clock:
    def __init__(self, at):
        self.at = at

    def __call__(self):
        return self.at


def write(folder, samples, name="a.jsonl"):
    folder.mkdir(exist_ok=True)
    with (folder / name).open("a") as stream:
        stream.writelines(encode(group) + "\n" for group in group_samples(samples))


@pytest.fixture
def job(tmp_path):
    """The diamond, with an objective of juice."""
    text = """
streamgauge: 1
topology:
  name: job
  operators: {s: {kind: source}, a: {}, b: {}, c: {}, d: {}}
  streams:
    - {from: s, to: a, grouping: shuffle}
    - {from: a, to: b, grouping: shuffle}
    - {from: a, to: c, grouping: shuffle}
    - {from: b, to: d, grouping: shuffle}
    - {from: c, to: d, grouping: shuffle}
configuration: {settings: {streamgauge.slo.juice: 0.8}}
"""
    (tmp_path / "job.yaml").write_text(text, encoding="utf-8")
    return tmp_path / "job.yaml"


def test_files_are_followed_as_they_grow(job, tmp_path):
    clock = Clock(BEGUN)
    metrics = tmp_path / "metrics"
    watch = SloWatch(job, metrics=metrics, clock=clock)
    assert "no metrics" in watch.look().status.jobs["job"].unknown
    samples = minute(DIAMOND, buckets=12)
    words = []
    for number in range(12):
        here = [one for one in samples if one.bucket_start_us == (BEGUN + 10 * number) * 1e6]
        # Agents give files in writing a name with a dot.
        write(metrics, here, ".a.jsonl")
        clock.at = BEGUN + 10.0 * number + 11.0
        words.append(watch.look().status.jobs["job"].seen.meets_slo)
    assert words == [None] * 5 + [True] * 7
    clock.at += 120.0
    assert "has not reported for" in watch.look().status.jobs["job"].unknown


def test_metrics_of_long_ago_are_looked_at_as_of_their_end(job, tmp_path):
    write(tmp_path / "metrics", minute(DIAMOND))
    clock = Clock(BEGUN + 1e7)
    report = SloWatch(job, metrics=tmp_path / "metrics", clock=clock).look_back()
    assert report.status.at == BEGUN + 60.0
    assert report.status.jobs["job"].seen.meets_slo is True


@pytest.mark.parametrize(
    ("lie", "says"),
    [
        ({"value": -5}, "negative"),
        ({"bucket_start_us": 4 * 10**15}, "in the future"),
        ({"value": 1e18, "count": 1}, "1e+18 in 10 s"),
    ],
)
def test_metrics_that_lie_are_told_and_not_believed(job, tmp_path, lie, says):
    metrics = tmp_path / "metrics"
    write(metrics, minute(DIAMOND))
    who = {"topology": "job", "component": "a", "task": 2}
    who |= {"stream": "to-a", "source_component": "s"}
    line = json.loads(encode(sample("executed", 5, at=50.0, **who))) | lie
    write(metrics, [])
    with (metrics / "a.jsonl").open("a") as stream:
        stream.write(json.dumps(line) + "\n")
    report = SloWatch(job, metrics=metrics, clock=Clock(BEGUN + 61.0)).look_back()
    status = report.status.jobs["job"]
    assert status.unknown.startswith("metrics that cannot be")
    assert status.seen.utility is None
    assert any(says in text for text in report.warnings)


def test_metrics_without_an_objective_are_named(tmp_path):
    write(tmp_path / "metrics", minute(DIAMOND))
    report = SloWatch(metrics=tmp_path / "metrics", clock=Clock(BEGUN + 61.0)).look()
    assert not report.status.jobs
    assert report.status.others == ("job",)
    assert "without an objective: job" in report.to_text()


def test_an_idle_job_is_unknown_and_the_verdict_says_so(job, tmp_path):
    write(tmp_path / "metrics", [one for at in range(0, 60, 10) for one in heartbeats(at)])
    report = SloWatch(job, metrics=tmp_path / "metrics", clock=Clock(BEGUN + 61.0)).look_back()
    assert str(report.verdict) == "Unknown: job."
    assert not report.is_known


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"congestion": "luck"}, "one of capacity"),
        ({"policy": "hengee"}, "did you mean 'henge'"),
        ({"subwindow": 0.0}, "sub_seconds"),
        ({"window": 5.0}, "window_seconds"),
    ],
)
def test_wrong_settings_are_told(job, tmp_path, settings, says):
    with pytest.raises(InvalidInput, match=says):
        sg.slo_status(job, metrics=tmp_path, **settings)


def test_a_job_without_an_objective_is_refused(tmp_path):
    text = JOB.replace("WAIT", "1").replace("streamgauge.slo", "other")
    (tmp_path / "job.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match="no objective"):
        sg.slo_status(tmp_path / "job.yaml", metrics=tmp_path)
