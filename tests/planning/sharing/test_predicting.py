"""The predicting policy: it takes back what did not help, and says how old its figures are."""

from dataclasses import replace

import pytest

from streamgauge.planning.sharing.observation import JobSeen, OperatorSeen
from streamgauge.planning.sharing.policies.predict import Predicting, PredictParameters
from streamgauge.planning.sharing.slo import Quality, Slo, Statistic
from tests.planning.sharing.clusters import cluster


def job(latency, *, load=190.0, executors=2, doubt="", lag=0.0):
    """A source and one operator, of which two executors can do 200/s; at most 100 ms are wanted."""
    return JobSeen(
        slo=Slo(latency_seconds=0.1, max_utility=10.0),
        operators={
            "source": OperatorSeen(
                executors=1, tasks=1, is_source=True, sent_per_second=load, capacity=0.1
            ),
            "work": OperatorSeen(
                executors=executors,
                tasks=64,
                executed={"source": load},
                sent_per_second=load,
                capacity=load / (100.0 * executors),
            ),
        },
        offered_per_second=load,
        lag=lag,
        quality=Quality(latency_seconds={Statistic.MEAN: latency}, juice=1.0),
        doubt=doubt,
    )


def run(policy, frames):
    """Decisions by time; a frame is a job for each ten seconds."""
    return {at: policy.decide(cluster(at, a=one)) for at, one in frames.items()}


def steady(begin, end, one):
    return dict.fromkeys(range(begin, end, 10), one)


def acts(decisions):
    return {at: one.executors["a"]["work"] for at, one in decisions.items() if one.acts}


def grow(policy):
    """The first change: a job that misses its objective gets executors."""
    changed = acts(run(policy, steady(0, 70, job(0.3))))
    assert list(changed) == [60]
    assert changed[60] > 2
    return changed[60]


def test_a_change_that_made_a_job_worse_is_undone():
    policy = Predicting()
    new = grow(policy)
    decisions = run(policy, steady(70, 260, job(1.0, executors=new)))
    assert acts(decisions) == {170: 2}
    assert "was expected: back to before" in decisions[170].reason
    # It is not tried again at once …
    again = run(policy, steady(260, 1500, job(0.3)))
    assert not acts(again)
    # … unless there is more to do.
    assert acts(run(policy, steady(1500, 1600, job(0.3, load=240.0))))


def test_a_change_that_helped_is_kept():
    policy = Predicting()
    new = grow(policy)
    assert not acts(run(policy, steady(70, 600, job(0.05, executors=new))))


def test_nothing_is_judged_under_another_load():
    policy = Predicting()
    new = grow(policy)
    worse = job(1.0, load=400.0, executors=new)
    reasons = [one.reason for one in run(policy, steady(70, 260, worse)).values()]
    assert not any("back to before" in one for one in reasons)


def test_a_job_that_catches_up_is_not_judged_yet():
    policy = Predicting()
    new = grow(policy)
    behind = job(1.0, executors=new, lag=5000.0)
    decisions = run(policy, steady(70, 600, behind))
    assert not any("back to before" in one.reason for one in decisions.values())


def test_decisions_say_how_old_the_figures_are():
    decisions = run(Predicting(), steady(0, 70, job(0.3)))
    assert "profile 0 s old" in decisions[60].reason


def test_figures_that_are_too_old_are_not_acted_on():
    policy = Predicting(PredictParameters(oldest_seconds=600.0))
    # It meets its objective while figures can be believed.
    run(policy, steady(0, 120, job(0.05, load=100.0)))
    doubtful = job(0.05, load=100.0, doubt="metrics that cannot be")
    late = run(policy, steady(120, 900, doubtful))
    assert not acts(late)
    assert late[890].reason == "a: its profile is 780 s old, too old to act on"


def test_of_a_job_that_was_never_seen_to_work_nothing_is_known():
    idle = job(0.3, load=0.0)
    decisions = run(Predicting(), steady(0, 70, idle))
    assert decisions[60].reason == "a: nothing is known of its operators yet"


def test_a_change_must_gain_more_than_predictions_were_off():
    # 0.02 of the utility is enough where the model has been right, not where it has not.
    trusted, doubted = Predicting(), Predicting()
    for policy, latencies in ((trusted, (0.05, 0.05)), (doubted, (0.05, 0.9))):
        frames = {}
        for at in range(0, 400, 10):
            # Utility of the second jumps between 1 and 0.11 by no cause that it can see.
            frames[at] = job(latencies[at // 10 % 2], load=100.0)
        run(policy, frames)
    assert policy_interval(trusted) < 0.02
    assert policy_interval(doubted) > 0.3


def policy_interval(policy):
    (learned,) = policy._learned.values()
    return policy._find_interval(learned)


@pytest.mark.parametrize("figure", ["interval", "oldest_seconds"])
def test_both_are_settings(figure):
    assert replace(PredictParameters(), **{figure: 0.5})


def test_what_is_known_before_the_first_change_is_known_at_once():
    # Tails are a multiple of the mean that is measured, not one that is reached in small steps.
    policy = Predicting()
    run(policy, steady(0, 30, job(0.2, load=100.0)))
    (learned,) = policy._learned.values()
    # Two executors of 100/s each take 20 ms at half of that, a source of 1000/s 1/900 s.
    assert learned.latency_factor == pytest.approx(0.2 / (0.02 + 1 / 900), rel=1e-6)


def test_a_percentile_is_first_taken_to_be_that_of_an_exponential_distribution():
    policy = Predicting()
    tail = replace(
        job(0.3, lag=1e6), slo=Slo(latency_seconds=0.1, statistic=Statistic.P95, max_utility=10.0)
    )
    run(policy, steady(0, 30, tail))
    (learned,) = policy._learned.values()
    assert learned.latency_factor == pytest.approx(2.9957, abs=1e-4)


def test_nothing_grows_where_threads_wait_for_cores():
    policy = Predicting()
    crowded = {at: policy.decide(cluster(at, 6, a=job(0.3))) for at in range(0, 600, 10)}
    assert not acts(crowded)
    assert "no cores are left" in crowded[590].reason
    assert acts({600: policy.decide(cluster(600, 5, a=job(0.3)))})


def test_what_executors_do_while_they_wait_for_cores_is_not_what_they_can_do():
    policy = Predicting()
    run(policy, steady(0, 60, job(0.05, load=100.0)))
    slow = replace(job(0.05, load=100.0).operators["work"], capacity=1.0)
    crowded = job(0.05, load=100.0)
    crowded = replace(crowded, operators={**crowded.operators, "work": slow})
    for at in range(60, 300, 10):
        policy.decide(cluster(at, 6, a=crowded))
    (learned,) = policy._learned.values()
    assert learned.per_executor["work"][1] == pytest.approx(100.0)


def test_at_most_half_of_the_executors_are_taken_away_at_once():
    policy = Predicting()
    decisions = run(policy, steady(0, 2000, job(0.01, load=50.0, executors=20)))
    assert next(iter(acts(decisions).values())) == 10


def test_a_change_leaves_executors_to_spare():
    scarce, ample = (Predicting(PredictParameters(spare=spare)) for spare in (0.1, 1.0))
    assert grow(scarce) < grow(ample)
