"""Whole jobs against queueing theory and against an independent program; fixed seeds."""

import math

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.transport import storm2
from tests.simulation.jobs import run_text
from tests.simulation.oracles.job import ACKER, Executor, Job, Operator, Subscription
from tests.simulation.oracles.parts import exponential
from tests.simulation.oracles.storm2_network import simulate_network

JOB = """
streamgauge: 1
topology:
  name: t
  acked: {acked}
  operators: {{s: {{kind: source, tasks: {sources}}}, a: {{tasks: {tasks}}}, b: {{tasks: 1}}}}
  streams: [{{from: s, to: a, grouping: {grouping}}}, {{from: a, to: b, grouping: global}}]
behaviours:
  s: {{{source}}}
  a: {{service: {{{service}}}, outputs: {{default: {outputs}}}}}
  b: {{service: {{wait_ms: {{exponential: 5}}}}}}
configuration:
  executors: {{s: {sources}, a: {tasks}}}
  workers: {workers}
  settings: {{topology.disable.loadaware.messaging: true{settings}}}
cluster: {{uniform: {{nodes: {workers}, cores: {cores}, latency_ms: {latency}}}}}
workload: [{{source: s, {emission}}}]
"""
DEFAULTS = {
    "acked": "false",
    "sources": 1,
    "tasks": 1,
    "grouping": "shuffle",
    "source": "",
    "service": "wait_ms: {exponential: 10}",
    "outputs": 1,
    "workers": 1,
    "settings": "",
    "cores": 4,
    "latency": 0,
    "emission": "per_second: 60",
}


def run(seconds=4000.0, warmup=20.0, seed=1, mechanics=None, **changes):
    text = JOB.format(**{**DEFAULTS, **changes})
    return run_text(text, seconds=seconds, warmup=warmup, seed=seed, **(mechanics or {}))


def test_a_line_of_waiting_servers_is_a_tandem_of_m_m_1_queues():
    # 1/(100 − 60) + 1/(200 − 60) s, and M/M/1 queues of ρ²/(1 − ρ).
    result = run()
    assert result.operators["b"].latency.mean == pytest.approx(1 / 40 + 1 / 140, rel=0.03)
    assert result.operators["a"].queue_length == pytest.approx(0.9, rel=0.06)
    assert result.operators["a"].utilisation == pytest.approx(0.6, rel=0.02)
    assert result.operators["b"].executed_per_second == pytest.approx(60.0, rel=0.02)


@pytest.mark.parametrize("probability", [0.5, 0.9, 0.99])
def test_percentiles_are_those_of_a_tandem_of_m_m_1_queues(probability):
    # Independent exponential sojourns with rates 40 and 140: P(T > t) in closed form.
    at = run(seconds=8000.0).operators["b"].latency.quantile(probability)
    tail = (40 * math.exp(-140 * at) - 140 * math.exp(-40 * at)) / (40 - 140)
    assert tail == pytest.approx(1.0 - probability, rel=0.1)


def test_executors_that_share_one_core_have_the_population_of_one_m_m_1_queue():
    # Eight executors, CPU work of 10 ms at 60/s on one core: every tuple in service or queue
    # is work of one processor-sharing server, L = 0.6/0.4 in all.
    result = run(
        tasks=8,
        cores=1,
        service="cpu_ms: {exponential: 10}",
        seconds=6000.0,
        outputs=0,
    )
    waiting = result.operators["a"].queue_length
    serving = result.operators["a"].utilisation * 8
    assert waiting + serving == pytest.approx(1.5, rel=0.05)
    assert result.machines[0].busy == pytest.approx(0.6, rel=0.02)


def test_a_constant_service_gives_the_m_d_1_queue():
    # W = b + ρb/(2(1 − ρ)) = 10 + 7.5 ms, then 1/140 s (arrivals there are smoother than Poisson).
    result = run(service="wait_ms: 10", outputs=0)
    assert result.operators["a"].queue_length == pytest.approx(60 * 0.0075, rel=0.05)


def test_what_goes_in_comes_out():
    result = run(outputs=2.5, emission="per_second: 20", tasks=3, grouping="all", seconds=2000.0)
    # A copy to each of three tasks, 2.5 outputs for each.
    assert result.operators["a"].executed_per_second == pytest.approx(60.0, rel=0.02)
    assert result.operators["b"].executed_per_second == pytest.approx(150.0, rel=0.02)


def test_another_worker_is_as_far_as_the_network_says():
    near = run(seconds=500.0, workers=1)
    # With three workers every hop crosses the network: 7 ms each.
    far = run(seconds=500.0, workers=3, latency=7)
    hops = far.operators["b"].latency.mean - near.operators["b"].latency.mean
    assert hops == pytest.approx(0.014, abs=0.003)


def test_sleeping_bolts_notice_a_tuple_half_a_sleep_late():
    sleepy = {"bolt_spin": storm2.DEFAULTS.bolt_spin, "bolt_sleep": storm2.DEFAULTS.bolt_sleep}
    quiet = run(seconds=2000.0, emission="per_second: 5")
    asleep = run(seconds=2000.0, emission="per_second: 5", mechanics=sleepy)
    wake_up = asleep.operators["b"].latency.mean - quiet.operators["b"].latency.mean
    # Two bolts that slept after 55 ms of idleness: about half a millisecond each.
    assert 0.0005 < wake_up < 0.0012


def test_every_root_ends_or_is_still_open():
    result = run(acked="true", seconds=500.0, warmup=0.0, outputs=3)
    emitted = round(result.operators["s"].emitted_per_second * 500.0)
    # Counted exactly: no root ends twice, none is lost.
    assert result.seen_by_source.count + result.open_roots == emitted
    assert result.seen_by_source.count <= result.complete.count <= emitted
    # Both clocks stop with the last message; without a network they differ by nothing.
    assert result.complete.mean == pytest.approx(result.seen_by_source.mean, rel=1e-6)


def test_max_pending_one_makes_a_closed_loop():
    # One tuple at a time, 10 + 5 ms each: 1/15 ms.
    result = run(
        acked="true",
        settings=", topology.max.spout.pending: 1",
        source="service: {cpu_ms: 0.001}",
        emission="shape: unlimited",
        seconds=2000.0,
    )
    assert result.operators["b"].executed_per_second == pytest.approx(1000 / 15.001, rel=0.02)
    assert result.seen_by_source.mean == pytest.approx(0.015, rel=0.02)


def test_the_same_seed_gives_the_same_answer_and_another_does_not():
    first, again, other = (run(seconds=50.0, seed=seed) for seed in (3, 3, 4))
    assert first.operators["b"].latency.mean == again.operators["b"].latency.mean
    assert first.operators["b"].latency.mean != other.operators["b"].latency.mean


def test_an_overloaded_job_ends_with_a_verdict_and_bounded_memory():
    result = run(emission="per_second: 1e6", seconds=1000.0)
    assert result.overloaded
    assert result.seconds < 1000.0
    assert result.operators["a"].utilisation == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("given", [{"seconds": 0.0}, {"seconds": -1.0}, {"warmup": -1.0}])
def test_times_that_cannot_be_are_refused(given):
    with pytest.raises(InvalidInput):
        run(**given)


def test_an_acked_job_on_two_workers_agrees_with_the_independent_program():
    """Shared cores, network, acks, sleeping threads and several executors at once."""
    result = run(
        acked="true",
        tasks=3,
        sources=2,
        workers=2,
        cores=1,
        latency=2,
        service="cpu_ms: {exponential: 8}, wait_ms: {exponential: 10}",
        outputs=1.5,
        emission="per_second: 80",
        seconds=3000.0,
        mechanics={"bolt_sleep": 0.001, "transfer_sleep": 0.001},
    )
    # Tasks by name and dealt in turn: __acker 1-2, a 3-5, b 6, s 7-8.
    workers = ["w1", "w2"]
    executors = [
        Executor(name, workers[index % 2])
        for index, name in enumerate([ACKER, ACKER, "a", "a", "a", "b", "s", "s"])
    ]
    oracle = simulate_network(
        Job(
            operators={
                "s": Operator(rate=40.0),
                "a": Operator(
                    cpu=exponential(0.008), waiting=exponential(0.010), outputs={"default": 1.5}
                ),
                "b": Operator(waiting=exponential(0.005)),
                ACKER: Operator(),
            },
            executors=executors,
            subscriptions=[Subscription("s", "a"), Subscription("a", "b", "global")],
            workers={"w1": "m1", "w2": "m2"},
            cores={"m1": 1, "m2": 1},
            latency={("w1", "w2"): 0.002, ("w2", "w1"): 0.002},
            transfer_sleep=0.001,
            bolt_spin=0.0,
            sleep=0.001,
        ),
        seconds=400,
        warmup=20,
        seed=5,
    )
    theirs = oracle.end_to_end["b"]
    mine = result.operators["b"].latency
    assert mine.mean == pytest.approx(sum(theirs) / len(theirs), rel=0.06)
    ordered = sorted(theirs)
    for probability in (0.5, 0.9, 0.99):
        theirs_at = ordered[int(probability * len(ordered))]
        assert mine.quantile(probability) == pytest.approx(theirs_at, rel=0.1)
    complete = sum(oracle.complete) / len(oracle.complete)
    assert result.complete.mean == pytest.approx(complete, rel=0.06)
    seen = sum(oracle.spout) / len(oracle.spout)
    assert result.seen_by_source.mean == pytest.approx(seen, rel=0.06)


ALTERNATIVES = """
streamgauge: 1
topology:
  name: t
  operators: {s: {kind: source}, a: {}, x: {}, y: {}}
  streams:
    - {from: s, to: a, grouping: shuffle}
    - {from: a, to: x, stream: left, grouping: shuffle}
    - {from: a, to: y, stream: right, grouping: shuffle}
behaviours:
  a: {outputs: {left: 0.3, right: 0.7}, exclusive: true}
  x: {}
  y: {}
workload: [{source: s, per_second: 100}]
"""


def test_alternatives_exclude_each_other():
    found = run_text(ALTERNATIVES, seconds=200, seed=2).operators
    # Every tuple goes one way, so the two ways add up to the tuple.
    both = found["x"].executed_per_second + found["y"].executed_per_second
    assert both == pytest.approx(found["a"].executed_per_second, abs=1e-9)
    assert found["x"].executed_per_second / both == pytest.approx(0.3, abs=0.02)


def test_quantiles_lie_between_the_smallest_and_the_largest_latency():
    latency = run(seconds=100.0).operators["b"].latency
    quantiles = [latency.quantile(p) for p in (0.0, 0.01, 0.5, 0.99, 1.0)]
    assert quantiles == sorted(quantiles)
    assert 0.0 < quantiles[0] < latency.mean < quantiles[-1] < 10.0
