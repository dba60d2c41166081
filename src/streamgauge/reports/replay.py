"""What jobs that share a cluster would have been worth under several policies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from streamgauge.drawing.charts import Series, draw_line_chart
from streamgauge.drawing.wording import (
    count,
    format_number,
    format_period,
    format_share,
)
from streamgauge.planning.sharing.course import Course
from streamgauge.planning.sharing.shared_cluster import SharedCluster
from streamgauge.reports.content import (
    Block,
    Chart,
    Column,
    FigureRow,
    Grade,
    Row,
    Section,
    Table,
    Term,
    Text,
    Verdict,
    tabulate,
)
from streamgauge.reports.report import Report, list_figures

# Lines that can be told apart in a picture, and points that one has.
MOST_LINES, MOST_POINTS = 6, 500
# Decisions that a page lists of one policy; --json has them all.
MOST_DECISIONS = 15
LEVELS = (0.05, 0.15, 0.5, 0.9)
# Of sums of utilities.
ROUNDING = 1e-9
CUMULATED = "part of the time with at most so much satisfaction, all worlds"

POLICY = Column("policy")
SATISFACTION = Column("satisfaction", "mean")
LOW, MEDIAN = Column("5th", "percentile"), Column("median")
MISSED = Column("objective missed", "of the time")
RESCALES = Column("rescales")
DOWN = Column("standing still")
EXECUTORS, CORES = Column("executor-hours"), Column("core-hours")
COST = Column("cost")
CONVERGED = Column("settled after")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A figure over all worlds: its mean, and half of its 90 % interval (NaN for one world)."""

    mean: float
    half_width: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """By Student's quantile."""
        from scipy.special import stdtrit

        known = [value for value in values if math.isfinite(value)]
        if not known:
            return cls(mean=math.nan, half_width=math.nan)
        mean = float(np.mean(known))
        if len(known) < 2:
            return cls(mean=mean, half_width=math.nan)
        error = float(np.std(known, ddof=1)) / math.sqrt(len(known))
        return cls(mean=mean, half_width=float(stdtrit(len(known) - 1, 0.95)) * error)

    def show(self, form: Callable[[float], str]) -> str:
        """``99.2 % ± 0.1 %``."""
        if math.isnan(self.mean):
            return "–"
        if math.isnan(self.half_width):
            return form(self.mean)
        return f"{form(self.mean)} ± {form(self.half_width)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySummary:
    """One policy over all worlds."""

    policy: str
    satisfaction: Spread
    percentiles: Mapping[float, float]
    violations: Spread
    rescales: Spread
    downtime_seconds: Spread
    executor_hours: Spread
    core_hours: Spread
    cost: Spread
    final: Spread
    converged_seconds: Spread
    by_job: Mapping[str, float]

    @classmethod
    def of(cls, courses: Sequence[Course], price_per_executor_hour: float) -> PolicySummary:
        """The courses of one policy."""
        system = np.concatenate([one.system for one in courses])
        shares = np.mean([one.by_job for one in courses], axis=0)
        return cls(
            policy=courses[0].policy,
            satisfaction=Spread.of([one.satisfaction for one in courses]),
            percentiles={level: float(np.quantile(system, level)) for level in LEVELS},
            violations=Spread.of([one.violations for one in courses]),
            rescales=Spread.of([sum(one.rescales.values()) for one in courses]),
            downtime_seconds=Spread.of([one.downtime_seconds for one in courses]),
            executor_hours=Spread.of([one.executor_hours for one in courses]),
            core_hours=Spread.of([one.core_hours for one in courses]),
            cost=Spread.of([price_per_executor_hour * one.executor_hours for one in courses]),
            final=Spread.of([one.final for one in courses]),
            converged_seconds=Spread.of([one.converged_seconds for one in courses]),
            by_job=dict(zip(courses[0].jobs, shares.tolist(), strict=True)),
        )


@dataclass(frozen=True, kw_only=True)
class ReplayReport(Report):
    """All policies, the best first."""

    cluster: SharedCluster
    courses: tuple[Course, ...]

    @cached_property
    def summaries(self) -> tuple[PolicySummary, ...]:
        """By satisfaction, the highest first."""
        by_policy: dict[str, list[Course]] = {}
        for course in self.courses:
            by_policy.setdefault(course.policy, []).append(course)
        price = self.cluster.price_per_executor_hour
        made = [PolicySummary.of(courses, price) for courses in by_policy.values()]
        return tuple(sorted(made, key=lambda one: -one.satisfaction.mean))

    @property
    def worlds(self) -> int:
        """In how many worlds each policy was tried."""
        return len({course.seed for course in self.courses})

    @property
    def title(self) -> str:
        """What was replayed."""
        return f"{self.cluster.name}, replayed"

    @property
    def about(self) -> str:
        """Jobs, machines, time."""
        machines = self.cluster.machines
        return (
            f"{count(len(self.cluster.jobs), 'job')} on {count(len(machines), 'machine')} with"
            f" {sum(machines):g} cores, {format_number(self.cluster.hours)} hours,"
            f" {count(len(self.summaries), 'policy', 'policies')} in"
            f" {count(self.worlds, 'world')}"
        )

    @property
    def verdict(self) -> Verdict:
        """Which policy does best, and which does nearly as well with less."""
        best, *others = self.summaries
        sentence = (
            f" satisfies objectives best: {best.satisfaction.show(format_share)} of the utility,"
            f" with {best.executor_hours.show(format_number)} executor-hours and"
            f" {best.rescales.show(format_number)} rescales."
        )
        near = [
            one
            for one in others
            if one.satisfaction.mean >= best.satisfaction.mean - 0.01
            and one.executor_hours.mean < 0.95 * best.executor_hours.mean
        ]
        if near:
            cheaper = min(near, key=lambda one: one.executor_hours.mean)
            saved = 1.0 - cheaper.executor_hours.mean / best.executor_hours.mean
            sentence += (
                f" {cheaper.policy} comes within 1 % of that with {format_share(saved)} fewer"
                " executor-hours."
            )
        grade = Grade.FINE if best.satisfaction.mean >= 0.95 else Grade.WARNING
        return Verdict(grade=grade, word=best.policy, sentence=sentence)

    @property
    def headline(self) -> Sequence[Term]:
        """The best policy's figures."""
        best = self.summaries[0]
        return (
            Term("satisfaction", best.satisfaction.show(format_share)),
            Term("objectives missed", f"{best.violations.show(format_share)} of the time"),
            Term("executor-hours", best.executor_hours.show(format_number)),
        )

    def sections(self) -> Sequence[Section]:
        """Policies, jobs, time lines, decisions."""
        return (
            Section("policies", "Policies", [self._policies(), *self._pictures()]),
            Section("jobs", "Satisfaction by job", [self._jobs()]),
            Section("decisions", "Decisions", self._decisions()),
            Section("world", "What they were up against", [Text(self._surroundings())]),
        )

    def _policies(self) -> Table:
        rows: list[Row] = [
            {
                POLICY: one.policy,
                SATISFACTION: one.satisfaction.show(format_share),
                LOW: format_share(one.percentiles[0.05]),
                MEDIAN: format_share(one.percentiles[0.5]),
                MISSED: one.violations.show(format_share),
                RESCALES: one.rescales.show(format_number),
                DOWN: format_period(one.downtime_seconds.mean),
                EXECUTORS: one.executor_hours.show(format_number),
                CORES: format_number(one.core_hours.mean),
                **({COST: one.cost.show(format_number)} if self.cluster.has_price else {}),
                CONVERGED: "–"
                if math.isnan(one.converged_seconds.mean)
                else format_period(one.converged_seconds.mean),
            }
            for one in self.summaries
        ]
        return tabulate(
            "Policies, the best first",
            rows,
            note="Satisfaction: utility of all jobs over its maximum. Settled: how long after the"
            " policy began that was last below 95 % of its final value. ±: 90 % interval of the"
            " mean over worlds.",
        )

    def _jobs(self) -> Table:
        columns = {one.policy: Column(one.policy) for one in self.summaries}
        rows: list[Row] = [
            {
                Column("job"): job.name,
                Column("worth"): format_number(job.slo.max_utility),
                **{
                    columns[one.policy]: format_share(one.by_job[job.name])
                    for one in self.summaries
                },
            }
            for job in self.cluster.jobs
        ]
        return tabulate("Utility of each job over its maximum, mean", rows)

    def _pictures(self) -> list[Block]:
        first = [one for one in self.courses if one.seed == self.courses[0].seed]
        order = [one.policy for one in self.summaries][:MOST_LINES]
        shown = sorted(
            (one for one in first if one.policy in order), key=lambda one: order.index(one.policy)
        )
        charts: list[Block] = []
        for title, values in (
            ("satisfaction in the first world", lambda one: one.system),
            ("executors of all jobs in the first world", lambda one: one.executors.sum(axis=1)),
        ):
            charts.append(Chart(title=title, draw=partial(_draw, shown, title, values)))
        all_shown = {name: [one for one in self.courses if one.policy == name] for name in order}
        charts.append(Chart(title=CUMULATED, draw=partial(_draw_cumulated, all_shown)))
        return charts

    def _decisions(self) -> list[Block]:
        best = self.summaries[0].policy
        course = next(one for one in self.courses if one.policy == best)
        rows: list[Row] = [
            {
                Column("after"): format_period(one.at),
                Column("rule", words=True): one.decision.rule,
                Column("why", words=True): one.decision.reason,
                Column("executors", words=True): "; ".join(
                    f"{job}: {', '.join(f'{name} {number}' for name, number in changes.items())}"
                    for job, changes in one.decision.executors.items()
                ),
            }
            for one in course.acted[:MOST_DECISIONS]
        ]
        more = len(course.acted) - len(rows)
        told = [
            f"{format_period(one.at)}: {line}"
            for one in course.remarks[:MOST_DECISIONS]
            for line in one.decision.refused
        ]
        return [
            tabulate(
                f"What {best} did in the first world",
                rows,
                note=f"{more} more are in --json." if more > 0 else "",
            ),
            Text(told),
        ]

    def _surroundings(self) -> list[str]:
        around = self.cluster.surroundings
        said = [
            f"Service times differ from what jobs declare by {format_share(around.service_error)}"
            f" (standard deviation); executors do more by their number to a power from"
            f" {around.least_exponent:g} to {around.most_exponent:g}; what policies see is off by"
            f" {format_share(around.noise)} and {format_period(around.step_seconds)} late.",
            f"A job whose executors change stands still for"
            f" {format_period(around.downtime_seconds)}.",
        ]
        if around.policies_from_seconds:
            said.append(f"Policies are asked after {format_period(around.policies_from_seconds)}.")
        if around.changes:
            said.append(f"People change executors {count(len(around.changes), 'time')}.")
        if around.background:
            said.append(f"Other programs take cores {count(len(around.background), 'time')}.")
        if around.admission:
            said.append("New jobs wait while others miss their objectives.")
        if around.outages:
            said.append(f"Metrics are missing for {count(len(around.outages), 'time')}.")
        if around.failures:
            said.append(f"Cores fail {count(len(around.failures), 'time')}.")
        said.append(
            "Jobs are fluids here: throughput, backlog and CPU follow the load at once, latency is"
            " that of queues in steady state."
        )
        return said

    def document(self) -> Mapping[str, Any]:
        """Summaries, and every course with its decisions."""
        return {
            "cluster": self.cluster.name,
            "verdict": str(self.verdict),
            "worlds": self.worlds,
            "policies": [
                {
                    "policy": one.policy,
                    **{
                        name: {"mean": spread.mean, "half_width": spread.half_width}
                        for name, spread in _spreads(one).items()
                    },
                    "satisfaction_percentiles": {
                        f"p{100 * level:g}": value for level, value in one.percentiles.items()
                    },
                    "by_job": dict(one.by_job),
                }
                for one in self.summaries
            ],
            "courses": [
                {
                    "policy": one.policy,
                    "seed": one.seed,
                    "satisfaction": one.satisfaction,
                    "rescales": dict(one.rescales),
                    "decisions": [
                        {
                            "at_seconds": acted.at,
                            "rule": acted.decision.rule,
                            "reason": acted.decision.reason,
                            "executors": {
                                job: dict(changes)
                                for job, changes in acted.decision.executors.items()
                            },
                        }
                        for acted in one.acted
                    ],
                    "refused": [
                        {"at_seconds": remark.at, "what": list(remark.decision.refused)}
                        for remark in one.remarks
                    ],
                }
                for one in self.courses
            ],
        }

    def figures(self) -> Iterator[FigureRow]:
        """Of policies, with their intervals, and of jobs."""
        for one in self.summaries:
            for name, spread in _spreads(one).items():
                low, high = spread.mean - spread.half_width, spread.mean + spread.half_width
                yield FigureRow(
                    subject="policy",
                    name=one.policy,
                    figure=name,
                    value=spread.mean,
                    unit="s" if name.endswith("_seconds") else "",
                    low=low,
                    high=high,
                )
            for job, share in one.by_job.items():
                yield from list_figures("job", f"{one.policy}: {job}", {"satisfaction": share})


def _spreads(one: PolicySummary) -> dict[str, Spread]:
    return {
        "satisfaction": one.satisfaction,
        "violations": one.violations,
        "rescales": one.rescales,
        "downtime_seconds": one.downtime_seconds,
        "executor_hours": one.executor_hours,
        "core_hours": one.core_hours,
        "cost": one.cost,
        "final": one.final,
        "converged_seconds": one.converged_seconds,
    }


def _draw(
    courses: Sequence[Course],
    title: str,
    values: Callable[[Course], np.ndarray[Any, Any]],
    *,
    embedded: bool = False,
) -> str:
    steps = len(courses[0].share)
    width = max(1, math.ceil(steps / MOST_POINTS))
    whole = steps - steps % width
    hours = np.arange(0, whole, width) * courses[0].step_seconds / 3600.0
    return draw_line_chart(
        hours.tolist(),
        [
            Series(
                name=one.policy,
                values=values(one)[:whole].reshape(-1, width).mean(axis=1).tolist(),
            )
            for one in courses
        ],
        title=title,
        x_title="hours",
        embedded=embedded,
    )


def _draw_cumulated(by_policy: Mapping[str, Sequence[Course]], *, embedded: bool = False) -> str:
    levels = np.linspace(0.0, 1.0, 101)
    return draw_line_chart(
        (100.0 * levels).tolist(),
        [
            Series(
                name=name,
                values=np.mean(
                    [
                        np.searchsorted(np.sort(one.system), levels + ROUNDING, side="right")
                        / len(one.system)
                        for one in courses
                    ],
                    axis=0,
                ).tolist(),
            )
            for name, courses in by_policy.items()
        ],
        title=CUMULATED,
        x_title="satisfaction, %",
        embedded=embedded,
    )
