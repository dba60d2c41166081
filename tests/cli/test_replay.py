"""``streamgauge replay``: a shared cluster under several policies, text, JSON and page."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from streamgauge.api.replay_rows import SCHEMA

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
    assert page.read_text(encoding="utf-8").count("<svg") >= 3


def test_rows_are_those_of_the_document(run, file, tmp_path):
    rows = tmp_path / "rows.parquet"
    arguments = ("--policies", "static,henge", "--seeds", "1", "--rows", rows, "--json")
    body = json.loads(run("replay", file, *arguments).out)
    table = pq.read_table(rows)
    assert table.schema == SCHEMA
    # Two policies, half an hour in steps of ten seconds, six jobs.
    assert table.num_rows == 2 * 180 * 6
    frame = table.to_pandas()
    henge = frame[frame.policy == "henge"]
    (course,) = [one for one in body["courses"] if one["policy"] == "henge"]
    assert int(henge.rescaled.sum()) == sum(course["rescales"].values())
    assert set(henge.job.unique()) == set(course["rescales"])
    assert henge.satisfaction.between(0.0, 1.0).all()
    assert not list(tmp_path.glob("*.part"))


def test_a_price_gives_costs(run, file):
    file.write_text(file.read_text().replace("jobs:", "price_per_executor_hour: 0.1\njobs:"))
    body = json.loads(run("replay", file, "--policies", "static", "--seeds", "2", "--json").out)
    (policy,) = body["policies"]
    assert policy["cost"]["mean"] == pytest.approx(0.1 * policy["executor_hours"]["mean"])
    assert "cost" in run("replay", file, "--policies", "static", "--seeds", "1").out


def test_the_file_may_name_its_policies(run, file):
    file.write_text(file.read_text().replace("jobs:", "policies: [static]\njobs:"))
    body = json.loads(run("replay", file, "--seeds", "1", "--json").out)
    assert [one["policy"] for one in body["policies"]] == ["static"]
    body = json.loads(run("replay", file, "--policies", "hpa", "--seeds", "1", "--json").out)
    assert [one["policy"] for one in body["policies"]] == ["hpa"]


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
