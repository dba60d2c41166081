"""How jobs do by their latest metrics: utility, objective, congested operators, machines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from streamgauge.drawing.wording import (
    count,
    format_duration,
    format_number,
    format_share,
    list_names,
)
from streamgauge.planning.sharing.congestion import Congestion, find_etp, find_pressures
from streamgauge.planning.sharing.observation import JobSeen
from streamgauge.planning.sharing.policy import Decision
from streamgauge.planning.sharing.slo import Quality, Slo
from streamgauge.planning.sharing.statistics import ClusterStatus, JobStatus
from streamgauge.reports.content import (
    Column,
    Commands,
    FigureRow,
    Grade,
    Row,
    Section,
    Text,
    Verdict,
    tabulate,
    tabulate_groups,
)
from streamgauge.reports.report import Report, list_figures

WORDS = {True: "met", False: "missed", None: "unknown"}


@dataclass(frozen=True, kw_only=True)
class SloStatusReport(Report):
    """All jobs with an objective.

    Attributes:
        metrics: The folder that was read.
        status: What the statistics module says.
        congestion: By which metric operators are congested.
        policy: Who was asked what to do; nobody where empty.
        decision: What it answered.
        refusal: Why new jobs should wait; empty where they need not.
        notes: What went wrong with files.
    """

    metrics: str
    status: ClusterStatus
    congestion: Congestion = Congestion.CAPACITY
    policy: str = ""
    decision: Decision | None = None
    refusal: str = ""
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What the report is about."""
        return "Objectives by live metrics"

    @property
    def about(self) -> str:
        """Where from, and of when."""
        return (
            f"{self.metrics}: {count(len(self.status.jobs), 'job')}, {_show_time(self.status.at)}"
        )

    @property
    def verdict(self) -> Verdict:
        """Who meets its objective, who does not, of whom it is not known."""
        by_word: dict[bool | None, list[str]] = {True: [], False: [], None: []}
        for name, job in self.status.jobs.items():
            by_word[is_met(job)].append(name)
        met, missed, unknown = by_word[True], by_word[False], by_word[None]
        rest = f" Not known: {list_names(unknown)}." if unknown else ""
        if missed:
            return Verdict(
                grade=Grade.BAD, word="Missed", sentence=f" by {list_names(missed)}.{rest}"
            )
        if unknown:
            some = f" {count(len(met), 'job')} met." if met else ""
            return Verdict(
                grade=Grade.WARNING, word="Unknown", sentence=f": {list_names(unknown)}.{some}"
            )
        if not met:
            return Verdict(grade=Grade.WARNING, word="No job", sentence=" has an objective here.")
        return Verdict(grade=Grade.FINE, word="Met", sentence=f" by {count(len(met), 'job')}.")

    @property
    def warnings(self) -> Sequence[str]:
        """What is not believed, and what came too late."""
        told = [*self.notes]
        told += [f"{times} × not believed: {why}" for why, times in self.status.refused.items()]
        if self.status.too_late:
            told.append(f"{count(self.status.too_late, 'sample')} came too late to count")
        return told

    @property
    def is_known(self) -> bool:
        """Whether anything is known of any job."""
        return any(is_met(job) is not None for job in self.status.jobs.values())

    def sections(self) -> Sequence[Section]:
        """Jobs, their operators, machines, and what a policy would do."""
        operators = {
            name: self._list_operators(job.seen)
            for name, job in self.status.jobs.items()
            if job.seen is not None
        }
        others = [f"without an objective: {', '.join(self.status.others)}"]
        return [
            Section(
                "jobs",
                "Jobs",
                [
                    tabulate("", [_describe(*one) for one in self.status.jobs.items()]),
                    Text(sentences=[*self._explain(), *(others if self.status.others else [])]),
                    Text(sentences=[f"new jobs wait: {self.refusal}"] if self.refusal else []),
                ],
            ),
            Section(
                "operators",
                "Operators",
                [
                    tabulate_groups(
                        "",
                        operators,
                        note=f"Congested by {self.congestion}: the pressure on it is above 1.",
                    )
                ],
            ),
            Section("machines", "Machines", [tabulate("", self._list_machines())]),
            Section("decision", f"What {self.policy} would do", self._describe_decision()),
        ]

    def document(self) -> Mapping[str, Any]:
        """Everything."""
        status = self.status
        return {
            "slo_status": {
                "at": _show_time(status.at),
                "metrics": self.metrics,
                "verdict": str(self.verdict),
                "congestion": str(self.congestion),
                "jobs": {name: self._write_job(job) for name, job in status.jobs.items()},
                "machines": {
                    name: {"load": one.load, "cores": one.cores, "congested": one.is_congested}
                    for name, one in status.machines.items()
                },
                "without_objective": list(status.others),
                "not_believed": dict(status.refused),
                "too_late": status.too_late,
                "decision": self._write_decision(),
                "new_jobs_wait": self.refusal or None,
                "notes": list(self.notes),
            }
        }

    def figures(self) -> Iterator[FigureRow]:
        """Jobs, operators and machines."""
        for name, job in self.status.jobs.items():
            if job.seen is None:
                continue
            seen = job.seen
            yield from list_figures(
                "job",
                name,
                {
                    "utility": math.nan if seen.utility is None else seen.utility,
                    "max_utility": job.slo.max_utility,
                    "juice": math.nan if seen.quality.juice is None else seen.quality.juice,
                    "lag": math.nan if job.lag is None else job.lag,
                    "offered_per_second": seen.offered_per_second,
                    **{
                        f"latency_{statistic}_seconds": value
                        for statistic, value in seen.quality.latency_seconds.items()
                    },
                },
            )
            for operator, one in seen.operators.items():
                figures = {"capacity": one.capacity, "queue": one.queue, "cores": one.cores}
                yield from list_figures("operator", f"{name}/{operator}", figures)
        for name, machine in self.status.machines.items():
            load = {"load": machine.load, "cores": machine.cores}
            yield from list_figures("machine", name, load)

    def _explain(self) -> list[str]:
        told = []
        for name, job in self.status.jobs.items():
            if job.unknown:
                told.append(f"{name} is not known: {job.unknown}")
            told += [f"{name}: {note}" for note in job.notes]
        return told

    def _list_operators(self, seen: JobSeen) -> list[Row]:
        pressures, etp = find_pressures(seen, self.congestion), find_etp(seen)
        return [
            {
                Column("operator"): name,
                Column("executors"): one.executors,
                Column("tuples", "/s"): format_number(one.input_per_second),
                Column("capacity", "busiest"): None
                if one.is_source
                else format_share(min(one.capacity, 1.0)),
                Column("waiting", "tuples"): None if one.is_source else format_number(one.queue),
                Column("held back"): format_share(one.held_back) if one.held_back else None,
                Column("ETP"): format_share(etp[name]),
                Column("pressure"): format_number(pressures[name]) if name in pressures else None,
                Column("congested"): "yes" if pressures.get(name, 0.0) > 1.0 else None,
            }
            for name, one in seen.operators.items()
        ]

    def _list_machines(self) -> list[Row]:
        return [
            {
                Column("machine"): name,
                Column("load", "threads that run or could"): format_number(one.load),
                Column("cores"): format_number(one.cores),
                Column("congested"): "yes" if one.is_congested else None,
            }
            for name, one in self.status.machines.items()
        ]

    def _describe_decision(self) -> list[Text | Commands]:
        if self.decision is None:
            return []
        what = f"{self.decision.rule}: {self.decision.reason}".rstrip(": ")
        blocks: list[Text | Commands] = [Text(sentences=[what, *self.decision.refused])]
        if self.decision.acts:
            blocks.append(Commands(lines=_commands(self.decision)))
        return blocks

    def _write_job(self, job: JobStatus) -> dict[str, Any]:
        written: dict[str, Any] = {
            "objective": describe_slo(job.slo),
            "met": is_met(job),
            "utility": None if job.seen is None else job.seen.utility,
            "max_utility": job.slo.max_utility,
            "unknown": job.unknown or None,
            "notes": list(job.notes),
            "window_ends": None if job.until is None else _show_time(job.until),
            "lag": job.lag,
            "latency_since": None if job.since is None else str(job.since),
        }
        if job.seen is not None:
            pressures = find_pressures(job.seen, self.congestion)
            etp = find_etp(job.seen)
            written |= {
                "juice": job.seen.quality.juice,
                "latency_seconds": dict(job.seen.quality.latency_seconds),
                "offered_per_second": job.seen.offered_per_second,
                "lag_per_second": None if job.lag is None else job.seen.lag_per_second,
                "congested": find_congested(job.seen, self.congestion),
                "operators": {
                    name: {
                        "executors": one.executors,
                        "input_per_second": one.input_per_second,
                        "capacity": one.capacity,
                        "queue": one.queue,
                        "queue_per_second": one.queue_per_second,
                        "cores": one.cores,
                        "held_back": one.held_back,
                        "etp": etp[name],
                        "pressure": pressures.get(name),
                    }
                    for name, one in job.seen.operators.items()
                },
            }
        return written

    def _write_decision(self) -> dict[str, Any] | None:
        if self.decision is None:
            return None
        return {
            "policy": self.policy,
            "rule": str(self.decision.rule),
            "reason": self.decision.reason,
            "executors": {name: dict(one) for name, one in self.decision.executors.items()},
            "refused": list(self.decision.refused),
            "commands": _commands(self.decision),
        }


def is_met(job: JobStatus) -> bool | None:
    """Whether a job meets its objective; None where that is not known."""
    return None if job.seen is None else job.seen.meets_slo


def find_congested(seen: JobSeen, by: Congestion) -> list[str]:
    """The operators under pressure."""
    return [name for name, pressure in find_pressures(seen, by).items() if pressure > 1.0]


def describe_slo(slo: Slo) -> str:
    """``p95 ≤ 20 ms and juice ≥ 0.99``."""
    parts = []
    if slo.latency_seconds is not None:
        parts.append(f"{slo.statistic} ≤ {format_duration(slo.latency_seconds)}")
    if slo.juice is not None:
        parts.append(f"juice ≥ {slo.juice:g}")
    return " and ".join(parts)


def _describe(name: str, job: JobStatus) -> Row:
    seen = job.seen
    quality = Quality() if seen is None else seen.quality
    latency, juice = quality.latency_seconds.get(job.slo.statistic), quality.juice
    utility = None if seen is None or seen.utility is None else seen.utility
    return {
        Column("job"): name,
        Column("objective", words=True): describe_slo(job.slo),
        Column("is"): WORDS[is_met(job)],
        Column("utility"): None
        if utility is None
        else f"{format_number(utility)} of {job.slo.max_utility:g}",
        Column("latency"): None if latency is None else format_duration(latency),
        Column("juice"): None if juice is None else f"{juice:.3f}",
        Column("lag", "tuples"): None if job.lag is None else format_number(job.lag),
        Column("window ends"): None if job.until is None else _show_time(job.until),
    }


def _commands(decision: Decision) -> list[str]:
    """What would bring it about on Storm."""
    return [
        " ".join(["storm rebalance", name, *(f"-e {one}={n}" for one, n in changes.items())])
        for name, changes in decision.executors.items()
    ]


def _show_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
