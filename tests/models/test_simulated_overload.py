"""What a simulation showed: who is overloaded, a source or two processors, and how lines swing."""

import math

import numpy as np
import pytest

from streamgauge.models.simulated_overload import (
    Observed,
    find_crests,
    find_overload,
    find_swing,
    period_of,
)

BOLTS = np.asarray([False, True, True])
NOBODY = np.zeros(3, dtype=bool)


def observed(**changes):
    """100 tuples a second for 1,000 s, half of the time each."""
    figures = dict.fromkeys(("executed", "emitted", "cores", "length"), np.zeros(3))
    figures |= {"held": np.zeros(3), "utilisation": np.full(3, 0.5)}
    figures |= {"arrived": np.asarray([0.0, 100.0, 100.0]), "due": np.asarray([100.0, 0.0, 0.0])}
    figures |= {"executed": figures["arrived"], "emitted": np.full(3, 100.0)}
    figures |= {name: np.asarray(values, dtype=float) for name, values in changes.items()}
    return Observed(seconds=1000.0, by_operator={}, **figures)


def loads(bounded=NOBODY, outgrown=False, **changes):
    return dict(find_overload(observed(**changes), BOLTS, bounded=bounded, outgrown=outgrown).loads)


def test_who_keeps_up_is_not_overloaded():
    assert loads() == {}
    # One in a thousand more may come than is served, and busy is not too busy.
    assert loads(utilisation=[0.5, 0.99, 0.5], executed=[0, 99.9, 100]) == {}


def test_a_queue_that_grows_has_the_load_of_what_comes_over_what_is_served():
    grows = {"utilisation": [0.5, 1.0, 0.5], "executed": [0, 80, 100]}
    assert loads(**grows) == pytest.approx({1: 1.25})
    assert loads(bounded=np.asarray([False, True, False]), **grows) == {}


def test_who_works_all_the_time_while_sources_are_held_back_is_to_blame():
    late = {"emitted": [80, 80, 0], "arrived": [0, 80, 80], "executed": [0, 80, 80]}
    late |= {"held": [0.4, 0, 0]}
    assert loads(utilisation=[0.5, 0.5, 1.0], **late) == pytest.approx({2: 1.25})
    # Nobody does: roots are limited, and it is the source that cannot.
    assert loads(**late) == pytest.approx({0: 1.25})


def test_a_source_that_takes_too_long_itself_is_overloaded():
    assert loads(utilisation=[1.0, 0.4, 0.4], emitted=[80, 80, 0]) == pytest.approx({0: 1.25})


def test_a_source_that_emits_less_by_chance_or_shape_is_not_late():
    assert loads(emitted=[80, 80, 0]) == {}


def test_when_more_waits_than_can_be_simulated_it_is_where_most_wait():
    assert loads(outgrown=True, length=[0, 10, 1e6]) == {2: 1.0}


TIMES = np.arange(1.0, 101.0)


def teeth(period, *, rise=0.7):
    """Up in the first part of each period, down in the rest; from 100 to 400."""
    part = (TIMES % period) / period
    return 100.0 + 300.0 * np.where(part < rise, part / rise, (1.0 - part) / (1.0 - rise))


@pytest.mark.parametrize("period", [8.0, 20.0, 33.0])
def test_the_period_is_from_crest_to_crest(period):
    assert period_of(TIMES, teeth(period)) == pytest.approx(period, rel=0.05)


def test_noise_makes_no_crests():
    noise = np.random.default_rng(3).normal(0.0, 10.0, len(TIMES))
    assert len(find_crests(teeth(20.0) + noise)) == 5
    assert period_of(TIMES, teeth(20.0) + noise) == pytest.approx(20.0, rel=0.05)


def test_what_begins_or_ends_high_is_no_crest():
    line = np.asarray([9.0, 8.0, 1.0, 5.0, 9.0, 6.0, 0.0, 2.0, 8.0, 9.0])
    assert find_crests(line) == [4]


@pytest.mark.parametrize("line", [np.full(100, 7.0), np.linspace(0.0, 1.0, 100), teeth(90.0)])
def test_fewer_than_two_crests_have_no_period(line):
    assert period_of(TIMES, line) is None


def test_the_range_is_that_of_latency_where_there_is_any():
    latency = np.where(TIMES > 50.0, teeth(20.0) / 100.0, math.nan)
    found = find_swing(TIMES, teeth(20.0), latency)
    assert (found.lowest, found.highest) == pytest.approx((1.0, 4.0), rel=0.05)
    assert math.isnan(find_swing(TIMES, teeth(20.0), np.full(100, math.nan)).lowest)
