"""Capacity: a worked example of Henge."""

import pytest

from streamgauge.pipeline.estimation.subject_profiles import capacity


def test_six_thousand_tuples_of_five_milliseconds_take_half_a_minute():
    assert capacity(6000, 5.0, 60.0) == pytest.approx(0.5)
