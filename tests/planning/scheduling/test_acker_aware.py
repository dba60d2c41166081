"""One-per-worker and isolated queue: what they change, and what they leave alone."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.planning.scheduling.acker_aware import dry_run_ackers
from streamgauge.planning.scheduling.contract import PlacementRequest
from streamgauge.planning.scheduling.isolated_queue import IsolatedQueueScheduler
from streamgauge.planning.scheduling.one_per_worker import OnePerWorkerScheduler
from streamgauge.planning.scheduling.packing import Needs
from streamgauge.planning.scheduling.resource_aware import ResourceAwareScheduler
from streamgauge.topology import ACKER, Cluster, Configuration, Resources
from tests.planning.scheduling.graphs import (
    HEAP,
    MEGABYTE,
    configured,
    figure_2_1,
    placed,
    topology,
)
from tests.planning.scheduling.word_count import LARGE, acker_counts, estimate_ackers, of_the_job
from tests.strategies import PLAIN_NAMES, topologies

ONE_PER_WORKER = OnePerWorkerScheduler()
ISOLATED_QUEUE = IsolatedQueueScheduler()
BOTH = pytest.mark.parametrize("scheduler", [ONE_PER_WORKER, ISOLATED_QUEUE])
ROOM = Cluster.uniform(nodes=9, slots=9, cores=2)


@st.composite
def acked_jobs(draw: st.DrawFn) -> tuple:
    """An acked topology with needs that fit nine nodes, and a number of ackers."""
    made = draw(topologies(names=PLAIN_NAMES, acked=st.just(True)))
    needs = {
        name: Resources(
            cpu_cores=draw(st.integers(0, 4)) / 4,
            memory_bytes=draw(st.integers(0, 4)) * 64 * MEGABYTE,
        )
        for name in made.operator_names
    }
    configuration = Configuration(
        executors={op.name: op.tasks for op in made.operators},
        resources=needs,
        settings={HEAP: 512},
        ackers=draw(st.integers(1, 12)),
    )
    return made, configuration


def without_ackers(made, configuration, cluster=ROOM):
    bare = replace(configuration, ackers=0)
    return ResourceAwareScheduler().schedule(PlacementRequest(made, bare, cluster)).plan


# Pagliari 2021, Figures 3.8 and 3.9


def test_one_per_worker_puts_an_acker_beside_the_executors_of_each_worker():
    made = figure_2_1(acked=True)
    configuration = configured(made, megabytes=341, ackers=3)
    plan = ONE_PER_WORKER.schedule(
        PlacementRequest(made, configuration, Cluster.uniform(nodes=2, slots=4))
    ).plan
    assert placed(plan) == {
        "n1:6700": ["B1", "B2", "S", ACKER],
        "n1:6701": ["B1", "B2", "S", ACKER],
        "n1:6702": ["B3", ACKER],
    }


def test_isolated_queue_starts_a_fourth_worker_for_the_ackers():
    made = figure_2_1(acked=True)
    configuration = configured(made, megabytes=341, ackers=3)
    plan = ISOLATED_QUEUE.schedule(
        PlacementRequest(made, configuration, Cluster.uniform(nodes=2, slots=4))
    ).plan
    assert placed(plan)["n1:6702"] == ["B3"]
    assert placed(plan)["n1:6703"] == [ACKER, ACKER, ACKER]


# Laws


@BOTH
@given(job=acked_jobs())
@settings(max_examples=30)
def test_the_jobs_own_executors_are_where_they_would_be_without_ackers(scheduler, job):
    plan = scheduler.schedule(PlacementRequest(*job, ROOM)).plan
    assert of_the_job(plan) == of_the_job(without_ackers(*job))


@given(acked_jobs())
@settings(max_examples=30)
def test_one_per_worker_starts_no_worker_and_spreads_evenly(job):
    plan = ONE_PER_WORKER.schedule(PlacementRequest(*job, ROOM)).plan
    counts = acker_counts(plan)
    assert set(plan.workers) == set(without_ackers(*job).workers)
    assert max(counts) - min(counts) <= 1


@given(acked_jobs())
@settings(max_examples=30)
def test_isolated_queue_has_one_worker_of_ackers_on_every_node_in_use(job):
    bare = without_ackers(*job)
    plan = ISOLATED_QUEUE.schedule(PlacementRequest(*job, ROOM)).plan
    added = set(plan.workers) - set(bare.workers)
    ackers = job[1].ackers
    assert {worker.node for worker in added} == set(bare.nodes[:ackers])
    assert len(added) == min(len(bare.nodes), ackers)
    held = [plan.executors_in(worker) for worker in added]
    assert all(one.operator == ACKER for executors in held for one in executors)
    sizes = [len(executors) for executors in held]
    assert max(sizes) - min(sizes) <= 1


@BOTH
def test_ackers_count_as_needing_nothing(scheduler):
    """The node is full, and so is the heap."""
    made = topology(s=2, acked=True)
    configuration = configured(made, cores=0.5, megabytes=512, ackers=2)
    plan = scheduler.schedule(
        PlacementRequest(made, configuration, Cluster.uniform(nodes=1, slots=2))
    ).plan
    assert len(plan.logical.executors_of(ACKER)) == 2


@BOTH
def test_ackers_that_no_worker_could_hold_by_their_settings_do_not_matter(scheduler):
    made = topology(s=1, acked=True)
    settings = {"topology.acker.resources.onheap.memory.mb": 4096}
    plan = scheduler.schedule(
        PlacementRequest(made, Configuration(settings=settings), Cluster.uniform(nodes=1, slots=2))
    ).plan
    assert len(plan.logical.executors_of(ACKER)) == 1


# How many ackers


@BOTH
def test_without_a_number_there_is_an_acker_for_each_worker_of_the_job(scheduler):
    made = topology(s=5, acked=True)
    configuration = configured(made, heap=256, workers=1)
    schedule = scheduler.schedule(
        PlacementRequest(made, configuration, Cluster.uniform(nodes=1, slots=9))
    )
    assert len(schedule.plan.logical.executors_of(ACKER)) == 3
    assert any("submit it with topology.acker.executors: 3" in one for one in schedule.warnings)


@BOTH
@pytest.mark.parametrize("ackers", [0, 2])
def test_a_number_that_is_given_holds(scheduler, ackers):
    made = topology(s=5, acked=True)
    configuration = configured(made, heap=256, ackers=ackers)
    plan = scheduler.schedule(
        PlacementRequest(made, configuration, Cluster.uniform(nodes=1, slots=9))
    ).plan
    assert sum(one.operator == ACKER for one in plan.logical.executors) == ackers


@BOTH
def test_a_job_that_is_not_acked_is_placed_as_without_them(scheduler):
    made = topology("s-b", s=2, b=2)
    plan = scheduler.schedule(
        PlacementRequest(made, configured(made), Cluster.uniform(nodes=1))
    ).plan
    assert placed(plan) == {"n1:6700": ["b", "b", "s", "s"]}
    assert dry_run_ackers(PlacementRequest(made, configured(made), Cluster.uniform(nodes=1))) == 0


def test_a_dry_run_takes_needs_that_differ():
    """Three of 512 MB fill two workers, four of 128 MB half of one more."""
    made = topology("a-b", a=3, b=4, acked=True)
    sizes = {"a": 512, "b": 128}
    resources = {
        name: Resources(cpu_cores=0, memory_bytes=size * MEGABYTE) for name, size in sizes.items()
    }
    configuration = replace(configured(made), resources=resources)
    assert (
        dry_run_ackers(PlacementRequest(made, configuration, Cluster.uniform(nodes=1, slots=9)))
        == 2
    )


def test_the_estimate_is_never_below_the_dry_run_of_equal_needs():
    for cores, megabytes in [(0.1, 100), (0.5, 64), (1, 1024), (3, 128), (8, 32)]:
        configuration = replace(
            configured(LARGE.topology, cores=cores, megabytes=megabytes), ackers=None
        )
        cluster = Cluster.uniform(nodes=400, slots=40, cores=8)
        exact = dry_run_ackers(PlacementRequest(LARGE.topology, configuration, cluster))
        needs = Needs(cores, megabytes * MEGABYTE)
        assert exact <= estimate_ackers(376, needs, node_cores=8, heap_bytes=1024 * MEGABYTE)


# A node without a free slot


def test_ackers_of_a_node_without_a_free_slot_share_its_workers():
    made = topology(s=6, acked=True)
    configuration = configured(made, cores=0.25, megabytes=512, ackers=6)
    schedule = ISOLATED_QUEUE.schedule(
        PlacementRequest(made, configuration, Cluster.uniform(nodes=2, slots=2))
    )
    assert placed(schedule.plan) == {
        "n1:6700": [ACKER, ACKER, "s", "s"],
        "n1:6701": [ACKER, "s", "s"],
        "n2:6700": ["s", "s"],
        "n2:6701": [ACKER, ACKER, ACKER],
    }
    assert any("1 of 2 nodes have no slot left" in one for one in schedule.warnings)


def test_a_node_that_gets_no_acker_needs_no_slot():
    made = topology(s=4, acked=True)
    configuration = configured(made, cores=0.5, ackers=1)
    cluster = Cluster.uniform(nodes=2, slots=2)
    schedule = ISOLATED_QUEUE.schedule(
        PlacementRequest(made, configuration, cluster, taken=cluster.slots[3:])
    )
    assert not any("no slot left" in one for one in schedule.warnings)
