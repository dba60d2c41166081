"""Slowdown of executors, and what a worker uses for a tuple more: cases on paper."""

import pytest

from streamgauge.pipeline.estimation.measured import Measured
from streamgauge.pipeline.estimation.subjects import figures_of
from streamgauge.pipeline.estimation.thread_costs import find_cost_of_more, find_slowdown
from tests.pipeline.estimation.rows import EXECUTOR, counted, table

WORKER = {"worker": "n:1", "node": "n"}
SECOND = 10**9


def measured(*rows):
    return Measured(figures_of(table([one for each in rows for one in each])), "p")


def by_block(metric, seconds, subject=EXECUTOR):
    return counted(metric, [round(one * SECOND) for one in seconds], subject=subject)


def test_work_took_so_much_longer_as_the_thread_waited_for_a_core():
    found = find_slowdown(
        measured(by_block("executor_cpu", [10.0] * 10), by_block("executor_run_delay", [2.0] * 10)),
        "a[1]",
    )
    assert found.value == pytest.approx(1.2)


def test_waits_without_a_tuple_do_not_count():
    found = find_slowdown(
        measured(
            by_block("executor_cpu", [10.0] * 10),
            by_block("executor_idle_cpu", [2.0] * 10),
            by_block("executor_run_delay", [6.0] * 10),
            by_block("executor_idle_run_delay", [2.0] * 10),
        ),
        "a[1]",
    )
    assert found.value == pytest.approx(1.5)


def test_its_error_is_that_of_both_together():
    """Delay goes with CPU time: the slowdown is the same in every block."""
    cpu = [5.0, 10.0, 15.0, 20.0, 10.0, 5.0, 15.0, 20.0, 10.0, 5.0]
    rows = (by_block("executor_cpu", cpu), by_block("executor_run_delay", [0.5 * c for c in cpu]))
    found = find_slowdown(measured(*rows), "a[1]")
    assert found.value == pytest.approx(1.5)
    assert found.error == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("metric", ["executor_cpu", "executor_run_delay"])
def test_without_delay_or_work_there_is_no_slowdown(metric):
    assert find_slowdown(measured(by_block(metric, [1.0] * 10)), "a[1]") is None


def test_where_a_thread_polls_most_of_the_time_its_slowdown_is_hardly_known():
    """Of 27 s of delay 27 s were without a tuple, give or take a tenth, beside 1 s of work."""
    found = find_slowdown(
        measured(
            by_block("executor_cpu", [10.0] * 10),
            by_block("executor_idle_cpu", [9.0] * 10),
            by_block("executor_run_delay", [27.0] * 10),
            by_block("executor_idle_run_delay", [27.0] * 10),
        ),
        "a[1]",
    )
    assert found.value == 1.0
    assert found.error == pytest.approx(2.7)


def test_more_noise_than_delay_is_no_slowdown():
    found = find_slowdown(
        measured(
            by_block("executor_cpu", [10.0] * 10),
            by_block("executor_run_delay", [1.0] * 10),
            by_block("executor_idle_run_delay", [1.5] * 10),
        ),
        "a[1]",
    )
    assert found.value == 1.0


def worker_rows(executed, engine_seconds):
    """A worker whose executor uses ten seconds a block."""
    total = [10.0 + one for one in engine_seconds]
    return (
        by_block("executor_cpu", [10.0] * len(total)),
        by_block("worker_cpu", total, WORKER),
        counted("worker_executed", executed, subject=WORKER),
    )


def test_a_tuple_more_costs_what_the_line_through_blocks_says():
    executed = [1000, 2000, 3000, 4000, 1000, 2000, 3000, 4000]
    rows = worker_rows(executed, [1.5 + 20e-6 * count for count in executed])
    found = find_cost_of_more(measured(*rows), "n:1", ["a[1]"])
    assert found.value == pytest.approx(0.020)
    assert found.error == pytest.approx(0.0, abs=1e-9)


def test_a_steady_load_knows_next_to_nothing_of_it():
    executed = [2000, 2001, 1999, 2002, 1998, 2000, 2001, 1999]
    noise = [0.02, -0.03, 0.01, 0.03, -0.02, 0.02, -0.01, -0.02]
    rows = worker_rows(executed, [1.5 + one for one in noise])
    found = find_cost_of_more(measured(*rows), "n:1", ["a[1]"])
    assert found.error > 1.0


@pytest.mark.parametrize("left_out", [0, 1, 2])
def test_without_executors_worker_or_tuples_there_is_none(left_out):
    rows = list(worker_rows([1000, 2000] * 5, [1.0, 2.0] * 5))
    del rows[left_out]
    assert find_cost_of_more(measured(*rows), "n:1", ["a[1]"]) is None
