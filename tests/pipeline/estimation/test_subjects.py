"""Level one as a whole: order and company make no difference, and sources of figures."""

import duckdb
import numpy as np
import pytest

from streamgauge.errors import InvalidInput
from streamgauge.pipeline.estimation.schemas import FIGURES, OWNER, owner_key
from streamgauge.pipeline.estimation.subjects import figures_of
from tests.pipeline.estimation.rows import (
    EXECUTOR,
    IN,
    OUT,
    TASK,
    counted,
    figure,
    figures,
    row,
    slotted,
    table,
)
from tests.pipeline.estimation.test_outputs import EMITTED, LEFT, RIGHT
from tests.pipeline.estimation.test_times import bins_of, sums_of, times_of

WORKER = {"worker": "n:1", "node": "n"}


def many():
    """Several subjects of every kind, in two topologies."""
    generator = np.random.default_rng(1)
    rows = []
    for topology in ("t", "u"):
        for task in (1, 2, 3):
            subject = TASK | {"task": task, "topology": topology}
            executed = generator.poisson(100, (12, 5))
            other = generator.poisson(30, (12, 5))
            factors = {LEFT: executed, RIGHT: other, EMITTED: 2 * executed + other}
            rows += slotted(factors, subject=subject)
            rows += counted("executed", executed.sum(axis=1), subject=subject, **IN)
            rows += counted("emitted", (2 * executed).sum(axis=1), subject=subject, **OUT)
            rows += [one | subject for one in sums_of(times_of(12, seed=task), **IN)]
            rows += [one | subject for one in bins_of(times_of(12, seed=task), **IN)]
            sent = {"source_component": "a", "source_task": task, "component": "b"}
            for target in (7, 8):
                rows += counted(
                    "transferred",
                    generator.poisson(50, 12),
                    subject={"topology": topology, "task": target, **WORKER},
                    stream="default",
                    **sent,
                )
        rows += counted(
            "executor_cpu",
            generator.integers(1e9, 2e9, 12),
            subject=EXECUTOR | {"topology": topology},
        )
        rows += counted("worker_heartbeats", [5] * 12, subject=WORKER | {"topology": topology})
    return rows


def test_the_order_of_rows_makes_no_difference_to_any_byte():
    rows = many()
    expected = figures_of(table(rows))
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(rows))
        assert figures_of(table([rows[place] for place in order])).equals(expected)
    assert expected.schema.equals(FIGURES)


def test_other_subjects_make_no_difference_to_any_byte():
    rows = many()
    whole = figures_of(table(rows)).to_pylist()
    parts = []
    for topology in ("t", "u"):
        mine = [one for one in rows if one["topology"] == topology]
        tasks = {one["source_task"] or one["task"] for one in mine if "source_task" in one} | {
            one.get("task") for one in mine
        }
        for task in tasks:
            owned = [one for one in mine if (one.get("source_task") or one.get("task")) == task]
            parts += figures_of(table(owned)).to_pylist() if owned else []
    key = lambda one: tuple(str(one[name]) for name in FIGURES.names[:17])  # noqa: E731
    assert sorted(parts, key=key) == sorted(whole, key=key)


def test_subjects_can_be_told_apart_in_sql():
    rows = many()
    found = table(rows)
    key = owner_key()
    columns = ", ".join(f"{expression} AS {name}" for name, expression in key.items())
    with duckdb.connect() as connection:
        connection.register("partials", found)
        keyed = connection.sql(f"SELECT DISTINCT {columns} FROM partials").fetchall()
    expected = figures_of(found).select(OWNER).to_pylist()
    owners = {tuple(one.values()) for one in expected}
    # Workers have heartbeats only, of which there is no figure.
    without_workers = [one for one in keyed if one[OWNER.index("worker")] is None]
    assert len(keyed) - len(without_workers) == 2
    assert set(without_workers) == owners


def test_the_seed_changes_replicas_and_nothing_else():
    one, other = (figures_of(table(many()), seed=seed) for seed in (1, 2))
    rest = [name for name in FIGURES.names if "replicas" not in name]
    assert one.select(rest).equals(other.select(rest))
    assert not one["replicas"].equals(other["replicas"])


def test_replicas_can_be_left_out():
    assert figures_of(table(many()), replicas=0)["replicas"].null_count == len(
        figures_of(table(many()), replicas=0)
    )


def test_no_rows_have_no_figures():
    assert figures_of(table([])).equals(FIGURES.empty_table())


def test_heartbeats_alone_have_no_figures():
    assert figures(counted("worker_heartbeats", [6] * 3, subject=WORKER)) == []


def test_any_part_of_the_rows_gives_what_it_can():
    rows = many()
    for seed in range(12):
        generator = np.random.default_rng(seed)
        some = generator.choice(len(rows), generator.integers(1, 60), replace=False)
        for one in figures([rows[place] for place in some]):
            assert np.isfinite(one["value"])


def test_a_missing_column_is_named():
    with pytest.raises(InvalidInput, match="span_us"):
        figures_of(table(many()).drop_columns(["span_us"]))


def test_unknown_metrics_are_ignored():
    rows = counted("executed", [30], **IN)
    assert figures(rows + counted("of_tomorrow", [1])) == figures(rows)


def test_a_rate_counts_blocks_in_which_its_subject_was_silent():
    rows = [row("executed", 0, 60, **IN), row("executed", 2, 60, **IN)]
    assert figure(rows, "arrival_rate")["value"] == pytest.approx(2.0)
    rows += [row("worker_heartbeats", block, 6) for block in range(4)]
    found = figure(rows, "arrival_rate")
    assert found["value"] == pytest.approx(1.0)
    assert found["blocks"] == 4


def test_a_rate_is_per_second_alive():
    rows = counted("executed", [30, 30], **IN)
    rows[1]["span_us"] = 15_000_000
    assert figure(rows, "arrival_rate")["value"] == pytest.approx(60 / 45)


def test_life_is_what_heartbeats_say_else_the_series_with_most_buckets():
    rows = counted("executed", [30], **IN) + counted("emitted", [30], **OUT)
    rows[0] |= {"span_us": 10_000_000, "buckets": 2}
    assert figure(rows, "arrival_rate")["value"] == pytest.approx(1.0)
    # Something that is written once a minute begins in one block and says nothing of the others.
    rows += [row("execute_latency_sum", 0, 9, **IN) | {"span_us": 60_000_000, "buckets": 1}]
    assert figure(rows, "arrival_rate")["value"] == pytest.approx(1.0)
    rows += [row("worker_heartbeats", 0, 3) | {"span_us": 15_000_000, "buckets": 3}]
    assert figure(rows, "arrival_rate")["value"] == pytest.approx(2.0)


def test_two_workers_in_one_block_add_up():
    rows = [row("executed", 0, 30, **IN), row("executed", 0, 15, **IN)]
    rows[0] |= {"span_us": 10_000_000}
    rows[1] |= {"span_us": 20_000_000, "worker": "n:2"}
    assert figure(rows, "arrival_rate")["value"] == pytest.approx(1.5)


def test_transfers_belong_to_the_task_that_sends():
    sent = {"stream": "default", "source_component": "s", "source_task": 5}
    rows = counted("transferred", [60, 60], **sent)
    found = figure(rows, "transfer")
    assert (found["component"], found["task"]) == ("s", 5)
    assert (found["target_component"], found["target_task"]) == ("a", 1)
    assert found["value"] == pytest.approx(2.0)


def test_what_was_received_does_where_nobody_says_what_was_sent():
    sent = {"stream": "default", "source_component": "s", "source_task": 5}
    rows = counted("received", [60, 60], **sent)
    # Another receiver, in another worker: the sender was alive but once.
    rows += counted("received", [30, 30], subject=TASK | {"task": 2, "worker": "n:2"}, **sent)
    assert figure(rows, "transfer", target_task=1)["value"] == pytest.approx(2.0)
    assert figure(rows, "transfer", target_task=2)["value"] == pytest.approx(1.0)
    rows += counted("transferred", [90, 90], **sent)
    assert figure(rows, "transfer")["value"] == pytest.approx(3.0)


def test_failures_are_a_share_of_executions():
    rows = counted("executed", [100] * 4, **IN) + counted("failed", [2, 0, 1, 1], **IN)
    assert figure(rows, "failed_share")["value"] == pytest.approx(0.01)


def test_no_failures_are_none_only_where_acks_are_counted():
    rows = counted("executed", [100] * 4, **IN)
    assert "failed_share" not in {one["figure"] for one in figures(rows)}
    found = figure(rows + counted("acked", [100] * 4, **IN), "failed_share")
    assert found["value"] == 0.0
    assert found["standard_error"] == pytest.approx(1.5 / 400)


QUEUE = {"component": "a", "executor": "a[1]", "queue": "receive", **WORKER}
NODE, MACHINE = {"node": "n", "machine": "m"}, {"machine": "m"}
LEVEL = 3 * 30_000_000


@pytest.mark.parametrize(
    ("metric", "subject", "total", "observations", "word", "value"),
    [
        ("backpressure_caused", TASK, 3_000_000_000, 1, "backpressure", 0.1),
        ("window_triggers", TASK, 15, 15, "trigger_rate", 0.5),
        ("emitted_bytes", TASK, 8000, 100, "tuple_bytes", 80.0),
        ("executor_cpu", EXECUTOR, 15_000_000_000, 1, "executor_cores", 0.5),
        ("executor_idle", EXECUTOR, 6_000_000_000, 1, "idle", 0.2),
        ("executor_idle_cpu", EXECUTOR, 3_000_000_000, 50, "idle_cores", 0.1),
        ("executor_run_delay", EXECUTOR, 6_000_000_000, 1, "run_delay", 0.2),
        ("executor_idle_run_delay", EXECUTOR, 3_000_000_000, 50, "idle_run_delay", 0.1),
        ("backpressure_held", EXECUTOR, 3_000_000_000, 1, "held", 0.1),
        ("executor_capacity", EXECUTOR, 15_000_000, 1, "engine_capacity", 0.5),
        ("queue_arrivals", QUEUE, 60, 60, "queue_rate", 2.0),
        ("queue_arrival_rate", QUEUE, LEVEL, 1, "queue_rate", 3.0),
        ("queue_population", QUEUE, LEVEL, 1, "queue_length", 3.0),
        ("queue_overflow", QUEUE, LEVEL, 1, "queue_overflow", 3.0),
        ("queue_capacity", QUEUE, LEVEL, 1, "queue_limit", 3.0),
        ("queue_sojourn_mean", QUEUE, 8_000_000, 4, "sojourn", 2.0),
        ("queue_drops_total", QUEUE, 60, 60, "drop_rate", 2.0),
        ("tuples_per_list_mean", QUEUE, 8_000_000, 4, "tuples_per_list", 2.0),
        ("worker_cpu", WORKER, 45_000_000_000, 1, "worker_cores", 1.5),
        ("worker_cores", WORKER, LEVEL, 1, "worker_cores", 3.0),
        ("worker_threads", WORKER, LEVEL, 1, "worker_threads", 3.0),
        ("transfer_thread_cpu", WORKER, 3_000_000_000, 1, "transfer_cores", 0.1),
        ("network_threads_cpu", WORKER, 3_000_000_000, 1, "network_cores", 0.1),
        ("gc_cpu", WORKER, 3_000_000_000, 1, "gc_cores", 0.1),
        ("window_threads_cpu", WORKER, 3_000_000_000, 1, "window_cores", 0.1),
        ("timer_threads_cpu", WORKER, 3_000_000_000, 1, "timer_cores", 0.1),
        ("jit_cpu", WORKER, 3_000_000_000, 1, "jit_cores", 0.1),
        ("agent_cpu", WORKER, 3_000_000_000, 1, "agent_cores", 0.1),
        ("worker_run_delay", WORKER, 6_000_000_000, 1, "run_delay", 0.2),
        ("worker_executed", WORKER, 600, 600, "executed_rate", 20.0),
        ("network_messages_sent", WORKER, 600, 600, "message_rate", 20.0),
        ("heap_used", WORKER, LEVEL, 1, "heap_bytes", 3.0),
        ("resident_memory", WORKER, LEVEL, 1, "memory_bytes", 3.0),
        ("network_bytes_sent", WORKER, 600, 6, "bytes_rate", 20.0),
        ("node_cpu", NODE, 45_000_000_000, 1, "host_cores", 1.5),
        ("node_threads", NODE, LEVEL, 1, "host_threads", 3.0),
        ("machine_cpu", MACHINE, 45_000_000_000, 1, "host_cores", 1.5),
        ("machine_cores", MACHINE, LEVEL, 1, "available", 3.0),
        ("machine_stolen", MACHINE, 3_000_000_000, 1, "stolen", 0.1),
    ],
)
def test_every_metric_has_its_figure(metric, subject, total, observations, word, value):
    columns = OUT if metric == "emitted_bytes" else {}
    rows = [row(metric, block, total, observations, subject=subject, **columns) for block in (0, 1)]
    found = figure(rows, word)
    assert found["value"] == pytest.approx(value)
    assert (found["samples"], found["buckets"], found["blocks"]) == (2 * observations, 10, 2)


def test_lists_that_were_counted_say_how_many_tuples_they_hold():
    rows = counted("queue_arrivals", [60, 60], subject=QUEUE)
    rows += counted("queue_lists", [20, 20], subject=QUEUE)
    rows += [row("tuples_per_list_mean", 0, 8_000_000, 4, subject=QUEUE)]
    assert figure(rows, "tuples_per_list")["value"] == pytest.approx(3.0)


def test_an_executor_was_there_as_long_as_time_went_on_however_many_tasks_it_has():
    cpu = counted("executor_cpu", [30 * 10**9] * 4, subject=EXECUTOR)
    tuples = [
        one
        for task in (1, 2)
        for one in counted("executed", [60] * 4, subject=EXECUTOR, source_task=task, **IN)
    ]
    assert figure(cpu + tuples, "executor_cores")["value"] == pytest.approx(1.0)
