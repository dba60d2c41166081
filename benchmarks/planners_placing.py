"""Every scheduler on the same jobs, each plan simulated under the same load with the same seed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.jobs import predict_job, simulate_job
from benchmarks.planners_jobs import Case, highest_rate, seconds_for, with_nearness
from benchmarks.planners_statistics import count_signs, divide, noise, quartiles, share_of_best
from streamgauge.errors import Infeasible
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.ranking import rank
from streamgauge.planning.scheduling.contract import (
    Expected,
    PlacementRequest,
    load_scheduler,
    scheduler_names,
)
from streamgauge.planning.scheduling.traffic import even_traffic, split_traffic
from streamgauge.planning.scheduling.traffic_aware import TrafficAwareScheduler
from streamgauge.profile.job import Job
from streamgauge.simulation.results import SimulationResult
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import ACKER

EVEN, TRAFFIC_AWARE = "even", "traffic-aware"
# Schedulers as they are installed, and one of them told to leave more room.
ROOMY, ROOMY_UTILISATION = "traffic-aware at 50 %", 0.5
# Whichever installed scheduler's plan has the lowest 99th percentile by the analytic model.
PREDICTED, CRITERION = "best predicted", "p99"
# A machine with more of its cores busy than this is hot.
HOT = 0.8
# Deliveries that a run should see.
DELIVERIES = 100_000
# Part of the measured time that is simulated before, for shuffle to find its targets.
WARM_UP = 0.3
# Less than this part of what should reach the sinks means that a plan is overloaded.
REACHED = 0.97
SEED, OTHER_SEED = 1, 1001
NOISY = ("mean_ms", "p99_ms", "acked_ms")
FIGURES = (*NOISY, "remote_per_second", "limit", "nodes")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFigures:
    """What a plan did; infinite latencies where it is overloaded, NaN where there is no plan.

    Attributes:
        feasible: Whether the scheduler made a plan.
        overloaded: Whether an operator or source cannot keep up.
        mean_ms: Mean latency from when a tuple was due to the end of its service at a sink.
        p99_ms: Its 99th percentile.
        acked_ms: Mean time until a source learns that a tree is complete; NaN without acking.
        hot: Machines with more than `HOT`.
        nodes: Nodes used.
        remote_per_second: Tuples and messages between nodes, as the engine deals them.
        limit: By how much rates may grow, by the analytic model.
    """

    feasible: bool = False
    overloaded: bool = False
    mean_ms: float = math.nan
    p99_ms: float = math.nan
    acked_ms: float = math.nan
    hot: int = 0
    nodes: float = math.nan
    remote_per_second: float = math.nan
    limit: float = math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFigures:
    """A case under one kind of shuffle: by scheduler, and again with another seed for some."""

    name: str
    near: bool
    load: float
    light: bool
    plans: Mapping[str, PlanFigures]
    again: Mapping[str, PlanFigures] | None = None


def place_case(case: Case, *, again: bool) -> Iterator[CaseFigures]:
    """All schedulers on one case, with nearness off and on."""
    expected = case.expected
    for near in (False, True):
        job = with_nearness(case.job, near=near)
        plans = {name: _make_plan(job, name, expected) for name in (*scheduler_names(), ROOMY)}
        even = plans[EVEN]
        assert even is not None
        seconds = seconds_for(even, expected, DELIVERIES)
        plans[PREDICTED] = plans[_best_predicted(job, plans)]
        yield CaseFigures(
            name=case.name,
            near=near,
            load=case.load,
            light=case.light,
            plans=_simulate_plans(job, plans, expected, seconds, SEED),
            again=_simulate_plans(job, plans, expected, seconds, OTHER_SEED) if again else None,
        )


def _make_plan(job: Job, name: str, expected: Expected) -> PhysicalPlan | None:
    """A scheduler's plan; nothing where it finds none."""
    scheduler = load_scheduler(TRAFFIC_AWARE if name == ROOMY else name, job.configuration)
    if name == ROOMY:
        assert isinstance(scheduler, TrafficAwareScheduler)
        scheduler = replace(scheduler, utilisation=ROOMY_UTILISATION)
    assert job.cluster is not None
    inputs = (job.topology, job.configuration, job.cluster)
    try:
        return scheduler.schedule(PlacementRequest(*inputs, expected=expected)).plan
    except Infeasible:
        return None


def _best_predicted(job: Job, plans: Mapping[str, PhysicalPlan | None]) -> str:
    """What `streamgauge plan place` would advise: a scheduler's name."""
    behaviour = JobBehaviour.from_job(job)
    predicted = {
        name: [predict_job(job, plan, behaviour)]
        for name, plan in plans.items()
        if plan is not None and name != ROOMY
    }
    return rank(predicted, by=CRITERION).order[0]


def _simulate_plans(
    job: Job,
    plans: Mapping[str, PhysicalPlan | None],
    expected: Expected,
    seconds: float,
    seed: int,
) -> dict[str, PlanFigures]:
    """Plans that are the same behave the same: each is simulated once."""
    known: dict[Any, PlanFigures] = {None: PlanFigures()}
    figures = {}
    for name, plan in plans.items():
        key = plan and (plan.workers, tuple(plan.placement))
        if plan is not None and key not in known:
            warmup = WARM_UP * seconds
            result = simulate_job(job, plan, seconds=seconds, warmup=warmup, seed=seed)
            known[key] = _figures(job, plan, expected, result)
        figures[name] = known[key]
    return figures


def _figures(
    job: Job, plan: PhysicalPlan, expected: Expected, result: SimulationResult
) -> PlanFigures:
    reached = _reached(plan, expected, result)
    overloaded = result.overloaded or bool(result.saturated) or reached < REACHED
    latency, acked = result.since_due, result.seen_by_source

    def unless_overloaded(seconds: float) -> float:
        return math.inf if overloaded else seconds * 1e3

    return PlanFigures(
        feasible=True,
        overloaded=overloaded,
        mean_ms=unless_overloaded(latency.mean),
        p99_ms=unless_overloaded(latency.quantile(0.99)),
        acked_ms=unless_overloaded(acked.mean) if acked.count else math.nan,
        hot=sum(one.busy / one.cores > HOT for one in result.machines),
        nodes=len(plan.nodes),
        remote_per_second=split_traffic(plan, expected, nearest=True).remote,
        limit=highest_rate(job, plan),
    )


def _reached(plan: PhysicalPlan, expected: Expected, result: SimulationResult) -> float:
    """Tuples served at sinks over those that should come there."""
    topology = plan.logical.topology
    senders = {stream.source for stream in topology.streams if not stream.is_system}
    sinks = set(topology.operator_names) - senders - {ACKER}
    due = sum(
        float(one.received.sum())
        for one in even_traffic(plan.logical, expected, acks=False).streams
        if one.stream.target in sinks
    )
    served = sum(result.operators[name].executed_per_second for name in sinks)
    return served / due if due > 0.0 else math.nan


def summarise(cases: Sequence[CaseFigures]) -> dict[str, Any]:
    """By scheduler: ratios to even, ranks, signs, and what could not be."""
    names = list(cases[0].plans)
    columns = {
        figure: {name: [getattr(case.plans[name], figure) for case in cases] for name in names}
        for figure in FIGURES
    }
    best = share_of_best(columns["mean_ms"])
    rows = {}
    for name in names:
        plans = [case.plans[name] for case in cases]
        ratios = {
            figure: divide(columns[figure][name], columns[figure][EVEN]) for figure in FIGURES
        }
        rows[name] = {
            "infeasible": sum(not plan.feasible for plan in plans),
            "overloaded": sum(plan.overloaded for plan in plans),
            "hot": sum(plan.hot > 0 for plan in plans),
            "best": best[name],
            "ratios": {figure: quartiles(values) for figure, values in ratios.items()},
            "signs": count_signs(ratios["mean_ms"]),
        }
    return rows


def find_noise(cases: Sequence[CaseFigures]) -> dict[str, Any]:
    """How far ratios to even move with another seed: what differences are to be held against."""
    repeated = [(case.plans, case.again) for case in cases if case.again is not None]
    parts: dict[str, Any] = {"cases": len(repeated)}
    for figure in NOISY:
        # A plan that is even's own says nothing of noise.
        pairs = [
            (_to_even(plans, name, figure), _to_even(again, name, figure))
            for plans, again in repeated
            for name in plans
            if plans[name] is not plans[EVEN]
        ]
        parts[figure] = noise(*zip(*pairs, strict=True)) if pairs else quartiles(())
    return parts


def _to_even(plans: Mapping[str, PlanFigures], name: str, figure: str) -> float:
    (ratio,) = divide([getattr(plans[name], figure)], [getattr(plans[EVEN], figure)])
    return ratio
