"""`sg.timetable`: plans over a forecast, in text, JSON and pictures."""

import json

import pytest

import streamgauge as sg
from streamgauge.reports.content import Grade

PROFILE = "examples/recorded/quiet.profile.json"


@pytest.fixture(scope="module")
def day(tmp_path_factory):
    """Five days of a load that is high for half of each, every half hour."""
    rows = ["time,value"]
    for slot in range(5 * 48):
        hour = slot % 48 / 2
        load = 300.0 if 8.0 <= hour < 20.0 else 60.0
        at = f"2026-01-{1 + slot // 48:02d}T{slot % 48 // 2:02d}:{30 * (slot % 2):02d}:00Z"
        rows.append(f"{at},{load + slot % 5}")
    path = tmp_path_factory.mktemp("traffic") / "day.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="module")
def report(project, day):
    return sg.timetable(
        project / PROFILE, "p99<300ms", series=day, horizon="24h", rescaling="60s", intervals=False
    )


def test_a_day_with_a_quiet_night_has_a_plan_for_each(report):
    assert report.verdict.word == "Change"
    assert len(report.timetable.stays) >= 2
    assert report.timetable.cost_hours < report.single.cost_hours


def test_every_change_has_a_backlog_that_is_processed(report):
    for restart in report.timetable.restarts:
        assert restart.backlog > 0.0
        assert restart.missed_seconds > 60.0


def test_text_page_and_document_tell_the_same(report):
    document = json.loads(json.dumps(report.to_dict()))["timetable"]
    stays = document["stays"]
    assert [one["until"] for one in stays[:-1]] == [one["from"] for one in stays[1:]]
    assert str(report.verdict) in " ".join(report.to_text(10_000).split())
    assert "<svg" in report.to_html()
    assert report.plot().svg.count("plan ") >= len(stays)


def test_plans_are_written_beside_the_file_and_can_be_predicted(report, project, tmp_path):
    written = report.save_plans(tmp_path / "plan.yaml")
    assert written
    for file in written:
        again = sg.predict(project / PROFILE, file, rate=60, intervals=False)
        assert not again.prediction.overloaded


def test_a_level_load_needs_no_change(project, tmp_path):
    rows = ["time,value"]
    rows += [f"2026-01-{1 + at // 24:02d}T{at % 24:02d}:00:00Z,{100 + at % 3}" for at in range(96)]
    (tmp_path / "level.csv").write_text("\n".join(rows) + "\n")
    found = sg.timetable(
        project / PROFILE,
        "p99<300ms",
        series=tmp_path / "level.csv",
        horizon="12h",
        intervals=False,
    )
    assert len(list(found.timetable.restarts)) <= 1


def test_what_no_plan_reaches_is_bad_news(project, day):
    found = sg.timetable(project / PROFILE, "p99<1us", series=day, horizon="2h", intervals=False)
    assert found.verdict.grade is Grade.BAD


def test_with_money_the_machines_of_each_plan_are_bought_by_the_hour(project, day):
    found = sg.timetable(
        project / PROFILE,
        "p99<300ms",
        series=day,
        horizon="2h",
        minimise="money",
        catalogue=project / "examples/catalogues/example-machines.yaml",
        intervals=False,
    )
    assert "USD" in found.headline[0].value
    priced = [plan.cost for plan in found.timetable.plans]
    assert all(0.0 < cost < 1.0 for cost in priced)
    # Nobody is told to apply a plan for machines that are not there yet.
    assert not any("storm apply" in command for command in found.commands)


def test_the_command_that_is_shown_makes_the_same_timetable_again(report, day):
    again = report.commands[0]
    assert f"--horizon 24h --objective 'p99<300ms' --series {day} --rescaling 60s" in again
    assert report.commands[1].startswith("streamgauge storm apply plan-")
