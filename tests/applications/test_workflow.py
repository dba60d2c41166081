"""Workflows: shapes, edges, and how totals are distributed (Pagliari 2021, section 4.6.2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.applications import Application, Routing, Workflow, expand_workflow
from streamgauge.applications.workflow import (
    Balancing,
    Connection,
    GraphShape,
    Load,
    RoutedEdges,
    Scalability,
    spread_load,
    spread_parallelism,
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


BALANCED, INCREASING, DECREASING, PYRAMID = Balancing


@st.composite
def totals(draw):
    """A total, and components that each get at least one of it."""
    components = draw(st.integers(min_value=2, max_value=40))
    total = draw(st.integers(min_value=components, max_value=5000))
    return total, components, draw(st.floats(min_value=0.0, max_value=1.0))


@given(totals(), st.sampled_from(Balancing))
def test_every_component_gets_at_least_one_and_all_together_the_total(given_total, balancing):
    total, components, variability = given_total
    series = spread_parallelism(total, components, balancing, variability)
    assert sum(series) == total
    assert min(series) >= 1
    assert len(series) == components


@given(totals())
def test_an_increasing_series_never_falls_and_a_decreasing_one_is_its_mirror_image(given_total):
    total, components, variability = given_total
    rising = spread_parallelism(total, components, INCREASING, variability)
    assert list(rising) == sorted(rising)
    assert spread_parallelism(total, components, DECREASING, variability) == rising[::-1]


@given(totals())
def test_a_pyramid_rises_to_its_highest_and_falls_after_it(given_total):
    total, components, variability = given_total
    series = list(spread_parallelism(total, components, PYRAMID, variability))
    top = series.index(max(series))
    assert series[: top + 1] == sorted(series[: top + 1])
    assert series[top:] == sorted(series[top:], reverse=True)


@given(totals())
def test_balanced_parts_differ_by_one_at_most_and_the_first_have_more(given_total):
    total, components, _ = given_total
    series = spread_parallelism(total, components, BALANCED)
    assert list(series) == sorted(series, reverse=True)
    assert series[0] - series[-1] <= 1


@pytest.mark.parametrize(
    ("components", "total", "increasing", "pyramid"),
    [
        (5, 18, (2, 3, 4, 4, 5), (2, 3, 6, 5, 2)),
        (4, 96, (12, 19, 25, 40), (12, 20, 40, 24)),
        (6, 24, (2, 3, 4, 5, 5, 5), (2, 3, 4, 7, 6, 2)),
        (3, 10, (2, 3, 5), (2, 4, 4)),
        (5, 10, (1, 2, 2, 2, 3), (1, 2, 3, 3, 1)),
        (5, 19, (2, 3, 4, 5, 5), (2, 3, 7, 5, 2)),
        (7, 1000, (71, 101, 125, 145, 164, 181, 213), (71, 108, 147, 243, 242, 117, 72)),
    ],
)
def test_the_series_are_those_of_the_authors_software(components, total, increasing, pyramid):
    assert spread_parallelism(total, components, INCREASING) == increasing
    assert spread_parallelism(total, components, PYRAMID) == pyramid


@pytest.mark.parametrize(
    ("variability", "expected"),
    [
        (0.2, (3, 3, 4, 4, 4)),
        (0.4, (2, 3, 4, 4, 5)),
        (0.6, (2, 3, 3, 4, 6)),
        (0.7, (1, 3, 3, 4, 7)),
    ],
)
def test_a_higher_variability_makes_the_series_steeper(variability, expected):
    assert spread_parallelism(18, 5, INCREASING, variability) == expected


def test_fewer_instances_than_components_are_refused():
    with pytest.raises(InvalidInput, match="at least 5"):
        spread_parallelism(4, 5)


@pytest.mark.parametrize(
    ("balancing", "expected"),
    [
        (BALANCED, [10, 10, 10, 10]),
        (INCREASING, [10, 12, 14.4, 17.28]),
        (DECREASING, [10, 8, 6.4, 5.12]),
        (PYRAMID, [10, 12, 9.6, 7.68]),
    ],
)
def test_loads_begin_with_the_first_tasks_and_change_by_a_fifth(balancing, expected):
    assert spread_load(10.0, 4, balancing) == pytest.approx(expected)


def test_the_highest_load_of_a_pyramid_is_in_the_middle():
    assert spread_load(10.0, 5, PYRAMID) == pytest.approx([10, 12, 14.4, 11.52, 9.216])


@pytest.mark.parametrize(
    ("balancing", "total"), [(BALANCED, 30.0), (INCREASING, 36.4), (DECREASING, 24.4)]
)
def test_three_tasks_with_a_base_of_10_have_the_sums_of_section_5_2(balancing, total):
    assert sum(spread_load(10.0, 3, balancing)) == pytest.approx(total)
