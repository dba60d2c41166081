"""Ranges and periods of time lines, against lines that are known."""

import math

import numpy as np
import pytest

from streamgauge.models.swing import crests_of, period_of, swing_of

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
    assert len(crests_of(teeth(20.0) + noise)) == 5
    assert period_of(TIMES, teeth(20.0) + noise) == pytest.approx(20.0, rel=0.05)


def test_what_begins_or_ends_high_is_no_crest():
    line = np.asarray([9.0, 8.0, 1.0, 5.0, 9.0, 6.0, 0.0, 2.0, 8.0, 9.0])
    assert crests_of(line) == [4]


@pytest.mark.parametrize("line", [np.full(100, 7.0), np.linspace(0.0, 1.0, 100), teeth(90.0)])
def test_fewer_than_two_crests_have_no_period(line):
    assert period_of(TIMES, line) is None


def test_the_range_is_that_of_latency_where_there_is_any():
    latency = np.where(TIMES > 50.0, teeth(20.0) / 100.0, math.nan)
    found = swing_of(TIMES, teeth(20.0), latency)
    assert (found.lowest, found.highest) == pytest.approx((1.0, 4.0), rel=0.05)
    assert math.isnan(swing_of(TIMES, teeth(20.0), np.full(100, math.nan)).lowest)
