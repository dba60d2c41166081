"""Recommended plans: against the best of all plans, and how often what is claimed comes true.

*Small cases*: random jobs of four operators with few tasks. All numbers of executors are tried,
under the same workers and the even scheduler: the search should find as few as the fewest.

*Odds*: an emulated run of hidden behaviours is calibrated into a profile, a plan is recommended
from that profile alone, and simulated with the hidden behaviours for as long as the window of the
claim. Claims of 50 to 80 %, 80 to 95 % and 95 % and more should come true as often as they say.
Cases are measured twenty at a time, so that a run that was stopped goes on (``--resume``).
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.jobs import simulate_job
from benchmarks.prediction_cells import (
    Cell,
    at_low_load,
    at_rate,
    draw_cells,
    find_highest_rate,
)
from benchmarks.profiles import calibrated_files
from benchmarks.report import Entry, say
from streamgauge.api.intervals import ParameterNoise, PlanDraws
from streamgauge.lake.replica_files import parse_replicas
from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.model_error import load_default_errors
from streamgauge.models.objectives import LatencyGoal, Objective
from streamgauge.models.odds import find_margin, find_odds, find_reach
from streamgauge.planning.recommending.candidates import find_candidates
from streamgauge.planning.recommending.problem import Problem
from streamgauge.planning.recommending.search import Search
from streamgauge.planning.recommending.trials import Setup, Trials
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job, parse_profile
from streamgauge.profile.job import Job
from streamgauge.profile.profile import Profile
from streamgauge.profile.resampled import Resampled

SEED = 22
ODDS = "recommend odds"
SMALL, FEW_SMALL = 100, 12
BATCHES, BATCH, FEW_ODDS = 10, 20, 2
# Two executors of the source times these to the third power can all be looked at.
MOST_TASKS = 6
WINDOW_SECONDS = 60.0
MEASURED_SECONDS = 180.0
# Odds that are aimed at: claims of all sizes are to be tested.
AIMS = (0.6, 0.85, 0.97)
BINS = ((0.5, 0.8), (0.8, 0.95), (0.95, 1.0 + 1e-9))


@dataclass(frozen=True, slots=True)
class SmallCase:
    """A problem whose plans can all be looked at."""

    problem: Problem
    setup: Setup


def draw_small_case(seed: int) -> SmallCase | None:
    """A random job with a latency goal a little above the best that it can reach."""
    rng = np.random.default_rng([SEED, seed])
    job = _draw_small_job(rng)
    problem = Problem(job=job, behaviour=JobBehaviour.from_job(job), objective=_goal(1e6))
    setup = Setup(workers=job.configuration.workers)
    widest = tuple(one.most for one in problem.bounds)
    reached = Trials(problem).look(widest, setup)
    if not reached.is_met or reached.prediction is None:
        return None
    best = reached.prediction.latency.quantiles[0.99]
    return SmallCase(replace(problem, objective=_goal(best * float(rng.uniform(1.02, 2.0)))), setup)


def _draw_small_job(rng: np.random.Generator) -> Job:
    """A source and three operators in a row or a fork, some keyed, on two to four machines."""
    names = ["source", "first", "second", "third"]
    senders = ["source", "first", str(rng.choice(["first", "second"]))]
    keyed: dict[str, Any] = {"fields": ["key"]}
    streams = [
        {
            "from": sender,
            "stream": "out",
            "to": name,
            "grouping": keyed if index and rng.random() < 0.4 else "shuffle",
        }
        for index, (sender, name) in enumerate(zip(senders, names[1:], strict=True))
    ]
    behaviours: dict[str, Any] = {"source": {"service": {"cpu_ms": 0.05}}}
    for name in names[1:]:
        mean, scv = float(np.exp(rng.uniform(-1.6, 1.6))), float(rng.uniform(0.2, 2.0))
        behaviours[name] = {"service": {"wait_ms": {"gamma": {"mean": mean, "scv": scv}}}}
        if name in senders:
            behaviours[name]["outputs"] = {"out": 1}
            if any(one["from"] == name and one["grouping"] is keyed for one in streams):
                behaviours[name]["keys"] = {"out": {"zipf": {"count": 100, "exponent": 0.5}}}
    tasks = {name: int(rng.integers(2, MOST_TASKS + 1)) for name in names}
    tasks["source"] = 2
    nodes = int(rng.integers(2, 5))
    document = {
        "streamgauge": 1,
        "topology": {
            "name": "small",
            "acked": False,
            "operators": {
                name: {"tasks": tasks[name]} | ({"kind": "source"} if name == "source" else {})
                for name in names
            },
            "streams": streams,
        },
        "behaviours": behaviours,
        "configuration": {"engine": str(rng.choice(["storm-1", "storm-2"])), "workers": nodes},
        "cluster": {"uniform": {"nodes": nodes, "slots": 2, "cores": 16, "latency_ms": 0.2}},
        "workload": [
            {"source": "source", "stream": "out", "per_second": float(rng.uniform(50, 800))}
        ],
    }
    return parse_job(json.dumps(document))


def _goal(seconds: float) -> Objective:
    return Objective(latencies=(LatencyGoal(figure="p99", most_seconds=seconds),))


def find_fewest(case: SmallCase) -> int | None:
    """The fewest executors of all plans that meet the objective."""
    trials = Trials(case.problem)
    ranges = [range(one.least, one.most + 1) for one in case.problem.bounds]
    for counts in sorted(itertools.product(*ranges), key=sum):
        if trials.look(counts, case.setup).is_met:
            return sum(counts)
    return None


def _compare_with_all(done: Mapping[str, Entry], *, large: bool) -> Entry:
    del done
    return compare_with_all(SMALL if large else FEW_SMALL)


def compare_with_all(wanted: int) -> Entry:
    """So many small cases."""
    entry = Entry("recommend small", "executors found over the fewest of all plans, small jobs")
    for seed in itertools.count():
        if len(entry.cases) >= wanted or seed > 50 * wanted:
            break
        case = draw_small_case(seed)
        fewest = None if case is None else find_fewest(case)
        if case is None or fewest is None:
            continue
        trials = Trials(case.problem)
        found = Search(trials).run(case.setup).met
        entry.cases[f"job {seed}"] = {
            "fewest": fewest,
            "found": None if found is None else found.executors,
            "plans": math.prod(one.most - one.least + 1 for one in case.problem.bounds),
            "looked at": trials.looked_at,
        }
    cases = list(entry.cases.values())
    over = [one["found"] / one["fewest"] for one in cases if one["found"] is not None]
    entry.ratios["cases"] = len(cases)
    entry.ratios["found a plan"] = len(over) / len(cases)
    entry.ratios["optimal"] = float(np.mean([one == 1.0 for one in over]))
    entry.ratios["within 5 %"] = float(np.mean([one <= 1.05 for one in over]))
    entry.ratios["worst"] = max(over)
    return entry


def _check_odds(number: int, done: Mapping[str, Entry], *, large: bool) -> Entry:
    """One batch of cases."""
    del done
    entry = Entry(f"{ODDS} {number}", "claims of recommended plans, and whether they came true")
    first = (number - 1) * BATCH
    count = BATCH if large else FEW_ODDS
    cells = dict(enumerate(draw_cells(BATCHES * BATCH, SEED)[first : first + count], first))
    measured = {place: at_low_load(_make(cell)) for place, cell in cells.items()}
    for place, profile, replicas in calibrated_files(measured, seconds=MEASURED_SECONDS):
        if replicas is None:
            continue
        aim = AIMS[place % len(AIMS)]
        case = judge_claim(
            cells[place], parse_profile(profile), parse_replicas(replicas), aim, place
        )
        if case is not None:
            entry.cases[cells[place].name] = case
            say(f"{place}: claimed {case['claimed']:.0%}, {'met' if case['met'] else 'missed'}")
    return entry


def _add_up(done: Mapping[str, Entry], *, large: bool) -> Entry:
    """All batches that were measured."""
    del large
    entry = Entry(ODDS, "claims of recommended plans that came true when simulated")
    for name, batch in done.items():
        if name.startswith(f"{ODDS} "):
            entry.cases.update(batch.cases)
    _summarise(entry)
    return entry


def _make(cell: Cell) -> Job:
    return cell.make().at_step(cell.measured)


def judge_claim(
    cell: Cell, profile: Profile, replicas: Resampled, aim: float, seed: int
) -> dict[str, Any] | None:
    """Recommend from the profile, simulate with what was hidden; None where no plan was found."""
    rng = np.random.default_rng([SEED, seed])
    hidden = _make(cell)
    job = at_rate(hidden, cell.load * find_highest_rate(hidden))
    behaviour = JobBehaviour.from_profile(profile)
    assert job.workload is not None
    now = place_job(job).plan
    before = AnalyticModel().predict(behaviour, now, job.workload)
    if before.overloaded:
        return None
    goal = before.latency.quantiles[0.99] * float(rng.uniform(0.8, 1.3))
    problem = Problem(job=job, behaviour=behaviour, objective=_goal(goal), current=now)
    claim = _claim(problem, profile, replicas, aim)
    if claim is None:
        return None
    plan, odds = claim
    truth = simulate_job(
        replace(job, configuration=plan.logical.configuration, plan=None, steps={}),
        plan,
        seconds=WINDOW_SECONDS,
        warmup=WINDOW_SECONDS / 2.0,
        seed=1,
    )
    reached = truth.latency.quantile(0.99)
    return {
        "claimed": odds,
        "aim": aim,
        "goal": goal,
        "reached": reached,
        "met": bool(reached <= goal),
        "topology": cell.topology,
    }


def _claim(
    problem: Problem, profile: Profile, replicas: Resampled, aim: float
) -> tuple[Any, float] | None:
    """A plan and its odds, after one search and one with margin (`api.recommend`)."""
    noise, errors = ParameterNoise.from_replicas(profile, replicas), load_default_errors()
    margins: list[float] = []
    best: tuple[Any, float] | None = None
    assert problem.job.workload is not None
    for _ in range(3):
        found = find_candidates(problem, margins=margins)
        if not found.best:
            break
        plan = found.best[0].plan
        prediction = AnalyticModel().predict(problem.behaviour, plan, problem.job.workload)
        drawn = PlanDraws(
            prediction=prediction,
            plan=plan,
            workload=problem.job.workload,
            noise=noise,
            errors=errors,
            window_seconds=WINDOW_SECONDS,
        )
        intervals = drawn.find_intervals()
        odds = find_odds(problem.objective, prediction, intervals, problem.required_per_second)
        if math.isnan(odds):
            break
        if best is None or odds > best[1]:
            best = plan, odds
        if odds >= aim:
            break
        reach = find_reach(intervals.figures.get(problem.objective.latencies[0].key))
        margins = [max([*margins, find_margin(reach, aim)])]
    return best


def _summarise(entry: Entry) -> None:
    """How many claims of each size came true, and the binomial interval of what they said."""
    cases = list(entry.cases.values())
    entry.ratios["cases"] = len(cases)
    for low, high in BINS:
        claims = [one for one in cases if low <= one["claimed"] < high]
        name = f"{low:.0%} to {min(high, 1.0):.0%}"
        entry.ratios[f"{name}: claims"] = len(claims)
        if not claims:
            continue
        said = float(np.mean([one["claimed"] for one in claims]))
        entry.ratios[f"{name}: claimed"] = said
        entry.ratios[f"{name}: came true"] = float(np.mean([one["met"] for one in claims]))
        entry.ratios[f"{name}: binomial half-width"] = 1.645 * math.sqrt(
            said * (1.0 - said) / len(claims)
        )


PARTS: Mapping[str, Callable[..., Entry]] = {
    "recommend small": _compare_with_all,
    **{f"{ODDS} {number}": partial(_check_odds, number) for number in range(1, BATCHES + 1)},
    ODDS: _add_up,
}
