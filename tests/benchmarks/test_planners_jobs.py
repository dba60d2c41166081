"""Jobs that planners are judged on are what the study says they are."""

import pytest

from benchmarks.planners_jobs import (
    LOAD_AWARE_OFF,
    even_limit,
    random_case,
    random_job,
    with_nearness,
)
from benchmarks.planners_scaling import job_of_graph, published_graph, random_graph
from streamgauge.planning.scaling.from_profile import graph_of_job
from streamgauge.planning.scaling.rates import propagate
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.topology.topology import OperatorKind

SEEDS = range(30)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_jobs_are_whole(seed):
    job = random_job(seed)
    assert 3 <= len(job.topology.operators) <= 10
    assert len(job.topology.topological_order()) == len(job.topology.operators)
    for one in job.topology.operators:
        source = one.kind is OperatorKind.SOURCE
        assert bool(job.topology.streams_into(one.name)) is not source
        assert job.topology.streams_from(one.name) or not source
        # As many tasks as executors, Storm's default.
        assert job.configuration.executors_of(one.name) == one.tasks


def test_a_seed_gives_the_same_job_and_another_another():
    assert random_job(5) == random_job(5)
    assert random_job(5) != random_job(6)


def test_even_placement_has_the_load_that_a_case_says():
    case = random_case(1)
    assert 0.5 <= case.load <= 0.7
    assert 1.0 / even_limit(case.job) == pytest.approx(case.load, rel=1e-2)
    assert 2 <= len(case.job.cluster.nodes) <= 8


def test_cases_declare_what_executors_need_and_leave_slots_to_isolate():
    job = random_case(1).job
    assert set(job.configuration.resources) == set(job.topology.operator_names)
    assert all(one.cpu_cores >= 0.05 for one in job.configuration.resources.values())
    assert place_job(job, "isolation").plan


def test_nearness_is_switched_by_the_engine_s_own_setting():
    job = random_job(1)
    assert with_nearness(job, near=False).configuration.settings[LOAD_AWARE_OFF] is True
    assert with_nearness(job, near=True).configuration.settings[LOAD_AWARE_OFF] is False


@pytest.mark.parametrize(
    "graph", [random_graph(3), published_graph("simple-tree")], ids=["random", "published"]
)
def test_a_graph_s_job_has_the_graph_s_rates(graph):
    derived = graph_of_job(job_of_graph(graph)).graph
    sources = sum(one.law.rate(one.units) for one in graph.components if one.source)
    wanted, found = propagate(graph), propagate(derived)
    for one in graph.components:
        assert found[one.name].input == pytest.approx(
            wanted[one.name].input * 300.0 / sources, rel=1e-6
        )


def test_units_become_executors_with_a_task_and_a_worker_each():
    graph = published_graph("simple-tree")
    job = job_of_graph(graph, {"3": 2})
    assert job.configuration.executors_of("3") == job.topology.operator("3").tasks == 3
    plan = place_job(job, "isolation").plan
    assert len(plan.workers) == len(plan.logical.executors) == 8
