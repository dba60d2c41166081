"""Every scheduler on the same jobs, each plan simulated under the same load with the same seed."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from benchmarks.planners_jobs import Case, dealt, highest_rate, seconds_for
from benchmarks.planners_statistics import Quartiles, Signs, extremes, noise, ratios_to
from streamgauge.errors import Infeasible
from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.declared import declared_profile
from streamgauge.models.ranking import rank
from streamgauge.planning.scheduling.contract import Expected, load_scheduler, scheduler_names
from streamgauge.planning.scheduling.traffic import even_traffic, split_traffic
from streamgauge.planning.scheduling.traffic_aware import TrafficAwareScheduler
from streamgauge.profile.job import Job
from streamgauge.simulation.latencies import Latencies
from streamgauge.simulation.results import SimulationResult
from streamgauge.simulation.topology_run import simulate
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
FIGURES = ("mean_ms", "p50_ms", "p99_ms", "acked_ms", "remote_per_second", "limit")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFigures:
    """What a plan did; infinite latencies where it is overloaded, NaN where there is no plan.

    Attributes:
        feasible: Whether the scheduler made a plan.
        overloaded: Whether an operator or source cannot keep up.
        mean_ms: Mean latency from when a tuple was due to the end of its service at a sink.
        p50_ms: Its median.
        p99_ms: Its 99th percentile.
        acked_ms: Mean time until a source learns that a tree is complete; NaN without acking.
        reached: Tuples that reached sinks, over those that should.
        busiest: Part of its cores that work keeps busy on the busiest machine.
        hot: Machines with more than `HOT`.
        nodes: Nodes used.
        workers: Workers used.
        remote_per_second: Tuples and messages between nodes, as the engine deals them.
        transferred_per_second: Tuples and messages between workers, simulated.
        limit: By how much rates may grow, by the analytic model.
    """

    feasible: bool = False
    overloaded: bool = False
    mean_ms: float = math.nan
    p50_ms: float = math.nan
    p99_ms: float = math.nan
    acked_ms: float = math.nan
    reached: float = math.nan
    busiest: float = math.nan
    hot: int = 0
    nodes: int = 0
    workers: int = 0
    remote_per_second: float = math.nan
    transferred_per_second: float = math.nan
    limit: float = math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFigures:
    """A case under one kind of shuffle: by scheduler, and again with another seed for some."""

    name: str
    near: bool
    load: float
    light: bool
    seconds: float
    plans: Mapping[str, PlanFigures]
    again: Mapping[str, PlanFigures] | None = None

    def to_dict(self) -> dict[str, Any]:
        """For the report."""
        return {
            "load": self.load,
            "light": self.light,
            "simulated_seconds": self.seconds,
            "plans": {name: asdict(one) for name, one in self.plans.items()},
        }


def place_cases(
    cases: Iterable[tuple[Case, bool]], *, total: int, repeat_every: int
) -> Iterator[CaseFigures]:
    """Each case with nearness off and on; every so many-th is repeated with another seed."""
    begin = time.perf_counter()
    for index, (case, repeatable) in enumerate(cases):
        again = repeatable and index % repeat_every == 0
        for near in (False, True):
            yield place_case(case, near=near, again=again)
        passed = time.perf_counter() - begin
        print(f"  {index + 1} of {total} jobs placed, {passed:.0f} s", file=sys.stderr)


def place_case(case: Case, *, near: bool, again: bool) -> CaseFigures:
    """All schedulers on one case."""
    job = dealt(case.job, near=near)
    expected = case.expected
    plans = {name: _plan(job, name, expected) for name in (*scheduler_names(), ROOMY)}
    even = plans[EVEN]
    assert even is not None
    seconds = seconds_for(even, expected, DELIVERIES)
    chosen = _best_predicted(job, plans)

    def figures(seed: int) -> dict[str, PlanFigures]:
        # Plans that are the same behave the same: each is simulated once.
        seen: dict[tuple[Any, ...], PlanFigures] = {}
        found = {}
        for name, plan in plans.items():
            if plan is None:
                found[name] = PlanFigures()
                continue
            key = (plan.workers, tuple(plan.placement))
            if key not in seen:
                seen[key] = _figures(job, plan, expected, seconds=seconds, seed=seed)
            found[name] = seen[key]
        found[PREDICTED] = found[chosen]
        return found

    return CaseFigures(
        name=case.name,
        near=near,
        load=case.load,
        light=case.light,
        seconds=seconds,
        plans=figures(SEED),
        again=figures(OTHER_SEED) if again else None,
    )


def _plan(job: Job, name: str, expected: Expected) -> PhysicalPlan | None:
    """A scheduler's plan; nothing where it finds none."""
    chosen = load_scheduler(TRAFFIC_AWARE if name == ROOMY else name, job.configuration)
    if name == ROOMY:
        assert isinstance(chosen, TrafficAwareScheduler)
        chosen = replace(chosen, utilisation=ROOMY_UTILISATION)
    assert job.cluster is not None
    try:
        return chosen.schedule(job.topology, job.configuration, job.cluster, expected=expected).plan
    except Infeasible:
        return None


def _best_predicted(job: Job, plans: Mapping[str, PhysicalPlan | None]) -> str:
    """What `streamgauge plan place` would advise: a scheduler's name."""
    assert job.workload is not None
    profile, model = declared_profile(job), AnalyticModel()
    predicted = {
        name: [model.predict(profile, plan, job.workload)]
        for name, plan in plans.items()
        if plan is not None and name != ROOMY
    }
    return rank(predicted, by=CRITERION).order[0]


def _figures(
    job: Job, plan: PhysicalPlan, expected: Expected, *, seconds: float, seed: int
) -> PlanFigures:
    assert job.workload is not None
    result = simulate(
        plan,
        job.behaviours,
        job.workload,
        seconds=seconds,
        warmup=WARM_UP * seconds,
        seed=seed,
    )
    reached = _reached(plan, expected, result)
    overloaded = result.overloaded or bool(result.saturated) or reached < REACHED
    latency, acked = result.since_due, result.seen_by_source
    busy = [one.busy / one.cores for one in result.machines]
    return PlanFigures(
        feasible=True,
        overloaded=overloaded,
        mean_ms=math.inf if overloaded else latency.mean * 1e3,
        p50_ms=math.inf if overloaded else latency.quantile(0.5) * 1e3,
        p99_ms=math.inf if overloaded else latency.quantile(0.99) * 1e3,
        acked_ms=_acked_ms(acked, overloaded=overloaded),
        reached=reached,
        busiest=max(busy),
        hot=sum(one > HOT for one in busy),
        nodes=len(plan.nodes),
        workers=len(plan.workers),
        remote_per_second=split_traffic(plan, expected, nearest=True).remote,
        transferred_per_second=sum(one.transfer.arrived_per_second for one in result.workers),
        limit=highest_rate(job, plan),
    )


def _acked_ms(acked: Latencies, *, overloaded: bool) -> float:
    if not acked.count:
        return math.nan
    return math.inf if overloaded else acked.mean * 1e3


def _reached(plan: PhysicalPlan, expected: Expected, result: SimulationResult) -> float:
    """Tuples served at sinks over those that should come there."""
    topology = plan.logical.topology
    sinks = {
        one.name
        for one in topology.operators
        if one.name != ACKER and not _feeds(topology.streams_from(one.name))
    }
    due = sum(
        float(one.received.sum())
        for one in even_traffic(plan.logical, expected, acks=False).streams
        if one.stream.target in sinks
    )
    served = sum(result.operators[name].executed_per_second for name in sinks)
    return served / due if due > 0.0 else math.nan


def _feeds(streams: Iterable[Any]) -> bool:
    return any(not stream.is_system for stream in streams)


def summary(found: Sequence[CaseFigures]) -> dict[str, Any]:
    """By scheduler: ratios to even, ranks, signs, and what could not be."""
    names = list(found[0].plans)

    def column(figure: str) -> dict[str, list[float]]:
        return {name: [getattr(one.plans[name], figure) for one in found] for name in names}

    columns = {figure: column(figure) for figure in FIGURES}
    ratios = {figure: ratios_to(columns[figure], EVEN) for figure in FIGURES}
    best, worst = extremes(columns["mean_ms"])
    cases = len(found)
    return {
        name: {
            "cases": cases,
            "infeasible": sum(not one.plans[name].feasible for one in found),
            "overloaded": sum(one.plans[name].overloaded for one in found),
            "hot": sum(one.plans[name].hot > 0 for one in found),
            "best": best[name],
            "worst": worst[name],
            "nodes": Quartiles.of(_over(found, name, "nodes")).as_list(),
            "busiest": Quartiles.of(one.plans[name].busiest for one in found).as_list(),
            "ratios": {figure: Quartiles.of(ratios[figure][name]).as_list() for figure in FIGURES},
            "signs": asdict(Signs.of(ratios["mean_ms"][name])),
            "p_value": Signs.of(ratios["mean_ms"][name]).p_value,
        }
        for name in names
    }


def _over(found: Sequence[CaseFigures], name: str, figure: str) -> Iterator[float]:
    """A figure over even's, case by case."""
    for one in found:
        if one.plans[name].feasible:
            yield getattr(one.plans[name], figure) / getattr(one.plans[EVEN], figure)


def floor(found: Sequence[CaseFigures]) -> dict[str, Any]:
    """How far ratios to even move with another seed: what differences are to be held against."""
    repeated = [one for one in found if one.again is not None]
    parts: dict[str, Any] = {"cases": len(repeated)}
    for figure in ("mean_ms", "p99_ms", "acked_ms"):
        first, second = [], []
        for one in repeated:
            assert one.again is not None
            for name in one.plans:
                if name == EVEN:
                    continue
                first.append(_to_even(one.plans, name, figure))
                second.append(_to_even(one.again, name, figure))
        parts[figure] = noise(first, second).as_list()
    return parts


def _to_even(plans: Mapping[str, PlanFigures], name: str, figure: str) -> float:
    """Of a plan that is even's own: nothing, as it says nothing of noise."""
    one, even = getattr(plans[name], figure), getattr(plans[EVEN], figure)
    if plans[name] is plans[EVEN] or not math.isfinite(one) or not math.isfinite(even):
        return math.nan
    return float(one / even)
