"""Management traffic: section 5.5 of the worked examples of Bedini et al. 2013, and laws."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.models.management import (
    FEATURES,
    ManagementBytes,
    ManagementRequests,
    Measured,
    Polling,
    fit_management,
)

EXAMPLE = ManagementBytes(
    a=300, b=100, c=40, d=60, e=200, k1=100, k2=0.1, k3=50, k4=0.1, k5=20, k6=0.1, k7=1 / 3
)
GRID = [(n, w, t) for n, w, t in product((1, 2, 4), (1, 2, 8), (2, 16, 64))]


def measure(costs, configurations=GRID):
    return [Measured(n, w, t, float(costs.per_second(n, w, t))) for n, w, t in configurations]


def test_requests_of_the_worked_example():
    requests = ManagementRequests(
        topology=Polling(10, 10),
        supervisor=Polling(4, 10),
        supervisor_heartbeat=Polling(1, 5),
        worker=Polling(3, 10),
        worker_heartbeat=Polling(1, 3),
    )
    assert float(requests.per_second(4, 16)) == pytest.approx(13.5333, abs=5e-5)


def test_sizes_of_the_worked_example():
    assert float(EXAMPLE.assignments(2, 100)) == 6280
    assert float(EXAMPLE.heartbeats(100, 4)) == 30_400


def test_bandwidth_of_the_worked_example():
    assert float(EXAMPLE.per_second(2, 4, 100)) == pytest.approx(14_809.33, abs=5e-3)


def test_multiplied_out_it_has_the_coefficients_of_the_worked_example():
    expected = (120, 74, 106, 73.3333, 4, 6, 4, 6)
    assert EXAMPLE.coefficients().values == pytest.approx(expected, abs=5e-5)
    assert EXAMPLE.coefficients().ratios == pytest.approx((1.5, 1.5))


constants = st.builds(
    ManagementBytes, **{name: st.floats(0, 100) for name in "abcde"}, k1=st.floats(0, 1e4),
    **{f"k{place}": st.floats(0, 10) for place in range(2, 8)},
)  # fmt: skip


@given(constants, st.integers(1, 50), st.integers(1, 500), st.integers(1, 5000))
def test_both_forms_give_the_same(costs, nodes, workers, tasks):
    summed = float(costs.per_second(nodes, workers, tasks))
    multiplied = float(costs.coefficients().per_second(nodes, workers, tasks))
    assert multiplied == pytest.approx(summed, rel=1e-9, abs=1e-9)


def test_what_was_planted_is_found_again():
    found = fit_management(measure(EXAMPLE))
    assert found.values == pytest.approx(EXAMPLE.coefficients().values, rel=1e-6)


def test_with_noise_it_is_predicted_nearly():
    generator = np.random.default_rng(3)
    noisy = [
        one._replace(bytes_per_second=one.bytes_per_second * generator.uniform(0.97, 1.03))
        for one in measure(EXAMPLE)
    ]
    found = fit_management(noisy)
    assert min(found.values) >= 0.0
    assert float(found.per_second(3, 6, 40)) == pytest.approx(
        float(EXAMPLE.per_second(3, 6, 40)), rel=0.03
    )


def test_configurations_that_differ_in_one_thing_only_are_not_enough():
    with pytest.raises(NotEnoughData, match="vary nodes, workers and tasks"):
        fit_management(measure(EXAMPLE, [(2, 4, tasks) for tasks in range(1, 20)]))
    assert len(FEATURES) == 8


def test_a_figure_of_nothing_is_refused():
    with pytest.raises(InvalidInput, match="not above zero"):
        fit_management([Measured(1, 1, 1, 0.0)])


def test_on_storm_2_neither_workers_nor_supervisors_read_assignments_in_zookeeper():
    """What is left: nimbus, heartbeats of supervisors, workers' other reads, rare statistics."""
    left = EXAMPLE.in_zookeeper().coefficients()
    by_name = dict(zip(FEATURES, left.values, strict=True))
    assert [by_name[name] for name in ("N²", "NT", "NW", "WT")] == [0, 0, 0, 0]
    assert by_name["T"] == pytest.approx(0.1 * 60 + 300 / 60)
