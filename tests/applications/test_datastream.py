"""Flows: rates over time (Pagliari 2021, sections 4.4.1 and 5.6)."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.applications import Flow, FlowKind
from streamgauge.errors import InvalidInput
from streamgauge.topology.workload import Regular, Unlimited

RATES = st.floats(min_value=1.0, max_value=1e6)
TIMES = st.floats(min_value=0.0, max_value=1e4)


def rate_at(flow: Flow, seconds: float) -> float:
    assert flow.mean_per_second is not None
    return flow.mean_per_second * flow.shape.factor_at(seconds)


def test_a_sinusoid_begins_at_half_its_peak():
    flow = Flow(kind=FlowKind.SINUSOIDAL, rate=1000.0, phase_seconds=300.0)
    rates = [rate_at(flow, seconds) for seconds in (0.0, 75.0, 150.0, 225.0)]
    assert rates == pytest.approx([500.0, 1000.0, 500.0, 0.0], abs=1e-9)
    assert flow.mean_per_second * 300.0 == 150_000


def test_a_sawtooth_rises_slowly_and_falls_at_once():
    flow = Flow(kind=FlowKind.SAWTOOTH, rate=2000.0, phase_seconds=300.0)
    assert rate_at(flow, 150.0) == pytest.approx(1000.0)
    assert rate_at(flow, 300.0 - 1e-6) == pytest.approx(2000.0)
    assert rate_at(flow, 300.0) == 0.0
    assert flow.mean_per_second * 300.0 == 300_000


def test_a_reverse_sawtooth_rises_at_once_and_falls_slowly():
    flow = Flow(kind=FlowKind.REVERSE_SAWTOOTH, rate=1000.0, phase_seconds=300.0)
    rates = [rate_at(flow, seconds) for seconds in (0.0, 150.0, 300.0 - 1e-6)]
    assert rates == pytest.approx([1000.0, 500.0, 0.0], abs=1e-3)


@given(RATES, st.floats(min_value=1.0, max_value=1e4), TIMES)
def test_curves_follow_their_formulas(rate, phase, seconds):
    part = seconds % phase / phase
    expected = {
        FlowKind.SINUSOIDAL: rate / 2 * (1 + math.sin(2 * math.pi * seconds / phase)),
        FlowKind.SAWTOOTH: rate * part,
        FlowKind.REVERSE_SAWTOOTH: rate * (1 - part),
    }
    for kind, there in expected.items():
        flow = Flow(kind=kind, rate=rate, phase_seconds=phase)
        assert rate_at(flow, seconds) == pytest.approx(there, rel=1e-6, abs=1e-6 * rate)


def test_a_constant_rate_has_equal_gaps():
    flow = Flow(rate=1000.0)
    assert (flow.shape, flow.mean_per_second) == (Regular(), 1000.0)


@pytest.mark.parametrize("kind", FlowKind)
def test_a_rate_of_zero_has_no_limit_whatever_the_kind(kind):
    flow = Flow(kind=kind, rate=0.0)
    assert (flow.shape, flow.mean_per_second) == (Unlimited(), None)


def test_bursts_come_after_the_interval_between_them():
    flow = Flow(
        kind=FlowKind.BURST,
        rate=100.0,
        burst_rate=700.0,
        interval_seconds=300,
        duration_seconds=120,
    )
    rates = [rate_at(flow, seconds) for seconds in (0.0, 299.0, 300.0, 419.0, 420.0)]
    assert rates == pytest.approx([100.0, 100.0, 700.0, 700.0, 100.0])
    assert flow.mean_per_second == pytest.approx((300 * 100 + 120 * 700) / 420)


def test_bursts_without_a_rate_of_their_own_are_ten_times_as_high():
    flow = Flow(kind=FlowKind.BURST, rate=100.0)
    assert flow.assumes_burst_rate
    assert rate_at(flow, 300.0) == pytest.approx(1000.0)


@pytest.mark.parametrize(
    ("key", "flow"),
    [
        ("rate", {"rate": -1.0}),
        ("phase", {"phase_seconds": 0.0}),
        ("interval", {"interval_seconds": 0}),
        ("duration", {"duration_seconds": 100_000}),
        ("burst_rate", {"burst_rate": 0.0}),
    ],
)
def test_what_cannot_be_is_refused_by_its_key(key, flow):
    with pytest.raises(InvalidInput) as caught:
        Flow(**flow)
    assert [problem.path for problem in caught.value.problems] == [key]
