"""A job's description as a profile: what is derived from it is what was declared."""

from dataclasses import replace
from pathlib import Path

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.declared import declared_profile
from streamgauge.planning.scheduling.deploy import place_job
from streamgauge.profile.derive import derive_behaviours
from streamgauge.profile.files.jobs import load_job, parse_job
from streamgauge.profile.profile import DECLARED
from streamgauge.simulation.topology_run import simulate
from streamgauge.topology.topology import StreamKey

EXAMPLES = Path(__file__).parents[2] / "examples"
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


def task(name, place, job=None):
    return declared_profile(job or parse_job(JOB)).tasks[name, place]


@pytest.mark.parametrize("name", NAMES)
def test_behaviours_of_the_profile_have_the_declared_means_and_variances(name):
    job = load(name)
    derived = derive_behaviours(declared_profile(job))
    for stream in job.topology.streams:
        declared = job.behaviours[stream.target].service_of(stream.key)
        found = derived[stream.target].service_of(stream.key)
        for mine, theirs in (
            (found.cpu_ms, declared.cpu_ms),
            (found.wait_ms, declared.wait_ms),
        ):
            assert mine.mean == pytest.approx(theirs.mean)
            assert mine.variance == pytest.approx(theirs.variance, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_as_many_tuples_go_out_for_one_in_as_declared(name):
    job = load(name)
    derived = derive_behaviours(declared_profile(job))
    for stream in job.topology.streams:
        declared = job.behaviours[stream.target].outputs_of(stream.key)
        found = derived[stream.target].outputs_of(stream.key)
        assert {out: counts.mean for out, counts in found.items()} == pytest.approx(
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
    found = AnalyticModel().predict(declared_profile(job), plan, job.workload)
    assert found.latency.mean == pytest.approx(truth.latency.mean, rel=0.25)
    assert DECLARED in found.notes


def test_no_figure_claims_to_be_measured():
    profile = declared_profile(parse_job(JOB))
    figures = profile.tasks["a", 0].inputs[StreamKey("s", "default")]
    assert DECLARED in profile.notes
    assert (figures.wall.mean_ms.samples, figures.per_second.samples) == (0, 0)


def test_tasks_get_what_the_keys_give_them():
    """Three in four tuples have key x, and keys lie on two different tasks or on one."""
    rates = [task("a", place).inputs["s", "default"].per_second.value for place in (0, 1)]
    assert sorted(rates) in ([10.0, 30.0], [0.0, 40.0])


def test_a_slow_task_takes_longer_and_sends_its_acknowledgement_as_well():
    """(2 + 1) ms three times as long, and 0.25 ms for the ack; variance 9 · (2 + 1)."""
    wall = task("a", 1).inputs["s", "default"].wall
    assert wall.mean_ms.value == pytest.approx(9.25)
    assert wall.scv.value == pytest.approx(9 * 3 / 9.25**2)


def test_a_window_costs_what_its_tuples_add():
    """40 · 3 a second for 4 s are 480 tuples of 0.01 ms, beside the trigger's 1 ms."""
    seen = task("w", 0)
    assert seen.window_tuples.value == pytest.approx(480)
    assert seen.window.mean_ms.value == pytest.approx(5.8)
    assert seen.triggers_per_second.value == pytest.approx(0.5)


def test_sizes_failures_and_ackers_are_as_declared():
    assert task("s", 0).outputs["default"].bytes.value == 80
    assert task("a", 0).inputs["s", "default"].failed_share.value == 0.1
    assert task("__acker", 1).inputs["s", "__ack_init"].cpu.mean_ms.value == pytest.approx(0.05)


def test_without_a_workload_there_are_no_rates():
    seen = task("a", 0, replace(parse_job(JOB), workload=None))
    assert seen.inputs["s", "default"].per_second is None


def test_a_processor_without_a_behaviour_is_named():
    job = parse_job(JOB)
    few = {name: one for name, one in job.behaviours.items() if name != "a"}
    with pytest.raises(InvalidInput, match="nothing on 'a'"):
        declared_profile(replace(job, behaviours=few))
