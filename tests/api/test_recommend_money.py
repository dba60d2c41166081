"""`sg.recommend` with a catalogue: what machines cost now and then."""

import json

import pytest

import streamgauge as sg
from streamgauge.errors import InvalidInput

PROFILE = "examples/recorded/quiet.profile.json"
CATALOGUE = "examples/catalogues/example-machines.yaml"


@pytest.fixture(scope="module")
def moved(project):
    return sg.recommend(
        project / PROFILE,
        "p95<60ms",
        rate=600,
        catalogue=project / CATALOGUE,
        minimise="money",
        confirm=False,
        intervals=False,
    )


def test_the_plan_is_for_the_machines_that_are_bought(moved):
    prices = moved.recommendation.prices
    assert prices.bought.meets
    assert moved.plan.cluster is prices.bought.physical.cluster
    assert prices.then == pytest.approx(
        sum(one.price_per_hour for one in prices.bought.plan.machines)
    )
    assert prices.difference == pytest.approx(prices.then - prices.now)


def test_nobody_is_sent_to_apply_a_plan_for_machines_that_are_not_there(moved):
    assert len(moved.commands) == 1
    assert "--minimise money" in moved.commands[0]
    assert "--catalogue" in moved.commands[0]


def test_text_page_and_document_tell_the_price(moved):
    assert "Price: " in str(moved.verdict)
    assert "an example: its prices are invented" in str(moved)
    assert "Price now and then" in moved.to_html()
    prices = json.loads(json.dumps(moved.to_dict()))["recommendation"]["prices"]
    assert prices["then_per_hour"] == pytest.approx(moved.recommendation.prices.then)
    assert sum(prices["machines"].values()) == len(moved.plan.nodes)


def test_the_written_job_has_the_machines(moved, project, tmp_path):
    moved.save_job(tmp_path / "plan.yaml")
    again = sg.predict(project / PROFILE, tmp_path / "plan.yaml", rate=600, intervals=False)
    expected = moved.recommendation.chosen.prediction.latency.mean
    assert again.prediction.latency.mean == pytest.approx(expected, rel=1e-6)


def test_with_a_catalogue_alone_the_plan_stays_on_its_cluster_and_has_a_price(project):
    report = sg.recommend(
        project / PROFILE,
        "p95<60ms",
        rate=600,
        catalogue=project / CATALOGUE,
        confirm=False,
        intervals=False,
    )
    machines = {one.name for one in report.recommendation.present.trial.plan.cluster.machines}
    assert {one.name for one in report.plan.cluster.machines} == machines
    assert report.recommendation.prices.then > 0.0


def test_money_without_prices_is_refused(project):
    with pytest.raises(InvalidInput, match="a file of machine types"):
        sg.recommend(project / PROFILE, minimise="money")


def test_a_job_without_a_cluster_is_planned_on_machines_of_the_catalogue(project, tmp_path):
    text = (project / "examples/word-count.yaml").read_text()
    head, _, rest = text.partition("\ncluster:")
    tail = rest[rest.index("\nworkload:") :] if "\nworkload:" in rest else ""
    (tmp_path / "job.yaml").write_text(head + tail)
    report = sg.recommend(
        tmp_path / "job.yaml",
        "p99<100ms",
        rate=2000,
        catalogue=project / CATALOGUE,
        minimise="money",
        tuple_bytes=100,
        confirm=False,
    )
    assert report.recommendation.prices.now is None
    assert report.recommendation.prices.then > 0.0
