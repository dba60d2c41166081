"""Tables 3.1 and 3.2 of Pagliari 2021, cell by cell."""

import pytest

from streamgauge.errors import Infeasible
from streamgauge.planning.scheduling.acker_aware import dry_run_ackers
from streamgauge.planning.scheduling.contract import PlacementRequest
from streamgauge.planning.scheduling.packing import Requirements
from streamgauge.topology.logical_plan import LogicalPlan
from tests.planning.scheduling.word_count import (
    LARGE,
    SMALL,
    acker_counts,
    at,
    estimate_ackers,
    figures,
    scheduled,
)

# Scheduler, step, then workers, nodes and ackers as printed.
TABLES = [
    ("resource-aware", "30-cu-64-mb", 29, 15, 30),
    ("resource-aware", "30-cu-32-mb", 22, 15, 15),
    ("resource-aware", "27-cu-32-mb", 25, 13, 13),
    ("one-per-worker", "33-cu-128-mb", 47, 16, 48),
    ("one-per-worker", "30-cu-128-mb", 58, 15, 60),
    ("one-per-worker", "30-cu-64-mb", 29, 15, 30),
    ("one-per-worker", "30-cu-32-mb", 15, 15, 15),
    ("one-per-worker", "27-cu-32-mb", 13, 13, 13),
    ("isolated-queue", "33-cu-128-mb", 63, 16, 48),
    ("isolated-queue", "30-cu-128-mb", 73, 15, 60),
    ("isolated-queue", "30-cu-64-mb", 44, 15, 30),
    ("isolated-queue", "30-cu-32-mb", 30, 15, 15),
    ("isolated-queue", "27-cu-32-mb", 26, 13, 13),
    ("resource-aware", "400-cu-128-mb", 15, 14, 13),
    ("resource-aware", "265-cu-128-mb", 10, 9, 9),
    ("one-per-worker", "400-cu-128-mb", 13, 13, 13),
    ("one-per-worker", "265-cu-128-mb", 9, 9, 9),
    ("isolated-queue", "400-cu-128-mb", 26, 13, 13),
    ("isolated-queue", "265-cu-128-mb", 18, 9, 9),
]
# Step, ackers of the estimate, workers of the job's own executors.
COUNTS = [
    ("33-cu-128-mb", 48, 47),
    ("30-cu-128-mb", 60, 58),
    ("30-cu-64-mb", 30, 29),
    ("30-cu-32-mb", 15, 15),
    ("27-cu-32-mb", 13, 13),
    ("400-cu-128-mb", 13, 13),
    ("265-cu-128-mb", 9, 9),
]


@pytest.mark.parametrize(("scheduler", "step", "workers", "nodes", "ackers"), TABLES)
def test_workers_nodes_and_ackers_are_those_printed(scheduler, step, workers, nodes, ackers):
    plan = scheduled(scheduler, at(step)).plan
    assert figures(plan) == (workers, nodes, ackers)


@pytest.mark.parametrize(
    ("job", "workers", "nodes"),
    [(LARGE, 60, 16), (LARGE, 16, 16), (LARGE, 13, 13), (SMALL, 16, 16), (SMALL, 13, 13)],
)
def test_even_takes_the_workers_asked_for_with_an_acker_each(job, workers, nodes):
    plan = scheduled("even", job, workers=workers, ackers=None).plan
    assert figures(plan) == (workers, nodes, workers)
    assert set(acker_counts(plan)) == {1}


def test_needs_of_33_cu_and_128_mb_leave_no_room_for_21_of_48_ackers():
    """8 CU are left on 15 full nodes, and the last takes 27 ackers of 10."""
    with pytest.raises(Infeasible) as caught:
        scheduled("resource-aware", at("33-cu-128-mb"))
    said = str(caught.value)
    assert "21 of 424 executors have no slot: __acker[404]," in said
    assert "one of __acker needs 0.1 cores and 128 MB" in said
    assert "at most 0.08 cores are left on a machine" in said


def test_first_fit_takes_62_workers_where_58_are_printed():
    """58 leave no room: of 60 ackers 2 fit on each of 14 full nodes, and 4 beside others."""
    plan = scheduled("resource-aware", at("30-cu-128-mb")).plan
    assert figures(plan) == (62, 15, 60)
    own = [one for one in plan.executors_by_worker.values() if one[0].operator != "__acker"]
    assert len(own) == 58
    beside = [sum(one.operator == "__acker" for one in executors) for executors in own]
    assert sum(beside) == 14 * 2 + 4


@pytest.mark.parametrize(("step", "ackers"), [(step, ackers) for step, ackers, _ in COUNTS])
def test_the_estimate_gives_the_seven_published_numbers_of_ackers(step, ackers):
    job = at(step)
    requirements = Requirements.of(LogicalPlan.of(job.topology, job.configuration))
    assert job.configuration.ackers == ackers
    assert ackers == estimate_ackers(
        sum(job.configuration.executors.values()),
        requirements.needs["counter"],
        node_cores=8,
        heap_bytes=requirements.heap_bytes,
    )


@pytest.mark.parametrize(("step", "workers"), [(step, workers) for step, _, workers in COUNTS])
def test_a_dry_run_counts_the_workers_themselves(step, workers):
    job = at(step)
    assert dry_run_ackers(PlacementRequest(job.topology, job.configuration, job.cluster)) == workers


@pytest.mark.parametrize(
    ("step", "counts"),
    [
        ("33-cu-128-mb", {1: 46, 2: 1}),
        ("30-cu-128-mb", {1: 56, 2: 2}),
        ("30-cu-64-mb", {1: 28, 2: 1}),
        ("27-cu-32-mb", {1: 13}),
        ("265-cu-128-mb", {1: 9}),
    ],
)
def test_one_per_worker_gives_each_worker_so_many_ackers(step, counts):
    found = acker_counts(scheduled("one-per-worker", at(step)).plan)
    assert {count: found.count(count) for count in set(found)} == counts


@pytest.mark.parametrize(
    ("step", "each"),
    [("33-cu-128-mb", 3), ("30-cu-128-mb", 4), ("30-cu-64-mb", 2), ("400-cu-128-mb", 1)],
)
def test_isolated_queue_gives_each_of_its_workers_so_many_ackers(step, each):
    found = acker_counts(scheduled("isolated-queue", at(step)).plan)
    assert {count for count in found if count} == {each}


@pytest.mark.parametrize(
    ("step", "alone"),
    [("30-cu-32-mb", 7), ("27-cu-32-mb", 12), ("30-cu-64-mb", 0), ("400-cu-128-mb", 2)],
)
def test_workers_with_ackers_alone_are_in_the_rows_that_crashed(step, alone):
    """Table 3.1 marks 30/32 and 27/32 as out of memory, and 30/64 as fine."""
    plan = scheduled("resource-aware", at(step)).plan
    workers = plan.executors_by_worker.values()
    assert alone == sum({one.operator for one in held} == {"__acker"} for held in workers)
