"""From timings of the loop to the time of a cycle, and to loads."""

import math

import numpy as np
import pytest

from streamgauge.applications.cycles import (
    PROBED_CYCLES,
    LoadTiming,
    find_load,
    fit_cycle_time,
    fit_line,
)
from streamgauge.errors import InvalidInput, NotEnoughData


def timings(
    overhead_ns, cycle_ns, *, rounds=5, noise=0.0, drift=0.0, waiting=0.0, seed=1, of=PROBED_CYCLES
):
    """Timings with a known truth; `drift` is how much faster or slower whole rounds are."""
    random = np.random.default_rng(seed)
    speed = 1.0 + drift * random.standard_normal(rounds)
    found = []
    for cycles in of:
        exact = (overhead_ns + cycles * cycle_ns) * speed
        cpu = exact * (1.0 + noise * random.standard_normal(rounds))
        wall = cpu / (1.0 - waiting)
        found.append(LoadTiming(cycles=cycles, cpu_ns=tuple(cpu), wall_ns=tuple(wall)))
    return found


def test_a_line_without_noise_is_found_exactly():
    found = fit_cycle_time(timings(66.0, 0.4))
    assert (found.overhead_ns, found.cycle_ns) == pytest.approx((66.0, 0.4), rel=1e-9)
    assert found.cycle_ns_error == pytest.approx(0.0, abs=1e-9)
    assert found.remarks == ()


def test_noise_is_covered_by_the_standard_errors():
    # Of 200 calibrations with a known truth, 95 % should have it within 2.26 errors (Student's t
    # with 9 degrees of freedom); 20 misses would be six standard deviations too many.
    misses = 0
    for seed in range(200):
        found = fit_cycle_time(timings(66.0, 0.4, rounds=10, noise=0.01, drift=0.02, seed=seed))
        misses += abs(found.cycle_ns - 0.4) > 2.26 * found.cycle_ns_error
    assert 1 <= misses <= 20


def test_the_author_s_figures_give_the_author_s_line():
    # Annex of NAMB's project: CPU ms of 1000 tuples with 1, 10, 100 and 500 thousand cycles, so
    # about 66 microseconds of Storm's own for a tuple and 0.4 ns for a cycle.
    constant, slope = fit_line((1e3, 1e4, 1e5, 5e5), (66e3, 73e3, 110e3, 264e3))
    assert constant == pytest.approx(67e3, rel=0.03)
    assert slope == pytest.approx(0.4, rel=0.03)


def test_a_load_and_its_time_are_each_other_s_inverse():
    found = fit_cycle_time(timings(100.0, 0.5))
    assert found.cycles_for(500_100.0) == 1_000_000
    assert found.cpu_ns(1_000_000) == pytest.approx(500_100.0)
    assert found.cycles_for(99.0) == 0


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ({"waiting": 0.3}, "waited 30% of the time"),
        ({"drift": 0.2, "rounds": 20}, "from round to round"),
    ],
)
def test_a_busy_or_unsteady_machine_is_told(trouble, words):
    (remark,) = fit_cycle_time(timings(66.0, 0.4, **trouble)).remarks
    assert words in remark


def test_times_that_are_no_line_are_told():
    crooked = timings(10.0, 0.4, of=(1_000, 10_000, 100_000))
    crooked[1] = timings(10.0, 0.6, of=(10_000,))[0]
    remark = fit_cycle_time(crooked).remarks[-1]
    assert "off the fitted line" in remark


@pytest.mark.parametrize(
    "few", [[], timings(1.0, 1.0, of=(100,)), timings(1.0, 1.0, rounds=1), timings(5.0, 0.0)]
)
def test_too_few_timings_or_a_loop_without_time_give_no_line(few):
    with pytest.raises(NotEnoughData, match="expected"):
        fit_cycle_time(few)


def test_a_load_is_tried_and_corrected_until_it_is_near():
    # The line says 0.4 ns; when it is tried, the machine takes 0.5 ns.
    asked = []

    def probe(cycles):
        asked.extend(cycles)
        return timings(100.0, 0.5, of=cycles)

    found = find_load(0.5, fit_cycle_time(timings(100.0, 0.4)), probe)
    assert asked == [1_249_750, 999_800]
    assert (found.cycles, found.processing) == (999_800, 999.8)
    assert found.measured_ms == pytest.approx(0.5)
    assert found.remarks == ()


def test_what_the_engine_spends_is_not_asked_of_the_loop():
    found = find_load(
        0.5, fit_cycle_time(timings(0.0, 0.4)), lambda n: timings(0.0, 0.4, of=n), engine_ms=0.1
    )
    assert found.cycles == 1_000_000
    assert found.measured_ms == pytest.approx(0.5)


def test_a_time_below_that_of_a_call_is_no_load_and_told():
    found = find_load(
        0.05, fit_cycle_time(timings(0.0, 0.4)), lambda n: timings(0.0, 0.4, of=n), engine_ms=0.1
    )
    assert found.cycles == 0
    assert "less than" in found.remarks[0]


def test_a_load_that_is_never_near_is_told():
    slow = iter((1.0, 2.0, 4.0, 8.0))
    found = find_load(
        0.5, fit_cycle_time(timings(0.0, 0.4)), lambda n: timings(0.0, 0.4 * 3 ** next(slow), of=n)
    )
    assert "the best load found" in found.remarks[0]


@pytest.mark.parametrize("wanted", [0.0, -1.0, math.nan, 1001.0])
def test_a_wanted_time_is_a_number_above_zero_and_up_to_a_second(wanted):
    with pytest.raises(InvalidInput, match="ms"):
        find_load(wanted, fit_cycle_time(timings(1.0, 1.0)), lambda n: timings(1.0, 1.0, of=n))
