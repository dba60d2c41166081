"""Meezan's rules on the worked examples Z3, Z6 and Z8 to Z12 of Kalim 2020."""

import numpy as np
import pytest

from streamgauge.errors import Infeasible
from streamgauge.planning.packing.catalogue import GIBIBYTE, Catalogue, Category, Resource
from streamgauge.planning.packing.instances import (
    Instances,
    PackingPlan,
    compare_fragmentation,
    fragmentation,
)
from streamgauge.planning.packing.meezan import CategoryRule, alignment, pack_by_meezan
from streamgauge.planning.packing.round_robin import pack_round_robin
from tests.planning.packing.random_jobs import machine, make_catalogue, make_job

GENERAL = Category.GENERAL
# Z10: every type carries 100.
CATALOGUE = Catalogue(
    name="z10",
    machines=(
        machine("L", GENERAL, 16, 64, 0.80, 100.0),
        machine("S", GENERAL, 4, 16, 0.20, 100.0),
        machine("XS", GENERAL, 2, 8, 0.10, 100.0),
    ),
)
NAMES = ("s1", "s2", "b1", "b2")


def job(load: float, edges: dict[tuple[int, int], float]) -> Instances:
    return Instances.of(NAMES, [[1.0, 4 * GIBIBYTE, 0, 0, load]] * 4, edges)


def test_z10_all_edges_share_one_machine_which_shrinks():
    instances = job(20.0, {(0, 2): 10.0, (0, 3): 10.0, (1, 2): 10.0, (1, 3): 10.0})
    plan = pack_by_meezan(instances, CATALOGUE)
    assert [one.name for one in plan.machines] == ["S"]
    assert plan.loads[0][4] == 80.0
    assert plan.price_per_hour == pytest.approx(0.20)


def test_z11_the_busiest_edges_stay_together_when_the_router_is_full():
    instances = job(40.0, {(0, 2): 30.0, (1, 3): 30.0, (0, 3): 10.0, (1, 2): 10.0})
    plan = pack_by_meezan(instances, CATALOGUE)
    assert [one.name for one in plan.machines] == ["XS", "XS"]
    assert sorted(plan.contents) == [(0, 2), (1, 3)]
    assert plan.price_per_hour == pytest.approx(0.20)
    assert plan.cross_rate == 20.0


def test_z12_m_08_a_containers_load_is_all_that_comes_and_goes():
    instances = Instances.of(("a", "b"), [[0.1, 0, 0, 0, 10.0 + 20.0], [0.1, 0, 0, 0, 30.0 + 40.0]])
    plan = pack_by_meezan(instances, CATALOGUE)
    assert plan.loads[:, 4].tolist() == [100.0]
    over = Instances.of(("a", "b"), [[0.1, 0, 0, 0, 30.0], [0.1, 0, 0, 0, 71.0]])
    assert len(pack_by_meezan(over, CATALOGUE).machines) == 2


@pytest.mark.parametrize(
    ("ratio", "printed", "nearest"),
    [
        (0.125, "memory", "memory"),
        (0.13, "memory", "memory"),
        (0.25, "general", "general"),
        # Section 8, 36: general would run out of cores first.
        (0.5, "general", "compute"),
        (0.53, "general", "compute"),
        (0.667, "compute", "compute"),
    ],
)
def test_z3_m_10_the_category_follows_from_cores_per_gib(ratio, printed, nearest):
    assert CategoryRule.PRINTED.choose(ratio, GIBIBYTE).value == printed
    assert CategoryRule.NEAREST.choose(ratio, GIBIBYTE).value == nearest


def test_m_10_the_largest_of_the_category_is_opened_and_others_where_it_has_none():
    one = Instances.of(("a",), [[0.125, GIBIBYTE, 0, 0, 50.0]])
    # No memory family in the catalogue: the largest machine, then shrunk.
    assert [m.name for m in pack_by_meezan(one, CATALOGUE).machines] == ["XS"]


def test_m_11_alignment_is_of_parts_of_the_machine_not_of_bytes():
    needs, whole = np.asarray([1.0, 4e9]), np.asarray([10.0, 40e9])
    assert alignment(needs, whole, whole) == pytest.approx(0.2)
    assert alignment(needs, whole / 2, whole) == pytest.approx(0.1)
    unlimited = np.asarray([10.0, np.inf])
    assert alignment(needs, unlimited, unlimited) == pytest.approx(0.1)


def test_m_11_the_second_of_an_edge_follows_the_first_where_it_fits():
    instances = job(40.0, {(0, 2): 30.0, (0, 3): 20.0, (1, 3): 10.0})
    plan = pack_by_meezan(instances, CATALOGUE)
    assert plan.place[0] == plan.place[2]
    # s1 and b1 fill the router; b2 opens the machine where s2 joins it.
    assert plan.place[1] == plan.place[3] != plan.place[0]


def test_m_11_a_pair_goes_to_the_parent_that_sends_it_most():
    loads = [40.0, 40.0, 40.0, 40.0, 10.0, 10.0]
    needs = [[1.0, 4 * GIBIBYTE, 0, 0, load] for load in loads]
    edges = {(0, 1): 60.0, (2, 3): 50.0, (4, 5): 30.0, (0, 4): 5.0, (2, 4): 20.0}
    small = Catalogue(name="c", machines=(machine("m", GENERAL, 16, 64, 0.2, 100.0),))
    plan = pack_by_meezan(Instances.of("abcdef", needs, edges), small)
    assert plan.place[4] == plan.place[5] == plan.place[2]


def test_m_11_a_pair_too_large_for_one_machine_is_separated():
    instances = Instances.of(("a", "b"), [[12.0, GIBIBYTE, 0, 0, 0]] * 2, {(0, 1): 5.0})
    plan = pack_by_meezan(instances, CATALOGUE)
    assert len(plan.machines) == 2


def test_m_12_machines_shrink_to_the_cheapest_of_any_category():
    catalogue = Catalogue(
        name="c",
        machines=(
            *CATALOGUE.machines,
            machine("odd", Category.MEMORY, 4, 16, 0.15, 100.0),
        ),
    )
    instances = job(20.0, {(0, 2): 10.0})
    assert [one.name for one in pack_by_meezan(instances, catalogue).machines] == ["odd"]


def test_m_12_a_smaller_machine_must_carry_the_router_load_by_its_own_limit():
    catalogue = Catalogue(
        name="c",
        machines=(CATALOGUE.machines[0], machine("S", GENERAL, 4, 16, 0.20, 50.0)),
    )
    plan = pack_by_meezan(job(30.0, {(0, 2): 10.0}), catalogue)
    assert list(plan.violations()) == []
    assert "L" in [one.name for one in plan.machines]


def test_m_14_round_robin_gives_the_largest_machines_and_ignores_rates():
    instances = job(60.0, {(0, 2): 10.0})
    plan = pack_round_robin(instances, CATALOGUE, 2)
    assert [one.name for one in plan.machines] == ["L", "L"]
    assert plan.contents == ((0, 2), (1, 3))
    assert list(plan.violations(router=False)) == []
    assert "router" in " ".join(plan.violations())


def test_m_14_round_robin_says_who_finds_no_room():
    instances = Instances.of(("a", "b"), [[9.0, 1.0, 0, 0, 0]] * 2)
    with pytest.raises(Infeasible, match=r"no room for b\[0\]"):
        pack_round_robin(instances, CATALOGUE, 1)


def test_m_15_fragmentation_is_what_is_left_of_each_resource_and_the_product():
    instances = Instances.of(("a",), [[1.0, 2 * GIBIBYTE, 0, 0, 90.0]])
    found = fragmentation(pack_by_meezan(instances, CATALOGUE))
    expected = {Resource.CORES: 0.5, Resource.MEMORY: 0.75, Resource.ROUTER: 0.1}
    assert found.by_resource == pytest.approx(expected)
    assert found.product == pytest.approx(0.5 * 0.75 * 0.1)


def test_z6_z8_z9_products_and_costs_are_compared_with_the_other_plan():
    assert compare_fragmentation(34.37, 28.44) == pytest.approx(0.2085, abs=1e-4)
    assert compare_fragmentation(0.90, 0.78) == pytest.approx(0.154, abs=1e-3)
    # Printed as 27 %, which divides by its own.
    assert compare_fragmentation(0.76, 0.97) == pytest.approx(-0.216, abs=1e-3)


def test_z7_a_price_by_the_day_of_many_machines_adds_up_over_a_month():
    # 0.36 a day for each of 1,000 streams, 30 days.
    stream = machine("stream", Category.GENERAL, 1, 4, 0.36 / 24.0)
    many = 1000
    plan = PackingPlan(
        method="by hand",
        instances=Instances.of(["s"] * many, [[0.5, GIBIBYTE, 0.0, 0.0, 0.0]] * many),
        machines=(stream,) * many,
        contents=tuple((number,) for number in range(many)),
    )
    assert plan.price_for(30 * 24.0) == pytest.approx(10_800.0)


def test_an_instance_larger_than_every_machine_is_named_with_what_would_fit():
    instances = Instances.of(("parse", "join"), [[1, 1, 0, 0, 1], [20, GIBIBYTE, 0, 0, 1]])
    message = "an instance of join .*needs 20 cores.*the most that a type leaves is 16 cores"
    with pytest.raises(Infeasible, match=message):
        pack_by_meezan(instances, CATALOGUE)


@pytest.mark.parametrize("seed", range(12))
def test_m_20_every_plan_places_each_instance_once_and_keeps_all_capacities(seed):
    instances = make_job(seed, operators=5, most=9, router_bound=True)
    plan = pack_by_meezan(instances, make_catalogue(30_000.0))
    assert list(plan.violations()) == []


def test_a_plan_that_exceeds_a_capacity_is_seen():
    from dataclasses import replace

    plan = pack_by_meezan(job(40.0, {(0, 2): 30.0}), CATALOGUE)
    crowded = replace(plan, machines=plan.machines[:1], contents=((0, 1, 2, 3),))
    assert list(crowded.violations())
    assert list(replace(plan, contents=((0,), (0, 1))).violations())
