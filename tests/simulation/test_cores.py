"""Shared cores against what one can compute by hand, and against queueing theory."""

import numpy as np
import pytest
from numba import njit

from streamgauge.errors import InvalidInput
from streamgauge.simulation.cores import (
    NOBODY,
    Sharing,
    advance,
    make_cores,
    next_finish,
    start,
    stop_first,
)
from streamgauge.simulation.random_streams import exponential, make_streams


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
    advance(cores, 0, now)
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


def turns(works, *, cores, quantum, switch=0.0):
    """Threads that all want a core at time zero: when each is done, in order."""
    sharing = Sharing(quantum_seconds=quantum, switch_seconds=switch)
    made = make_cores([cores], [0] * len(works), sharing=sharing)
    for thread, work in enumerate(works):
        start(made, 0, thread, work, 0.0)
    done = {}
    while made.running[0] > 0:
        now = next_finish(made, 0)
        thread = stop_first(made, 0, now)
        if thread != NOBODY:
            done[thread] = now
    return [done[thread] for thread in range(len(works))], made


def test_threads_take_turns_of_a_quantum():
    # One core, by hand: 0, 1 (done), 2, 0, 2 (done), 0 (done), a second each.
    done, made = turns([3.0, 1.0, 2.0], cores=1, quantum=1.0)
    assert done == pytest.approx([6.0, 2.0, 5.0])
    assert made.busy[0] == pytest.approx(6.0)


def test_a_thread_alone_is_not_interrupted():
    done, _ = turns([10.0, 10.0], cores=2, quantum=1.0)
    assert done == pytest.approx([10.0, 10.0])


def test_a_change_of_threads_costs_what_it_says():
    # Eight turns of one second, each with a tenth lost before.
    done, _ = turns([4.0, 4.0], cores=1, quantum=1.0, switch=0.1)
    assert max(done) == pytest.approx(8.8)


def test_a_newcomer_waits_for_the_end_of_a_quantum():
    made = make_cores([1.0], [0, 0], sharing=Sharing(quantum_seconds=1.0))
    start(made, 0, 0, 10.0, 0.0)
    assert next_finish(made, 0) == pytest.approx(10.0)
    start(made, 0, 1, 0.5, 2.25)
    assert next_finish(made, 0) == pytest.approx(3.0)
    assert stop_first(made, 0, 3.0) == NOBODY
    assert next_finish(made, 0) == pytest.approx(3.5)
    assert stop_first(made, 0, 3.5) == 1
    assert next_finish(made, 0) == pytest.approx(10.5)


def test_short_turns_come_near_to_processor_sharing():
    works = [1.0, 2.0, 3.0, 4.0]
    # Processor sharing of two cores: rate 1/2 until the first is done at 2, then 2/3, then 1.
    done, _ = turns(works, cores=2, quantum=0.001)
    assert done == pytest.approx([2.0, 3.5, 4.5, 5.5], abs=0.01)


@pytest.mark.parametrize("given", [{"quantum_seconds": 0.0}, {"switch_seconds": -1.0}])
def test_times_that_cannot_be_are_refused(given):
    with pytest.raises(InvalidInput):
        Sharing(**given)
