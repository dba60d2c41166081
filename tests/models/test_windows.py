"""Ages of tuples at the trigger, against loops over drawn arrivals."""

import numpy as np
import pytest

from streamgauge.models.windows import age_at_trigger
from streamgauge.topology.topology import Window


def test_count_windows_of_the_thesis():
    """Worked example 5.13: 16 a second, windows of ten; it counts ten gaps where nine pass."""
    for executors, seconds in ((1, 0.625), (16, 10.0)):
        found = age_at_trigger(Window(length_tuples=10), np.asarray([16 / executors]))
        assert found.mean == pytest.approx([seconds / 2 * 9 / 10])


def test_time_windows_hold_what_came_evenly():
    found = age_at_trigger(Window(length_seconds=5.0), np.asarray([3.0, 1e6]))
    assert found.mean == pytest.approx([2.5, 2.5])
    assert found.variance == pytest.approx([25 / 12, 25 / 12])


def test_a_window_of_one_tuple_fires_at_once():
    found = age_at_trigger(Window(length_tuples=1), np.asarray([2.0, 0.0]))
    assert found.mean == pytest.approx([0.0, 0.0])
    assert found.variance == pytest.approx([0.0, 0.0])


def test_where_nothing_comes_a_count_window_never_fires():
    found = age_at_trigger(Window(length_tuples=2), np.asarray([0.0]))
    assert np.isinf(found.mean[0])


def ages(window, rate, seconds=40_000.0):
    """Of all tuples of all windows that fire, by the plainest loop."""
    generator = np.random.default_rng(1)
    arrivals = np.cumsum(generator.exponential(1 / rate, round(rate * seconds)))
    if window.slide_seconds is None:
        triggers = arrivals[window.slide_tuples - 1 :: window.slide_tuples]
    else:
        triggers = np.arange(window.slide_seconds, arrivals[-1], window.slide_seconds)
    found = []
    for trigger in triggers[len(triggers) // 10 :]:
        end = int(np.searchsorted(arrivals, trigger, side="right"))
        if window.length_tuples is not None:
            start = max(end - window.length_tuples, 0)
        else:
            start = int(np.searchsorted(arrivals, trigger - window.length_seconds))
        found.append(trigger - arrivals[start:end])
    return np.concatenate(found)


@pytest.mark.parametrize(
    "window",
    [
        Window(length_tuples=10),
        Window(length_tuples=10, slide_tuples=4),
        Window(length_tuples=10, slide_seconds=1.5),
        Window(length_seconds=3.0),
        Window(length_seconds=3.0, slide_seconds=1.0),
        Window(length_seconds=3.0, slide_tuples=4),
    ],
    ids=Window.describe,
)
@pytest.mark.parametrize("rate", [0.8, 4.0])
def test_ages_are_those_of_drawn_arrivals(window, rate):
    drawn = ages(window, rate)
    found = age_at_trigger(window, np.asarray([rate]))
    assert found.mean[0] == pytest.approx(drawn.mean(), rel=0.02)
    assert found.variance[0] == pytest.approx(drawn.var(), rel=0.03)


@pytest.mark.parametrize(("burst", "turns"), [(5, 1), (1, 4)])
def test_bursts_and_turns_change_the_spread_and_not_the_mean(burst, turns):
    """Windows of 37 tuples, which bursts do not divide; gaps of bursts, or of every fourth."""
    generator = np.random.default_rng(2)
    gaps = generator.exponential(1.0, 400_000 * turns // burst)
    arrivals = np.repeat(np.cumsum(gaps)[turns - 1 :: turns], burst)
    rate = burst / turns
    count = len(arrivals) // 37 * 37
    windows = arrivals[:count].reshape(-1, 37)
    drawn = (windows[:, -1:] - windows).ravel()
    found = age_at_trigger(Window(length_tuples=37), np.asarray([rate]), burst / turns)
    assert found.mean[0] == pytest.approx(drawn.mean(), rel=0.02)
    assert found.variance[0] == pytest.approx(drawn.var(), rel=0.05)
