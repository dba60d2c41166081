"""Outlooks: chances of saturation and of missed objectives, and what piles up."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from streamgauge.errors import InvalidInput
from streamgauge.models.outlook import (
    Capability,
    LeadTime,
    Objective,
    find_backlog,
    find_pressing_loads,
    find_risks,
    group_mixes,
)

REACH = 0.1


def able(latency=(0.01, 0.02, math.inf), reach=REACH):
    return Capability(
        rates=np.array([50.0, 99.0, 120.0]),
        latency=np.array(latency),
        latency_reach=np.full(3, 0.2),
        saturation=100.0,
        saturation_reach=reach,
    )


def risks(loads, objective=None, reach=REACH):
    loads = np.asarray(loads, dtype=float)
    which = np.zeros(len(loads), dtype=np.int64)
    return find_risks(loads, [able(reach=reach)], which, objective, 60.0)


@pytest.mark.parametrize(("apart", "chance"), [(0.0, 0.5), (-REACH, 0.05), (REACH, 0.95)])
def test_the_ends_of_the_interval_are_passed_in_one_of_twenty_cases(apart, chance):
    found = risks([[100.0 * math.exp(apart)]])
    assert found.saturates[0] == pytest.approx(chance, abs=1e-9)


def test_scenarios_are_equally_likely():
    assert risks([[1.0, 1.0, 1.0, 1e6]]).saturates[0] == pytest.approx(0.25)


def test_a_sure_capacity_is_passed_or_not():
    assert risks([[99.0], [101.0]], reach=0.0).saturates.tolist() == [0.0, 1.0]


@given(
    arrays(float, (12, 2), elements=st.floats(0.0, 300.0)),
    arrays(float, 12, elements=st.floats(1.0, 200.0)),
    st.floats(0.1, 3.0),
)
def test_a_plan_is_pressed_while_something_waits(loads, highest, factor):
    waiting = find_backlog(loads, factor * highest, 1.0)
    parts = find_pressing_loads(loads, highest)
    clear = np.abs(parts - factor) > 1e-6
    assert ((waiting > 1e-9) == (parts > factor))[clear].all()


def test_a_plan_stays_full_until_the_backlog_is_gone():
    # A minute at three times the load, then nothing: two more minutes at full speed.
    found = risks([[50.0], [300.0], [0.0], [0.0], [0.0]], reach=0.0)
    assert found.saturates.tolist() == [0.0, 1.0, 1.0, 0.0, 0.0]
    assert found.backlog[:, 0].tolist() == [0.0, 12000.0, 6000.0, 0.0, 0.0]


def test_an_objective_is_missed_no_less_likely_than_the_plan_is_full():
    objective = Objective.parse("p99<20ms")
    found = risks([[60.0], [99.0], [110.0]], objective)
    assert found.misses[1] == pytest.approx(0.5 + 0.0, abs=0.01)
    assert found.misses[2] == 1.0
    assert (found.misses >= found.saturates).all()


def test_what_nothing_limits_is_never_full():
    unlimited = Capability(
        rates=np.array([1.0, 2.0]),
        latency=np.array([0.01, 0.01]),
        latency_reach=np.zeros(2),
        saturation=math.inf,
        saturation_reach=REACH,
    )
    loads = np.full((3, 2), 1e9)
    found = find_risks(loads, [unlimited], np.zeros(3, dtype=np.int64), None, 60.0)
    assert found.saturates.tolist() == [0.0] * 3
    assert not found.backlog.any()


@pytest.mark.parametrize(
    ("text", "figure", "seconds"),
    [("p99<50ms", "p99", 0.05), ("mean <= 1.5 s", "mean", 1.5), ("P95<200us", "p95", 2e-4)],
)
def test_objectives_are_read(text, figure, seconds):
    found = Objective.parse(text)
    assert (found.figure, found.seconds) == (figure, pytest.approx(seconds))


@pytest.mark.parametrize("text", ["p99", "p42<5ms", "p99>5ms", "p99<0ms", "p99<5", "latency<5ms"])
def test_other_objectives_are_refused_with_the_form(text):
    with pytest.raises(InvalidInput, match="p99<50ms"):
        Objective.parse(text)


def test_like_proportions_share_a_case():
    shares = np.array([[0.5, 0.5], [0.52, 0.48], [0.9, 0.1], [0.51, 0.49]])
    chosen, which = group_mixes(shares, 0.05)
    assert chosen == [0, 2]
    assert which.tolist() == [0, 0, 1, 0]


def test_acting_takes_modelling_and_rescaling():
    lead = LeadTime(modelling_seconds=120.0, rescaling_seconds=90.0, origin="")
    assert lead.seconds == 210.0
