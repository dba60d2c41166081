"""``streamgauge outlook`` and load curves: files and lakes, a fleet, exit codes, bad input."""

import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import streamgauge as sg
from streamgauge.lake.profiles import keep_profile
from streamgauge.profile.files.jobs import profile_to_data
from tests.lake.small_lakes import RECEIPT, after, lake_of, put, sample
from tests.traffic.day_courses import course

START = datetime(2026, 1, 1, tzinfo=UTC)
PROFILE = "examples/recorded/quiet.profile.json"
# What that profile's plan can process.
SATURATION = 376.0


def write(path, values, minutes=15):
    lines = ["time,value"]
    for at, value in enumerate(values):
        time = (START + timedelta(minutes=minutes * at)).isoformat()
        lines.append(f"{time},{value}")
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def profile(project):
    return project / PROFILE


def days(tmp_path, highest):
    """Days whose course has this as its highest value; the last one ends where there is least."""
    values = course(6, noise=0.02)[:-24]
    return write(tmp_path / "rates.csv", values * highest / values.max())


def found(outcome, code=0):
    assert outcome.code == code, outcome.err
    return json.loads(outcome.out)


def test_a_plan_with_room_keeps_up(run, profile, tmp_path):
    outcome = run("outlook", "--profile", profile, "--series", days(tmp_path, 200.0))
    assert outcome.code == 0
    assert "\nKeeps up. At most " in outcome.out
    assert "nothing has to be done" in " ".join(outcome.out.split())


def test_trouble_is_told_with_time_bottleneck_and_exit_code(run, profile, tmp_path):
    series = days(tmp_path, 500.0)
    outcome = run("outlook", "--profile", profile, "--series", series)
    assert outcome.code == 3
    for part in (
        "Saturates at 01-06 23:",
        "price[6-9] is full first",
        "There is time to act",
        "!!",
    ):
        assert part in " ".join(outcome.out.split())


def test_trouble_begins_where_the_forecast_passes_the_saturation_rate(run, profile, tmp_path):
    series = days(tmp_path, 500.0)
    words = ("outlook", "--profile", profile, "--series", series, "--horizon", "12h", "--json")
    answer = found(run(*words), 3)["outlook"]
    ahead = sg.forecast(series, horizon="12h").to_dict()["forecast"]["series"][0]["steps"]
    first = next(step for step in ahead if step["value"] > SATURATION)
    distance = datetime.fromisoformat(first["time"]) - datetime.fromisoformat(answer["expected_at"])
    assert abs(distance) <= timedelta(minutes=15)
    assert answer["seconds_until"] == pytest.approx(
        (
            datetime.fromisoformat(answer["expected_at"]) - START - timedelta(days=5.75)
        ).total_seconds()
    )
    assert answer["full"] == "price[6-9]"


def test_an_objective_is_missed_before_the_plan_saturates(run, profile, tmp_path):
    words = ("outlook", "--profile", profile, "--series", days(tmp_path, 330.0), "--json")
    alone = found(run(*words))["outlook"]
    assert alone["probability"] < 0.5
    answer = found(run(*words, "--objective", "p99<50ms"), 3)["outlook"]
    assert answer["verdict"].startswith("Misses p99<50ms at ")
    curve = sg.load_curve(profile, rate="250..260/2", intervals=False)
    assert curve.curve.points[0].prediction.latency.quantiles[0.99] > 0.05


def test_the_threshold_decides_what_is_bad_news(run, profile, tmp_path):
    words = ("outlook", "--profile", profile, "--series", days(tmp_path, 352.0))
    usual = run(*words)
    assert usual.code == 0
    assert run(*words, "--chance", "0.01").code == 3


def test_what_piles_up_drains_again(run, profile, tmp_path):
    words = ("outlook", "--profile", profile, "--series", days(tmp_path, 420.0), "--json")
    steps = found(run(*words), 3)["outlook"]["steps"]
    waiting = np.array([step["backlog"] for step in steps])
    loads = np.array([step["expected_per_second"] for step in steps])
    most = np.array([step["saturation_per_second"] for step in steps])
    peak = int(waiting.argmax())
    assert 0 < peak < len(steps) - 1
    # As long as more comes than fits it grows, and shrinks after that.
    assert loads[peak] > 0.97 * most[peak] > 0.9 * loads[peak + 1]


def test_page_and_picture_show_load_band_and_saturation(run, profile, tmp_path):
    page, picture = tmp_path / "page.html", tmp_path / "picture.svg"
    words = ("outlook", "--profile", profile, "--series", days(tmp_path, 500.0))
    assert run(*words, "--html", page, "--svg", picture).code == 3
    drawn = picture.read_text()
    assert "saturates" in drawn and ">90 %<" in drawn
    assert "Is there time to act?" in page.read_text()


def test_acting_may_take_too_long(run, profile, tmp_path):
    words = ("outlook", "--profile", profile, "--series", days(tmp_path, 500.0))
    told = run(*words, "--rescaling", "23h").out
    assert "Too late to act" in " ".join(told.split())


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([5.0], "1 values; expected at least 10"),
        ([5.0] * 20, "longer than the history"),
        ([0.0] * 200, "nothing is expected to come"),
    ],
)
def test_too_little_history_exits_with_5(run, profile, tmp_path, values, told):
    outcome = run("outlook", "--profile", profile, "--series", write(tmp_path / "r.csv", values))
    assert outcome.code == 5
    assert told in outcome.err


def test_a_constant_is_told_as_one(run, profile, tmp_path):
    series = write(tmp_path / "rates.csv", [100.0] * 400)
    outcome = run("outlook", "--profile", profile, "--series", series)
    assert outcome.code == 0
    assert "nothing says how they may change" in outcome.out


def test_gaps_are_told_and_do_not_stop_it(run, profile, tmp_path):
    values = [*course(3) / 10, *[""] * 20, *course(2) / 10]
    outcome = run("outlook", "--profile", profile, "--series", write(tmp_path / "r.csv", values))
    assert outcome.code == 0
    assert "20 of 500 steps have no value" in outcome.err


@pytest.mark.parametrize(
    "wrong",
    [
        (),
        ("--all",),
        ("--profile", "PROFILE", "--all"),
        ("--lake", "nothing", "--all"),
        ("--profile", "PROFILE", "--series", "FILE", "--horizon", "soon"),
        ("--profile", "PROFILE", "--series", "FILE", "--objective", "fast"),
        ("--profile", "PROFILE", "--series", "FILE", "--chance", "2"),
        ("--profile", "PROFILE", "--series", "FILE", "--rescaling", "-1m"),
        ("--profile", "PROFILE", "--series", "FILE", "--forecast-step", "1m"),
        ("--profile", "PROFILE", "--series", "nothing.csv"),
        ("PLAN", "--plan", "PLAN", "--profile", "PROFILE"),
    ],
)
def test_wrong_options_exit_with_2_and_say_why(run, profile, tmp_path, wrong):
    names = {"PROFILE": profile, "FILE": days(tmp_path, 200.0)}
    outcome = run("outlook", *(names.get(word, word) for word in wrong))
    assert outcome.code == 2
    assert outcome.err.startswith("error: ")


def test_a_profile_with_a_short_history_of_its_own_is_not_enough(run, profile):
    outcome = run("outlook", "--profile", profile)
    assert outcome.code == 5
    assert "5 values; expected at least 10" in outcome.err


def orders(topology, per_second, minutes=240):
    named = {"topology": topology, "stream": "default", "source_component": None}
    return [
        sample(
            "emitted",
            60 * at,
            round(60 * per_second),
            bucket_seconds=60.0,
            component="orders",
            **named,
        )
        for at in range(minutes)
    ]


@pytest.fixture
def fleet(profile, tmp_path):
    """Three topologies: one with room, one without, one without a profile; the second moved."""
    lake = lake_of(tmp_path / "lake", *orders("calm", 100), *orders("full", 450), *orders("new", 9))
    for name in ("calm", "full"):
        data = profile_to_data(sg.load_profile(profile))
        data["topology"]["name"] = name
        data["profile"].pop("replicas", None)
        keep_profile(lake, name, json.dumps(data))
    event = {"topology": "full", "happened_at": after(3600), "kind": "rebalance"}
    put(lake.table("events"), [RECEIPT | event])
    return lake


def test_a_fleet_is_sorted_by_trouble_and_one_failure_stops_no_other(run, fleet):
    outcome = run("outlook", "--lake", fleet.uri, "--all", "--horizon", "30m", "--json")
    answer = found(outcome, 3)["fleet"]
    assert [one["topology"] for one in answer["outlooks"]] == ["full", "calm"]
    assert [one["probability"] > 0.5 for one in answer["outlooks"]] == [True, False]
    (failure,) = answer["failures"]
    assert failure["topology"] == "new" and "no profile" in failure["reason"]
    text = run("outlook", "--lake", fleet.uri, "--all", "--horizon", "30m")
    assert "Trouble is expected for full. 1 job without an outlook." in text.out


def test_what_runs_in_several_clusters_is_not_added_up(run, fleet):
    rows = [row | {"cluster": "east"} for row in orders("full", 450)]
    put(fleet.table("samples"), rows)
    outcome = run("outlook", "--lake", fleet.uri, "--all", "--horizon", "30m", "--json")
    answer = found(outcome)["fleet"]
    assert [one["topology"] for one in answer["outlooks"]] == ["calm"]
    assert "several clusters: None, east" in answer["failures"][0]["reason"]


def test_a_lake_has_profile_history_and_rebalances(run, fleet):
    words = ("outlook", "--lake", fleet.uri, "--topology", "full", "--horizon", "30m", "--json")
    answer = found(run(*words), 3)["outlook"]
    assert answer["lead"]["origin"] == "median of 1 rebalance in the lake"
    assert answer["history"].endswith(", full")


def test_a_load_curve_has_points_saturation_and_page(run, profile, tmp_path):
    page = tmp_path / "page.html"
    words = ("predict", "--profile", profile, "--rate", "50..500/8")
    answer = found(run(*words, "--json", "--html", page))["load_curve"]
    assert answer["saturation_per_second"] == pytest.approx(SATURATION, rel=0.01)
    assert len(answer["points"]) == 8
    assert [one["verdict"] for one in answer["points"]].count("overloaded") >= 2
    single = sg.predict(profile, rate=answer["points"][0]["per_second"])
    assert answer["points"][0]["mean_seconds"] == single.prediction.latency.mean
    low, high = answer["points"][0]["p99_interval_seconds"]
    assert low < single.prediction.latency.quantiles[0.99] < high
    assert "saturates at 376" in page.read_text()
    assert "Saturates at 376 tuples/s (" in run(*words).out


def test_a_load_curve_may_be_of_all_that_is_forecast(run, profile, tmp_path):
    words = ("--series", days(tmp_path, 300.0), "--load", "forecast..12h", "--no-intervals")
    outcome = run("predict", "--profile", profile, *words)
    assert outcome.code == 0
    assert "Keeps up with all of" in outcome.out
    assert "(forecast of the next 12 h by rates.csv;" in outcome.out.replace("\n", " ")


@pytest.mark.parametrize(
    "rate",
    ["500..50", "0..50", "a..b", "5..", "50..500/1", "50..500/x", "..5", "ghost=1..2", "1..inf"],
)
def test_ranges_that_cannot_be_are_refused(run, profile, rate):
    outcome = run("predict", "--profile", profile, "--rate", rate)
    assert outcome.code == 2
    assert outcome.err.startswith("error: ") and "--rate: " in outcome.err


def test_a_range_needs_the_analytic_model(run, profile):
    outcome = run("predict", "--profile", profile, "--rate", "5..9", "--model", "all")
    assert outcome.code == 2
