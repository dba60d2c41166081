"""Workflows: shapes, edges, and who filters and gathers (Pagliari 2021, section 4.6.2)."""

import pytest

from streamgauge.applications import Application, Routing, Workflow, expand_workflow
from streamgauge.applications.workflow import (
    Balancing,
    Connection,
    GraphShape,
    Load,
    RoutedEdges,
    Scalability,
)
from streamgauge.errors import InvalidInput
from streamgauge.topology.topology import Window

WINDOW = Window(length_seconds=30.0)


def workflow(shape: str, depth: int, **more) -> Workflow:
    more.setdefault("scalability", Scalability(parallelism=depth + 2))
    return Workflow(depth=depth, connection=Connection(shape=GraphShape(shape)), **more)


def expand(shape: str, depth: int, **more) -> Application:
    return expand_workflow(workflow(shape, depth, **more), name="it")


def numbers(application: Application) -> dict[str, tuple[int, ...]]:
    """Every task's parents by number, a source's negative."""
    return {
        task.name: tuple(
            (-1 if parent.startswith("source") else 1) * int(parent.split("-")[1])
            for parent in task.parents
        )
        for task in application.tasks
        if not task.is_source
    }


@pytest.mark.parametrize(
    ("shape", "widths"),
    [("linear", (1, 1, 1, 1, 1)), ("diamond", (1, 2, 1, 1, 1)), ("star", (2, 1, 2, 1, 1))],
)
def test_the_shape_is_at_the_beginning_and_a_line_follows(shape, widths):
    assert workflow(shape, 5).widths == widths
    application = expand(shape, 5)
    assert len(application.sources) == widths[0]
    assert len(application.tasks) == sum(widths)


def test_a_line_passes_from_task_to_task():
    assert numbers(expand("linear", 4)) == {"task-1": (-1,), "task-2": (1,), "task-3": (2,)}


def test_both_branches_of_a_diamond_meet_again():
    assert numbers(expand("diamond", 5)) == {
        "task-1": (-1,),
        "task-2": (-1,),
        "task-3": (1, 2),
        "task-4": (3,),
        "task-5": (4,),
    }


def test_only_the_upper_branch_of_a_star_goes_on():
    star = expand("star", 5)
    assert numbers(star) == {
        "task-1": (-1, -2),
        "task-2": (1,),
        "task-3": (1,),
        "task-4": (2,),
        "task-5": (4,),
    }
    assert star.children["task-3"] == ()


@pytest.mark.parametrize(
    ("shape", "depth", "total", "balancing", "expected"),
    [
        ("diamond", 5, 24, "balanced", [4, 4, 4, 4, 4, 4]),
        ("linear", 4, 96, "balanced", [24, 24, 24, 24]),
        ("diamond", 4, 18, "balanced", [4, 4, 4, 3, 3]),
        ("diamond", 4, 18, "increasing", [2, 3, 4, 4, 5]),
        ("diamond", 4, 18, "decreasing", [5, 4, 4, 3, 2]),
    ],
)
def test_instances_are_distributed_sources_first(shape, depth, total, balancing, expected):
    scalability = Scalability(parallelism=total, balancing=Balancing(balancing))
    application = expand(shape, depth, scalability=scalability)
    assert [task.parallelism for task in application.tasks] == expected


def test_loads_go_from_task_to_task_and_leave_sources_out():
    load = Load(processing=3.0, balancing=Balancing.DECREASING)
    application = expand("diamond", 5, workload=load)
    loads = [task.processing for task in application.tasks]
    assert loads == pytest.approx([0.0, 3.0, 2.4, 1.92, 1.536, 1.2288])


def test_the_branches_of_a_diamond_have_different_loads():
    load = Load(processing=10.0, balancing=Balancing.INCREASING)
    loads = [task.processing for task in expand("diamond", 4, workload=load).tasks]
    assert loads == pytest.approx([0.0, 10.0, 12.0, 14.4, 17.28])


@pytest.mark.parametrize(
    ("shape", "depth", "filters"),
    [
        ("linear", 8, ["task-3"]),
        ("diamond", 4, ["task-1", "task-2"]),
        ("star", 6, ["task-2", "task-3"]),
        ("star", 7, ["task-2", "task-3"]),
        # The middle would be the source, which has nothing to filter.
        ("linear", 2, ["task-1"]),
        ("linear", 3, ["task-1"]),
    ],
)
def test_the_level_in_the_middle_filters_with_all_its_tasks(shape, depth, filters):
    application = expand(shape, depth, filtering=0.3)
    assert [task.name for task in application.tasks if task.filtering == 0.3] == filters


@pytest.mark.parametrize(
    ("shape", "depth", "gathers"),
    [("linear", 2, "task-1"), ("linear", 3, "task-2"), ("diamond", 5, "task-2")],
)
def test_the_second_task_gathers_or_the_only_one(shape, depth, gathers):
    application = expand(shape, depth, window=WINDOW)
    assert [task.name for task in application.tasks if task.window] == [gathers]


def routings(edges: RoutedEdges) -> list[Routing]:
    described = Workflow(depth=4, connection=Connection(routing=Routing.HASH))
    application = expand_workflow(described, name="it", routed=edges)
    return [task.routing for task in application.tasks if not task.is_source]


def test_on_storm_the_routing_holds_for_every_connection():
    assert routings(RoutedEdges.ALL) == [Routing.HASH] * 3


def test_where_tasks_are_chained_the_routing_holds_behind_the_sources_only():
    """Flink: source | task-1 → task-2 → task-3 are two chains."""
    assert routings(RoutedEdges.FIRST_LEVEL) == [Routing.HASH, Routing.NONE, Routing.NONE]


def test_without_a_word_it_is_the_workflow_of_the_authors_software():
    application = expand_workflow(Workflow(), name="it")
    assert [task.parallelism for task in application.tasks] == [4, 3, 3]
    assert [task.processing for task in application.tasks] == [0.0, 10.0, 10.0]
    assert {task.routing for task in application.tasks[1:]} == {Routing.BALANCED}
    assert application.reliable


@pytest.mark.parametrize("shape", ["diamond", "star"])
def test_a_shape_needs_the_levels_it_is_made_of(shape):
    with pytest.raises(InvalidInput, match=f"depth 2 of a {shape}; expected at least 3"):
        workflow(shape, 2, scalability=Scalability(parallelism=10))


def test_every_component_needs_an_instance():
    with pytest.raises(InvalidInput, match="6 instances for the 7 components of a star") as caught:
        workflow("star", 5, scalability=Scalability(parallelism=6))
    assert caught.value.problems[0].path == "scalability.parallelism"


def test_a_workflow_has_two_levels_at_least():
    with pytest.raises(InvalidInput, match="depth: 1; expected a whole number of at least 2"):
        Workflow(depth=1)
