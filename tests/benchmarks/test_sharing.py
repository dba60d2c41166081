"""Policies are compared world by world."""

import math

import pytest

from benchmarks.sharing import FOLDER, SCENARIOS, _compare, _make_cluster, _sign
from streamgauge.planning.sharing.policy import load_policy, policy_names


def test_differences_are_those_of_the_same_world():
    row = _compare([3.0, 5.0, 7.0], [2.0, 4.0, 6.0])
    assert (row["ours"], row["theirs"], row["difference"], row["half width"]) == (5, 4, 1, 0)


def test_worlds_without_a_figure_are_left_out():
    row = _compare([3.0, math.nan, 5.0], [1.0, 2.0, 3.0])
    assert (row["ours"], row["theirs"]) == (4.0, 2.0)


@pytest.mark.parametrize(
    ("difference", "half_width", "more_is_better", "sign"),
    [(1.0, 0.5, True, 1), (1.0, 0.5, False, -1), (1.0, 2.0, True, 0), (0.4, 0.1, True, 0)],
)
def test_a_win_is_a_difference_that_its_interval_does_not_explain(
    difference, half_width, more_is_better, sign
):
    row = {"ours": 0.0, "theirs": 100.0, "difference": difference, "half width": half_width}
    assert _sign(row, more_is_better=more_is_better) == sign


def test_there_are_ten_scenarios():
    assert len(set(SCENARIOS)) == 10
    assert all((FOLDER / f"{name}.yaml").exists() for name in SCENARIOS)


@pytest.mark.parametrize("name", policy_names())
def test_the_cluster_that_cycles_are_timed_with_is_one_that_policies_take(name):
    seen = _make_cluster(at=0.0, busy=0.95)
    assert sum(sum(job.executors.values()) for job in seen.jobs.values()) == 100 * (50 + 1)
    load_policy(name).decide(seen)
