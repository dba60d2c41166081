"""Machines to buy for a plan: the cheapest that hold it, and what those that there are cost."""

from dataclasses import replace

import pytest

from streamgauge.errors import Infeasible
from streamgauge.planning.packing.catalogue import Catalogue, Category
from streamgauge.planning.recommending.machines_to_buy import (
    find_purchase,
    match_types,
    widen_cluster,
)
from streamgauge.planning.recommending.problem import Limits
from streamgauge.planning.recommending.trials import Setup, Trials
from tests.planning.packing.random_jobs import machine
from tests.planning.recommending.test_search import chain

CATALOGUE = Catalogue(
    name="c",
    machines=(
        machine("small", Category.GENERAL, 2, 8, 0.1),
        machine("middle", Category.GENERAL, 4, 16, 0.19),
        machine("large", Category.GENERAL, 8, 32, 0.37),
    ),
)


def trial_of(problem, counts=(1, 3, 2)):
    return Trials(problem).look(counts, Setup(workers=2))


def test_a_machine_is_priced_as_the_cheapest_type_that_has_as_much():
    # Two machines of eight cores.
    found = match_types(chain().current, CATALOGUE)
    assert [one.name for one in found.values()] == ["large", "large"]


def test_a_machine_larger_than_every_type_has_no_price():
    small = replace(CATALOGUE, machines=CATALOGUE.machines[:2])
    assert set(match_types(chain().current, small).values()) == {None}


def test_the_machines_hold_all_executors_and_meet_the_objective():
    # 400/s · (0.1 + 4 + 2) ms are 2.44 cores: more than 90 % of the smallest machine.
    problem = chain("p99<200ms")
    bought = find_purchase(problem, trial_of(problem), CATALOGUE)
    assert bought.packed.meets
    assert not list(bought.packed.plan.violations())
    assert bought.price == pytest.approx(0.19)
    assert bought.trial.plan.cluster is bought.packed.physical.cluster


def test_a_tighter_objective_never_costs_less():
    loose, tight = (chain(objective) for objective in ("p99<1s", "p99<45ms"))
    prices = [find_purchase(one, trial_of(one), CATALOGUE).price for one in (loose, tight)]
    assert prices[0] <= prices[1]


def test_no_machine_is_filled_beyond_what_it_may():
    problem = chain(limits=Limits(utilisation=0.4))
    bought = find_purchase(problem, trial_of(problem), CATALOGUE)
    assert max(one.at_work for one in bought.packed.prediction.machines) <= 0.4


def test_an_executor_larger_than_every_machine_is_named():
    tiny = Catalogue(name="tiny", machines=(machine("tiny", Category.GENERAL, 0.3, 4, 0.1),))
    problem = chain("p99<1s")
    with pytest.raises(Infeasible, match="an instance of work"):
        find_purchase(problem, trial_of(problem), tiny)


def test_executors_are_looked_for_on_machines_with_ample_room():
    # 2.44 cores on at most 40 % of eight: one machine.
    wide = widen_cluster(chain("p99<1s"), CATALOGUE)
    assert [one.cores for one in wide.cluster.machines] == [8.0]
    busier = widen_cluster(chain("p99<1s", rate=1200.0), CATALOGUE)
    assert len(busier.cluster.machines) == 3
