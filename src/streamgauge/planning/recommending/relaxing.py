"""What would make an objective feasible that no plan meets: more tasks, machines, freedom, time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from streamgauge.models.job_behaviour import JobBehaviour, Origin
from streamgauge.planning.recommending.candidates import Candidates, find_candidates
from streamgauge.planning.recommending.problem import Minimise, Problem
from streamgauge.planning.recommending.search import MOST_WORK
from streamgauge.planning.recommending.trials import Trial, Trials
from streamgauge.profile.job import Job
from streamgauge.topology.cluster import Cluster, Machine, Node
from streamgauge.topology.topology import OperatorKind

# How far rates are lowered, and how near the highest one that is met is found.
LOWEST, STEPS = 1e-3, 10
# Work of one search for a way out, as a part of the search that found none.
SHARE = 4


class Way(StrEnum):
    """A way out.

    LOWER_RATE: Less load.
    FREEDOM: No operator kept as it is, and changes of any size.
    TASKS: More tasks, which takes a new submit.
    MACHINES: More machines like the largest.
    """

    LOWER_RATE = "lower-rate"
    FREEDOM = "freedom"
    TASKS = "tasks"
    MACHINES = "machines"


@dataclass(frozen=True, slots=True, kw_only=True)
class WayOut:
    """What would make the objective feasible.

    Attributes:
        amount: Tuples per second, or how many machines more, or how many times as many tasks.
        trial: The plan that would then meet it.
    """

    way: Way
    amount: float
    trial: Trial


def find_ways_out(problem: Problem, found: Candidates) -> tuple[WayOut, ...]:
    """What would do; nothing of it where nothing does."""
    return tuple(_list_ways(problem, found))


def _list_ways(problem: Problem, found: Candidates) -> Iterator[WayOut]:
    lower = _lower_rate(problem, found.nearest)
    if lower is not None:
        yield lower
    free = replace(problem.limits, keep=frozenset(), max_change=None)
    if free != problem.limits:
        yield from _try(Way.FREEDOM, 1.0, replace(problem, limits=free))
    # What was measured was measured of the tasks that there were.
    if problem.behaviour.origin is Origin.DECLARED and _is_short_of_tasks(problem, found):
        more = _with_tasks(problem.job, 2)
        wide = replace(problem, job=more, behaviour=JobBehaviour.from_job(more), current=None)
        yield from _try(Way.TASKS, 2.0, replace(wide, limits=free))
    if problem.minimise is Minimise.MONEY:
        # As many machines as are needed are bought anyway.
        return
    nodes = len(problem.cluster.nodes)
    for machines in dict.fromkeys((1, max(nodes // 2, 1), nodes)):
        larger = replace(problem.job, cluster=_with_machines(problem.cluster, machines))
        ways = list(_try(Way.MACHINES, float(machines), replace(problem, job=larger)))
        if ways:
            yield from ways
            return


def _try(way: Way, amount: float, problem: Problem) -> Iterator[WayOut]:
    # The executors are all that counts here: one search over workers.
    asked = replace(problem, minimise=Minimise.EXECUTORS)
    found = find_candidates(asked, most_work=MOST_WORK // SHARE)
    if found.best:
        yield WayOut(way=way, amount=amount, trial=found.best[0])


def _lower_rate(problem: Problem, nearest: Trial) -> WayOut | None:
    """The highest part of the load at which the nearest plan meets the latency goals."""
    if nearest.schedule is None:
        return None
    low, high, best = LOWEST, 1.0, None
    goal = replace(problem.objective, rates=())
    for _ in range(STEPS):
        part = math.sqrt(low * high)
        job = replace(problem.job, workload=problem.workload.times(part))
        # What is asked for is the latency at that rate, whatever rate was wished for.
        less = replace(problem, job=job, objective=goal)
        trial = Trials(less).look(nearest.counts, nearest.setup)
        if trial.is_met:
            low, best = part, trial
        else:
            high = part
    if best is None:
        return None
    return WayOut(way=Way.LOWER_RATE, amount=low * problem.offered_per_second, trial=best)


def _is_short_of_tasks(problem: Problem, found: Candidates) -> bool:
    if found.short:
        return True
    tasks = {one.name: one.tasks for one in problem.job.topology.operators}
    return any(
        count == min(tasks[name] for name in group)
        for group, count in zip(problem.groups, found.nearest.counts, strict=True)
    )


def _with_tasks(job: Job, factor: int) -> Job:
    """The job with so many times as many tasks of all processors."""
    operators = tuple(
        replace(one, tasks=one.tasks * factor) if one.kind is OperatorKind.PROCESSOR else one
        for one in job.topology.operators
    )
    return replace(job, topology=replace(job.topology, operators=operators))


def _with_machines(cluster: Cluster, more: int) -> Cluster:
    """The cluster with machines like its largest one."""
    largest = max(cluster.nodes, key=lambda node: cluster.machine_of(node.name).cores)
    machine = cluster.machine_of(largest.name)
    machines: list[Machine] = []
    nodes: list[Node] = []
    for number in range(1, more + 1):
        name = f"another-{number}"
        machines.append(replace(machine, name=name))
        nodes.append(replace(largest, name=name, machine=name))
    return replace(cluster, machines=(*cluster.machines, *machines), nodes=(*cluster.nodes, *nodes))
