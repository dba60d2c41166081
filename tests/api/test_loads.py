"""Loads of a history and of forecasts: which figure, of which source, and what is refused."""

import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import streamgauge as sg
from streamgauge.api.histories import HistoryPlace, read_profile_history
from streamgauge.api.loads import LoadWish, find_load
from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.profile.files.jobs import parse_profile
from tests.traffic.day_courses import course

START = datetime(2026, 1, 1, tzinfo=UTC)
PROFILE = "examples/word-count.profile.json"


def write(path, series, minutes=15, masked=()):
    """A file of several series of values, by name."""
    lines = ["series,time,value,masked"]
    for name, values in series.items():
        lines += [
            f"{name},{(START + timedelta(minutes=minutes * at)).isoformat()},{value},{at in masked}"
            for at, value in enumerate(values)
        ]
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def profile(project):
    return sg.load_profile(project / PROFILE)


def found(profile, path, load):
    return find_load(load, HistoryPlace(series=path), profile.topology, profile)


@pytest.mark.parametrize(
    ("text", "level", "ahead"),
    [
        ("mean", None, None),
        ("median", 0.5, None),
        ("peak", 0.99, None),
        ("p95", 0.95, None),
        ("P99.9", 0.999, None),
        ("forecast+1h", None, 3600.0),
        ("forecast+30m@p95", 0.95, 1800.0),
        ("forecast+1h@median", 0.5, 3600.0),
    ],
)
def test_texts_say_which_load_is_meant(text, level, ahead):
    wish = LoadWish.parse(text)
    assert wish.level == pytest.approx(level) if level else wish.level is None
    assert wish.ahead_seconds == ahead


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("peek", "did you mean 'peak'"),
        ("p0", "expected mean, median, peak"),
        ("p100", "expected mean"),
        ("forecast", "forecast+1h@p95"),
        ("forecast+soon", "30s, 5m, 1h"),
        ("forecast+1h@often", "expected mean"),
        ("forecast..24h@p95", "a range is of the band"),
    ],
)
def test_what_is_no_load_is_refused_with_the_forms(text, told):
    with pytest.raises(InvalidInput, match=r"--load") as caught:
        LoadWish.parse(text)
    assert told in str(caught.value)


def test_percentiles_are_of_the_windows_of_the_history(profile, tmp_path):
    values = list(range(1, 102))
    path = write(tmp_path / "rates.csv", {"anything": values})
    assert found(profile, path, "median").rates == 51.0
    assert found(profile, path, "p95").rates == 96.0
    assert found(profile, path, "mean").rates == 51.0
    peak = found(profile, path, "peak")
    assert peak.rates == 100.0
    assert peak.origin.startswith("peak, the p99 of 101 windows of 15 min of rates.csv")


def test_windows_in_back_pressure_do_not_count(profile, tmp_path):
    path = write(tmp_path / "rates.csv", {"spout": [10.0] * 20 + [1.0] * 20}, masked=range(20, 40))
    assert found(profile, path, "mean").rates == {"spout": 10.0}


def test_each_source_is_taken_at_its_own_percentile(tmp_path):
    job = parse_profile(json.dumps(TWO_SOURCES))
    path = write(tmp_path / "rates.csv", {"a": range(1, 102), "t/b": [7.0] * 101})
    load = find_load("p95", HistoryPlace(series=path), job.topology, job)
    assert load.rates == {"a": 96.0, "b": 7.0}


@pytest.mark.parametrize(
    ("series", "told"),
    [
        ({"a": range(20), "c": range(20)}, "a series 'c'; expected a source of t: a, b"),
        ({"a": range(20)}, "no series of b"),
    ],
)
def test_series_and_sources_must_fit(tmp_path, series, told):
    job = parse_profile(json.dumps(TWO_SOURCES))
    path = write(tmp_path / "rates.csv", series)
    with pytest.raises(InvalidInput, match=told):
        find_load("p95", HistoryPlace(series=path), job.topology, job)


def test_a_forecast_load_is_the_quantile_of_the_forecast(profile, tmp_path):
    path = write(tmp_path / "rates.csv", {"spout": course(6)})
    load = found(profile, path, "forecast+1h@p95")
    document = sg.forecast(path, horizon="1h", quantiles=(0.05, 0.5, 0.95)).to_dict()
    last = document["forecast"]["series"][0]["steps"][-1]
    assert load.rates == {"spout": pytest.approx(last["p95"])}
    assert load.sources["spout"].low == pytest.approx(last["p5"])
    assert not load.is_expected
    expected = found(profile, path, "forecast+1h")
    assert expected.rates == {"spout": pytest.approx(last["value"])}
    assert expected.is_expected


def test_a_short_history_is_not_enough(profile, tmp_path):
    path = write(tmp_path / "rates.csv", {"spout": [5.0] * 9})
    with pytest.raises(NotEnoughData, match="9 values"):
        found(profile, path, "peak")
    path = write(tmp_path / "rates.csv", {"spout": [5.0] * 20})
    with pytest.raises(NotEnoughData, match="longer than the history"):
        found(profile, path, "forecast+3d")


def test_nothing_that_comes_is_no_load(profile, tmp_path):
    path = write(tmp_path / "rates.csv", {"spout": [0.0] * 20})
    with pytest.raises(NotEnoughData, match="0 tuples/s"):
        found(profile, path, "mean")


def test_a_history_of_another_unit_is_doubted(profile, tmp_path):
    path = write(tmp_path / "rates.csv", {"spout": [200.0 * 900] * 20})
    assert any("in tuples per second?" in one for one in found(profile, path, "mean").cautions)
    path = write(tmp_path / "rates.csv", {"spout": [200.0] * 20})
    assert found(profile, path, "mean").cautions == ()


def test_streams_of_a_source_are_added_up_and_unknown_where_one_is():
    job = parse_profile(json.dumps(TWO_SOURCES))
    rows = read_profile_history(job).series["a"]
    assert np.isnan(rows.values[1])
    assert rows.values[[0, 2]].tolist() == [11.0, 33.0]


def test_the_band_of_what_is_expected_widens_intervals(profile, project, tmp_path):
    path = write(tmp_path / "rates.csv", {"spout": course(6, noise=0.2, level=20_000.0)})
    options = {"profile": project / PROFILE, "series": path}
    expected = sg.predict(**options, load="forecast+1h")
    rate = expected.predicted.per_second
    alone = sg.predict(project / PROFILE, rate=rate)
    key = ("operator", "splitter", "utilisation")
    wide, narrow = expected.intervals.of(*key), alone.intervals.of(*key)
    low, high = (
        sg.predict(project / PROFILE, rate=end, intervals=False) for end in _ends(expected, options)
    )
    values = [one.prediction.operators["splitter"].utilisation for one in (low, high)]
    assert wide.low < narrow.low and wide.high > narrow.high
    assert wide.low <= values[0] and wide.high >= values[1]
    certain = sg.predict(**options, load="forecast+1h@p50")
    assert certain.intervals.of(*key).load == 0.0


def _ends(report, options):
    load = find_load(
        "forecast+1h",
        HistoryPlace(series=options["series"]),
        report.plan.logical.topology,
        sg.load_profile(options["profile"]),
    )
    return [load.sources["spout"].low, load.sources["spout"].high]


def test_all_questions_take_the_same_loads(project, tmp_path):
    path = write(tmp_path / "rates.csv", {"spout": [300.0] * 10 + [500.0] * 90})
    profile, job = project / PROFILE, project / "examples/word-count.yaml"
    options = {"load": "p95", "series": path}
    assert sg.predict(profile, intervals=False, **options).predicted.per_second == 500.0
    compared = sg.compare([job], profile, intervals=False, **options)
    assert "p95 of 100 windows" in compared.load
    at_rate = sg.compare([job], profile, intervals=False, rate=500.0)
    assert compared.preferred == at_rate.preferred
    placed = sg.rank_placements(job, profile, scheduler="even", **options)
    (emission,) = placed.ranking.job.workload.emissions
    assert emission.per_second == 500.0
    assert "--load" in placed.options
    scaled = sg.rank_scalings(job, 2, profile, **options)
    assert str(scaled.verdict) == str(sg.rank_scalings(job, 2, profile, 500.0).verdict)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"load": "peak", "rate": 5.0}, "both --load and --rate"),
        ({"series": "rates.csv"}, "--series without --load"),
        ({"load": "forecast..24h"}, "sg.load_curve"),
        ({"rate": "50..500"}, "sg.load_curve"),
    ],
)
def test_loads_that_contradict_are_refused(project, options, told):
    with pytest.raises(InvalidInput, match=told):
        sg.predict(project / PROFILE, **options)


TWO_SOURCES = {
    "streamgauge": 1,
    "topology": {
        "name": "t",
        "operators": {"a": {"kind": "source"}, "b": {"kind": "source"}, "work": {}},
        "streams": [
            {"from": "a", "to": "work", "grouping": "shuffle"},
            {"from": "a", "stream": "late", "to": "work", "grouping": "shuffle"},
            {"from": "b", "to": "work", "grouping": "shuffle"},
        ],
    },
    "profile": {
        "sources": {
            "a": {
                "default": {
                    "start": "2026-01-01T00:00:00Z",
                    "step_seconds": 60,
                    "per_second": [10, 20, 30],
                },
                "late": {
                    "start": "2026-01-01T00:00:00Z",
                    "step_seconds": 60,
                    "per_second": [1, None, 3],
                },
            }
        }
    },
}
