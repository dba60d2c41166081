"""`streamgauge recommend`: exit codes, the plan's file, and errors."""

import json
import sys

import pytest

from streamgauge.cli import main

WORD_COUNT = "examples/word-count.profile.json"
RECORDED = "examples/recorded/quiet.profile.json"
CATALOGUE = "examples/catalogues/example-machines.yaml"
TRAFFIC = "examples/traffic/orders.csv"


@pytest.fixture
def run(project, monkeypatch, capsys):
    def ask(*words):
        monkeypatch.chdir(project)
        monkeypatch.setattr(sys, "argv", ["streamgauge", "recommend", *words, "--no-confirm"])
        with pytest.raises(SystemExit) as leaving:
            main()
        return leaving.value.code or 0, capsys.readouterr()

    return ask


def test_the_plan_is_written_and_the_command_names_it(run, tmp_path):
    plan = str(tmp_path / "plan.yaml")
    code, said = run(WORD_COUNT, "--rate", "2000", "--no-intervals", "-o", plan)
    assert code == 0
    assert f"streamgauge storm apply {plan}" in said.out


def test_an_objective_out_of_reach_leaves_with_3(run):
    code, said = run(
        WORD_COUNT, "--rate", "2000", "--objective", "p99<1us", "--no-intervals", "--json"
    )
    assert code == 3
    assert json.loads(said.out)["recommendation"]["feasible"] is False


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--objective", "p99>5ms"], "a latency at most"),
        (["--at-most", "spout"], "OPERATOR=NUMBER"),
        (["--keep", "splitter", "--at-most", "splitter=0"], "at least 1"),
        (["--series", "rates.csv"], "which takes --horizon"),
        (["--horizon", "24h", "--rate", "100"], "the load is forecast"),
        (["--horizon", "24h", "--vote"], "the load is forecast"),
        (["--horizon", "soon"], "--horizon"),
        (["--horizon", "24h", "--catalogue", CATALOGUE], "--minimise money"),
        (["--minimise", "money"], "--minimise money without --catalogue"),
    ],
)
def test_what_is_wrong_leaves_with_2(run, words, expected):
    code, said = run(WORD_COUNT, *words)
    assert code == 2
    assert expected in said.err


def test_a_timetable_is_printed_as_one_document_and_its_plans_are_written(run, tmp_path):
    words = ("--horizon", "12h", "--series", TRAFFIC, "--objective", "p99<300ms", "--no-intervals")
    code, said = run(RECORDED, *words, "--json", "-o", str(tmp_path / "plan.yaml"))
    document = json.loads(said.out)["timetable"]
    assert code in (0, 3)
    assert document["stays"]
    changed = {one["plan"] for one in document["stays"] if one["restart"] is not None}
    assert {path.name for path in tmp_path.iterdir()} >= {f"plan-{one}.yaml" for one in changed}


def test_a_price_is_told_with_a_catalogue(run):
    words = ("--rate", "300", "--objective", "p95<60ms", "--no-intervals")
    code, said = run(RECORDED, *words, "--catalogue", CATALOGUE, "--json")
    assert code == 0
    assert json.loads(said.out)["recommendation"]["prices"]["currency"] == "USD"
