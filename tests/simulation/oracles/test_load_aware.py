"""The load-aware shuffle of the oracle: by hand, and in small jobs whose routing is known."""

import math
from random import Random
from typing import Any

import pytest

from tests.simulation.oracles.job import ACKER, Executor, Job, Operator, Subscription
from tests.simulation.oracles.load_aware import ALL, HOST, RACK, WORKER, LoadAware, smallest_scope
from tests.simulation.oracles.parts import constant
from tests.simulation.oracles.storm2_network import Network, simulate_network


def router(*scopes: int) -> LoadAware:
    return LoadAware(Subscription("s", "b", "load-aware"), scopes, Random(0))


def counts(choices: LoadAware) -> dict[int, int]:
    return {task: choices.choices.count(task) for task in set(choices.choices)}


def test_scopes_are_worker_host_rack_and_all() -> None:
    job = Job(
        operators={},
        executors=[],
        workers={"w1": "m1", "w2": "m1", "w3": "m2", "w4": "m3", "w5": "m1"},
        racks={"m1": "r1", "m2": "r1", "m3": "r2", "h5": "r2"},
        hosts={"w5": "h5"},
    )
    scopes = [smallest_scope(job, "w1", other) for other in job.workers]
    assert scopes == [WORKER, HOST, RACK, ALL, ALL]


def test_an_empty_scope_is_widened_at_once() -> None:
    assert router(WORKER, ALL).scope == WORKER
    assert router(HOST, ALL).scope == HOST
    assert router(ALL, ALL).scope == ALL
    assert counts(router(WORKER, HOST, WORKER, ALL)) == {0: 500, 2: 500}


def test_a_scope_widens_above_the_higher_bound_and_narrows_below_the_lower() -> None:
    choices = router(WORKER, HOST, ALL)
    seen = []
    for loads in [
        (0.80, 0, 0),  # not above the bound
        (0.81, 0, 0),  # to the host
        (0.50, 1, 0),  # mean of the host 0.75; of the worker not below 0.2
        (0.70, 1, 0),  # to the rack, on which there is nobody else
        (0.70, 1, 0),  # to all
        (0.00, 0.4, 1),  # the rack has a mean of 0.2: not below
        (0.00, 0.3, 1),  # to the rack
        (0.00, 0.3, 1),  # to the host, since its mean is that of the rack
        (0.19, 1, 1),  # to the worker
    ]:
        choices.refresh(loads.__getitem__)
        seen.append(choices.scope)
    assert seen == [WORKER, HOST, HOST, RACK, ALL, ALL, RACK, HOST, WORKER]


def test_weights_grow_by_one_and_shrink_by_ten() -> None:
    choices = router(WORKER, WORKER, WORKER, ALL)
    loads = [0.1, 0.149, 0.151, 0.0]
    for refresh in range(1, 13):
        choices.refresh(loads.__getitem__)
        assert choices.weights == [100, 100, max(0, 100 - 10 * refresh), 100]
    assert set(choices.choices) == {0, 1}
    for refresh in range(1, 4):
        choices.refresh(lambda _: 0.0)
        assert choices.weights == [100, 100, refresh, 100]


def test_weights_begin_anew_when_the_scope_changes() -> None:
    choices = router(WORKER, WORKER, ALL)
    for _ in range(5):
        choices.refresh([0.0, 0.5, 0.0].__getitem__)
    assert choices.weights == [100, 50, 100]
    choices.refresh([0.9, 0.9, 0.0].__getitem__)
    assert choices.scope == HOST
    assert choices.weights == [100, 100, 100]


def test_choices_are_filled_by_weight_and_used_in_rotation() -> None:
    choices = router(WORKER, WORKER, WORKER)
    choices.weights = [100, 100, 11]
    choices.refresh([0.0, 0.0, 1.0].__getitem__)
    size = 1000
    shares = [int(weight / 201 * size) for weight in (100, 100, 1)]
    found = counts(choices)
    assert shares == [497, 497, 4]
    assert all(found[task] >= shares[task] for task in range(3))
    assert sum(found.values()) == size
    round_trip = [choices.targets()[0] for _ in range(2 * size)]
    assert round_trip[:size] == round_trip[size:] == choices.choices
    assert len(router(*[WORKER] * 300).choices) == 1500


def job(*executors: Executor, work: Operator | None = None, **settings: Any) -> Job:
    """Sources "s" with 10 tuples per second that send to bolts "b", on workers w1 to w3."""
    return Job(
        operators={"s": Operator(rate=10), "b": work or Operator(constant(0.01))},
        executors=executors,
        subscriptions=[Subscription("s", "b", "load-aware")],
        **{"workers": {"w1": "m1", "w2": "m2", "w3": "m3"}, **settings},
    )


def test_tuples_stay_in_their_worker() -> None:
    """What was seen on a cluster: two sources, four bolts, three workers."""
    sources = [Executor("s", "w1"), Executor("s", "w2")]
    bolts = [Executor("b", worker) for worker in ["w1", "w2", "w3", "w3"]]
    result = simulate_network(job(*sources, *bolts), seconds=100, warmup=10)
    first, second, *others = [executor["executed"] for executor in result.executors[2:]]
    assert first == pytest.approx(1000, rel=0.1)
    assert second == pytest.approx(1000, rel=0.1)
    assert others == [0, 0]


def test_tuples_stay_on_their_host_once_its_loads_are_known() -> None:
    """Until other workers have reported, all of them count 1, and the scope widens."""
    workers = {"w1": "m1", "w2": "m1", "w3": "m2"}
    placed = job(*[Executor("s"), Executor("b", "w2"), Executor("b", "w3")], workers=workers)
    early = simulate_network(placed, seconds=1)
    assert early.executors[2]["executed"] > 0
    later = simulate_network(placed, seconds=100, warmup=3)
    assert later.executors[1]["executed"] == pytest.approx(1000, rel=0.1)
    assert later.executors[2]["executed"] == 0


def test_of_two_tasks_per_executor_the_second_gets_nothing_after_ten_refreshes() -> None:
    placed = job(Executor("s"), Executor("b", "w1", tasks=2), Executor("b", "w1", tasks=2))
    network = Network(placed, seed=0, stop=math.inf)
    network.env.run(until=0.5)
    (choices,) = network.executors[0].all_routers()
    assert choices.weights == [100, 90, 100, 90]
    result = simulate_network(placed, seconds=100, warmup=9 * 1.5 + 1)
    by_task = {**result.executors[1]["by_task"], **result.executors[2]["by_task"]}
    assert by_task[1] == by_task[3] == 0
    assert by_task[0] == pytest.approx(500, rel=0.15)
    assert by_task[2] == pytest.approx(500, rel=0.15)


def test_with_six_tasks_per_executor_the_scope_widens_and_stays_wide() -> None:
    placed = job(Executor("s"), Executor("b", "w1", tasks=6), Executor("b", "w2", tasks=6))
    network = Network(placed, seed=0, stop=math.inf)
    (choices,) = network.executors[0].all_routers()
    for until, scope in [(0.5, HOST), (3.1, ALL), (100, ALL)]:
        network.env.run(until=until)
        assert choices.scope == scope
    result = simulate_network(placed, seconds=100, warmup=20)
    near, far = (bolt["executed"] for bolt in result.executors[1:])
    assert far == pytest.approx(near, rel=0.15)
    assert result.executors[1]["by_task"][0] == near


def test_with_five_tasks_per_executor_the_scope_does_not_widen() -> None:
    placed = job(Executor("s"), Executor("b", "w1", tasks=5), Executor("b", "w2", tasks=5))
    result = simulate_network(placed, seconds=100)
    assert result.executors[2]["executed"] == 0


def test_others_know_a_load_only_as_it_was_sent_last() -> None:
    """The bolt in w2 gets 10 tuples a second by fields and serves none of them."""
    placed = Job(
        operators={"s": Operator(rate=10), "b": Operator(constant(1e9))},
        executors=[Executor("s", "w1"), Executor("b", "w2")],
        subscriptions=[
            Subscription("s", "b", "fields"),
            Subscription("s", "b", "load-aware", "no"),
        ],
        workers={"w1": "m1", "w2": "m2"},
        latency={("w2", "w1"): 0.25},
        receive_queue=100,
    )
    network = Network(placed, seed=0, stop=math.inf)
    network.env.run(until=4.9)
    known = network.loads["w1"].known
    assert network.loads["w2"].known["b", 0] > 0.2
    assert known["b", 0] == 0  # sent at time 0
    network.env.run(until=5 + 1.5 + 0.25 + 0.01)
    assert 0.4 < known["b", 0] < 0.8  # sent at the first refresh after 5 s
    network.env.run(until=30)
    assert known["b", 0] == 1


def overloaded(**settings: Any) -> Job:
    """Ten tuples a second for two bolts, in two workers, that serve four a second each."""
    executors = [Executor("s"), Executor("b", "w1"), Executor("b", "w2")]
    return job(*executors, work=Operator(constant(0.25)), receive_queue=20, **settings)


def test_a_full_local_queue_makes_the_scope_widen() -> None:
    result = simulate_network(overloaded(limited=True), seconds=300)
    near, far = result.executors[1:]
    assert near["longest"] == 20
    assert far["executed"] > 300
    assert near["executed"] + far["executed"] > 1.2 * 300 * 4  # more than one alone can do


def test_a_limit_of_pending_roots_keeps_the_scope_from_ever_widening() -> None:
    plain = overloaded(max_pending=15)
    acked = Job(
        **{
            **plain.__dict__,
            "operators": {**plain.operators, ACKER: Operator()},
            "executors": [*plain.executors, Executor(ACKER)],
        }
    )
    result = simulate_network(acked, seconds=100)
    assert result.executors[1]["utilisation"] == pytest.approx(1, abs=0.02)
    assert result.executors[2]["executed"] == 0
