"""``streamgauge replay``: a shared cluster under several policies, text, JSON and page."""

import json
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def file(tmp_path):
    """The example's first hours."""
    text = (EXAMPLES / "sharing/busy-day.yaml").read_text(encoding="utf-8")
    text = text.replace("hours: 24", "hours: 0.5").replace("../henge", f"{EXAMPLES}/henge")
    path = tmp_path / "half-an-hour.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_text_begins_with_the_best_policy(run, file):
    outcome = run("replay", file, "--policies", "static,henge", "--seeds", "2", "--processes", "1")
    assert outcome.code == 0, outcome.err
    assert "6 jobs on 10 machines with 40 cores" in outcome.out
    for part in ("satisfies objectives best", "Policies, the best first", "orders", "executor-h"):
        assert part in outcome.out


def test_the_document_has_every_decision(run, file):
    outcome = run("replay", file, "--policies", "henge", "--seeds", "1", "--json")
    body = json.loads(outcome.out)
    assert body["worlds"] == 1
    assert [one["policy"] for one in body["policies"]] == ["henge"]
    (course,) = body["courses"]
    for decision in course["decisions"]:
        assert decision["rule"] and decision["executors"]


def test_the_page_has_pictures(run, file, tmp_path):
    page = tmp_path / "replay.html"
    assert run("replay", file, "--policies", "static", "--seeds", "1", "--html", page).code == 0
    assert page.read_text(encoding="utf-8").count("<svg") >= 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--policies", "hengee"), "did you mean 'henge'"),
        (("--policies", ","), "--policies"),
        (("--seeds", "0"), "--seeds"),
    ],
)
def test_wrong_options_are_told(run, file, arguments, says):
    outcome = run("replay", file, *arguments)
    assert outcome.code == 2
    assert says in outcome.err
