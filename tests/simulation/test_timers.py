import heapq

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.simulation.timers import (
    UNSET,
    clear_gone,
    clear_timer,
    first_time,
    first_timer,
    is_set,
    let_go_off,
    make_timers,
    set_timer,
)

COUNT = 12
STEPS = st.lists(
    st.tuples(st.sampled_from(["set", "clear", "pop"]), st.integers(0, COUNT - 1), st.floats(0, 9))
)


@given(STEPS)
def test_timers_are_a_sorted_dictionary(steps):
    timers, expected = make_timers(COUNT), {}
    for step, timer, time in steps:
        if step == "set":
            set_timer(timers, timer, time)
            expected[timer] = time
        elif step == "clear":
            clear_timer(timers, timer)
            expected.pop(timer, None)
        elif expected:
            first = first_timer(timers)
            assert expected[first] == min(expected.values()) == first_time(timers)
            clear_timer(timers, first)
            del expected[first]
    assert timers.size[0] == len(expected)
    assert (first_timer(timers) == UNSET) == (not expected)
    assert {t for t in range(COUNT) if timers.place[t] != UNSET} == set(expected)


def test_a_thousand_timers_go_off_in_order():
    times = np.random.default_rng(1).random(1000)
    timers = make_timers(1000)
    for timer, time in enumerate(times):
        set_timer(timers, timer, time)
    seen = []
    while (first := first_timer(timers)) != UNSET:
        seen.append(times[first])
        clear_timer(timers, first)
    assert seen == heapq.nsmallest(1000, times)


def test_a_timer_that_has_gone_off_leaves_its_place_to_the_next_that_is_set():
    timers = make_timers(3)
    set_timer(timers, 0, 1.0)
    set_timer(timers, 1, 2.0)
    let_go_off(timers, 0)
    assert not is_set(timers, 0)
    set_timer(timers, 2, 3.0)
    clear_gone(timers)
    assert timers.size[0] == 2
    assert [is_set(timers, timer) for timer in range(3)] == [False, True, True]
    assert (first_timer(timers), first_time(timers)) == (1, 2.0)


def test_a_timer_that_has_gone_off_may_be_set_again_or_not():
    timers = make_timers(2)
    set_timer(timers, 0, 1.0)
    let_go_off(timers, 0)
    set_timer(timers, 0, 4.0)
    clear_gone(timers)
    assert (first_timer(timers), first_time(timers)) == (0, 4.0)
    let_go_off(timers, 0)
    clear_gone(timers)
    assert first_timer(timers) == UNSET
