"""Updates: the plan that the engine would make, predicted beside the one that runs."""

import pytest

import streamgauge as sg
from streamgauge.errors import InvalidInput
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.job import Job


@pytest.fixture
def profile(project):
    return project / "examples/recorded/quiet.profile.json"


def test_both_sides_are_what_predict_says(profile):
    report = sg.update(profile, {"price": 3, "store": 2}, rate=320.0)
    measured = sg.load_profile(profile)
    job = Job(
        topology=measured.topology,
        configuration=measured.configuration.with_executors({"price": 3, "store": 2}),
        cluster=measured.cluster,
    )
    after = sg.predict(profile, place_job(job).plan, rate=320.0)
    assert report.after.prediction.latency == after.prediction.latency
    key = ("latency", "source to sink", "p99")
    assert report.after.intervals.of(*key) == after.intervals.of(*key)
    before = sg.predict(profile, rate=320.0)
    assert report.before.prediction.latency == before.prediction.latency
    assert report.after.throughput.saturation.per_second > 1.2 * before.prediction.limit.per_second


def test_what_stays_the_same_differs_by_nothing(profile):
    report = sg.update(profile, ["price=2"])
    assert report.diff.is_empty
    assert {one.apart for one in report.differences.values()} == {0.0}
    assert "nothing would change" in report.verdict.cautions[0]


def test_the_command_is_that_of_the_engine(profile):
    report = sg.update(profile, ["price=3"], workers=3, intervals=False)
    assert report.commands == ("storm rebalance orders -n 3 -e price=3",)
    assert len(report.after.plan.workers) <= 3


def test_a_plan_of_another_scheduler_is_written_and_applied(profile, run_command, tmp_path):
    plan = tmp_path / "plan.yaml"
    words = ("--profile", profile, "price=3", "--scheduler", "traffic-aware", "-o", plan)
    outcome = run_command("update", "--dry-run", *words)
    assert outcome.code == 0
    assert f"streamgauge storm apply {plan}" in outcome.out
    report = sg.update(profile, ["price=3"], scheduler="traffic-aware", intervals=False)
    assert sg.load_job(plan).explicit_plan() == report.after.plan


def test_an_overloaded_plan_says_what_it_processes(profile):
    report = sg.update(profile, ["price=1"], rate=500.0, intervals=False)
    throughput = report.after.throughput
    assert throughput.processed_per_second < 250.0
    assert "really processes" in report.verdict.sentence
    assert any("process less" in one for one in report.verdict.cautions)


@pytest.mark.parametrize(
    ("executors", "told"),
    [
        (["prise=3"], "did you mean 'price'"),
        (["price=9"], "9 executors of price, which has 8 tasks; expected at most 8"),
        (["price=0"], "one executor at least"),
        (["price"], "OPERATOR=NUMBER"),
        (["price=many"], "OPERATOR=NUMBER"),
        (["price=2", "price=3"], "'price' twice"),
        ([], "nothing to change"),
    ],
)
def test_what_cannot_be_set_is_refused(profile, executors, told):
    with pytest.raises(InvalidInput, match=told):
        sg.update(profile, executors)


def test_every_problem_is_told(profile):
    with pytest.raises(InvalidInput) as caught:
        sg.update(profile, {"prise": 3, "price": 9})
    assert len(caught.value.problems) == 2


def test_nothing_is_changed_without_a_dry_run(run_command, profile):
    outcome = run_command("update", "--profile", profile, "price=3")
    assert outcome.code == 2
    assert "--dry-run" in outcome.err


def test_an_update_that_cannot_carry_the_load_exits_with_3(run_command, profile, tmp_path):
    page = tmp_path / "page.html"
    words = ("--profile", profile, "price=1", "--rate", "500", "--html", page, "--no-intervals")
    assert run_command("update", "--dry-run", *words).code == 3
    assert "storm rebalance orders -e price=1" in page.read_text()


@pytest.fixture
def run_command(monkeypatch, capsys):
    """Calls the command line; as the fixture of the command line's own tests."""
    from tests.cli.conftest import run

    return run.__wrapped__(monkeypatch, capsys)
