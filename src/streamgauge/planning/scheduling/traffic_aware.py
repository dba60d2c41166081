"""The traffic-aware scheduler: as few tuples as possible between nodes, and then between workers.

It places executors by the rates that a job is expected to have. What it minimises is the even
split (`traffic`), the engine's own messages included, within these limits:

* free slots, and as many workers as the configuration asks for at most;
* where the cores that operators keep busy are known: no machine above a stated utilisation, as
  long as some placement avoids that, and as little above it as was found where none does;
* else no node with more executors than an even deal over the nodes would give it, and some slack;
* where memory needs are declared: the memory of machines and the heaps of workers, of which each
  node may have as many as even placement gives it, or as it has slots if these do not suffice.

One worker a node suffices, unless heaps ask for more: then a node's executors are divided so that
little goes between its workers.

Few executors are placed optimally (`placement_model`); for many, a search (`local_search`) gives a
good placement and `remote_bound` says how much better any could be. The result is never worse than
even placement, if that keeps the limits.

What holds on Storm 2.x, where shuffle prefers targets in its own worker: of what a sender emits at
most as much is remote as by the even split. What does not hold is the even load: all tuples of a
worker's senders stay with its targets, however few these are, and targets without a sender near get
little or nothing. A placement that would ask more than a core of
an executor by that is passed over for the next best that does not; every operator dealt evenly over
few nodes is among them, where the limits allow it. Where all do, that is said. Queues that fill up
widen the scope again, which no plan foresees. The proven least is of the even split; by nearness
there can be less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from streamgauge.errors import Infeasible
from streamgauge.planning.scheduling import placement_model
from streamgauge.planning.scheduling.contract import (
    Expected,
    PlacementRequest,
    Schedule,
    TaskNumbering,
)
from streamgauge.planning.scheduling.even import EvenScheduler
from streamgauge.planning.scheduling.local_search import (
    balance_placement,
    empty,
    grow_placement,
    search,
    split_workers,
    spread,
    spread_evenly,
)
from streamgauge.planning.scheduling.packing import list_executors
from streamgauge.planning.scheduling.placement_problem import (
    Counts,
    PlacementProblem,
    Site,
    Vector,
    classes_of,
    core_limit,
    cores_are_known,
    cores_of,
    count_limit,
    memory_limits,
    memory_of,
    needs_memory,
)
from streamgauge.planning.scheduling.remote_bound import least_remote
from streamgauge.planning.scheduling.traffic import even_traffic, nearest_traffic
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.transport.engine import load_engine

# Problems with more products of counts than this are searched, not solved.
SOLVED_PRODUCTS = 400
# Moves and exchanges in all, and how often nodes are grown again: divided by what each looks at.
STEPS = 120_000_000
MOST_STEPS = 6000
ROUNDS = 50_000
MOST_ROUNDS = 60
# Limits so many times as wide hold back nobody.
AMPLE = 1e9
# An executor is one thread.
ONE_CORE = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficAwareScheduler(TaskNumbering):
    """Places executors that talk much to each other on one node.

    Attributes:
        utilisation: Part of a machine's free cores that is planned with.
        slack: How many executors more than its even part a node may have, as a part of that,
            where cores are not known.
        effort: How long the solver may work, by its own measure (about seconds).
    """

    utilisation: float = 0.8
    slack: float = 0.1
    acks: bool = True
    effort: float = 1.0
    seed: int = 0
    name: str = "traffic-aware"

    def fill_up_to(self, utilisation: float) -> TrafficAwareScheduler:
        """With machines up to that part busy."""
        return replace(self, utilisation=utilisation)

    def describe(self) -> str:
        """The rule in a sentence."""
        return (
            "sends as few tuples as possible between nodes, with machines up to "
            f"{self.utilisation:.0%} busy or, where that is not known, up to {self.slack:.0%} more "
            "executors on a node than on others"
        )

    def schedule(self, request: PlacementRequest) -> Schedule:
        """The plan with the fewest tuples between nodes that was found, and the proven least."""
        logical = self.number_tasks(request)
        expected = request.expected or Expected.of_equal_rates(request.topology)
        even_plan = EvenScheduler(task_order=self.task_order).schedule(request).plan
        free = Site.of(request.cluster, request.taken)
        site, problem, starts, level = self._state(logical, free, expected, even_plan)
        even = problem.count_nodes(site.nodes_of(even_plan))
        best, bound, notes = self._solve(problem, starts)
        most = problem.remote(even) if problem.allows(even) else np.inf
        others = [counts for counts in starts if problem.remote(counts) <= most]
        candidates = [best, *sorted(others, key=problem.remote)]
        plans = (_make_plan(problem, logical, site, counts) for counts in candidates)
        plan, more = _choose_steady(filter(None, plans), expected, logical)
        warnings = [*notes, *more, *_other_workers(request.configuration, plan)]
        if request.expected is None:
            assumed = "no rates are known: all streams are assumed to carry the same traffic"
            return Schedule(plan=plan, warnings=(assumed, *warnings))
        if level > 1.0:
            warnings.insert(
                0,
                f"no placement was found that keeps machines at {self.utilisation:.0%}: planned "
                f"up to {level * self.utilisation:.0%}; add machines, or ask for more workers",
            )
        return Schedule(plan=plan, warnings=tuple(warnings), least_remote=bound)

    def _state(
        self, logical: LogicalPlan, free: Site, expected: Expected, even_plan: PhysicalPlan
    ) -> tuple[Site, PlacementProblem, list[Counts], float]:
        """Where, what, placements to begin with, and how far the first limit had to be widened.

        Heaps may need more workers than were asked for: then all free slots may be used, as by
        Storm's own scheduler for declared needs.
        """
        workers = logical.configuration.workers
        sites = [free.allotted(workers), free] if needs_memory(logical.configuration) else [free]
        for site in sites:
            stated = self.problem(logical, site, expected=expected, even=even_plan)
            if site is not sites[0]:
                stated = replace(stated, most_nodes=len(site.slots))
            even = stated.count_nodes(site.nodes_of(even_plan))
            feasible = self._relax(stated, even)
            if feasible is not None:
                return site, *feasible
        raise _no_memory(_widen(stated, AMPLE), logical)

    def problem(
        self, logical: LogicalPlan, site: Site, *, expected: Expected, even: PhysicalPlan
    ) -> PlacementProblem:
        """Classes of executors and limits of nodes; that of cores or executors comes first.

        Executors are counted by the even plan where cores are not known.
        """
        traffic = even_traffic(logical, expected, acks=self.acks)
        members, pairs = classes_of(traffic)
        if cores_are_known(logical, expected):
            limits = [core_limit(site, members, traffic, expected, self.utilisation)]
        else:
            limits = [count_limit(site, members, even, self.slack)]
        if needs_memory(logical.configuration):
            limits += memory_limits(site, members, logical)
        return PlacementProblem(
            members=members,
            pairs=pairs,
            nodes=len(site.slots),
            most_nodes=min(len(site.slots), logical.configuration.workers),
            limits=tuple(limits),
        )

    def _relax(
        self, stated: PlacementProblem, even: Counts
    ) -> tuple[PlacementProblem, list[Counts], float] | None:
        """The problem with limits that can be kept, placements that keep them, and their level.

        The level is how many times its stated value the first limit has to be; one where it can
        be kept. The others, of memory, are never widened: nothing where they cannot be kept.
        """
        limit, *hard = stated.limits
        if any(memory.load @ stated.sizes > memory.allowed.sum() for memory in hard):
            return None
        starts = _list_allowed(stated, [even, *_make_placements(stated)])
        if starts:
            return stated, starts, 1.0
        ample = _widen(stated, AMPLE)
        candidates = [even, balance_placement(ample)]
        if placement_model.is_available() and stated.sizes.size * stated.nodes <= SOLVED_PRODUCTS:
            free = replace(stated, limits=tuple(hard))
            candidates.append(placement_model.least_loaded(free, limit, effort=self.effort))
        placed = _list_allowed(ample, candidates)
        if not placed:
            return None
        # What the fullest place has to take, as a multiple of what it has.
        level = min(float((limit.loads(counts) / limit.most).max()) for counts in placed)
        relaxed = _widen(stated, max(level, 1.0))
        starts = _list_allowed(relaxed, [*placed, *_make_placements(relaxed)])
        return relaxed, starts, max(level, 1.0)

    def _solve(
        self, problem: PlacementProblem, starts: Sequence[Counts]
    ) -> tuple[Counts, float, list[str]]:
        """The best placement found, the proven least, and what to know of them."""
        cells = problem.sizes.size * problem.nodes
        best = search(
            problem,
            starts,
            steps=min(STEPS // cells, MOST_STEPS),
            rounds=min(ROUNDS // cells, MOST_ROUNDS),
            seed=self.seed,
        )
        bound = least_remote(problem)
        gap = problem.remote(best) - bound
        if gap <= 1e-6 * problem.total or placement_model.products(problem) > SOLVED_PRODUCTS:
            return best, bound, []
        if not placement_model.is_available():
            note = (
                "whether fewer tuples could go between nodes was not proven, as the solver is not "
                "installed: pip install 'streamgauge[planning]'"
            )
            return best, bound, [note]
        counts, bound = placement_model.solve(
            problem, start=best, least_remote=bound, effort=self.effort
        )
        if counts is not None and problem.remote(counts) < problem.remote(best):
            best = counts
        return best, bound, []


def _choose_steady(
    plans: Iterator[PhysicalPlan], expected: Expected, logical: LogicalPlan
) -> tuple[PhysicalPlan, list[str]]:
    """The first plan, of the best first, that overloads no executor where shuffle prefers the near.

    No more plans are made than are looked at.

    Raises:
        Infeasible: There is no plan.
    """
    plan = next(plans, None)
    if plan is None:
        raise Infeasible(
            f"the executors that {logical.topology.name!r} would have on a node do not fit into "
            "its workers' heaps; raise the heap, ask for more workers, or declare smaller needs"
        )
    configuration = logical.configuration
    mechanics = load_engine(configuration.engine).mechanics(configuration.settings)
    if not mechanics.load_aware or not cores_are_known(logical, expected):
        return plan, []
    even = cores_of(even_traffic(plan.logical, expected, acks=False), expected)
    crowded = _crowded(plan, expected, even)
    if not crowded:
        return plan, []
    label, cores, if_even = crowded[0]
    why = (
        f"shuffled tuples stay in their worker: {label} would need {cores:.2g} cores and has one "
        f"thread ({if_even:.2g} if tuples were dealt evenly, as with "
        "topology.disable.loadaware.messaging)"
    )
    for other in plans:
        if not _crowded(other, expected, even):
            return other, [f"a plan with less traffic between nodes was rejected: {why}"]
    return plan, [why]


def _make_placements(problem: PlacementProblem) -> list[Counts | None]:
    """Placements of several kinds, as far as there are any; by loads alone if no other is."""
    by_traffic = [grow_placement(problem), spread_evenly(problem)]
    if any(counts is not None for counts in by_traffic):
        return by_traffic
    return [balance_placement(problem)]


def _list_allowed(problem: PlacementProblem, candidates: Sequence[Counts | None]) -> list[Counts]:
    return [counts for counts in candidates if counts is not None and problem.allows(counts)]


def _widen(problem: PlacementProblem, factor: float) -> PlacementProblem:
    """The problem with its first limit so many times as wide."""
    first, *others = problem.limits
    return replace(problem, limits=(replace(first, most=first.most * factor), *others))


def _crowded(
    plan: PhysicalPlan, expected: Expected, even: Vector
) -> list[tuple[str, float, float]]:
    """Executors that would need more than a core, and more than by the even split.

    Label, cores by the nearest split, and by the even one; the busiest first.
    """
    near = cores_of(nearest_traffic(plan, expected, acks=False), expected)
    crowded = np.flatnonzero((near > ONE_CORE) & (near > even * (1.0 + 1e-6)))
    order = crowded[np.argsort(-near[crowded], kind="stable")].tolist()
    executors = plan.logical.executors
    return [(executors[index].label, float(near[index]), float(even[index])) for index in order]


def _make_plan(
    problem: PlacementProblem, logical: LogicalPlan, site: Site, counts: Counts
) -> PhysicalPlan | None:
    """One worker a node, or as many as heaps ask for; nothing where these do not divide so."""
    load, heap = np.zeros(len(problem.members)), 0.0
    if needs_memory(logical.configuration):
        load, heap = memory_of(problem.members, logical)
    free = [len(slots) for slots in site.slots]
    placed = split_workers(problem, counts, free, load=load, heap=heap)
    if placed is None:
        return None
    first = np.cumsum([0, *free]).tolist()
    slots = [slot for of_node in site.slots for slot in of_node]
    dealt = [first[node] + worker for node, worker in placed]
    return PhysicalPlan.from_slots(logical, site.cluster, slots, dealt)


def _no_memory(problem: PlacementProblem, logical: LogicalPlan) -> Infeasible:
    """The error that names executors without room."""
    placement = empty(problem)
    left = spread(placement, problem.sizes)
    unplaced = [
        logical.executors[executor]
        for members, count in zip(problem.members, left.tolist(), strict=True)
        for executor in members[len(members) - count :]
    ]
    return Infeasible(
        f"not enough memory for {logical.topology.name!r}: no room for "
        f"{list_executors(unplaced)}; add machines, slots or heap, ask for more workers, or "
        "declare smaller needs"
    )


def _other_workers(configuration: Configuration, plan: PhysicalPlan) -> list[str]:
    used, asked = len(plan.workers), configuration.workers
    if used == asked:
        return []
    if used > asked:
        return [f"{used} workers are used and {asked} were asked for: their heaps hold no more"]
    return [
        f"{used} of {asked} workers are used: one a node, and no more nodes than the load needs"
    ]
