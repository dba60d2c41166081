"""Whole jobs with full semantics against a plain program written from the specification alone.

The same job is given to both: once as a file, once translated into the program's own words. Both
run with ten seeds; means and percentiles must differ by no more than chance allows (99.9 %).
"""

import math

import numpy as np
import pytest

from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.distribution import Constant, Exponential
from streamgauge.profile.files.jobs import parse_job
from streamgauge.topology.grouping import Global, Shuffle
from tests.simulation.intervals import RUNS, alike
from tests.simulation.jobs import run_plan
from tests.simulation.oracles.job import Executor, Job, Operator, Subscription
from tests.simulation.oracles.parts import Time
from tests.simulation.oracles.storm1_network import simulate_storm1
from tests.simulation.oracles.storm2_network import simulate_network
from tests.simulation.oracles.windows import Window

JOB = """
streamgauge: 1
topology:
  name: t
  acked: true
  operators: {{s: {{kind: source, tasks: 2}}, a: {{tasks: {tasks}}}, b: {{tasks: 1{window}}}}}
  streams: [{{from: s, to: a, grouping: shuffle}}, {{from: a, to: b, grouping: global}}]
behaviours:
  s: {{}}
  a: {{service: {{{service}}}, outputs: {{default: {outputs}}}}}
  b: {{{last}}}
configuration:
  engine: {engine}
  executors: {{s: 2, a: {tasks}}}
  workers: {workers}
  settings: {{topology.message.timeout.secs: 100000{settings}}}
cluster: {{uniform: {{nodes: {workers}, cores: {cores}, latency_ms: {latency}}}}}
workload: [{{source: s, per_second: {rate}}}]
"""
DEFAULTS = {
    "tasks": 3,
    "window": "",
    "service": "cpu_ms: {exponential: 8}, wait_ms: {exponential: 10}",
    "outputs": 1.5,
    "last": "service: {wait_ms: {exponential: 5}}",
    "engine": "storm-2",
    "workers": 2,
    "settings": "",
    "cores": 1,
    "latency": 2,
    "rate": 80,
}
EVEN = ", topology.disable.loadaware.messaging: true"


def time_of(distribution):
    """The program's own words for a time, in seconds."""
    if isinstance(distribution, Exponential):
        return Time(distribution.mean / 1e3, exponential=True)
    assert isinstance(distribution, Constant)
    return Time(distribution.value / 1e3)


def translated(job, plan, *, load_aware, **other):
    """The job in the program's own words."""
    operators = {}
    for operator in plan.logical.topology.operators:
        behaviour = job.behaviours.get(operator.name)
        service = behaviour.service if behaviour else None
        window = None
        if operator.window is not None:
            given = operator.window
            by = "count" if given.length_tuples is not None else "time"
            window = Window(
                given.length_tuples or given.length_seconds,
                given.slide_tuples or given.slide_seconds,
                by=by,
                cpu=time_of(behaviour.window.service.cpu_ms),
                compact_every=100,
            )
        counts = behaviour.window.outputs if window else (behaviour.outputs if behaviour else {})
        emission = next((e for e in job.workload.emissions if e.source == operator.name), None)
        operators[operator.name] = Operator(
            cpu=time_of(service.cpu_ms) if service else Time(),
            waiting=time_of(service.wait_ms) if service else Time(),
            outputs={name: one.mean for name, one in counts.items()}
            if not emission
            else {"default": 1.0},
            rate=None if emission is None else emission.per_second / operator.tasks,
            window=window,
        )
    workers = [str(worker) for worker in plan.workers]
    groupings = {Shuffle: "load-aware" if load_aware else "shuffle", Global: "global"}
    cluster = plan.cluster
    return Job(
        operators=operators,
        executors=[
            Executor(one.operator, workers[plan.placement[index]], len(one.tasks))
            for index, one in enumerate(plan.logical.executors)
        ],
        subscriptions=[
            Subscription(one.source, one.target, groupings[type(one.grouping)], one.name)
            for one in plan.logical.topology.data_streams
        ],
        workers={str(worker): cluster.machine_of(worker.node).name for worker in plan.workers},
        hosts={str(worker): worker.node for worker in plan.workers},
        cores={machine.name: machine.cores for machine in cluster.machines},
        latency={
            (str(a), str(b)): cluster.latency_between(a.node, b.node) / 1e3
            for a in plan.workers
            for b in plan.workers
            if a != b
        },
        sleep=0.001,
        **other,
    )


def both(
    *,
    seconds,
    theirs,
    warmup=20.0,
    load_aware=False,
    program=simulate_network,
    mechanics=None,
    oracle=None,
    **changes,
):
    """Results of ten runs of each; `seconds` of ours, `theirs` of the program."""
    job = parse_job(JOB.format(**{**DEFAULTS, **changes}))
    plan = place_job(job).plan
    ours = [
        run_plan(plan, job, seconds=seconds, warmup=warmup, seed=seed, **(mechanics or {}))
        for seed in range(1, RUNS + 1)
    ]
    same = translated(job, plan, load_aware=load_aware, **(oracle or {}))
    others = [
        program(same, seconds=theirs, warmup=warmup, seed=seed) for seed in range(1, RUNS + 1)
    ]
    return ours, others


def compare(ours, others, *, quantiles=(0.5, 0.9, 0.99), within=0.15):
    """Latencies to the sink, and both complete latencies."""
    to_sink = [one.end_to_end["b"] for one in others]
    alike([one.latency.mean for one in ours], [np.mean(one) for one in to_sink], within=within)
    for probability in quantiles:
        alike(
            [one.latency.quantile(probability) for one in ours],
            [np.quantile(one, probability) for one in to_sink],
            within=2 * within,
        )
    alike(
        [one.complete.mean for one in ours],
        [np.mean(one.complete) for one in others],
        within=within,
    )
    alike(
        [one.seen_by_source.mean for one in ours],
        [np.mean(one.spout) for one in others],
        within=within,
    )


def test_shared_cores_network_acks_and_sleeping_threads():
    asleep = {"bolt_sleep": 0.001, "transfer_sleep": 0.001}
    ours, others = both(
        seconds=400.0,
        theirs=40.0,
        settings=EVEN,
        mechanics=asleep,
        oracle={"transfer_sleep": 0.001, "bolt_spin": 0.0},
    )
    compare(ours, others)


def test_batching_with_flushes_of_storm_1():
    """Send queue, transfer queue, receive queue: three flushes on a far hop, two on a near one."""
    ours, others = both(
        seconds=400.0,
        theirs=10.0,
        warmup=2.0,
        engine="storm-1",
        service="cpu_ms: {exponential: 1}, wait_ms: 1",
        last="service: {wait_ms: {exponential: 1}}",
        rate=300,
        program=simulate_storm1,
    )
    # A flush timer keeps its phase for a whole run: runs differ more than their length says.
    compare(ours, others, within=0.25)


@pytest.mark.slow
def test_full_rings_of_storm_1():
    """Batches of four and rings of eight, with far more tuples: overflow and lingering."""
    ours, others = both(
        seconds=200.0,
        theirs=20.0,
        engine="storm-1",
        service="wait_ms: {exponential: 4}",
        outputs=2,
        last="service: {cpu_ms: {exponential: 1}}",
        rate=300,
        cores=2,
        settings=(
            ", topology.disruptor.batch.size: 4, topology.executor.receive.buffer.size: 8, "
            "topology.executor.send.buffer.size: 8, topology.transfer.buffer.size: 8"
        ),
        program=lambda job, **other: simulate_storm1(job, batch=4, ring=8, **other),
    )
    compare(ours, others, within=0.25)


def test_windows_with_acks():
    """Siblings in windows of 25 tuples whose function works; acked when they expire."""
    ours, others = both(
        seconds=600.0,
        theirs=60.0,
        warmup=30.0,
        settings=EVEN,
        outputs=3,
        service="wait_ms: {exponential: 5}",
        window=", window: {length_tuples: 25, slide_tuples: 10}",
        last="service: {cpu_ms: 0.1}, window: {service: {cpu_ms: {exponential: 20}}}",
        rate=40,
        latency=1,
    )
    compare(ours, others)


def test_time_windows_with_acks():
    ours, others = both(
        seconds=600.0,
        theirs=60.0,
        warmup=30.0,
        settings=EVEN,
        outputs=1,
        service="wait_ms: {exponential: 5}",
        window=", window: {length_seconds: 2, slide_seconds: 1}",
        last="service: {cpu_ms: 0.1}, window: {service: {cpu_ms: {exponential: 50}}}",
        rate=40,
        latency=1,
    )
    compare(ours, others, quantiles=(0.5, 0.9))


def test_load_aware_shuffle_near_and_far():
    """Queues of 32 tuples, so that scopes widen and narrow again and again in one run.

    Both run for the same time: the cycles are slow, and their beginning is not like the rest.
    """
    limit = {"receive_limit": 32}
    ours, others = both(
        seconds=60.0,
        theirs=60.0,
        warmup=10.0,
        tasks=4,
        workers=3,
        cores=8,
        outputs=1,
        service="wait_ms: {exponential: 20}",
        last="",
        rate=110,
        load_aware=True,
        mechanics=limit,
        oracle={"receive_queue": 32, "limited": True},
    )
    compare(ours, others, quantiles=(0.5, 0.9), within=0.3)
    shares_ours = [_shares(one.executors) for one in ours]
    shares_theirs = [_shares_theirs(one.executors) for one in others]
    for place in range(4):
        alike(
            [one[place] for one in shares_ours],
            [one[place] for one in shares_theirs],
            within=math.inf,
        )


def _shares(executors):
    counts = np.asarray([one.executed_per_second for one in executors if one.operator == "a"])
    return counts / counts.sum()


def _shares_theirs(executors):
    counts = np.asarray([one["executed"] for one in executors if one["operator"] == "a"])
    return counts / counts.sum()


@pytest.mark.slow
def test_producer_batches_with_flush_tuples():
    """On one worker: each has a flush timer of its own, which the program starts at once."""
    ours, others = both(
        seconds=200.0,
        theirs=30.0,
        settings=EVEN + ", topology.producer.batch.size: 10",
        service="wait_ms: {exponential: 3}",
        last="service: {wait_ms: {exponential: 2}}",
        rate=200,
        workers=1,
        latency=1,
        oracle={"batch": 10},
    )
    compare(ours, others, within=0.25)


@pytest.mark.slow
def test_back_pressure_near_and_far():
    limits = {"receive_limit": 8, "transfer_limit": 8}
    ours, others = both(
        seconds=300.0,
        theirs=40.0,
        settings=EVEN,
        outputs=1,
        service="wait_ms: {exponential: 5}",
        last="service: {wait_ms: {exponential: 9}}",
        rate=100,
        latency=1,
        mechanics=limits,
        oracle={"receive_queue": 8, "transfer_queue": 8, "limited": True},
    )
    compare(ours, others, quantiles=(0.5, 0.9), within=0.3)
