"""CPU contention, against closed forms, an event-driven simulation of shared cores, and laws."""

import heapq
import math
import random
from bisect import bisect
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from streamgauge.errors import InvalidInput
from streamgauge.models.cpu_contention import (
    Contention,
    contention,
    deal_threads,
    measure_stretch,
)
from streamgauge.models.machine_threads import Machines, MeasuredThreads, Threads
from streamgauge.transport.mechanics import PLAIN, Mechanics

# Stretches are settled to about this.
SETTLED = 1e-5


def joint(cores, background=None):
    """Machines on which threads find any free core."""
    nothing = np.zeros(len(cores)) if background is None else background
    return Machines(cores=cores, background_cores=nothing, balance_seconds=np.zeros(len(cores)))


def shared(
    loads, cores, *, wait=0.0, cpu=1.0, background=0.0, polling=PLAIN, polls=True, balance=0.0
):
    """Threads of these loads, all on one machine."""
    loads = np.asarray(loads, dtype=float)
    return contention(
        Threads(
            machine=np.zeros(len(loads), dtype=int),
            rate=loads / cpu,
            cpu_seconds=np.full(len(loads), cpu),
            wait_seconds=np.broadcast_to(wait, loads.shape),
            polls=np.full(len(loads), polls),
        ),
        Machines(cores=[cores], background_cores=[background], balance_seconds=[balance]),
        polling,
    )


def simulated(loads, cores, jobs, *, wait=0.0, polling=PLAIN, seed=1):
    """Threads with Poisson queues and exponential CPU times of mean one that share cores evenly.

    Returns:
        The mean stretch over all threads, and the loads that really came.
    """
    draw = random.Random(seed)
    chances = list(accumulate(loads))
    queues, since = [0] * len(loads), [0.0] * len(loads)
    done, runnable, worked = [0.0] * len(loads), 0.0, 0.0
    burn = [polling.poll_cores * n**polling.poll_growth for n in range(len(loads) + 1)]
    on_core, waiting, idle = [], [], len(loads)
    now = clock = 0.0
    arrival = draw.expovariate(chances[-1])

    def begin(thread):
        work = draw.expovariate(1.0)
        done[thread] += work
        since[thread] = now
        heapq.heappush(on_core, (clock + work, work, thread))

    while jobs > 0:
        speed = min(1.0, cores / max(len(on_core) + burn[idle], 1e-9))
        finish = now + (on_core[0][0] - clock) / speed if on_core else math.inf
        rested = waiting[0][0] if waiting else math.inf
        then = min(arrival, finish, rested)
        clock += (then - now) * speed
        now = then
        if then == arrival:
            thread = bisect(chances, draw.random() * chances[-1])
            arrival = now + draw.expovariate(chances[-1])
            queues[thread] += 1
            if queues[thread] == 1:
                idle -= 1
                begin(thread)
            continue
        if then == finish:
            _, work, thread = heapq.heappop(on_core)
            runnable += now - since[thread]
            worked += work
            if wait > 0.0:
                heapq.heappush(waiting, (now + draw.expovariate(1.0 / wait), thread))
                continue
        else:
            thread = heapq.heappop(waiting)[1]
        jobs -= 1
        queues[thread] -= 1
        if queues[thread]:
            begin(thread)
        else:
            idle += 1
    return runnable / worked, np.array(done) / now


def mean_stretch(found: Contention) -> float:
    """Over all threads, by the CPU time they use."""
    return float(found.used_cores @ found.stretch / found.used_cores.sum())


def processor_sharing(cores: int, load: float) -> float:
    """Mean time of a job over its CPU time in M/M/c with processor sharing."""
    offered = cores * load
    all_busy = offered**cores / math.factorial(cores) / (1.0 - load)
    waits = all_busy / (sum(offered**n / math.factorial(n) for n in range(cores)) + all_busy)
    return 1.0 + waits / (cores * (1.0 - load))


@pytest.mark.parametrize("cores", [1, 2, 4])
@pytest.mark.parametrize("load", [0.3, 0.5, 0.7])
def test_many_small_threads_are_the_queue_with_processor_sharing(cores, load):
    exact = processor_sharing(cores, load)
    few, many = (shared(np.full(k, load * cores / k), cores).stretch[0] for k in (100, 400))
    assert many == pytest.approx(exact, rel=0.015)
    assert abs(many - exact) < abs(few - exact) / 3


def test_one_core_with_many_small_threads_stretches_by_its_idle_part():
    assert processor_sharing(1, 0.5) == 2.0
    assert shared(np.full(400, 0.5 / 400), 1).stretch[0] == pytest.approx(2.0, rel=0.005)


@pytest.mark.parametrize(("threads", "cores"), [(1, 1), (2, 2), (3, 4)])
def test_no_more_threads_than_cores_are_never_stretched(threads, cores):
    assert shared(np.full(threads, 0.9), cores).stretch == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("threads", "cores"), [(2, 1), (8, 1), (8, 4)])
def test_just_below_overload_all_threads_always_want_a_core(threads, cores):
    found = shared(np.full(threads, 0.99999 * cores / threads), cores)
    assert found.stretch == pytest.approx(threads / cores, rel=0.02)


@pytest.mark.parametrize(("threads", "cores", "wait"), [(4, 1, 5.0), (3, 2, 0.7), (16, 4, 4.0)])
def test_threads_that_always_have_a_job_are_the_closed_network(threads, cores, wait):
    # P(n) ∝ (K over n) · (cpu/wait)ⁿ · ∏ max(1, m/c)
    crowd = np.concatenate([[1.0], np.cumprod(np.maximum(np.arange(1, threads + 1) / cores, 1.0))])
    weights = [math.comb(threads, n) * wait**-n * crowd[n] for n in range(threads + 1)]
    number = np.arange(threads + 1)
    exact = (number @ weights) / (np.minimum(number, cores) @ weights)
    found = shared(np.full(threads, 5.0), cores, wait=wait)
    assert (5.0 * (found.stretch + wait) >= 1.0).all()
    assert not found.overloaded.any()
    assert found.stretch == pytest.approx(exact, rel=0.02)


MODERATE = [(1, 2, 0.2), (1, 2, 0.7), (1, 8, 0.5), (1, 32, 0.7), (2, 4, 0.7), (4, 32, 0.7)]
HEAVY = [(1, 4, 0.85), (1, 32, 0.85), (2, 8, 0.85), (4, 8, 0.9)]


@pytest.mark.parametrize(("cores", "threads", "load"), MODERATE)
def test_moderate_sharing_is_as_simulated(cores, threads, load):
    stretch, loads = simulated([load * cores / threads] * threads, cores, 40_000)
    assert mean_stretch(shared(loads, cores)) == pytest.approx(stretch, rel=0.03)


@pytest.mark.parametrize(("cores", "threads", "load"), HEAVY)
def test_heavy_sharing_is_as_simulated(cores, threads, load):
    stretch, loads = simulated([load * cores / threads] * threads, cores, 80_000)
    assert mean_stretch(shared(loads, cores)) == pytest.approx(stretch, rel=0.08)


def test_unlike_threads_share_as_simulated():
    stretch, loads = simulated([0.6, 0.3, 0.2, 0.2, 0.1, 0.02], 2, 60_000)
    assert mean_stretch(shared(loads, 2)) == pytest.approx(stretch, rel=0.03)


def test_threads_that_wait_share_as_simulated():
    stretch, loads = simulated([0.7 * 2 / 8] * 8, 2, 40_000, wait=1.5)
    assert mean_stretch(shared(loads, 2, wait=1.5)) == pytest.approx(stretch, rel=0.04)


@pytest.mark.parametrize(("cores", "threads", "load"), [(1, 2, 0.5), (2, 32, 0.5), (4, 16, 0.7)])
def test_polling_takes_cores_as_simulated(cores, threads, load):
    polling = Mechanics(poll_cores=0.3, poll_growth=0.434, bolt_spin=1.0)
    stretch, loads = simulated([load * cores / threads] * threads, cores, 40_000, polling=polling)
    assert mean_stretch(shared(loads, cores, polling=polling)) == pytest.approx(stretch, rel=0.03)


def test_an_idle_machine_polls_with_all_its_cores_threads_allow():
    polling = Mechanics(poll_cores=0.3, poll_growth=0.5, bolt_spin=0.05)
    found = shared(np.zeros(4), 8, polling=polling)
    assert found.polling_cores == pytest.approx([0.6])
    assert shared(np.zeros(64), 2, polling=polling).polling_cores == pytest.approx([2.0])


def test_a_thread_without_work_falls_asleep():
    polling = Mechanics(poll_cores=0.3, bolt_spin=0.05, bolt_sleep=0.001)
    assert shared(np.zeros(4), 8, polling=polling).polling_cores == pytest.approx([0.0])


def test_a_thread_polls_between_jobs_until_its_patience_ends():
    # Idle times are exponential: 1 − exp(−rate · spin) of them is spent polling.
    polling = Mechanics(poll_cores=1.0, bolt_spin=0.05, bolt_sleep=0.001)
    found = shared([0.2], 4, cpu=0.01, polling=polling)
    assert found.polling_cores == pytest.approx([0.8 * (1.0 - math.exp(-20.0 * 0.05))])


def test_polling_counts_only_for_threads_that_do():
    polling = Mechanics(poll_cores=0.5, bolt_spin=0.05)
    quiet = shared([0.2, 0.2, 0.2], 1, polling=polling, polls=False)
    assert quiet.stretch == pytest.approx(shared([0.2, 0.2, 0.2], 1).stretch)
    assert (shared([0.2, 0.2, 0.2], 1, polling=polling).stretch > quiet.stretch).all()


def test_an_overloaded_machine_is_listed_with_infinite_stretches():
    found = contention(
        Threads(
            machine=[0, 0, 0, 1],
            rate=[90.0, 90.0, 20.0, 50.0],
            cpu_seconds=[0.01] * 4,
            wait_seconds=[0.0] * 4,
            polls=[True] * 4,
        ),
        joint([1.0, 1.0]),
    )
    assert found.overloaded_machines == (0,)
    assert np.isinf(found.stretch).tolist() == [True, True, True, False]
    # Even shares of one core, but nobody gets more than it wants.
    assert found.used_cores == pytest.approx([0.4, 0.4, 0.2, 0.5])


@pytest.mark.parametrize("polling", [PLAIN, Mechanics(poll_cores=0.5, bolt_spin=0.05)])
def test_machines_of_unlike_size_are_stretched_as_if_each_were_alone(polling):
    # Those of a few threads are computed at once; 90 are too many to go with others.
    crowds = [np.linspace(0.1, 0.6, count) / count for count in (1, 2, 3, 7, 30, 90)]
    loads = np.concatenate(crowds)
    together = contention(
        Threads(
            machine=np.repeat(np.arange(len(crowds)), [len(one) for one in crowds]),
            rate=loads,
            cpu_seconds=np.ones_like(loads),
            wait_seconds=np.zeros_like(loads),
            polls=np.full(len(loads), True),
        ),
        joint(np.ones(len(crowds))),
        polling,
    )
    alone = [shared(one, 1, polling=polling).stretch for one in crowds]
    assert together.stretch == pytest.approx(np.concatenate(alone), rel=1e-9)


def test_a_machine_without_free_cores_is_overloaded():
    found = shared([0.1], 2.0, background=2.0)
    assert found.overloaded_machines == (0,)
    assert found.busy_cores == pytest.approx([0.0])


def test_a_thread_may_be_saturated_on_a_machine_that_is_not_overloaded():
    found = shared([3.0, 0.5], 4)
    assert found.stretch == pytest.approx([1.0, 1.0])
    assert found.used_cores == pytest.approx([1.0, 0.5])
    assert not found.overloaded_machines


def test_no_threads_use_nothing():
    found = shared([], 2)
    assert found.busy_cores.tolist() == [0.0]
    assert found.overloaded_machines == ()


def test_a_machine_of_a_thousand_threads_conserves_work():
    found = shared(np.linspace(0.001, 0.027, 1000), 16)
    assert found.busy_cores == pytest.approx([14.0], rel=SETTLED)
    assert 1.0 < found.stretch.min() <= found.stretch.max() < 2.0


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_impossible_amounts_are_refused(bad):
    with pytest.raises(InvalidInput, match=r"rate\[0\].*at least 0"):
        shared([bad], 1)
    with pytest.raises(InvalidInput, match=r"cores\[0\]"):
        joint([bad])
    with pytest.raises(InvalidInput, match="poll_cores"):
        Mechanics(poll_cores=bad)


def test_unlike_lengths_and_unknown_machines_are_refused():
    with pytest.raises(InvalidInput, match="rate: shape"):
        Threads(machine=[0], rate=[1, 2], cpu_seconds=[1], wait_seconds=[0], polls=[True])
    with pytest.raises(InvalidInput, match="background_cores: shape"):
        joint([1.0, 2.0], background=[0.0])
    threads = Threads(machine=[1], rate=[1], cpu_seconds=[1], wait_seconds=[0], polls=[True])
    with pytest.raises(InvalidInput, match=r"machine\[0\]: machine 1; expected one of 0 to 0"):
        contention(threads, joint([1.0]))


def test_without_cpu_times_all_wall_time_is_taken_for_cpu_time():
    measured = MeasuredThreads(
        machine=[0, 0],
        rate=[10.0, 10.0],
        wall_seconds=[0.03, 0.03],
        cpu_seconds=[math.nan, 0.01],
        polls=[False, False],
    )
    stretch, warnings = measure_stretch(measured, joint([1.0]))
    relaxed = measured.relax(stretch)
    assert relaxed.cpu_seconds[0] * stretch[0] == pytest.approx(0.03)
    assert relaxed.wait_seconds[0] == pytest.approx(0.0, abs=1e-12)
    assert relaxed.wait_seconds[1] > 0.0
    assert "1 of 2 threads was inferred" in warnings[0]


def test_wall_times_that_are_too_short_leave_no_waiting():
    measured = MeasuredThreads(
        machine=[0, 0],
        rate=[40, 40],
        wall_seconds=[0.01] * 2,
        cpu_seconds=[0.01] * 2,
        polls=[False] * 2,
    )
    stretch, warnings = measure_stretch(measured, joint([1.0]))
    assert measured.relax(stretch).wait_seconds.tolist() == [0.0, 0.0]
    assert "less wall-clock time" in warnings[0]


def test_nothing_is_said_of_waiting_on_an_overloaded_machine():
    measured = MeasuredThreads(
        machine=[0, 0, 0],
        rate=[60, 60, 1],
        wall_seconds=[0.02] * 3,
        cpu_seconds=[0.01, 0.01, math.nan],
        polls=[False] * 3,
    )
    stretch, warnings = measure_stretch(measured, joint([1.0]))
    assert np.isinf(stretch).all()
    assert "machine 0" in warnings[-1]


@st.composite
def crowds(draw, most=0.95):
    """Loads, waits and cores of a machine that is not overloaded."""
    size = draw(st.integers(1, 10))
    cores = draw(st.sampled_from([0.5, 1.0, 1.7, 2.0, 4.0]))
    weights = np.array(draw(st.lists(st.floats(0.0, 1.0), min_size=size, max_size=size)))
    weights /= max(weights.sum(), 1e-3)
    loads = np.minimum(weights * cores * draw(st.floats(0.05, most)), 0.9)
    waits = np.array(draw(st.lists(st.floats(0.0, 3.0), min_size=size, max_size=size)))
    return loads, waits, cores


# Each example is solved afresh, some of them several times.
seldom = settings(max_examples=20)

pollings = st.builds(
    Mechanics,
    poll_cores=st.floats(0.0, 1.0),
    poll_growth=st.floats(0.0, 1.0),
    bolt_spin=st.sampled_from([0.0, 0.05, 5.0]),
    bolt_sleep=st.sampled_from([0.0, 0.001]),
)


@seldom
@given(crowds(), pollings)
def test_sharing_only_ever_stretches_and_conserves_work(crowd, polling):
    loads, waits, cores = crowd
    found = shared(loads, cores, wait=waits, polling=polling)
    assert (found.stretch >= 1.0).all()
    assert (found.stretch < np.inf).all()
    assert found.busy_cores[0] + found.polling_cores[0] <= cores * (1.0 + SETTLED)
    served = loads * (found.stretch + waits) < 1.0
    assert found.used_cores[served] == pytest.approx(loads[served], rel=1e-4)


@seldom
@given(crowds(most=0.8), st.floats(0.0, 0.15))
def test_more_background_never_lowers_a_stretch(crowd, background):
    loads, waits, cores = crowd
    alone = shared(loads, cores, wait=waits).stretch
    beside = shared(loads, cores, wait=waits, background=background * cores).stretch
    assert (beside >= alone * (1.0 - SETTLED)).all()


@seldom
@given(crowds(most=0.8), st.floats(0.0, 0.15))
def test_one_thread_more_never_lowers_a_stretch(crowd, load):
    loads, _, cores = crowd
    before = shared(loads, cores).stretch
    after = shared(np.append(loads, load * cores), cores).stretch[:-1]
    assert (after >= before * (1.0 - SETTLED)).all()


@seldom
@given(crowds(), st.sampled_from([1e-6, 0.01, 50.0]))
def test_time_has_no_scale(crowd, scale):
    loads, waits, cores = crowd
    seconds = shared(loads, cores, wait=waits)
    scaled = shared(loads, cores, wait=waits * scale, cpu=scale)
    assert scaled.stretch == pytest.approx(seconds.stretch, rel=SETTLED)


@seldom
@given(st.lists(crowds(), min_size=2, max_size=4), pollings, st.randoms())
def test_machines_are_independent(crowds_, polling, order):
    rows = [
        (machine, load, wait)
        for machine, (loads, waits, _) in enumerate(crowds_)
        for load, wait in zip(loads, waits, strict=True)
    ]
    order.shuffle(rows)
    machine, rate, wait = (np.array(column) for column in zip(*rows, strict=True))
    ones = np.ones(len(rows))
    threads = Threads(
        machine=machine, rate=rate, cpu_seconds=ones, wait_seconds=wait, polls=ones > 0
    )
    cores = [cores for _, _, cores in crowds_]
    together = contention(threads, joint(cores), polling)
    for at, free in enumerate(cores):
        here = machine == at
        alone = shared(rate[here], free, wait=wait[here], polling=polling)
        assert together.stretch[here] == pytest.approx(alone.stretch, rel=SETTLED)
        assert together.polling_cores[at] == pytest.approx(
            alone.polling_cores[0], rel=SETTLED, abs=1e-9
        )


@seldom
@given(crowds(), pollings, st.booleans(), st.sampled_from([0.0, 2.0, math.inf]))
def test_what_was_stretched_can_be_unstretched(crowd, polling, known, balance):
    loads, waits, cores = crowd
    if not known:
        # Nobody waits; and which core is whose follows from CPU times.
        waits, balance = np.zeros(len(waits)), 0.0
    crowded = shared(loads, cores, wait=waits, polling=polling, balance=balance)
    wall = crowded.stretch + waits
    assume((loads * wall < 1.0).all())
    measured = MeasuredThreads(
        machine=np.zeros(len(loads), dtype=int),
        rate=loads,
        wall_seconds=wall,
        cpu_seconds=np.full(len(loads), 1.0 if known else math.nan),
        polls=np.ones(len(loads), dtype=bool),
    )
    machines = Machines(cores=[cores], background_cores=[0.0], balance_seconds=[balance])
    stretch, warnings = measure_stretch(measured, machines, polling)
    relaxed = measured.relax(stretch)
    assert relaxed.cpu_seconds == pytest.approx(1.0, rel=1e-5)
    assert relaxed.wait_seconds == pytest.approx(waits, abs=1e-5)
    assert bool(warnings) is not known


def test_own_cores_are_machines_of_one_core():
    """Eight threads stay on two cores: four on each."""
    own = shared(np.full(8, 0.1), 2, balance=math.inf)
    assert own.stretch == pytest.approx(shared(np.full(4, 0.1), 1).stretch[0], rel=SETTLED)


def test_on_its_own_core_a_light_thread_is_slowed_by_what_the_others_leave():
    """1/(1 − load of the others): 160 threads keep each of two cores half busy."""
    own = shared(np.full(160, 1.0 / 160.0), 2, balance=math.inf)
    assert own.stretch == pytest.approx(1.0 / (1.0 - 79.0 / 160.0), rel=0.01)


def test_what_else_a_machine_does_slows_every_core():
    """A thread that has its core to itself gets what others leave of it."""
    assert shared([0.2, 0.2], 2, background=0.5, balance=math.inf).stretch == pytest.approx(
        1.0 / 0.75
    )
    assert shared([0.2], 2, background=0.5).stretch == pytest.approx(1.0)


def test_threads_go_to_cores_the_longest_first():
    core = deal_threads(np.zeros(5, dtype=int), np.array([0.1, 0.5, 0.2, 0.3, 0.1]), np.array([2]))
    assert core.tolist() == [0, 0, 1, 1, 1]


def test_a_core_that_would_be_overloaded_is_as_good_as_joint():
    """Three threads of 0.6 cores on two: two of them cannot stay on one core."""
    loads = np.array([0.62, 0.6, 0.58])
    own, together = shared(loads, 2, balance=math.inf), shared(loads, 2)
    assert own.stretch[1:] == pytest.approx(together.stretch[1:])


@seldom
@given(crowds(), st.sampled_from([0.0, 1.0, 10.0, math.inf]))
def test_threads_that_are_alike_are_stretched_alike(crowd, balance):
    loads, _, cores = crowd
    found = shared(np.repeat(loads[:1], 3) / 3.0, cores, balance=balance)
    assert np.ptp(found.stretch) == pytest.approx(0.0, abs=1e-9)
    assert (found.stretch >= 1.0).all()


def test_the_number_of_machines_changes_no_answer():
    few, many = (_cluster(machines) for machines in (3, 300))
    assert many.stretch[: len(few.stretch)] == pytest.approx(few.stretch, rel=SETTLED)
    assert many.busy_cores == pytest.approx(3.0, rel=SETTLED)


def _cluster(machines: int) -> Contention:
    """Machines of four cores with ten unlike threads each, three cores' worth of them."""
    loads = np.arange(1.0, 11.0) * 3.0 / 55.0
    count = machines * len(loads)
    return contention(
        Threads(
            machine=np.repeat(np.arange(machines), len(loads)),
            rate=np.tile(loads, machines) * 1000.0,
            cpu_seconds=np.full(count, 0.001),
            wait_seconds=np.zeros(count),
            polls=np.zeros(count, dtype=bool),
        ),
        joint(np.full(machines, 4.0)),
    )
