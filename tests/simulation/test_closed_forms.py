"""Whole jobs against queueing theory: fixed seeds, intervals of 99.9 %."""

import math

import pytest

from streamgauge.transport import storm2
from tests.simulation.intervals import holds, runs_of
from tests.simulation.jobs import DEFAULTS, LINE, run_text


def runs(figure, *, seconds=1000.0, mechanics=None, **changes):
    text = LINE.format(**{**DEFAULTS, **changes})

    def run(seed):
        return run_text(text, seconds=seconds, warmup=20.0, seed=seed, **(mechanics or {}))

    return runs_of(run, figure)


def waiting(result):
    return result.operators["a"].queue_length


def test_a_line_of_exponential_servers_is_a_tandem_of_m_m_1_queues():
    # 1/(100 − 60) + 1/(200 − 60) s.
    holds(runs(lambda r: r.latency.mean), 1 / 40 + 1 / 140)


def test_an_m_m_1_queue_is_as_long_as_it_should_be():
    # ρ²/(1 − ρ) wait for the first server, and it works 60 % of the time.
    holds(runs(waiting), 0.9)
    holds(runs(lambda r: r.operators["a"].utilisation), 0.6)
    holds(runs(lambda r: r.operators["a"].wait_seconds), 0.015)


@pytest.mark.parametrize("probability", [0.5, 0.9, 0.99])
def test_percentiles_are_those_of_a_tandem_of_m_m_1_queues(probability):
    # Independent exponential sojourns with rates 40 and 140: P(T > t) in closed form.
    low, high = 0.0, 1.0
    for _ in range(60):
        at = (low + high) / 2
        tail = (40 * math.exp(-140 * at) - 140 * math.exp(-40 * at)) / (40 - 140)
        low, high = (at, high) if tail > 1.0 - probability else (low, at)
    holds(runs(lambda r: r.latency.quantile(probability)), low, within=0.08)


def test_a_constant_service_gives_the_m_d_1_queue():
    # Wq = ρb/(2(1 − ρ)) = 7.5 ms.
    holds(runs(waiting, service="wait_ms: 10", outputs=0), 60 * 0.0075)


@pytest.mark.parametrize("scv", [0.3, 4.0])
def test_a_gamma_service_gives_the_m_g_1_queue(scv):
    # Pollaczek and Khinchine: Lq = ρ²(1 + scv)/(2(1 − ρ)).
    service = f"wait_ms: {{gamma: {{mean: 10, scv: {scv}}}}}"
    holds(runs(waiting, service=service, outputs=0), 0.36 * (1 + scv) / 0.8, within=0.15)


def test_batches_of_arrivals_give_the_batch_queue():
    # Three copies at once into b (M^[3]/M/1, constant batches): L = ρ(1 + k)/(2(1 − ρ)).
    def population(result):
        one = result.operators["b"]
        return one.queue_length + one.utilisation

    # 20/s, three outputs each, 5 ms: ρ = 0.3.
    found = runs(population, service="", outputs=3, emission="per_second: 20")
    holds(found, 0.3 * 4 / (2 * 0.7))


@pytest.mark.parametrize("tasks", [2, 8])
def test_executors_that_share_one_core_have_the_population_of_one_m_m_1_queue(tasks):
    # CPU work of 10 ms at 60/s on one core: every tuple in service or queue is work of one
    # processor-sharing server, L = 0.6/0.4 in all.
    def population(result):
        one = result.operators["a"]
        return one.queue_length + one.utilisation * tasks

    given = {"tasks": tasks, "cores": 1, "service": "cpu_ms: {exponential: 10}", "outputs": 0}
    holds(runs(population, **given), 1.5)
    holds(runs(lambda r: r.machines[0].busy, **given), 0.6)


def test_background_load_takes_its_part_of_a_core():
    # 20 of 60 per cent of work on half a core: ρ = 0.4, L = 2/3 under processor sharing.
    def population(result):
        one = result.operators["a"]
        return one.queue_length + one.utilisation * 4

    text = LINE.format(
        **{
            **DEFAULTS,
            "tasks": 4,
            "service": "cpu_ms: {exponential: 10}",
            "outputs": 0,
            "emission": "per_second: 20",
        }
    )
    old = "cluster: {uniform: {nodes: 1, cores: 4, latency_ms: 0}}"
    assert old in text
    text = text.replace(
        old,
        "cluster: {machines: {m: {cores: 1, background_cores: 0.5}}, "
        "nodes: {n: {machine: m, slots: 1}}}",
    )
    found = runs_of(lambda seed: run_text(text, seconds=1000.0, warmup=20.0, seed=seed), population)
    holds(found, 0.4 / 0.6)


def test_one_tuple_at_a_time_makes_a_closed_loop():
    # 10 + 5 ms each, one after the other: 1/15 ms.
    given = {
        "acked": "true",
        "settings": ", topology.max.spout.pending: 1",
        "source": "service: {cpu_ms: 0.001}",
        "emission": "shape: unlimited",
    }
    holds(runs(lambda r: r.operators["b"].executed_per_second, **given), 1000 / 15.001)
    holds(runs(lambda r: r.seen_by_source.mean, **given), 0.015)
    # It would like to emit all the time.
    holds(runs(lambda r: r.operators["s"].throttled, **given), 15 / 15.001, within=0.001)


def test_another_worker_is_as_far_as_the_network_says():
    # Three workers: each hop crosses the network, 7 ms.
    far = runs(lambda r: r.latency.mean, workers=3, latency=7, seconds=500.0)
    holds(far, 1 / 40 + 1 / 140 + 0.014)


def test_jitter_spreads_what_the_network_takes():
    text = LINE.format(**{**DEFAULTS, "workers": 2, "service": "", "outputs": 1, "latency": 7})
    old = "cluster: {uniform: {nodes: 2, cores: 4, latency_ms: 7}}"
    assert old in text
    # a[1] and s[3] are with the first worker, b[2] with the second: one hop over the network.
    text = text.replace(
        old,
        "cluster: {machines: {m: {cores: 4}}, "
        "nodes: {n1: {machine: m, slots: 1}, n2: {machine: m, slots: 1}}, "
        "links: [{from: n1, to: n2, latency_ms: 7, jitter_ms: 2}]}",
    )
    text = text.replace("b: {service: {wait_ms: {exponential: 5}}}", "b: {}")
    text = text.replace("per_second: 60", "per_second: 2")

    def run(seed):
        return run_text(text, seconds=4000.0, seed=seed)

    holds(runs_of(run, lambda r: r.latency.mean), 0.007)
    # Two thirds of an exponential's mass lies below its mean, and nothing below 7 − 2 ms.
    holds(runs_of(run, lambda r: r.latency.above(0.007)), math.exp(-1), within=0.1)
    assert run(1).latency.quantile(0.0) >= 0.00495


def test_sleeping_bolts_notice_a_tuple_half_a_sleep_late():
    sleepy = {"bolt_spin": storm2.DEFAULTS.bolt_spin, "bolt_sleep": storm2.DEFAULTS.bolt_sleep}
    quiet = runs(lambda r: r.latency.mean, emission="per_second: 5")
    asleep = runs(lambda r: r.latency.mean, emission="per_second: 5", mechanics=sleepy)
    # The same random numbers: what differs is waking. A bolt sleeps if nothing came for 75 ms
    # after the last was done: with exp(−5·0.075) or a little more, and then half a sleep.
    late = [b - a for a, b in zip(quiet, asleep, strict=True)]
    assert 0.0005 < sum(late) / len(late) < 0.001


def test_sleeps_that_vary_do_not_stay_in_step_with_what_comes():
    """Every 100 ms a tuple meets sleeps of exactly 1 ms at one moment of theirs; others at any."""
    changes = {"emission": "per_second: 10, shape: regular", "service": ""}
    text = LINE.format(**{**DEFAULTS, **changes})
    text = text.replace("b: {service: {wait_ms: {exponential: 5}}}", "b: {}")

    def late(jitter, part):
        sleeps = {"bolt_sleep": 0.001, "sleep_jitter": jitter}
        found = run_text(text, seconds=2000.0, **sleeps).latency
        return found.quantile(part)

    assert late(0.0, 0.1) == pytest.approx(late(0.0, 0.9), rel=0.02)
    # Two rests of sleeps, each uniform: triangular, from 0 to 2 ms.
    assert late(5e-5, 0.1) == pytest.approx(0.001 * math.sqrt(0.2), rel=0.03)
    assert late(5e-5, 0.9) == pytest.approx(0.001 * (2.0 - math.sqrt(0.2)), rel=0.03)


def test_idle_threads_burn_what_was_measured():
    # Two idle executors (b and, most of the time, a) on four cores: 0.3·2^0.434 of a core while
    # they poll, which is here all the time that they have no tuple.
    burning = {"poll_cores": 0.3, "poll_growth": 0.434, "bolt_spin": 1e9, "bolt_sleep": 0.001}
    found = runs(
        lambda r: r.machines[0].polling,
        emission="per_second: 2",
        service="",
        mechanics=burning,
        seconds=200.0,
    )
    # Always polling but for b's own service (1 %), when one of the two is left.
    expected = 0.99 * 0.3 * 2**0.434 + 0.01 * 0.3
    holds(found, expected, within=0.01)


def test_what_goes_in_comes_out():
    # A copy to each of three tasks, 2.5 outputs for each.
    given = {"outputs": 2.5, "emission": "per_second: 20", "tasks": 3, "grouping": "all"}
    holds(runs(lambda r: r.operators["a"].executed_per_second, **given), 60.0)
    holds(runs(lambda r: r.operators["b"].executed_per_second, **given), 150.0)
