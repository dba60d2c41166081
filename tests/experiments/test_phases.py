"""What executors and workers used, and what for, from lines by hand."""

import math

import pytest

from streamgauge.experiments.phases import list_phases
from streamgauge.experiments.readings import Readings
from streamgauge.profile.files.jobs import parse_job
from streamgauge.transport.storm2 import DEFAULTS
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

JOB = parse_job(
    """
streamgauge: 1
topology:
  name: t
  acked: true
  operators: {in: {kind: source}, near: {}, far: {}}
  streams:
    - {from: in, to: near, grouping: shuffle}
    - {from: in, to: far, grouping: all}
behaviours:
  in: {service: {cpu_ms: 1}}
  near: {service: {cpu_ms: 2}}
  far: {service: {cpu_ms: 3}}
workload: [{source: in, per_second: 20}]
"""
)
NANO = 1_000_000_000
FROM_IN = {"source_component": "in", "source_task": 1, "stream": "default"}
# In the four seconds of both windows: 80 tuples of 100 bytes, to both; far acknowledges its own.
LINES = [
    sample("emitted", 80, **of_task("in"), stream="default"),
    sample("emitted_bytes", 200, count=2, **of_task("in"), stream="default"),
    sample("transferred", 80, **of_task("near"), **FROM_IN),
    sample("transferred", 80, **of_task("far"), **FROM_IN),
    *(
        sample("executed", 80, **of_task(name), source_component="in", stream="default")
        for name in ("near", "far")
    ),
    sample("executor_cpu", 1.0 * NANO, **of_executor("in")),
    sample("executor_idle_cpu", 0.2 * NANO, **of_executor("in")),
    sample("executor_cpu", 0.4 * NANO, **of_executor("far")),
    sample("transfer_thread_cpu", 0.08 * NANO, **of_worker(HERE)),
    sample("network_threads_cpu", 0.04 * NANO, **of_worker(THERE)),
]


@pytest.fixture
def seen(tmp_path):
    write_lines(tmp_path, LINES)
    readings = Readings(PLACEMENT, SPAN, phases=True)
    readings.read(tmp_path)
    return list_phases(readings.phases.pool([0, 1]), JOB, PLACEMENT, 4.0)


def test_cpu_is_without_idle_time_and_the_jobs_own_code(seen):
    # In four seconds: 1 s less 0.2 idle and 80 · 1 ms; 0.4 s less 80 · 3 ms.
    assert [one.figure for one in seen] == pytest.approx([0.18, 0.04, 0.02, 0.01])


def test_a_source_groups_for_each_subscriber_and_serialises_what_leaves(seen):
    # Twenty a second to each; those that leave have the 16 bytes of their tree with them.
    assert seen[0].made_of == pytest.approx(
        {
            "awake executor": 1,
            "group by shuffle": 20,
            "group by all": 20,
            "serialise": 20,
            "serialise a byte": 20 * 116,
        }
    )


def test_an_operator_reads_what_comes_and_network_threads_deserialise_it(seen):
    assert seen[1].made_of == pytest.approx({"awake executor": 1, "read": 20})
    asleep = DEFAULTS.transfer_sleep
    assert seen[3].made_of == pytest.approx(
        {
            "receive a batch": (1 - math.exp(-20 * asleep)) / asleep,
            "deserialise": 20,
            "deserialise a byte": 20 * 116,
        }
    )


def test_the_transfer_thread_hands_over_what_its_worker_sends(seen):
    assert seen[2].made_of == pytest.approx({"awake transfer thread": 1, "hand over": 20})


def test_acknowledgements_are_serialised_as_well(tmp_path):
    acks = {"source_component": "far", "source_task": 3, "stream": "__ack_ack"}
    write_lines(tmp_path, [*LINES, sample("transferred", 80, **of_task("in"), **acks)])
    readings = Readings(PLACEMENT, SPAN, phases=True)
    readings.read(tmp_path)
    found = list_phases(readings.phases.pool([0, 1]), JOB, PLACEMENT, 4.0)
    assert found[1].made_of == pytest.approx(
        {"awake executor": 1, "read": 20, "serialise": 20, "serialise a byte": 20 * 24}
    )


def test_without_a_window_that_counts_there_is_nothing():
    assert list_phases({}, JOB, PLACEMENT, 0.0) == []
