"""Tuples that are lost show in the juice of the profile, by just the part that is lost."""

import pytest

from streamgauge.pipeline.estimation.assembly import profile_of
from streamgauge.pipeline.estimation.subjects import figures_of
from tests.engines.emulator.emulations import emulated
from tests.pipeline.estimation.aggregation import partials

# 80 tuples a second arrive from another node at an executor that serves 40 and has room for 64:
# only within a worker would the sender wait. Operators are placed in turn, in alphabetical order.
DROPPED = """
streamgauge: 1
topology:
  name: dropped
  operators: {events: {kind: source}, count: {}, write: {}}
  streams:
    - {from: events, to: count, grouping: shuffle}
    - {from: count, to: write, grouping: shuffle}
behaviours:
  count: {service: {wait_ms: 25}, outputs: {default: 1}}
  write: {service: {wait_ms: 1}}
configuration:
  workers: 2
  settings: {topology.executor.receive.buffer.size: 64, topology.executor.overflow.limit: 1}
cluster: {uniform: {nodes: 2, cores: 4, latency_ms: 5}}
workload: [{source: events, per_second: 80, shape: regular}]
"""
# One in five tuples fails; nothing is dropped.
FAILED = """
streamgauge: 1
topology:
  name: failed
  acked: true
  operators: {s: {kind: source}, a: {}}
  streams: [{from: s, to: a, grouping: shuffle}]
behaviours:
  a: {service: {wait_ms: 1}, fails: 0.2}
configuration: {workers: 1}
cluster: {uniform: {nodes: 1, cores: 4}}
workload: [{source: s, per_second: 200, shape: regular}]
"""


def juice(text, folder, seconds):
    job = emulated(text, folder, seconds=seconds, warmup=2.0, bucket_seconds=2.0, trace_every=0)
    profile, _ = profile_of(figures_of(partials(job.samples)), job.plans[0])
    return job, profile.juice


def test_tuples_that_find_no_room_are_missing(tmp_path):
    job, found = juice(DROPPED, tmp_path, 120.0)
    assert job.result.operators["count"].dropped_per_second == pytest.approx(40, rel=0.02)
    assert found.topology.value == pytest.approx(0.5, abs=0.01)
    assert found.operators == pytest.approx({"events": 1.0, "count": 0.5, "write": 0.5}, abs=0.01)


def test_trees_that_fail_are_missing(tmp_path):
    job, found = juice(FAILED, tmp_path, 60.0)
    assert job.result.operators["a"].dropped_per_second == 0.0
    # 12,000 trees, each with a chance of one in five: a deviation of 0.0037.
    assert found.topology.value == pytest.approx(0.8, abs=0.015)
