"""Explanation: why a plan behaves as predicted, and what would change it.

What is full first as rates grow, what next if that were wide enough, and so on; and for every
operator what a longer service and one executor more would do. All by the analytic model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from streamgauge.models.chained import chain_job
from streamgauge.models.crowd_levels import find_levels
from streamgauge.models.end_to_end_latency import Latency
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.load_limit import PRECISION, Limit, find_limit, load
from streamgauge.models.network import find_network
from streamgauge.models.parameters import Parameters, find_parameters
from streamgauge.models.pending_limit import hold_back, is_limited
from streamgauge.models.prediction import Bottleneck, Drawback, Explanation, Sensitivity, assemble
from streamgauge.topology.logical_plan import Executor, LogicalPlan, even_sizes
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import ACKER
from streamgauge.topology.tuple_flow import as_slice
from streamgauge.topology.workload import Workload

# Bottlenecks further down the road than this are somebody else's concern.
LONGEST_CHAIN = 4
# By this part service is made longer to see what it does.
LONGER = 0.05


def explain(behaviour: JobBehaviour, plan: PhysicalPlan, workload: Workload) -> Explanation:
    """Why the job would behave so on `plan`, and what would change it."""
    chained = chain_job(behaviour, plan)
    if chained is None:
        return _explain(behaviour, plan, workload)
    return chained.split_explanation(_explain(chained.behaviour, chained.plan, workload))


def _explain(behaviour: JobBehaviour, plan: PhysicalPlan, workload: Workload) -> Explanation:
    parameters = _find_limited(behaviour, plan, workload)[0]
    before = _latency(parameters)
    chain = tuple(_bottlenecks(behaviour, plan, workload))
    limit_now = chain[0].limit.per_second if chain else math.inf
    sensitivities = {}
    for operator in plan.logical.topology.operators:
        if operator.name == ACKER:
            continue
        after = _latency(_slower(parameters, operator.name))
        count = len(plan.logical.spans[operator.name])
        change = Sensitivity(
            longer_service=_elasticity(before.mean, after.mean),
            longer_service_p99=_elasticity(_p99(before), _p99(after)),
            one_more=None,
            one_more_limit=None,
        )
        if count < operator.tasks:
            wider = with_executors(plan, operator.name, count + 1)
            spread, limit, _ = _find_limited(behaviour, wider, workload)
            lower = limit.per_second < limit_now * (1.0 - 2.0 * PRECISION)
            change = replace(
                change,
                one_more=_latency(spread).mean - before.mean,
                one_more_limit=limit.per_second,
                one_more_full=limit.by,
                one_more_drawback=_find_drawback(parameters, spread, operator.name, limit.by)
                if lower
                else None,
            )
        sensitivities[operator.name] = change
    return Explanation(bottlenecks=chain, sensitivities=sensitivities)


def _find_drawback(before: Parameters, after: Parameters, operator: str, full: str) -> Drawback:
    """Why one executor more of an operator lowers the limit, where `full` is full first then."""
    labels = [one.label for one in after.flow.plan.logical.executors_of(operator)]
    if full not in labels or _largest_share(after, operator) <= _largest_share(before, operator):
        return Drawback.CROWDS_MACHINE
    scopes = [
        [one.routing.scopes[stream.subscription].mean() for one in (before, after)]
        for stream in after.flow.plan.logical.topology.streams_into(operator)
        if stream.subscription in after.routing.scopes
    ]
    narrower = any(now < former for former, now in scopes)
    return Drawback.NARROWS_SHUFFLE if narrower else Drawback.REGROUPS_TASKS


def _largest_share(parameters: Parameters, operator: str) -> float:
    """The part of an operator's tuples that comes to its busiest executor."""
    arrived = parameters.rates.into(parameters.flow, operator)
    return float(arrived.max() / arrived.sum()) if arrived.any() else 0.0


def _bottlenecks(
    behaviour: JobBehaviour, plan: PhysicalPlan, workload: Workload
) -> Iterator[Bottleneck]:
    """What is full first, and what next with twice as many executors of each one before it.

    And without the limit on open roots, once that is what holds the plan back.
    """
    unlimited = False
    for _ in range(LONGEST_CHAIN):
        if unlimited:
            limit = find_limit(find_parameters(behaviour, plan, workload), workload)
        else:
            _, limit, is_short_of_roots = _find_limited(behaviour, plan, workload)
        if not math.isfinite(limit.factor):
            return
        owner = {one.label: one.operator for one in plan.logical.executors}.get(limit.by)
        if owner is None:
            yield Bottleneck(
                limit=limit, operator=None, executors=None, tasks=None, unlimited=unlimited
            )
            if unlimited or not is_short_of_roots:
                return
            unlimited = True
            continue
        count = len(plan.logical.spans[owner])
        tasks = plan.logical.topology.operator(owner).tasks
        yield Bottleneck(
            limit=limit, operator=owner, executors=count, tasks=tasks, unlimited=unlimited
        )
        if owner == ACKER or count == tasks:
            return
        plan = with_executors(plan, owner, min(2 * count, tasks))


def _find_limited(
    behaviour: JobBehaviour, plan: PhysicalPlan, workload: Workload
) -> tuple[Parameters, Limit, bool]:
    """A plan under its limit on open roots, if it has one, and whether that limits the rate."""
    parameters = find_parameters(behaviour, plan, workload)
    loaded = load(parameters)
    limit = find_limit(parameters, workload, loaded)
    if not is_limited(parameters):
        return parameters, limit, False
    network = find_network(plan, behaviour)
    held = hold_back(parameters, workload, loaded, limit, network, finds_fitting=False)
    return held.parameters, held.limit, held.is_short_of_roots


def _latency(parameters: Parameters) -> Latency:
    loaded = load(parameters)
    levels = find_levels(parameters, loaded)
    return assemble("", parameters, loaded, levels, Limit.unknown(), is_brief=True).latency


def _slower(parameters: Parameters, operator: str) -> Parameters:
    """The same with longer services of one operator, its windows included."""
    works = parameters.works
    factor = np.ones(len(works.tuples.per_second))
    factor[as_slice(parameters.flow.plan.logical.spans[operator])] += LONGER
    longer = replace(
        works, tuples=works.tuples.stretch(factor), triggers=works.triggers.stretch(factor)
    )
    return replace(parameters, works=longer)


def _elasticity(before: float, after: float) -> float:
    """Part by which the answer grows for each part of the cause; infinite where it is too much."""
    if not math.isfinite(before) or before <= 0.0:
        return math.nan
    return (after / before - 1.0) / LONGER


def _p99(latency: Latency) -> float:
    return latency.quantiles.get(0.99, math.inf)


def with_executors(plan: PhysicalPlan, operator: str, count: int) -> PhysicalPlan:
    """The plan with more executors of an operator, each new one where there are fewest.

    Tasks are cut anew; executors stay where those of the same rank were.
    """
    logical = plan.logical
    crowd = np.bincount(plan.placement, minlength=len(plan.workers))
    executors: list[Executor] = []
    dealt: list[int] = []
    for name, span in logical.spans.items():
        here = as_slice(span)
        dealt += plan.placement[here]
        if name != operator:
            executors += logical.executors[here]
            continue
        tasks = logical.tasks_of(name)
        task = tasks.start
        for size in even_sizes(len(tasks), count):
            executors.append(Executor(task, task + size - 1, name))
            task += size
        for _ in range(count - len(span)):
            roomiest = int(crowd.argmin())
            crowd[roomiest] += 1
            dealt.append(roomiest)
    wider = LogicalPlan(
        topology=logical.topology,
        configuration=logical.configuration.with_executors({operator: count}),
        executors=tuple(executors),
    )
    return PhysicalPlan(
        logical=wider, cluster=plan.cluster, workers=plan.workers, placement=tuple(dealt)
    )
