"""Coefficients of tasks and CPU time of executors, from rows of products."""

import numpy as np
import pytest

from tests.pipeline.estimation.rows import EXECUTOR, IN, OUT, counted, figure, figures, product

LEFT, RIGHT = ("executed", "default", "l"), ("executed", "default", "r")
FIRED = ("window_triggers", None, None)
EMITTED = ("emitted", "default", None)
CPU, IDLE = ("executor_cpu", None, None), ("executor_idle", None, None)


def products_of(columns, **options):
    """Rows of all products; columns: factor → blocks × buckets."""
    rows = []
    for first, x in columns.items():
        for second, y in columns.items():
            if tuple(map(str, first)) <= tuple(map(str, second)):
                rows += [
                    product(first, second, block, total, **options)
                    for block, total in enumerate((x * y).sum(axis=1).tolist())
                ]
    return rows


def drawn(rate, blocks=10, seed=1):
    return np.random.default_rng(seed).poisson(rate, (blocks, 6))


def test_tuples_out_per_tuple_in_by_input_stream():
    left, right = drawn(100, seed=1), drawn(50, seed=2)
    columns = {LEFT: left, RIGHT: right, EMITTED: 2 * left + 3 * right}
    rows = products_of(columns)
    rows += counted("executed", left.sum(axis=1), stream="default", source_component="l")
    one = figure(rows, "coefficient", source_component="l")
    other = figure(rows, "coefficient", source_component="r")
    assert (one["value"], other["value"]) == pytest.approx((2.0, 3.0))
    assert (one["stream"], one["input_stream"]) == ("default", "default")
    assert one["samples"] == left.sum()
    assert len(one["replicas"]) == 100


@pytest.mark.parametrize("swapped", [False, True])
def test_factors_may_stand_in_either_order(swapped):
    left = drawn(100)
    rows = products_of({LEFT: left})
    pair = (EMITTED, LEFT) if swapped else (LEFT, EMITTED)
    rows += [
        product(*pair, block, total)
        for block, total in enumerate((4 * left * left).sum(axis=1).tolist())
    ]
    assert figure(rows, "coefficient")["value"] == pytest.approx(4.0)


def test_a_window_emits_per_trigger_and_its_inputs_have_coefficients_too():
    executed = drawn(100)
    fired = executed // 10
    rows = products_of({LEFT: executed, FIRED: fired, EMITTED: 7 * fired})
    assert figure(rows, "per_trigger")["value"] == pytest.approx(7.0)
    assert figure(rows, "coefficient")["value"] == pytest.approx(0.7, rel=0.05)


def test_block_totals_do_where_products_are_missing():
    executed = drawn(100).sum(axis=1)
    rows = counted("executed_total", 20 * executed, **IN)
    rows += counted("emitted_total", 60 * executed, **OUT)
    found = figure(rows, "coefficient")
    assert found["value"] == pytest.approx(3.0)
    assert found["flags"] == ["block-totals"]


def test_cpu_time_is_told_from_tuples_and_idle_time():
    executed = drawn(400)
    idle = 5_000_000 - 2_000 * executed + drawn(10_000, seed=3)
    # Two milliseconds a tuple, and a tenth of a core while idle.
    cpu = 2_000 * executed + idle // 10
    rows = products_of({LEFT: executed, IDLE: idle, CPU: cpu}, subject=EXECUTOR)
    assert figure(rows, "cpu_by_input")["value"] == pytest.approx(2.0, rel=1e-3)
    assert figure(rows, "polling")["value"] == pytest.approx(0.1, rel=1e-3)
    assert figure(rows, "cpu_by_input")["executor"] == "a[1]"


def test_idle_time_alone_explains_nothing():
    rows = products_of({IDLE: drawn(1000), CPU: drawn(1000, seed=2)}, subject=EXECUTOR)
    rows += counted("executor_idle", [1] * 3, subject=EXECUTOR)
    assert "polling" not in {one["figure"] for one in figures(rows)}
