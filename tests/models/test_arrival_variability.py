"""How regular arrivals are, against renewal theory, exact queues and the simulator."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.arrival_variability import (
    LEAST_SERVICE_SCV,
    Events,
    arrival_scv,
    deal_events,
    departures,
    merge_streams,
    thin_stream,
    wait_factor,
)
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.queueing import BulkQueue, FlushedQueue, released_wait, sojourn_transform
from streamgauge.models.queueing import wait as mean_wait
from streamgauge.pipeline.estimation.assembly import profile_of
from streamgauge.pipeline.estimation.subjects import figures_of
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.simulation.topology_run import simulate
from streamgauge.topology import Operator
from tests.engines.emulator.emulations import emulated
from tests.models.plans import flow_of, per_input, rates_of, source, stream, traffic_of
from tests.pipeline.estimation.aggregation import partials

ONE = np.ones(1)

LINE = """
streamgauge: 1
topology:
  name: line
  operators: {s: {kind: source}, a: {tasks: 4}, b: {tasks: 4}}
  streams:
    - {from: s, to: a, grouping: shuffle}
    - {from: a, to: b, grouping: {fields: [k]}}
behaviours:
  s: {service: {cpu_ms: 0.01}}
  a:
    service: {wait_ms: {gamma: {mean: 20, scv: 0.5}}}
    outputs: {default: 1}
    keys: {default: {uniform: {count: 64}}}
  b: {service: {wait_ms: {exponential: 10}}}
configuration: {engine: storm-1, executors: {a: 2, b: 2}, workers: 2}
cluster: {uniform: {nodes: 2, slots: 2, cores: 4, latency_ms: 0.1}}
workload: [{source: s, per_second: 40}]
steps: {four: {executors: {a: 4, b: 4}}}
"""


def erlang_wait(phases, load):
    """Mean wait in an Erlang/M/1 queue of service rate one, in multiples of that of M/M/1.

    GI/M/1: W = r/(1 − r), r the root of r = A(1 − r), A the transform of the time between arrivals.
    """
    rate = phases * load
    root = brentq(lambda r: r - (rate / (rate + 1.0 - r)) ** phases, 0.0, 1.0 - 1e-9)
    return root / (1.0 - root) / (load / (1.0 - load))


def test_every_nth_of_arrivals_at_random_is_erlang():
    assert thin_stream(ONE, 0.25 * ONE, in_turn=True) == pytest.approx([0.25])


def test_any_part_at_random_of_arrivals_at_random_is_at_random():
    assert thin_stream(ONE, 0.25 * ONE) == pytest.approx([1.0])


def test_a_small_part_at_random_of_anything_is_at_random():
    assert thin_stream(0.0 * ONE, 1e-6 * ONE) == pytest.approx([1.0], abs=1e-5)


def test_one_stream_stays_as_it_is():
    assert merge_streams(
        np.array([[3.0], [0.0]]), np.array([[0.3], [1.0]]), 0.1 * ONE
    ) == pytest.approx([0.3])


def test_many_streams_are_at_random_to_a_short_queue_and_as_they_are_to_a_long_one():
    rates, scvs = np.ones((1000, 1)), np.full((1000, 1), 0.2)
    assert merge_streams(rates, scvs, 0.1 * ONE) == pytest.approx([1.0], abs=1e-3)
    assert merge_streams(rates, scvs, ONE) == pytest.approx([0.2])


def test_who_gets_nothing_is_as_at_random():
    assert merge_streams(np.zeros((2, 1)), np.zeros((2, 1)), 0.5 * ONE) == [1.0]


def test_departures_are_as_arrivals_when_idle_and_as_services_when_busy():
    assert departures(0.3 * ONE, 0.0 * ONE, 2.0 * ONE) == [0.3]
    assert departures(0.3 * ONE, ONE, 2.0 * ONE) == [2.0]


@pytest.mark.parametrize("receivers", [1, 2, 4])
@pytest.mark.parametrize("mean", [0.2, 3.0, 30.0])
def test_what_a_sleep_gathered_is_dealt_one_to_each_before_anybody_gets_a_second(mean, receivers):
    """Every number that may gather, and every receiver that may be the first, one by one."""
    some = pairs = 0.0
    for number in range(1, 200):
        weight = math.exp(number * math.log(mean) - mean - math.lgamma(number + 1)) / receivers
        for first in range(receivers):
            got = sum((first + place) % receivers == 0 for place in range(number))
            some += weight * (got > 0)
            pairs += weight * got * (got - 1)
    events = Events(ONE, mean * ONE, mean**2 * ONE, gathered=True)
    dealt = deal_events(events, np.full((1, receivers), 1.0 / receivers), in_turn=True)
    assert dealt.batches[0] == pytest.approx(some)
    assert dealt.tuples[0] == pytest.approx(mean / receivers)
    assert dealt.squares[0] - dealt.tuples[0] == pytest.approx(pairs, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize(
    ("sources", "paced", "scv"),
    [(1, 0.0, 1.0), (1, 1.0, LEAST_SERVICE_SCV), (2, 1.0, (1.0 + LEAST_SERVICE_SCV) / 2.0)],
)
def test_a_source_that_waits_for_roots_emits_as_evenly_as_these_end(sources, paced, scv):
    """A server of constant services that is always busy; each of two sources gets half of its."""
    flow = flow_of((source("s", sources), Operator(name="a")), (stream("s", "a"),))
    conversions = {"a": per_input({})}
    rates = rates_of(flow, {("s", "default"): 1.0}, conversions)
    traffic = replace(traffic_of(flow, rates, conversions), paced=paced)
    size = len(flow.plan.logical.executors)
    found = arrival_scv(traffic, utilisation=np.ones(size), service_scv=np.zeros(size))
    assert found[flow.plan.logical.spans["a"].start] == pytest.approx(scv)


@pytest.mark.parametrize("load", [0.1, 0.5, 0.8, 0.95])
def test_arrivals_at_random_change_nothing(load):
    assert wait_factor(ONE, 0.5 * ONE, load * ONE) == pytest.approx([1.0])


@pytest.mark.parametrize("phases", [2, 4, 16])
@pytest.mark.parametrize("load", [0.5, 0.7, 0.9])
def test_regular_arrivals_shorten_queues_as_exact_solutions_say(phases, load):
    found = wait_factor(ONE / phases, ONE, load * ONE)
    assert found == pytest.approx([erlang_wait(phases, load)], rel=0.09)


def test_a_factor_scales_the_wait_and_nothing_else():
    common = {"batches_per_second": 0.6, "service_seconds": 1.0, "service_scv": 0.5}
    plain, half = BulkQueue(**common), BulkQueue(**common, wait_factor=0.5)
    assert mean_wait(half).mean == pytest.approx(0.5 * mean_wait(plain).mean)
    assert mean_wait(half).variance == pytest.approx(0.25 * mean_wait(plain).variance)
    # The mean is minus the slope of the transform at zero.
    step = 1e-5
    slope = (1.0 - sojourn_transform(half)(np.array([[step + 0.0j]])).real) / step
    assert slope == pytest.approx(float(mean_wait(half).mean) + 1.0, rel=1e-3)


def test_what_is_overloaded_stays_so_however_regular():
    full = BulkQueue(batches_per_second=2.0, service_seconds=1.0, wait_factor=0.0)
    assert math.isinf(mean_wait(full).mean)
    flushed = FlushedQueue(
        batches_per_second=2.0, flush_seconds=0.1, service_seconds=1.0, wait_factor=0.0
    )
    assert math.isinf(released_wait(flushed).mean)


@pytest.mark.parametrize("per_second", [60.0, 120.0, 160.0])
def test_tuples_dealt_in_turn_wait_as_in_the_simulator(per_second, tmp_path):
    seen = emulated(LINE, tmp_path, seconds=600.0, bucket_seconds=10.0, trace_every=0)
    profile = profile_of(figures_of(partials(seen.samples), replicas=0), seen.plans[0])[0]
    job = parse_job(LINE).at_step("four")
    plan, workload = place_job(job).plan, job.workload.times(per_second / 40.0)
    runs = [
        simulate(plan, job.behaviours, workload, seconds=400.0, warmup=60.0, seed=seed).latency
        for seed in range(4)
    ]
    found = AnalyticModel().predict(JobBehaviour.from_profile(profile), plan, workload).latency
    assert found.mean == pytest.approx(np.mean([one.mean for one in runs]), rel=0.08)
    p99 = np.mean([one.quantile(0.99) for one in runs])
    assert found.quantiles[0.99] == pytest.approx(p99, rel=0.15)
