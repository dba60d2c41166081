import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamgauge.errors import InvalidInput
from streamgauge.lake.histogram import (
    EDGES,
    LAST_BIN,
    WIDTH,
    bin_of,
    bounds_of,
    histogram_of,
    merge,
    quantile,
)

bins = st.integers(0, LAST_BIN)
# What the last bin holds has no upper end, hence no bound on the error of a quantile.
values = st.floats(0, EDGES[-1], exclude_max=True)
several = st.lists(values | st.integers(0, 10**10).map(float), min_size=1, max_size=60)
probabilities = st.floats(0, 1)


@given(st.floats(0, allow_infinity=False))
def test_a_value_lies_in_its_bin(value):
    low, high = bounds_of(bin_of(value))
    assert low <= value < high


@given(bins)
def test_a_bin_holds_its_lower_end_and_not_its_upper_end(number):
    low, high = bounds_of(number)
    assert bin_of(low) == number
    assert high == math.inf or bin_of(high) == number + 1


@given(values, values)
def test_larger_values_never_lie_in_lower_bins(one, other):
    assert (bin_of(one) <= bin_of(other)) or one > other


@given(st.integers(1, LAST_BIN - 1))
def test_bins_are_of_one_relative_width(number):
    low, high = bounds_of(number)
    assert high / low == pytest.approx(WIDTH, rel=1e-15)


def test_bins_on_paper():
    assert [bin_of(value) for value in (0, 0.99, 1, 1.09, 1.1, 2, 1024)] == [0, 0, 1, 1, 2, 9, 81]
    assert bounds_of(9)[0] == 2.0
    assert bounds_of(81) == (1024.0, 1024.0 * WIDTH)


@given(several, several)
def test_merging_is_as_good_as_counting_together(one, other):
    assert merge(histogram_of(one), histogram_of(other)) == histogram_of(one + other)


@given(several, several)
def test_merging_knows_no_order(one, other):
    first, second = histogram_of(one), histogram_of(other)
    assert list(merge(first, second).items()) == list(merge(second, first).items())


@given(several, probabilities)
def test_a_quantile_is_off_by_one_bin_width_at_most(seen, probability):
    rank = math.ceil(probability * len(seen))
    true = sorted(seen)[max(rank, 1) - 1]
    found = quantile(histogram_of(seen), probability)
    if true < 1:
        assert 0 <= found <= 1
    else:
        assert true / WIDTH <= found * (1 + 1e-12)
        assert found <= true * WIDTH * (1 + 1e-12)


@given(several, probabilities, probabilities)
def test_quantiles_do_not_fall(seen, one, other):
    assume(one <= other)
    histogram = histogram_of(seen)
    assert quantile(histogram, one) <= quantile(histogram, other)


def test_quantiles_on_paper():
    # A hundred observations in [1024, 1024 × 2^(1/8)): the median is the bin's geometric middle.
    assert quantile({81: 100}, 0.5) == pytest.approx(1024 * 2 ** (1 / 16))
    assert quantile({1: 1, 81: 1}, 0.5) == pytest.approx(WIDTH)
    assert quantile({0: 4}, 0.25) == 0.25
    assert quantile({LAST_BIN: 1}, 0.5) == EDGES[-1]


@pytest.mark.parametrize("value", [-1.0, -1e-300, math.inf, math.nan])
def test_what_cannot_be_measured_has_no_bin(value):
    with pytest.raises(InvalidInput):
        bin_of(value)


@pytest.mark.parametrize("number", [-1, LAST_BIN + 1])
def test_there_are_no_other_bins(number):
    with pytest.raises(InvalidInput):
        bounds_of(number)


@pytest.mark.parametrize(
    ("histogram", "probability", "seen"),
    [
        ({}, 0.5, "no observations"),
        ({3: 0}, 0.5, "no observations"),
        ({3: -1}, 0.5, "a negative or infinite weight"),
        ({3: 1}, 1.1, "probability: 1.1"),
    ],
)
def test_quantiles_of_nothing_are_refused(histogram, probability, seen):
    with pytest.raises(InvalidInput, match=seen):
        quantile(histogram, probability)
