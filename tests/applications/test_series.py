"""How instances and loads are distributed over tasks (Pagliari 2021, section 4.6.2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.applications.workflow import Balancing, spread_load, spread_parallelism
from streamgauge.errors import InvalidInput

BALANCED, INCREASING, DECREASING, PYRAMID = Balancing


@st.composite
def totals(draw):
    """A total, and components that each get at least one of it."""
    components = draw(st.integers(min_value=2, max_value=40))
    total = draw(st.integers(min_value=components, max_value=5000))
    return total, components, draw(st.floats(min_value=0.0, max_value=1.0))


@given(totals(), st.sampled_from(Balancing))
def test_every_component_gets_at_least_one_and_all_together_the_total(given_total, balancing):
    total, components, variability = given_total
    series = spread_parallelism(total, components, balancing, variability)
    assert sum(series) == total
    assert min(series) >= 1
    assert len(series) == components


@given(totals())
def test_an_increasing_series_never_falls_and_a_decreasing_one_is_its_mirror_image(given_total):
    total, components, variability = given_total
    rising = spread_parallelism(total, components, INCREASING, variability)
    assert list(rising) == sorted(rising)
    assert spread_parallelism(total, components, DECREASING, variability) == rising[::-1]


@given(totals())
def test_a_pyramid_rises_to_its_highest_and_falls_after_it(given_total):
    total, components, variability = given_total
    series = list(spread_parallelism(total, components, PYRAMID, variability))
    top = series.index(max(series))
    assert series[: top + 1] == sorted(series[: top + 1])
    assert series[top:] == sorted(series[top:], reverse=True)


@given(totals())
def test_balanced_parts_differ_by_one_at_most_and_the_first_have_more(given_total):
    total, components, _ = given_total
    series = spread_parallelism(total, components, BALANCED)
    assert list(series) == sorted(series, reverse=True)
    assert series[0] - series[-1] <= 1


@pytest.mark.parametrize(
    ("components", "total", "increasing", "pyramid"),
    [
        (5, 18, (2, 3, 4, 4, 5), (2, 3, 6, 5, 2)),
        (4, 96, (12, 19, 25, 40), (12, 20, 40, 24)),
        (6, 24, (2, 3, 4, 5, 5, 5), (2, 3, 4, 7, 6, 2)),
        (3, 10, (2, 3, 5), (2, 4, 4)),
        (5, 10, (1, 2, 2, 2, 3), (1, 2, 3, 3, 1)),
        (5, 19, (2, 3, 4, 5, 5), (2, 3, 7, 5, 2)),
        (7, 1000, (71, 101, 125, 145, 164, 181, 213), (71, 108, 147, 243, 242, 117, 72)),
    ],
)
def test_the_series_are_those_of_the_authors_software(components, total, increasing, pyramid):
    assert spread_parallelism(total, components, INCREASING) == increasing
    assert spread_parallelism(total, components, PYRAMID) == pyramid


@pytest.mark.parametrize(
    ("variability", "expected"),
    [
        (0.2, (3, 3, 4, 4, 4)),
        (0.4, (2, 3, 4, 4, 5)),
        (0.6, (2, 3, 3, 4, 6)),
        (0.7, (1, 3, 3, 4, 7)),
    ],
)
def test_a_higher_variability_makes_the_series_steeper(variability, expected):
    assert spread_parallelism(18, 5, INCREASING, variability) == expected


def test_fewer_instances_than_components_are_refused():
    with pytest.raises(InvalidInput, match="at least 5"):
        spread_parallelism(4, 5)


@pytest.mark.parametrize(
    ("balancing", "expected"),
    [
        (BALANCED, [10, 10, 10, 10]),
        (INCREASING, [10, 12, 14.4, 17.28]),
        (DECREASING, [10, 8, 6.4, 5.12]),
        (PYRAMID, [10, 12, 9.6, 7.68]),
    ],
)
def test_loads_begin_with_the_first_tasks_and_change_by_a_fifth(balancing, expected):
    assert spread_load(10.0, 4, balancing) == pytest.approx(expected)


def test_the_highest_load_of_a_pyramid_is_in_the_middle():
    assert spread_load(10.0, 5, PYRAMID) == pytest.approx([10, 12, 14.4, 11.52, 9.216])


@pytest.mark.parametrize(
    ("balancing", "total"), [(BALANCED, 30.0), (INCREASING, 36.4), (DECREASING, 24.4)]
)
def test_three_tasks_with_a_base_of_10_have_the_sums_of_section_5_2(balancing, total):
    assert sum(spread_load(10.0, 3, balancing)) == pytest.approx(total)
