"""Time-outs, failing and replay in the oracle: every root ends once, at the time it should."""

import math
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from tests.simulation.oracles.cases import acked, chain, spread
from tests.simulation.oracles.intervals import agree
from tests.simulation.oracles.job import ACKER, Job, Operator
from tests.simulation.oracles.parts import constant, exponential
from tests.simulation.oracles.storm2_network import simulate_network
from tests.simulation.oracles.windows import Window

T = 10.0


def ended(roots: dict[str, int]) -> int:
    return roots["acked"] + roots["failed"] + roots["timed_out"]


def with_acker(job: Job, acker: Operator) -> Job:
    return replace(acked(job), operators={**job.operators, ACKER: acker})


def replaying(job: Job) -> Job:
    sources = {
        name: replace(operator, replay=True)
        for name, operator in job.operators.items()
        if operator.rate is not None
    }
    return replace(job, operators={**job.operators, **sources})


def test_a_root_whose_acker_is_stuck_times_out_between_once_and_twice_the_time() -> None:
    job = with_acker(chain(2.0, Operator(), timeout=T), Operator(constant(1e9)))
    result = simulate_network(job, seconds=2_000, warmup=2 * T)
    assert T < min(result.failures) < max(result.failures) < 2 * T
    agree(result.failures, 1.5 * T)
    assert result.roots["acked"] == 0
    assert result.roots["emitted"] == ended(result.roots) + result.roots["pending"]
    assert result.roots["pending"] <= 2 * T * 4


def test_roots_die_at_multiples_of_the_time() -> None:
    job = with_acker(chain(0.01, Operator(), timeout=T), Operator(constant(1e9)))
    result = simulate_network(job, seconds=1_000)
    due, random = 0.0, Random("0/0/0/due")
    for age in result.failures:
        due += random.expovariate(0.01)
        assert age == pytest.approx((math.floor(due / T) + 2) * T - due)
    assert len(result.failures) > 5


def test_late_acks_of_dead_roots_are_ignored() -> None:
    job = acked(chain(0.2, Operator(waiting=constant(2.5 * T)), timeout=T))
    job = replace(job, max_pending=1)  # one after the other: the queue does not grow
    result = simulate_network(job, seconds=5_000)
    assert result.roots["acked"] == 0
    assert result.complete == result.spout == []
    assert len(result.end_to_end["1"]) > 100
    assert result.roots["timed_out"] == pytest.approx(5_000 / (2 * T), rel=0.05)


def test_a_root_in_time_does_not_die() -> None:
    job = acked(chain(0.5, Operator(waiting=constant(T)), timeout=T, max_pending=1))
    result = simulate_network(job, seconds=1_000)
    assert result.spout == pytest.approx([T] * len(result.spout))
    assert result.roots["timed_out"] == 0


def test_a_time_out_gives_way_to_the_next_root() -> None:
    """With one root at a time, of which every one dies: one per two rotations."""
    stuck = with_acker(chain(5.0, Operator(), timeout=T, max_pending=1), Operator(constant(1e9)))
    result = simulate_network(stuck, seconds=100 * T + 1, warmup=T / 2)
    assert result.failures == pytest.approx([2 * T] * len(result.failures), abs=T)
    assert result.roots["timed_out"] == pytest.approx(50, abs=1)


@pytest.mark.parametrize("fail", [0.1, 0.5])
def test_roots_fail_with_their_tuples(fail: float) -> None:
    bolt = Operator(fail=fail)
    result = simulate_network(acked(chain(5.0, bolt, bolt)), seconds=300, stop=299)
    roots = result.roots
    assert roots["emitted"] == roots["acked"] + roots["failed"]
    assert roots["acked"] / roots["emitted"] == pytest.approx((1 - fail) ** 2, abs=0.04)
    assert len(result.end_to_end["2"]) == roots["emitted"]  # outputs are emitted all the same
    assert len(result.spout) == len(result.complete) == roots["acked"]


def test_the_source_hears_of_a_failure_at_once() -> None:
    """The first bolt fails every tuple after 1; the second needs 100 for its output."""
    bolts = Operator(constant(1), fail=1.0), Operator(waiting=constant(100))
    result = simulate_network(acked(chain(0.001, *bolts)), seconds=20_000)
    assert result.failures == pytest.approx([1.0] * len(result.failures))
    assert len(result.failures) == result.roots["failed"] > 10


def test_an_acker_that_was_told_of_the_failure_first_waits_for_the_root() -> None:
    """The source's word for the acker is 5 longer on its way than that of the bolt."""
    job = acked(chain(0.01, Operator(fail=1.0)))
    bolt, ack = (replace(executor, worker="w2") for executor in job.executors[1:])
    job = replace(
        job,
        executors=[job.executors[0], bolt, ack],
        workers={"w1": "m1", "w2": "m2"},
        transfer=constant(5.0),
    )
    result = simulate_network(job, seconds=5_000)
    # The tuple at 5, the announcement at 10, the answer at 15.
    assert min(result.failures) == pytest.approx(15.0)
    assert result.roots["failed"] > 10


@pytest.mark.parametrize("fail", [0.2, 0.6])
def test_replayed_roots_are_acked_in_the_end(fail: float) -> None:
    job = replaying(acked(chain(1.0, Operator(constant(0.1), fail=fail))))
    result = simulate_network(job, seconds=1_000, stop=900)
    roots = result.roots
    assert roots["pending"] == roots["due"] == 0
    assert roots["replayed"] == roots["failed"]
    assert roots["acked"] == roots["emitted"] - roots["replayed"]
    assert roots["emitted"] / roots["acked"] == pytest.approx(1 / (1 - fail), rel=0.1)


def test_a_replayed_tuple_keeps_its_due_time_and_goes_to_the_end() -> None:
    """Each tuple is served in 1, at 1 % load, and fails half the time."""
    job = replaying(acked(chain(0.01, Operator(waiting=constant(1.0), fail=0.5))))
    result = simulate_network(job, seconds=50_000)
    tries = [round(time) for time in result.from_due["1"]]
    assert sum(count == 1 for count in tries) == pytest.approx(500, rel=0.15)
    assert sum(count == 2 for count in tries) == pytest.approx(250, rel=0.2)
    assert max(result.end_to_end["1"]) < 4


def test_only_the_stream_whose_root_failed_is_replayed() -> None:
    job = replaying(acked(chain(1.0, Operator(fail=0.5))))
    source = replace(job.operators["0"], outputs={"default": 1.0, "nobody": 1.0})
    job = replace(job, operators={**job.operators, "0": source})
    result = simulate_network(job, seconds=1_000, stop=990)
    emitted = result.roots["emitted"] - result.roots["replayed"]
    assert emitted == 2 * result.roots["acked"]


@pytest.mark.parametrize(
    "settings", [{}, {"max_pending": 3}, {"limited": True, "receive_queue": 3}]
)
@pytest.mark.parametrize("replay", [False, True])
def test_every_root_ends_once_or_is_pending(settings: dict[str, Any], replay: bool) -> None:
    """In a job of all groupings, with failing bolts and a time-out that many roots do not make."""
    job = spread(timeout=1.0, **settings)
    changed = {
        "s": replace(job.operators["s"], rate=0.4),
        "a": replace(job.operators["a"], fail=0.05),
        "c": Operator(exponential(0.1), fail=0.05),
    }
    job = replace(job, operators={**job.operators, **changed})
    job = replaying(job) if replay else job
    roots = simulate_network(job, seconds=120, stop=80).roots
    assert roots["emitted"] == ended(roots) + roots["pending"]
    assert min(roots["acked"], roots["failed"], roots["timed_out"]) > 2
    assert (roots["replayed"] == roots["failed"] + roots["timed_out"]) if replay else True


def test_a_window_fails_its_tuples_when_they_leave_it() -> None:
    job = acked(chain(1.0, Operator(window=Window(10, by="time"), fail=0.5)))
    result = simulate_network(job, seconds=3_000)
    assert result.roots["failed"] / result.roots["emitted"] == pytest.approx(0.5, abs=0.05)
    agree(result.failures, 15.0)
