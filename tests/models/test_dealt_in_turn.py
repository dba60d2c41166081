"""Tasks that are dealt to in turn, against senders that go round one tuple at a time."""

import numpy as np
import pytest

from streamgauge.models.dealt_in_turn import (
    Clumps,
    Phases,
    Stream,
    compare_waits,
    count_variance,
    strewn_tuples,
    uneven_slide,
    wait_in_clumps,
)
from streamgauge.models.queueing import Moments

ROUND = 16


@pytest.mark.parametrize("tasks", [1, 3, 8, 13, 16])
@pytest.mark.parametrize("emitted", [1, 5, 8, 15, 16, 39])
def test_variance_of_what_a_row_of_tasks_gets_over_all_phases(tasks, emitted):
    counts = [
        sum((phase + place) % ROUND < tasks for place in range(emitted)) for phase in range(ROUND)
    ]
    found = count_variance(np.asarray(float(emitted)), np.asarray(tasks), np.asarray(ROUND))
    assert found == pytest.approx(np.var(counts), abs=1e-9)


def go_round(senders, count, seed=5):
    """Task and sender of every tuple: all senders as often, each going round from anywhere."""
    generator = np.random.default_rng(seed)
    sender = generator.integers(senders, size=count)
    task = np.empty(count, dtype=np.int64)
    for one, start in enumerate(generator.integers(ROUND, size=senders)):
        own = np.flatnonzero(sender == one)
        task[own] = (start + np.arange(len(own))) % ROUND
    return task


def wait_ratio(senders, tasks, load, gaps):
    """Waits of the first executor's tuples, over those of as many that come at random (M/M/1)."""
    generator = np.random.default_rng(9)
    arrivals = np.cumsum(gaps)[go_round(senders, len(gaps)) < tasks]
    service = generator.exponential(load * ROUND / tasks, len(arrivals))
    walk = np.concatenate([[0.0], np.cumsum(service[:-1] - np.diff(arrivals))])
    waits = walk - np.minimum.accumulate(walk)
    return waits.mean() / (load * ROUND / tasks * load / (1.0 - load))


@pytest.mark.parametrize(("senders", "tasks"), [(1, 1), (4, 1), (16, 1), (2, 8), (1, 4), (1, 16)])
@pytest.mark.parametrize("load", [0.5, 0.8])
def test_queues_behind_senders_that_go_round(senders, tasks, load):
    """Tuples come at random, one a second; a row of tasks is one executor."""
    one = np.ones(1)
    stream = Stream(
        senders=senders * one,
        emitted=1.0 / senders,
        per_second=tasks / ROUND * one,
        tasks=tasks * one,
        round_tasks=ROUND * one,
        noise=tasks / ROUND * one,
    )
    mean = load * ROUND / tasks * one
    found = compare_waits([stream], Moments(mean=mean, variance=mean**2), None, otherwise=one)
    drawn = wait_ratio(senders, tasks, load, np.random.default_rng(8).exponential(1.0, 4_000_000))
    # Of a sojourn, in services.
    known = load / (1.0 - load)
    assert 1.0 + known * found[0] == pytest.approx(1.0 + known * drawn, rel=0.12)


@pytest.mark.parametrize(("senders", "tasks"), [(1, 16), (2, 8), (4, 4), (16, 16)])
def test_how_far_apart_the_windows_of_tasks_in_a_row_fire(senders, tasks):
    """In tuples of a task; each fires at every tenth. An even place over w differs by w²/6."""
    found = []
    for seed in range(20):
        dealt = go_round(senders, ROUND * 10 * 60, seed)
        fired = np.stack(
            [np.flatnonzero(dealt == task)[9::10][20:50] / ROUND for task in range(tasks)]
        )
        apart = fired[:, np.newaxis] - fired[np.newaxis]
        found.append(np.mean(apart[~np.eye(tasks, dtype=bool)] ** 2))
    width = strewn_tuples(float(senders), np.asarray(float(tasks)), float(ROUND))
    assert width == pytest.approx((6.0 * np.mean(found)) ** 0.5, rel=0.2)


@pytest.mark.parametrize("senders", [1, 2, 4, 8])
def test_ten_tuples_of_a_task_come_in_whole_rounds_or_not(senders):
    """How many tuples of all there are between two windows, beyond what senders vary by chance."""
    seen = []
    for seed in range(10):
        dealt = go_round(senders, ROUND * 10 * 200, seed)
        seen += [np.diff(np.flatnonzero(dealt == task)[9::10]) / ROUND for task in range(ROUND)]
    varied = np.mean([np.var(one) for one in seen])
    assert uneven_slide(float(senders), 10.0) * 10.0 == pytest.approx(varied, abs=0.6)


def lindley(moments, services):
    """Waits of jobs in the order in which they come."""
    walk = np.concatenate([[0.0], np.cumsum(services[:-1] - np.diff(moments))])
    return walk - np.minimum.accumulate(walk)


@pytest.mark.parametrize("together", [1, 10])
@pytest.mark.parametrize("load", [0.5, 0.8])
def test_windows_that_one_execution_fires_come_at_the_same_moment(together, load):
    """Executions at random emit tuples for sixteen keyed tasks, whose windows are of ten."""
    generator = np.random.default_rng(7)
    weights = np.asarray([6, 4, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1]) / 32.0
    count = 400_000
    task = generator.choice(ROUND, p=weights, size=count)
    moment = np.repeat(np.cumsum(generator.exponential(together, count // together)), together)
    fired = np.sort(
        np.concatenate([np.flatnonzero(task == one)[one % 10 :: 10] for one in range(ROUND)])
    )
    mean = 10.0 * load
    waits = lindley(moment[fired], generator.exponential(mean, len(fired)))
    one = np.ones(1)
    stream = Stream(
        senders=one,
        emitted=0.1,
        per_second=0.1 * one,
        tasks=one,
        round_tasks=one,
        noise=together / 10.0 * one,
        windows=Phases(per_second=weights, slide=10.0, sent=np.ones((ROUND, 1))),
    )
    service = Moments(mean=mean * one, variance=mean**2 * one)
    found = compare_waits([stream], service, None, otherwise=one)
    at_random = load / (1.0 - load)
    assert 1.0 + at_random * found[0] == pytest.approx(1.0 + waits.mean() / mean, rel=0.12)


@pytest.mark.parametrize("emitted", [1, 4, 10, 16])
@pytest.mark.parametrize("load", [0.4, 0.8])
def test_clumps_of_which_senders_go_on_where_they_stopped_in_their_rounds(emitted, load):
    """Four senders emit as many each at the same moment; a row of four tasks of sixteen is one."""
    generator = np.random.default_rng(3)
    mean, found = load / emitted, []
    for _ in range(40):
        starts = generator.integers(ROUND, size=4)
        places = starts + np.arange(4000 * emitted)[:, np.newaxis]
        own = ((places % ROUND) < 4).reshape(4000, -1).sum(axis=1)
        jobs = np.repeat(np.arange(4000.0), own)
        found.append(lindley(jobs, generator.exponential(mean, len(jobs))).mean())
    size = np.asarray([float(emitted)])
    clumps = Clumps(
        cycle=1.0,
        size=size,
        varied=lambda n: 4.0 * count_variance(emitted * n, np.asarray(4.0), np.asarray(16.0)),
        dispersion=1e-6,
        service=Moments(mean=np.asarray([mean]), variance=np.asarray([mean**2])),
    )
    predicted = wait_in_clumps(clumps, longest=0.0).mean[0]
    assert mean + predicted == pytest.approx(mean + np.mean(found), rel=0.15)
