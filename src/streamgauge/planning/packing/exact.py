"""Plans by the exact program, and the one that is judged: cheapest machines, then near neighbours.

The exact program looks at cost and number of machines only, as published. The cheapest plan has
the same machines; then instances move and change places between them as long as that keeps more
tuples inside, and machines that fall empty are not bought.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from streamgauge.errors import Infeasible
from streamgauge.planning.packing.catalogue import Catalogue, Resource
from streamgauge.planning.packing.columns import USUAL_EFFORT, Effort
from streamgauge.planning.packing.instances import (
    SLACK,
    Instances,
    PackingPlan,
    check_each_fits,
    classes_of,
    show_amount,
)
from streamgauge.planning.packing.meezan import CategoryRule, pack_by_meezan
from streamgauge.planning.packing.patterns import Solution, solve
from streamgauge.planning.packing.program import Pattern, Program
from streamgauge.planning.scheduling.local_search import balance_placement, search
from streamgauge.planning.scheduling.placement_problem import Counts, Limit, PlacementProblem

# Classes times machines beyond which near neighbours are not looked for.
MOST_PLACES = 40_000
STEPS = 400
ROUNDS = 10


def pack_exactly(
    instances: Instances,
    catalogue: Catalogue,
    copies: int | None = None,
    *,
    effort: Effort = USUAL_EFFORT,
) -> PackingPlan:
    """The exact program (eq. 4.2 to 4.5): cheapest first, then fewest machines.

    Args:
        instances: What to pack.
        catalogue: What can be bought,
        copies: and how many machines of each type there are (f); any number if not given.
        effort: How long to search; the plan says what is proven.

    Raises:
        Infeasible: An instance is larger than every machine, or there are too few machines.
    """
    check_each_fits(instances, catalogue)
    program = Program.of(instances, catalogue, copies)
    known: tuple[Pattern, ...] = ()
    if copies is None:
        known = _patterns_of(pack_by_meezan(instances, catalogue), catalogue)
    solution = solve(program, known, effort=effort, fewest=True)
    if not solution.patterns:
        raise Infeasible(_explain(solution, instances, catalogue, copies))
    return _plan("exact", solution, instances, catalogue)


def pack_cheaply(
    instances: Instances, catalogue: Catalogue, *, effort: Effort = USUAL_EFFORT, seed: int = 0
) -> PackingPlan:
    """The cheapest machines that were found, with neighbours near each other.

    Raises:
        Infeasible: An instance is larger than every machine.
    """
    check_each_fits(instances, catalogue)
    rivals = [pack_by_meezan(instances, catalogue, rule) for rule in CategoryRule]
    rival = min(rivals, key=lambda plan: plan.price_per_hour)
    known = _patterns_of(rival, catalogue)
    solution = solve(Program.of(instances, catalogue), known, effort=effort)
    plan = _plan("cheapest", solution, instances, catalogue)
    return gather(plan, seed=seed)


def gather(plan: PackingPlan, *, seed: int = 0) -> PackingPlan:
    """The same machines with more tuples inside; without those that fall empty."""
    instances = plan.instances
    classes = classes_of(instances)
    if len(plan.machines) < 2 or len(classes) * len(plan.machines) > MOST_PLACES:
        return plan
    problem = _problem(plan, classes)
    start = np.zeros((len(classes), len(plan.machines)), dtype=np.int64)
    for row, members in enumerate(classes):
        np.add.at(start[row], plan.place[list(members)], 1)
    if not problem.allows(start):
        return plan
    counts: Counts = search(problem, [start], steps=STEPS, rounds=ROUNDS, seed=seed)
    return _placed(plan, classes, counts)


def _placed(plan: PackingPlan, classes: Sequence[tuple[int, ...]], counts: Counts) -> PackingPlan:
    """So many of each class on each machine; a machine without any is not bought."""
    contents: list[list[int]] = [[] for _ in plan.machines]
    for members, row in zip(classes, counts, strict=True):
        places = np.repeat(np.arange(len(plan.machines)), row).tolist()
        for index, place in zip(members, places, strict=True):
            contents[place].append(index)
    kept = [place for place, content in enumerate(contents) if content]
    return PackingPlan(
        method=plan.method,
        instances=plan.instances,
        machines=tuple(plan.machines[place] for place in kept),
        contents=tuple(tuple(sorted(contents[place])) for place in kept),
        proven=plan.proven,
    )


def deal_evenly(plan: PackingPlan) -> Iterator[PackingPlan]:
    """The same machines, each filled to the same part; nothing where that does not fit.

    Costs as much, and no machine is crowded while another has room.
    """
    classes = classes_of(plan.instances)
    if len(plan.machines) < 2:
        return
    counts = balance_placement(_problem(plan, classes))
    if counts is not None:
        yield _placed(plan, classes, counts)


def _problem(plan: PackingPlan, classes: Sequence[tuple[int, ...]]) -> PlacementProblem:
    """Placement on the machines that are bought, with all their limits."""
    instances = plan.instances
    of = np.empty(len(instances), dtype=np.intp)
    for row, members in enumerate(classes):
        of[list(members)] = row
    pairs = np.zeros((len(classes), len(classes)))
    np.add.at(pairs, (of[instances.senders], of[instances.receivers]), instances.rates)
    pairs = pairs + pairs.T
    sizes = np.asarray([len(members) for members in classes], dtype=np.float64)
    couples = np.outer(sizes, sizes) - np.diag(sizes)
    pairs = np.divide(pairs, couples, out=np.zeros_like(pairs), where=couples > 0.0)
    first = [members[0] for members in classes]
    nodes = np.arange(len(plan.machines), dtype=np.intp)
    limits = []
    for resource, _ in enumerate(Resource):
        load, most = instances.needs[first, resource], plan.rooms[:, resource]
        if load.any() and np.isfinite(most).any():
            ample = float(load @ sizes)
            # The search allows its own, larger, rounding; a plan must keep its limits by ours.
            held = np.minimum(most, ample) * (1.0 + SLACK) / (1.0 + 1e-6)
            limits.append(
                Limit(load=load, group=nodes, most=np.maximum(held, plan.loads[:, resource]))
            )
    return PlacementProblem(
        members=tuple(classes),
        pairs=pairs,
        nodes=len(nodes),
        most_nodes=len(nodes),
        limits=tuple(limits),
    )


def _patterns_of(plan: PackingPlan, catalogue: Catalogue) -> tuple[Pattern, ...]:
    number = {machine.name: index for index, machine in enumerate(catalogue.machines)}
    kinds = plan.instances.kinds
    kind_of = {index: kind for kind, members in enumerate(kinds) for index in members}
    patterns = []
    for machine, content in zip(plan.machines, plan.contents, strict=True):
        counts = [0] * len(kinds)
        for index in content:
            counts[kind_of[index]] += 1
        patterns.append(Pattern(number[machine.name], tuple(counts)))
    return tuple(patterns)


def _plan(
    method: str, solution: Solution, instances: Instances, catalogue: Catalogue
) -> PackingPlan:
    """Instances dealt to the patterns that were bought; these may hold more than there are."""
    waiting = [list(kind) for kind in instances.kinds]
    machines, contents = [], []
    for pattern in solution.patterns:
        content: list[int] = []
        for kind, many in enumerate(pattern.counts):
            content += waiting[kind][:many]
            del waiting[kind][:many]
        if content:
            machines.append(catalogue.machines[pattern.machine])
            contents.append(tuple(sorted(content)))
    plan = PackingPlan(
        method=method, instances=instances, machines=tuple(machines), contents=tuple(contents)
    )
    return PackingPlan(
        method=method,
        instances=instances,
        machines=plan.machines,
        contents=plan.contents,
        proven=min(solution.bound, plan.price_per_hour),
    )


def _explain(
    solution: Solution, instances: Instances, catalogue: Catalogue, copies: int | None
) -> str:
    """What is too little, where the program has no solution."""
    if not solution.short:
        return "the exact program found no plan with the effort it was given; give it more"
    names = {instances.operators[instances.kinds[kind][0]] for kind in solution.short}
    rooms = np.asarray([machine.room for machine in catalogue.machines])
    have = rooms.sum(axis=0) * (copies or 1)
    short = [
        f"all of them leave {show_amount(resource, most)} of {show_amount(resource, need)}"
        for resource, need, most in zip(Resource, instances.total, have, strict=True)
        if need > most
    ]
    reason = "; ".join(short) or "what one machine leaves of one thing another lacks"
    return (
        f"{copies} machines of each type do not hold all instances ({', '.join(sorted(names))} find"
        f" no room): {reason}. More copies of each type, or larger types, would hold them"
    )
