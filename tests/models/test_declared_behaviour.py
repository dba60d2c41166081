"""A job's description as behaviour: what models take is what was declared."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from streamgauge.errors import InvalidInput
from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.declared_behaviour import DECLARED_NOTE
from streamgauge.models.job_behaviour import JobBehaviour, Origin
from streamgauge.models.parameters import find_parameters
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import load_job, parse_job
from streamgauge.simulation.topology_run import simulate
from streamgauge.topology.topology import StreamKey
from tests.described_profiles import described_profile

EXAMPLES = Path(__file__).parents[2] / "examples"
FROM_S = StreamKey("s", "default")
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.yaml"))

JOB = """
streamgauge: 1
topology:
  name: t
  acked: true
  operators:
    s: {kind: source, tasks: 2}
    a: {tasks: 2}
    w: {window: {length_seconds: 4, slide_seconds: 2}}
  streams:
    - {from: s, to: a, grouping: {fields: [k]}}
    - {from: a, to: w, grouping: shuffle}
behaviours:
  s:
    service: {cpu_ms: 0.5}
    keys: {default: {given: {weights: {x: 3, y: 1}}}}
    bytes: {default: 80}
  a:
    service: {cpu_ms: {gamma: {mean: 2, scv: 0.5}}, wait_ms: {exponential: 1}}
    relative_service: [1, 3]
    outputs: {default: {poisson: 3}}
    fails: 0.1
    costs: {ack_ms: 0.25}
  w:
    service: {cpu_ms: 0.1}
    window: {service: {cpu_ms: 1}, per_tuple_ms: 0.01, outputs: {}}
  __acker: {costs: {ack_ms: 0.05}}
configuration: {workers: 2}
cluster: {uniform: {nodes: 2, cores: 2}}
workload: [{source: s, per_second: 40}]
"""


def load(name):
    return load_job(EXAMPLES / f"{name}.yaml")


def behaviour(job=None):
    return JobBehaviour.from_job(job or parse_job(JOB))


@pytest.mark.parametrize("name", NAMES)
def test_times_have_the_declared_means_and_variances(name):
    job = load(name)
    found = behaviour(job)
    for stream in job.topology.streams:
        declared = job.behaviours[stream.target].service_of(stream.key)
        service = found.operators[stream.target].service_of(stream.key)
        for mine, theirs in (
            (service.cpu, declared.cpu_ms),
            (service.wait, declared.wait_ms),
        ):
            assert float(mine.mean_ms) == pytest.approx(theirs.mean)
            assert float(mine.variance) == pytest.approx(theirs.variance, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_as_many_tuples_go_out_for_one_in_as_declared(name):
    job = load(name)
    found = behaviour(job)
    for stream in job.topology.streams:
        declared = job.behaviours[stream.target].outputs_of(stream.key)
        outputs = found.operators[stream.target].inputs[stream.key].outputs
        assert {out: float(one.mean) for out, one in outputs.items()} == pytest.approx(
            {out: counts.mean for out, counts in declared.items()}
        )


@pytest.mark.parametrize("name", ["henge-linear", "windowed", "word-count"])
def test_formulas_on_a_description_agree_with_its_simulation_to_a_quarter(name):
    job = load(name)
    plan, (emission,) = place_job(job).plan, job.workload.emissions
    seconds = 6000 / min(emission.per_second, 24_000)
    truth = simulate(
        plan, job.behaviours, job.workload, seconds=seconds, warmup=seconds / 4, seed=5
    )
    found = AnalyticModel().predict(behaviour(job), plan, job.workload)
    assert found.latency.mean == pytest.approx(truth.latency.mean, rel=0.25)
    assert DECLARED_NOTE in found.notes


@pytest.mark.parametrize(
    "name", ["henge-linear", "henge-diamond", "fields-to-fields", "multiplier"]
)
def test_a_profile_that_says_the_same_behaves_the_same(name):
    """Whoever measures exactly what is declared predicts the same from it."""
    job = load(name)
    plan = place_job(job).plan
    declared, measured = (
        AnalyticModel(brief=True).predict(one, plan, job.workload)
        for one in (behaviour(job), JobBehaviour.from_profile(described_profile(job)))
    )
    assert measured.latency.mean == pytest.approx(declared.latency.mean, rel=1e-9)
    assert measured.latency.quantiles[0.99] == pytest.approx(declared.latency.quantiles[0.99])
    assert [one.utilisation for one in measured.executors] == pytest.approx(
        [one.utilisation for one in declared.executors], rel=1e-9
    )


def test_every_figure_says_that_it_is_declared():
    found = behaviour()
    cpu = found.operators["a"].inputs[FROM_S].service.cpu
    assert found.origin is cpu.mean_ms.origin is cpu.variance.origin is Origin.DECLARED
    assert DECLARED_NOTE in found.notes
    assert math.isnan(cpu.mean_ms.error)


def test_tasks_get_what_the_keys_give_them():
    """Three in four tuples have key x, and keys lie on two different tasks or on one."""
    weights = behaviour().operators["a"].inputs[FROM_S].task_weights.value
    assert sorted(weights) in ([0.25, 0.75], [0.0, 1.0])
    assert sorted(behaviour().operators["a"].task_weights.value) in ([10.0, 30.0], [0.0, 40.0])


def test_a_slow_task_takes_longer_and_sends_its_acknowledgement_as_well():
    """(2 + 1) ms and thrice that, each with 0.25 ms for the ack: 3.25 and 9.25."""
    operator = behaviour().operators["a"]
    mean = operator.inputs[FROM_S].service.mean_ms
    assert operator.relative_service.value * mean == pytest.approx([3.25, 9.25])


def test_tasks_together_have_the_declared_variance():
    """Of tasks once and thrice as slow, (1 + 9)/2 of the declared 2 and 1."""
    operator = behaviour().operators["a"]
    service = operator.inputs[FROM_S].service
    slow = operator.relative_service.value
    assert np.mean(slow**2) * float(service.cpu.variance) == pytest.approx(5.0 * 2.0)
    assert np.mean(slow**2) * float(service.wait.variance) == pytest.approx(5.0 * 1.0)


@pytest.mark.parametrize("rate", [40.0, 400.0])
def test_a_window_costs_what_its_tuples_add_at_any_load(rate):
    """40 · 3 a second for 4 s are 480 tuples of 0.01 ms, beside the trigger's 1 ms."""
    job = parse_job(JOB)
    workload = job.workload.at_rate(rate)
    parameters = find_parameters(behaviour(job), place_job(job).plan, workload)
    (window,) = parameters.flow.plan.logical.spans["w"]
    assert parameters.works.triggers.cpu[window] == pytest.approx(1e-3 + rate * 12 * 1e-5)
    assert parameters.works.triggers.per_second[window] == pytest.approx(0.5)


def test_sizes_failures_and_ackers_are_as_declared():
    found = behaviour().operators
    assert float(found["s"].bytes["default"]) == 80
    assert float(found["a"].failed_share) == 0.1
    init = found["__acker"].inputs[StreamKey("s", "__ack_init")]
    assert float(init.service.cpu.mean_ms) == pytest.approx(0.05)


def test_without_a_workload_nothing_is_known_of_what_tasks_get():
    found = behaviour(replace(parse_job(JOB), workload=None)).operators["a"]
    assert not found.inputs[FROM_S].task_weights.value.any()


def test_a_processor_without_a_behaviour_is_named():
    job = parse_job(JOB)
    few = {name: one for name, one in job.behaviours.items() if name != "a"}
    with pytest.raises(InvalidInput, match="no behaviour of 'a'"):
        behaviour(replace(job, behaviours=few))
