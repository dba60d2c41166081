"""Replays: the same world for every policy, and what happens in it."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from streamgauge.errors import InvalidInput
from streamgauge.planning.sharing.files.shared_cluster_file import (
    json_schema,
    load_shared_cluster,
)
from streamgauge.planning.sharing.henge import Henge
from streamgauge.planning.sharing.offered import Diurnal, Recorded
from streamgauge.planning.sharing.policies.predict import Predicting
from streamgauge.planning.sharing.policies.static import Static
from streamgauge.planning.sharing.replay import Surroundings
from streamgauge.topology.files.document import read_document
from streamgauge.traffic.series import make_series

EXAMPLE = "examples/sharing/busy-day.yaml"


@pytest.fixture(scope="module")
def morning():
    """The hours around the first spike."""
    day = load_shared_cluster(EXAMPLE)
    clicks = next(one for one in day.jobs if one.name == "clicks")
    spiked = replace(clicks, offered=Diurnal(mean=700.0, spikes=((0.5, 1.0, 3.0),)))
    return replace(day, hours=1.5, jobs=(spiked, *day.jobs[1:3]))


def test_a_replay_is_the_same_every_time(morning):
    first, second = (morning.replay([Henge()], seed=7)[0] for _ in range(2))
    assert np.array_equal(first.share, second.share)
    assert first.acted == second.acted


def test_other_seeds_are_other_worlds(morning):
    first, second = (morning.replay([Static()], seed=seed)[0] for seed in (1, 2))
    assert not np.array_equal(first.cores, second.cores)


def test_policies_meet_the_same_world(morning):
    alone = morning.replay([Static()], seed=3)[0]
    beside = morning.replay([Henge(), Static()], seed=3)[1]
    assert np.array_equal(alone.share, beside.share)


def test_a_spike_is_missed_without_a_policy_and_met_with_one(morning):
    static, henge, predicting = morning.replay([Static(), Henge(), Predicting()], seed=1)
    assert sum(static.rescales.values()) == 0
    assert static.violations > 0.05
    assert henge.satisfaction > static.satisfaction
    assert predicting.satisfaction > static.satisfaction


def test_nothing_is_changed_in_an_outage(morning):
    around = Surroundings(outages=((1700.0, 3600.0),))
    (course,) = replace(morning, surroundings=around).replay([Henge()], seed=1)
    # Metrics are a window late, so what was seen before may still be acted on in the first one.
    assert not [one for one in course.acted if 1710.0 < one.at < 3600.0 + 300.0]


def test_lost_machines_cost_utility(morning):
    around = Surroundings(failures=((1800.0, 3600.0, 38.5),))
    (whole,) = morning.replay([Static()], seed=1)
    (failed,) = replace(morning, surroundings=around).replay([Static()], seed=1)
    assert failed.system[200:350].mean() < whole.system[200:350].mean()


def test_a_day_has_its_peak_where_it_is_said():
    rates = Diurnal(mean=100.0, swing=0.5, peak_hour=14.0).at(np.arange(0.0, 86400.0, 3600.0))
    assert rates.argmax() == 14
    assert rates.max() == pytest.approx(150.0)
    assert rates.mean() == pytest.approx(100.0)


def test_a_recorded_course_is_scaled_hastened_and_begins_again():
    series = make_series("x", [i * 60_000_000 for i in range(10)], [float(i) for i in range(10)])
    course = Recorded(series=series, mean=9.0, hasten=6.0)
    assert course.at(np.asarray([0.0, 10.0, 50.0, 100.0])).tolist() == [0.0, 2.0, 10.0, 0.0]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("max_utility: 50", "max_utility: -1", "jobs.orders.slo.max_utility"),
        ("latency_ms: 10,", "", "no threshold"),
        ("henge-star", "henge-stars", "henge-stars"),
        ("peak_hour: 20", "peek_hour: 20", "peak_hour"),
        ("machines: [4, 4", "machines: [4, -4", "machines"),
        ("utility: {linear: 2}", "utility: {linear: 2, step: []}", "one of knee"),
        ("[[9, 9.5, 3]]", "[[9, 9.5]]", "2 numbers"),
    ],
)
def test_a_wrong_file_is_told_with_its_place(tmp_path, old, new, says):
    text = Path(EXAMPLE).read_text(encoding="utf-8")
    assert old in text
    text = text.replace(old, new, 1).replace("../henge", "henge")
    (tmp_path / "wrong.yaml").write_text(text, encoding="utf-8")
    for shape in ("linear", "diamond", "star"):
        job = Path(f"examples/henge-{shape}.yaml").read_text(encoding="utf-8")
        (tmp_path / f"henge-{shape}.yaml").write_text(job, encoding="utf-8")
    with pytest.raises(InvalidInput, match=says):
        load_shared_cluster(tmp_path / "wrong.yaml")


def test_the_schema_is_the_documented_one_and_takes_the_example(project):
    committed = (project / "docs/schema/sharing-1.schema.json").read_text(encoding="utf-8")
    assert json.loads(committed) == json_schema()
    validator = Draft202012Validator(json_schema())
    document = read_document(project / EXAMPLE).data
    validator.validate(document)
    assert not validator.is_valid({**document, "machines": ["four"]})
