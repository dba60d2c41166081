"""What every registered scheduler keeps to."""

import pytest
from hypothesis import given, settings

from streamgauge.errors import Infeasible, InvalidInput
from streamgauge.planning.scheduling.contract import (
    PlacementRequest,
    load_scheduler,
    scheduler_names,
)
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.job import Assignment, Job
from streamgauge.topology import Cluster, Configuration, Operator, OperatorKind, Topology
from tests.strategies import PLAIN_NAMES, topologies

every_scheduler = pytest.mark.parametrize("name", scheduler_names())


PUBLISHED = {"even", "resource-aware", "one-per-worker", "isolated-queue", "isolation"}


def test_the_published_schedulers_are_registered():
    assert set(scheduler_names()) >= PUBLISHED


@every_scheduler
@given(made=topologies(names=PLAIN_NAMES))
@settings(max_examples=15)
def test_every_executor_is_in_exactly_one_worker_of_a_free_slot(name, made: Topology):
    # A slot for every operator, as isolation needs, and cores for all of them.
    cluster = Cluster.uniform(nodes=3, slots=4, cores=4)
    taken = cluster.slots[:2]
    configuration = Configuration(workers=3)
    scheduler = load_scheduler(name, configuration)
    plan = scheduler.schedule(PlacementRequest(made, configuration, cluster, taken=taken)).plan
    placed = [one for executors in plan.executors_by_worker.values() for one in executors]
    assert sorted(placed) == list(plan.logical.executors)
    assert set(plan.workers) <= set(cluster.slots) - set(taken)


@every_scheduler
@given(made=topologies(names=PLAIN_NAMES))
@settings(max_examples=5)
def test_the_same_question_has_the_same_answer(name, made: Topology):
    configuration = Configuration(executors={op.name: op.tasks for op in made.operators})
    cluster = Cluster.uniform(nodes=3, slots=4, cores=8)
    scheduler = load_scheduler(name, configuration)
    first = scheduler.schedule(PlacementRequest(made, configuration, cluster))
    assert scheduler.schedule(PlacementRequest(made, configuration, cluster)) == first


@every_scheduler
def test_a_cluster_without_a_free_slot_is_infeasible(name):
    made = Topology(name="t", operators=(Operator(name="s", kind=OperatorKind.SOURCE),))
    cluster = Cluster.uniform(nodes=2)
    scheduler = load_scheduler(name, Configuration())
    with pytest.raises(Infeasible, match="free"):
        scheduler.schedule(PlacementRequest(made, Configuration(), cluster, taken=cluster.slots))


@every_scheduler
def test_more_executors_than_tasks_are_refused(name):
    made = Topology(name="t", operators=(Operator(name="s", kind=OperatorKind.SOURCE),))
    configuration = Configuration(executors={"s": 2})
    with pytest.raises(InvalidInput, match="2 executors for 1 tasks"):
        load_scheduler(name, configuration).schedule(
            PlacementRequest(made, configuration, Cluster.uniform(nodes=2))
        )


@every_scheduler
def test_a_scheduler_says_who_it_is(name):
    scheduler = load_scheduler(name, Configuration())
    assert scheduler.name == name
    assert scheduler.describe()


def test_an_unknown_scheduler_is_refused_with_the_known_ones():
    with pytest.raises(
        InvalidInput, match=r"scheduler 'evne'; expected one of .*even.*did you mean"
    ):
        load_scheduler("evne", Configuration())


@given(made=topologies(names=PLAIN_NAMES))
@settings(max_examples=15)
def test_a_plan_written_down_is_the_plan_again(made: Topology):
    job = Job(topology=made, cluster=Cluster.uniform(nodes=2, slots=2))
    plan = place_job(job).plan
    again = Job(topology=made, cluster=job.cluster, plan=Assignment.of(plan)).explicit_plan()
    assert again is not None
    assert again.executors_by_worker == plan.executors_by_worker


def test_a_job_without_a_cluster_is_placed_on_an_assumed_one():
    made = Topology(name="t", operators=(Operator(name="s", kind=OperatorKind.SOURCE),))
    schedule = place_job(Job(topology=made))
    assert schedule.warnings == (
        "no cluster is described: assuming one node with one slot and one core each",
    )
