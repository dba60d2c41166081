"""Measured capacities beside computed ones, and what is said where they differ."""

from dataclasses import replace

import pytest

from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.backpressure_alert import find_alerts
from streamgauge.models.capacity_check import check_capacities, find_tightest
from streamgauge.models.doubts import DoubtCode, find_doubts
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.measured_capacity import learn_scaling
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.topology.workload import Emission, Workload
from tests.models.observed_jobs import observed, profile_of
from tests.models.test_caladrius import plan_of
from tests.models.test_contract import job as declared_job


def check(profile, rate):
    """What is checked of a plan, and the prediction."""
    workload = Workload(emissions=[Emission(source="spout", stream="default", per_second=rate)])
    case = (JobBehaviour.from_profile(profile), plan_of(profile), workload)
    prediction = AnalyticModel().predict(*case)
    checked = check_capacities(*case, prediction)
    doubts = find_doubts(profile, profile.topology, workload, prediction, checked)
    return {one.operator: one for one in checked}, doubts, prediction


def codes(doubts):
    return {doubt.code for doubt in doubts}


def test_a_measured_capacity_far_below_the_computed_one_is_a_reason_for_doubt():
    """By service time three splitters do 3,000 a second; 600 was all they ever did."""
    checked, doubts, prediction = check(profile_of(observed(3)), 300.0)
    splitter = checked["splitter"]
    assert splitter.computed == pytest.approx(3000.0, rel=0.03)
    assert splitter.measured.value == pytest.approx(600.0, rel=0.01)
    assert splitter.differs
    assert DoubtCode.CAPACITY in codes(doubts)
    (sentence,) = (one.sentence for one in doubts if one.code is DoubtCode.CAPACITY)
    assert "splitter at 59" in sentence or "splitter at 60" in sentence
    # The limit itself rests on what was computed.
    assert prediction.limit.per_second > 1000.0
    assert find_tightest(tuple(checked.values())).operator == "splitter"


def test_a_measured_capacity_within_its_error_is_none():
    checked, doubts, _ = check(profile_of(observed(3, capacity=1000.0)), 300.0)
    assert not checked["splitter"].differs
    assert DoubtCode.CAPACITY not in codes(doubts)


def test_a_measured_capacity_above_the_computed_one_is_shown_and_no_doubt():
    checked, doubts, _ = check(profile_of(observed(3, capacity=2000.0)), 300.0)
    assert checked["splitter"].differs
    assert checked["splitter"].difference == pytest.approx(1.0, abs=0.05)
    assert DoubtCode.CAPACITY not in codes(doubts)


def test_unevenly_dealt_tuples_fill_the_busiest_executor_first():
    """Five executors of twelve tasks: by tasks, the first two would get a quarter each."""
    checked, _, prediction = check(profile_of(observed(3), splitter=5), 300.0)
    came = [one.arrived_per_second for one in prediction.executors if one.operator == "splitter"]
    uneven = 5 * max(came) / sum(came)
    assert checked["splitter"].unevenness == pytest.approx(uneven)
    assert checked["splitter"].measured.value == pytest.approx(1000.0 / uneven, rel=0.01)


def test_the_exponent_counts_and_the_linear_rule_stands_beside():
    plans = [observed(p, capacity=200.0 * p**-0.3, seed=p) for p in (1, 2, 3)]
    profile = profile_of(*plans, splitter=6)
    profile = replace(profile, scaling=learn_scaling(profile))
    splitter = check(profile, 100.0)[0]["splitter"]
    assert splitter.measured.value == pytest.approx(200.0 * 6**0.7, rel=0.02)
    assert splitter.linear.value == pytest.approx(6 * 200.0 * 3**-0.3, rel=0.02)
    assert splitter.measured.half_width > splitter.rules.curve.operator.half_width


def test_psi_stands_beside_the_cpu_model():
    splitter = check(profile_of(observed(3)), 300.0)[0]["splitter"]
    assert splitter.psi_cores == pytest.approx(3 * 0.1 + 0.001 * 4.0 * 300.0, rel=0.02)
    assert splitter.cores > 0.3


def test_of_a_declared_job_nothing_was_measured():
    job = declared_job()
    case = (JobBehaviour.from_job(job), place_job(job).plan, job.workload)
    assert check_capacities(*case, AnalyticModel().predict(*case)) == ()


@pytest.mark.parametrize(
    ("rate", "ours", "by_median"),
    [(600.0, False, False), (2900.0, True, False), (5000.0, True, True)],
)
def test_the_alert_by_the_median_comes_late_where_times_are_skewed(rate, ours, by_median):
    """Exponential times: the median is ln 2 of the mean, so that it warns from 144 % on."""
    profile = profile_of(observed(3))
    alerts = {one.operator: one for one in find_alerts(profile, check(profile, rate)[2])}
    splitter = alerts["splitter"]
    assert splitter.median_seconds == pytest.approx(0.000693, rel=0.01)
    assert not splitter.is_measured
    assert (splitter.by_utilisation, splitter.by_median) == (ours, by_median)
