"""Load curves: where points lie, and where a plan saturates."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.load_curve import (
    LoadLine,
    choose_rates,
    find_load_curve,
    find_saturation,
    find_threshold,
)
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.topology.workload import Emission, Workload

# Two sources and one executor that can do a hundred tuples a second.
JOB = {
    "streamgauge": 1,
    "topology": {
        "name": "t",
        "acked": False,
        "operators": {"a": {"kind": "source"}, "b": {"kind": "source"}, "work": {}},
        "streams": [
            {"from": "a", "to": "work", "grouping": "shuffle"},
            {"from": "b", "to": "work", "grouping": "shuffle"},
        ],
    },
    "behaviours": {"work": {"service": {"wait_ms": 10.0}}},
    "cluster": {"uniform": {"nodes": 1, "cores": 8}},
}


@pytest.fixture(scope="module")
def case():
    job = parse_job(json.dumps(JOB))
    return JobBehaviour.from_job(job), place_job(job).plan


def emitting(a, b):
    return Workload(
        emissions=(Emission(source="a", per_second=a), Emission(source="b", per_second=b))
    )


@given(
    low=st.floats(0.1, 100.0),
    width=st.floats(1.1, 1e3),
    count=st.integers(2, 50),
    saturation=st.floats(0.1, 1e5),
)
def test_rates_ascend_from_end_to_end(low, width, count, saturation):
    high = low * width
    rates = choose_rates(low, high, count, saturation)
    assert rates[0] == pytest.approx(low) and rates[-1] == pytest.approx(high)
    assert rates == sorted(set(rates))
    assert 2 <= len(rates) <= count


def test_half_of_the_rates_are_near_saturation():
    rates = choose_rates(50.0, 500.0, 12, 400.0)
    assert sum(0.85 * 400.0 <= rate <= 1.05 * 400.0 for rate in rates) >= 6
    assert choose_rates(50.0, 500.0, 4, 1000.0) == [50.0, 200.0, 350.0, 500.0]


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (emitting(10.0, 10.0), emitting(90.0, 90.0)),
        # Below the range, beyond it, and with one source that stays as it is.
        (emitting(60.0, 60.0), emitting(90.0, 90.0)),
        (emitting(1.0, 1.0), emitting(10.0, 10.0)),
        (emitting(30.0, 10.0), emitting(30.0, 200.0)),
        (emitting(30.0, 10.0), emitting(30.0, 20.0)),
    ],
)
def test_an_executor_saturates_at_the_inverse_of_its_service_time(case, low, high):
    saturation, full = find_saturation(*case, LoadLine(low=low, high=high))
    assert saturation == pytest.approx(100.0, rel=5e-3)
    assert full.startswith("work[")


def test_beyond_saturation_the_plan_processes_what_it_can(case):
    curve = find_load_curve(*case, LoadLine(low=emitting(10.0, 10.0), high=emitting(90.0, 90.0)), 9)
    for point in curve.points:
        processed = point.throughput.processed_per_second
        assert processed == pytest.approx(min(point.per_second, 100.0), rel=0.01)
        assert bool(point.prediction.overloaded) is (point.per_second >= 100.0)
    cores = [point.cores for point in curve.points if point.per_second > 100.0]
    assert max(cores) == pytest.approx(min(cores), rel=0.05)


def test_what_nothing_limits_saturates_nowhere():
    document = {**JOB, "behaviours": {"work": {"service": {"wait_ms": 0.0}}}}
    job = parse_job(json.dumps(document))
    line = LoadLine(low=emitting(1.0, 1.0), high=emitting(9.0, 9.0))
    saturation, _ = find_saturation(JobBehaviour.from_job(job), place_job(job).plan, line)
    assert saturation > 1e5


def test_a_threshold_is_where_something_begins():
    assert find_threshold(lambda number: number > 3.0, 0.0, 10.0) == pytest.approx(3.0, rel=1e-3)
    assert find_threshold(lambda number: False, 0.0, 10.0) == 10.0
