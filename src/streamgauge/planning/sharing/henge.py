"""Henge: executors move between jobs, one step at a time, until the sum of utilities is highest.

The state machine of the whole cluster, as published with its gaps filled: it takes a step, waits
until utilities settle, keeps the step if the system gained, and otherwise frees resources
(Reduction) or goes back to the best that it has seen (Reversion). It predicts nothing. Every rule
is a pure function of the state, what is seen, and the parameters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from streamgauge.errors import Findings
from streamgauge.planning.sharing.congestion import Congestion, find_pressures
from streamgauge.planning.sharing.observation import (
    CONGESTED,
    ClusterSeen,
    Executors,
    JobSeen,
)
from streamgauge.planning.sharing.policy import Decision, clamp
from streamgauge.topology.field_checks import check_number, check_whole
from streamgauge.topology.frozen import FrozenDict


@dataclass(frozen=True, slots=True, kw_only=True)
class HengeParameters:
    """Published defaults, and those of the gaps.

    Attributes:
        round_seconds: Between two rounds.
        quiescence_seconds: Least time between an action and the next.
        settled_within: Utilities have settled that vary by less than this part …
        settled_rounds: … over so many rounds; or after `quiescence_most_seconds`.
        quiescence_most_seconds: After which an action is judged in any case.
        stable_rounds: For how long all jobs must meet their objectives before Converged.
        congestion: By which metric operators are congested: ``capacity``, ``queue`` or ``etp``.
        capacity_threshold: An operator with a higher capacity is congested.
        thread_multiplier: Executors more for each time that the threshold is exceeded (eq. 2.4).
        marginal_gain: A job that gains a smaller part is left alone for a while …
        blacklist_seconds: … for so long.
        reduction_fraction: Part of the executors that Reduction takes away.
        converged_drop: Part of the utility whose loss makes Converged forget its history.
        recovery_seconds: After an outage, time to collect metrics before the next action.
        rate_change: Part by which a job's input must change to count as another workload.
        warm_up_seconds: Without action at the beginning.
        retry_on_expiry: Whether Converged is left when a job's time on the blacklist ends.
    """

    round_seconds: float = 10.0
    quiescence_seconds: float = 60.0
    settled_within: float = 0.02
    settled_rounds: int = 3
    quiescence_most_seconds: float = 300.0
    stable_rounds: int = 4
    congestion: Congestion = Congestion.CAPACITY
    capacity_threshold: float = CONGESTED
    thread_multiplier: float = 10.0
    marginal_gain: float = 0.05
    blacklist_seconds: float = 3600.0
    reduction_fraction: float = 0.8
    converged_drop: float = 0.05
    recovery_seconds: float = 300.0
    rate_change: float = 0.1
    warm_up_seconds: float = 0.0
    retry_on_expiry: bool = False

    def __post_init__(self) -> None:
        findings = Findings()
        for name in ("settled_rounds", "stable_rounds"):
            check_whole(findings, getattr(self, name), name)
        for name in ("round_seconds", "thread_multiplier", "rate_change"):
            check_number(findings, getattr(self, name), name, above=0.0)
        for name in ("capacity_threshold", "reduction_fraction", "marginal_gain", "converged_drop"):
            check_number(findings, getattr(self, name), name, above=0.0, most=1.0)
        findings.raise_if_any()


class Mode(StrEnum):
    """The states of the cluster."""

    CONVERGED = "converged"
    NOT_CONVERGED = "not converged"


class Rule(StrEnum):
    """What a round did."""

    WAIT = "wait"
    WARM_UP = "warm-up"
    OUTAGE = "outage"
    RECOVERY = "recovery"
    STABLE = "stable"
    CONVERGED = "converged"
    RECONFIGURATION = "reconfiguration"
    REDUCTION = "reduction"
    REVERSION = "reversion"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """A configuration of all jobs, and what the system was worth under it."""

    at: float
    executors: Executors
    utility: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """An action whose effect is awaited.

    Attributes:
        job: Of a Reconfiguration.
        utility: Of the system, before.
        job_utility: Of that job, before.
        settling: Utilities of the rounds since then.
    """

    rule: Rule
    at: float
    utility: float
    job: str = ""
    job_utility: float = 0.0
    settling: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HengeState:
    """What Henge remembers from round to round.

    Attributes:
        begun: When the first round was.
        history: All configurations that were measured, the first one included.
        blacklist: Jobs that gained too little, and until when they are left alone.
        reduced: Jobs that gave executors away since the workload last changed.
        pending: The action that is not judged yet.
        stable: Rounds for which all jobs have met their objectives.
        missed: Jobs that missed theirs all the same when the state became Converged.
        converged_at: The utility of then; None while it settles.
        offered: Input by job when the workload last changed.
        outage: Whether metrics were missing in the last round.
        restored: When they came back, until enough of them are there.
    """

    mode: Mode = Mode.NOT_CONVERGED
    begun: float | None = None
    history: tuple[Remembered, ...] = ()
    blacklist: Mapping[str, float] = field(default_factory=FrozenDict)
    reduced: frozenset[str] = frozenset()
    pending: Pending | None = None
    stable: int = 0
    missed: frozenset[str] = frozenset()
    converged_at: float | None = None
    offered: Mapping[str, float] = field(default_factory=FrozenDict)
    outage: bool = False
    restored: float | None = None


Outcome = tuple[HengeState, Decision]


def take_round(
    state: HengeState, seen: ClusterSeen, parameters: HengeParameters | None = None
) -> Outcome:
    """One round: what to remember and what to do."""
    rules = parameters or HengeParameters()
    begun = seen.at if state.begun is None else state.begun
    state = replace(state, begun=begun)
    if seen.stale:
        return replace(state, outage=True), Decision(rule=Rule.OUTAGE, reason="no new metrics")
    if state.outage:
        state = replace(state, outage=False, restored=seen.at)
    if state.restored is not None:
        if seen.at - state.restored < rules.recovery_seconds:
            return state, Decision(rule=Rule.RECOVERY, reason="collecting metrics after an outage")
        state = replace(state, restored=None)
    if seen.at - begun < rules.warm_up_seconds:
        return state, Decision(rule=Rule.WARM_UP)
    state = _begin(state, seen, rules)
    if state.pending is not None:
        return _await(state, state.pending, seen, rules)
    if state.mode is Mode.CONVERGED:
        return _watch(state, seen, rules)
    return _search(state, seen, rules)


def extra_executors(capacity: float, rules: HengeParameters) -> int:
    """(capacity / threshold − 1) × multiplier (eq. 2.4), rounded up; none up to the threshold.

    Capacity is taken as one at most: what exceeds it is time that a thread waited for a core.
    """
    return _relieve(capacity / rules.capacity_threshold, rules)


def _relieve(pressure: float, rules: HengeParameters) -> int:
    """The same of any metric's pressure; no more than for an operator that is always busy."""
    over = min(pressure, 1.0 / rules.capacity_threshold) - 1.0
    # A capacity of just the threshold is no more than that by a rounding error.
    return max(0, math.ceil(over * rules.thread_multiplier - 1e-9))


def _begin(state: HengeState, seen: ClusterSeen, rules: HengeParameters) -> HengeState:
    """Forget what no longer holds: marks of another workload, and what has expired."""
    offered = {name: job.offered_per_second for name, job in seen.jobs.items()}
    changed = offered.keys() != state.offered.keys() or any(
        abs(now - state.offered[name]) > rules.rate_change * state.offered[name]
        for name, now in offered.items()
    )
    if changed:
        state = replace(state, offered=FrozenDict(offered), reduced=frozenset())
    listed = {
        name: until
        for name, until in state.blacklist.items()
        if until > seen.at and name in seen.jobs
    }
    if rules.retry_on_expiry and len(listed) < len(state.blacklist):
        state = replace(state, mode=Mode.NOT_CONVERGED)
    if not state.history:
        state = _remember(state, seen)
    return replace(state, blacklist=FrozenDict(listed))


def _remember(state: HengeState, seen: ClusterSeen) -> HengeState:
    now = Remembered(at=seen.at, executors=seen.executors, utility=seen.utility)
    return replace(state, history=(*state.history, now))


def _await(
    state: HengeState, pending: Pending, seen: ClusterSeen, rules: HengeParameters
) -> Outcome:
    """Judge the last action once utilities have settled."""
    settling = (*pending.settling, seen.utility)[-rules.settled_rounds :]
    waited = seen.at - pending.at
    spread = max(settling) - min(settling)
    settled = len(settling) == rules.settled_rounds and spread <= rules.settled_within * max(
        settling
    )
    if waited < rules.quiescence_seconds or not (
        settled or waited >= rules.quiescence_most_seconds
    ):
        state = replace(state, pending=replace(pending, settling=settling))
        return state, Decision(rule=Rule.WAIT, reason=f"{pending.rule} settles")
    state = _remember(replace(state, pending=None), seen)
    if pending.rule is Rule.REVERSION:
        return _converge(state, seen, "the best configuration that was seen is back")
    if pending.rule is Rule.RECONFIGURATION:
        if seen.utility < pending.utility:
            return _undo(state, seen, rules)
        job = seen.jobs.get(pending.job)
        if job is not None and job.utility is not None and not job.meets_slo:
            gain = (job.utility - pending.job_utility) / max(pending.job_utility, 1e-12)
            if gain < rules.marginal_gain:
                state = _blacklist(state, pending.job, seen, rules)
    return _search(state, seen, rules)


def _undo(state: HengeState, seen: ClusterSeen, rules: HengeParameters) -> Outcome:
    """The system lost: Reduction where that is allowed, else Reversion."""
    targets = [name for name, job in seen.jobs.items() if job.meets_slo]
    if seen.is_congested and targets and not state.reduced:
        return _reduce(state, seen, targets, rules)
    return _revert(state, seen, "utility fell, and no job may give executors away")


def _reduce(
    state: HengeState, seen: ClusterSeen, targets: list[str], rules: HengeParameters
) -> Outcome:
    kept = 1.0 - rules.reduction_fraction
    wanted = {
        name: {
            operator: max(1, round(seen.jobs[name].operators[operator].executors * kept))
            for operator, pressure in _find_pressures(seen.jobs[name], rules).items()
            if pressure <= 1.0
        }
        for name in targets
    }
    reason = f"the cluster is congested: {', '.join(targets)} give idle executors away"
    decision = Decision.of(Rule.REDUCTION, seen, wanted, reason)
    state = replace(
        state,
        reduced=frozenset(targets),
        pending=Pending(rule=Rule.REDUCTION, at=seen.at, utility=seen.utility),
    )
    return state, decision


def _revert(state: HengeState, seen: ClusterSeen, why: str) -> Outcome:
    best = max(state.history, key=lambda one: one.utility)
    known = {name: one for name, one in best.executors.items() if name in seen.jobs}
    reason = f"{why}; back to {best.at:.0f} s, worth {best.utility:.4g}"
    decision = Decision.of(Rule.REVERSION, seen, known, reason)
    state = replace(state, pending=Pending(rule=Rule.REVERSION, at=seen.at, utility=seen.utility))
    return state, decision


def _converge(state: HengeState, seen: ClusterSeen, reason: str) -> Outcome:
    state = replace(
        state,
        mode=Mode.CONVERGED,
        converged_at=seen.utility,
        missed=_miss(seen),
        stable=0,
    )
    return state, Decision(rule=Rule.CONVERGED, reason=reason)


def _watch(state: HengeState, seen: ClusterSeen, rules: HengeParameters) -> Outcome:
    """Stay Converged until utility falls, or a job that met its objective misses it."""
    assert state.converged_at is not None
    if seen.utility < state.converged_at * (1.0 - rules.converged_drop):
        # The workload is another one: what was learned of the old one would mislead.
        state = replace(
            state,
            mode=Mode.NOT_CONVERGED,
            history=(),
            blacklist=FrozenDict(),
            reduced=frozenset(),
        )
        return _search(_remember(state, seen), seen, rules)
    if _miss(seen) - state.missed:
        return _search(replace(state, mode=Mode.NOT_CONVERGED), seen, rules)
    return state, Decision(rule=Rule.CONVERGED)


def _miss(seen: ClusterSeen) -> frozenset[str]:
    return frozenset(name for name, job in seen.jobs.items() if job.meets_slo is False)


def _search(state: HengeState, seen: ClusterSeen, rules: HengeParameters) -> Outcome:
    """All are content, or the next job gets executors; one job a step."""
    if all(job.meets_slo for job in seen.jobs.values()):
        state = replace(state, stable=state.stable + 1)
        if state.stable >= rules.stable_rounds:
            return _converge(state, seen, "every job meets its objective")
        return state, Decision(rule=Rule.STABLE)
    state = replace(state, stable=0)
    missing = {
        name: job
        for name, job in seen.jobs.items()
        if job.meets_slo is False and name not in state.blacklist
    }
    for name in sorted(missing, key=lambda name: _urgency(name, missing[name])):
        wanted = _grow(missing[name], rules)
        if not wanted:
            # It misses its objective, and no operator is congested: executors would not help.
            state = _blacklist(state, name, seen, rules)
            continue
        job = missing[name]
        decision = Decision.of(
            Rule.RECONFIGURATION, seen, {name: wanted}, f"{name} misses its objective"
        )
        pending = Pending(
            rule=Rule.RECONFIGURATION,
            at=seen.at,
            utility=seen.utility,
            job=name,
            job_utility=job.utility or 0.0,
        )
        return replace(state, pending=pending), decision
    if all(job.meets_slo is None for job in seen.jobs.values() if not job.meets_slo):
        return state, Decision(rule=Rule.WAIT, reason="no job is known to miss its objective")
    return _revert(state, seen, "nothing is left to try")


def _urgency(name: str, job: JobSeen) -> tuple[float, float, str]:
    """The highest priority first, then the lowest utility now."""
    return (-job.slo.max_utility, job.utility or 0.0, name)


def _grow(job: JobSeen, rules: HengeParameters) -> dict[str, int]:
    """Executors of congested operators, with the new ones; sources execute nothing."""
    wanted = {}
    for name, pressure in _find_pressures(job, rules).items():
        one = job.operators[name]
        new = clamp(one.executors + _relieve(pressure, rules), one)
        if new > one.executors:
            wanted[name] = new
    return wanted


def _find_pressures(job: JobSeen, rules: HengeParameters) -> dict[str, float]:
    return find_pressures(job, rules.congestion, rules.capacity_threshold)


def _blacklist(
    state: HengeState, name: str, seen: ClusterSeen, rules: HengeParameters
) -> HengeState:
    until = seen.at + rules.blacklist_seconds
    return replace(state, blacklist=FrozenDict({**state.blacklist, name: until}))


def may_admit(seen: ClusterSeen) -> bool:
    """Whether another job may join: only while those that run meet their objectives."""
    return all(job.meets_slo for job in seen.jobs.values())


class Henge:
    """The published policy, for replays and clusters."""

    name = "henge"
    settings = HengeParameters

    def __init__(self, parameters: HengeParameters | None = None) -> None:
        self.parameters = parameters or HengeParameters()
        self.period_seconds = self.parameters.round_seconds
        self.state = HengeState()

    def describe(self) -> str:
        """One sentence."""
        return "one job a step gets executors where it is congested, kept if the system gains"

    def decide(self, seen: ClusterSeen) -> Decision:
        """One round."""
        self.state, decision = take_round(self.state, seen, self.parameters)
        return decision
