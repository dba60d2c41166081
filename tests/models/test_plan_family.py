"""Plan families: what plans of one job share changes nothing that is predicted of them."""

from dataclasses import replace

import pytest

from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.plan_family import PlanFamily
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import load_job, parse_job

JOB = load_job("examples/word-count.yaml")
OTHER = JOB.at_step("splitters-2")

NEARBY = """
streamgauge: 1
topology:
  name: t
  operators: {s: {kind: source, tasks: 2}, a: {tasks: 2}, b: {tasks: 2}}
  streams:
    - {from: s, to: a, grouping: local-or-shuffle}
    - {from: a, to: b, grouping: shuffle}
behaviours:
  s: {service: {cpu_ms: 0.1}}
  a: {service: {cpu_ms: 1}, outputs: {default: 1}}
  b: {service: {cpu_ms: 1}}
configuration: {engine: storm-1, executors: {s: 2, a: 2, b: 2}, workers: 2}
cluster: {uniform: {nodes: 1, slots: 2, cores: 4}}
workload: [{source: s, per_second: 10}]
"""
IN_PLACE, EVEN = [[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]]


def swapped(plan):
    """The same executors with those of the first two workers changed over."""
    return replace(plan, placement=tuple({0: 1, 1: 0}.get(one, one) for one in plan.placement))


def test_placements_of_the_same_executors_are_one_family():
    behaviour, plan = JobBehaviour.from_job(JOB), place_job(JOB).plan
    family = PlanFamily.of(behaviour, plan.logical)
    assert PlanFamily.of(behaviour, swapped(plan).logical, family) is family
    assert PlanFamily.of(behaviour, place_job(JOB).plan.logical, family) is family


def test_other_executors_and_other_behaviours_are_other_families():
    behaviour, plan = JobBehaviour.from_job(JOB), place_job(JOB).plan
    family = PlanFamily.of(behaviour, plan.logical)
    assert PlanFamily.of(behaviour, place_job(OTHER).plan.logical, family) is not family
    assert PlanFamily.of(JobBehaviour.from_job(JOB), plan.logical, family) is not family


@pytest.mark.parametrize("brief", [True, False])
def test_a_model_that_has_seen_other_plans_predicts_what_a_new_one_does(brief):
    used = AnalyticModel(brief=brief)
    behaviour = JobBehaviour.from_job(JOB)
    slower = replace(behaviour, operators={**behaviour.operators, "counter": _slow(behaviour)})
    plans = [place_job(JOB).plan, swapped(place_job(JOB).plan), place_job(OTHER).plan]
    for described in (behaviour, slower):
        for plan in (*plans, *plans):
            found = used.predict(described, plan, JOB.workload)
            anew = AnalyticModel(brief=brief).predict(described, plan, JOB.workload)
            assert repr(found) == repr(anew)


def _slow(behaviour):
    """Counters that take twice as long."""
    own = behaviour.operators["counter"]
    inputs = {}
    for key, one in own.inputs.items():
        cpu = one.service.cpu
        twice = replace(cpu, mean_ms=replace(cpu.mean_ms, value=2.0 * cpu.mean_ms.value))
        inputs[key] = replace(one, service=replace(one.service, cpu=twice))
    return replace(own, inputs=inputs)


def test_only_shares_that_hang_on_the_placement_differ_in_a_family():
    job = parse_job(NEARBY)
    plan = place_job(job).plan
    family = PlanFamily.of(JobBehaviour.from_job(job), plan.logical)
    assert list(family.shares) == [("a", "default", "b")]
    # An executor of each operator in either worker, and both of an operator in one.
    near, apart = (replace(plan, placement=one) for one in ((0, 1, 0, 1, 0, 1), (0, 0, 1, 1, 0, 1)))
    assert [one.shares.tolist() for one in family.connect(near).blocks] == [IN_PLACE, EVEN]
    assert [one.shares.tolist() for one in family.connect(apart).blocks] == [EVEN, EVEN]
