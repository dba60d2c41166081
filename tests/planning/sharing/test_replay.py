"""Replays: the same world for every policy, and what happens in it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

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
from streamgauge.planning.sharing.surroundings import ByHand, Surroundings
from streamgauge.topology.files.document import read_document
from streamgauge.traffic.series import make_series

EXAMPLE = "examples/sharing/busy-day.yaml"
BY_HAND = "{at_seconds: 9, executors: {JOB: {OPERATOR: 2}}}"
CHANGED = f"hours: 24\nsurroundings: {{changes: [{BY_HAND}]}}"


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


def test_cores_that_others_take_are_missed_but_machines_keep_theirs(morning):
    around = Surroundings(background=((1800.0, 3600.0, 38.5),))
    (whole,) = morning.replay([Static()], seed=1)
    (shared,) = replace(morning, surroundings=around).replay([Static()], seed=1)
    assert shared.system[200:350].mean() < whole.system[200:350].mean()

    class Watching(Static):
        seen: ClassVar = []

        def decide(self, seen):
            self.seen.append(seen)
            return super().decide(seen)

    replace(morning, surroundings=around).replay([Watching()], seed=1)
    (during,) = [one for one in Watching.seen if one.at == 2460.0]
    assert during.is_congested
    assert [one.cores for one in during.machines] == [4.0] * 10


def test_a_job_is_there_from_when_it_comes_until_it_leaves(morning):
    first, *others = morning.jobs
    guest = replace(first, name="guest", hours=(0.25, 0.75))
    (course,) = replace(morning, jobs=(*others, guest)).replay([Henge()], seed=1)
    there = course.executors[:, -1] > 0
    assert np.array_equal(there, (course.times >= 900.0) & (course.times < 2700.0))
    assert np.array_equal(there, course.present[:, -1])
    assert (course.lag[~there, -1] == 0.0).all()
    # Only jobs that are there count.
    alone = course.share[:, :-1] @ course.weights[:-1] / course.weights[:-1].sum()
    assert course.system[~there] == pytest.approx(alone[~there])


def test_what_a_person_changes_is_changed_under_any_policy(morning):
    by_hand = ByHand(at=605.0, executors={"clicks": {"transform": 7}})
    around = Surroundings(changes=(by_hand,))
    (course,) = replace(morning, surroundings=around).replay([Static()], seed=1)
    before, after = course.executors[59:61, 0]
    assert after - before == 5
    assert course.processed[60, 0] == 0.0
    assert sum(course.rescales.values()) == 0


def test_policies_are_not_asked_before_their_time(morning):
    around = Surroundings(policies_from_seconds=2400.0)
    (course,) = replace(morning, surroundings=around).replay([Henge()], seed=1)
    assert course.acted
    assert course.acted[0].at >= 2400.0


def test_convergence_counts_from_when_the_policy_began(morning):
    (course,) = morning.replay([Static()], seed=1)
    late = replace(course, begun_seconds=course.converged_seconds - 60.0)
    assert late.converged_seconds == pytest.approx(60.0)


def test_a_job_may_begin_with_other_executors_than_its_file_has(morning):
    first, *others = morning.jobs
    small = replace(first, executors={"transform": 1}, tasks={"transform": 3})
    (course,) = replace(morning, jobs=(small, *others)).replay([Henge()], seed=1)
    assert course.executors[0, 0] == 1 + 1 + 2 + 2
    assert course.executors[-1, 0] <= 1 + 3 + 48 + 48
    fluid = small.as_fluid()
    assert {one.name: one.tasks for one in fluid.operators}["transform"] == 3


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
        ("hours: 24", "hours: 24\npolicies: [hengee]", "did you mean 'henge'"),
        ("hours: 24", "hours: 24\nprice_per_executor_hour: -1", "price_per_executor_hour"),
        (
            "hours: 24",
            CHANGED.replace("JOB", "order").replace("OPERATOR", "filter"),
            "job 'order'",
        ),
        (
            "hours: 24",
            CHANGED.replace("JOB", "orders").replace("OPERATOR", "filters"),
            "operator 'filters'",
        ),
        ("hours: 24", "hours: 24\nsurroundings: {most_exponent: 0.5}", "most_exponent"),
        ("peak_hour: 20}", "peak_hour: 20}\n    executors: {filter: 0}", "orders.executors.filter"),
        ("peak_hour: 20}", "peak_hour: 20}\n    from_hour: 9\n    until_hour: 8", "after hour 9"),
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


def test_jobs_that_are_alike_flow_as_each_of_them_alone(morning):
    first, *others = morning.jobs
    twin = replace(first, name="twin", executors={"transform": 5}, slo=others[0].slo)
    cluster = replace(morning, jobs=(first, twin, *others))
    assert cluster.as_fluids() == [one.as_fluid() for one in cluster.jobs]
