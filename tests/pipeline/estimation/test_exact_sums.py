"""Sums lose nothing before they are rounded."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.pipeline.estimation.exact_sums import (
    Limbs,
    added,
    carried,
    limb_sums,
    rounded,
    square_sums,
)

# Values that meet the borders of limbs, and one of the largest that can be summed.
LARGE = [0.0, 1.0, 2.0**40 - 1, 2.0**40, 2.0**53 - 1, 2.0**63, 2.0**80 + 2.0**40, 2.0**109]
COUNTS = [0, 1, 2**24 - 1, 2**24, 2**31 + 7, 2**47 - 1]
WHOLE = st.integers(-(2**53), 2**53) | st.sampled_from([int(one) for one in LARGE])
START = np.zeros(1, np.int64)


def test_sums_are_rounded_once():
    assert rounded(limb_sums(np.asarray(LARGE), START)).tolist() == [
        float(sum(int(one) for one in LARGE))
    ]
    assert rounded(square_sums(np.asarray(COUNTS, dtype=float), START)).tolist() == [
        float(sum(one**2 for one in COUNTS))
    ]
    # Small numbers are not lost where a sum is below zero.
    below = np.asarray([-(2.0**70) - 2.0**20, 5.0, -7.0])
    assert rounded(limb_sums(below, START)).tolist() == [float(-(2**70) - 2**20 - 2)]


@given(st.lists(WHOLE, min_size=2, max_size=20), st.integers(1, 19))
def test_parts_have_the_sum_of_the_whole(numbers, cut):
    values = np.asarray(numbers, dtype=float)
    cut = min(cut, len(values) - 1)
    whole = rounded(limb_sums(values, START))
    parts = [carried(limb_sums(part, START)).filled() for part in (values[:cut], values[cut:])]
    joined = Limbs(*(np.concatenate(limbs) for limbs in zip(*parts, strict=True)))
    assert rounded(added(joined, START)).tolist() == whole.tolist()
    assert whole[0] == float(sum(numbers)) or abs(sum(numbers)) >= 2**80


def test_many_large_numbers_have_an_exact_sum():
    # As many buckets as are read at once, each with the largest count that is taken.
    many, most = 1_000_000, 2**47 - 1
    values = np.full(many, float(most))
    assert rounded(limb_sums(values, START)).tolist() == [float(many * most)]
    assert rounded(square_sums(values, START)).tolist() == [float(many * most**2)]
    # The largest that are squared and added without being cut.
    small = 2**20 - 1
    assert rounded(square_sums(np.full(many, float(small)), START)).tolist() == [
        float(many * small**2)
    ]
