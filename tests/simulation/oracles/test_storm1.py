"""The Storm 1.x oracle against closed forms: fixed seeds, intervals of 99.9 %."""

import math
from dataclasses import replace
from typing import Any

import pytest

from tests.simulation.oracles.cases import acked, chain, spread
from tests.simulation.oracles.intervals import agree
from tests.simulation.oracles.job import ACKER, Executor, Job, Operator, Subscription
from tests.simulation.oracles.parts import Time, constant, exponential
from tests.simulation.oracles.storm1_network import simulate_storm1

SECOND = constant(1.0)


def apart(rate: float, *bolts: Operator, **settings: Any) -> Job:
    """A source in one worker, bolts in another."""
    job = chain(rate, *bolts, **settings)
    executors = [replace(executor, worker="w2") for executor in job.executors[1:]]
    workers = {"w1": "m1", "w2": "m2"}
    return replace(job, executors=[job.executors[0], *executors], workers=workers)


def test_batches_of_one_object_make_an_ordinary_queue() -> None:
    job = chain(0.5, Operator(exponential(1)))
    result = simulate_storm1(job, seconds=15_000, warmup=200, batch=1)
    agree(result.end_to_end["1"], 2.0, within=0.2)
    assert result.executors[1]["queue"] == pytest.approx(0.5, rel=0.15)
    assert result.executors[1]["list_size"] == result.executors[0]["send_batch"] == 1


def test_times_of_a_lonely_tuple() -> None:
    """Serialise 1, transfer 3, latency 10 out and 20 back, service 40, acker 2, answer local."""
    job = Job(
        operators={
            "s": Operator(rate=1e-6),
            "b": Operator(cpu=constant(30), waiting=constant(10)),
            ACKER: Operator(constant(2)),
        },
        executors=[Executor("s", "w1"), Executor("b", "w2"), Executor(ACKER, "w1")],
        subscriptions=[Subscription("s", "b")],
        workers={"w1": "m1", "w2": "m2"},
        latency={("w1", "w2"): 10, ("w2", "w1"): 20},
        serialise=constant(1),
        transfer=constant(3),
    )
    result = simulate_storm1(job, seconds=2e7, batch=1)
    assert len(result.complete) > 10
    for end, complete, spout in zip(
        result.end_to_end["b"], result.complete, result.spout, strict=True
    ):
        assert end == pytest.approx(1 + 3 + 10 + 40)
        # The send thread takes tuple and announcement at once, and delivers the latter when the
        # former is serialised. So it is handled 1 + 2 after the emission.
        assert spout == pytest.approx(end + 1 + 3 + 20 + 2)
        assert complete == pytest.approx(spout - (1 + 2))


@pytest.mark.parametrize(("job", "queues"), [(chain, 2), (apart, 3)])
def test_exponential_flushes_delay_by_an_interval_per_queue(job: Any, queues: int) -> None:
    """Send queue and receive queue, and for another worker the transfer queue between them."""
    result = simulate_storm1(job(0.5, Operator()), seconds=10_000, flush=exponential(1.0))
    agree(result.end_to_end["1"], queues * 1.0)


@pytest.mark.parametrize(("job", "queues"), [(chain, 2), (apart, 3)])
def test_periodic_flushes_delay_by_half_an_interval_per_queue(job: Any, queues: int) -> None:
    """On the mean over the timers' phases, which a run keeps; so, one tuple from each of many."""
    times = []
    for seed in range(330):
        result = simulate_storm1(job(0.2, Operator()), seconds=60, seed=seed, flush=SECOND)
        times += result.end_to_end["1"][:1]
    assert len(times) == 330
    agree(times, queues * 0.5)
    assert 0 < min(times) < max(times) < queues


def test_within_a_run_only_the_first_queue_delays_at_random() -> None:
    """The flush of the send queue and that of the receive queue keep their distance."""
    times = simulate_storm1(chain(0.2, Operator()), seconds=10_000, flush=SECOND).end_to_end["1"]
    assert 0.99 < max(times) - min(times) <= 1
    agree([time - min(times) for time in times], 0.5)


@pytest.mark.parametrize("rate", [1.0, 5.0])
def test_what_a_flush_moves_at_once(rate: float) -> None:
    """Section 5.8 of the specification: k = 100 and an interval of 1."""
    result = simulate_storm1(chain(rate, Operator()), seconds=1_500, flush=SECOND)
    expected = rate / -math.expm1(-rate)
    source, bolt = result.executors
    assert source["send_batch"] == pytest.approx(expected, rel=0.04)
    assert bolt["list_size"] == source["send_batch"]  # all of it is one list for one executor


@pytest.mark.parametrize("batch", [2, 4])
def test_a_full_batch_does_not_wait_for_the_flush(batch: int) -> None:
    """Tuples fill the batch of the send queue; lists fill that of the receive queue."""
    never = constant(1e9)
    result = simulate_storm1(chain(1.0, Operator()), seconds=8_000, batch=batch, flush=never)
    assert result.executors[0]["send_batch"] == result.executors[1]["list_size"] == batch
    agree(result.end_to_end["1"], (batch**2 - 1) / 2, within=0.2)


def test_lists_and_maps() -> None:
    """A source sends to two bolts of its own worker and to two of another, in turn."""
    job = replace(
        chain(8.0, Operator()),
        executors=[Executor("0"), *[Executor("1", w) for w in ["w1", "w1", "w2", "w2"]]],
        workers={"w1": "m1", "w2": "m2"},
    )
    result = simulate_storm1(job, seconds=500, batch=4, flush=constant(1e9))
    source, *bolts = result.executors
    assert source["send_batch"] == 4
    assert [bolt["list_size"] for bolt in bolts[:2]] == [1, 1]
    transfer = result.transfers["w1"]
    assert transfer["map_size"] == 2
    assert transfer["send_batch"] == 4 * 2  # four maps fill the batch
    assert [bolt["list_size"] for bolt in bolts[2:]] == [4, 4]  # regrouped from four maps
    assert [bolt["executed"] for bolt in bolts[:2]] == [bolts[0]["executed"]] * 2


def test_sizes_of_batches_lists_and_maps_in_a_whole_plan() -> None:
    """Section 5.11 of the specification: the plan of 5.6, per millisecond, an interval of 100."""
    sources = [Executor("s", "w1", 2), Executor("s", "w2", 2)]
    a = [Executor("a", worker, 2) for worker in ["w1", "w2", "w1"]]
    b = [Executor("b", worker, 2) for worker in ["w2", "w1", "w2"]]
    job = Job(
        operators={"s": Operator(rate=0.05), **dict.fromkeys(["a", "b", ACKER], Operator())},
        executors=[*sources, *a, *b, Executor(ACKER, "w1"), Executor(ACKER, "w2")],
        subscriptions=[Subscription("s", "a"), Subscription("a", "b")],
        workers={"w1": "m1", "w2": "m2"},
    )
    result = simulate_storm1(job, seconds=12_000, warmup=500, flush=constant(100.0))
    batches = [executor["send_batch"] for executor in result.executors]
    lists = [executor["list_size"] for executor in result.executors]
    assert batches == pytest.approx([20.0] * 2 + [13.33] * 3 + [6.68] * 3 + [10.0] * 2, rel=0.06)
    expected = [5.05, 5.03, 3.37, 3.35, 3.37, 3.35, 2.24, 3.35, 6.03, 6.02]
    assert lists == pytest.approx(expected, rel=0.06)
    maps = [result.transfers[worker]["map_size"] for worker in ["w1", "w2"]]
    assert maps == pytest.approx([6.446, 5.781], rel=0.06)


def test_serialising_is_done_by_the_send_thread_before_it_delivers() -> None:
    """A tuple for each of two bolts: the list for the own worker waits for the other's bytes."""
    job = replace(
        chain(1e-5, Operator(), serialise=constant(3.0), transfer=constant(5.0)),
        executors=[Executor("0"), Executor("1", "w1"), Executor("1", "w2")],
        subscriptions=[Subscription("0", "1", "all")],
        workers={"w1": "m1", "w2": "m2"},
    )
    together = simulate_storm1(job, seconds=1e7, batch=2, flush=exponential(1e-6))
    times = together.end_to_end["1"]
    assert times[0::2] == pytest.approx([3.0] * len(times[0::2]), abs=1e-3)
    assert times[1::2] == pytest.approx([3.0 + 5.0] * len(times[1::2]), abs=1e-3)


@pytest.mark.parametrize("flush", [constant(0.05), exponential(0.05)])
@pytest.mark.parametrize("settings", [{}, {"max_pending": 2, "spout_spin": 0.0}, {"timeout": 1.0}])
def test_every_root_ends_exactly_once(flush: Time, settings: dict[str, Any]) -> None:
    result = simulate_storm1(spread(**settings), seconds=150, stop=80, flush=flush, batch=3)
    roots = result.roots
    assert roots["emitted"] == roots["acked"] + roots["timed_out"] > 50
    assert len(result.spout) == len(result.complete) == roots["acked"] > 15
    assert roots["pending"] == roots["due"] == 0


def test_littles_law_holds_for_every_executor() -> None:
    seconds = 400
    result = simulate_storm1(spread(), seconds=seconds, warmup=50, flush=constant(0.1), batch=3)
    for executor in result.executors[1:]:
        population = executor["queue"] + executor["utilisation"]
        assert population == pytest.approx(
            executor["executed"] / seconds * executor["sojourn"], rel=0.05
        )


def test_the_acker_clock_runs_from_its_first_message_to_its_last() -> None:
    """Both ways begin and end alike: announcement and tuple leave the source together, and pass
    the acker's receive queue. In between, the tuple passes the bolt's receive queue, and the ack
    its send queue.
    """
    job = acked(chain(0.05, Operator()))
    result = simulate_storm1(job, seconds=25_000, flush=exponential(1.0))
    agree(result.complete, 2.0, within=0.2)
    agree(result.spout, 6.0, within=0.2)  # out of and into three executors


def test_a_source_that_sleeps_emits_when_its_sleep_ends() -> None:
    job = chain(0.2, Operator(), spout_spin=0.0, sleep=1.0)
    result = simulate_storm1(job, seconds=8_000, batch=1)
    agree(result.from_due["1"], 0.5)
    assert max(result.end_to_end["1"]) == 0


def test_bolts_never_sleep() -> None:
    job = chain(0.2, Operator(), bolt_spin=0.0, sleep=100.0)
    assert max(simulate_storm1(job, seconds=5_000, batch=1).end_to_end["1"]) == 0


@pytest.mark.parametrize("settings", [{"limited": True}, {"batch": 2}])
def test_what_storm_1_does_not_have_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"Storm 2\.x"):
        simulate_storm1(chain(1.0, Operator(), **settings), seconds=1)
