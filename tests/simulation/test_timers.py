import heapq

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.simulation.timers import (
    UNSET,
    clear_timer,
    first_time,
    first_timer,
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
