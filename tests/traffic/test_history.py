"""The clock of days, also across changes to and from daylight-saving time; rungs."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.traffic.history import Clock, make_rungs

HOUR_US = 3_600_000_000
# Clocks in Berlin went back by an hour on 2019-10-27 at 01:00 UTC.
BEFORE = datetime(2019, 10, 26, tzinfo=UTC)


def start_us(moment):
    return int(moment.timestamp() * 1_000_000)


def test_a_day_is_24_hours_of_utc_without_a_zone():
    clock = Clock(start_us(BEFORE), HOUR_US)
    assert clock.day == 24
    assert clock.slot(np.array([0, 25, 47])).tolist() == [0, 1, 23]
    assert clock.earlier(np.array([30, 200]), 7).tolist() == [30 - 168, 32]


def test_the_same_hour_of_yesterday_is_25_hours_ago_after_clocks_went_back():
    clock = Clock(start_us(BEFORE), HOUR_US, ZoneInfo("Europe/Berlin"))
    # Noon UTC of the 27th is 13:00 in Berlin; 13:00 of the 26th was 11:00 UTC.
    assert clock.earlier(np.array([36]), 1).tolist() == [11]
    assert clock.slot(np.array([36, 11])).tolist() == [13, 13]
    # A day later both are in winter.
    assert clock.earlier(np.array([60]), 1).tolist() == [36]


def test_a_step_that_does_not_divide_a_day_has_no_days():
    assert Clock(0, 7 * 60 * 1_000_000).day == 0
    assert Clock(0, 24 * HOUR_US).day == 0


@given(st.integers(1, 20_000))
def test_rungs_ascend_from_one_to_the_horizon_by_at_most_a_half(horizon):
    rungs = make_rungs(horizon)
    assert rungs[0] == 1 and rungs[-1] == horizon
    assert (np.diff(rungs) > 0).all()
    assert (rungs[1:] <= np.maximum(1.5 * rungs[:-1], rungs[:-1] + 1)).all()
