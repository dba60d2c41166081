"""Shared cores against what one can compute by hand, and against queueing theory."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from streamgauge.errors import InvalidInput
from streamgauge.simulation.cores import (
    NOBODY,
    add_polling,
    advance,
    make_cores,
    next_finish,
    polled_seconds,
    start,
    stop_first,
)
from streamgauge.simulation.random_streams import exponential, make_streams, uniform


def test_a_thread_alone_takes_the_time_of_its_work():
    cores = make_cores([2.0], [0, 0])
    start(cores, 0, 0, 3.0, now=1.0)
    assert next_finish(cores, 0) == 4.0


def test_two_threads_on_one_core_take_turns():
    # 2 s and 1 s of work from time 0: the short one is done at 2, the long one at 3.
    cores = make_cores([1.0], [0, 0])
    start(cores, 0, 0, 2.0, now=0.0)
    start(cores, 0, 1, 1.0, now=0.0)
    assert next_finish(cores, 0) == 2.0
    assert stop_first(cores, 0, 2.0) == 1
    assert next_finish(cores, 0) == 3.0
    assert stop_first(cores, 0, 3.0) == 0
    assert cores.busy[0] == pytest.approx(3.0)


def test_as_many_threads_as_cores_do_not_disturb_each_other():
    cores = make_cores([2.0], [0, 0])
    start(cores, 0, 0, 1.0, now=0.0)
    start(cores, 0, 1, 5.0, now=0.5)
    assert next_finish(cores, 0) == 1.0


def test_three_threads_on_two_cores_run_at_two_thirds():
    cores = make_cores([2.0], [0, 0, 0])
    for thread in range(3):
        start(cores, 0, thread, 1.0, now=0.0)
    assert next_finish(cores, 0) == pytest.approx(1.5)


def test_a_newcomer_slows_what_is_left():
    # 2 s of work alone until 1, then shared: 1 s left takes 2 s.
    cores = make_cores([1.0], [0, 0])
    start(cores, 0, 0, 2.0, now=0.0)
    start(cores, 0, 1, 9.0, now=1.0)
    assert next_finish(cores, 0) == 3.0


def test_machines_do_not_share():
    cores = make_cores([1.0, 1.0], [0, 1])
    start(cores, 0, 0, 1.0, now=0.0)
    start(cores, 1, 1, 1.0, now=0.0)
    assert (next_finish(cores, 0), next_finish(cores, 1)) == (1.0, 1.0)
    assert next_finish(make_cores([1.0], [0]), 0) == np.inf


def test_a_machine_without_a_free_core_is_refused():
    with pytest.raises(InvalidInput, match="0 free cores"):
        make_cores([1.0, 0.0], [0, 1])


@njit
def population(cores, streams, threads, arrival, events):
    """Poisson work of mean one on one machine; the time average of the threads that run."""
    now, area, free = 0.0, 0.0, threads
    idle = np.arange(threads)
    next_arrival = exponential(streams, 0) / arrival
    for _ in range(events):
        finish = next_finish(cores, 0)
        next_event = min(finish, next_arrival)
        area += cores.running[0] * (next_event - now)
        now = next_event
        if next_arrival < finish:
            if free > 0:
                free -= 1
                start(cores, 0, idle[free], exponential(streams, 1), now)
            next_arrival = now + exponential(streams, 0) / arrival
        else:
            idle[free] = stop_first(cores, 0, now)
            free += 1
    advance(cores, 0, 0, now)
    return area / now, cores.busy[0] / now


def test_many_threads_on_one_core_have_the_population_of_one_m_m_1_queue():
    # Processor sharing with exponential work: L = ρ/(1 − ρ) = 1.5 at ρ = 0.6.
    found, busy = population(make_cores([1.0], [0] * 400), make_streams(3, 2), 400, 0.6, 2_000_000)
    assert found == pytest.approx(1.5, rel=0.02)
    assert busy == pytest.approx(0.6, rel=0.01)


def test_many_threads_on_two_cores_have_the_population_of_one_m_m_2_queue():
    # L = 2ρ/(1 − ρ²) = 2.5 at ρ = (√41 − 4)/5.
    load = (np.sqrt(41.0) - 4.0) / 5.0
    cores = make_cores([2.0], [0] * 400)
    found, busy = population(cores, make_streams(4, 2), 400, 2 * load, 2_000_000)
    assert found == pytest.approx(2 * load / (1 - load**2), rel=0.02)
    assert busy == pytest.approx(2 * load, rel=0.01)


def run_threads(works, *, cores, balance):
    """Threads that all want a core at time zero: when each is done, in order."""
    made = make_cores([cores], [0] * len(works), balance=[balance])
    for thread, work in enumerate(works):
        start(made, 0, thread, work, 0.0)
    done, now = {}, 0.0
    while next_finish(made, 0) < np.inf:
        assert next_finish(made, 0) >= now
        now = next_finish(made, 0)
        thread = stop_first(made, 0, now)
        if thread != NOBODY:
            done[thread] = now
    return [done[thread] for thread in range(len(works))], made


def test_threads_stay_on_their_cores():
    # Threads 0 and 2 share the first core, 1 has the second: one fewer is even enough.
    done, made = run_threads([1.0, 2.0, 1.0], cores=2, balance=0.25)
    assert done == pytest.approx([2.0, 2.0, 2.0])
    assert made.busy.tolist() == pytest.approx([2.0, 2.0])


def test_an_idle_core_takes_over_a_thread_when_it_is_time_to_look():
    # Threads 0 and 2 share the first core; 1 is done at 0.5. At 1, half of their work is left.
    done, made = run_threads([1.0, 0.5, 1.0], cores=2, balance=1.0)
    assert done == pytest.approx([1.5, 0.5, 1.5])
    assert made.pool.tolist() == [0, 1, 1]


def test_nothing_moves_where_nobody_looks():
    done, _ = run_threads([1.0, 0.5, 1.0], cores=2, balance=1e9)
    assert done == pytest.approx([2.0, 0.5, 2.0])


def test_a_thread_wakes_where_it_was():
    made = make_cores([2.0], [0, 0, 0], balance=[1e9])
    start(made, 0, 0, 1.0, 0.0)
    start(made, 0, 2, 1.0, 0.0)
    assert made.running.tolist() == [2, 0]
    assert next_finish(made, 0) == pytest.approx(2.0)


def test_threads_with_a_core_each_run_at_full_speed_whatever_the_others_do():
    made = make_cores([4.0], [0] * 3, balance=[1.0], poll_cores=0.5)
    add_polling(made, 0, 1, 1, 0.0)
    for thread in (0, 2):
        start(made, 0, thread, 1.0, 0.0)
    assert next_finish(made, 0) == pytest.approx(1.0)


def test_background_takes_from_every_core():
    made = make_cores([2.0], [0, 0], background=[0.5], balance=[1.0])
    start(made, 0, 0, 1.0, 0.0)
    assert next_finish(made, 0) == pytest.approx(1.0 / 0.75)


def test_threads_that_poll_take_from_the_core_that_they_last_had():
    # Of four that want a core together, one is on the core of thread 0, which runs at 1/1.25.
    made = make_cores([2.0], [0] * 8, balance=[1.0], poll_cores=0.25)
    for thread in (2, 3, 5, 7):
        add_polling(made, 0, thread, 1, 0.0)
    start(made, 0, 0, 1.0, 0.0)
    assert next_finish(made, 0) == pytest.approx(1.25)
    # Of the other core the three have their three quarters.
    assert polled_seconds(made, 1.25) == pytest.approx([1.25 * 0.75 + 0.25])
    add_polling(made, 0, 2, -1, 0.0)
    assert next_finish(made, 0) == pytest.approx(1.0)
    assert polled_seconds(made, 1.0) == pytest.approx([0.75])


def test_quick_looks_come_near_to_shared_cores():
    # As M/M/2 with processor sharing, of which threads that stay are far.
    load, events = 0.7, 400_000
    found = []
    for balance in (0.0, 0.01, 1e6):
        cores = make_cores([2.0], [0] * 16, balance=[balance])
        found.append(queued(cores, make_streams(5, 3), 16, 2 * load, events))
    shared, quick, own = found
    assert quick == pytest.approx(shared, rel=0.06)
    assert own > 1.4 * shared


@njit
def queued(cores, streams, threads, arrival, events):
    """Poisson work of mean one into queues of threads; the time average of what is there."""
    now, area, total = 0.0, 0.0, 0
    waiting = np.zeros(threads, dtype=np.int64)
    next_arrival = exponential(streams, 0) / arrival
    for _ in range(events):
        finish = next_finish(cores, 0)
        next_event = min(finish, next_arrival)
        area += total * (next_event - now)
        now = next_event
        if next_arrival < finish:
            thread = int(uniform(streams, 2) * threads)
            next_arrival = now + exponential(streams, 0) / arrival
            total += 1
            waiting[thread] += 1
            if waiting[thread] == 1:
                start(cores, 0, thread, exponential(streams, 1), now)
        else:
            thread = stop_first(cores, 0, now)
            if thread >= 0:
                total -= 1
                waiting[thread] -= 1
                if waiting[thread] > 0:
                    start(cores, 0, thread, exponential(streams, 1), now)
    return area / now


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_threads_that_poll_burn_what_those_that_run_leave_them(seed):
    # Fourteen threads on two cores; of one core, what is wanted beyond it is shared out.
    rng = np.random.default_rng(seed)
    made = make_cores([2.0], [0] * 14, balance=[1e9], poll_cores=0.4, poll_growth=0.7)
    runs, polls, now, burnt = np.zeros(14), np.zeros(14), 0.0, 0.0
    for _ in range(80):
        finish = next_finish(made, 0)
        then = min(finish, now + rng.exponential(0.3))
        each = 0.4 * polls.sum() ** 0.7 / max(polls.sum(), 1.0)
        polling = each * np.bincount(made.pool, polls, minlength=2)
        wanted = polling + np.bincount(made.pool, runs, minlength=2)
        burnt += (then - now) * (polling / np.maximum(wanted, 1.0)).sum()
        now, thread = then, int(rng.integers(14))
        if now == finish:
            runs[stop_first(made, 0, now)] = 0.0
        elif polls[thread] or (not runs[thread] and rng.random() < 0.7):
            polls[thread] = 1.0 - polls[thread]
            add_polling(made, 0, thread, int(2.0 * polls[thread] - 1.0), now)
        elif not runs[thread]:
            runs[thread] = 1.0
            start(made, 0, thread, rng.exponential(0.5), now)
        next_finish(made, 0)
    assert polled_seconds(made, now) == pytest.approx([burnt])
