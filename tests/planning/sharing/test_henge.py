"""Henge's state machine: the published scenarios, rule by rule."""

from dataclasses import replace

import pytest

from streamgauge.planning.sharing.henge import (
    Henge,
    HengeParameters,
    HengeState,
    Mode,
    Rule,
    extra_executors,
    may_admit,
    take_round,
)
from tests.planning.sharing.clusters import cluster, job

RULES = HengeParameters()


def run(state, frames):
    """All rounds of some frames, ten seconds apart; the state and all decisions."""
    decisions = []
    for seen in frames:
        state, decision = take_round(state, seen, RULES)
        decisions.append(decision)
    return state, decisions


def rounds(begin, seconds, **frame):
    return [cluster(begin + at, **frame) for at in range(0, seconds, 10)]


@pytest.mark.parametrize(
    ("capacity", "more"),
    [(0.3, 0), (0.31, 1), (0.33, 1), (0.45, 5), (0.54, 8), (0.6, 10), (0.75, 15), (0.9, 20)],
)
def test_k3_to_k5_executors_more_by_capacity(capacity, more):
    assert extra_executors(capacity, RULES) == more


def test_a_capacity_beyond_one_counts_as_one():
    assert extra_executors(1.4, RULES) == extra_executors(1.0, RULES) == 24


def test_scenario_1_the_higher_priority_goes_first_then_the_lower_utility():
    _, (decision,) = run(HengeState(), [cluster(0, a=job(worth=10.0), b=job(worth=90.0))])
    assert decision.executors == {"b": {"work": 20}}
    _, (decision,) = run(HengeState(), [cluster(0, a=job(0.8), b=job(0.2))])
    assert set(decision.executors) == {"b"}


def test_scenario_2_a_job_that_gains_little_is_left_alone_for_an_hour():
    before, after = job(0.5), job(0.515, executors=20)
    state, decisions = run(
        HengeState(), [cluster(0, a=before), *rounds(10, 60, a=after), cluster(70, a=after)]
    )
    assert decisions[0].rule is Rule.RECONFIGURATION
    assert state.blacklist == {"a": 60.0 + 3600.0}
    # The step is kept: the best configuration that was seen is the present one.
    assert decisions[6].rule is Rule.REVERSION
    assert not decisions[6].acts


def test_scenario_3_all_content_for_four_rounds_is_converged():
    state, decisions = run(HengeState(), rounds(0, 40, a=job(1.0)))
    assert [one.rule for one in decisions] == [Rule.STABLE] * 3 + [Rule.CONVERGED]
    assert state.mode is Mode.CONVERGED


def lose(congested, *, settled=110, **others):
    """A step of job `a` after which the system is worth less."""
    begin = [cluster(0, congested, a=job(0.5), **others)]
    return [*begin, *rounds(10, settled, congested=congested, a=job(0.4, executors=20), **others)]


def test_scenario_4_a_loss_without_congestion_is_undone_for_all_jobs():
    _, decisions = run(HengeState(), lose(3, b=job(1.0)))
    undone = next(one for one in decisions if one.rule is Rule.REVERSION)
    assert undone.executors == {"a": {"work": 10}}
    assert decisions[-1].rule is Rule.WAIT


def test_a_reversion_ends_in_converged():
    state, _ = run(HengeState(), [*lose(3, b=job(1.0)), *rounds(120, 80, a=job(0.5), b=job(1.0))])
    assert state.mode is Mode.CONVERGED
    assert state.converged_at == pytest.approx(15.0)


def test_scenario_5_a_loss_under_congestion_takes_idle_executors_from_content_jobs():
    state, decisions = run(HengeState(), lose(6, settled=60, b=job(1.0, capacity=0.2)))
    assert decisions[-1].rule is Rule.REDUCTION
    # 80 % of both operators that are not congested; sources keep theirs (K7: 10 → 2, 5 → 1).
    assert decisions[-1].executors == {"b": {"work": 2, "store": 1}}
    assert state.reduced == {"b"}


def test_scenario_6_a_loss_after_a_reduction_is_a_lockout():
    content = job(1.0, capacity=0.2, executors=2, idle=1)
    worse = cluster(0, 6, a=job(0.3, executors=30), b=content)
    state, _ = run(HengeState(), lose(6, settled=60, b=job(1.0, capacity=0.2)))
    frames = [replace(worse, at=70.0 + at) for at in range(0, 200, 10)]
    frames[:7] = rounds(70, 70, congested=6, a=job(0.4, executors=20), b=content)
    state, decisions = run(state, frames)
    names = [one.rule for one in decisions if one.acts]
    assert names[0] is Rule.RECONFIGURATION
    assert Rule.REVERSION in names
    assert Rule.REDUCTION not in names


def converge(utility=1.0):
    state, _ = run(HengeState(), rounds(0, 40, a=job(1.0, worth=90.0), b=job(1.0, worth=10.0)))
    return state


@pytest.mark.parametrize(("worth", "forgets"), [(0.96, False), (0.93, True)])
def test_scenario_7_a_loss_of_more_than_a_twentieth_forgets_history(worth, forgets):
    # Both jobs are of the same objective, so a loss of one is a new violation in any case.
    state = replace(converge(), history=converge().history * 3)
    low = job(worth, worth=90.0)
    state, (decision,) = run(state, [cluster(50, a=low, b=job(1.0, worth=10.0))])
    assert decision.rule is Rule.RECONFIGURATION
    assert state.mode is Mode.NOT_CONVERGED
    assert (len(state.history) == 1) is forgets


def test_a_loss_of_a_job_that_was_given_up_does_not_leave_converged():
    state = replace(converge(), missed=frozenset({"a"}))
    state, (decision,) = run(state, [cluster(50, a=job(0.97, worth=90.0), b=job(1.0, worth=10.0))])
    assert decision.rule is Rule.CONVERGED


def test_scenario_8_nothing_is_done_without_metrics_and_five_minutes_after():
    frames = [cluster(at, stale=1020 <= at < 1380, a=job(0.5)) for at in range(1010, 1700, 10)]
    _state, decisions = run(replace(HengeState(), begun=0.0), frames)
    acted = [seen.at for seen, one in zip(frames, decisions, strict=True) if one.acts]
    # The step of 1010 s is judged when metrics of five minutes are there again.
    assert acted[0] == 1010
    assert all(at >= 1680 for at in acted[1:])
    assert decisions[1].rule is Rule.OUTAGE
    assert decisions[-5].rule is Rule.RECOVERY or frames[-5].at >= 1680


def test_scenario_9_as_many_threads_as_cores_and_half_of_the_machines_are_no_congestion():
    assert not cluster(0, congested=0).is_congested
    assert not cluster(0, congested=5).is_congested
    assert cluster(0, congested=6).is_congested


def test_scenario_10_another_job_clears_the_marks_of_reductions():
    state, _ = run(HengeState(), lose(6, settled=60, b=job(1.0, capacity=0.2)))
    state, _ = run(state, [cluster(70, 6, a=job(0.4), b=job(1.0), c=job(1.0))])
    assert state.reduced == frozenset()


def test_only_one_job_is_changed_in_a_step_and_nothing_until_it_settles():
    frames = [cluster(0, a=job(0.5), b=job(0.6)), *rounds(10, 50, a=job(0.7), b=job(0.6))]
    _, decisions = run(HengeState(), frames)
    assert len(decisions[0].executors) == 1
    assert not any(one.acts for one in decisions[1:])


def test_a_job_without_a_congested_operator_gets_nothing():
    _, (decision,) = run(HengeState(), [cluster(0, a=job(0.5, capacity=0.2), b=job(0.6))])
    assert set(decision.executors) == {"b"}


def test_no_decision_rests_on_what_is_not_known():
    unknown = replace(job(0.5), quality=replace(job(0.5).quality, latency_seconds={}))
    _, (decision,) = run(HengeState(), [cluster(0, a=unknown)])
    assert decision.rule is Rule.WAIT


def test_a_job_has_no_more_executors_than_tasks():
    full = job(0.5)
    full = replace(
        full, operators={**full.operators, "work": replace(full.operators["work"], tasks=12)}
    )
    _, (decision,) = run(HengeState(), [cluster(0, a=full)])
    assert decision.executors == {"a": {"work": 12}}


def test_the_beginning_is_left_alone_where_a_warm_up_is_asked_for():
    henge = Henge(HengeParameters(warm_up_seconds=900.0))
    decisions = {at: henge.decide(cluster(at, a=job(0.5))) for at in range(0, 920, 10)}
    assert not any(one.acts for at, one in decisions.items() if at < 900)
    assert decisions[900].acts


def test_jobs_are_admitted_while_all_others_are_content():
    assert may_admit(cluster(0, a=job(1.0)))
    assert not may_admit(cluster(0, a=job(1.0), b=job(0.9)))
