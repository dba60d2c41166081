"""Latency along all ways of a plan, against closed forms, listed ways and the simulator."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from streamgauge.models.arrival_variability import bursts_into
from streamgauge.models.delays import Part
from streamgauge.models.end_to_end_latency import Ways
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.network import Network, find_network
from streamgauge.models.routing import route
from streamgauge.models.storm_delays import storm1_delays, storm2_delays
from streamgauge.models.traffic_equations import Conversion, propagate, source_rates
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.simulation.topology_run import simulate
from streamgauge.topology import Operator
from streamgauge.topology.paths import iter_paths
from streamgauge.topology.topology import Window
from streamgauge.topology.tuple_flow import TupleFlow
from streamgauge.transport.batched_queue import BatchedQueue
from streamgauge.transport.engine import load_engine
from streamgauge.transport.mechanics import PLAIN
from tests.models.exact_executor import mean_sojourn
from tests.models.plans import flow_of, per_input, rates_of, service_of, source, stream, traffic_of

ONE = {("s", "default", "default"): 1.0}


def ways_of(flow, rates, conversions, service, mechanics=PLAIN, seconds=0.0):
    traffic = traffic_of(flow, rates, conversions, mechanics)
    delays = storm2_delays(traffic, service)
    size = len(flow.plan.nodes)
    apart = np.where(np.eye(size, dtype=bool), 0.0, seconds)
    network = Network(seconds=apart, variance=np.zeros((size, size)), notes=())
    return Ways(traffic, delays, network), delays


def line(rate, service, *, outputs=1.0, mechanics=PLAIN, workers=1, seconds=0.0, scv=1.0):
    """s → a → b, a and b with so many seconds of service each."""
    flow = flow_of(
        (source("s"), Operator(name="a"), Operator(name="b")),
        (stream("s", "a"), stream("a", "b")),
        workers=workers,
    )
    conversions = {"a": per_input({("s", "default", "default"): outputs}), "b": per_input({})}
    rates = rates_of(flow, {("s", "default"): rate}, conversions)
    times = service_of(flow, {"a": service[0], "b": service[1]}, scv)
    return ways_of(flow, rates, conversions, times, mechanics, seconds)


def test_two_queues_in_a_row_are_a_jackson_network():
    """Sojourns are exponential with rates 30 and 30: an Erlang of two stages."""
    ways, delays = line(20.0, (0.02, 0.02))
    found = ways.latency()
    assert found.mean == pytest.approx(2 / 30)
    assert found.variance == pytest.approx(2 / 30**2)
    for probability, value in found.quantiles.items():
        assert value == pytest.approx(special.gammaincinv(2, probability) / 30, rel=2e-3)
    assert found.parts[Part.SERVICE] == pytest.approx(0.04)
    assert found.parts[Part.QUEUEING] == pytest.approx(2 / 30 - 0.04)
    assert delays.utilisation[1:] == pytest.approx([0.4, 0.4])


def test_outputs_that_come_together_wait_for_each_other():
    """Ten outputs a tuple at 10/s, each of 1 ms: M^[10]/M/1 (`storm-tracer` 2.10.4)."""
    ways, _ = line(10.0, (0.0, 0.001), outputs=10.0)
    load = 0.1
    expected = load * (1 + 10) / (2 * (1 - load)) / 100
    assert ways.latency().mean == pytest.approx(expected)


def test_transfer_threads_sleep_and_nodes_are_apart():
    """s and b in one worker, a in another: two hops of half a sleep and 0.3 ms each."""
    mechanics = replace(PLAIN, transfer_sleep=0.001)
    ways, _ = line(1e-6, (0.002, 0.003), mechanics=mechanics, workers=2, seconds=0.0003)
    found = ways.latency()
    assert found.parts[Part.TRANSFER] == pytest.approx(0.001)
    assert found.parts[Part.NETWORK] == pytest.approx(0.0006)
    assert found.mean == pytest.approx(0.001 + 0.0006 + 0.005, rel=1e-4)


def test_who_sleeps_is_woken_half_a_sleep_later():
    mechanics = replace(PLAIN, bolt_sleep=0.001, bolt_spin=0.0)
    found = line(1e-6, (0.002, 0.003), mechanics=mechanics)[0].latency()
    assert found.parts[Part.WAKE_UP] == pytest.approx(0.001, rel=1e-4)
    # Who polls for longer than it is idle never sleeps.
    awake = replace(PLAIN, bolt_sleep=0.001, bolt_spin=10.0)
    assert line(10.0, (0.002, 0.003), mechanics=awake)[0].latency().parts[
        Part.WAKE_UP
    ] == pytest.approx(0.0, abs=1e-9)


def test_an_overloaded_executor_takes_for_ever():
    found = line(60.0, (0.02, 0.001))[0].latency()
    assert math.isinf(found.mean)
    assert not found.quantiles


def test_a_window_holds_tuples_until_it_fires():
    flow = flow_of(
        (source("s"), Operator(name="w", window=Window(length_tuples=10)), Operator(name="b")),
        (stream("s", "w"), stream("w", "b")),
    )
    window = Conversion(per_input={}, per_trigger={"default": 1.0}, task_parts=(np.ones(1),))
    conversions = {"w": window, "b": per_input({})}
    rates = rates_of(flow, {("s", "default"): 16.0}, conversions)
    ways, _ = ways_of(flow, rates, conversions, service_of(flow, {"w": 1e-9, "b": 1e-9}))
    found = ways.latency()
    assert found.parts[Part.WINDOW] == pytest.approx(9 / 2 / 16)
    drawn = np.random.default_rng(3).gamma(np.tile(np.arange(1, 10), 40_000), 1 / 16)
    drawn = np.concatenate([drawn, np.zeros(40_000)])
    for probability, value in found.quantiles.items():
        assert value == pytest.approx(np.quantile(drawn, probability), rel=0.01)


def random_plan(seed):
    """A diamond with a detour and random coefficients, spread over three nodes."""
    generator = np.random.default_rng(seed)
    tasks = generator.integers(1, 5, 5).tolist()
    operators = (
        source("s", tasks[0]),
        *(Operator(name=name, tasks=count) for name, count in zip("abcd", tasks[1:], strict=True)),
    )
    edges = [("s", "a"), ("s", "b"), ("a", "c"), ("b", "c"), ("b", "d"), ("c", "d")]
    streams = tuple(stream(one, other, f"{one}{other}") for one, other in edges)
    flow = flow_of(operators, streams, workers=3)
    conversions = {}
    for name in "abcd":
        into = [one for one in streams if one.target == name]
        out = [one for one in streams if one.source == name]
        conversions[name] = per_input(
            {(*a.key, b.name): float(generator.uniform(0.2, 1.0)) for a in into for b in out}
        )
    roots = {("s", one.name): float(generator.uniform(1, 20)) for one in streams[:2]}
    rates = rates_of(flow, roots, conversions)
    service = service_of(flow, {name: float(generator.uniform(1e-3, 5e-3)) for name in "abcd"})
    return flow, conversions, rates, service


@pytest.mark.parametrize("seed", range(5))
def test_ways_that_are_not_listed_add_up_to_those_that_are(seed):
    flow, conversions, rates, service = random_plan(seed)
    mechanics = replace(PLAIN, transfer_sleep=0.001)
    ways, delays = ways_of(flow, rates, conversions, service, mechanics, seconds=0.0004)
    own, spread = delays.executor_mean, delays.spread
    total = weighted = squares = 0.0
    blocks = {block.stream.subscription: block for block in flow.blocks}
    for path in iter_paths(flow):
        first = path.connections[0]
        block = blocks[first.stream.subscription]
        weight = rates.emitted[first.stream.key][first.source - block.sources.start]
        mean = variance = 0.0
        previous = None
        for one in path.connections:
            block = blocks[one.stream.subscription]
            row, column = one.source - block.sources.start, one.target - block.targets.start
            weight *= block.shares[row, column]
            if previous is not None:
                weight *= float(
                    conversions[one.stream.source].per_input[previous.stream.key, one.stream.name]
                )
            hop = {"local": 0.0}.get(str(one.type), 0.0005)
            mean += own[one.target] + hop + (0.0004 if str(one.type) == "remote" else 0.0)
            variance += spread[one.target] + (0.001**2 / 12 if hop else 0.0)
            previous = one
        total += weight
        weighted += weight * mean
        squares += weight * (variance + mean**2)
    found = ways.latency()
    assert found.mean == pytest.approx(weighted / total)
    assert found.variance == pytest.approx(squares / total - found.mean**2)
    assert sum(found.parts.values()) == pytest.approx(found.mean)
    by_source = ways.by_source(ways.latency())["s"]
    assert by_source.mean == pytest.approx(found.mean)


def test_what_comes_together_is_counted_together():
    """A source that sleeps for 1 ms at 2,000/s: Poisson with mean two, where any is due."""
    flow = flow_of((source("s"), Operator(name="a")), (stream("s", "a"),))
    conversions = {"a": per_input({})}
    rates = rates_of(flow, {("s", "default"): 2000.0}, conversions)
    found = bursts_into(traffic_of(flow, rates, conversions, replace(PLAIN, source_sleep=0.001)))
    some = 1 - math.exp(-2)
    assert found.per_second[1] == pytest.approx(1000 * some)
    assert found.mean[1] == pytest.approx(2 / some)
    assert found.variance[1] == pytest.approx(6 / some - (2 / some) ** 2)


def test_bursts_keep_the_rate():
    flow, conversions, rates, _ = random_plan(1)
    mechanics = replace(PLAIN, transfer_sleep=0.001, source_sleep=0.001)
    found = bursts_into(traffic_of(flow, rates, conversions, mechanics))
    arrived = np.zeros(len(found.mean))
    for name, span in flow.plan.logical.spans.items():
        arrived[span.start : span.stop] = rates.into(flow, name)
    assert found.per_second * found.mean == pytest.approx(arrived)
    assert np.all(found.mean >= 1.0)


FLUSHED = replace(PLAIN, send_threads=True, batch=100, flush_seconds=0.001)


def flushed_line(rate, service, *, workers=1, scv=1.0):
    """s → a → b on Storm 1.x, without sources that sleep."""
    flow = flow_of(
        (source("s"), Operator(name="a"), Operator(name="b")),
        (stream("s", "a"), stream("a", "b")),
        workers=workers,
    )
    conversions = {"a": per_input({("s", "default", "default"): 1.0}), "b": per_input({})}
    rates = rates_of(flow, {("s", "default"): rate}, conversions)
    times = service_of(flow, {"a": service[0], "b": service[1]}, scv)
    traffic = traffic_of(flow, rates, conversions, FLUSHED)
    delays = storm1_delays(traffic, times)
    size = len(flow.plan.nodes)
    network = Network(seconds=np.zeros((size, size)), variance=np.zeros((size, size)), notes=())
    return Ways(traffic, delays, network).latency(), delays


def test_every_queue_of_storm_1_takes_half_a_flush():
    """Flaw 1 of the thesis: at low rates half an interval in two send and two receive queues."""
    found, _ = flushed_line(0.016, (0.002, 0.003))
    assert found.parts[Part.BATCHING] == pytest.approx(4 * 0.0005)
    assert found.mean == pytest.approx(0.002 + 0.005, rel=1e-3)
    # Two transfer queues more where a is in another worker.
    remote, _ = flushed_line(0.016, (0.002, 0.003), workers=2)
    assert remote.parts[Part.TRANSFER] == pytest.approx(2 * 0.0005)


@pytest.mark.parametrize("load", [0.3, 0.7, 0.9])
def test_an_executor_of_storm_1_is_the_exact_one(load):
    """One tuple a list, exponential service, at most one source: `executor.mean_sojourn`.

    Lists are gathered once more on their way, so that only seldom ones are of one tuple.
    """
    service = 0.05
    rate = load / service
    _, delays = flushed_line(rate, (service, 0.0))
    exact = mean_sojourn(BatchedQueue(lists_per_second=rate, service_seconds=service))
    assert delays.executor_mean[1] == pytest.approx(exact.total_seconds, rel=0.03)


JOB = """
streamgauge: 1
topology:
  name: t
  operators: {{s: {{kind: source, tasks: 2}}, a: {{tasks: 4}}, b: {{tasks: 4}}}}
  streams:
    - {{from: s, to: a, grouping: {{fields: [k]}}}}
    - {{from: a, to: b, grouping: shuffle}}
behaviours:
  s: {{keys: {{default: {{uniform: 40}}}}}}
  a: {{service: {{wait_ms: {{gamma: {{mean: 4, scv: 0.5}}}}}}, outputs: {{default: 3}}}}
  b: {{service: {{wait_ms: {{exponential: 2}}}}}}
configuration: {{engine: {engine}, executors: {{s: 2, a: 4, b: 4}}, workers: 2}}
cluster: {{uniform: {{nodes: 2, cores: 16, latency_ms: 0.5}}}}
workload: [{{source: s, per_second: {rate}}}]
"""


@pytest.mark.parametrize("engine", ["storm-1", "storm-2"])
@pytest.mark.parametrize("rate", [60, 350])
def test_latency_and_its_percentiles_are_those_of_the_simulator(engine, rate):
    """Waiting only, so that cores do not matter; utilisations of 0.18 and 0.53 to 0.7."""
    job = parse_job(JOB.format(engine=engine, rate=rate))
    plan = place_job(job).plan
    transport = load_engine(engine)
    mechanics = transport.mechanics({})
    truth = simulate(plan, job.behaviours, job.workload, seconds=400.0, warmup=20.0, seed=5)
    flow = TupleFlow.of(plan, transport.hops)
    behaviour = JobBehaviour.from_job(job)
    flow = route(flow, behaviour, mechanics).flow
    conversions = {"a": per_input({("s", "default", "default"): 3.0}), "b": per_input({})}
    rates = propagate(flow, source_rates(plan.logical, job.workload), conversions)
    service = service_of(flow, {"a": 0.004, "b": 0.002})
    spread = {"a": 0.5 * 0.004**2, "b": 0.002**2}
    service = replace(
        service,
        variance=np.asarray([spread.get(one.operator, 0.0) for one in plan.logical.executors]),
    )
    made = storm2_delays if engine == "storm-2" else storm1_delays
    traffic = traffic_of(flow, rates, conversions, mechanics)
    delays = made(traffic, service)
    network = find_network(plan, behaviour)
    found = Ways(traffic, delays, network).latency()
    assert found.mean == pytest.approx(truth.latency.mean, rel=0.1)
    for probability, value in found.quantiles.items():
        assert value == pytest.approx(truth.latency.quantile(probability), rel=0.12)
