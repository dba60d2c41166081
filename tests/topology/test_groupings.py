"""Groupings: custom rows are shares, keyed ones have keys."""

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.topology import Custom, Fields, PartialKey


@pytest.mark.parametrize("row", [[0.5, 0.4], [0.7, 0.7], [0.0, 0.0], [0.333, 0.333]])
def test_a_custom_row_sums_to_one(row):
    with pytest.raises(InvalidInput, match=rf"matrix\[1\]: a row that sums to {sum(row):.6g}"):
        Custom(matrix=[[0.5, 0.5], row])


@pytest.mark.parametrize("row", [[1 / 3, 1 / 3, 1 / 3], [0.1] * 10, [0.3333333, 0.6666667]])
def test_rounding_in_a_custom_row_is_forgiven(row):
    assert Custom(matrix=[row]).matrix == (tuple(row),)


@pytest.mark.parametrize("share", [-0.5, 1.5, float("nan"), float("inf"), True, "1"])
def test_a_custom_share_is_a_number_from_zero_to_one(share):
    with pytest.raises(InvalidInput, match=r"matrix\[0\]\[1\]"):
        Custom(matrix=[[0.5, share]])


@pytest.mark.parametrize("matrix", [[], [[]]])
def test_a_custom_matrix_is_not_empty(matrix):
    with pytest.raises(InvalidInput, match="an empty matrix"):
        Custom(matrix=matrix)


def test_custom_rows_are_equally_long():
    with pytest.raises(InvalidInput, match="a row of 1 shares; expected 2 shares"):
        Custom(matrix=[[0.5, 0.5], [1.0]])


@pytest.mark.parametrize("kind", [Fields, PartialKey])
def test_a_keyed_grouping_has_a_key(kind):
    with pytest.raises(InvalidInput, match="keys: no key; expected at least one"):
        kind(keys=())


def test_a_label_names_the_keys():
    assert Fields(keys=["user", "day"]).describe() == "fields(user, day)"
