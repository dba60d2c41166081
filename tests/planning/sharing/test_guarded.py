"""The guard: never a decision on bad data, and no harm by a policy that fails."""

from dataclasses import replace
from threading import Event

import numpy as np
import pytest

from streamgauge.planning.sharing.guarded import Guarded
from streamgauge.planning.sharing.policy import Decision, load_policy, policy_names
from streamgauge.planning.sharing.slo import Quality, Statistic
from tests.planning.sharing.clusters import cluster, job


class Doubling:
    """Doubles everything, whatever it sees, and keeps what it saw."""

    name = "doubling"
    period_seconds = 10.0

    def __init__(self):
        self.seen = []

    def describe(self):
        return "doubles everything"

    def decide(self, seen):
        self.seen.append(seen)
        wanted = {
            name: {one: 2 * figures.executors for one, figures in each.operators.items()}
            for name, each in seen.jobs.items()
        }
        return Decision(rule="doubling", executors=wanted)


class Answering:
    """Answers what it is told to: a decision, or what a function does."""

    name = "answering"
    period_seconds = 10.0

    def __init__(self, answer):
        self.answer = answer
        self.asked = 0

    def describe(self):
        return "answers"

    def decide(self, seen):
        self.asked += 1
        return self.answer(seen) if callable(self.answer) else self.answer


def worse(**figures):
    """A job whose middle operator says this of itself."""
    one = job(0.5)
    return replace(
        one, operators={**one.operators, "work": replace(one.operators["work"], **figures)}
    )


BAD = {
    "negative capacity": worse(capacity=-0.3),
    "capacity that is no number": worse(capacity=float("nan")),
    "huge input": worse(executed={"source": 1e18}),
    "negative queue": worse(queue=-1.0),
    "no executors": worse(executors=0),
    "infinite load": replace(job(0.5), offered_per_second=float("inf")),
    "negative lag": replace(job(0.5), lag=-5.0),
    "negative latency": replace(
        job(0.5), quality=Quality(latency_seconds={Statistic.MEAN: -0.1}, juice=1.0)
    ),
    "huge juice": replace(job(0.5), quality=Quality(juice=1e9)),
    "what the statistics doubt": replace(job(0.5), doubt="metrics that cannot be"),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_job_whose_figures_cannot_be_stays_as_it_is_and_others_do_not(bad):
    guarded = Guarded(Doubling())
    guarded.decide(cluster(0, a=job(0.5), b=job(0.6)))
    decision = guarded.decide(cluster(10, a=bad, b=job(0.6)))
    assert set(decision.executors) == {"b"}
    (line,) = decision.refused
    assert line.startswith("a stays as it is: ")


def test_the_policy_sees_such_a_job_as_it_was_with_nothing_known_of_its_objective():
    policy = Doubling()
    guarded = Guarded(policy)
    guarded.decide(cluster(0, a=job(0.5)))
    guarded.decide(cluster(10, a=BAD["huge input"]))
    shown = policy.seen[-1].jobs["a"]
    assert shown.operators == job(0.5).operators
    assert shown.utility is None
    assert "huge" not in shown.doubt and "1e+18" in shown.doubt


def test_a_job_that_was_never_right_is_not_shown():
    policy = Doubling()
    Guarded(policy).decide(cluster(0, a=BAD["huge input"], b=job(0.5)))
    assert set(policy.seen[0].jobs) == {"b"}


def test_h30_nothing_is_changed_in_an_outage():
    decision = Guarded(Doubling()).decide(cluster(0, stale=True, a=job(0.5)))
    assert not decision.acts
    assert decision.refused == ("no new metrics: nothing is changed",)


@pytest.mark.parametrize("name", policy_names())
def test_h30_no_policy_acts_on_figures_that_cannot_be(name):
    guarded = Guarded(load_policy(name))
    for at in range(0, 1200, 10):
        decision = guarded.decide(cluster(at, a=BAD["capacity that is no number"]))
        assert not decision.acts


def test_a_policy_that_raises_decides_nothing_and_is_asked_again():
    policy = Answering(lambda seen: 1 / 0)
    guarded = Guarded(policy)
    for at in (0, 10):
        decision = guarded.decide(cluster(at, a=job(0.5)))
        assert not decision.acts
        assert decision.refused == ("answering raised ZeroDivisionError: division by zero",)
    assert policy.asked == 2


def test_a_policy_that_would_end_the_program_does_not():
    def leave(seen):
        raise SystemExit(1)

    decision = Guarded(Answering(leave)).decide(cluster(0, a=job(0.5)))
    assert decision.refused == ("answering raised SystemExit: 1",)


def test_a_policy_that_never_answers_is_left_behind():
    never = Event()
    policy = Answering(lambda seen: never.wait())
    guarded = Guarded(policy, limit_seconds=0.02)
    first = guarded.decide(cluster(0, a=job(0.5)))
    again = guarded.decide(cluster(10, a=job(0.5)))
    never.set()
    assert first.refused == ("answering has not answered for 0.02 s, and is not asked again",)
    assert not again.acts and "not asked again" in again.refused[0]
    assert policy.asked == 1


@pytest.mark.parametrize(
    ("executors", "says"),
    [
        ({"b": {"work": 3}}, "there is no job 'b'"),
        ({"a": {"wrk": 3}}, "there is no operator 'wrk'"),
        ({"a": {"work": 0}}, "0 executors of work, which can have 1 to 100"),
        ({"a": {"work": 101}}, "101 executors"),
        ({"a": {"work": 2.5}}, "2.5 executors"),
    ],
)
def test_a_decision_that_cannot_be_is_refused_and_the_rest_of_it_is_done(executors, says):
    wanted = {"a": {"store": 7}, **executors}
    wanted["a"] = {"store": 7, **wanted["a"]}
    decision = Guarded(Answering(Decision(rule="x", executors=wanted))).decide(
        cluster(0, a=job(0.5))
    )
    assert decision.executors == {"a": {"store": 7}}
    assert says in decision.refused[0]


def test_whole_numbers_of_numpy_are_whole_numbers():
    wanted = {"a": {"store": np.int64(7)}}
    decision = Guarded(Answering(Decision(rule="x", executors=wanted))).decide(
        cluster(0, a=job(0.5))
    )
    assert decision.executors == {"a": {"store": 7}}


def test_an_answer_that_is_no_decision_is_none():
    decision = Guarded(Answering("more")).decide(cluster(0, a=job(0.5)))
    assert decision.refused == ("answering answered str, which is no decision",)


def test_a_clock_that_goes_back_is_not_believed():
    guarded = Guarded(Doubling())
    assert guarded.decide(cluster(100, a=job(0.5))).acts
    decision = guarded.decide(cluster(50, a=job(0.5)))
    assert not decision.acts
    assert "time went back" in decision.refused[0]


def test_h17_henge_collects_for_five_minutes_after_an_outage_behind_the_guard_too():
    guarded = Guarded(load_policy("henge"))
    frames = [cluster(at, stale=1020 <= at < 1380, a=job(0.5)) for at in range(1010, 1700, 10)]
    acted = [seen.at for seen in frames if guarded.decide(seen).acts]
    assert acted[0] == 1010
    assert all(at >= 1680 for at in acted[1:])
