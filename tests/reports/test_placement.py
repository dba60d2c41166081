"""Reports on jobs and their plans: what changes between two, and the paths through one."""

import pytest

from streamgauge.api.place import place
from streamgauge.errors import CyclicTopology
from streamgauge.profile.files.jobs import parse_job
from streamgauge.reports.paths import PathsReport
from streamgauge.reports.placement import PlanChange
from streamgauge.topology.physical_plan import diff_plans
from tests.cli.conftest import JOB
from tests.reports.pages import parsed, table, verdict

ONE_WORKER = JOB.replace("workers: 2}", "workers: 1, ackers: 2}")


def change_to(text, **options):
    before, after = place(parse_job(JOB)), place(parse_job(text), **options)
    return PlanChange(before=before, after=after, change=diff_plans(before.plan, after.plan))


def test_a_change_counts_executors_tasks_and_workers():
    """Two workers become one: all five executors of the second move."""
    change = change_to(ONE_WORKER)
    assert str(change.verdict) == (
        "The plans differ. Executors: 5 move, 0 are added, 0 are removed, 5 stay."
        " 5 tasks change worker. Workers: +0 −1."
    )
    assert {row.figure: row.value for row in change.figures()}["tasks_moved"] == 5


def test_the_page_of_a_change_draws_both_plans_and_lists_who_moves():
    page = change_to(ONE_WORKER).to_html()
    texts = ["".join(node.itertext()) for node in parsed(page).iter() if node.tag.endswith("text")]
    assert "before" in texts
    assert "after" in texts
    assert table(page, "Executors that change")["work[10]"] == {
        "executor": "work[10]",
        "change": "moves",
        "from": "n2:6700",
        "to": "n1:6700",
    }
    assert "The plans differ" in verdict(page)


def test_plans_of_too_many_executors_are_not_drawn(monkeypatch):
    monkeypatch.setattr("streamgauge.reports.placement_ranking.MANY_EXECUTORS", 9)
    page = change_to(JOB, step="slim").to_html()
    assert "10 executors are too many to draw." in page


def test_paths_are_counted_by_source_and_by_operators():
    """2 × 4 × 2 paths; of the connections half are between the two nodes."""
    report = PathsReport(placement=place(parse_job(JOB)))
    (row,) = report.by_source()
    assert (row.source, row.paths, row.mean_crossings, row.most_crossings) == ("in", 16, 1.0, 2.0)
    document = report.to_dict()["paths"]
    assert document["logical"] == [
        {"operators": ["in", "work", "out"], "streams": ["default", "default"], "paths": 16}
    ]
    assert document["listed"] == []


def test_paths_may_go_on_to_the_ackers():
    report = PathsReport(placement=place(parse_job(JOB)), to_acker=True)
    assert str(report.verdict).startswith("32 paths from a source to an acker")


def test_single_paths_are_listed_as_many_as_asked_for():
    report = PathsReport(placement=place(parse_job(JOB)), listed=3)
    listed = report.to_dict()["paths"]["listed"]
    assert listed[0] == {"executors": ["in[3]", "work[7]", "out[5]"], "connections": ["local"] * 2}
    assert len(listed) == 3


def test_a_cycle_has_infinitely_many_paths(project):
    with pytest.raises(CyclicTopology, match="fetch → parse → fetch"):
        PathsReport(placement=place(project / "examples" / "feedback.yaml")).to_text()
