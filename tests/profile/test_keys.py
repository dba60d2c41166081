"""Keys: their names, and how often each comes."""

import re

import numpy as np
import pytest

from streamgauge.errors import InvalidInput
from streamgauge.profile.keys import GivenKeys, LetterKeys, UniformKeys, ZipfKeys

GIVEN = GivenKeys(weights={"a": 1, "b": 0, "c": 3})
LETTERS = LetterKeys(count=700, length=4, deviation=140.0)


def test_uniform_keys_come_equally_often():
    assert UniformKeys(count=4).shares().tolist() == [0.25] * 4


def test_numbered_keys_are_padded_to_one_width():
    assert UniformKeys(count=11, prefix="word").names()[:2] == ("word00", "word01")
    assert UniformKeys(count=10).names()[-1] == "key9"
    assert UniformKeys(count=1).names() == ("key0",)


def test_zipf_keys_come_in_proportion_to_a_power_of_their_rank():
    """1, 1/2, 1/3 over 11/6."""
    assert ZipfKeys(count=3).shares() == pytest.approx([6 / 11, 3 / 11, 2 / 11])
    assert ZipfKeys(count=3, exponent=2.0).shares()[2] == pytest.approx((1 / 9) / (49 / 36))


def test_zipf_keys_of_exponent_zero_are_uniform():
    assert ZipfKeys(count=4, exponent=0.0).shares().tolist() == [0.25] * 4


def test_given_keys_come_by_weight():
    assert GIVEN.names() == ("a", "b", "c")
    assert GIVEN.shares().tolist() == [0.25, 0.0, 0.75]


@pytest.mark.parametrize(
    "keys", [UniformKeys(count=7), ZipfKeys(count=1000, exponent=1.1), LETTERS, GIVEN]
)
def test_shares_sum_to_one_and_fit_the_names(keys):
    assert keys.shares().sum() == pytest.approx(1.0)
    assert len(keys.shares()) == len(keys.names()) == len(set(keys.names()))


@pytest.mark.parametrize("keys", [UniformKeys(count=7), ZipfKeys(count=50), GIVEN])
def test_samples_come_as_often_as_the_shares_say(keys):
    drawn = keys.sample(np.random.default_rng(23), 200_000)
    seen = np.bincount(drawn, minlength=len(keys.names())) / len(drawn)
    assert seen == pytest.approx(keys.shares(), abs=5 * 0.5 / len(drawn) ** 0.5)


def test_a_weight_of_zero_is_never_drawn():
    assert 1 not in GIVEN.sample(np.random.default_rng(29), 10_000)


@pytest.mark.parametrize(
    ("make", "seen"),
    [
        (lambda: UniformKeys(count=0), "count: 0"),
        (lambda: UniformKeys(count=10**8), "count: 100000000"),
        (lambda: ZipfKeys(count=2, exponent=-1), "exponent: -1"),
        (lambda: ZipfKeys(count=2, exponent=51), "exponent: 51"),
        (lambda: GivenKeys(weights={}), "weights: no keys"),
        (lambda: GivenKeys(weights={"a": 0}), "weights: only zeros"),
        (lambda: GivenKeys(weights={"a": -1, "b": 1}), "weights.a: -1"),
    ],
)
def test_keys_that_cannot_be_are_refused(make, seen):
    with pytest.raises(InvalidInput, match=re.escape(seen)):
        make()


def test_letters_count_with_the_last_letter_fastest():
    names = LetterKeys(count=28, length=3).names()
    assert (names[0], names[1], names[25], names[26]) == ("aaa", "aab", "aaz", "aba")
    assert LetterKeys(count=1, length=5).names() == ("aaaaa",)


def test_no_more_keys_than_their_letters_can_make():
    assert LetterKeys(count=676, length=2).names()[-1] == "zz"
    with pytest.raises(InvalidInput, match=r"100 keys of 1 letters; expected at most 26$"):
        LetterKeys(count=100, length=1)


def test_with_a_deviation_keys_in_the_middle_are_the_most_frequent():
    shares = LetterKeys(count=100, length=8, deviation=20.0).shares()
    assert shares.argmax() == 50
    assert shares.sum() == pytest.approx(1.0)
    assert shares[50] / shares[30] == pytest.approx(np.exp(0.5), rel=1e-3)
