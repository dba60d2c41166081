"""Objectives in a topology's own configuration: the same keys and checks as in a file."""

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.planning.sharing.files.shared_cluster_file import load_shared_cluster
from streamgauge.planning.sharing.files.slo_file import find_slo
from streamgauge.planning.sharing.slo import Slo, Statistic
from streamgauge.planning.sharing.utility import Linear, Step
from streamgauge.profile.files.jobs import parse_job

JOB = """
streamgauge: 1
topology:
  name: pages
  operators: {in: {kind: source}, out: {}}
  streams: [{from: in, to: out, grouping: shuffle}]
behaviours: {out: {service: {cpu_ms: 1}}}
configuration:
  settings:
    topology.max.spout.pending: 100
SETTINGS
cluster: {uniform: {nodes: 1, cores: 4}}
workload: [{source: in, per_second: 100}]
"""


def written(**settings):
    lines = "".join(f"    streamgauge.slo.{key}: {text}\n" for key, text in settings.items())
    return JOB.replace("SETTINGS\n", lines)


def slo(**settings):
    job = parse_job(written(**settings))
    return find_slo(job.configuration, job.topology)


def test_h34_settings_of_a_topology_are_its_objective():
    found = slo(latency_ms="60", statistic="p99", juice="0.99", max_utility="35", utility="step")
    assert found == Slo(
        latency_seconds=0.06, statistic=Statistic.P99, juice=0.99, max_utility=35.0, shape=Step()
    )


def test_h34_parts_of_a_setting_are_yaml():
    found = slo(juice="1", utility="'{linear: 2}'", sink_weights="'{out: 3}'")
    assert found == Slo(juice=1.0, shape=Linear(zero_at=2.0), sink_weights={"out": 3.0})


def test_a_topology_without_such_settings_has_no_objective():
    assert slo() is None


@pytest.mark.parametrize(
    ("settings", "place", "says"),
    [
        ({"latency": "60"}, "streamgauge.slo.latency", "latency_ms"),
        ({"latency_ms": "-1"}, "streamgauge.slo.latency_ms", "above 0"),
        ({"latency_ms": "fast"}, "streamgauge.slo.latency_ms", "fast"),
        ({"juice": "2"}, "streamgauge.slo.juice", "at most 1"),
        ({"max_utility": "10"}, "streamgauge.slo", "no threshold"),
        ({"juice": "1", "utility": "'{linear: 0}'"}, "streamgauge.slo.utility", "above 0"),
        ({"juice": "1", "utility": "'{linear: [}'"}, "streamgauge.slo.utility", "YAML"),
        ({"juice": "1", "sink_weights": "'{in: 1}'"}, "streamgauge.slo.sink_weights", "no sink"),
    ],
)
def test_h34_what_is_no_objective_is_refused_with_its_setting(settings, place, says):
    with pytest.raises(InvalidInput) as caught:
        slo(**settings)
    assert place in str(caught.value)
    assert says in str(caught.value)


SHARED = """
streamgauge: 1
sharing: one
machines: [4]
hours: 1
jobs:
  pages:
    job: {file: job.yaml}
    traffic: {mean: 100}
"""


def load(folder, job, shared=SHARED):
    (folder / "job.yaml").write_text(job, encoding="utf-8")
    (folder / "shared.yaml").write_text(shared, encoding="utf-8")
    return load_shared_cluster(folder / "shared.yaml").jobs[0].slo


def test_h34_a_shared_cluster_takes_objectives_from_its_jobs(tmp_path):
    assert load(tmp_path, written(juice="0.9")) == Slo(juice=0.9)


def test_what_the_cluster_says_itself_goes_before(tmp_path):
    own = SHARED.replace("traffic", "slo: {juice: 0.5}\n    traffic")
    assert load(tmp_path, written(juice="0.9"), own) == Slo(juice=0.5)


def test_a_job_without_any_objective_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="no objective"):
        load(tmp_path, written())
