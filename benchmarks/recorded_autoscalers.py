"""Policies beside recorded runs of published autoscalers on real Flink, shown the same input.

The runs are of `delftdata/espa-autoscaling` (Apache-2.0), 42 files, a row every 15 s. They are not
part of the project: without them the study says so and has no figures. A run has one figure for the
whole job (the busy share, CPU use and back-pressure of its operators together) and counts
TaskManagers, so a job is one operator here, and TaskManagers are its executors.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.report import Entry, say
from streamgauge.planning.sharing.observation import (
    ClusterSeen,
    JobSeen,
    MachineSeen,
    OperatorSeen,
)
from streamgauge.planning.sharing.policy import load_policy
from streamgauge.planning.sharing.slo import Quality, Slo, Statistic

# Where the runs lie, unless the environment says another place.
FOLDER = Path("../shared/data/autoscalers")
VARIABLE = "STREAMGAUGE_AUTOSCALER_RUNS"
STEP_SECONDS = 15.0
# Figures are averages of a minute, as the study's programs asked for them.
AVERAGED = 4
# TaskManagers that the cluster had.
MOST = 16
# An autoscaler needs so long until what it asked for is seen, and counts as right until then.
REACTION = 8
# Two counts are near each other that differ by so much.
NEAR = 1
# Runs of each autoscaler, the policy that is to do the same, and where its setting comes from.
POLICIES: Mapping[str, tuple[str, str]] = {
    "HPA": ("hpa", "target"),
    "dhalion": ("dhalion", "scale_down"),
    "ds2-original-reactive": ("ds2", "scaling_factor"),
    "ds2-original-non-reactive": ("ds2", "scaling_factor"),
    "ds2-adapted-reactive": ("ds2", "scaling_factor"),
    "ds2-adapted-non-reactive": ("ds2", "scaling_factor"),
    # None of ours is one of these: Flink's own rule on their input, to see how far it is off.
    "vargav1": ("flink-rule", ""),
    "vargav2": ("flink-rule", ""),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One window of a run; rates in records per second, parts from 0 to 1."""

    at: float
    offered: float
    processed: float
    busy: float
    cpu: float
    held_back: float
    lag: float
    latency_seconds: float
    managers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How often a policy asks for what was seen.

    Attributes:
        steps: Windows in which the policy was asked.
        near: Part of them in which it asks for the number that was seen then, or one off.
        calm: The same of windows that are more than two minutes after a change.
        soon: Part in which it asks for a number (or one off) that was seen until two minutes later.
        stays: The same as `soon` for nobody who ever changes anything: what inertia alone gives.
        more: What it asks for over what was seen, on the mean, less one.
        changes: Windows within two minutes before a change of more than one.
        of_changes: Part of those in which it asks for the side to which the number then went.
    """

    steps: int
    near: float
    calm: float
    soon: float
    more: float
    stays: float
    changes: int
    of_changes: float


def run(*, large: bool) -> list[Entry]:
    """Agreement by autoscaler."""
    del large
    entry = Entry(
        "recorded autoscalers",
        "parts of 15 s windows in which a policy, shown what was measured, asks for the"
        " TaskManagers that were seen, or one off",
    )
    folder = Path(os.environ.get(VARIABLE, FOLDER))
    files = sorted(folder.glob("query-*.csv"))
    if not files:
        say(f"skipped: no recorded runs in {folder}; {VARIABLE} names another folder")
        return [entry]
    found: dict[str, list[Agreement]] = {}
    for file in files:
        query, _, rest = file.stem.partition("_")
        kind, _, setting = rest.rpartition("_")
        policy = name_policy(kind, setting)
        agreement = compare(policy, read_run(file))
        entry.cases[f"{query} {kind} {setting}: {policy}"] = {
            name: getattr(agreement, name) for name in Agreement.__slots__
        }
        found.setdefault(kind, []).append(agreement)
    for kind, several in found.items():
        for name in ("near", "calm", "soon", "stays", "more", "of_changes"):
            values = [getattr(one, name) for one in several]
            known = [value for value in values if math.isfinite(value)]
            entry.ratios[f"{name}: {kind}"] = float(np.mean(known)) if known else math.nan
    return [entry]


def name_policy(kind: str, percent: str) -> str:
    """The policy of ours that is to do what an autoscaler of the study did, with its setting."""
    name, setting = POLICIES[kind]
    part = int(percent) / 100
    return f"{name}:{setting}={part:g}" if setting and part else name


def read_run(file: Path) -> list[Row]:
    """The windows of a run that are complete."""
    rows = []
    with file.open(encoding="utf-8", newline="") as stream:
        for line in csv.DictReader(stream):
            row = _read(line)
            if row is not None:
                rows.append(row)
    return rows


def _read(line: Mapping[str, str]) -> Row | None:
    try:
        figures = {
            name: float(value) for name, value in line.items() if name not in ("datetime", "")
        }
    except ValueError:
        return None
    if not all(map(math.isfinite, figures.values())) or figures["taskmanager"] < 1.0:
        return None
    return Row(
        at=figures["seconds"],
        offered=figures["input_rate"],
        processed=figures["throughput"],
        busy=min(1.0, figures["busy_time"]),
        cpu=min(1.0, figures["CPU_load"]),
        held_back=min(1.0, figures["backpressure"] / 1000.0),
        lag=figures["lag"],
        latency_seconds=max(1e-3, figures["latency"]),
        managers=round(figures["taskmanager"]),
    )


def compare(policy_name: str, rows: Sequence[Row]) -> Agreement:
    """What a policy asks for in every window, held against what was seen.

    Nothing of it is done, so a policy that asked for something forgets that it did.
    """
    policy = load_policy(policy_name)
    asked: list[tuple[int, int]] = []
    due = rows[0].at
    for index, seen in enumerate(_observe(rows)):
        if seen.at < due:
            continue
        due = seen.at + policy.period_seconds
        before = deepcopy(policy)
        decision = policy.decide(seen)
        if decision.acts:
            policy = before
        now = rows[index].managers
        asked.append((index, decision.executors.get("job", {}).get("work", now)))
    managers = np.asarray([row.managers for row in rows])
    near, calm, soon, stays, sides, more = [], [], [], [], [], []
    for index, wanted in asked:
        now = managers[index]
        coming = managers[index : index + REACTION + 1]
        near.append(abs(wanted - now) <= NEAR)
        if (managers[max(0, index - REACTION) : index + 1] == now).all():
            calm.append(near[-1])
        more.append(wanted / now - 1.0)
        soon.append(bool((abs(coming - wanted) <= NEAR).any()))
        stays.append(bool(abs(coming[-1] - now) <= NEAR))
        moved = int(coming[-1] - now)
        if abs(moved) > NEAR:
            sides.append((wanted - now) * moved > 0)
    return Agreement(
        steps=len(asked),
        near=float(np.mean(near)),
        calm=float(np.mean(calm)) if calm else math.nan,
        soon=float(np.mean(soon)),
        more=float(np.mean(more)),
        stays=float(np.mean(stays)),
        changes=len(sides),
        of_changes=float(np.mean(sides)) if sides else math.nan,
    )


def _observe(rows: Sequence[Row]) -> Iterator[ClusterSeen]:
    """Windows as policies see them."""
    before = rows[0]
    for index, now in enumerate(rows):
        row = _average(rows[max(0, index - AVERAGED + 1) : index + 1])
        growth = (now.lag - before.lag) / STEP_SECONDS
        job = JobSeen(
            slo=Slo(latency_seconds=5.0),
            operators={
                "source": OperatorSeen(
                    executors=1, tasks=1, is_source=True, sent_per_second=row.processed
                ),
                "work": OperatorSeen(
                    executors=now.managers,
                    tasks=MOST,
                    executed={"source": row.processed},
                    capacity=row.busy,
                    cores=row.cpu * now.managers,
                    held_back=row.held_back,
                ),
            },
            offered_per_second=row.offered,
            lag=now.lag,
            lag_per_second=growth,
            quality=Quality(latency_seconds={Statistic.MEAN: row.latency_seconds}),
        )
        yield ClusterSeen(
            at=row.at, jobs={"job": job}, machines=(MachineSeen(load=0.0, cores=float(MOST)),)
        )
        before = now


def _average(rows: Sequence[Row]) -> Row:
    """The last of some rows, with means of what is a rate or a part."""

    def mean(name: str) -> float:
        return float(np.mean([getattr(row, name) for row in rows]))

    return replace(
        rows[-1],
        offered=mean("offered"),
        processed=mean("processed"),
        busy=mean("busy"),
        cpu=mean("cpu"),
        held_back=mean("held_back"),
    )
