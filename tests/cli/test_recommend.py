"""`streamgauge recommend`: exit codes, the plan's file, and errors."""

import json
import sys

import pytest

from streamgauge.cli import main

WORD_COUNT = "examples/word-count.profile.json"


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
    ],
)
def test_what_is_wrong_leaves_with_2(run, words, expected):
    code, said = run(WORD_COUNT, *words)
    assert code == 2
    assert expected in said.err
