"""How alike plans are."""

from math import log

from streamgauge.lake.plans import Distance, ExecutorPlace, PlanLayout, distance
from streamgauge.models.measured_plan import measured_plan
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from tests.engines.emulator.emulations import ACKED
from tests.profile.measured import word_count


def layout(*workers):
    """Workers as texts of operators: one letter an executor; two on each node."""
    return PlanLayout(
        tuple(
            ExecutorPlace(operator, f"n{place // 2}:{place}", f"n{place // 2}")
            for place, worker in enumerate(workers)
            for operator in worker
        )
    )


def test_a_plan_is_at_no_distance_from_itself():
    assert distance(layout("ab", "ab"), layout("ab", "ab")) == Distance(0, 0.0, 0.0, 0.0)


def test_names_of_workers_and_nodes_do_not_matter():
    assert distance(layout("aab", "b"), layout("b", "aab")) == Distance(0, 0.0, 0.0, 0.0)


def test_twice_and_half_as_many_executors_are_equally_far():
    more = distance(layout("aaaab"), layout("aab"))
    less = distance(layout("ab"), layout("aab"))
    assert more.executors == less.executors == round(log(2), 9)


def test_operators_that_only_one_plan_has_weigh_most():
    same, other = distance(layout("aaaa"), layout("a")), distance(layout("a"), layout("ab"))
    assert other.operators == 1
    assert same < other


def test_neighbours_are_compared_by_worker_and_by_node():
    # On one node a and b share a worker, or do not. Of the pairs aa, ab and bb only ab differs,
    # and only in its worker: one of six shares, by one.
    assert distance(layout("ab"), layout("a", "b")).neighbours == round(1 / 6, 9)


def test_a_plan_sits_as_it_was_placed():
    plan = place_job(parse_job(ACKED)).plan
    layout = PlanLayout.of_plan(plan)
    assert layout.executors == {"__acker": 2, "a": 2, "b": 1, "s": 2}
    assert layout.workers == 2


def test_a_profile_sits_as_it_was_measured():
    placement = {"a[1-2]": "n1:6700", "a[3]": "n2:6700", "b[4]": "n2:6701"}
    layout = PlanLayout.of_profile(word_count(placement=placement, executors={}, workers={}))
    assert layout.places == (
        ExecutorPlace("a", "n1:6700", "n1"),
        ExecutorPlace("a", "n2:6700", "n2"),
        ExecutorPlace("b", "n2:6701", "n2"),
    )


def test_a_plan_and_the_profile_measured_on_it_sit_alike():
    profile = word_count(cluster=None)
    mine, theirs = PlanLayout.of_profile(profile), PlanLayout.of_plan(measured_plan(profile))
    assert sorted(mine.places) == sorted(theirs.places)


def test_what_differs_can_be_read():
    text = str(distance(layout("aaab"), layout("ab", "c")))
    assert text == (
        "operators of one plan only: 1, executors by a factor of 3 in all, workers by 2,"
        " neighbours by 0"
    )
