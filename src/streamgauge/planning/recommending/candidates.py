"""Candidates: the best plans under several numbers of workers, sets of nodes and schedulers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from streamgauge.planning.recommending.consensus import canonical_form
from streamgauge.planning.recommending.problem import Minimise, Problem
from streamgauge.planning.recommending.search import MOST_WORK, OPERATOR_WORK, Found, Search
from streamgauge.planning.recommending.trials import Counts, Setup, Trial, Trials, cost_of
from streamgauge.planning.scheduling.contract import scheduler_names
from streamgauge.planning.scheduling.ranking import EVEN

# Plans that are judged by more than the brief model.
MOST_CANDIDATES = 3
# Jobs with more operators than this are large.
FEW_OPERATORS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """What a search over all setups found.

    Attributes:
        trials: All plans that were looked at.
        present: The plan that there is now, under the same load; None where there is none.
        best: The cheapest ones that meet the objective, the cheapest first; empty where none does.
        nearest: The plan that misses it by least; the best where one meets it.
        short: Operators for whose work no number of executors would do that they may have.
        by_scheduler: The plan of each scheduler with the executors of the best or nearest one.
    """

    trials: Trials
    present: Trial | None
    best: tuple[Trial, ...]
    nearest: Trial
    short: tuple[str, ...]
    by_scheduler: dict[str, Trial]

    @property
    def chosen(self) -> Trial:
        """The best plan, else the nearest."""
        return self.best[0] if self.best else self.nearest


def find_candidates(
    problem: Problem,
    *,
    margins: Sequence[float] = (),
    rate_margin: float = 0.0,
    most_work: int | None = None,
) -> Candidates:
    """The best plans that meet the objective with these margins (`Trials`).

    Unless it is said how much work that may take, jobs with more operators may take more.
    """
    if most_work is None:
        most_work = max(MOST_WORK, OPERATOR_WORK * (len(problem.groups) - FEW_OPERATORS))
    trials = Trials(problem, margins, rate_margin)
    present = trials.look_at_current()
    starts = [problem.present] if present is not None and present.is_met else []
    search = Search(trials, most_work=most_work)
    found = _search_setups(problem, search, starts)
    nearest = min((one.nearest for one in found), key=lambda one: one.miss)
    met = [one.met for one in found if one.met is not None]
    base = min(met, key=lambda one: cost_of(problem, one)) if met else nearest
    by_scheduler = _ask_schedulers(search, base)
    nearest = min((nearest, *by_scheduler.values()), key=lambda one: one.miss)
    if present is not None and not met:
        nearest = min(nearest, present, key=lambda one: one.miss)
    return Candidates(
        trials=trials,
        present=present,
        best=_choose(problem, trials, present),
        nearest=nearest,
        short=search.short,
        by_scheduler=by_scheduler,
    )


def _search_setups(problem: Problem, search: Search, starts: Sequence[Counts]) -> list[Found]:
    if problem.minimise is Minimise.MACHINES:
        return list(_search_nodes(problem, search))
    found = []
    for workers in _list_workers(problem):
        found.append(search.run(Setup(workers=workers), starts))
        if found[-1].met is not None and problem.minimise is Minimise.WORKERS:
            break
        if search.is_spent:
            break
    return found


def _list_workers(problem: Problem) -> list[int]:
    """Numbers of workers to try: as now, one on each node, a single one; or all, ascending."""
    most = _count_workers(problem)
    if problem.minimise is Minimise.WORKERS:
        doubled, count = [], 1
        while count < most:
            doubled.append(count)
            count += max(1, count // 4)
        return [*doubled, most]
    nodes = len({slot.node for slot in problem.cluster.slots if slot not in problem.taken})
    tried = (problem.job.configuration.workers, nodes, 1)
    return list(dict.fromkeys(min(max(one, 1), most) for one in tried))


def _count_workers(problem: Problem) -> int:
    slots = max(problem.free_slots, 1)
    return slots if problem.limits.max_workers is None else min(slots, problem.limits.max_workers)


def _search_nodes(problem: Problem, search: Search) -> Iterator[Found]:
    """The fewest nodes, by bisection: what fits on some nodes fits on more."""
    nodes = _order_nodes(problem)
    enough = _count_nodes(problem, search.demand.cores, nodes)
    low, high = enough - 1, len(nodes)
    best: int | None = None
    while low < high:
        count = high if best is None else (low + high) // 2
        if count <= low:
            break
        found = search.run(_setup_on(problem, nodes[:count]))
        yield found
        if found.met is None:
            if best is None:
                return
            low = count
        else:
            # Of the nodes it may use it may have left some out.
            best = high = len(found.met.plan.nodes)
        if search.is_spent or high - low <= 1:
            return


def _setup_on(problem: Problem, nodes: Sequence[str]) -> Setup:
    """A worker on each node: one does all that several would, with shorter ways."""
    most = _count_workers(problem)
    return Setup(workers=min(len(nodes), most), nodes=tuple(nodes))


def _order_nodes(problem: Problem) -> list[str]:
    """Nodes with free slots: the largest first, then as listed."""
    cluster = problem.cluster
    free = dict.fromkeys(slot.node for slot in cluster.slots if slot not in problem.taken)
    return sorted(free, key=lambda node: -cluster.machine_of(node).cores)


def _count_nodes(problem: Problem, cores: float, nodes: Sequence[str]) -> int:
    """How many nodes it takes at least for so many cores of work."""
    room = 0.0
    for number, node in enumerate(nodes, start=1):
        machine = problem.cluster.machine_of(node)
        room += max(problem.limits.utilisation * machine.cores - machine.background_cores, 0.0)
        if room >= cores:
            return number
    return max(len(nodes), 1)


def _ask_schedulers(search: Search, base: Trial) -> dict[str, Trial]:
    """Every scheduler's plan with the same executors; what goes with it is trimmed further."""
    trials = search.trials
    plans = {EVEN: trials.look(base.counts, replace(base.setup, scheduler=EVEN))}
    for name in scheduler_names():
        if name == EVEN or search.is_spent:
            continue
        trial = trials.look(base.counts, replace(base.setup, scheduler=name))
        if trial.schedule is not None:
            plans[name] = trial
            if trial.is_met or not base.is_met:
                search.refine(trial)
    return plans


def _choose(problem: Problem, trials: Trials, present: Trial | None) -> tuple[Trial, ...]:
    """The cheapest plan, the cheapest one that is made otherwise, and one with more room."""
    met = sorted(trials.met, key=lambda one: (cost_of(problem, one), one.miss))
    if present is not None and present.is_met:  # noqa: SIM102
        # Of plans that cost the same, the one that is there already asks for no change at all.
        if not met or cost_of(problem, present) <= cost_of(problem, met[0]):
            met.insert(0, present)
    if not met:
        return ()
    first = met[0]
    chosen, known = [first], {canonical_form(first.plan)}
    others = (one for one in met[1:] if one.setup != first.setup)
    other = next((one for one in others if canonical_form(one.plan) not in known), None)
    if other is not None:
        chosen.append(other)
        known.add(canonical_form(other.plan))
    near = [one for one in met if one.executors <= first.executors + 1 and one not in chosen]
    near = [one for one in near if canonical_form(one.plan) not in known]
    roomiest = min(near, key=lambda one: one.miss, default=None)
    if roomiest is not None and roomiest.miss < min(one.miss for one in chosen):
        chosen.append(roomiest)
    return tuple(chosen[:MOST_CANDIDATES])
