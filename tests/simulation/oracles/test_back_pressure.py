"""Limits of queues and back-pressure in the oracle: closed forms, and cases done by hand."""

from typing import Any

import pytest

from tests.simulation.oracles.cases import acked, chain, spread
from tests.simulation.oracles.job import ACKER, Executor, Job, Operator, Subscription
from tests.simulation.oracles.parts import constant, exponential
from tests.simulation.oracles.storm2_network import Network, simulate_network

ALWAYS_DUE = 1e5  # per second, until 0.005: some 500 tuples are due from the beginning
SOON: dict[str, Any] = {"stop": 0.005}


@pytest.mark.parametrize("places", [1, 3])
def test_a_full_receive_queue_is_a_tandem_with_blocking_after_service(places: int) -> None:
    """Two equal exponential servers, the first never idle, `places` between them.

    The second and what waits for it, the blocked one included, is a walk on 0 ... places + 2.
    """
    stage = Operator(exponential(1))
    job = chain(5.0, stage, stage, limited=True, receive_queue=places)
    result = simulate_network(job, seconds=5_000, warmup=100)
    first, second = result.executors[1:]
    states = places + 3
    assert second["executed"] / 5_000 == pytest.approx((states - 1) / states, rel=0.04)
    assert first["blocked"] == pytest.approx(1 / states, rel=0.2)
    assert first["utilisation"] + first["blocked"] == pytest.approx(1, abs=0.001)
    assert second["utilisation"] == pytest.approx((states - 1) / states, rel=0.04)
    assert second["longest"] == places
    assert second["dropped"] == 0


def test_unequal_stages_block_as_a_walk_with_drift() -> None:
    fast, slow, places = 1 / 0.5, 1.0, 2
    job = chain(9.0, Operator(exponential(0.5)), Operator(exponential(1.0)), limited=True)
    job = Job(**{**job.__dict__, "receive_queue": places})
    result = simulate_network(job, seconds=5_000, warmup=100)
    weights = [(fast / slow) ** n for n in range(places + 3)]
    assert result.executors[2]["executed"] / 5_000 == pytest.approx(
        slow * (1 - weights[0] / sum(weights)), rel=0.04
    )
    assert result.executors[1]["blocked"] == pytest.approx(weights[-1] / sum(weights), rel=0.05)


def test_a_blocked_source_waits_with_the_tuple_it_emitted() -> None:
    """One in service for 1, three in the queue, one with the source: each is born 1 before it gets
    a place and has three before it.
    """
    job = chain(ALWAYS_DUE, Operator(constant(1)), limited=True, receive_queue=3)
    result = simulate_network(job, seconds=20, warmup=10.5, **SOON)
    assert result.end_to_end["1"] == pytest.approx([1 + 3 + 1] * 20)
    assert result.executors[0]["blocked"] == pytest.approx(1)


def test_blocked_emitters_get_places_in_turn() -> None:
    job = Job(
        operators={"s": Operator(rate=ALWAYS_DUE), "b": Operator(constant(1))},
        executors=[*[Executor("s")] * 3, Executor("b")],
        subscriptions=[Subscription("s", "b")],
        limited=True,
        receive_queue=1,
    )
    result = simulate_network(job, seconds=30, warmup=10.5, **SOON)
    # Each of the three waits for two others at the queue's door, then one in the queue.
    assert result.end_to_end["b"] == pytest.approx([3 + 1 + 1] * 30)
    assert result.roots["emitted"] == 40 + 1 + 1 + 3  # done, in service, in the queue, held


def test_what_is_emitted_after_a_blocked_tuple_waits_behind_it() -> None:
    """Every tuple goes to a slow bolt by one stream and to a quick one by the other."""
    job = Job(
        operators={
            "s": Operator(rate=ALWAYS_DUE, outputs={"x": 1.0, "y": 1.0}),
            "slow": Operator(constant(1)),
            "quick": Operator(),
        },
        executors=[Executor("s"), Executor("slow"), Executor("quick")],
        subscriptions=[
            Subscription("s", "slow", stream="x"),
            Subscription("s", "quick", stream="y"),
        ],
        limited=True,
        receive_queue=2,
    )
    result = simulate_network(job, seconds=10, warmup=10.5, **SOON)
    assert result.end_to_end["slow"] == pytest.approx([1 + 2 + 1] * 10)
    assert result.end_to_end["quick"] == pytest.approx([1] * 10)


def test_a_blocked_source_still_handles_answers() -> None:
    """While the slow bolt blocks it, the quick one's tuples are acked."""
    job = Job(
        operators={
            "s": Operator(rate=ALWAYS_DUE, outputs={"y": 1.0, "x": 1.0}),
            "slow": Operator(constant(100)),
            "quick": Operator(constant(0.5)),
            ACKER: Operator(),
        },
        executors=[Executor(name) for name in ["s", "slow", "quick", ACKER]],
        subscriptions=[
            Subscription("s", "slow", stream="x"),
            Subscription("s", "quick", stream="y"),
        ],
        limited=True,
        receive_queue=2,
    )
    result = simulate_network(job, seconds=1000, warmup=510, **SOON)
    quick = [latency for latency in result.spout if latency < 50]
    assert quick == pytest.approx([0.5] * 10)
    assert [latency for latency in result.spout if latency > 50] == pytest.approx([400] * 10)


def test_a_full_transfer_queue_blocks_the_emitter() -> None:
    job = Job(
        operators={"s": Operator(rate=ALWAYS_DUE), "b": Operator()},
        executors=[Executor("s", "w1"), Executor("b", "w2")],
        subscriptions=[Subscription("s", "b")],
        workers={"w1": "m1", "w2": "m2"},
        transfer=constant(1),
        limited=True,
        transfer_queue=4,
    )
    result = simulate_network(job, seconds=20, warmup=10.5, **SOON)
    assert result.end_to_end["b"] == pytest.approx([1 + 4 + 1] * 20)
    assert result.transfers["w1"]["longest"] == 4
    assert result.executors[1]["longest"] <= 1


def far(**settings: Any) -> Job:
    """A source emits at 1, 2, 3 ...; a bolt in another worker, 0.2 away, needs 10 for each."""
    return Job(
        operators={"s": Operator(constant(1), rate=ALWAYS_DUE), "b": Operator(constant(10))},
        executors=[Executor("s", "w1"), Executor("b", "w2")],
        subscriptions=[Subscription("s", "b")],
        workers={"w1": "m1", "w2": "m2"},
        limited=True,
        **{"latency": {("w1", "w2"): 0.2, ("w2", "w1"): 0.2}, "receive_queue": 3, **settings},
    )


def test_back_pressure_by_hand() -> None:
    """Tuples 1 to 4 come at 1.2 ... 4.2: one in service, three in the queue. The fifth, at 5.2,
    goes to the overflow; at 5.4 the source's worker knows it, and the source must hold the sixth,
    of 6.0. The fifth is taken at 41.2, which is seen at 41.25 and known at 41.45. So the sixth
    comes at 41.65. The seventh and the eighth, of 42.45 and 43.45, fill the queue, the ninth, of
    44.45, goes to the overflow, and the tenth, of 45.45, is held until 81.45.
    """
    result = simulate_network(far(), seconds=85, **SOON)
    ends = [11.2 + 10 * number for number in range(8)]
    emissions = [1, 2, 3, 4, 5, 6, 42.45, 43.45]
    assert result.end_to_end["b"] == pytest.approx(
        [end - emission for end, emission in zip(ends, emissions, strict=True)], abs=1e-3
    )
    source, bolt = result.executors
    assert source["blocked"] * 85 == pytest.approx((41.45 - 6) + (81.45 - 45.45), abs=1e-3)
    assert (bolt["longest"], bolt["longest_overflow"], bolt["dropped"]) == (3, 1, 0)


def test_beyond_the_limit_of_the_overflow_tuples_are_dropped() -> None:
    """The news takes 5: tuples 5 to 10, of 5.0 to 10.0, meet a full queue and one place more."""
    job = far(latency={("w1", "w2"): 0.2, ("w2", "w1"): 5.0}, overflow=1)
    result = simulate_network(job, seconds=35, **SOON)
    bolt = result.executors[1]
    assert (bolt["dropped"], bolt["longest"], bolt["longest_overflow"]) == (5, 3, 1)
    assert result.roots["emitted"] == 11  # the last one is held


@pytest.mark.parametrize("blocked", [False, True])
def test_the_overflow_has_its_turn_when_the_queue_is_empty(blocked: bool) -> None:
    """A queue with one place. Second and third come from another worker, the rest from the own."""
    bolt = Network(far(receive_queue=1), seed=0, stop=0).executors[1]
    order = []

    def take() -> None:
        order.append(bolt.take()[1][1])

    assert bolt.offer((0, "first"))
    bolt.deliver((0, "second"))
    bolt.deliver((0, "third"))
    assert not bolt.offer((0, "too early"))
    take()
    assert bolt.offer((0, "fourth"))
    take()
    take()
    assert bolt.offer((0, "fifth"))
    if blocked:  # it begins anew at the queue
        bolt.turn = 0
    take()
    take()
    last = ["fifth", "third"] if blocked else ["third", "fifth"]
    assert order == ["first", "fourth", "second", *last]


def test_without_latency_only_what_met_the_full_queue_overflows() -> None:
    result = simulate_network(far(latency={}), seconds=500, **SOON)
    assert result.executors[1]["longest_overflow"] == 1
    assert result.executors[1]["utilisation"] == pytest.approx(499 / 500, abs=0.001)


@pytest.mark.parametrize("overflow", [None, 1])
def test_every_root_ends_or_is_pending_when_queues_are_tiny(overflow: int | None) -> None:
    limits: dict[str, Any] = {"receive_queue": 2, "transfer_queue": 2, "overflow": overflow}
    result = simulate_network(spread(limited=True, **limits), seconds=400, stop=100)
    roots, dropped = result.roots, sum(executor["dropped"] for executor in result.executors)
    assert roots["emitted"] == roots["acked"] + roots["pending"]
    assert roots["pending"] <= dropped
    assert (roots["pending"] > 0) == (dropped > 0) == (overflow == 1)
    assert roots["due"] == 0
    assert max(executor["longest"] for executor in result.executors) == 2


def test_limits_that_are_never_reached_change_nothing() -> None:
    def run(limited: bool) -> object:
        job = acked(chain(0.5, Operator(exponential(1)), limited=limited))
        return simulate_network(job, seconds=500)

    assert run(limited=True) == run(limited=False)
