"""The network oracle against closed forms: fixed seeds, intervals of 99.9 %."""

import math
from random import Random
from typing import Any

import numpy as np
import pytest
import simpy

from tests.simulation.oracles.cases import chain, spread
from tests.simulation.oracles.intervals import agree
from tests.simulation.oracles.job import ACKER, Executor, Job, Operator, Subscription
from tests.simulation.oracles.parts import Cores, Steps, constant, exponential
from tests.simulation.oracles.storm2_network import simulate_network


def test_one_exponential_server_is_m_m_1() -> None:
    result = simulate_network(chain(0.5, Operator(exponential(1))), seconds=150_000, warmup=200)
    sojourns = result.end_to_end["1"]
    agree(sojourns, 2.0)
    agree([time > 4 for time in sojourns], math.exp(-2))
    bolt = result.executors[1]
    assert bolt["utilisation"] == pytest.approx(0.5, rel=0.02)
    assert bolt["queue"] == pytest.approx(0.5, rel=0.07)


def test_a_constant_server_is_m_d_1() -> None:
    result = simulate_network(chain(0.5, Operator(constant(1))), seconds=40_000, warmup=200)
    agree(result.end_to_end["1"], 1.5)


def test_cpu_time_and_waiting_add_up_to_the_service_time() -> None:
    bolt = Operator(cpu=constant(0.4), waiting=exponential(0.6))
    second_moment = 0.4**2 + 2 * 0.4 * 0.6 + 2 * 0.6**2
    result = simulate_network(chain(0.5, bolt), seconds=40_000, warmup=200)
    agree(result.end_to_end["1"], 1 + 0.5 * second_moment / (2 * 0.5))


def test_a_tandem_of_exponential_servers() -> None:
    job = chain(0.5, Operator(exponential(1)), Operator(exponential(0.8)))
    agree(simulate_network(job, seconds=60_000, warmup=200).end_to_end["2"], 2 + 1 / 0.75)


@pytest.mark.parametrize(("outputs", "second_moment"), [(3, 9), (1.5, 2.5)])
def test_a_multiplier_before_an_exponential_server_is_m_x_m_1(
    outputs: float, second_moment: float
) -> None:
    rate, mean = 0.5, 0.375 / outputs * 2
    load = rate * outputs * mean
    population = load * (1 + second_moment / outputs) / (2 * (1 - load))
    job = chain(rate, Operator(outputs={"default": outputs}), Operator(exponential(mean)))
    result = simulate_network(job, seconds=40_000, warmup=200)
    agree(result.end_to_end["2"], population / (rate * outputs))


def sharing(executors: int, cores: float) -> Job:
    return Job(
        operators={"s": Operator(rate=0.6), "b": Operator(exponential(1))},
        executors=[Executor("s"), *[Executor("b")] * executors],
        subscriptions=[
            Subscription("s", "b", "fields", weights=[1] * executors, table=range(executors))
        ],
        cores={"m1": cores},
    )


@pytest.mark.parametrize("executors", [3, 8])
def test_executors_on_one_core_have_the_population_of_one_m_m_1(executors: int) -> None:
    result = simulate_network(sharing(executors, cores=1), seconds=50_000, warmup=500)
    agree(result.end_to_end["b"], 1 / (1 - 0.6), within=0.15)
    population = sum(bolt["queue"] + bolt["utilisation"] for bolt in result.executors[1:])
    assert population == pytest.approx(0.6 * np.mean(result.end_to_end["b"]), rel=0.02)


def shared_cores(cores: float, rate: float, work: Any, count: int) -> list[float]:
    """How long each of many jobs takes that come by a Poisson process."""
    env = simpy.Environment()
    machine, random, times = Cores(env, cores), Random(1), []

    def one() -> Steps:
        came = env.now
        yield from machine.run(work.draw(random))
        times.append(env.now - came)

    def source() -> Steps:
        for _ in range(count):
            yield env.timeout(random.expovariate(rate))
            env.process(one())

    env.process(source())
    env.run()
    return times


def test_processor_sharing_depends_on_the_mean_of_the_work_alone() -> None:
    agree(shared_cores(1, 0.6, constant(1), 40_000), 1 / (1 - 0.6))
    agree(shared_cores(1, 0.6, exponential(1), 40_000), 1 / (1 - 0.6))


def test_two_shared_cores_are_m_m_2() -> None:
    agree(shared_cores(2, 1.2, exponential(1), 50_000), 1 / (1 - 0.6**2))


def test_littles_law_holds_for_every_executor() -> None:
    seconds = 1000
    result = simulate_network(spread(), seconds=seconds, warmup=100)
    for executor in result.executors[1:]:
        population = executor["queue"] + executor["utilisation"]
        assert population == pytest.approx(
            executor["executed"] / seconds * executor["sojourn"], rel=0.015
        )


def test_tuples_are_conserved_and_go_where_groupings_say() -> None:
    job = spread()
    result = simulate_network(job, seconds=2000, stop=1500)
    count = dict.fromkeys(job.operators, 0)
    for executor in result.executors:
        count[executor["operator"]] += executor["executed"]
    roots = result.roots["emitted"]
    assert count["s"] == count["a"] == roots
    by_a = count["b"] - roots  # copies of the roots go to task 0 of b by the global grouping
    assert by_a == pytest.approx(1.5 * roots, rel=0.07)
    assert count["c"] == by_a + 2 * count["b"]
    assert count[ACKER] == roots + count["a"] + count["b"] + count["c"]
    assert result.executors[1]["executed"] == pytest.approx(roots / 3, abs=1)
    assert result.executors[4]["executed"] == pytest.approx(by_a / 2, rel=0.08)


@pytest.mark.parametrize("sleepy", ["spout", "transfer"])
def test_idle_sources_and_transfer_threads_see_tuples_when_their_sleep_ends(sleepy: str) -> None:
    job = Job(
        operators={"s": Operator(rate=0.2), "b": Operator()},
        executors=[Executor("s", "w1"), Executor("b", "w2")],
        subscriptions=[Subscription("s", "b")],
        workers={"w1": "m1", "w2": "m2"},
        sleep=1.0,
        **({"spout_spin": 0.0} if sleepy == "spout" else {"transfer_sleep": 1.0}),
    )
    result = simulate_network(job, seconds=100_000)
    agree(result.from_due["b"], 0.5)
    assert max(result.from_due["b"]) <= 1
    assert max(result.end_to_end["b"]) == (0 if sleepy == "spout" else max(result.from_due["b"]))


def test_an_idle_bolt_polls_before_it_sleeps() -> None:
    """It polls for 5, then sleeps 2 again and again; between two tuples pass 20 on the mean."""
    job = chain(1 / 20, Operator(), bolt_spin=5.0, sleep=2.0)
    waits = simulate_network(job, seconds=500_000).end_to_end["1"]
    asleep = math.exp(-5 / 20)  # probability that it sleeps before the next tuple comes
    woken_by = (2 / 20) / (1 - math.exp(-2 / 20))  # tuples in a sleep in which there is one
    agree(waits, asleep * woken_by * 1.0 / (1 - asleep + asleep * woken_by))
