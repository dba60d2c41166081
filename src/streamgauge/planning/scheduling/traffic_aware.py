"""The traffic-aware scheduler: as few tuples as possible between nodes, and then between workers.

It places executors by the rates that a job is expected to have. What it minimises is the even
split (`traffic`), the engine's own messages included, within these limits:

* free slots, and as many workers as the configuration asks for at most;
* where the cores that operators keep busy are known: no machine above a stated utilisation, as
  long as some placement avoids that, and as little above it as was found where none does;
* else no node with more executors than an even deal over the nodes would give it, and some slack.

One worker a node suffices, so nothing is sent between workers of a node.

Few executors are placed optimally (`placement_model`); for many, a search (`local_search`) gives a
good placement and `remote_bound` says how much better any could be. The result is never worse than
even placement, if that keeps the limits.

What holds on Storm 2.x, where shuffle prefers targets in its own worker: a sender's remote tuples
are at most those of the even split, so the figure is an upper one. What does not hold is the even
load: all tuples of a worker's senders stay with the worker's targets, however few these are, and
targets without a sender near get little or nothing. A placement that would ask more than a core of
an executor by that is passed over for the next best that does not; every operator dealt evenly over
few nodes is among them, where the limits allow it. Where all do, that is said. Queues that fill up
widen the scope again, which no plan foresees.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from streamgauge.planning.scheduling import placement_model
from streamgauge.planning.scheduling.contract import Expected, Schedule
from streamgauge.planning.scheduling.even import EvenScheduler, SlotOrder
from streamgauge.planning.scheduling.local_search import (
    balanced,
    grown,
    proportioned,
    search,
)
from streamgauge.planning.scheduling.placement_problem import (
    Counts,
    Limit,
    PlacementProblem,
    Vector,
    by_class,
    classes_of,
    cores_of,
)
from streamgauge.planning.scheduling.remote_bound import least_remote
from streamgauge.planning.scheduling.traffic import Traffic, even_traffic, nearest_traffic
from streamgauge.topology.cluster import Cluster, Slot
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.logical_plan import LogicalPlan, TaskOrder
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import OperatorKind, Topology
from streamgauge.transport.contract import load_transport

# Problems with more products of counts than this are searched, not solved.
SOLVED_PRODUCTS = 400
# Moves and exchanges in all, and how often nodes are grown again: divided by what each looks at.
STEPS = 60_000_000
MOST_STEPS = 6000
ROUNDS = 50_000
MOST_ROUNDS = 60
# Limits so many times as wide hold back nobody.
AMPLE = 1e9
# What is planned with where others keep all cores of a machine busy.
LEAST_CORES = 1e-3
# An executor is one thread.
ONE_CORE = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficAwareScheduler:
    """Places executors that talk much to each other on one node.

    Attributes:
        task_order: How tasks are numbered.
        utilisation: Part of a machine's free cores that is planned with.
        slack: How many executors more than its even part a node may have, as a part of that,
            where cores are not known.
        acks: Whether the engine's own messages count.
        effort: How long the solver may work, by its own measure (about seconds).
        seed: Of the search.
    """

    task_order: TaskOrder = TaskOrder.ALPHABETICAL
    utilisation: float = 0.8
    slack: float = 0.1
    acks: bool = True
    effort: float = 1.0
    seed: int = 0
    name: str = "traffic-aware"

    @classmethod
    def for_engine(cls, engine: str) -> TrafficAwareScheduler:
        """With tasks numbered as that engine does."""
        return cls(task_order=load_transport(engine).task_order)

    def describe(self) -> str:
        """The rule in a sentence."""
        return (
            "sends as few tuples as possible between nodes, with machines up to "
            f"{self.utilisation:.0%} busy or, where that is not known, up to {self.slack:.0%} more "
            "executors on a node than on others"
        )

    def schedule(
        self,
        topology: Topology,
        configuration: Configuration,
        cluster: Cluster,
        *,
        expected: Expected | None = None,
        taken: Collection[Slot] = (),
    ) -> Schedule:
        """The plan with the fewest tuples between nodes that was found, and the proven least."""
        logical = LogicalPlan.of(topology, configuration, task_order=self.task_order)
        known = _assumed(logical) if expected is None else expected
        dealt = EvenScheduler(task_order=self.task_order).schedule(
            topology, configuration, cluster, taken=taken
        )
        slots = _first_slots(cluster, taken)
        stated = self.problem(logical, cluster, expected=known, slots=slots, even=dealt.plan)
        even = stated.counted(_nodes_of(dealt.plan, slots))
        problem, starts, level = self._feasible(stated, even)
        best, bound, notes = self._solved(problem, starts)
        most = problem.remote(even) if problem.allows(even) else np.inf
        others = [one for one in starts if problem.remote(one) <= most]
        plan, more = _steady(
            partial(_plan, problem, logical, cluster, slots),
            [best, *sorted(others, key=problem.remote)],
            known,
        )
        warnings = [*notes, *more, *_fewer_workers(configuration, plan)]
        if expected is None:
            warnings.insert(0, "no rates are known: every stream is taken to carry as much")
            return Schedule(plan=plan, warnings=tuple(warnings))
        if level > 1.0:
            warnings.insert(
                0,
                f"no placement was found that keeps machines at {self.utilisation:.0%}: planned "
                f"up to {level * self.utilisation:.0%}; add machines, or ask for more workers",
            )
        return Schedule(plan=plan, warnings=tuple(warnings), least_remote=bound)

    def problem(
        self,
        logical: LogicalPlan,
        cluster: Cluster,
        *,
        expected: Expected,
        slots: Sequence[Slot],
        even: PhysicalPlan,
    ) -> PlacementProblem:
        """Classes of executors and limits of nodes.

        Args:
            logical: The executors.
            cluster: Whose machines have cores.
            expected: Rates and load.
            slots: One free slot of every node that has any.
            even: The even plan, by which executors are counted where cores are not known.
        """
        traffic = even_traffic(logical, expected, acks=self.acks)
        members, pairs = classes_of(traffic)
        if _cores_are_known(logical, expected):
            limit = self._core_limit(traffic, expected, members, cluster, slots)
        else:
            limit = self._count_limit(logical, members, slots, even)
        return PlacementProblem(
            members=members,
            pairs=pairs,
            nodes=len(slots),
            most_nodes=min(len(slots), logical.configuration.workers),
            limits=(limit,),
        )

    def _core_limit(
        self,
        traffic: Traffic,
        expected: Expected,
        members: Sequence[Sequence[int]],
        cluster: Cluster,
        slots: Sequence[Slot],
    ) -> Limit:
        machines = [cluster.machine_of(slot.node) for slot in slots]
        number = {name: index for index, name in enumerate(dict.fromkeys(m.name for m in machines))}
        free = {one.name: one.cores - one.background_cores for one in machines}
        return Limit(
            load=by_class(members, cores_of(traffic, dict(expected.cores))),
            group=np.asarray([number[one.name] for one in machines], dtype=np.intp),
            most=self.utilisation * np.asarray([max(free[name], LEAST_CORES) for name in number]),
        )

    def _count_limit(
        self,
        logical: LogicalPlan,
        members: Sequence[Sequence[int]],
        slots: Sequence[Slot],
        even: PhysicalPlan,
    ) -> Limit:
        """Of executors: what the even plan has there, and the even part with its slack."""
        total = len(logical.executors)
        each = total / len(even.nodes)
        most = max(np.ceil(each), np.floor((1.0 + self.slack) * each + 1e-9))
        dealt = np.bincount(_nodes_of(even, slots), minlength=len(slots))
        return Limit(
            load=np.ones(len(members)),
            group=np.arange(len(slots), dtype=np.intp),
            most=np.maximum(dealt, most).astype(np.float64),
        )

    def _feasible(
        self, stated: PlacementProblem, even: Counts
    ) -> tuple[PlacementProblem, list[Counts], float]:
        """The problem with limits that can be kept, placements that keep them, and their level.

        The level is how many times the stated limit the fullest place has to take; one where all
        keep it.
        """
        starts = _kept(stated, [even, *_made(stated)])
        if starts:
            return stated, starts, 1.0
        (limit,) = stated.limits
        found = [even, balanced(_times(stated, AMPLE))]
        if placement_model.is_available() and stated.sizes.size * stated.nodes <= SOLVED_PRODUCTS:
            free = replace(stated, limits=())
            found.append(placement_model.least_loaded(free, limit, effort=self.effort))
        placed = [one for one in found if one is not None]
        level = max(min(_level(limit, one) for one in placed), 1.0)
        relaxed = _times(stated, level)
        return relaxed, _kept(relaxed, [*placed, *_made(relaxed)]), level

    def _solved(
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
        solution = placement_model.solve(
            problem, start=best, least_remote=bound, effort=self.effort
        )
        if solution.counts is not None and problem.remote(solution.counts) < problem.remote(best):
            best = solution.counts
        return best, solution.least_remote, []


def _steady(
    place: Callable[[Counts], PhysicalPlan], candidates: Sequence[Counts], expected: Expected
) -> tuple[PhysicalPlan, list[str]]:
    """The first plan that overloads no executor where shuffle prefers the near.

    Args:
        place: Makes a plan of counts.
        candidates: The best first.
        expected: Rates and load.
    """
    plan = place(candidates[0])
    if not _is_load_aware(plan.logical) or not _cores_are_known(plan.logical, expected):
        return plan, []
    even = cores_of(even_traffic(plan.logical, expected, acks=False), dict(expected.cores))
    crowded = _crowded(plan, expected, even)
    if not crowded:
        return plan, []
    for counts in candidates[1:]:
        other = place(counts)
        if not _crowded(other, expected, even):
            return other, []
    label, cores, if_even = crowded[0]
    return plan, [
        f"shuffled tuples stay in their worker: {label} would need {cores:.2g} cores and has "
        f"one thread ({if_even:.2g} if tuples were dealt evenly); "
        "topology.disable.loadaware.messaging deals them evenly"
    ]


def _assumed(logical: LogicalPlan) -> Expected:
    """A tuple a second on every stream."""
    return Expected(rates={stream.key: 1.0 for stream in logical.topology.data_streams})


def _cores_are_known(logical: LogicalPlan, expected: Expected) -> bool:
    """Of every operator but the ackers, which are taken to cost nothing if unknown."""
    operators = logical.topology.operators
    return all(
        one.name in expected.cores for one in operators if one.kind is not OperatorKind.ACKER
    )


def _is_load_aware(logical: LogicalPlan) -> bool:
    configuration = logical.configuration
    return load_transport(configuration.engine).mechanics(configuration.settings).load_aware


def _first_slots(cluster: Cluster, taken: Collection[Slot]) -> tuple[Slot, ...]:
    """The first free slot of every node that has one, in the order of the cluster."""
    found: dict[str, Slot] = {}
    for slot in SlotOrder.BY_SLOT.arrange(cluster, taken):
        found.setdefault(slot.node, slot)
    return tuple(found[node.name] for node in cluster.nodes if node.name in found)


def _nodes_of(plan: PhysicalPlan, slots: Sequence[Slot]) -> list[int]:
    """For each executor of a plan the number of its node."""
    number = {slot.node: index for index, slot in enumerate(slots)}
    of_worker = [number[worker.node] for worker in plan.workers]
    return [of_worker[worker] for worker in plan.placement]


def _made(problem: PlacementProblem) -> list[Counts]:
    """Placements of several kinds, as far as they are found; by loads alone if no other is."""
    found = [one for one in (grown(problem), proportioned(problem)) if one is not None]
    if found:
        return found
    last = balanced(problem)
    return [] if last is None else [last]


def _kept(problem: PlacementProblem, candidates: Sequence[Counts]) -> list[Counts]:
    return [one for one in candidates if problem.allows(one)]


def _times(problem: PlacementProblem, factor: float) -> PlacementProblem:
    """The problem with limits so many times as wide."""
    limits = tuple(replace(one, most=one.most * factor) for one in problem.limits)
    return replace(problem, limits=limits)


def _level(limit: Limit, counts: Counts) -> float:
    """What the fullest place has to take, as a multiple of what it has."""
    return float((limit.loads(counts) / limit.most).max())


def _crowded(
    plan: PhysicalPlan, expected: Expected, even: Vector
) -> list[tuple[str, float, float]]:
    """Executors that would need more than a core, and more than by the even split.

    Label, cores by the nearest split, and by the even one; the busiest first.
    """
    near = cores_of(nearest_traffic(plan, expected, acks=False), dict(expected.cores))
    found = np.flatnonzero((near > ONE_CORE) & (near > even * (1.0 + 1e-6)))
    order = found[np.argsort(-near[found], kind="stable")].tolist()
    executors = plan.logical.executors
    return [(executors[one].label, float(near[one]), float(even[one])) for one in order]


def _plan(
    problem: PlacementProblem,
    logical: LogicalPlan,
    cluster: Cluster,
    slots: Sequence[Slot],
    counts: Counts,
) -> PhysicalPlan:
    return PhysicalPlan.dealt(logical, cluster, slots, problem.dealt(counts))


def _fewer_workers(configuration: Configuration, plan: PhysicalPlan) -> list[str]:
    used, asked = len(plan.workers), configuration.workers
    if used == asked:
        return []
    return [
        f"{used} of {asked} workers are used: one a node, and no more nodes than the load needs"
    ]
