"""Coefficients of tasks and CPU time of executors, from numbers by bucket."""

import numpy as np
import pyarrow as pa
import pytest

from streamgauge.errors import InvalidInput
from streamgauge.pipeline.estimation.subjects import figures_of
from tests.pipeline.estimation.rows import (
    EXECUTOR,
    IN,
    OUT,
    TASK,
    counted,
    figure,
    figures,
    slotted,
    table,
)

LEFT, RIGHT = ("executed", "default", "l"), ("executed", "default", "r")
FIRED = ("window_triggers", None, None)
EMITTED = ("emitted", "default", None)
CPU, IDLE = ("executor_cpu", None, None), ("executor_idle", None, None)


def drawn(rate, blocks=10, seed=1):
    return np.random.default_rng(seed).poisson(rate, (blocks, 5))


def test_tuples_out_per_tuple_in_by_input_stream():
    left, right = drawn(100, seed=1), drawn(50, seed=2)
    columns = {LEFT: left, RIGHT: right, EMITTED: 2 * left + 3 * right}
    rows = slotted(columns)
    one = figure(rows, "coefficient", source_component="l")
    other = figure(rows, "coefficient", source_component="r")
    assert (one["value"], other["value"]) == pytest.approx((2.0, 3.0))
    assert (one["stream"], one["input_stream"]) == ("default", "default")
    assert one["samples"] == left.sum()
    assert len(one["replicas"]) == 100


def test_a_window_emits_per_trigger_and_its_inputs_have_coefficients_too():
    executed = drawn(100)
    fired = executed // 10
    rows = slotted({LEFT: executed, FIRED: fired, EMITTED: 7 * fired})
    assert figure(rows, "per_trigger")["value"] == pytest.approx(7.0)
    assert figure(rows, "coefficient")["value"] == pytest.approx(0.7, rel=0.05)


def test_block_totals_do_where_slots_are_missing():
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
    rows = slotted({LEFT: executed, IDLE: idle, CPU: cpu}, subject=EXECUTOR)
    assert figure(rows, "cpu_by_input")["value"] == pytest.approx(2.0, rel=1e-3)
    assert figure(rows, "polling")["value"] == pytest.approx(0.1, rel=1e-3)
    assert figure(rows, "cpu_by_input")["executor"] == "a[1]"


def test_idle_time_alone_explains_nothing():
    rows = slotted({IDLE: drawn(1000), CPU: drawn(1000, seed=2)}, subject=EXECUTOR)
    assert "polling" not in {one["figure"] for one in figures(rows)}


def test_a_task_in_two_workers_is_multiplied_in_each():
    left = drawn(100)
    here, there = TASK, TASK | {"worker": "n:2"}
    rows = slotted({LEFT: left, EMITTED: 2 * left}, subject=here)
    # Nothing was emitted there; the same slots of another worker are none of its business.
    rows += slotted({LEFT: left, EMITTED: 0 * left}, subject=there)
    assert figure(rows, "coefficient")["value"] == pytest.approx(1.0)


def test_numbers_of_one_series_and_slot_are_added_before_they_are_multiplied():
    left = drawn(100)
    early, late = left // 3, left - left // 3
    rows = slotted({LEFT: early, EMITTED: 2 * left}) + slotted({LEFT: late})
    assert figure(rows, "coefficient")["value"] == pytest.approx(2.0)
    assert figure(rows, "coefficient")["standard_error"] == pytest.approx(0.0, abs=1e-9)


def test_slots_without_as_many_sums_are_refused():
    rows = table(slotted({LEFT: drawn(100)}))
    nothing = pa.array([[]] * len(rows), pa.list_(pa.int64()))
    short = rows.set_column(rows.schema.get_field_index("slot_sum"), "slot_sum", nothing)
    with pytest.raises(InvalidInput, match="as slots"):
        figures_of(short)
