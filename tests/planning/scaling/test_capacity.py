"""What a unit can process, by the clock, by its CPU, and by what it was seen to use."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import InvalidInput
from streamgauge.planning.scaling.from_profile import estimated_unit_maximum, unit_capacity

seconds = st.floats(1e-6, 10.0)


def test_the_lesser_of_clock_and_cpu_counts():
    assert unit_capacity(cpu_seconds=0.02, wait_seconds=0.08) == pytest.approx(10)
    assert unit_capacity(cpu_seconds=0.02, unit_cores=0.1) == pytest.approx(5)
    assert unit_capacity(cpu_seconds=0.02, beside_seconds=0.03) == pytest.approx(20)


def test_what_takes_no_time_has_no_limit():
    assert unit_capacity(cpu_seconds=0.0) == math.inf


def test_cpu_used_scales_up_to_the_limit():
    # Half of a tenth of a core for 80 tuples a second.
    assert estimated_unit_maximum(80, used_cores=0.05, limit_cores=0.1) == pytest.approx(160)


@given(seconds, st.floats(0.01, 0.99), st.floats(0.05, 4.0))
def test_the_estimate_is_the_capacity_of_work_that_only_computes(cpu, load, cores):
    processed = load * cores / cpu
    estimate = estimated_unit_maximum(processed, used_cores=processed * cpu, limit_cores=cores)
    assert estimate == pytest.approx(cores / cpu)


def test_no_cpu_in_use_says_nothing():
    with pytest.raises(InvalidInput, match="used_cores: 0"):
        estimated_unit_maximum(80, used_cores=0)
