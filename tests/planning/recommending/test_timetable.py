"""A timetable changes plans only where that pays, and counts what each change misses."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.planning.recommending.timetable import (
    Course,
    RatedPlan,
    find_restart,
    find_single_plan,
    find_timetable,
)

STEP = 300.0


def course(loads, *, pause=60.0, step=STEP, weight=10.0, sure=0.8):
    return Course(
        loads=np.asarray(loads, dtype=float),
        step_seconds=step,
        pause_seconds=pause,
        sure=sure,
        miss_weight=weight,
    )


def rated(cost, highest, loads, good_up_to):
    """Sure to meet its objective up to some load, and sure to miss it beyond."""
    return RatedPlan(
        cost=cost, highest=highest, odds=(np.asarray(loads) <= good_up_to).astype(float)
    )


def large_and_small(loads):
    return [rated(10.0, 200.0, loads, 200.0), rated(4.0, 50.0, loads, 40.0)]


def test_what_comes_while_the_job_is_stopped_is_processed_by_what_the_plan_has_to_spare():
    # 60 s of 100/s wait; 50/s to spare take two minutes.
    restart = find_restart(course([100.0] * 3), highest=150.0, at=0)
    assert restart.backlog == 6000.0
    assert restart.missed_seconds == pytest.approx(180.0)
    assert (restart.end, restart.is_gone) == (1, True)


def test_a_backlog_may_take_several_steps():
    restart = find_restart(course([100.0] * 5, step=60.0), highest=150.0, at=1)
    assert restart.missed_seconds == pytest.approx(180.0)
    assert restart.end == 4


def test_a_plan_with_nothing_to_spare_never_catches_up():
    restart = find_restart(course([100.0] * 3), highest=100.0, at=1)
    assert not restart.is_gone
    assert restart.missed_seconds == pytest.approx(600.0)
    assert restart.end == 3


def test_a_plan_without_a_limit_catches_up_at_once():
    restart = find_restart(course([100.0] * 3, pause=STEP), highest=math.inf, at=0)
    assert restart.missed_seconds == pytest.approx(STEP)


@pytest.mark.parametrize(("quiet_steps", "changes"), [(6, 0), (7, 2)])
def test_a_plan_changes_only_where_that_pays(quiet_steps, changes):
    # A quiet step saves 6 · 300/3600 = 0.5. Down, 75 s are missed and count 10 · 4 · 75/3600 =
    # 0.83; up again in the last quiet step, 63.2 s count 1.75. Five steps do not pay for that.
    loads = [100.0] * 4 + [10.0] * quiet_steps + [100.0] * 4
    found = find_timetable(course(loads), large_and_small(loads), current=0)
    assert len(list(found.restarts)) == changes


def test_a_plan_grows_before_the_load_does_where_less_then_waits():
    loads = [10.0] * 12 + [100.0] * 4
    found = find_timetable(course(loads), large_and_small(loads), current=1)
    assert [(stay.plan, stay.first, stay.end) for stay in found.stays] == [(1, 0, 11), (0, 11, 16)]


def test_the_first_plan_of_a_job_that_does_not_run_needs_no_change():
    loads = [10.0] * 12
    found = find_timetable(course(loads), large_and_small(loads))
    assert [stay.plan for stay in found.stays] == [1]
    assert found.missed_seconds == 0.0


def test_a_plan_that_is_not_sure_enough_runs_only_where_no_plan_is():
    loads = [10.0, 500.0, 10.0]
    plans = large_and_small(loads)
    found = find_timetable(course(loads), plans, current=0)
    assert found.odds.tolist() == [1.0, 0.0, 1.0]


def test_without_misses_that_count_the_cheapest_sure_plan_runs_in_every_step():
    loads = [100.0, 10.0, 100.0, 10.0]
    found = find_timetable(course(loads, weight=0.0, pause=0.0), large_and_small(loads), current=0)
    assert found.in_force.tolist() == [0, 1, 0, 1]
    # Two steps of 300 s of each: 2 · (10 + 4) / 12 hours.
    assert found.cost_hours == pytest.approx(28.0 / 12.0)


def test_one_plan_for_all_of_the_time_is_the_cheapest_that_is_always_sure():
    loads = [100.0, 10.0, 100.0, 10.0]
    found = find_single_plan(course(loads), large_and_small(loads), current=1)
    assert [stay.plan for stay in found.stays] == [0]
    assert found.stays[0].restart is not None


LOADS = st.lists(st.sampled_from([5.0, 30.0, 90.0, 180.0]), min_size=2, max_size=6)


@given(LOADS, st.sampled_from([0.0, 30.0, 400.0]), st.sampled_from([0.0, 1.0, 10.0]))
def test_no_sequence_of_plans_is_cheaper(loads, pause, weight):
    """Against all sequences: a stay lasts at least until nothing waits any more."""
    asked = course(loads, pause=pause, weight=weight)
    plans = [*large_and_small(loads), rated(6.0, 100.0, loads, 90.0)]
    best = min(
        price(asked, plans, sequence) for sequence in itertools.product(range(3), repeat=len(loads))
    )
    found = find_timetable(asked, plans, current=0)
    assert found.weighed == pytest.approx(best, rel=1e-9)


def price(asked, plans, sequence):
    total, before, blocked = 0.0, 0, 0
    for step, plan in enumerate(sequence):
        if plan != before:
            if step < blocked:
                return math.inf
            restart = find_restart(asked, plans[plan].highest, step)
            blocked = restart.end
            total += asked.miss_weight * plans[plan].cost * restart.missed_seconds / 3600.0
        lacking = max(asked.sure - plans[plan].odds[step], 0.0)
        total += (plans[plan].cost + 1e4 * 10.0 * lacking) * STEP / 3600.0
        before = plan
    return total
