"""``streamgauge slo status``: text, JSON, exit codes."""

import json

import pytest

from streamgauge.lake.raw import encode
from streamgauge.lake.records import group_samples
from tests.planning.sharing.measurements import DIAMOND, minute

JOB = """
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
configuration: {settings: {streamgauge.slo.juice: JUICE}}
"""


@pytest.fixture
def metrics(tmp_path):
    """A minute of the diamond, whose juice is 0.875."""
    folder = tmp_path / "metrics"
    folder.mkdir()
    lines = [encode(group) for group in group_samples(minute(DIAMOND))]
    (folder / "a.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def job(folder, juice):
    path = folder / "job.yaml"
    path.write_text(JOB.replace("JUICE", str(juice)), encoding="utf-8")
    return path


def test_an_objective_that_is_met_is_said(run, tmp_path, metrics):
    outcome = run("slo", "status", job(tmp_path, 0.8), "--metrics", metrics)
    assert outcome.code == 0, outcome.err
    for part in ("Met by 1 job", "juice ≥ 0.8", "0.875", "capacity"):
        assert part in outcome.out


def test_one_that_is_missed_leaves_with_3(run, tmp_path, metrics):
    outcome = run("slo", "status", job(tmp_path, 1.0), "--metrics", metrics, "--json")
    assert outcome.code == 3
    body = json.loads(outcome.out)["slo_status"]
    assert body["jobs"]["job"]["met"] is False
    assert body["jobs"]["job"]["utility"] == pytest.approx(0.875, abs=1e-3)


def test_one_of_which_nothing_is_known_leaves_with_5(run, tmp_path):
    outcome = run("slo", "status", job(tmp_path, 1.0), "--metrics", tmp_path)
    assert outcome.code == 5
    assert "no metrics of a topology 'job'" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--every", "0"), "--every"),
        (("--congestion", "luck"), "one of capacity"),
        (("--follow", "--html", "page.html"), "one look"),
    ],
)
def test_wrong_options_are_told(run, tmp_path, metrics, arguments, says):
    outcome = run("slo", "status", job(tmp_path, 1.0), "--metrics", metrics, *arguments)
    assert outcome.code == 2
    assert says in outcome.err
