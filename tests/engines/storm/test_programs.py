from dataclasses import replace

import pytest

from streamgauge.engines.storm.program import rate_ratio, topology_program
from streamgauge.profile.files.jobs import parse_job
from streamgauge.topology.workload import Workload

JOB = parse_job(
    """
streamgauge: 1
topology:
  name: tiny
  acked: true
  operators: {left: {kind: source, tasks: 2}, right: {kind: source}, end: {tasks: 3}}
  streams:
    - {from: left, to: end, grouping: shuffle}
    - {from: right, to: end, grouping: shuffle}
configuration: {ackers: 1}
behaviours: {end: {service: {cpu_ms: 1}}}
workload: [{source: left, per_second: 10}, {source: right, per_second: 5}]
"""
)


def program(*rates, seed=1, **configuration):
    emissions = zip(JOB.workload.emissions, rates or (10.0, 5.0), strict=True)
    workload = Workload(emissions=[replace(one, per_second=rate) for one, rate in emissions])
    changed = replace(
        JOB, configuration=replace(JOB.configuration, **configuration), workload=workload
    )
    return topology_program(changed, seed=seed)


def test_executors_workers_and_seed_need_no_new_submission():
    assert rate_ratio(program(), program(executors={"end": 3}, workers=4, seed=2)) == 1.0


def test_a_factor_to_all_rates_needs_none_either():
    assert rate_ratio(program(), program(20.0, 10.0)) == pytest.approx(2.0)


def test_rates_that_change_apart_do():
    assert rate_ratio(program(), program(20.0, 5.0)) is None
    assert rate_ratio(program(0.0, 5.0), program(10.0, 5.0)) is None


def test_settings_and_ackers_do():
    settings = {"topology.transfer.batch.size": 10}
    assert rate_ratio(program(), program(settings=settings)) is None
    assert rate_ratio(program(), program(ackers=3)) is None
