"""M-19 and Z13: the simulated router of one container, and of several."""

import pytest

from streamgauge.planning.packing.router_limit import profile_router
from streamgauge.planning.packing.simulated_router import SimulatedRouter

# 1000 a second of 0.3 ms: two sources are 60 % of the router's time, three 90 %.
ROUTER = SimulatedRouter(router_ms=0.3, source_per_second=1000.0, seconds=5.0)


def test_m_19_throughput_stops_growing_when_the_router_is_full():
    carried = [ROUTER.measure(pairs).per_second for pairs in (1, 3, 6, 9)]
    assert carried[1] == pytest.approx(3.0 * carried[0], rel=0.05)
    assert carried[2] == pytest.approx(1000.0 / 0.3, rel=0.03)
    assert carried[3] == pytest.approx(carried[2], rel=0.03)


def test_z13_three_sources_in_containers_of_their_own_carry_three_times_as_much():
    alone = ROUTER.measure(1)
    assert alone.is_fine
    # Printed: 3.1, where 3.0 is expected.
    apart = sum(
        SimulatedRouter(router_ms=0.3, source_per_second=1000.0, seconds=5.0, seed=seed)
        .measure(1)
        .per_second
        for seed in (2, 3, 4)
    )
    assert apart / alone.per_second == pytest.approx(3.0, rel=0.05)


def test_m_06_the_profiler_finds_the_limit_of_the_simulated_router():
    found = profile_router(ROUTER.measure)
    assert (found.pairs, found.probes) == (2, (1, 2, 4, 3))
    assert found.load_per_second == pytest.approx(2 * 2000.0, rel=0.05)
