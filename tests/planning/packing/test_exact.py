"""The exact program: against the repaired program with a variable per copy, and its laws."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.errors import Infeasible
from streamgauge.planning.packing.catalogue import GIBIBYTE, Catalogue, Category
from streamgauge.planning.packing.columns import Effort
from streamgauge.planning.packing.exact import gather, pack_cheaply, pack_exactly
from streamgauge.planning.packing.instances import Instances
from streamgauge.planning.packing.meezan import CategoryRule, pack_by_meezan
from tests.planning.packing.random_jobs import machine, make_catalogue, make_job

SMALL = make_catalogue(30_000.0, sizes=(2, 4))


# CP-SAT counts in whole numbers: millionths of a core, mebibytes, thousandths of a tuple.
UNITS = {0: 1e-6, 1: GIBIBYTE / 1024, 4: 1e-3}


def solve_as_printed(instances: Instances, catalogue: Catalogue, copies: int) -> tuple[float, int]:
    """Eq. 4.2 to 4.5, repaired: a variable for each instance on each copy, by CP-SAT."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    bins = [one for one in catalogue.machines for _ in range(copies)]
    used = [model.new_bool_var("") for _ in bins]
    on = [[model.new_bool_var("") for _ in bins] for _ in range(len(instances))]
    for row in on:
        model.add_exactly_one(row)
    for number, one in enumerate(bins):
        for resource, room in enumerate(one.room.tolist()):
            needs = instances.needs[:, resource]
            if not needs.any() or room == float("inf"):
                continue
            unit = UNITS[resource]
            terms = [row[number] * round(need / unit) for row, need in zip(on, needs, strict=True)]
            model.add(sum(terms) <= round(room / unit) * used[number])
    prices = [round(one.price_per_hour * 1000) for one in bins]
    model.minimize(sum(p * 1000 * x + x for p, x in zip(prices, used, strict=True)))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        raise Infeasible("as printed")
    assert status == cp_model.OPTIMAL
    machines = sum(solver.value(x) for x in used)
    price = sum(p * solver.value(x) for p, x in zip(prices, used, strict=True))
    return price / 1000, machines


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5])
def test_m_13_the_optimum_is_that_of_the_program_with_a_variable_for_each_copy(seed):
    instances = make_job(seed, operators=3, most=3, router_bound=seed % 2 == 0)
    price, machines = solve_as_printed(instances, SMALL, 3)
    plan = pack_exactly(instances, SMALL, 3)
    assert plan.price_per_hour == pytest.approx(price)
    assert plan.gap == pytest.approx(0.0, abs=1e-9)
    assert len(plan.machines) == machines
    assert list(plan.violations()) == []


def test_m_13_of_equal_cost_the_fewest_machines_are_chosen():
    types = [machine("a", Category.GENERAL, 2, 8, 0.1), machine("b", Category.GENERAL, 4, 16, 0.2)]
    instances = Instances.of("wxyz", [[1.0, GIBIBYTE, 0, 0, 0]] * 4)
    plan = pack_exactly(instances, Catalogue(name="c", machines=tuple(types)))
    assert [one.name for one in plan.machines] == ["b"]


def test_m_13_too_few_copies_are_infeasible_and_what_is_short_is_named():
    catalogue = Catalogue(name="c", machines=(machine("a", Category.GENERAL, 2, 8, 0.1),))
    instances = Instances.of(["x"] * 5, [[1.0, GIBIBYTE, 0, 0, 0]] * 5)
    with pytest.raises(Infeasible, match=r"2 machines of each type.*x find.*4 cores of 5 cores"):
        pack_exactly(instances, catalogue, 2)
    assert len(pack_exactly(instances, catalogue, 3).machines) == 3


def test_m_13_copies_that_bind_make_the_plan_dearer_never_cheaper():
    instances = make_job(7, operators=4, most=5)
    free = pack_exactly(instances, SMALL)
    bound = pack_exactly(instances, SMALL, 2)
    assert bound.price_per_hour >= free.price_per_hour - 1e-9


def test_m_13_with_little_effort_the_gap_is_told():
    plan = pack_exactly(
        make_job(14, operators=7, most=12), make_catalogue(), effort=Effort(rounds=2, nodes=1)
    )
    assert plan.proven is not None and plan.proven <= plan.price_per_hour
    assert list(plan.violations()) == []


# Small jobs, so that many can be looked at.
seeds = st.integers(0, 10_000)


@settings(max_examples=12)
@given(seeds, st.booleans())
def test_m_20_m_21_no_plan_violates_a_capacity_or_beats_what_is_proven(seed, router_bound):
    instances = make_job(seed, operators=3, most=4, router_bound=router_bound)
    catalogue = make_catalogue(30_000.0 if router_bound else None, sizes=(2, 8))
    best = pack_cheaply(instances, catalogue)
    assert list(best.violations()) == []
    for rule in CategoryRule:
        rival = pack_by_meezan(instances, catalogue, rule)
        assert list(rival.violations()) == []
        assert rival.price_per_hour >= best.proven - 1e-9
        assert rival.price_per_hour >= best.price_per_hour - 1e-9


def test_gathering_keeps_machines_and_limits_and_sends_no_more_between_them():
    instances = make_job(6, operators=5, most=8)
    plan = pack_exactly(instances, make_catalogue())
    near = gather(plan)
    assert near.price_per_hour <= plan.price_per_hour
    assert near.cross_rate <= plan.cross_rate + 1e-6
    assert list(near.violations()) == []


def test_a_plan_is_the_same_each_time():
    instances = make_job(3, operators=4, most=6)
    first, second = (pack_cheaply(instances, SMALL) for _ in range(2))
    assert (first.machines, first.contents) == (second.machines, second.contents)
