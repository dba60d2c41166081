"""Batches of producers and flush tuples of Storm 2.x in the oracle."""

import math
from dataclasses import replace
from typing import Any

import pytest

from tests.simulation.oracles.cases import acked, chain, spread
from tests.simulation.oracles.intervals import agree
from tests.simulation.oracles.job import Executor, Job, Operator
from tests.simulation.oracles.parts import constant, exponential
from tests.simulation.oracles.storm2_network import simulate_network

NEVER = 1e9
LONG = 1e9  # seconds, for some thousand tuples of a job in which they are alone


def alone(*bolts: Operator, **settings: Any) -> Job:
    """A job with so few tuples that no two meet, and a flush interval of 1."""
    return chain(1e-6, *bolts, batch=100, flush=1.0, **settings)


def test_a_lonely_tuple_waits_for_the_next_flush() -> None:
    result = simulate_network(alone(Operator(constant(0.3))), seconds=LONG)
    waits = [time - 0.3 for time in result.end_to_end["1"]]
    agree(waits, 0.5)
    assert -1e-6 <= min(waits) < max(waits) <= 1 + 1e-6


@pytest.mark.parametrize(
    ("service", "second_wait"),
    [
        (0.0, 1.0),  # emitted just after its executor's flush tuple: the next one comes 1 later
        (0.4, 0.6),
        (1.5, 0.0),  # a flush tuple came during the service and waited in the queue
        (2.5, 0.0),
    ],
)
def test_flush_tuples_wait_their_turn(service: float, second_wait: float) -> None:
    job = alone(Operator(waiting=constant(service)), Operator(constant(0.1)))
    result = simulate_network(job, seconds=LONG)
    waits = [time - service - second_wait - 0.1 for time in result.end_to_end["2"]]
    assert -1e-6 <= min(waits) < max(waits) <= 1 + 1e-6
    agree(waits, 0.5)


def test_a_flush_tuple_waits_behind_the_tuples_in_the_queue() -> None:
    """Three tuples at a time, of 2 each. They are in the queue before the next flush tuple, so the
    outputs of the first two wait until the third is done.
    """
    burst = Operator(outputs={"default": 3.0})
    job = alone(burst, Operator(waiting=constant(2.0)), Operator())
    times = simulate_network(job, seconds=LONG).end_to_end["3"]
    assert times[0::3] == times[1::3] == times[2::3]
    agree([time - 1 - 3 * 2 for time in times], 0.5)  # 1 is the wait for the flush after the burst


def test_a_full_batch_is_published_at_once() -> None:
    job = chain(2.0, Operator(), batch=4, flush=NEVER)
    result = simulate_network(job, seconds=4_000)
    agree(result.end_to_end["1"], (3 + 2 + 1 + 0) / 4 / 2.0)
    assert len(result.end_to_end["1"]) % 4 == 0


def test_every_target_queue_has_a_batch_of_its_own() -> None:
    """Two bolts of the own worker and two of another: two batches here, one for the transfer."""
    job = chain(4.0, Operator(), batch=3, flush=NEVER)
    homes = ["w1", "w1", "w2", "w2"]
    job = replace(
        job,
        executors=[Executor("0"), *[Executor("1", home) for home in homes]],
        workers={"w1": "m1", "w2": "m2"},
    )
    result = simulate_network(job, seconds=1_500)
    # Of every four tuples one is for each bolt, and two are for the transfer queue.
    near = (2 + 1 + 0) / 3 * 4 / 4.0
    far = (2 + 1 + 0) / 3 * 2 / 4.0
    agree(result.end_to_end["1"], (near + far) / 2)
    counts = [bolt["executed"] for bolt in result.executors[1:]]
    assert all(count % 3 == 0 for count in counts[:2])
    assert sum(counts[2:]) % 3 == 0


def test_tuples_for_other_workers_wait_for_the_flush_too() -> None:
    job = replace(
        alone(Operator()),
        executors=[Executor("0", "w1"), Executor("1", "w2")],
        workers={"w1": "m1", "w2": "m2"},
        serialise=constant(0.125),
        transfer=constant(0.25),
    )
    result = simulate_network(job, seconds=LONG)
    # A flush tuple that comes while the source serialises is handled just after it.
    agree(result.end_to_end["1"], 0.125 + 0.875 * (0.875 / 2) + 0.25)


def test_acks_are_batched_as_well() -> None:
    """The tuple and its announcement are flushed together; the ack 1 later, the answer 1 later."""
    result = simulate_network(acked(alone(Operator())), seconds=LONG)
    assert result.complete == pytest.approx([1.0] * len(result.complete), abs=1e-5)
    agree(result.spout, 0.5 + 1 + 1)


def test_bolts_never_sleep_with_batches() -> None:
    job = alone(Operator(), bolt_spin=0.0, sleep=1_000.0)
    assert max(simulate_network(job, seconds=LONG).end_to_end["1"]) <= 1 + 1e-6


def test_batches_delay_nobody_by_more_than_the_interval() -> None:
    """One queue in order, with the same arrivals and service times."""

    def times(**batching: Any) -> list[float]:
        job = chain(0.5, Operator(exponential(1.0)), **batching)
        return simulate_network(job, seconds=1_000, stop=900).end_to_end["1"]

    delays = [late - soon for late, soon in zip(times(batch=9, flush=0.1), times(), strict=True)]
    assert -1e-9 <= min(delays) < max(delays) <= 0.1 + 1e-9


@pytest.mark.parametrize("size", [2, 7])
@pytest.mark.parametrize(
    "limits", [{}, {"limited": True, "receive_queue": 14, "transfer_queue": 14}]
)
def test_every_root_ends_once(size: int, limits: dict[str, Any]) -> None:
    job = spread(batch=size, flush=0.05, spout_spin=0.0, **limits)
    roots = simulate_network(job, seconds=250, stop=100).roots
    assert roots["emitted"] == roots["acked"] > 70
    assert roots["pending"] == roots["due"] == 0


def test_a_full_batch_that_finds_no_place_blocks() -> None:
    """Two places, batches of two: the source fills the queue and a batch, then it is blocked."""
    job = chain(1e4, Operator(constant(1)), batch=2, flush=math.inf, limited=True, receive_queue=2)
    result = simulate_network(job, seconds=20, warmup=10.5, stop=0.05)
    source, bolt = result.executors
    assert source["blocked"] == pytest.approx(1)
    assert bolt["longest"] == 2
    assert bolt["executed"] == 20
    # One with the source for 1, then two in its batch and two in the queue, each for 1; service.
    assert result.end_to_end["1"] == pytest.approx([1 + 2 + 2 + 1] * 20)
