"""Our policy against Henge on ten scenarios, in ten worlds each; how fast policies are."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from scipy.special import stdtrit

from benchmarks.report import Entry
from streamgauge.api.replay import replay
from streamgauge.planning.sharing.course import Course
from streamgauge.planning.sharing.files.shared_cluster_file import load_shared_cluster
from streamgauge.planning.sharing.observation import (
    ClusterSeen,
    JobSeen,
    MachineSeen,
    OperatorSeen,
)
from streamgauge.planning.sharing.policy import load_policy, policy_names
from streamgauge.planning.sharing.shared_cluster import SharedCluster
from streamgauge.planning.sharing.slo import Quality, Slo, Statistic

FOLDER = Path(__file__).parents[1] / "examples" / "sharing" / "henge"
SCENARIOS = ("h06", "h07", "h08", "h12", "h17", "h03", "h09", "h11", "h13", "h10")
OURS, THEIRS = "predict", "henge"
SEEDS = 10
# What is compared, and whether more of it is better.
FIGURES: dict[str, tuple[Callable[[Course], float], bool]] = {
    "final utility": (lambda one: one.final, True),
    "satisfaction": (lambda one: one.satisfaction, True),
    "convergence, s": (lambda one: one.converged_seconds, False),
    "reconfigurations": (lambda one: float(sum(one.rescales.values())), False),
    "executor-hours": (lambda one: one.executor_hours, False),
    "core-hours": (lambda one: one.core_hours, False),
}
# Differences below this part of Henge's figure are none.
SAME = 0.005
# The size of cluster that a cycle is timed for, and what is allowed.
JOBS, OPERATORS, EXECUTORS = 100, 5, 10
ALLOWED_SECONDS = 1.0
ALLOWED_DAY_SECONDS = 120.0


def compare_scenario(name: str, *, large: bool) -> Entry:
    """Both policies on a scenario; pairs of the same world."""
    seeds = 3 * SEEDS if large else SEEDS
    entry = Entry(
        f"sharing {name}",
        f"{OURS} and {THEIRS} in {seeds} worlds: means, and the interval of the difference",
    )
    report = replay(FOLDER / f"{name}.yaml", [OURS, THEIRS], seeds=seeds)
    courses = {
        policy: sorted(
            (one for one in report.courses if one.policy == policy), key=lambda one: one.seed
        )
        for policy in (OURS, THEIRS)
    }
    for figure, (read, _) in FIGURES.items():
        ours, theirs = ([read(one) for one in courses[policy]] for policy in (OURS, THEIRS))
        entry.cases[figure] = _compare(ours, theirs)
        entry.ratios[f"{figure}: {OURS}"] = entry.cases[figure]["ours"]
        entry.ratios[f"{figure}: {THEIRS}"] = entry.cases[figure]["theirs"]
    return entry


def sum_up(done: Mapping[str, Entry], *, large: bool) -> Entry:
    """Over all scenarios: medians, and how many were won."""
    del large
    entry = Entry(
        "sharing scenarios",
        f"{OURS} against {THEIRS}: medians over scenarios of the mean, as parts of Henge's;"
        " scenarios won, level and lost",
    )
    scenarios = [done[f"sharing {name}"] for name in SCENARIOS if f"sharing {name}" in done]
    for figure, (_, more_is_better) in FIGURES.items():
        rows = [one.cases[figure] for one in scenarios]
        ratios = [row["ours"] / row["theirs"] for row in rows if row["theirs"] > 0.0]
        if ratios:
            entry.ratios[f"{figure}: median part of Henge's"] = float(np.median(ratios))
        wins = [_sign(row, more_is_better=more_is_better) for row in rows]
        for word, sign in (("won", 1), ("level", 0), ("lost", -1)):
            entry.ratios[f"{figure}: {word}"] = float(wins.count(sign))
    return entry


def _compare(ours: Sequence[float], theirs: Sequence[float]) -> dict[str, float]:
    """Means, and the 90 % interval of the mean difference of pairs."""
    both = np.asarray([ours, theirs], dtype=np.float64)
    both = both[:, np.isfinite(both).all(axis=0)]
    apart = both[0] - both[1]
    number = len(apart)
    half = float(
        stdtrit(number - 1, 0.95) * apart.std(ddof=1) / np.sqrt(number) if number > 1 else np.nan
    )
    return {
        "ours": float(both[0].mean()),
        "theirs": float(both[1].mean()),
        "difference": float(apart.mean()),
        "half width": half,
    }


def _sign(row: dict[str, float], *, more_is_better: bool) -> int:
    """1 for a win, −1 for a loss; 0 where the interval holds zero or the difference is tiny."""
    apart = row["difference"]
    if abs(apart) <= max(row["half width"], SAME * abs(row["theirs"])):
        return 0
    return 1 if (apart > 0.0) == more_is_better else -1


def time_cycles(*, large: bool) -> Entry:
    """A decision of every policy for a large cluster."""
    entry = Entry(
        "sharing cycle",
        f"seconds of CPU of a decision for {JOBS} jobs with {JOBS * OPERATORS * EXECUTORS:,}"
        f" executors, as a part of {ALLOWED_SECONDS:g} s; the slowest of a course of rounds",
    )
    rounds = 240 if large else 60
    for name in policy_names():
        policy = load_policy(name)
        slowest = 0.0
        for number in range(rounds):
            seen = _make_cluster(
                at=number * policy.period_seconds, busy=0.5 + 0.45 * (number % 3) / 2
            )
            begin = time.process_time()
            policy.decide(seen)
            slowest = max(slowest, time.process_time() - begin)
        entry.cases[name] = {"seconds": slowest}
        entry.ratios[f"part of the second allowed: {name}"] = slowest / ALLOWED_SECONDS
    return entry


def _make_cluster(at: float, busy: float) -> ClusterSeen:
    """Lines of operators, the second of which is the busiest."""
    jobs = {}
    for number in range(JOBS):
        rate = 100.0 + number
        operators = {
            "source": OperatorSeen(executors=1, tasks=4, is_source=True, sent_per_second=rate)
        }
        before = "source"
        for place in range(OPERATORS):
            name = f"operator-{place}"
            operators[name] = OperatorSeen(
                executors=EXECUTORS,
                tasks=100,
                executed={before: rate},
                sent_per_second=rate,
                capacity=busy if place == 1 else 0.4 * busy,
                cores=EXECUTORS * 0.3,
                held_back=0.1 if place == 1 else 0.0,
            )
            before = name
        jobs[f"job-{number}"] = JobSeen(
            slo=Slo(latency_seconds=0.05, max_utility=10.0),
            operators=operators,
            offered_per_second=rate,
            quality=Quality(
                latency_seconds={Statistic.MEAN: 0.03 / (1.0 - busy) * (1.0 + number / 100)},
                juice=1.0,
            ),
        )
    return ClusterSeen(
        at=at, jobs=jobs, machines=tuple(MachineSeen(load=6.0, cores=8.0) for _ in range(100))
    )


def time_day(*, large: bool) -> Entry:
    """A day of ten jobs under every policy."""
    del large
    entry = Entry(
        "sharing a day of ten jobs",
        f"seconds of CPU of a replay under each policy, as a part of {ALLOWED_DAY_SECONDS:g} s",
    )
    cluster = _ten_jobs()
    for name in policy_names():
        begin = time.process_time()
        cluster.replay([load_policy(name)], seed=1)
        seconds = time.process_time() - begin
        entry.cases[name] = {"seconds": seconds}
        entry.ratios[f"part of the two minutes allowed: {name}"] = seconds / ALLOWED_DAY_SECONDS
    return entry


def _ten_jobs() -> SharedCluster:
    """The example's six, and four of them again."""
    day = load_shared_cluster(FOLDER.parent / "busy-day.yaml")
    again = tuple(replace(one, name=f"{one.name}-2") for one in day.jobs[:4])
    return replace(day, machines=day.machines * 2, jobs=(*day.jobs, *again))


def _part(measure: Callable[..., Entry]) -> Callable[..., Entry]:
    """A part of the study, which needs no other one."""
    return lambda done, *, large: measure(large=large)


PARTS: dict[str, Callable[..., Entry]] = {
    **{f"sharing {name}": _part(partial(compare_scenario, name)) for name in SCENARIOS},
    "sharing scenarios": sum_up,
    "sharing cycle": _part(time_cycles),
    "sharing a day of ten jobs": _part(time_day),
}
