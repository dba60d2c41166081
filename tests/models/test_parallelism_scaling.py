"""How capacity grows with parallelism: published runs, laws, and where it shrinks."""

import csv
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.models.capacity_fit import Fitted, mean_of
from streamgauge.models.parallelism_scaling import (
    half_width,
    learn_exponent,
    scale_by_power,
    scale_linearly,
)
from streamgauge.profile.observed import Scaling

# Data that lie beside the project, where somebody put them.
DATA = os.environ.get("STREAMGAUGE_DATA", "../shared/data")
PUBLIC_RUNS = Path(DATA) / "scale-outs/flink-vehicle-counts.csv"


def exactly(**capacities):
    return {
        int(name[1:]): Fitted(value=value, half_width=0.01 * value, observations=10)
        for name, value in capacities.items()
    }


def test_three_splitters_did_two_and_a_half_times_as_much_as_one():
    """Caladrius: 11 and 27.526 million sentences a minute."""
    found = learn_exponent(exactly(p1=11.0, p3=27.526))
    assert found.exponent == pytest.approx(0.83, abs=0.01)
    assert found.executors == (1, 3)
    assert found.exponent + half_width(found) < 1.0


def test_the_public_runs_grow_by_a_power_of_0_95(project):
    runs = project / PUBLIC_RUNS
    if not runs.exists():
        pytest.skip("the public runs are not here: STREAMGAUGE_DATA names their folder")
    saturated = {
        int(row["scaleOut"]): mean_of([float(row["avgThr"])])
        for row in csv.DictReader(runs.read_text().splitlines())
        if row["isBckPres"] == "1" or row["scaleOut"] == "11"
    }
    found = learn_exponent(saturated)
    assert found.exponent == pytest.approx(0.95, abs=0.01)
    assert found.executors == (2, 5, 8, 11, 14, 17, 20, 23)
    # The linear rule from 2 executors is far above what 23 did, the learned exponent is not.
    linear = scale_linearly(saturated[2], 2, 23).value / saturated[23].value
    power = scale_by_power(saturated[2], 2, 23, found).value / saturated[23].value
    assert linear > 1.1
    assert power == pytest.approx(1.0, abs=0.05)


def test_more_executors_may_do_harm():
    assert learn_exponent(exactly(p2=10.0, p4=8.0)).exponent == pytest.approx(math.log(0.8, 2))


def test_one_parallelism_says_nothing():
    assert learn_exponent(exactly(p3=10.0)) is None
    assert learn_exponent({}) is None


def test_two_single_observations_leave_the_error_unknown():
    found = learn_exponent({1: mean_of([10.0]), 2: mean_of([18.0])})
    assert found.standard_error is None
    assert math.isnan(half_width(found))


def test_ninety_of_a_hundred_intervals_hold_the_exponent():
    generator, held = np.random.default_rng(2), []
    for _ in range(500):
        noise = np.exp(0.05 * generator.standard_normal(6))
        capacities = {
            p: Fitted(value=10.0 * p**0.55 * one, half_width=0.1, observations=9)
            for p, one in zip((1, 2, 3, 4, 6, 8), noise, strict=True)
        }
        found = learn_exponent(capacities)
        held.append(abs(found.exponent - 0.55) <= half_width(found))
    assert 0.86 <= np.mean(held) <= 0.94


@given(exponent=st.floats(-0.5, 1.2), wanted=st.integers(1, 100))
def test_a_power_law_is_found_and_goes_on(exponent, wanted):
    capacities = exactly(**{f"p{p}": 7.0 * p**exponent for p in (1, 2, 5, 9)})
    found = learn_exponent(capacities)
    assert found.exponent == pytest.approx(exponent, abs=1e-9)
    scaled = scale_by_power(capacities[2], 2, wanted, found)
    assert scaled.value == pytest.approx(7.0 * wanted**exponent)


def test_an_exponent_of_one_is_the_linear_rule():
    capacity = Fitted(value=30.0, half_width=1.0, observations=10)
    linear = scale_linearly(capacity, 3, 5)
    power = scale_by_power(capacity, 3, 5, Scaling(exponent=1.0, standard_error=0.0))
    assert (power.value, power.half_width) == pytest.approx((linear.value, linear.half_width))
