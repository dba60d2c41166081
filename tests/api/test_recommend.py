"""`sg.recommend`: a plan, how likely it meets an objective, and what would do where none does."""

import json
import math

import pytest

import streamgauge as sg
from streamgauge.errors import InvalidInput
from streamgauge.reports.content import Grade


@pytest.fixture(scope="module")
def measured(project):
    return sg.recommend(
        project / "examples/word-count.profile.json", "p99<3ms", rate=2000, confirm=False
    )


@pytest.fixture(scope="module")
def out_of_reach(project):
    return sg.recommend(
        project / "examples/word-count.profile.json",
        "p99<10us",
        rate=2000,
        confirm=False,
        intervals=False,
    )


def test_what_meets_the_objective_already_is_said_and_what_fewer_would_do(measured):
    assert measured.verdict.word == "Met already"
    assert "fewer would do" in measured.verdict.sentence
    sizes = [sum(one[place] for one in measured._rows()) for place in (1, 2)]
    assert sizes[1] < sizes[0]


def test_a_measured_job_has_odds(measured):
    assert 0.8 <= measured.odds <= 1.0


def test_the_plan_that_is_written_is_predicted_as_it_was_recommended(measured, project, tmp_path):
    measured.save_job(tmp_path / "plan.yaml")
    again = sg.predict(
        project / "examples/word-count.profile.json",
        tmp_path / "plan.yaml",
        rate=2000,
        intervals=False,
    )
    expected = measured.recommendation.chosen.prediction.latency.mean
    assert again.prediction.latency.mean == pytest.approx(expected, rel=1e-9)


def test_the_commands_make_and_apply_the_plan(measured):
    make, apply = measured.commands
    assert "--objective 'p99<3ms' --rate 2000 -o plan.yaml" in make
    assert apply == "streamgauge storm apply plan.yaml"


def test_the_command_repeats_all_limits(project):
    report = sg.recommend(
        project / "examples/word-count.profile.json",
        rate=2000,
        keep=["splitter"],
        at_most={"spout": 4},
        max_change=7,
        sure=0.9,
        confirm=False,
        intervals=False,
    )
    options = "--keep splitter --at-most spout=4 --max-change 7 --sure 0.9 -o plan.yaml"
    assert report.commands[0].endswith(options)


def test_text_page_and_document_say_the_same(measured):
    assert str(measured.verdict) in " ".join(measured.to_text(10_000).split())
    assert "spout 8 → " in measured.to_html()
    document = json.loads(json.dumps(measured.to_dict()))["recommendation"]
    assert document["feasible"] is True
    assert document["executors"]["spout"]["from"] == 8


def test_an_objective_out_of_reach_is_bad_news_with_the_best_that_is_reached(out_of_reach):
    assert out_of_reach.verdict.grade is Grade.BAD
    assert "the nearest plan reaches p99 of" in out_of_reach.verdict.sentence


def test_odds_are_not_known_of_a_job_that_was_only_declared(project):
    report = sg.recommend(project / "examples/word-count.yaml", "p99<20ms", confirm=False)
    assert math.isnan(report.odds)
    assert "declared" in report.to_text()


def test_before_a_first_submit_tasks_leave_room_for_four_times_the_executors(project):
    report = sg.recommend(project / "examples/windowed.yaml", "p99<10s", confirm=False)
    tasks = {one.name: one.tasks for one in report.plan.logical.topology.operators}
    for name, _, executors in report._rows():
        assert tasks[name] % executors == 0
        assert tasks[name] >= 4 * executors


def test_n_version_several_plans_are_compared_and_a_majority_is_found_or_said_to_be_missing(
    project,
):
    report = sg.recommend(
        project / "examples/word-count.profile.json",
        rate=2000,
        vote=True,
        confirm=False,
        intervals=False,
    )
    votes = report.to_dict()["recommendation"]["consensus"]
    schedulers = [name for version in votes["versions"] for name in version]
    assert len(schedulers) > 3
    assert set(votes["votes"].values()) <= set(schedulers)
    if votes["agreed"] is None:
        assert "They do not agree" in report.to_text()
    else:
        assert votes["share"] > 1.0 / (len(schedulers) + len(votes["votes"]))


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        ({"objective": "p99<5"}, "a time with its unit"),
        ({"minimise": "cost"}, "one of executors, workers, machines, money"),
        ({"sure": 1.5}, "at most"),
        ({"keep": ["spuot"]}, "did you mean 'spout'"),
    ],
)
def test_what_is_wrong_is_named(project, options, seen):
    with pytest.raises(InvalidInput, match=seen):
        sg.recommend(project / "examples/word-count.profile.json", confirm=False, **options)
