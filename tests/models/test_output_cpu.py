"""ψ: CPU by output, by the published figures and with threads that poll."""

import numpy as np
import pytest

from streamgauge.models.output_cpu import fit_output_cpu


def test_the_published_cpu_is_in_proportion_to_parallelism():
    """A saturated observation of three splitters predicts two and four."""
    found = fit_output_cpu([210.239], [3.426], [3])
    assert found.psi.value == pytest.approx(0.016296, rel=1e-4)
    assert found.cores(140.159, 2) == pytest.approx(2.284, rel=1e-3)
    assert found.cores(280.319, 4) == pytest.approx(4.568, rel=1e-3)
    assert found.cores(280.319, 4) == pytest.approx(2.0 * found.cores(140.159, 2), rel=1e-4)


def test_idle_cores_are_told_apart_where_loads_differ():
    rate = np.linspace(10.0, 100.0, 10)
    found = fit_output_cpu(rate, 3 * 0.05 + 0.01 * rate, np.full(10, 3))
    assert found.psi.value == pytest.approx(0.01)
    assert found.idle_cores == pytest.approx(0.05)


def test_loads_that_hardly_differ_leave_them_together():
    rate = np.linspace(99.0, 101.0, 10)
    assert fit_output_cpu(rate, 0.05 + 0.01 * rate, np.ones(10)).idle_cores == 0.0


def test_what_was_not_measured_is_left_out():
    found = fit_output_cpu([10.0, 20.0, 0.0], [0.1, np.nan, 0.3], [1, 1, 1])
    assert found.psi.observations == 1
    assert fit_output_cpu([10.0], [np.nan], [1]) is None
