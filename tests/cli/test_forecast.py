"""``streamgauge forecast``: files and lakes, text, JSON and pages, and exit codes."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from tests.lake.small_lakes import lake_of, sample
from tests.traffic.day_courses import course

START = datetime(2026, 1, 1, tzinfo=UTC)


def write(path, values, minutes=15, series=None):
    lines = ["time,value" if series is None else "series,time,value"]
    for at, value in enumerate(values):
        time = (START + timedelta(minutes=minutes * at)).isoformat()
        lines.append(f"{'' if series is None else series[at] + ','}{time},{value}")
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def file(tmp_path):
    return write(tmp_path / "rates.csv", course(4))


def found(outcome):
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)["forecast"]


def test_the_text_says_what_is_expected_with_its_band(run, file):
    outcome = run("forecast", "--series", file, "--horizon", "1h")
    assert outcome.code == 0
    assert outcome.out.startswith("rates.csv: 1 series, 1 h ahead\nRises from ")
    for part in ("with 95.0 % between", "p97.5", "The history in figures", "median", "expected"):
        assert part in outcome.out


def test_the_document_has_every_step(run, file):
    answer = found(run("forecast", "--series", file, "--horizon", "1h", "--json"))
    (series,) = answer["series"]
    assert [row["time"][11:16] for row in series["steps"]] == ["00:00", "00:15", "00:30", "00:45"]
    assert series["step_seconds"] == 900.0 and series["values"] == 384
    assert sum(first for first, _ in series["weights"].values()) > 0.95
    assert answer["failures"] == []


def test_the_page_and_the_picture_show_the_band(run, file, tmp_path):
    page, picture = tmp_path / "page.html", tmp_path / "picture.svg"
    outcome = run("forecast", "--series", file, "--html", page, "--svg", picture)
    assert outcome.code == 0
    assert "<title>80.0 %</title>" in picture.read_text()
    assert "Traffic forecast" in page.read_text()


def test_methods_and_quantiles_can_be_chosen(run, file):
    command = (
        "forecast",
        "--series",
        file,
        "--method",
        "last-value",
        "--quantile",
        "0.95",
        "--json",
    )
    (series,) = found(run(*command))["series"]
    assert series["weights"] == {"last-value": [1.0, 1.0]}
    assert {row["value"] for row in series["steps"]} == {series["last"]}
    assert all(row["p95"] >= row["value"] for row in series["steps"])


def test_others_can_join_the_standard_methods(run, file):
    command = ("forecast", "--series", file, "--method", "standard,median,auto-ets", "--json")
    (series,) = found(run(*command))["series"]
    weights = run("forecast", "--series", file, "--method", "standard,median,auto-ets")
    assert "day-profile" in weights.out
    assert len(series["weights"]) > 2


def test_one_series_with_a_fault_does_not_stop_the_others(run, tmp_path):
    names = ["good"] * 300 + ["short"] * 5
    path = write(tmp_path / "many.csv", [*course(4)[:300], *[1.0] * 5], series=names)
    outcome = run("forecast", "--series", path, "--json")
    answer = found(outcome)
    assert [one["series"] for one in answer["series"]] == ["good"]
    assert [one["series"] for one in answer["failures"]] == ["short"]
    assert "warning: no forecast: short: 5 values" in outcome.err


@pytest.mark.parametrize("values", [[], [5.0], [1.0] * 9])
def test_too_few_values_exit_with_5(run, tmp_path, values):
    outcome = run("forecast", "--series", write(tmp_path / "few.csv", values))
    assert outcome.code == 5 and outcome.out == ""


def test_a_negative_rate_is_refused_with_file_and_place(run, tmp_path):
    outcome = run("forecast", "--series", write(tmp_path / "rates.csv", [1.0, -2.0] * 10))
    assert outcome.code == 2
    assert "rates.csv: rates[1]: -2, and 9 more such values" in outcome.err


def test_a_horizon_beyond_the_history_exits_with_5(run, file):
    outcome = run("forecast", "--series", file, "--horizon", "30d")
    assert outcome.code == 5 and "longer than the history" in outcome.err


@pytest.mark.parametrize(
    "wrong",
    [
        (),
        ("--series", "FILE", "--lake", "x"),
        ("--lake", "x"),
        ("--series", "FILE", "--all"),
        ("--series", "FILE", "--horizon", "soon"),
        ("--series", "FILE", "--horizon", "0s"),
        ("--series", "FILE", "--step", "1m"),
        ("--series", "FILE", "--method", "crystal-ball"),
        ("--series", "FILE", "--timezone", "Mars/Olympus"),
        ("--series", "FILE", "--quantile", "1.5"),
        ("--series", "nothing.csv"),
        ("--lake", "nothing", "--topology", "words"),
    ],
)
def test_wrong_options_exit_with_2_and_say_why(run, file, wrong):
    words = [str(file) if word == "FILE" else word for word in wrong]
    outcome = run("forecast", *words)
    assert outcome.code == 2
    assert outcome.err.startswith("error: ")


@pytest.fixture
def lake(tmp_path):
    """Two hours of a source in buckets of a minute, half of an hour of it in back-pressure."""
    named = {"component": "sentences", "stream": "default", "source_component": None}
    rows = [
        sample("emitted", 60 * n, 600 if 60 <= n < 90 else 1200, bucket_seconds=60.0, **named)
        for n in range(120)
    ]
    rows += [
        sample("backpressure_caused", 60 * n, 10**9, bucket_seconds=60.0) for n in range(60, 90)
    ]
    return lake_of(tmp_path / "lake", *rows)


def test_rates_of_a_lake_are_forecast_without_the_minutes_in_back_pressure(run, lake):
    command = ("forecast", "--lake", lake.uri, "--topology", "words", "--horizon", "10m", "--json")
    answer = found(run(*command))
    (series,) = answer["series"]
    assert answer["unit"] == "tuples/s"
    assert (series["series"], series["masked"], series["values"]) == ("sentences", 30, 90)
    assert all(abs(row["value"] - 20.0) < 0.01 for row in series["steps"])


def test_tasks_of_a_lake_have_a_series_each(run, lake):
    command = ("forecast", "--lake", lake.uri, "--topology", "words", "--by", "task", "--json")
    answer = found(run(*command, "--horizon", "10m"))
    assert [one["series"] for one in answer["series"]] == ["sentences/1"]
