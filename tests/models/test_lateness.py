"""How late sources are: against closed forms, and against a program that lives through it."""

from functools import cache

import numpy as np
import pytest
import simpy

from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.baselines import JacksonModel
from streamgauge.models.delays import Part, find_delays
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.load_limit import load
from streamgauge.models.parameters import find_parameters
from streamgauge.models.simulated import SimulationModel
from streamgauge.models.storm_tracer import StormTracerModel
from streamgauge.models.transforms import quantiles
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.transport import storm2

JOB = """
streamgauge: 1
topology:
  name: t
  operators: {{s: {{kind: source, tasks: 2}}, a: {{tasks: 2}}}}
  streams: [{{from: s, to: a, grouping: local-or-shuffle}}]
behaviours:
  s: {{service: {{cpu_ms: {emit}}}}}
  a: {{service: {{wait_ms: 0.5}}}}
configuration:
  engine: {engine}
  executors: {{s: 2, a: 2}}
  settings: {{topology.bolt.wait.progressive.level2.count: 0}}
cluster:
  machines: {{m: {{cores: {cores}, background_cores: {background}}}}}
  nodes: {{n: {{machine: m, slots: 1}}}}
workload: [{{source: s, {emission}, shares: [0.25, 0.75]}}]
"""
DEFAULTS = {
    "emit": "0.2",
    "engine": "storm-2",
    "cores": 16,
    "background": 0,
    "emission": "per_second: 2000",
}
SLEEP = storm2.DEFAULTS.source_sleep


def job_of(**changes):
    return parse_job(JOB.format(**{**DEFAULTS, **changes}))


def predicted(model, **changes):
    job = job_of(**changes)
    return model.predict(JobBehaviour.from_job(job), place_job(job).plan, job.workload)


def lateness(**changes):
    job = job_of(**changes)
    parameters = find_parameters(JobBehaviour.from_job(job), place_job(job).plan, job.workload)
    spans = parameters.flow.plan.logical.spans
    return find_delays(parameters, load(parameters).service).lateness, spans["s"]


def expected(per_second, seconds, second_moment, sleep=SLEEP):
    """Pollaczek and Khinchine, half a sleep, and the service itself."""
    wait = per_second * second_moment / (2.0 * (1.0 - per_second * seconds))
    return wait + sleep / 2.0 + seconds


@cache
def lived_through(per_second, emit_ms, scv, count=300_000):
    """Lateness of tuples of one source, each emitted by a process that sleeps when none is due."""
    random = np.random.default_rng(7)
    due = np.cumsum(random.exponential(1.0 / per_second, count))
    mean = emit_ms / 1000.0
    services = random.gamma(1.0 / scv, mean * scv, count) if scv else np.full(count, mean)
    late = np.zeros(count)

    def source(env):
        following = 0
        while following < count:
            if due[following] > env.now:
                yield env.timeout(SLEEP)
                continue
            yield env.timeout(services[following])
            late[following] = env.now - due[following]
            following += 1

    env = simpy.Environment()
    env.process(source(env))
    env.run()
    return late[count // 100 :]


@pytest.mark.parametrize("engine", ["storm-1", "storm-2"])
def test_a_tuple_waits_for_half_a_sleep_and_those_before_it(engine):
    found, span = lateness(engine=engine)
    means = [expected(rate, 2e-4, 4e-8) for rate in (500, 1500)]
    assert found.mean[span.start : span.stop] == pytest.approx(means)
    assert np.delete(found.mean, list(span)).tolist() == [0.0, 0.0]


def test_exponential_services_make_the_queue_twice_as_long():
    found, span = lateness(emit="{exponential: 0.2}")
    assert found.mean[span.stop - 1] == pytest.approx(expected(1500, 2e-4, 8e-8))


def test_a_source_that_cannot_emit_what_is_due_is_late_without_end():
    prediction = predicted(AnalyticModel(), emit="0.7")
    assert np.isinf(prediction.since_due.mean)
    # 500 and 1,500 a second at 0.7 ms: the second source is overloaded, and the plan with it.
    assert prediction.overloaded


@pytest.mark.parametrize(
    ("per_second", "emit_ms", "scv"), [(200, 0.05, 0.0), (1500, 0.2, 0.0), (1500, 0.4, 1.0)]
)
def test_percentiles_are_those_of_a_source_that_lives_through_it(per_second, emit_ms, scv):
    emit = f"{{exponential: {emit_ms}}}" if scv else str(emit_ms)
    found, span = lateness(emit=emit, emission=f"per_second: {per_second / 0.75}")
    place = span.stop - 1
    levels = (0.5, 0.9, 0.99)
    seen = lived_through(per_second, emit_ms, scv)
    assert found.mean[place] == pytest.approx(seen.mean(), rel=0.01)
    assert found.variance[place] == pytest.approx(seen.var(), rel=0.03)
    values = quantiles(
        lambda s: found.transform(s.reshape(-1, 1))[:, place].reshape(s.shape),
        levels,
        found.mean[[place]],
        np.sqrt(found.variance[[place]]),
    ).ravel()
    assert values == pytest.approx(np.quantile(seen, levels), rel=0.02)


def test_services_on_a_crowded_machine_make_sources_later():
    crowded = predicted(AnalyticModel(), cores=1, background=0.4)
    busy = [one for one in crowded.executors if one.operator == "s"][-1]
    assert busy.stretch > 1.2
    found, span = lateness(cores=1, background=0.4)
    wall = busy.service_seconds
    assert found.mean[span.stop - 1] == pytest.approx(expected(1500, wall, wall**2), rel=1e-6)


def test_latency_since_due_is_that_since_emission_and_what_the_source_adds():
    prediction = predicted(AnalyticModel())
    late = 0.25 * expected(500, 2e-4, 4e-8) + 0.75 * expected(1500, 2e-4, 4e-8)
    since_due, latency = prediction.since_due, prediction.latency
    assert since_due.parts[Part.SOURCE] == pytest.approx(late)
    assert since_due.mean == pytest.approx(latency.mean + late)
    assert Part.SOURCE not in latency.parts
    assert prediction.since_due_by_source == {"s": since_due}


def test_percentiles_since_due_are_those_of_the_simulation():
    # Few tuples at a time, so that nobody waits behind those of the same sleep.
    given = {"emission": "per_second: 200", "emit": "0.05"}
    formula = predicted(AnalyticModel(), **given).since_due
    simulated = predicted(SimulationModel(seconds=400.0, replications=4), **given).since_due
    assert formula.mean == pytest.approx(simulated.mean, rel=0.02)
    for level in (0.5, 0.9, 0.99):
        assert formula.quantiles[level] == pytest.approx(simulated.quantiles[level], rel=0.03)


def test_without_sleep_a_source_is_a_queue():
    # M/M/1: 1/(5,000 − 500) and 1/(5,000 − 1,500) s.
    prediction = predicted(JacksonModel())
    assert prediction.since_due.parts[Part.SOURCE] == pytest.approx(0.25 / 4500 + 0.75 / 3500)


def test_sources_that_emit_as_fast_as_they_can_have_no_latency_since_due():
    model = SimulationModel(seconds=0.5, replications=1)
    prediction = predicted(model, emission="shape: unlimited")
    assert prediction.since_due is None
    assert prediction.since_due_by_source == {}
    assert prediction.latency.mean > 0.0


def test_a_model_that_knows_nothing_of_sources_says_nothing():
    prediction = predicted(StormTracerModel(), engine="storm-1")
    assert prediction.since_due is None
