"""A crowded source plan, and what its figures say of a roomy one."""

from dataclasses import replace

import pytest

from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.pipeline.estimation.assembly import profile_of
from streamgauge.pipeline.estimation.subjects import figures_of
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.simulation.topology_run import simulate
from tests.engines.emulator.emulations import emulated
from tests.pipeline.estimation.aggregation import partials

# Three threads that want 0.75 of the only core; b waits besides.
JOB = """
streamgauge: 1
topology:
  name: t
  operators: {{s: {{kind: source}}, a: {{tasks: 2}}, b: {{}}}}
  streams:
    - {{from: s, to: a, grouping: shuffle}}
    - {{from: a, to: b, grouping: shuffle}}
behaviours:
  s: {{service: {{cpu_ms: 0.1}}}}
  a: {{service: {{cpu_ms: {{exponential: 5}}}}, outputs: {{default: 1}}}}
  b: {{service: {{cpu_ms: {{exponential: 2}}, wait_ms: {{exponential: 3}}}}}}
configuration: {{engine: storm-1, executors: {{a: 2}}, workers: 1}}
cluster: {{uniform: {{nodes: 1, cores: {cores}}}}}
workload: [{{source: s, per_second: 100}}]
"""


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    seen = emulated(
        JOB.format(cores=1),
        tmp_path_factory.mktemp("crowded"),
        seconds=400.0,
        bucket_seconds=5.0,
        trace_every=0,
    )
    return profile_of(figures_of(partials(seen.samples), replicas=0), seen.plans[0])[0]


def without_cpu(profile):
    """As an engine without an agent would be measured."""
    tasks = {
        task: replace(
            one,
            inputs={key: replace(seen, cpu=None) for key, seen in one.inputs.items()},
            outputs={key: replace(seen, cpu=None) for key, seen in one.outputs.items()},
        )
        for task, one in profile.tasks.items()
    }
    return replace(profile, tasks=tasks)


def services(behaviour):
    """CPU and waiting of a and b, in milliseconds."""
    found = {}
    for name in "ab":
        (one,) = behaviour.operators[name].inputs.values()
        found[name] = (float(one.service.cpu.mean_ms), float(one.service.wait.mean_ms))
    return found


def as_measured(profile):
    """The behaviour with nothing taken off, as nobody knows the machines."""
    return JobBehaviour.from_profile(replace(profile, cluster=None))


def test_what_the_crowd_added_is_taken_off(crowded):
    """By the clock a takes twice as long as it computes, and b waits longer than it would."""
    assert services(as_measured(crowded))["a"][1] > 3.0
    found = JobBehaviour.from_profile(crowded)
    relieved = services(found)
    assert relieved["a"][0] == pytest.approx(5.0, rel=0.05)
    assert relieved["a"][1] == pytest.approx(0.0, abs=0.5)
    assert relieved["b"] == (pytest.approx(2.0, rel=0.05), pytest.approx(3.0, rel=0.2))
    assert "are corrected for it" in found.notes[-1]


def test_the_slowdown_that_was_taken_off_is_kept(crowded):
    found = JobBehaviour.from_profile(crowded)
    measured, (cpu, _) = services(as_measured(crowded))["a"], services(found)["a"]
    assert float(found.stretch["a"]) == pytest.approx(sum(measured) / cpu, rel=0.1)
    assert not as_measured(crowded).stretch


def test_without_cpu_times_they_are_inferred_and_said_to_be(crowded):
    blind = without_cpu(crowded)
    found = JobBehaviour.from_profile(blind)
    assert any("not measured" in note or "inferred" in note for note in found.notes)
    assert services(found)["a"][0] < services(as_measured(blind))["a"][0]


def test_a_roomy_plan_is_predicted_from_a_crowded_one(crowded):
    job = parse_job(JOB.format(cores=8))
    plan = place_job(job).plan
    truth = simulate(plan, job.behaviours, job.workload, seconds=400.0, warmup=20.0, seed=3)
    found = AnalyticModel().predict(JobBehaviour.from_profile(crowded), plan, job.workload)
    assert found.latency.mean == pytest.approx(truth.latency.mean, rel=0.1)


def test_a_crowded_plan_is_predicted_from_itself(crowded):
    job = parse_job(JOB.format(cores=1))
    plan = place_job(job).plan
    truth = simulate(plan, job.behaviours, job.workload, seconds=400.0, warmup=20.0, seed=3)
    found = AnalyticModel().predict(JobBehaviour.from_profile(crowded), plan, job.workload)
    assert max(one.stretch for one in found.executors) > 1.5
    assert found.latency.mean == pytest.approx(truth.latency.mean, rel=0.25)


def test_where_machines_are_not_known_nothing_is_taken_off(crowded):
    found = as_measured(crowded)
    assert found.notes[0].endswith("slowdown by sharing is not corrected")
