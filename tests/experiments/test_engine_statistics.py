"""What a benchmark of an engine lists beside latency and throughput, from lines by hand."""

import pytest

from streamgauge.experiments.figures import ALL
from streamgauge.experiments.readings import Readings
from tests.experiments.lines import (
    HERE,
    PLACEMENT,
    SPAN,
    THERE,
    of_executor,
    of_task,
    of_worker,
    sample,
    write_lines,
)


def statistics(folder, records, window=0):
    write_lines(folder, records)
    readings = Readings(PLACEMENT, SPAN, engine_statistics=True)
    readings.read(folder)
    found = readings.engine.list_figures(window, 2.0, 1.0)
    return {(str(kind), subject, name): one.value for (kind, subject, name), one in found.items()}


def test_queues_have_a_mean_and_a_growth(tmp_path):
    waiting = [
        sample("queue_population", tuples, at, queue="receive", **of_executor("far"))
        for at, tuples in enumerate([10, 30])
    ]
    found = statistics(tmp_path, waiting)
    assert found["queue", "far, receive", "mean_tuples"] == 20
    assert found["queue", "far, receive", "growth_per_second"] == pytest.approx(20)


def test_queues_of_workers_are_apart_from_those_of_operators(tmp_path):
    waiting = sample("queue_population", 7, queue="transfer", **of_worker(HERE))
    found = statistics(tmp_path, [waiting])
    assert found["queue", f"worker {HERE}, transfer", "mean_tuples"] == 7


def test_messages_count_by_where_tasks_run(tmp_path):
    came = {"stream": "default", "source_component": "in", "source_task": 1}
    sent = [sample("transferred", 40, **came, **of_task(to)) for to in ("near", "far")]
    found = statistics(tmp_path, sent)
    # In two seconds 40 tuples go to the other node, and 40 stay in the worker.
    assert found["messages", ALL, "between_nodes_per_second"] == 20
    assert found["messages", ALL, "between_workers_per_second"] == 20


def test_memory_is_the_mean_of_what_a_worker_holds(tmp_path):
    held = [sample("resident_memory", mib, at, **of_worker(THERE)) for at, mib in ((0, 4), (1, 6))]
    assert statistics(tmp_path, held)["memory", f"worker {THERE}", "resident_bytes"] == 5
