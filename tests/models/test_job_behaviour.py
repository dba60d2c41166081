"""Estimates and their replicas."""

import math
from dataclasses import replace

import numpy as np
import pytest

from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.job_behaviour import Estimate, JobBehaviour, Origin, TimeMoments
from streamgauge.models.measured_plan import measured_plan, measured_workload
from streamgauge.profile.files.jobs import load_job, load_profile
from streamgauge.profile.keys import GivenKeys
from streamgauge.topology.grouping import Fields
from streamgauge.transport.hashing import task_index

PROFILE = load_profile("examples/word-count.profile.json")


def test_a_number_has_no_replicas_and_an_unknown_error_unless_given():
    number = Estimate.of(2.0, Origin.DECLARED)
    assert (float(number), number.replicas) == (2.0, 0)
    assert math.isnan(number.error)
    assert Estimate.of([1.0, 2.0], Origin.MEASURED, 0.5).standard_error.tolist() == [0.5, 0.5]


def test_replicas_lie_along_a_leading_axis():
    by_task = Estimate(
        value=np.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        standard_error=np.asarray([0.1, 0.2]),
        origin=Origin.MEASURED,
    )
    assert by_task.replicas == 3
    assert by_task.replica(1).value.tolist() == [3.0, 4.0]
    assert by_task.replica(1).replicas == 0


def test_errors_must_have_the_shape_of_the_numbers():
    with pytest.raises(ValueError, match="errors"):
        Estimate(value=np.zeros((3, 2)), standard_error=np.zeros(3), origin=Origin.ASSUMED)


def test_what_hardly_varies_is_constant():
    assert float(TimeMoments.of(2.0, 1e-7, Origin.MEASURED).variance) == 0.0
    assert float(TimeMoments.of(2.0, 1e-3, Origin.MEASURED).variance) == 1e-3
    assert float(TimeMoments.of(-1.0, 1.0, Origin.MEASURED).mean_ms) == 0.0


def test_where_keys_go_is_worked_out_once_for_each_behaviour():
    behaviour = JobBehaviour.from_job(load_job("examples/fields-to-fields.yaml"))
    stream = next(
        one
        for one in behaviour.topology.streams
        if one.key in behaviour.keys and isinstance(one.grouping, Fields)
    )
    shares = behaviour.share_by_hash("storm-2", stream)
    assert shares.sum() == pytest.approx(1.0)
    assert behaviour.share_by_hash("storm-2", stream) is shares
    count = behaviour.topology.operator(stream.target).tasks
    single = replace(behaviour, keys={stream.key: GivenKeys(weights={"only": 1.0})})
    expected = np.eye(count)[task_index(["only"], count)]
    assert single.share_by_hash("storm-2", stream).tolist() == expected.tolist()
    assert replace(behaviour, keys={}).share_by_hash("storm-2", stream) is None


def with_replicas(behaviour, operator, factors):
    """The behaviour with replicas of an operator's CPU times: so many times as long."""
    own = behaviour.operators[operator]
    inputs = {}
    for key, one in own.inputs.items():
        cpu = one.service.cpu
        means = np.asarray([factor * float(cpu.mean_ms) for factor in factors])
        longer = replace(cpu, mean_ms=replace(cpu.mean_ms, value=means))
        inputs[key] = replace(one, service=replace(one.service, cpu=longer))
    operators = {**behaviour.operators, operator: replace(own, inputs=inputs)}
    return replace(behaviour, operators=operators)


def test_every_replica_of_a_behaviour_is_a_behaviour_that_models_take():
    behaviour = JobBehaviour.from_profile(PROFILE)
    many = with_replicas(behaviour, "splitter", (1.0, 3.0))
    case = (measured_plan(PROFILE), measured_workload(PROFILE))
    model = AnalyticModel(brief=True)
    plain, same, slower = (
        model.predict(one, *case) for one in (behaviour, many.replica(0), many.replica(1))
    )
    assert same.latency.mean == plain.latency.mean
    assert slower.operators["splitter"].utilisation == pytest.approx(
        3.0 * plain.operators["splitter"].utilisation, rel=0.05
    )
