"""A limit on open roots: what it lets through, how long tuples wait for it, and which would do.

Every task of a source may have so many roots open (`topology.max.spout.pending` of Storm). That
closes the network: by Little's law limit·tasks/(time of a round) get through (`open_roots`). What
is due beyond that waits at the source without end; what is due below it waits until a root ends, if
as many as may be are open.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from streamgauge.models.closed_network import Admission, departure_scv, find_admission
from streamgauge.models.limited_roots import NEAR, LimitedRoots
from streamgauge.models.load_limit import Limit, Loaded, find_limit
from streamgauge.models.network import Network
from streamgauge.models.open_roots import OpenRoots, PlanState, RootClass, hold_in_windows
from streamgauge.models.parameters import Parameters
from streamgauge.models.queueing import Moments
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.workload import Workload
from streamgauge.transport.engine import load_engine
from streamgauge.transport.mechanics import NO_LIMIT

# A limit is what a plan is short of if without it the rate could be higher by this part.
WORTH_RAISING = 0.05
# How tuples come to be emitted where there is always room, and where there never is enough.
NO_WAIT = Admission(waits=0.0, wait_seconds=0.0, inside=0.0)
ENDLESS = Admission(waits=1.0, wait_seconds=math.inf, inside=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldSource:
    """A source whose tasks may have only so many roots open.

    Attributes:
        due_per_second: Roots that it should emit.
        emitted_per_second: Those that it may.
        open_roots: Mean roots that are open, of a task of its fullest executor.
        waits: Part of its tuples that wait until a root ends.
        wait_seconds: Mean wait of all for that; infinite where more is due than it may emit.
        wait_p99_seconds: The 99th percentile of the same.
    """

    due_per_second: float
    emitted_per_second: float
    open_roots: float
    waits: float
    wait_seconds: float
    wait_p99_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """What a limit on open roots does to a plan.

    Attributes:
        setting: The engine's name for it.
        limit: Roots that a task of a source may have open.
        highest_per_second: What it lets through of all sources together, if their rates grow alike
            until one is held back; NaN where it was not looked for.
        emitted_per_second: What all sources emit together.
        smallest: The smallest limit that would let through all that is due; None where none would,
            or where it was not looked for.
        ample: The smallest one that at most a tuple in a hundred would wait for; likewise.
        stuck: Operators whose windows may hold all roots that may be open, and then never fire.
        holds_back: The source that it holds back; None where all that is due gets through, or
            where threads are full at nearly the same rate.
    """

    setting: str
    limit: int
    highest_per_second: float
    emitted_per_second: float
    smallest: int | None
    ample: int | None
    stuck: tuple[str, ...]
    holds_back: str | None
    sources: Mapping[str, HeldSource]

    def name(self, source: str) -> str:
        """What stands in the way of a source: ``SETTING of SOURCE``."""
        return f"{self.setting} of {source}"

    @property
    def waits(self) -> float:
        """Part of the tuples that wait until a root ends, at the source where most do."""
        return max(one.waits for one in self.sources.values())

    @property
    def longest_wait(self) -> float:
        """Mean wait of all tuples for that, at the source where it is longest."""
        return max(one.wait_seconds for one in self.sources.values())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldBack:
    """A plan under a limit on open roots.

    Attributes:
        parameters: At the rates that get through; tuples meet what they meet in a closed network.
        loaded: Likewise; but overloaded is what the rates that are due overload, the limit among
            it.
        limit: The highest rate that fits, and what is full then.
        waits: By an executor's place in the plan, how long tuples that are due wait there until
            they may be emitted, in addition to the source's sleep and its own queue.
    """

    parameters: Parameters
    loaded: Loaded
    limit: Limit
    pending: Pending
    waits: Mapping[int, Admission]

    @property
    def is_short_of_roots(self) -> bool:
        """Whether the limit on open roots is what the highest rate is limited by."""
        return self.limit.by in map(self.pending.name, self.pending.sources)


def is_limited(parameters: Parameters) -> bool:
    """Whether there is a limit on open roots that counts, and formulas can say what it does."""
    logical = parameters.flow.plan.logical
    if parameters.mechanics.max_pending >= NO_LIMIT or not logical.topology.has_ackers:
        return False
    return bool(load_engine(logical.configuration.engine).delays) and not logical.topology.cycle()


def hold_back(
    parameters: Parameters,
    workload: Workload,
    loaded: Loaded,
    limit: Limit,
    network: Network,
    *,
    finds_fitting: bool = True,
) -> HeldBack:
    """A plan under the limit on open roots that it has.

    Args:
        parameters: At the rates that are due.
        workload: These rates.
        loaded: What they do to threads.
        limit: The highest rate without the limit on roots. If it was not looked for, neither is
            the one under it, nor which limit would do, as long as the load itself gets through.
        network: Between the plan's nodes.
        finds_fitting: Whether to look for the smallest limit that would do.
    """
    if math.isnan(limit.factor) and loaded.overloaded:
        limit = find_limit(parameters, workload, loaded)
    case = _Case(parameters, workload, loaded, limit, network, finds_fitting=finds_fitting)
    return case.solve()


def name_setting(plan: PhysicalPlan) -> str:
    """The engine's name for the limit on open roots: the setting without which it is another."""
    configuration = plan.logical.configuration
    engine = load_engine(configuration.engine)
    limit = engine.mechanics(configuration.settings).max_pending
    for name in configuration.settings:
        others = {key: value for key, value in configuration.settings.items() if key != name}
        if engine.mechanics(others).max_pending != limit:
            return name
    return "limit of open roots"


class _Case:
    """A plan, its load, and the highest rate that its threads can do."""

    def __init__(
        self,
        parameters: Parameters,
        workload: Workload,
        loaded: Loaded,
        limit: Limit,
        network: Network,
        *,
        finds_fitting: bool,
    ) -> None:
        self._parameters, self._loaded, self._limit = parameters, loaded, limit
        self._finds_fitting = finds_fitting
        self._roots = OpenRoots(parameters, workload, network)
        self._due, self._tasks = self._roots.due, self._roots.tasks
        self._places: list[int] = self._roots.places.tolist()
        self._executors = parameters.flow.plan.logical.executors
        self._most = parameters.mechanics.max_pending
        self._ceiling = math.inf if math.isnan(limit.factor) else limit.factor
        self._in_windows = hold_in_windows(parameters)

    def solve(self) -> HeldBack:
        """What the limit does."""
        if self._ceiling <= 0.0:
            return self._stop(None)
        limited = LimitedRoots(self._roots, self._most, self._ceiling)
        if self._most < self._needed_by_windows:
            return self._stop(limited)
        full = limited.closed(1.0) if self._ceiling > 1.0 else None
        fits = full is not None and limited.fullness(full) < 1.0
        highest = math.nan
        if not fits or not math.isnan(self._limit.factor):
            highest, full = limited.find_highest(full)
        if full is None or highest <= 0.0:
            return self._stop(limited)
        if not fits:
            state = limited.find_delivered(full)
            return self._answer(limited, highest, full, state, self._delay(state))
        state, waits = self._roots.at(1.0, 1.0), dict.fromkeys(self._places, NO_WAIT)
        if limited.is_ever_met(state):
            state = limited.semi_open(full)
            waits = {
                place: self._admit(limited, place, one, state, full)
                for one in limited.classes
                for place in one.members.tolist()
            }
        return self._answer(limited, highest, full, state, waits)

    @property
    def _needed_by_windows(self) -> int:
        """The smallest limit with which windows cannot hold all roots and wait for more."""
        held = sum(self._in_windows.values())
        return math.floor(held / float(self._tasks[self._places].sum())) + 1

    def _delay(self, state: PlanState) -> dict[int, Admission]:
        """Waits where not all gets through."""
        emitted = state.per_second >= (1.0 - NEAR) * self._due
        return {place: NO_WAIT if emitted[place] else ENDLESS for place in self._places}

    def _admit(
        self, limited: LimitedRoots, place: int, one: RootClass, state: PlanState, full: PlanState
    ) -> Admission:
        """How tuples of an executor come to be emitted, others having as many roots as usual.

        A round takes as long as in an idle plan with one root, and as at the highest rate with all
        of them.
        """
        customers, own = limited.customers(one), self._most * int(self._tasks[place])
        network = one.network.round_seconds(customers)
        others = float(state.open_roots[one.members].sum() - state.open_roots[place])
        longest = float(full.rounds.mean[place])
        seconds = limited.grow_rounds(
            place,
            network,
            np.arange(1.0, own + 1.0) + others,
            longest,
            float(network[-1] - network[0]),
        )
        busiest = int(np.argmax(full.loaded.utilisation * one.share))
        service = full.loaded.service
        scv = departure_scv(
            float(full.rounds.variance[place]) / longest**2,
            _ratio(float(service.variance[busiest]), float(service.mean[busiest] ** 2)),
            float(full.loaded.utilisation[busiest]),
            customers,
        )
        return find_admission(float(self._due[place]), seconds, scv=scv)

    def _stop(self, limited: LimitedRoots | None) -> HeldBack:
        """Nothing gets through."""
        nothing = PlanState(
            parameters=self._parameters,
            loaded=self._loaded,
            rounds=Moments(mean=np.full_like(self._due, math.inf), variance=self._due),
            per_second=np.zeros_like(self._due),
        )
        return self._answer(limited, 0.0, nothing, nothing, dict.fromkeys(self._places, ENDLESS))

    def _answer(
        self,
        limited: LimitedRoots | None,
        highest: float,
        full: PlanState,
        state: PlanState,
        waits: Mapping[int, Admission],
    ) -> HeldBack:
        due = float(self._due.sum())
        fullest = max(self._places, key=lambda one: full.open_roots[one] / self._tasks[one])
        source = self._executors[fullest].operator
        limit, overloaded = self._limit, dict(self._loaded.overloaded)
        is_short = highest < self._ceiling * (1.0 - WORTH_RAISING)
        is_choked = highest <= 1.0 and (is_short or not overloaded)
        smallest, ample = self._find_fitting(limited, highest)
        pending = Pending(
            setting=name_setting(self._parameters.flow.plan),
            limit=self._most,
            highest_per_second=highest * due,
            emitted_per_second=float(state.per_second.sum()),
            smallest=smallest,
            ample=ample,
            stuck=tuple(self._in_windows) if self._most < self._needed_by_windows else (),
            holds_back=source if is_choked else None,
            sources=dict(self._describe_sources(state, waits)),
        )
        if is_choked:
            overloaded[pending.name(source)] = 1.0 / highest if highest > 0.0 else math.inf
        if highest < self._ceiling:
            by = pending.name(source) if is_short else limit.by
            limit = Limit(factor=highest, per_second=highest * due, by=by)
        worst_first = sorted(overloaded.items(), key=lambda one: -one[1])
        return HeldBack(
            parameters=state.parameters,
            loaded=replace(state.loaded, overloaded=dict(worst_first)),
            limit=limit,
            pending=pending,
            waits=waits,
        )

    def _find_fitting(
        self, limited: LimitedRoots | None, highest: float
    ) -> tuple[int | None, int | None]:
        """The smallest limit that lets all through, and an ample one; None where there is none."""
        is_known = self._finds_fitting and not math.isnan(highest)
        if limited is None or self._ceiling <= 1.0 or not is_known:
            return None, None
        unlimited = self._roots.at(1.0, 1.0)
        smallest = max(limited.find_smallest(unlimited), self._needed_by_windows)
        return smallest, limited.find_ample(unlimited, smallest)

    def _describe_sources(
        self, state: PlanState, waits: Mapping[int, Admission]
    ) -> Iterator[tuple[str, HeldSource]]:
        for source in dict.fromkeys(self._executors[one].operator for one in self._places):
            members = [one for one in self._places if self._executors[one].operator == source]
            due, emitted = self._due[members], state.per_second[members]
            wait = _pool([waits[one] for one in members], (due / due.sum()).tolist())
            fullest = float((state.open_roots[members] / self._tasks[members]).max())
            yield (
                source,
                HeldSource(
                    due_per_second=float(due.sum()),
                    emitted_per_second=float(emitted.sum()),
                    open_roots=fullest if emitted.any() else float(self._most),
                    waits=wait.waits,
                    wait_seconds=wait.mean,
                    wait_p99_seconds=wait.quantile(0.99),
                ),
            )


def _pool(waits: Sequence[Admission], parts: Sequence[float]) -> Admission:
    """The wait of a tuple that comes to one of several executors."""
    waiting = [part * one.waits for one, part in zip(waits, parts, strict=True)]
    seconds = sum(
        part * one.wait_seconds for one, part in zip(waits, waiting, strict=True) if part > 0.0
    )
    return Admission(
        waits=min(sum(waiting), 1.0),
        wait_seconds=_ratio(seconds, sum(waiting)),
        inside=sum(one.inside for one in waits),
    )


def _ratio(part: float, whole: float) -> float:
    """Nothing of nothing is nothing."""
    return part / whole if whole > 0.0 else 0.0
