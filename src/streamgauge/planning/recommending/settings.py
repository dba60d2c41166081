"""Settings that people otherwise guess: tasks, the limit of open roots, ackers, nearness."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from streamgauge.errors import InvalidInput
from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.prediction import Prediction
from streamgauge.planning.recommending.problem import Problem
from streamgauge.planning.recommending.search import MOST_WORK, Search
from streamgauge.planning.recommending.trials import Trial, Trials
from streamgauge.profile.job import Job
from streamgauge.topology.configuration import Setting
from streamgauge.topology.topology import ACKER, MAX_TASKS
from streamgauge.transport.engine import Engine, load_engine
from streamgauge.transport.mechanics import Mechanics

# Tasks for each executor: so many times as many executors still have equally many tasks each.
GROWTH = 4
# While executors are looked for, there are tasks for so many times the work.
AMPLE_GROWTH = 8
# A limit of open roots under which it is found what a plan needs: hardly any plan reaches it.
WIDE_LIMIT = 100_000
# Ackers that are busier than this get company.
BUSY_ACKER = 0.7
AIMED_ACKER = 0.5


class Topic(StrEnum):
    """What an advice is about."""

    TASKS = "tasks"
    PENDING = "open roots"
    ACKERS = "ackers"
    NEARNESS = "nearness"


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A setting with the reason for it.

    Attributes:
        settings: Of the engine, that go into the plan; empty where it is said only.
        sentence: What to set, and why.
    """

    topic: Topic
    sentence: str
    settings: Mapping[str, Setting]


def widen_tasks(job: Job, problem: Problem) -> Job:
    """The job with ample tasks, to look for executors before it is submitted first."""
    demand = Search(Trials(problem)).demand.by_task
    wanted = {
        name: max(AMPLE_GROWTH, 1 << math.ceil(math.log2(AMPLE_GROWTH * float(work.sum()) + 1.0)))
        for name, work in demand.items()
    }
    return _with_tasks(job, problem, wanted, only_more=True)


def fit_tasks(job: Job, problem: Problem, trial: Trial) -> Job:
    """The job with `GROWTH` tasks for each executor of a plan, unless tasks divide evenly already.

    So executors can later be doubled twice, and all of them still have equally many tasks.
    """
    wanted = {
        name: GROWTH * count
        for group, count in zip(problem.groups, trial.counts, strict=True)
        for name in group
    }
    tasks = {one.name: one.tasks for one in job.topology.operators}
    wanted = {
        name: tasks[name]
        if tasks[name] >= count and tasks[name] % (count // GROWTH) == 0
        else count
        for name, count in wanted.items()
    }
    return _with_tasks(job, problem, wanted, only_more=False)


def _with_tasks(job: Job, problem: Problem, wanted: Mapping[str, int], *, only_more: bool) -> Job:
    """Sources with shares of tasks, and operators that are kept, have the tasks they have."""
    shared = {
        one.source
        for one in (() if job.workload is None else job.workload.emissions)
        if one.shares is not None
    }
    left = shared | problem.limits.keep
    operators = tuple(
        one
        if one.name in left or one.name not in wanted
        else replace(
            one,
            tasks=min(
                max(
                    wanted[one.name],
                    one.tasks if only_more else job.configuration.executors_of(one.name),
                ),
                problem.limits.at_most.get(one.name, MAX_TASKS),
            ),
        )
        for one in job.topology.operators
    )
    try:
        return replace(job, topology=replace(job.topology, operators=operators))
    except InvalidInput:
        # Behaviours by task fit no other number of tasks.
        return job


def advise_tasks(before: Job, after: Job) -> Advice | None:
    """What was decided about tasks."""
    was = {one.name: one.tasks for one in before.topology.operators}
    changed = [
        f"{one.name} {was[one.name]} → {one.tasks}"
        for one in after.topology.operators
        if one.tasks != was[one.name]
    ]
    if not changed:
        return None
    return Advice(
        topic=Topic.TASKS,
        settings={},
        sentence=f"tasks: {', '.join(changed)}. They are fixed when the job is submitted, and an"
        f" operator never has more executors; with {GROWTH} for each executor, executors can be"
        " doubled twice and still have equally many tasks each",
    )


def advise_pending(problem: Problem, trial: Trial) -> Advice | None:
    """How many roots a task of a source may have open, where a latency is to be kept.

    By Little's law limit · tasks / rate is how long a root takes, once sources are held back. So
    the largest limit that keeps the latency in overload is goal · highest rate / tasks; a smaller
    one than the load itself needs would hold it back.
    """
    topology = trial.plan.logical.topology
    goals = problem.objective.latencies
    setting = find_setting(problem, lambda made: made.max_pending, WIDE_LIMIT)
    if setting is None or not goals or not topology.has_ackers:
        return None
    found = _predict_with(problem, trial, {setting: WIDE_LIMIT})
    if found.pending is None or found.pending.ample is None:
        return None
    tasks = sum(one.tasks for one in topology.sources)
    goal = min(one.most_seconds for one in goals)
    kept = math.floor(goal * found.limit.per_second / tasks) if tasks else 0
    needed = found.pending.ample
    limit = min(max(kept, needed), WIDE_LIMIT)
    present = problem.job.configuration.settings.get(setting)
    if present == limit:
        return None
    why = (
        f"in overload roots then wait at the source, and the mean time of those inside stays below"
        f" {goal * 1e3:g} ms; the load itself needs {needed}"
        if kept >= needed
        else f"hardly any tuple then waits to be emitted; fewer than {kept} would be needed to keep"
        " the latency in overload as well, and they would hold the load back"
    )
    was = "" if present is None else f" (now {present})"
    fixed = "; it takes a new submit" if problem.is_submitted else ""
    return Advice(
        topic=Topic.PENDING,
        settings={} if problem.is_submitted else {setting: limit},
        sentence=f"{setting} = {limit} for each of {tasks} source tasks{was}: {why}{fixed}",
    )


def advise_ackers(problem: Problem, trial: Trial, prediction: Prediction) -> Advice | None:
    """More ackers, where those that there are would be busy."""
    ackers = prediction.operators.get(ACKER)
    if ackers is None or ackers.busiest < BUSY_ACKER:
        return None
    wanted = math.ceil(ackers.executors * ackers.utilisation / AIMED_ACKER)
    fixed = " (fixed when the job is submitted)" if problem.is_submitted else ""
    return Advice(
        topic=Topic.ACKERS,
        settings={},
        sentence=f"{wanted} ackers instead of {ackers.executors}{fixed}: the busiest would be busy"
        f" {ackers.busiest:.0%} of the time",
    )


def advise_nearness(trials: Trials, trial: Trial) -> Advice | None:
    """Load-aware shuffle turned off or on, where that saves executors or meets the objective.

    It sends to what is near until that is busy, so that executors farther off may have nothing to
    do. It is said only: the plan is one without it.

    Args:
        trials: That found the plan, with the margins that were aimed at.
        trial: The plan.
    """
    problem = trials.problem
    present = load_engine(problem.job.configuration.engine).mechanics(
        problem.job.configuration.settings
    )
    setting = find_setting(problem, lambda made: float(made.load_aware), 1)
    if setting is None:
        return None
    switch: Mapping[str, Setting] = {setting: present.load_aware}
    again = Trials(problem, trials.margins, trials.rate_margin)
    search = Search(again, most_work=MOST_WORK // 4)
    found = search.run(replace(trial.setup, settings=switch)).met
    if found is None or (trial.is_met and found.executors >= trial.executors):
        return None
    saved = trial.executors - found.executors
    fewer = f"{saved} executor{'s' if saved > 1 else ''} fewer would do"
    gain = fewer if trial.is_met else "the objective would be met"
    value = str(present.load_aware).lower()
    return Advice(
        topic=Topic.NEARNESS,
        settings={},
        sentence=f"with {setting}: {value} {gain}, as tuples are then divided evenly, wherever"
        " executors run",
    )


def find_setting(
    problem: Problem, figure: Callable[[Mechanics], float], value: Setting
) -> str | None:
    """The engine's name for what decides a figure of its mechanics; None where it has none."""
    engine: Engine = load_engine(problem.job.configuration.engine)
    default = figure(engine.mechanics({}))
    for name in engine.load_transport().settings:
        try:
            if figure(engine.mechanics({name: value})) != default:
                return name
        except InvalidInput:
            continue
    return None


def _predict_with(problem: Problem, trial: Trial, settings: Mapping[str, Setting]) -> Prediction:
    logical = trial.plan.logical
    configuration = replace(
        logical.configuration, settings={**logical.configuration.settings, **settings}
    )
    plan = replace(trial.plan, logical=replace(logical, configuration=configuration))
    return AnalyticModel().predict(problem.behaviour, plan, problem.workload)
