"""Published policies: what their rules give on paper, and what all of them must not do."""

from dataclasses import replace

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.planning.sharing.demand import find_demand
from streamgauge.planning.sharing.observation import JobSeen, OperatorSeen
from streamgauge.planning.sharing.policies.dhalion import Dhalion, DhalionParameters
from streamgauge.planning.sharing.policies.ds2 import Ds2, Ds2Parameters, find_executors
from streamgauge.planning.sharing.policies.flink_rule import FlinkParameters, FlinkRule, Vertex
from streamgauge.planning.sharing.policies.hpa import Hpa
from streamgauge.planning.sharing.policy import load_policy, policy_names
from streamgauge.planning.sharing.slo import Quality, Slo
from tests.planning.sharing.clusters import cluster, job

POLICIES = ("dhalion", "ds2", "flink-rule", "henge", "hpa", "predict", "static")


def chain(offered=1000.0, got=500.0, *, capacity=1.0, executors=2, lag=0.0, held=0.0, cores=None):
    """A source, `split` that makes two of one, and `count`; half of what is due gets through."""
    return JobSeen(
        slo=Slo(juice=1.0),
        operators={
            "source": OperatorSeen(
                executors=1, tasks=1, is_source=True, sent_per_second=got, capacity=0.1
            ),
            "split": OperatorSeen(
                executors=executors,
                tasks=100,
                executed={"source": got},
                sent_per_second=2.0 * got,
                capacity=capacity,
                held_back=held,
                cores=executors * capacity if cores is None else cores,
            ),
            "count": OperatorSeen(
                executors=2, tasks=100, executed={"split": 2.0 * got}, capacity=0.5, cores=1.4
            ),
        },
        offered_per_second=offered,
        lag=lag,
        lag_per_second=offered - got,
        quality=Quality(juice=got / offered),
    )


def test_demand_is_what_would_come_if_nothing_were_held_back():
    assert find_demand(chain(), 1000.0) == {"source": 1000.0, "split": 1000.0, "count": 2000.0}


def test_ds2_divides_demand_by_true_rates():
    # An executor of `split` does 250 a second when busy: 4 for 1000. One of `count` does 1000: 2.
    assert find_executors(chain()) == {"source": 1, "split": 4, "count": 2}
    assert find_executors(chain(), scaling_factor=0.5)["split"] == 6


def test_an_operator_that_was_busy_without_processing_anything_keeps_its_executors():
    stuck = chain(got=0.0, capacity=1.0)
    assert find_executors(stuck)["split"] == 2


def test_ds2_takes_the_median_of_gathered_decisions_and_waits_after_a_change():
    ds2 = Ds2(Ds2Parameters(activation=3, warm_up_seconds=120.0))
    offered = [1000.0, 2000.0, 1500.0, 3000.0]
    decisions = [ds2.decide(cluster(60 * at, a=chain(one))) for at, one in enumerate(offered)]
    assert [one.acts for one in decisions] == [False, False, True, False]
    assert decisions[2].executors["a"]["split"] == 6


def test_ds2_leaves_a_job_that_is_on_its_target():
    ds2 = Ds2(Ds2Parameters(target_rate_ratio=0.9))
    content = replace(chain(500.0, capacity=0.1), lag_per_second=0.0)
    assert not ds2.decide(cluster(0, a=content)).acts


@pytest.mark.parametrize(("held", "executors"), [(0.5, 4), (0.2, 3), (0.9, 10), (1.0, 10)])
def test_dhalion_grows_by_how_long_an_operator_holds_others_back(held, executors):
    # n (1 + min(4, bp / (1000 − bp))): 2 → 4, 2.5, 10, 10.
    decision = Dhalion().decide(cluster(0, a=chain(held=held)))
    assert decision.executors == {"a": {"split": executors}}


def test_dhalion_does_not_try_again_what_did_not_help():
    dhalion = Dhalion()
    acted = [dhalion.decide(cluster(at, a=chain(held=0.5))).acts for at in (0, 120, 240)]
    assert acted == [True, False, False]


def test_dhalion_shrinks_what_has_been_quiet_for_a_while():
    dhalion = Dhalion(DhalionParameters(scale_down=0.5, quiet_seconds=300.0))
    quiet = replace(chain(500.0, capacity=0.2, executors=10), lag_per_second=0.0)
    decisions = {at: dhalion.decide(cluster(at, a=quiet)) for at in range(0, 361, 60)}
    assert [at for at, one in decisions.items() if one.acts] == [300]
    assert decisions[300].executors["a"]["split"] == 5


def test_hpa_multiplies_by_use_over_target():
    # 2 executors that use 2 cores: ⌈2 × 1 / 0.7⌉ = 3; `count` is on its target.
    assert Hpa().decide(cluster(0, a=chain())).executors == {"a": {"split": 3}}


def test_hpa_shrinks_to_the_largest_recommendation_of_five_minutes():
    hpa = Hpa()
    busy, idle = chain(executors=4, cores=2.8), chain(executors=4, cores=0.7)
    assert not hpa.decide(cluster(0, a=busy)).acts
    assert not hpa.decide(cluster(15, a=idle)).acts
    assert hpa.decide(cluster(300, a=idle)).executors["a"]["split"] == 1


def test_flink_counts_backlog_and_restart():
    vertex = Vertex(executors=2, target=900.0, catch_up=100.0, capacity=500.0)
    rules = FlinkParameters()
    # 100 + 900 × 300/1800 + 900/0.7.
    assert vertex.required(0.7, rules, restart=True) == pytest.approx(1535.714, abs=1e-3)


def test_flink_grows_all_at_once_when_one_vertex_is_outside_its_band():
    rule = FlinkRule()
    frames = {at: rule.decide(cluster(at, a=chain(1000.0))) for at in range(0, 361, 60)}
    acted = [at for at, one in frames.items() if one.acts]
    # Stabilisation: five minutes of metrics first.
    assert acted == [300]
    # `split` can do 500 and must do 1000 × (1/6 + 1/0.7): ⌈2 × 3.19⌉.
    assert frames[300].executors["a"]["split"] == 7


def test_flink_shrinks_only_after_an_hour():
    rule = FlinkRule()
    idle = replace(chain(500.0, capacity=0.1, executors=10), lag_per_second=0.0)
    acted = [at for at in range(0, 5000, 60) if rule.decide(cluster(at, a=idle)).acts]
    assert acted[0] == 3900


def test_policies_are_found_by_their_names():
    assert set(POLICIES) <= set(policy_names())


@pytest.mark.parametrize("name", POLICIES)
def test_no_policy_acts_on_missing_metrics(name):
    policy = load_policy(name)
    assert policy.describe()
    for at in range(0, 1200, 10):
        assert not policy.decide(cluster(at, stale=True, a=job(0.5))).acts


@pytest.mark.parametrize("name", POLICIES)
def test_no_policy_gives_more_executors_than_tasks_or_less_than_one(name):
    policy = load_policy(name)
    for at in range(0, 9000, 30):
        offered = 5000.0 if at < 4000 else 1.0
        seen = cluster(at, a=chain(offered, min(offered, 500.0), held=0.9 if at < 4000 else 0.0))
        for changes in policy.decide(seen).executors.values():
            assert all(1 <= count <= 100 for count in changes.values())


def test_the_predicting_policy_grows_for_load_that_it_sees_coming():
    policy = load_policy("predict")
    acted = {}
    for at in range(0, 900, 10):
        load = 200.0 + at / 2.0
        seen = chain(load, load, capacity=load / 500.0)
        seen = replace(seen, lag_per_second=0.0, quality=Quality(juice=1.0))
        if (decision := policy.decide(cluster(at, a=seen))).acts:
            acted[at] = decision.executors
            break
    (at,) = acted
    # 500/s are reached at 600 s; by then the change is made.
    assert at < 600
    assert acted[at]["a"]["split"] >= 3


def test_settings_stand_after_a_name():
    policy = load_policy("hpa:target=0.5:scale_down_seconds=60")
    assert (policy.parameters.target, policy.parameters.scale_down_seconds) == (0.5, 60.0)
    assert policy.name == "hpa:target=0.5:scale_down_seconds=60"
    assert load_policy("henge:retry_on_expiry=true").parameters.retry_on_expiry
    assert load_policy("ds2:activation=3").parameters.activation == 3
    # Another policy of that kind is not renamed.
    assert load_policy("hpa").name == "hpa"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("hpa:taget=0.5", "did you mean 'target'"),
        ("hpa:target=high", "a number"),
        ("hpa:target=0", "above 0"),
        ("hpa:target=nan", "finite"),
        ("henge:retry_on_expiry=1", "true or false"),
        ("henge:marginal_gain=2", "at most 1"),
        ("static:target=1", "has no settings"),
        ("none:x=1", "none"),
    ],
)
def test_wrong_settings_are_told(text, says):
    with pytest.raises(InvalidInput, match=says):
        load_policy(text)
