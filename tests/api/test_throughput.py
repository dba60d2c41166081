"""An overloaded plan says what it really processes, in every form of the report."""

import pytest

import streamgauge as sg


@pytest.fixture(scope="module")
def report():
    return sg.predict("examples/join-split.yaml", rate=9000)


def test_the_first_line_says_what_is_processed_and_where_tuples_pile_up(report):
    text = str(report.verdict)
    assert text.startswith("Overloaded: really processes 6,850 of 9,000 tuples/s (76.1 %); tuples")
    assert "pile up at multiplier-json-bolt" in text


def test_rates_of_operators_and_executors_are_those_that_get_through(report):
    found, real = report.prediction, report.prediction.throughput
    for name, rate in real.sinks.items():
        assert found.operators[name].arrived_per_second == pytest.approx(rate)
    assert found.operators["multiplier-json-bolt"].utilisation > 1.0
    by_name = {one.name: one for one in real.executors}
    for one in found.executors:
        assert one.tuples_out_per_second == by_name[one.name].emitted_per_second


def test_json_and_the_long_table_have_the_figures(report):
    document = report.to_dict()["prediction"]["throughput"]
    assert document["processed_part"] == pytest.approx(0.7613, abs=1e-3)
    figures = {(row.subject, row.figure) for row in report.figures()}
    assert {("job", "processed"), ("executor", "backlog_per_second"), ("filling", "full_at")} <= (
        figures
    )


def test_intervals_of_rates_that_are_due_are_not_shown_as_those_of_rates_that_get_through():
    report = sg.predict("examples/word-count.profile.json", rate=300_000)
    rates = [key for key in report.intervals.figures if key.figure.endswith("_per_second")]
    assert report.prediction.throughput.is_held_back
    assert rates == []


def test_a_load_near_saturation_is_told_as_a_risk():
    limit = sg.predict("examples/join-split.yaml", rate=100).prediction.limit.per_second
    near, below = (
        sg.predict("examples/join-split.yaml", rate=part * limit).to_text(120)
        for part in (0.97, 0.9)
    )
    assert "The risk of back-pressure is high: this is 97.0 % of what the plan can process." in near
    assert "risk of back-pressure" not in below
