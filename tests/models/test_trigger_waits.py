"""Waits of windows by count, against Lindley's recursion and closed forms."""

import numpy as np
import pytest

from streamgauge.models.queueing import Moments
from streamgauge.models.trigger_waits import Triggers, wait_at_random, wait_in_turn


def lindley(services, gaps):
    """Waits of all customers by the recursion W' = (W + service − gap)⁺, which is a walk's height.

    Above the lowest place that it has been to so far.
    """
    walk = np.concatenate([[0.0], np.cumsum(services - gaps)[:-1]])
    return walk - np.minimum.accumulate(walk)


def gamma(generator, mean, scv, size):
    return generator.gamma(1.0 / scv, mean * scv, size) if scv else np.full(size, mean)


def live(*, load, scv, slide, own, tasks=1, in_turn=False, count=2_000_000):
    """Waits of windows and of tuples alone, in an executor whose tuples come at random.

    The service of a tuple is `own` times that of a window, which is one.
    """
    generator = np.random.default_rng(7)
    gaps = generator.exponential((own + 1.0 / slide) / load, count)
    order = np.arange(count) % tasks if in_turn else generator.integers(tasks, size=count)
    fires = np.zeros(count, dtype=bool)
    for task in range(tasks):
        # Windows of tasks at random do not start together.
        first = slide - 1 if in_turn else int(generator.integers(slide))
        fires[np.flatnonzero(order == task)[first::slide]] = True
    tuples = gamma(generator, own, 1.0, count) if own else np.zeros(count)
    windows = np.where(fires, gamma(generator, 1.0, scv, count), 0.0)
    late = slice(count // 10, None)
    found = lindley(tuples + windows, gaps)[late][fires[late]]
    return found, lindley(tuples, gaps)[late][fires[late]].mean() if own else 0.0


def triggers(*, load, scv, slide, own, tasks=1, dispersion=1.0):
    one = np.ones(1)
    return Triggers(
        per_second=load / (own + 1.0 / slide) * one,
        slide=float(slide),
        tasks=tasks * one,
        dispersion=dispersion * one,
        tuples=Moments(mean=own * one, variance=own**2 * one),
        windows=Moments(mean=one, variance=scv * one),
    )


@pytest.mark.parametrize("load", [0.4, 0.7, 0.9])
@pytest.mark.parametrize("scv", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("own", [0.0, 0.05, 0.5])
def test_one_task_that_fires_at_every_tenth_tuple(load, scv, own):
    case = {"load": load, "scv": scv, "slide": 10, "own": own}
    drawn, without = live(**case)
    found = wait_at_random(triggers(**case))
    # Of a sojourn: a wait that is next to nothing need not be known to a part of itself.
    assert without + found.mean[0] + 1.0 == pytest.approx(drawn.mean() + 1.0, rel=0.07)


@pytest.mark.parametrize("load", [0.5, 0.8])
@pytest.mark.parametrize("own", [0.2, 1.0])
def test_windows_of_one_tuple_make_services_longer_and_nothing_else(load, own):
    """M/G/1 with services S + T, both exponential: λE[(S + T)²]/2(1 − ρ)."""
    one = triggers(load=load, scv=1.0, slide=1, own=own)
    rate = float(one.per_second[0])
    mixed = rate * (2.0 + 2.0 * own + 2.0 * own**2) / (2.0 - 2.0 * load)
    alone = rate * 2.0 * own**2 / (2.0 - 2.0 * rate * own)
    assert alone + wait_at_random(one).mean[0] == pytest.approx(mixed, rel=0.04)


def test_windows_that_take_no_time_add_no_wait():
    idle = triggers(load=0.6, scv=0.0, slide=10, own=1.0)
    nothing = Triggers(
        **{name: getattr(idle, name) for name in Triggers.__slots__ if name != "windows"},
        windows=Moments(mean=np.zeros(1), variance=np.zeros(1)),
    )
    assert wait_at_random(nothing).mean == pytest.approx([0.0], abs=1e-12)


def test_at_light_load_windows_hardly_wait():
    """The one before is done, but for one in a million: ten gaps of forty services."""
    assert wait_at_random(triggers(load=0.025, scv=0.25, slide=10, own=0.0)).mean[0] < 1e-4


@pytest.mark.parametrize("load", [0.4, 0.7, 0.9])
@pytest.mark.parametrize("tasks", [4, 16])
@pytest.mark.parametrize("scv", [0.25, 2.0])
def test_windows_of_several_tasks_at_random(load, tasks, scv):
    case = {"load": load, "scv": scv, "slide": 10, "own": 0.0, "tasks": tasks}
    drawn, _ = live(**case)
    assert wait_at_random(triggers(**case)).mean[0] + 1.0 == pytest.approx(
        drawn.mean() + 1.0, rel=0.08
    )


@pytest.mark.parametrize("load", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("tasks", [2, 4, 16])
@pytest.mark.parametrize("scv", [0.25, 2.0])
def test_windows_of_tasks_in_turn_fire_together(load, tasks, scv):
    """Within a round, a tenth of the time between two windows of a task."""
    case = {"load": load, "scv": scv, "slide": 10, "own": 0.0, "tasks": tasks}
    drawn, _ = live(**case, in_turn=True)
    found = wait_in_turn(triggers(**case, dispersion=1.0 / tasks), strewn=np.full(1, 0.1))
    assert found.mean[0] + 1.0 == pytest.approx(drawn.mean() + 1.0, rel=0.07)
    assert found.variance[0] ** 0.5 == pytest.approx(drawn.std(), rel=0.25)


def test_the_transform_has_the_mean_and_variance():
    found = wait_in_turn(
        triggers(load=0.8, scv=1.0, slide=10, own=0.01, tasks=4, dispersion=0.25),
        strewn=np.full(1, 0.1),
    )
    points = np.asarray([[1e-4], [2e-4]], dtype=np.complex128)
    first, second = -np.log(found.transform(points).real[:, 0])
    # Cumulants from the logarithm: κ₁s − κ₂s²/2.
    assert 2.0 * first / 1e-4 - second / 2e-4 == pytest.approx(found.mean[0], rel=1e-3)
    assert (2.0 * first - second) / 1e-8 == pytest.approx(found.variance[0], rel=0.02)
