"""Which period is calibrated."""

from dataclasses import replace

import pytest

from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.lake.plans import ExecutorPlace, PlanLayout
from streamgauge.lake.records import Event, PlacedExecutor, Plan
from streamgauge.pipeline.calibrate.inventory import Held, Recorded
from streamgauge.pipeline.calibrate.lake_parts import HEARTBEATS
from streamgauge.pipeline.calibrate.periods import (
    Period,
    WarmUp,
    Wish,
    choose,
    choose_all,
    cuts_of,
    moment,
    plan_under,
    stable_periods,
)

SECOND = 1_000_000
COLD = Wish(warm_up=WarmUp(seconds=0.0))


def executor(component="a", task=1, worker="n1:6700"):
    node = worker.split(":")[0]
    return PlacedExecutor(
        component=component, first_task=task, last_task=task, worker=worker, node=node, machine="m"
    )


def plan(plan_id, start, end=None, executors=None, **keys):
    return Plan(
        **{"topology": "job", "engine": "storm-2", "document": "{}", **keys},
        plan_id=plan_id,
        valid_from_us=start * SECOND,
        valid_to_us=None if end is None else end * SECOND,
        executors=(executor(),) if executors is None else executors,
    )


def held(plan_id, first, last, metric=HEARTBEATS, bucket=10, rows=1):
    return Recorded(
        plan_id=plan_id,
        metric=metric,
        bucket_us=bucket * SECOND,
        first_us=first * SECOND,
        last_us=last * SECOND,
        rows=rows,
    )


def event(kind, at, **keys):
    whole = keys if "node" in keys else {"topology": "job", **keys}
    return Event(kind=kind, happened_at_us=at * SECOND, **whole)


def seconds(period):
    return period.from_us // SECOND, period.to_us // SECOND


def chosen(plans, recorded, events=(), wish=COLD):
    return choose(Held(cluster=None, topology="job", recorded=tuple(recorded)), plans, events, wish)


def test_a_plan_that_takes_effect_ends_the_one_before():
    plans = [plan("p", 0), plan("q", 1000)]
    found = stable_periods(plans, [], [held("p", 0, 1000), held("q", 1000, 1500)], WarmUp())
    assert [(one.plan_id, *seconds(one)) for one in found] == [("p", 60, 1000), ("q", 1060, 1500)]


@pytest.mark.parametrize("kind", ["start", "rebalance", "restart"])
def test_time_is_cut_where_something_happened_and_warm_up_follows(kind):
    plans, recorded = [plan("p", 0)], [held("p", 0, 2000)]
    found = stable_periods(plans, [event(kind, 800)], recorded, WarmUp())
    assert [seconds(one) for one in found] == [(60, 800), (860, 2000)]
    assert found[1].notes == (f"60 s of warm-up left out after a {kind}",)


def test_the_warm_up_is_a_fifth_of_a_short_period():
    (found,) = stable_periods([plan("p", 100, 200)], [], [held("p", 100, 200)])
    assert seconds(found) == (120, 200)


def test_samples_that_begin_after_the_warm_up_lose_nothing():
    (found,) = stable_periods([plan("p", 0)], [], [held("p", 500, 900)])
    assert seconds(found) == (500, 900)
    assert found.notes == ()


def test_a_topology_that_was_stopped_is_not_measured_until_it_starts():
    events = [event("stop", 300), event("start", 700)]
    found = stable_periods([plan("p", 0)], events, [held("p", 0, 1000)], WarmUp(seconds=0.0))
    assert [seconds(one) for one in found] == [(0, 300), (700, 1000)]


def test_who_stops_and_starts_at_the_same_moment_runs_on():
    events = [event("start", 300), event("stop", 300)]
    found = stable_periods([plan("p", 0)], events, [held("p", 0, 1000)], WarmUp(seconds=0.0))
    assert [seconds(one) for one in found] == [(0, 300), (300, 1000)]


@pytest.mark.parametrize(
    ("keys", "cuts"),
    [
        ({"node": "n1"}, True),
        ({"node": "n2"}, False),
        ({"worker": "n1:6700"}, True),
        ({"topology": "other"}, False),
        ({"cluster": "elsewhere"}, False),
    ],
)
def test_events_of_the_plans_nodes_and_of_the_topologys_workers_cut(keys, cuts):
    found = stable_periods([plan("p", 0)], [event("restart", 500, **keys)], [held("p", 0, 1000)])
    assert len(found) == 1 + cuts


def test_steps_of_an_experiment_do_not_cut():
    events = [event("step-begin", 500, name="one")]
    assert len(stable_periods([plan("p", 0)], events, [held("p", 0, 1000)])) == 1


def test_samples_that_name_no_plan_belong_to_the_plan_of_their_time():
    plans = [plan("p", 0), plan("q", 1000)]
    found = stable_periods(plans, [], [held(None, 0, 1500)], WarmUp(seconds=0.0))
    assert [(one.plan_id, *seconds(one)) for one in found] == [("p", 0, 1000), ("q", 1000, 1500)]


def test_a_plan_that_comes_back_has_two_periods():
    plans = [plan("p", 0, 500), plan("q", 500, 1000), plan("p", 1000, 2000)]
    recorded = [held("p", 0, 2000), held("q", 500, 1000)]
    found = stable_periods(plans, [], recorded, WarmUp(seconds=0.0))
    assert [one.plan_id for one in found] == ["p", "q", "p"]


def test_a_period_knows_the_nodes_and_machines_of_its_plan():
    executors = (executor(worker="n2:6700"), executor(task=2), executor(task=3))
    period = chosen([plan("p", 0, executors=executors)], [held("p", 0, 100)])
    assert (period.nodes, period.machines) == (("n1", "n2"), ("m",))


def test_without_a_period_the_last_one_of_two_minutes_and_twelve_buckets_is_taken():
    plans = [plan("p", 0), plan("q", 1000), plan("r", 1120)]
    recorded = [held("p", 0, 1000), held("q", 1000, 1120), held("r", 1120, 1230)]
    period = chosen(plans, recorded)
    assert (period.plan_id, period.notes) == ("q", ())
    # Buckets of a minute: twelve of them are twelve minutes.
    longer = [replace(one, bucket_us=60 * SECOND) for one in recorded]
    assert chosen(plans, longer).plan_id == "p"


def test_without_one_that_is_long_enough_the_longest_period_is_taken_and_that_is_said():
    plans = [plan("p", 0), plan("q", 110)]
    period = chosen(plans, [held("p", 0, 110), held("q", 110, 200)])
    assert period.plan_id == "p"
    assert period.notes == (
        "a short period: 110 s in buckets of 10 s, less than 120 s or 12 buckets",
    )


def test_the_usual_bucket_is_that_of_nearly_all_samples_that_are_summed():
    recorded = [
        held("p", 0, 1000, rows=950),
        # A process that paused, and another metric that is written once a minute.
        held("p", 0, 1000, bucket=13, rows=10),
        held("p", 0, 1000, "heap_used", bucket=60, rows=40),
        replace(held("p", 0, 1000, "uptime", bucket=300, rows=500), is_needed=False),
    ]
    assert chosen([plan("p", 0)], recorded).bucket_us == 10 * SECOND
    recorded[2] = replace(recorded[2], rows=60)
    assert chosen([plan("p", 0)], recorded).bucket_us == 60 * SECOND


def test_time_is_cut_by_plans_events_and_wishes():
    plans = [plan("p", 0, 500), plan("q", 700), plan("r", 100, topology="other")]
    events = [event("restart", 800), event("start", 900, node="n2"), event("step-begin", 950)]
    wished = Period(start_us=300 * SECOND, end_us=400 * SECOND)
    assert cuts_of(plans, events, wished) == {
        (None, "job"): tuple(second * SECOND for second in (0, 300, 400, 500, 700, 800)),
        (None, "other"): tuple(second * SECOND for second in (100, 300, 400)),
    }


def test_a_period_with_several_plans_gives_the_longest_period_and_says_so():
    plans = [plan("p", 0), plan("q", 1000)]
    recorded = [held("p", 0, 1000), held("q", 1000, 9000)]
    wish = Wish(period=Period(start_us=100 * SECOND, end_us=1600 * SECOND), warm_up=COLD.warm_up)
    period = chosen(plans, recorded, wish=wish)
    assert (period.plan_id, *seconds(period)) == ("p", 100, 1000)
    assert period.notes == (
        "the period spans 2 stable ones of 2 plans: the longest was taken, 1970-01-01T00:01:40Z to"
        " 1970-01-01T00:16:40Z on plan p",
    )


def test_a_period_with_several_plans_is_refused_when_that_is_wanted():
    plans = [plan("p", 0), plan("q", 1000)]
    recorded = [held("p", 0, 1000), held("q", 1000, 2000)]
    wish = Wish(period=Period(start_us=0, end_us=2000 * SECOND), strict=True)
    with pytest.raises(InvalidInput, match=r"2 stable periods.*take 1970-01-01T00:17:40Z"):
        chosen(plans, recorded, wish=wish)


def test_a_period_without_samples_says_when_there_are_some():
    wish = Wish(period=Period(start_us=5000 * SECOND, end_us=6000 * SECOND))
    with pytest.raises(NotEnoughData, match="there are some from 1970-01-01T00:01:00Z to"):
        chosen([plan("p", 0)], [held("p", 0, 1000)], wish=wish)


def test_the_plan_most_like_the_one_to_be_predicted_is_taken():
    two = (executor(), executor(task=2, worker="n2:6700"))
    four = (*two, executor(task=3), executor(task=4, worker="n2:6700"))
    plans = [plan("two", 0, executors=two), plan("four", 1000, executors=four)]
    recorded = [held("two", 0, 1000), held("four", 1000, 2000)]
    wanted = PlanLayout(
        (
            ExecutorPlace("a", "x:1", "x"),
            ExecutorPlace("a", "y:1", "y"),
            ExecutorPlace("a", "y:1", "y"),
        )
    )
    period = chosen(plans, recorded, wish=Wish(like=wanted))
    # Three is nearer to four than to two.
    assert period.plan_id == "four"
    assert period.notes[-1].startswith("of 2 recorded plans four is most like")


def test_of_equally_similar_plans_the_later_one_is_taken():
    plans = [plan("p", 0), plan("q", 1000)]
    recorded = [held("p", 0, 1000), held("q", 1000, 2000)]
    assert chosen(plans, recorded, wish=Wish(like=PlanLayout(()))).plan_id == "q"


def test_without_a_plan_it_is_said_what_to_do():
    with pytest.raises(NotEnoughData, match=r"'job': no plan was recorded.*records of type plan"):
        chosen([], [held("p", 0, 100)])


def test_without_samples_it_is_said_what_to_do():
    with pytest.raises(NotEnoughData, match="'job': no samples; expected some"):
        chosen([plan("p", 0)], [])


def test_samples_of_another_time_than_the_plan_are_not_enough():
    with pytest.raises(NotEnoughData, match="no samples while any of its 1 plans was valid"):
        chosen([plan("p", 1000)], [held("p", 0, 100)])


def test_a_topology_that_cannot_be_calibrated_stops_no_other():
    plans = [plan("p", 0), plan("p", 0, topology="twin"), plan("p", 0, topology="bare")]
    recorded = (held("p", 0, 100),)
    holds = [
        Held(cluster=None, topology="job", recorded=recorded),
        Held(cluster="lab", topology="twin", recorded=recorded),
    ]
    choice = choose_all(plans, [], holds)
    refused = {job for job, one in choice.items() if isinstance(one, NotEnoughData)}
    assert refused == {(None, "twin"), ("lab", "twin"), (None, "bare")}
    assert [one.topology for job, one in choice.items() if job not in refused] == ["job"]


def test_a_period_and_a_plan_cannot_both_be_wished_for():
    with pytest.raises(InvalidInput, match="one of them"):
        Wish(period=Period(start_us=0, end_us=1), like=PlanLayout(()))


def test_a_period_has_a_length():
    with pytest.raises(InvalidInput, match="a start before the end"):
        Wish(period=Period(start_us=5, end_us=5))


def test_moments_have_no_more_digits_than_they_need():
    assert moment(1_767_225_600_000_000) == "2026-01-01T00:00:00Z"
    assert moment(1_767_225_600_250_000) == "2026-01-01T00:00:00.25Z"


def test_a_placement_that_came_back_with_other_settings_is_told_apart_by_time():
    plans = [plan("p", 0, 100, document="old"), plan("p", 100, document="new")]
    first, second = stable_periods(plans, [], [held("p", 0, 300)], WarmUp(seconds=0.0))
    assert [seconds(first), seconds(second)] == [(0, 100), (100, 300)]
    assert [plan_under(one, plans).document for one in (first, second)] == ["old", "new"]
    assert plan_under(second, reversed(plans)).document == "new"
