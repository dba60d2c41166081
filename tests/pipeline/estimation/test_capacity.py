"""Capacity: the worked examples of Henge."""

import pytest

from streamgauge.pipeline.estimation.capacity import capacity, is_congested, operator_capacity


def test_six_thousand_tuples_of_five_milliseconds_take_half_a_minute():
    assert capacity(6000, 5.0, 60.0) == pytest.approx(0.5)


def test_an_operator_is_as_busy_as_its_busiest_executor():
    assert operator_capacity([0.2, 0.7, 0.4]) == 0.7


def test_only_above_three_tenths_it_is_congested():
    assert not is_congested(0.3)
    assert is_congested(0.31)
