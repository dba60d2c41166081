"""Which steps and plans are worth keeping."""

import pyarrow as pa
import pytest

from streamgauge.pipeline.calibrate.history import MINUTE_US
from streamgauge.pipeline.calibrate.task_steps import MOST_PLANS, MOST_STEPS, Layout, observed_plans
from streamgauge.pipeline.estimation.schemas import SERIES_SUMS


def row(plan, starts, totals, **names):
    named = {"component": "a", "stream": "default", "metric": "executed", "source_component": "s"}
    return {
        "plan_id": plan,
        **named,
        "task": 5,
        "kind": "tasks",
        "start": starts,
        "total_low": totals,
        **names,
    }


def observe(rows, known, layout):
    table = pa.Table.from_pylist(rows, schema=SERIES_SUMS)
    return observed_plans(table, {}, known, layout, MINUTE_US)


def layout(*plans):
    return Layout(
        executors={(plan, "a"): 2 for plan in plans},
        first_tasks={(plan, "a"): 4 for plan in plans},
    )


def test_of_many_steps_those_are_kept_that_spread_over_the_loads():
    """One minute in a thousand has the highest load; it stays."""
    starts = [minute * MINUTE_US for minute in range(1000)]
    totals = [60 * (minute % 7 + 1) for minute in range(1000)]
    totals[333] = 60_000
    known = {("p", at): MINUTE_US for at in starts}
    (plan,) = observe([row("p", starts, totals)], known, layout("p"))
    rates = plan.tasks["a"]["1"].inputs["s", "default"]
    assert len(rates) == len(plan.minutes) == MOST_STEPS
    assert max(rates) == 1000.0
    assert {round(rate) for rate in rates} == {1, 2, 3, 4, 5, 6, 7, 1000}
    # In order of time.
    assert rates.index(1000.0) == pytest.approx(MOST_STEPS / 3, abs=8)


def test_the_plans_that_ran_for_longest_are_kept():
    rows, known, plans = [], {}, [f"p{place:02}" for place in range(MOST_PLANS + 5)]
    for place, plan in enumerate(plans):
        starts = [(1000 * place + minute) * MINUTE_US for minute in range(place + 1)]
        rows.append(row(plan, starts, [60] * len(starts)))
        known |= {(plan, at): MINUTE_US for at in starts}
    found = observe(rows, known, layout(*plans))
    assert [one.plan_id for one in found] == plans[5:]


def test_steps_that_are_cut_off_and_streams_of_the_engine_are_left_out():
    starts = [0, MINUTE_US]
    rows = [row("p", starts, [60, 60]), row("p", starts, [9, 9], stream="__ack")]
    known = {("p", 0): MINUTE_US, ("p", MINUTE_US): MINUTE_US // 3}
    (plan,) = observe(rows, known, layout("p"))
    assert plan.minutes == (1.0,)
    assert list(plan.tasks["a"]["1"].inputs) == [("s", "default")]


def test_samples_without_a_plan_are_of_the_only_one():
    rows, known = [row(None, [0], [60])], {(None, 0): MINUTE_US}
    assert observe(rows, known, layout("p"))[0].plan_id == "p"
    assert observe(rows, known, layout("p", "q")) == ()


def test_nothing_is_kept_of_times_in_which_nobody_was_known():
    assert observe([row("p", [0], [60])], {}, layout("p")) == ()
