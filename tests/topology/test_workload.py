"""Workloads: a shape moves the rate about its mean and keeps the mean."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import InvalidInput
from streamgauge.topology import (
    Burst,
    Emission,
    Modulated,
    Operator,
    OperatorKind,
    Poisson,
    Recorded,
    Regular,
    Sawtooth,
    Seasonal,
    Shuffle,
    Stream,
    Topology,
    Unlimited,
    Workload,
)

SECONDS = st.floats(min_value=0.01, max_value=1e4)
STEPS = 20_000


def mean_over(shape, period: float, start: float = 0.0) -> float:
    """Integral of the factor over a period, by midpoints, over the period."""
    moments = (start + period * (step + 0.5) / STEPS for step in range(STEPS))
    return math.fsum(map(shape.factor_at, moments)) / STEPS


@pytest.mark.parametrize(
    ("shape", "period"),
    [
        (Poisson(), 1.0),
        (Regular(), 1.0),
        (Unlimited(), 1.0),
        (Burst(on_seconds=1, off_seconds=3), 4.0),
        (Burst(on_seconds=0.3, off_seconds=0.1), 0.4),
        (Burst(on_seconds=1, off_seconds=3, random=True), 4.0),
        (Modulated(factors=(1, 5), mean_seconds=(3, 1)), 4.0),
        (Seasonal(period_seconds=86400, amplitude=0.7, phase_seconds=-5000), 86400.0),
        (Sawtooth(period_seconds=30), 30.0),
        (Sawtooth(period_seconds=30, reverse=True), 30.0),
        (Recorded(bucket_seconds=2, values=(1, 2, 0, 7)), 8.0),
        (Recorded(bucket_seconds=0.1, values=(3,)), 0.1),
    ],
)
@pytest.mark.parametrize("start", [0.0, 7.25])
def test_a_shape_keeps_the_mean(shape, period, start):
    assert mean_over(shape, period, start) == pytest.approx(1.0, abs=2e-4)


@given(seconds=SECONDS, shape=st.sampled_from([Burst(on_seconds=2, off_seconds=3)]))
def test_a_burst_is_on_at_the_rate_that_makes_up_for_the_off(seconds, shape):
    assert shape.factor_at(seconds) == (2.5 if seconds % 5 < 2 else 0.0)


def test_a_season_crosses_its_mean_upward_at_its_phase():
    shape = Seasonal(period_seconds=4, amplitude=0.5, phase_seconds=1)
    factors = [shape.factor_at(seconds) for seconds in (1, 2, 3, 4)]
    assert factors == pytest.approx([1.0, 1.5, 1.0, 0.5])


def test_a_sawtooth_rises_to_twice_the_mean():
    factors = [Sawtooth(period_seconds=4).factor_at(seconds) for seconds in (0, 1, 2, 3, 4)]
    assert factors == [0.0, 0.5, 1.0, 1.5, 0.0]


def test_a_reverse_sawtooth_falls_from_twice_the_mean():
    shape = Sawtooth(period_seconds=4, reverse=True)
    assert [shape.factor_at(seconds) for seconds in (0, 1, 2, 3, 4)] == [2.0, 1.5, 1.0, 0.5, 2.0]


def test_a_record_repeats_when_it_ends():
    shape = Recorded(bucket_seconds=10, values=(1, 3))
    assert [shape.factor_at(s) for s in (0, 9.9, 10, 19.9, 20, 30)] == [
        0.5,
        0.5,
        1.5,
        1.5,
        0.5,
        1.5,
    ]


def test_a_modulated_rate_has_the_mean_one_over_time():
    """States of 3 s at 1 and 1 s at 5: mean 2, so 0.5 and 2.5."""
    assert Modulated(factors=(1, 5), mean_seconds=(3, 1)).scaled_factors == (0.5, 2.5)


@given(st.lists(st.tuples(st.floats(0, 100), SECONDS), min_size=2, max_size=5))
def test_a_modulated_rate_keeps_the_mean(states):
    factors, times = zip(*[(1.0, 1.0), *states], strict=True)
    scaled = Modulated(factors=factors, mean_seconds=times).scaled_factors
    mean = sum(f * t for f, t in zip(scaled, times, strict=True)) / sum(times)
    assert mean == pytest.approx(1.0)


def test_shares_are_even_unless_given():
    assert Emission(source="s", per_second=1).task_shares(4) == (0.25,) * 4
    assert Emission(source="s", per_second=1, shares=(0.9, 0.1)).task_shares(2) == (0.9, 0.1)


@pytest.mark.parametrize(
    ("make", "seen"),
    [
        (lambda: Emission(source="s"), "per_second: None"),
        (lambda: Emission(source="s", per_second=-1), "per_second: -1"),
        (lambda: Emission(source="s", per_second=1, shape=Unlimited()), "1 with the shape unlim"),
        (lambda: Emission(source="s", per_second=1, shares=(0.5, 0.4)), "shares that sum to 0.9"),
        (lambda: Emission(source="s", per_second=1, shares=(1.5, -0.5)), r"shares\[0\]: 1.5"),
        (lambda: Burst(on_seconds=0, off_seconds=1), "on_seconds: 0"),
        (lambda: Burst(on_seconds=1, off_seconds=-1), "off_seconds: -1"),
        (lambda: Seasonal(period_seconds=1, amplitude=1.1), "amplitude: 1.1"),
        (lambda: Seasonal(period_seconds=0, amplitude=1), "period_seconds: 0"),
        (lambda: Sawtooth(period_seconds=0), "period_seconds: 0"),
        (lambda: Recorded(bucket_seconds=1, values=()), "values"),
        (lambda: Recorded(bucket_seconds=1, values=(0, 0)), "only zeros"),
        (lambda: Recorded(bucket_seconds=1, values=(1, -1)), r"values\[1\]: -1"),
        (lambda: Modulated(factors=(1,), mean_seconds=(1,)), "at least two"),
        (lambda: Modulated(factors=(1, 2), mean_seconds=(1,)), "the same number of both"),
        (lambda: Modulated(factors=(0, 0), mean_seconds=(1, 1)), "only zeros"),
        (lambda: Workload(emissions=[Emission(source="s", per_second=1)] * 2), "s/default twice"),
    ],
)
def test_a_workload_that_cannot_be_is_refused(make, seen):
    with pytest.raises(InvalidInput, match=seen):
        make()


TOPOLOGY = Topology(
    name="t",
    operators=(Operator(name="src", kind=OperatorKind.SOURCE, tasks=2), Operator(name="a")),
    streams=(Stream(source="src", target="a", name="out", grouping=Shuffle()),),
)


@pytest.mark.parametrize(
    ("emission", "seen"),
    [
        (Emission(source="scr", stream="out", per_second=1), "did you mean 'src'"),
        (Emission(source="a", stream="out", per_second=1), r"\[0\].source: 'a'"),
        (Emission(source="src", per_second=1), "stream 'default', which has no subscriber"),
        (Emission(source="src", stream="out", per_second=1, shares=(1.0,)), "1 shares; expected 2"),
    ],
)
def test_an_emission_names_what_the_topology_has(emission, seen):
    with pytest.raises(InvalidInput, match=seen):
        Workload(emissions=(emission,)).check_against(TOPOLOGY)


TWO = Workload(
    emissions=(
        Emission(source="a", per_second=30.0, shape=Regular()),
        Emission(source="b", per_second=10.0),
        Emission(source="c", shape=Unlimited()),
    )
)


def test_another_rate_keeps_proportions_and_shapes():
    found = TWO.at_rate(80.0).emissions
    assert [one.per_second for one in found] == [60.0, 20.0, None]
    assert [one.shape for one in found] == [one.shape for one in TWO.emissions]


def test_only_the_streams_that_are_meant_get_another_rate():
    found = TWO.at_rate(80.0, [TWO.emissions[1].key]).emissions
    assert [one.per_second for one in found] == [30.0, 80.0, None]


def test_one_unlimited_stream_with_a_rate_arrives_at_random():
    found = TWO.at_rate(5.0, [TWO.emissions[2].key]).emissions[2]
    assert (found.per_second, found.shape) == (5.0, Poisson())


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_is_a_number_above_zero(rate):
    with pytest.raises(InvalidInput, match="above 0"):
        TWO.at_rate(rate)


def test_streams_without_any_rate_have_no_proportions():
    nothing = Workload(emissions=(TWO.emissions[2], Emission(source="d", per_second=0.0)))
    with pytest.raises(
        InvalidInput,
        match=r"5 tuples/s in total for c.*, d.*expected streams whose rates can be scaled",
    ):
        nothing.at_rate(5.0)
