"""Replays with policies that fail, traffic with gaps, and jobs that wait to be admitted."""

from dataclasses import replace
from threading import Event

import numpy as np
import pytest

from streamgauge.planning.sharing.files.shared_cluster_file import load_shared_cluster
from streamgauge.planning.sharing.offered import Diurnal
from streamgauge.planning.sharing.policies.static import Static
from streamgauge.planning.sharing.policy import Decision, load_policy, policy_names
from streamgauge.planning.sharing.replay import replay
from streamgauge.planning.sharing.surroundings import Surroundings

EXAMPLE = "examples/sharing/busy-day.yaml"
CALM = Surroundings(noise=0.0, service_error=0.0, least_exponent=1.0)


@pytest.fixture(scope="module")
def hour():
    """Two jobs of the example for an hour, with always the same traffic."""
    day = load_shared_cluster(EXAMPLE)
    jobs = tuple(replace(one, offered=Diurnal(mean=400.0)) for one in day.jobs[:2])
    return replace(day, hours=1.0, jobs=jobs, surroundings=CALM)


class Failing(Static):
    """Does what it is told to."""

    name = "failing"

    def __init__(self, decide):
        self._decide = decide

    def decide(self, seen):
        return self._decide(seen)


def lines(course):
    return [line for one in course.remarks for line in one.decision.refused]


def test_a_policy_that_raises_is_as_good_as_none_and_that_is_said_once(hour):
    failing = Failing(lambda seen: 1 / 0)
    static, failed = hour.replay([Static(), failing], seed=1)
    assert np.array_equal(static.share, failed.share)
    assert lines(failed) == ["failing raised ZeroDivisionError: division by zero"]


def test_a_policy_that_never_answers_does_not_hold_the_replay_up(hour):
    never = Event()
    jobs = [one.as_fluid() for one in hour.jobs]
    offered = {one.name: one.offered.at(hour.times()) for one in hour.jobs}
    course = replay(
        jobs,
        offered,
        hour.machines,
        Failing(lambda seen: never.wait()),
        surroundings=CALM,
        limit_seconds=0.02,
    )
    never.set()
    assert len(course.share) == 360
    assert "has not answered" in lines(course)[0]
    assert "not asked again" in lines(course)[-1]


def test_what_a_policy_cannot_ask_for_is_refused(hour):
    wild = Failing(lambda seen: Decision(rule="x", executors={"nobody": {"in": 3}}))
    (course,) = hour.replay([wild], seed=1)
    assert lines(course) == ["there is no job 'nobody' to change"]
    assert not course.acted


def test_h17_an_outage_has_a_line_in_the_history(hour):
    dark = replace(hour, surroundings=replace(CALM, outages=((600.0, 1200.0),)))
    (course,) = dark.replay([load_policy("henge")], seed=1)
    assert lines(course) == ["no new metrics: nothing is changed"]
    assert 600.0 <= course.remarks[0].at <= 620.0


def test_traffic_with_gaps_goes_on_as_before_and_is_told(hour):
    class Gappy:
        def at(self, seconds):
            rates = np.full(len(seconds), 400.0)
            rates[100:160] = np.nan
            return rates

    gappy = replace(hour, jobs=(replace(hour.jobs[0], offered=Gappy()), hour.jobs[1]))
    whole, course = hour.replay([Static()], 1)[0], gappy.replay([Static()], 1)[0]
    assert np.array_equal(whole.offered, course.offered)
    name = hour.jobs[0].name
    assert lines(course) == [f"no traffic of {name} is known for 600 s: what was before goes on"]
    assert course.remarks[0].at == 1000.0


@pytest.mark.parametrize("name", policy_names())
def test_no_policy_of_ours_is_refused_anything_in_an_ordinary_world(hour, name):
    busy = tuple(
        replace(one, offered=Diurnal(mean=900.0, spikes=((0.3, 0.6, 2.0),))) for one in hour.jobs
    )
    world = replace(hour, jobs=busy, surroundings=Surroundings())
    assert lines(world.replay([load_policy(name)], seed=2)[0]) == []


def joining(hour, mean, *, admission=True, cores=None):
    """The second job comes after half an hour; the first one has a spike from 0.45 to 0.7 h."""
    first = replace(hour.jobs[0], offered=Diurnal(mean=400.0, spikes=((0.45, 0.7, mean),)))
    second = replace(hour.jobs[1], hours=(0.5, float("inf")))
    return replace(
        hour,
        jobs=(first, second),
        machines=hour.machines if cores is None else cores,
        surroundings=replace(CALM, admission=admission),
    )


def test_h31_a_new_job_joins_at_once_where_all_others_are_content(hour):
    (course,) = joining(hour, 1.0).replay([Static()], seed=1)
    assert course.present[:, 1].argmax() in (180, 181)
    assert "joins after" in course.acted[0].decision.reason


def test_h31_a_new_job_waits_until_others_meet_their_objectives_again(hour):
    crowded = joining(hour, 40.0)
    (course,) = crowded.replay([Static()], seed=1)
    name, new = (one.name for one in hour.jobs)
    assert lines(course)[0] == f"{new} waits: {name} misses the objective"
    # The spike ends after 252 steps.
    assert not course.present[180:252, 1].any()
    free = joining(hour, 40.0, admission=False).replay([Static()], seed=1)[0]
    assert free.present[:, 1].argmax() == 180


def test_a_new_job_that_does_not_fit_waits(hour):
    # The machines are as good as full with the first job.
    (course,) = joining(hour, 1.0, cores=(0.5,)).replay([Static()], seed=1)
    assert not course.present[:, 1].any()
    assert any("cores, and" in line or "misses" in line for line in lines(course))
