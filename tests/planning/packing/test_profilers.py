"""The profilers as published: Z1, Z2 and Z4, and how they go on where the source is silent."""

import pytest

from streamgauge.planning.packing.catalogue import GIBIBYTE, Catalogue, Category
from streamgauge.planning.packing.job_profiling import (
    Grown,
    ProfilingRule,
    Reading,
    profile_job,
)
from streamgauge.planning.packing.router_limit import (
    RouterReading,
    profile_catalogue,
    profile_router,
)
from tests.planning.packing.random_jobs import machine

PER_SOURCE = 22_774.85


def router_of(most: int):
    def measure(pairs: int) -> RouterReading:
        fine = pairs <= most
        carried = PER_SOURCE * min(pairs, most)
        return RouterReading(
            per_second=carried, queue_full=0.0 if fine else 5.0, busy=0.5 if fine else 1.0
        )

    return measure


def test_z1_m_06_two_sources_are_fine():
    found = profile_router(router_of(2))
    assert found.probes == (1, 2, 4, 3)
    assert found.pairs == 2
    assert found.per_second == pytest.approx(45_549.7)


@pytest.mark.parametrize(
    ("most", "probes"),
    [(5, (1, 2, 4, 8, 6, 5)), (7, (1, 2, 4, 8, 6, 7)), (1, (1, 2))],
)
def test_z2_m_06_the_probes_double_and_then_halve(most, probes):
    found = profile_router(router_of(most))
    assert (found.pairs, found.probes) == (most, probes)


def test_the_limit_is_in_the_unit_of_a_containers_load():
    # Section 8, 34: a tuple between two instances leaves one and enters the other.
    assert profile_router(router_of(2)).load_per_second == pytest.approx(2 * 45_549.7)


@pytest.mark.parametrize(("queue_full", "busy"), [(1.0, 0.5), (0.0, 0.8)])
def test_m_06_a_full_queue_and_a_busy_router_each_end_the_search(queue_full, busy):
    reading = RouterReading(per_second=1.0, queue_full=queue_full, busy=busy)
    assert not reading.is_fine


def test_a_single_pair_that_is_too_much_is_scaled_to_eighty_percent():
    found = profile_router(lambda pairs: RouterReading(per_second=100.0, queue_full=9.0, busy=1.0))
    assert (found.pairs, found.probes) == (0, (1,))
    assert found.per_second == pytest.approx(80.0)


def test_a_router_that_nothing_fills_has_an_open_limit():
    found = profile_router(router_of(10**6), most_pairs=8)
    assert found.is_open
    assert found.probes == (1, 2, 4, 8)


def test_m_07_each_type_is_profiled_once_and_its_limit_stored():
    known = machine("known", Category.GENERAL, 2, 8, 0.1, 5.0)
    new = machine("new", Category.GENERAL, 4, 16, 0.2)
    asked = []

    def measure(one, pairs):
        asked.append(one.name)
        return router_of(2)(pairs)

    catalogue, found = profile_catalogue(Catalogue(name="c", machines=(known, new)), measure)
    assert set(asked) == set(found) == {"new"}
    assert [one.router_per_second for one in catalogue.machines] == [5.0, pytest.approx(91_099.4)]
    assert profile_catalogue(catalogue, measure)[1] == {}
    assert set(profile_catalogue(catalogue, measure, again=True)[1]) == {"known", "new"}


AMOUNTS = {Grown.CORES: 1.0, Grown.MEMORY: float(GIBIBYTE)}


def saturated_job(load: float, most_cores: float):
    """An operator that uses no more than so many cores, however many it is given."""

    def measure(allotments):
        readings = {}
        for name, one in allotments.items():
            # As in figure 4.3: short of cores, and more of them change nothing.
            used = load / (one.instances * min(one.amounts[Grown.CORES], most_cores))
            readings[name] = Reading(used={Grown.CORES: min(used, 1.0), Grown.MEMORY: 0.3})
        return readings

    return measure


def test_z4_m_01_cores_without_effect_are_given_back_and_instances_doubled():
    names = {f"C{number}": AMOUNTS for number in range(1, 6)}
    found = profile_job(names, saturated_job(load=6.0, most_cores=1.0))
    cores = [one.allotments["C1"].amounts[Grown.CORES] for one in found.rounds]
    instances = [one.allotments["C1"].instances for one in found.rounds]
    assert cores == [1.0, 2.0, 1.0, 1.0, 1.0]
    assert instances == [1, 1, 2, 4, 8]
    assert found.is_settled
    # All operators change in the same round.
    assert all(len(set(map(str, one.allotments.values()))) == 1 for one in found.rounds)


def test_m_01_a_doubling_that_helps_is_kept():
    found = profile_job({"a": AMOUNTS}, saturated_job(load=1.5, most_cores=8.0))
    assert found.last.allotments["a"].amounts[Grown.CORES] == 2.0
    assert found.last.allotments["a"].instances == 1
    assert len(found.rounds) == 2


def test_m_02_memory_is_treated_like_cores():
    def measure(allotments):
        part = 2.5 * GIBIBYTE / allotments["a"].amounts[Grown.MEMORY]
        return {"a": Reading(used={Grown.CORES: 0.2, Grown.MEMORY: min(part, 1.0)})}

    found = profile_job({"a": AMOUNTS}, measure, ProfilingRule(clear=0.0))
    assert found.last.allotments["a"].amounts == {Grown.CORES: 1.0, Grown.MEMORY: 4 * GIBIBYTE}


def test_m_02_every_source_begins_with_one_instance():
    start = ProfilingRule().start({"in": AMOUNTS, "also": AMOUNTS, "work": AMOUNTS})
    assert {one.instances for one in start.values()} == {1}


def test_rounds_end_when_there_were_enough():
    found = profile_job({"a": AMOUNTS}, saturated_job(load=1e9, most_cores=1.0))
    assert len(found.rounds) == 8
    assert not found.is_settled


def test_m_01_a_doubling_that_processes_more_is_kept_though_all_of_it_is_in_use():
    def measure(allotments):
        one = allotments["a"]
        cores = one.amounts[Grown.CORES]
        used = min(3.0 / cores, 1.0)
        return {"a": Reading(used={Grown.CORES: used}, per_second=100.0 * min(cores, 3.0))}

    found = profile_job({"a": {Grown.CORES: 1.0}}, measure)
    assert [one.allotments["a"].amounts[Grown.CORES] for one in found.rounds] == [1.0, 2.0, 4.0]
    assert found.last.allotments["a"].instances == 1
