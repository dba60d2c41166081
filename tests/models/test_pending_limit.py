"""A limit on open roots: by hand, against other people's programs, and as laws.

Ciw and the SimPy program of `tests.simulation.oracles` know nothing of the formulas.
"""

import math

import ciw
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.explanation import explain
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.load_limit import load
from streamgauge.models.open_roots import hold_in_windows
from streamgauge.models.parameters import find_parameters
from streamgauge.models.pending_limit import name_setting
from streamgauge.models.prediction import Verdict
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from tests.simulation.oracles.storm2_network import simulate_network
from tests.simulation.test_independent_program import translated

PENDING = "topology.max.spout.pending"
# Threads that notice work at once and burn nothing while they wait; shuffle by turns.
QUIET = (
    "topology.disable.loadaware.messaging: true,"
    " topology.bolt.wait.progressive.level2.count: 0,"
    " topology.bolt.wait.progressive.level3.sleep.millis: 0,"
    " topology.spout.wait.progressive.level3.sleep.millis: 0"
)
SLEEPY = "topology.disable.loadaware.messaging: true"

# A source, some servers, one more server.
LINE = """
streamgauge: 1
topology:
  name: t
  acked: {acked}
  operators: {{s: {{kind: source, tasks: {sources}}}, a: {{tasks: {tasks}{window}}}, b: {{}}}}
  streams: [{{from: s, to: a, grouping: {grouping}}}, {{from: a, to: b, grouping: global}}]
behaviours:
  s: {{}}
  a: {{service: {{wait_ms: {first}}}, {outputs}}}
  b: {{service: {{wait_ms: {second}}}}}
configuration:
  engine: {engine}
  executors: {{s: {sources}, a: {tasks}}}
  workers: {workers}
  settings: {{{settings}{limit}}}
cluster: {{uniform: {{nodes: {workers}, cores: 16, latency_ms: {latency}}}}}
workload: [{{source: s, per_second: {rate}}}]
"""
DEFAULTS = {
    "acked": "true",
    "sources": 1,
    "tasks": 1,
    "window": "",
    "grouping": "{fields: [k]}",
    "first": "{exponential: 10}",
    "outputs": "outputs: {default: 1}",
    "second": "{exponential: 5}",
    "engine": "storm-2",
    "workers": 1,
    "settings": QUIET,
    "latency": 0,
    "rate": 1000,
}


def job_of(limit=None, **changes):
    setting = "" if limit is None else f", {PENDING}: {limit}"
    job = parse_job(LINE.format(**{**DEFAULTS, **changes, "limit": setting}))
    return job, place_job(job).plan


def predict(limit=None, *, brief=False, **changes):
    job, plan = job_of(limit, **changes)
    model = AnalyticModel(brief=brief)
    return model.predict(JobBehaviour.from_job(job), plan, job.workload)


@pytest.mark.parametrize(
    ("limit", "per_second"), [(1, 1000 / 15), (2, 2000 / (70 / 3)), (3, 3000 / (225 / 7))]
)
def test_two_stations_let_through_what_mean_value_analysis_gives_by_hand(limit, per_second):
    """Rounds of 15 ms, 10·5/3 + 5·4/3 and 10·17/7 + 5·11/7."""
    pending = predict(limit).pending
    assert pending.emitted_per_second == pytest.approx(per_second, rel=0.01)
    assert pending.highest_per_second == pytest.approx(per_second, rel=0.01)


def test_all_roots_are_open_where_sources_are_held_back():
    found = predict(4)
    source = found.pending.sources["s"]
    assert source.open_roots == pytest.approx(4.0, rel=0.01)
    # Little's law.
    seen = found.seen_by_source.mean
    assert seen == pytest.approx(4.0 / source.emitted_per_second, rel=0.01)


def test_the_source_s_own_time_is_part_of_the_round():
    """One root at a time: 5 + 10 + 5 ms."""
    text = LINE.format(**{**DEFAULTS, "limit": f", {PENDING}: 1"})
    job = parse_job(text.replace("s: {}\n", "s: {service: {wait_ms: 5}}\n"))
    plan = place_job(job).plan
    found = AnalyticModel().predict(JobBehaviour.from_job(job), plan, job.workload)
    assert found.pending.emitted_per_second == pytest.approx(50.0, rel=0.01)


def test_sources_that_share_nothing_are_each_as_alone():
    """Each worker has its source and its servers; tuples stay there, and so do their acks."""
    local = {"grouping": "local-or-shuffle", "first": 10, "second": "{exponential: 0.001}"}
    one = predict(1, **local)
    two = predict(1, **local, sources=2, tasks=2, workers=2)
    rates = [each.pending.emitted_per_second for each in (one, two)]
    # Half of the acknowledgements go over the transfer threads, which sleep for a millisecond.
    assert rates[1] == pytest.approx(2 * rates[0], rel=0.15)


def go_round(customers, service, second, *, seconds, seed):
    """Customers who have gone round four servers and one more a second, by Ciw."""
    nodes = 5
    routing = [[0.0] * 4 + [1.0] for _ in range(4)] + [[0.25] * 4 + [0.0]]
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Sequential([1e-9, math.inf])] + [None] * (nodes - 1),
        batching_distributions=[ciw.dists.Deterministic(customers)]
        + [ciw.dists.Deterministic(1)] * (nodes - 1),
        service_distributions=[service] * 4 + [second],
        routing=routing,
        number_of_servers=[1] * nodes,
    )
    ciw.seed(seed)
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_time(seconds)
    records = [one for one in simulation.get_all_records() if one.node == nodes]
    return sum(one.service_end_date > 1.0 for one in records) / (seconds - 1.0)


@pytest.mark.parametrize("limit", [2, 5, 12])
@pytest.mark.parametrize(
    ("first", "second", "services", "within"),
    [
        (
            "{exponential: 10}",
            "{exponential: 2}",
            (ciw.dists.Exponential(100.0), ciw.dists.Exponential(500.0)),
            0.03,
        ),
        # Of product form no more.
        ("10", "2", (ciw.dists.Deterministic(0.01), ciw.dists.Deterministic(0.002)), 0.06),
        (
            "{gamma: {mean: 10, scv: 4}}",
            "{exponential: 2}",
            (ciw.dists.Gamma(0.25, 0.04), ciw.dists.Exponential(500.0)),
            0.06,
        ),
    ],
)
def test_as_much_gets_through_as_goes_round_in_ciw(limit, first, second, services, within):
    theirs = np.mean(
        [go_round(limit, *services, seconds=2.0 + 180.0 / limit, seed=seed) for seed in range(2)]
    )
    ours = predict(limit, tasks=4, first=first, second=second).pending
    print(f"theirs {theirs:.1f}, ours {ours.emitted_per_second:.1f}")
    assert ours.emitted_per_second == pytest.approx(theirs, rel=within)


def simulated(limit, *, seconds, seeds=2, **changes):
    """Throughput, and latency since emission and since due, by the SimPy program."""
    job, plan = job_of(limit, **changes)
    same = translated(
        job,
        plan,
        load_aware=False,
        max_pending=limit,
        transfer_sleep=0.001,
        bolt_spin=0.075,
        spout_spin=0.0,
    )
    runs = [simulate_network(same, seconds=seconds, warmup=4, seed=one) for one in range(seeds)]
    return (
        np.mean([len(run.spout) / seconds for run in runs]),
        np.mean([np.mean(run.end_to_end["b"]) for run in runs]),
        np.mean([np.mean(run.from_due["b"]) for run in runs]),
    )


FAR = {"sources": 2, "tasks": 3, "workers": 2, "latency": 2, "grouping": "shuffle"}


@pytest.mark.parametrize(
    ("limit", "changes"),
    [(1, {}), (2, {}), (5, {}), (2, {"outputs": "outputs: {default: 2}"})],
)
def test_sleeping_threads_acks_and_workers_as_in_an_independent_program(limit, changes):
    """Two sources on two nodes, three servers in turn, one more; the limit chokes all of these."""
    given = {**FAR, "settings": SLEEPY, "rate": 500, **changes}
    per_second, since_emission, _ = simulated(limit, seconds=10, **given)
    found = predict(limit, **given)
    print(f"{per_second:.1f}/s {since_emission:.4f} s, {found.pending} {found.latency.mean:.4f}")
    assert found.verdict is Verdict.OVERLOADED
    assert found.pending.emitted_per_second == pytest.approx(per_second, rel=0.06)
    assert found.latency.mean == pytest.approx(since_emission, rel=0.07)
    assert math.isinf(found.since_due.mean)


@pytest.mark.parametrize(("rate", "within"), [(60, 0.1), (100, 0.25)])
def test_the_wait_at_the_source_is_as_in_an_independent_program(rate, within):
    """At less than half, and at three quarters, of what a limit of two lets through."""
    given = {**FAR, "settings": SLEEPY, "rate": rate}
    _, _, since_due = simulated(2, seconds=40, **given)
    found = predict(2, **given)
    print(f"theirs {since_due:.4f} s, ours {found.since_due.mean:.4f} s")
    assert found.verdict is Verdict.FITS
    assert found.since_due.mean == pytest.approx(since_due, rel=within)


def test_the_wait_for_one_station_is_that_of_m_m_1():
    """One server of 10 ms, 60/s and room for three: P(wait) = 0.6³, the whole as without limit."""
    found = predict(3, rate=60, second="{exponential: 0.0001}")
    source = found.pending.sources["s"]
    assert source.waits == pytest.approx(0.6**3, rel=0.02)
    assert found.since_due.mean == pytest.approx(0.01 / 0.4, rel=0.02)
    assert found.latency.mean < 0.01 / 0.4


def test_the_tail_since_due_is_longer_by_the_wait():
    found = predict(1, rate=40, second="{exponential: 0.0001}")
    # M/M/1 with ρ = 0.4, served and waiting: exponential of mean 1/(100 − 40).
    expected = math.log(100.0) / 60.0
    assert found.since_due.quantiles[0.99] == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("engine", ["storm-1", "storm-2"])
def test_a_generous_limit_changes_nothing(engine):
    settings = QUIET if engine == "storm-2" else "topology.disruptor.batch.size: 100"
    given = {"engine": engine, "settings": settings, "rate": 50}
    free, limited = predict(**given), predict(5000, **given)
    assert free.pending is None
    assert limited.latency == free.latency
    assert limited.since_due == free.since_due
    assert limited.limit.factor == pytest.approx(free.limit.factor, rel=2e-3)
    assert limited.pending.waits == 0.0


def test_a_limit_counts_only_where_roots_are_tracked():
    assert predict(1, acked="false", rate=50).pending is None


def test_queues_under_a_limit_are_shorter_than_without():
    free, limited = predict(rate=95), predict(12, rate=95)
    assert limited.latency.mean < free.latency.mean
    assert limited.since_due.mean > limited.latency.mean


@pytest.mark.parametrize("rate", [60, 80, 95])
def test_the_smallest_limit_fits_and_one_less_does_not(rate):
    smallest = predict(1, rate=rate).pending.smallest
    assert predict(smallest, rate=rate).verdict is Verdict.FITS
    if smallest > 1:
        assert predict(smallest - 1, rate=rate).verdict is Verdict.OVERLOADED


def test_the_smallest_limit_is_that_of_mean_value_analysis():
    """85.7/s with two, 93.3/s with three."""
    assert [predict(1, rate=rate).pending.smallest for rate in (66, 85, 92)] == [1, 2, 3]


def test_hardly_any_tuple_waits_for_an_ample_limit():
    ample = predict(1, rate=60).pending.ample
    assert predict(ample, rate=60).pending.waits <= 0.011
    assert predict(ample - 2, rate=60).pending.waits > 0.011


def test_no_limit_fits_what_threads_cannot_do():
    pending = predict(3, rate=150).pending
    assert (pending.smallest, pending.ample) == (None, None)


def test_the_limit_is_named_where_it_is_what_holds_back():
    held, full = predict(1, rate=50), predict(40, rate=50)
    assert held.limit.by == f"{PENDING} of s"
    assert held.limit.per_second == pytest.approx(1000 / 15, rel=0.01)
    assert full.limit.by.startswith("a[")
    assert full.limit.factor == pytest.approx(2.0, rel=0.01)


def test_what_is_overloaded_is_named_with_its_load():
    found = predict(1, rate=80)
    assert found.overloaded == {f"{PENDING} of s": pytest.approx(80 / (1000 / 15), rel=0.01)}
    assert found.pending.holds_back == "s"
    # Executors that could not do it either are named beside it.
    both = predict(1, rate=150).overloaded
    assert set(both) == {f"{PENDING} of s", "a[2]"}


def test_a_full_server_and_not_the_limit_is_blamed_where_more_roots_would_not_help():
    found = predict(60, rate=150)
    assert set(found.overloaded) == {"a[2]"}
    assert found.pending.holds_back is None
    # All sixty are open, nearly all of them at the server.
    assert found.pending.emitted_per_second == pytest.approx(100.0, rel=0.01)
    assert found.latency.mean == pytest.approx(0.6, rel=0.02)
    assert math.isinf(found.since_due.mean)


def test_a_source_that_is_not_held_back_emits_all_that_is_due():
    """A source with a tenth of the load has its own limit; only the other one meets it."""
    text = LINE.format(**{**DEFAULTS, "limit": f", {PENDING}: 2"})
    text = text.replace("operators: {", "operators: {r: {kind: source}, ")
    text = text.replace("streams: [", "streams: [{from: r, to: a, grouping: shuffle}, ")
    text = text.replace("behaviours:\n", "behaviours:\n  r: {}\n")
    text = text.replace("workload: [", "workload: [{source: r, per_second: 5}, ")
    job = parse_job(text)
    found = AnalyticModel().predict(JobBehaviour.from_job(job), place_job(job).plan, job.workload)
    seldom, often = found.pending.sources["r"], found.pending.sources["s"]
    assert seldom.emitted_per_second == pytest.approx(5.0)
    assert math.isfinite(seldom.wait_seconds)
    assert often.emitted_per_second < 90.0
    assert math.isinf(often.wait_seconds)
    assert math.isinf(found.since_due_by_source["s"].mean)
    assert math.isfinite(found.since_due_by_source["r"].mean)


WINDOW = {
    "outputs": "window: {service: {cpu_ms: 0.01}, outputs: {default: 1}}",
    "first": "0.1",
    "second": "0.1",
}


@pytest.mark.parametrize(
    ("window", "tasks", "needed"),
    [
        # A tuple leaves at the next trigger, forty tuples after the first came.
        ("length_tuples: 20", 1, 40),
        ("length_tuples: 20, slide_tuples: 5", 1, 25),
        # 39 in each, and one more.
        ("length_tuples: 20", 2, 79),
        ("length_tuples: 1", 1, 2),
    ],
)
def test_windows_by_count_that_hold_all_roots_never_fire(window, tasks, needed):
    given = {**WINDOW, "window": f", window: {{{window}}}", "tasks": tasks, "rate": 100}
    stuck, flows = predict(needed - 1, **given), predict(needed, **given)
    assert stuck.pending.stuck == ("a",)
    assert stuck.pending.emitted_per_second == 0.0
    assert stuck.pending.smallest == needed
    assert stuck.verdict is Verdict.OVERLOADED
    assert math.isinf(stuck.latency.mean)
    assert math.isinf(stuck.since_due.mean)
    assert flows.pending.stuck == ()
    assert flows.pending.emitted_per_second == pytest.approx(100.0)


def test_windows_hold_roots_and_not_tuples():
    """Three tuples of each root come to the window: a third as many roots."""
    text = LINE.format(**{**DEFAULTS, "limit": f", {PENDING}: 9"})
    text = text.replace("b: {}}", "b: {window: {length_tuples: 30}}}")
    text = text.replace("{default: 1}", "{default: 3}")
    text = text.replace("exponential: 5}}}", "exponential: 5}}, window: {outputs: {}}}")
    job = parse_job(text)
    plan = place_job(job).plan
    parameters = find_parameters(JobBehaviour.from_job(job), plan, job.workload)
    assert hold_in_windows(parameters) == {"b": pytest.approx(59 / 3)}


@pytest.mark.parametrize(("tasks", "seconds"), [(1, 2.0), (2, 1.75)])
def test_windows_by_time_pace_a_source_that_is_held_back(tasks, seconds):
    """What is acked at a trigger is emitted at once: a second until the next one, where it comes

    to the same task, half a second else; and one second more until it is acked.
    """
    given = {**WINDOW, "window": ", window: {length_seconds: 1}", "tasks": tasks, "rate": 500}
    found = predict(50, **given)
    assert found.pending.emitted_per_second == pytest.approx(50 / seconds, rel=0.01)


@settings(max_examples=8, deadline=None)
@given(
    limit=st.integers(1, 30),
    more=st.integers(1, 30),
    tasks=st.integers(1, 3),
    sources=st.integers(1, 2),
    rate=st.floats(20.0, 400.0),
)
def test_more_roots_never_let_through_less(limit, more, tasks, sources, rate):
    given = {"tasks": tasks, "sources": sources, "rate": rate, "settings": SLEEPY}
    few, many = predict(limit, **given), predict(limit + more, **given)
    assert many.pending.emitted_per_second >= few.pending.emitted_per_second * (1 - 5e-3)
    assert many.limit.per_second >= few.limit.per_second * (1 - 5e-3)
    # No more than without any queue: 15 ms for each root; and no more than is due.
    unhindered = limit * sources / 0.015
    assert few.pending.emitted_per_second <= min(unhindered, rate) * (1 + 1e-2)


@settings(max_examples=8, deadline=None)
@given(
    limit=st.integers(1, 20),
    tasks=st.integers(1, 3),
    rate=st.floats(10.0, 300.0),
    faster=st.floats(1.0, 3.0),
)
def test_what_gets_through_grows_with_what_is_due(limit, tasks, rate, faster):
    slow, fast = (
        predict(limit, tasks=tasks, rate=each).pending.emitted_per_second
        for each in (rate, rate * faster)
    )
    assert slow * (1 - 5e-3) <= fast <= faster * slow * (1 + 5e-3)


@settings(max_examples=8, deadline=None)
@given(rate=st.floats(5.0, 90.0), tasks=st.integers(1, 3))
def test_without_end_to_the_limit_all_is_as_without_it(rate, tasks):
    free, limited = predict(rate=rate, tasks=tasks), predict(2000, rate=rate, tasks=tasks)
    assert limited.latency.mean == pytest.approx(free.latency.mean, rel=1e-3)
    assert limited.since_due.mean == pytest.approx(free.since_due.mean, rel=1e-3)


def test_in_brief_the_same_is_overloaded():
    for rate in (60, 80, 150):
        brief, whole = predict(1, rate=rate, brief=True), predict(1, rate=rate)
        assert brief.verdict == whole.verdict
        assert brief.latency.mean == pytest.approx(whole.latency.mean, rel=0.02)


def test_the_setting_is_called_as_the_engine_calls_it():
    for engine in ("storm-1", "storm-2"):
        _, plan = job_of(7, engine=engine)
        assert name_setting(plan) == PENDING


def test_the_explanation_goes_on_without_the_limit():
    job, plan = job_of(1, rate=50)
    found = explain(JobBehaviour.from_job(job), plan, job.workload)
    first, then = found.bottlenecks[:2]
    assert (first.limit.by, first.operator, first.unlimited) == (f"{PENDING} of s", None, False)
    assert first.limit.per_second == pytest.approx(1000 / 15, rel=0.01)
    assert (then.operator, then.unlimited) == ("a", True)
    assert then.limit.per_second == pytest.approx(100.0, rel=0.01)


def test_executors_are_as_busy_as_what_gets_through_makes_them():
    job, plan = job_of(1, rate=80)
    found = AnalyticModel().predict(JobBehaviour.from_job(job), plan, job.workload)
    busy = {one.name: one.utilisation for one in found.executors}
    assert busy["a[2]"] == pytest.approx(10 / 15, rel=0.01)
    due = load(find_parameters(JobBehaviour.from_job(job), plan, job.workload))
    assert due.utilisation.max() == pytest.approx(0.8)
