"""The bound by whole machines: higher than by parts of machines, never above the optimum."""

import numpy as np
import pytest

from streamgauge.planning.packing.catalogue import GIBIBYTE, Catalogue, Category
from streamgauge.planning.packing.columns import Effort, Master
from streamgauge.planning.packing.instances import Instances
from streamgauge.planning.packing.program import Pattern, Program
from streamgauge.planning.packing.whole_machines import find_by_counts
from tests.planning.packing.random_jobs import machine, make_catalogue, make_job
from tests.planning.packing.test_exact import solve_as_printed

CATALOGUE = Catalogue(
    name="two",
    machines=(
        machine("ten", Category.GENERAL, 10, 100, 10.01),
        machine("four", Category.GENERAL, 4, 100, 5.03),
    ),
)


def bound_of(instances, catalogue=CATALOGUE, *, copies=None):
    program = Program.of(instances, catalogue, copies)
    master = Master(program, Effort())
    # Values of nothing: the first inequality says nothing. A dear solution is known.
    dear = [Pattern(0, (0,) * len(program.sizes))] * 100
    found = find_by_counts(master, np.zeros(len(program.sizes)), dear, Effort())
    return found.bound, found.patterns


def alike(many, cores):
    return Instances.of(["op"] * many, [[cores, GIBIBYTE, 0.0, 0.0, 0.0]] * many)


def test_eleven_cores_take_two_machines_and_not_a_machine_and_a_tenth():
    bound, found = bound_of(alike(11, 1.0))
    assert bound == pytest.approx(15.04)
    assert len(found) == 2


def test_machines_that_hold_none_of_the_instances_do_not_count():
    # Fourteen cores are enough for twelve, but no executor of six fits on four.
    bound, found = bound_of(alike(2, 6.0))
    assert bound == pytest.approx(20.02)
    assert [one.machine for one in found] == [0, 0]


def test_no_more_machines_are_chosen_than_there_are():
    # Three of ten cores cost 30.03; where there are two, two of four are needed beside them.
    instances = alike(27, 1.0)
    assert bound_of(instances)[0] == pytest.approx(30.03)
    assert bound_of(instances, copies=2)[0] == pytest.approx(30.08)


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_is_never_above_the_optimum(seed):
    instances, catalogue = make_job(seed, operators=3, most=3), make_catalogue(sizes=(2, 4))
    optimum, _ = solve_as_printed(instances, catalogue, copies=4)
    bound, _ = bound_of(instances, catalogue, copies=4)
    assert bound <= optimum + 1e-6
