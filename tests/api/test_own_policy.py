"""A policy of the user's own, as its page shows it: short, registered by a line, and compared."""

import re
import sys
from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.planning.sharing.policy import Policy, load_policy, policy_names
from tests.planning.sharing.clusters import cluster, job

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/replay.md"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The page's module and entry point, as a package on the path."""
    text = PAGE.read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (entry,) = re.findall(r'"streamgauge.policies"\]\n(.*?)\n```', text, re.DOTALL)
    (tmp_path / "doubling.py").write_text(code, encoding="utf-8")
    about = tmp_path / "doubling-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: doubling\nVersion: 1.0\n")
    registered = "[streamgauge.policies]\n" + entry.replace('"', "") + "\n"
    (about / "entry_points.txt").write_text(registered)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield code
    sys.modules.pop("doubling", None)


def test_the_policy_of_the_page_has_at_most_30_lines_and_is_one(installed):
    assert len(installed.splitlines()) <= 30
    assert "double" in policy_names()
    assert isinstance(load_policy("double"), Policy)


def test_it_does_what_the_page_says(installed):
    policy = load_policy("double")
    assert policy.decide(cluster(0, a=job(0.5, capacity=0.95))).executors == {"a": {"work": 20}}
    assert not policy.decide(cluster(60, a=job(0.5, capacity=0.6))).acts


def test_it_is_compared_by_its_name(installed):
    file = ROOT / "examples/sharing/henge/h08.yaml"
    report = sg.replay(file, "double,static", seeds=1, processes=1)
    double = next(one for one in report.summaries if one.policy == "double")
    static = next(one for one in report.summaries if one.policy == "static")
    assert double.satisfaction.mean > static.satisfaction.mean
