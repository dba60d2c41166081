"""Objectives are read as people write them, and say how far a prediction is from them."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import InvalidInput
from streamgauge.models.end_to_end_latency import Latency
from streamgauge.models.objectives import (
    FIGURES,
    LatencyGoal,
    Objective,
    RateGoal,
    Scope,
    parse_objective,
)


def predicted(mean: float, p99: float, *, overloaded: bool = False) -> Any:
    latency = Latency(mean=mean, variance=0.0, quantiles={0.99: p99}, parts={})
    return SimpleNamespace(
        latency=latency, since_due=None, complete=None, overloaded={"m": 2.0} if overloaded else {}
    )


@pytest.mark.parametrize(
    ("text", "figure", "seconds", "scope"),
    [
        ("p99<50ms", "p99", 0.05, Scope.EMISSION),
        ("mean <= 2s", "mean", 2.0, Scope.EMISSION),
        ("p95≤1.5min", "p95", 90.0, Scope.EMISSION),
        ("complete p50<300us", "p50", 3e-4, Scope.COMPLETE),
        ("due.p90<1e-1s", "p90", 0.1, Scope.DUE),
    ],
)
def test_a_latency_goal_is_read(text: str, figure: str, seconds: float, scope: Scope) -> None:
    (goal,) = parse_objective(text).latencies
    assert (goal.figure, goal.scope) == (figure, scope)
    assert goal.most_seconds == pytest.approx(seconds)


def test_goals_with_commas_and_in_several_texts_are_all_meant() -> None:
    objective = parse_objective(["p99<50ms, rate>=5_000", "share>=95%"])
    assert objective == Objective(
        latencies=(LatencyGoal(figure="p99", most_seconds=0.05),),
        rates=(RateGoal(per_second=5000.0), RateGoal(share=0.95)),
    )


@given(
    figure=st.sampled_from(FIGURES),
    scope=st.sampled_from(list(Scope)),
    micros=st.integers(1, 10**9),
)
def test_what_is_printed_is_read_again(figure: str, scope: Scope, micros: int) -> None:
    goal = LatencyGoal(figure=figure, scope=scope, most_seconds=micros * 1e-6)
    (again,) = parse_objective(str(goal)).latencies
    assert (again.figure, again.scope) == (figure, scope)
    assert again.most_seconds == pytest.approx(goal.most_seconds, rel=1e-5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "p99<50ms, mean<2s"),
        ("fast", "p99<50ms, mean<2s"),
        ("p99>50ms", "a latency at most: p99<50ms"),
        ("p99<50", "a time with its unit, such as 50ms"),
        ("p99<0ms", "a time above zero"),
        ("p42<5ms", "one of mean, p50"),
        ("arrival p99<5ms", "one of emission, due, complete"),
        ("rate<=5", "a throughput at least"),
        ("rate>=5km", "tuples per second above zero"),
        ("share>=120%", "at most all of it"),
    ],
)
def test_what_is_not_understood_is_named_with_what_would_be(text: str, expected: str) -> None:
    with pytest.raises(InvalidInput, match=expected):
        parse_objective(text)


def test_every_wrong_part_is_named() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_objective("p99<50, p42<5ms, mean<1s")
    assert len(caught.value.problems) == 2


def test_the_goal_that_is_missed_by_most_counts() -> None:
    objective = parse_objective("mean<10ms, p99<100ms")
    assert objective.find_excess(predicted(0.005, 0.2)) == pytest.approx(math.log(2.0))
    assert objective.find_excess(predicted(0.005, 0.05)) == pytest.approx(math.log(0.5))


def test_an_overloaded_plan_misses_every_latency_goal() -> None:
    assert parse_objective("p99<1h").find_excess(predicted(0.1, 0.1, overloaded=True)) == math.inf


def test_latency_needs_all_of_the_load_and_a_share_alone_only_its_part() -> None:
    assert parse_objective("share>=90%").find_least_rate(1000.0) == pytest.approx(900.0)
    assert parse_objective("share>=90%, p99<1s").find_least_rate(1000.0) == 1000.0
    assert parse_objective("rate>=3000, p99<1s").find_least_rate(1000.0) == 3000.0
    assert parse_objective(None).find_least_rate(1000.0) == 1000.0
