"""Admission control: who may join a cluster, who waits, and why."""

from dataclasses import replace

import pytest

from streamgauge.planning.sharing.admission import (
    AdmissionState,
    Asking,
    admit,
    ask,
    release,
    withdraw,
)
from streamgauge.planning.sharing.slo import Quality
from tests.planning.sharing.clusters import cluster, job

CONTENT, MISSING = job(1.0), job(0.5)
UNKNOWN = replace(CONTENT, quality=Quality())


def asking(**jobs):
    state = AdmissionState()
    for name, one in jobs.items():
        state = ask(state, name, one)
    return state


def test_h31_a_job_joins_while_all_others_meet_their_objectives():
    state, outcome = admit(asking(new=Asking(since=5.0)), cluster(10, a=CONTENT))
    assert outcome.jobs == ("new",)
    assert not state.asking


@pytest.mark.parametrize(
    ("seen", "says"),
    [
        (cluster(10, a=CONTENT, b=MISSING), "b misses the objective"),
        (cluster(10, a=MISSING, b=MISSING), "a, b miss the objective"),
        (cluster(10, a=UNKNOWN), "of a it is not known"),
        (cluster(10, stale=True, a=CONTENT), "there are no new metrics"),
    ],
)
def test_h31_a_job_waits_with_the_reason_and_the_command_that_lets_it_in(seen, says):
    state, outcome = admit(asking(new=Asking(since=5.0)), seen)
    assert outcome.jobs == ()
    waiting = outcome.waiting["new"]
    assert waiting.reason == says
    assert waiting.since == 5.0
    assert waiting.release == "streamgauge storm release new"
    assert set(state.asking) == {"new"}


def test_who_waits_joins_once_the_others_are_content():
    state, _ = admit(asking(new=Asking(since=5.0)), cluster(10, a=MISSING))
    _, outcome = admit(state, cluster(20, a=CONTENT))
    assert outcome.jobs == ("new",)


def test_who_is_released_joins_in_any_case():
    state = release(asking(new=Asking(since=5.0), other=Asking(since=6.0)), "new")
    state, outcome = admit(state, cluster(10, a=MISSING))
    assert outcome.jobs == ("new",)
    assert set(outcome.waiting) == {"other"}
    # A release is for once.
    assert not state.released


def busy(cores):
    one = job(1.0)
    work = replace(one.operators["work"], cores=cores)
    return replace(one, operators={**one.operators, "work": work})


def test_a_job_that_needs_more_cores_than_are_free_waits():
    # Ten machines of eight cores, 78 of them in use.
    state = asking(big=Asking(since=1.0, cores=3.0), small=Asking(since=2.0, cores=1.0))
    _, outcome = admit(state, cluster(10, a=busy(78.0)))
    assert outcome.jobs == ("small",)
    assert outcome.waiting["big"].reason == "it needs 3 cores, and 2 are free"


def test_the_highest_priority_takes_the_last_cores_and_then_who_waits_longest():
    state = asking(
        late=Asking(since=9.0, cores=1.5, max_utility=5.0),
        early=Asking(since=1.0, cores=1.5),
    )
    _, outcome = admit(state, cluster(10, a=busy(78.0)))
    assert outcome.jobs == ("late",)
    equal = asking(late=Asking(since=9.0, cores=1.5), early=Asking(since=1.0, cores=1.5))
    assert admit(equal, cluster(10, a=busy(78.0)))[1].jobs == ("early",)


def test_who_withdraws_is_forgotten():
    state = withdraw(release(asking(new=Asking(since=5.0)), "new"), "new")
    assert state == AdmissionState()
