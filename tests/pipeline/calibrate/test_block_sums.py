"""From samples to sums: exact, and the same however they come."""

from random import Random

import pytest

from streamgauge.pipeline.calibrate.block_sums import increments_of, series_rows
from streamgauge.pipeline.calibrate.periods import StablePeriod
from streamgauge.pipeline.calibrate.readings import Scope
from tests.pipeline.calibrate.brute_force import partial_sums
from tests.pipeline.calibrate.frames import DAY_US, SECOND, arrays_of, sample, summed

LABEL = "executed_total"


@pytest.fixture(scope="module")
def direct(records, periods):
    return summed([arrays_of(records)], periods)


def test_sums_are_those_of_a_loop_over_all_records(direct, records, periods):
    assert direct == partial_sums(records, periods)
    # What agents do not count is taken from the engine, and what they do is not.
    found = {(key[1], key[3], key[8], key[10]) for key in direct}
    assert ("job", "b", "n2", "executed_total") in found
    assert ("job", "a", "n1", "executed_total") not in found
    # Nodes are counted for the topologies that run on them, and for no others.
    assert ("job", None, "n2", "node_cpu") in found
    assert "n3" not in {node for _, _, node, _ in found}


@pytest.mark.parametrize("count", [2, 7])
def test_neither_order_nor_files_change_a_sum(direct, records, periods, count):
    shuffled = Random(count).sample(records, len(records))
    parts = [arrays_of(shuffled[place::count]) for place in range(count)]
    assert summed(parts, periods) == direct


def test_samples_in_the_order_of_the_table_have_the_same_sums(direct, records, periods):
    def order(one):
        names = (one.cluster, one.component, one.metric, one.stream, one.source_component)
        return [str(name) for name in names], one.task or 0, one.bin or 0, one.bucket_start_us

    assert summed([arrays_of(sorted(records, key=order))], periods) == direct


SCOPE = Scope(
    period=StablePeriod(
        cluster=None,
        topology="job",
        plan_id="p",
        from_us=DAY_US - 100 * SECOND,
        to_us=DAY_US + 1000 * SECOND,
        bucket_us=10 * SECOND,
    ),
    first_us=DAY_US - 100 * SECOND,
    last_us=DAY_US + 1000 * SECOND,
    look_back_us=60 * SECOND,
)


def counter(second, value, task=1, worker="n1:6700", **keys):
    """A counter that the engine samples one in twenty."""
    return sample(
        LABEL,
        second,
        20 * value,
        value,
        component="a",
        task=task,
        worker=worker,
        stream="default",
        source_component="s",
        **keys,
    )


def test_what_was_added_to_a_counter_is_the_difference_to_the_bucket_before():
    records = [
        # Over midnight, from one plan's name to another's.
        counter(-10, 5, plan_id="p"),
        counter(0, 7, plan_id="q"),
        counter(10, 7),
        # The process starts anew and has counted three since.
        counter(20, 3),
        # A gap of a minute is bridged, a longer one is not.
        counter(80, 10),
        counter(150, 100),
        counter(160, 101),
        # The executor has moved: another process, another counter.
        counter(170, 50, worker="n2:6700"),
        counter(180, 52, worker="n2:6700"),
        # Another task's numbers have nothing to do with it.
        counter(0, 1000, task=2),
    ]
    (rows,) = series_rows(arrays_of(records), [SCOPE])
    found = increments_of(rows).to_pylist()
    added = {
        (row["worker"], round(row["bucket_start"].timestamp()) - DAY_US // SECOND): (
            row["value"],
            row["count"],
        )
        for row in found
    }
    assert added == {
        ("n1:6700", 0): (40.0, 2),
        ("n1:6700", 10): (0.0, 0),
        ("n1:6700", 20): (60.0, 3),
        ("n1:6700", 80): (140.0, 7),
        ("n1:6700", 160): (20.0, 1),
        ("n2:6700", 180): (40.0, 2),
    }


def test_tuples_come_for_executors_too_each_task_s_for_itself():
    names = {"component": "a", "executor": "a[1-2]", "stream": "default", "source_component": "s"}
    records = [sample("executed", 0, 5, task=task, **names) for task in (1, 2)]
    tables = series_rows(arrays_of(records), [SCOPE])
    rows = [row for one in tables for row in one.to_pylist() if row["kind"] == "sums"]
    assert [(row["task"], row["source_task"]) for row in rows] == [
        (1, None),
        (2, None),
        (None, 1),
        (None, 2),
    ]
