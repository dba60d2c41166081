"""Acks in the network oracle: every root ends once, and the clocks say what they should."""

import math
from typing import Any

import pytest

from tests.simulation.oracles.cases import acked, chain, spread
from tests.simulation.oracles.intervals import agree
from tests.simulation.oracles.job import ACKER, Executor, Job, Operator, Subscription
from tests.simulation.oracles.parts import constant, exponential
from tests.simulation.oracles.storm2_network import simulate_network
from tests.simulation.oracles.windows import Window


@pytest.mark.parametrize("limit", [None, 1, 5])
@pytest.mark.parametrize("spin", [math.inf, 0.0, 0.05])
def test_every_root_ends_exactly_once(limit: int | None, spin: float) -> None:
    job = spread(max_pending=limit, bolt_spin=spin, spout_spin=spin, transfer_sleep=0.001)
    running = simulate_network(job, seconds=200).roots
    assert running["emitted"] == running["acked"] + running["pending"]
    assert running["acked"] > 0
    if limit is not None:
        assert running["pending"] <= limit
    drained = simulate_network(job, seconds=600, stop=100)
    assert drained.roots["acked"] == drained.roots["emitted"] == len(drained.complete)
    assert drained.roots["pending"] == drained.roots["due"] == 0
    assert drained.roots["emitted"] > 70


def two_workers(rate: float, bolt: Operator, **settings: Any) -> Job:
    """A source and its acker in one worker, a bolt in the other."""
    return Job(
        operators={"s": Operator(rate=rate), "b": bolt, ACKER: Operator(constant(2))},
        executors=[Executor("s", "w1"), Executor("b", "w2"), Executor(ACKER, "w1")],
        subscriptions=[Subscription("s", "b")],
        workers={"w1": "m1", "w2": "m2"},
        **settings,
    )


def test_the_clocks_of_a_lonely_tuple() -> None:
    """Serialise 1, transfer 3, latency 10 out and 20 back, service 40, acker 2, answer local."""
    job = two_workers(
        1e-6,
        Operator(cpu=constant(30), waiting=constant(10)),
        latency={("w1", "w2"): 10, ("w2", "w1"): 20},
        serialise=constant(1),
        transfer=constant(3),
    )
    result = simulate_network(job, seconds=2e7)
    assert len(result.complete) > 10
    for end, complete, spout in zip(
        result.end_to_end["b"], result.complete, result.spout, strict=True
    ):
        assert end == pytest.approx(1 + 3 + 10 + 40)
        # The acker handled init 1 + 2 after the emission, and the ack at the very end.
        assert spout == pytest.approx(end + 1 + 3 + 20 + 2)
        assert complete == pytest.approx(spout - (1 + 2))


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_max_pending_makes_a_busy_source_a_closed_network(limit: int) -> None:
    stage = Operator(exponential(1))
    job = acked(chain(3.0, stage, stage, max_pending=limit))
    result = simulate_network(job, seconds=10_000, warmup=200)
    agree(result.spout, limit / (limit / (limit + 1)))  # Little: two equal exponential stages
    assert len(result.spout) / 10_000 == pytest.approx(limit / (limit + 1), rel=0.04)


@pytest.mark.parametrize(
    ("window", "mean"),
    [
        (Window(10, by="time"), 15.0),
        (Window(10, 5, by="time"), 12.5),
        (Window(10), 10 + 4.5),
        (Window(10, 2), 10 + 0.5),
    ],
)
def test_roots_are_complete_when_their_tuples_leave_the_window(window: Window, mean: float) -> None:
    job = acked(chain(1.0, Operator(window=window), Operator()))
    result = simulate_network(job, seconds=10_000, warmup=100)
    agree(result.complete, mean)
    agree(result.spout, mean)
    roots = result.roots
    assert roots["emitted"] == roots["acked"] + roots["pending"]
    assert roots["pending"] < 60
