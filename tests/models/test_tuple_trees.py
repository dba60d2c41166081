"""Complete latency: maxima over tuple trees against closed forms; the simulator in `analytic`."""

import math
from dataclasses import replace

import numpy as np
import pytest

from streamgauge.models import transforms
from streamgauge.models.acks import roots_per_tuple, with_acks
from streamgauge.models.network import Network
from streamgauge.models.storm_delays import storm2_delays
from streamgauge.models.traffic_equations import Conversion
from streamgauge.models.tuple_trees import Spread, TimeGrid, TupleTrees, all_of, distinct, later_of
from streamgauge.topology import Operator
from streamgauge.topology.topology import Window
from tests.models.plans import (
    PLAIN,
    flow_of,
    per_input,
    rates_of,
    service_of,
    source,
    stream,
    traffic_of,
)

LEVELS = (0.5, 0.9, 0.99)


def test_the_later_of_two_exponential_times():
    """E[max] = 1/1 + 1/2, P(max ≤ t) = (1 − e^(−t))²."""
    grid = TimeGrid(20.0)
    one = grid.distribution(transforms.exponential(grid.points, np.ones(1)))
    found = grid.latency(grid.transform(one * one), LEVELS)
    assert found.mean == pytest.approx(1.5, rel=5e-3)
    assert found.variance == pytest.approx(1.25, rel=0.02)
    for level, value in found.quantiles.items():
        assert value == pytest.approx(-math.log(1.0 - math.sqrt(level)), rel=0.01)


def test_a_grid_there_and_back_changes_nothing():
    grid = TimeGrid(8.0)
    given = transforms.gamma(grid.points, np.asarray([1.0, 2.0]), np.asarray([0.3, 0.1]))
    back = grid.transform(grid.distribution(given))
    again = grid.distribution(back)
    assert np.abs(again - grid.distribution(given)).max() < 0.01


def test_a_constant_time_lies_where_it_is():
    grid = TimeGrid(4.0)
    found = grid.latency(transforms.constant(grid.points, np.asarray([1.0])), LEVELS)
    assert found.mean == pytest.approx(1.0, rel=2e-3)
    assert found.quantiles[0.99] == pytest.approx(1.0, abs=3 * grid.step)


def test_how_far_apart_two_times_are_does_not_ask_which_is_later():
    """Of two uniform times |U − V| has the mean 1/3 and P(|U − V| ≤ t) = 1 − (1 − t)²."""
    grid = TimeGrid(20.0)
    one = transforms.uniform(grid.points, np.ones(1))[:, 0]
    found = grid.distance(one * np.conj(one), 1.0, LEVELS)
    assert found.mean == pytest.approx(1.0 / 3.0, rel=0.02)
    for level, value in found.quantiles.items():
        assert value == pytest.approx(1.0 - math.sqrt(1.0 - level), abs=2 * grid.step)


def test_siblings_meet_by_chance_or_take_turns():
    """Three balls into four boxes leave 4(1 − (3/4)³) of them with any."""
    assert distinct(np.asarray([3.0]), np.full((1, 4), 0.25)) == pytest.approx([2.3125])
    assert distinct(np.asarray([3.0]), np.asarray([[4.0]])) == pytest.approx([3.0])
    assert distinct(np.asarray([9.0]), np.asarray([[4.0]])) == pytest.approx([4.0])


def test_half_a_sibling_is_one_in_half_of_the_cases():
    found = all_of(np.asarray([[0.4]]), np.asarray([0.5]), np.asarray([[2.0]]))
    assert found == pytest.approx(0.5 + 0.5 * 0.4)


def trees_of(*given, **options):
    return build_trees(*given, **options).latencies()


def build_trees(
    operators,
    streams,
    conversions,
    service,
    *,
    rate,
    executors=None,
    scv=1.0,
    sources=1,
    fires=0.0,
    mechanics=PLAIN,
):
    """`fires`: Seconds that the function of every window takes."""
    flow = flow_of(
        (source("s", sources), *operators),
        streams,
        executors=executors,
        acked=True,
        ackers=1,
        engine="storm-2",
    )
    rates = rates_of(flow, {("s", "default"): rate}, conversions)
    traffic = traffic_of(flow, rates, conversions, mechanics)
    traffic = with_acks(traffic, roots_per_tuple(traffic))
    times = service_of(flow, service, scv)
    times = replace(times, trigger_mean=np.full_like(times.mean, fires))
    delays = storm2_delays(traffic, times)
    network = Network(seconds=np.zeros((1, 1)), variance=np.zeros((1, 1)), notes=())
    return TupleTrees(traffic, delays, network, times)


def test_what_is_common_to_two_times_makes_neither_later():
    one, other, half = np.asarray([[0.4]]), np.asarray([[0.9]]), np.asarray([0.5])
    assert later_of(one, other, 0.0 * half) == pytest.approx(0.36)
    assert later_of(one, other, 2.0 * half) == pytest.approx(0.4)
    assert later_of(one, other, half) == pytest.approx(0.6 * 0.4**0.5)


def test_siblings_that_are_alike_are_done_as_one_of_them():
    many = (np.asarray([[0.5]]), np.asarray([3.0]), np.asarray([[5.0]]))
    assert all_of(*many) == pytest.approx(0.125)
    assert all_of(*many, np.ones(1)) == pytest.approx(0.5)


def test_two_ways_are_alike_by_what_they_share_of_their_variance():
    one = Spread(np.asarray([4.0]), {"a": np.asarray([2.0]), "b": np.asarray([1.0])})
    other = Spread(np.asarray([9.0]), {"a": np.asarray([8.0])})
    assert one.alike(other) == pytest.approx([4.0 / 6.0])
    assert one.join(other).variance == pytest.approx([9.0])
    assert one.join(other).shared == {"a": pytest.approx([8.0]), "b": pytest.approx([1.0])}


def test_a_tree_waits_for_the_slowest_of_three():
    """Nearly idle: 10 ms, then the last of three exponential times of 30 ms: 30·(1 + 1/2 + 1/3)."""
    complete, seen = trees_of(
        (Operator(name="a"), Operator(name="b", tasks=3)),
        (stream("s", "a"), stream("a", "b")),
        {"a": per_input({("s", "default", "default"): 3.0}), "b": per_input({})},
        {"a": 0.01, "b": 0.03},
        rate=0.01,
    )
    assert complete.mean == pytest.approx(0.01 + 0.055, rel=0.01)
    assert seen.mean == pytest.approx(complete.mean, rel=0.01)


def test_roots_stay_open_as_long_as_their_source_sees_them():
    """10 ms, then 30 ms, exponential: mean 40 ms and variance 10² + 30²; for both executors."""
    trees = build_trees(
        (Operator(name="a"), Operator(name="b")),
        (stream("s", "a"), stream("a", "b")),
        {"a": per_input({("s", "default", "default"): 1.0}), "b": per_input({})},
        {"a": 0.01, "b": 0.03},
        rate=0.01,
        sources=2,
    )
    found = trees.open_times()
    assert found.mean == pytest.approx([0.04, 0.04, 0.0, 0.0, 0.0], rel=0.01)
    assert found.variance == pytest.approx([1e-3, 1e-3, 0.0, 0.0, 0.0], rel=0.03)


def test_siblings_at_one_executor_are_done_one_after_the_other():
    """Three services of 30 ms in a row."""
    complete, _ = trees_of(
        (Operator(name="a"), Operator(name="b")),
        (stream("s", "a"), stream("a", "b")),
        {"a": per_input({("s", "default", "default"): 3.0}), "b": per_input({})},
        {"a": 0.01, "b": 0.03},
        rate=0.01,
        scv=0.0,
    )
    assert complete.mean == pytest.approx(0.01 + 0.09, rel=0.01)


@pytest.mark.parametrize(
    ("window", "mean"),
    [
        # Half a window until it fires, a whole one until the next does.
        (Window(length_seconds=2.0), 3.0),
        # Half a slide until the first of three fires, three until the tuple is in none.
        (Window(length_seconds=3.0, slide_seconds=1.0), 3.5),
        # Forty-nine and a half tuples more until it fires, a hundred until the next.
        (Window(length_tuples=100), 149.5 / 50.0),
    ],
)
@pytest.mark.parametrize("fires", [0.0, 0.5])
def test_tuples_of_a_window_are_acknowledged_when_they_leave_it(window, mean, fires):
    """Before the function of the window that they are no longer in runs, however long it takes."""
    operator = Operator(name="w", window=window)
    conversion = Conversion(per_input={}, per_trigger={}, task_parts=(np.ones(1),))
    complete, _ = trees_of(
        (operator,), (stream("s", "w"),), {"w": conversion}, {"w": 1e-6}, rate=50.0, fires=fires
    )
    assert complete.mean == pytest.approx(mean, rel=0.01)


@pytest.mark.parametrize(("spin", "longer"), [(0.0, 0.5), (10.0, 0.0)])
def test_ackers_that_do_not_poll_sleep_before_the_last_message_too(spin, longer):
    """10 ms of service. Who sleeps is woken half a sleep later: the acker by the source's message,
    the operator by its tuple, and the acker again by the acknowledgement."""
    complete, _ = trees_of(
        (Operator(name="a"),),
        (stream("s", "a"),),
        {"a": per_input({})},
        {"a": 0.01},
        rate=1.0,
        scv=0.0,
        mechanics=replace(PLAIN, bolt_sleep=0.001, bolt_spin=spin),
    )
    assert complete.mean == pytest.approx((10.0 + longer) / 1e3, abs=5e-5)


def test_what_is_overloaded_takes_for_ever():
    complete, seen = trees_of(
        (Operator(name="a"),), (stream("s", "a"),), {"a": per_input({})}, {"a": 0.1}, rate=20.0
    )
    assert math.isinf(complete.mean)
    assert math.isinf(seen.mean)


def test_roots_of_an_overloaded_executor_never_end():
    trees = build_trees(
        (Operator(name="a"),), (stream("s", "a"),), {"a": per_input({})}, {"a": 0.1}, rate=20.0
    )
    assert trees.open_times().mean.tolist() == [math.inf, 0.0, 0.0]
