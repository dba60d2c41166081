"""The statistics module (Henge, section 2.5): how jobs do by live metrics.

Samples come in as agents write them, in any order. At any time it says of every job what its last
window was like: juice, latency, lag, capacity and queues of operators; of machines how many threads
run or could. What does not rest on a whole window of whole counts is not known, and why is said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from streamgauge.planning.sharing.job_figures import (
    NANOSECONDS,
    PlanRecord,
    WatchedJob,
    count_emitted,
    explain_unknown,
    find_juice,
    find_operators,
)
from streamgauge.planning.sharing.observation import ClusterSeen, JobSeen, MachineSeen
from streamgauge.planning.sharing.plausible import doubt_sample
from streamgauge.planning.sharing.sliding_window import (
    MICROSECONDS,
    Measured,
    SlidingWindow,
    Span,
    WindowRules,
    end_of,
)
from streamgauge.planning.sharing.slo import Quality, Slo, Statistic
from streamgauge.planning.sharing.totals import Since, Totals, add_up
from streamgauge.topology.frozen import FrozenDict

LEVELS = {Statistic.P50: 0.5, Statistic.P95: 0.95, Statistic.P99: 0.99}
DELAY = "worker_run_delay"
# Of a histogram of the lake: observations by bin, and a probability.
Quantile = Callable[[Mapping[int, float], float], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStatus:
    """How one job does.

    Attributes:
        seen: Its last window; nothing where there is none, or where the job is gone.
        unknown: Why its utility is not known.
        notes: What a reader should know of the figures.
        until: When the window ended, in seconds since 1970; nothing without one.
        lag: Tuples that are due and not emitted; nothing where nobody measures it.
        since: From when its latency counts.
    """

    slo: Slo
    seen: JobSeen | None = None
    unknown: str = ""
    notes: tuple[str, ...] = ()
    until: float | None = None
    lag: float | None = None
    since: Since | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterStatus:
    """All jobs that are watched, and all machines.

    Attributes:
        at: When, in seconds since 1970.
        others: Jobs that have metrics and no objective.
        refused: Samples and lines that are not believed, by the reason.
        too_late: Samples that came after their time.
    """

    at: float
    jobs: Mapping[str, JobStatus]
    machines: Mapping[str, MachineSeen]
    others: tuple[str, ...] = ()
    refused: Mapping[str, int] = field(default_factory=FrozenDict)
    too_late: int = 0

    def as_seen(self) -> ClusterSeen:
        """The same as policies see it; an outage where nothing is known any more of any job."""
        begun = [one for one in self.jobs.values() if one.until is not None]
        return ClusterSeen(
            at=self.at,
            jobs={name: one.seen for name, one in self.jobs.items() if one.seen is not None},
            machines=tuple(self.machines.values()),
            stale=bool(begun) and all(one.seen is None or one.seen.doubt for one in begun),
        )


class Statistics:
    """Takes samples and plans, and says how jobs do.

    Args:
        jobs: Those with an objective, by name.
        quantile: Of the lake's histograms.
        rules: How windows slide.
    """

    def __init__(
        self,
        jobs: Mapping[str, WatchedJob],
        quantile: Quantile,
        rules: WindowRules | None = None,
    ) -> None:
        self._jobs = dict(jobs)
        self._quantile = quantile
        self._rules = rules or WindowRules()
        self._name_of = _names_by_topology(jobs)
        self._windows: dict[str, SlidingWindow] = {}
        self._machines = SlidingWindow(self._rules)
        self._machine_of: dict[str, str] = {}
        self._plans: dict[str, list[PlanRecord]] = {}
        self._doubts: dict[str, tuple[float, str]] = {}
        self._refused: dict[str, int] = {}
        self._others: set[str] = set()

    def watch(self, name: str, job: WatchedJob) -> None:
        """Look at one more job, or at another version of it."""
        self._jobs[name] = job
        self._name_of = _names_by_topology(self._jobs)

    def take(self, sample: Measured, at: float) -> None:
        """A sample that came at this time, in seconds since 1970."""
        if sample.topology is not None and sample.topology not in self._name_of:
            self._others.add(sample.topology)
        doubt = doubt_sample(sample, at, self._rules)
        if doubt:
            self.refuse(sample.topology, doubt, min(at, end_of(sample) / MICROSECONDS))
            return
        if sample.node is not None and sample.machine is not None:
            self._machine_of[sample.node] = sample.machine
        if sample.topology is None or sample.metric == DELAY:
            self._machines.take(sample)
        name = self._name_of.get(sample.topology or "")
        if name is not None:
            window = self._windows.get(name)
            if window is None:
                window = self._windows[name] = SlidingWindow(self._rules)
            window.take(sample)

    def take_plan(self, plan: PlanRecord) -> None:
        """A plan of a job, or one that ended."""
        name = self._name_of.get(plan.topology)
        if name is not None:
            self._plans.setdefault(name, []).append(plan)
        for one in plan.executors:
            if one.machine is not None:
                self._machine_of[one.node] = one.machine

    def refuse(self, topology: str | None, reason: str, at: float) -> None:
        """Something of a job and time that nobody should believe: it is not known for a window."""
        self._refused[reason] = self._refused.get(reason, 0) + 1
        name = self._name_of.get(topology or "")
        if name is not None:
            self._doubts[name] = max(self._doubts.get(name, (-math.inf, "")), (at, reason))

    def newest(self) -> float:
        """When the last bucket of all ended, in seconds since 1970; zero without any."""
        windows = [*self._windows.values(), self._machines]
        return max(one.newest_us() for one in windows) / MICROSECONDS

    def look(self, at: float) -> ClusterStatus:
        """How everything is at this time, in seconds since 1970."""
        rules = self._rules
        kept = rules.window_seconds + rules.late_seconds + rules.remembered_seconds
        for window in (*self._windows.values(), self._machines):
            window.forget(round((at - kept) * MICROSECONDS))
        return ClusterStatus(
            at=at,
            jobs={name: self._look_at(name, job, at) for name, job in self._jobs.items()},
            machines=self._look_at_machines(),
            others=tuple(sorted(self._others)),
            refused=FrozenDict(self._refused),
            too_late=sum(one.too_late for one in self._windows.values()),
        )

    def _look_at(self, name: str, job: WatchedJob, at: float) -> JobStatus:
        window = self._windows.get(name)
        if window is None:
            found = f"; there are metrics of {', '.join(sorted(self._others))}" * bool(self._others)
            lack = f"no metrics of a topology {job.topology.name!r}{found}"
            return JobStatus(slo=job.slo, unknown=lack)
        at_us = round(at * MICROSECONDS)
        plan = self._plan_at(name, at_us)
        workers = self._expected(window, plan, at_us)
        heard = window.heard_of()
        last = max(heard.values(), default=window.newest_us()) / MICROSECONDS
        if at - last > self._rules.late_seconds + self._rules.remembered_seconds:
            gone = f"no metrics for {at - last:.0f} s"
            return JobStatus(slo=job.slo, unknown=gone, until=last)
        known = [worker for worker in workers if worker in heard]
        span = window.span_to(window.end_at(known or heard) if heard else at_us)
        totals = add_up(window.within(span), span)
        operators = find_operators(job, plan, totals, span.seconds)
        lack = self._find_lack(name, window, plan, workers, span, at)
        quality, since, unknown = Quality(), None, lack
        notes: list[str] = []
        if not lack:
            quality, since, notes = self._find_quality(job, totals)
            unknown = explain_unknown(job, quality, totals)
        lag = sum(one.last[1] for one in totals.lags.values() if one.last) if totals.lags else None
        growth = sum(one.per_second for one in totals.lags.values())
        seen = JobSeen(
            slo=job.slo,
            operators=operators,
            offered_per_second=max(0.0, count_emitted(job, totals) / span.seconds + growth),
            lag=lag or 0.0,
            lag_per_second=growth,
            quality=quality,
            doubt=lack,
        )
        return JobStatus(
            slo=job.slo,
            seen=seen,
            unknown=unknown,
            notes=tuple(notes),
            until=span.end_us / MICROSECONDS,
            lag=lag,
            since=since,
        )

    def _plan_at(self, name: str, at_us: int) -> PlanRecord | None:
        """The plan that took effect last; of one that was written again the last record."""
        begun = [one for one in self._plans.get(name, ()) if one.valid_from_us <= at_us]
        newest = max((one.valid_from_us for one in begun), default=0)
        return next((one for one in reversed(begun) if one.valid_from_us == newest), None)

    def _expected(
        self, window: SlidingWindow, plan: PlanRecord | None, at_us: int
    ) -> tuple[str, ...]:
        """The workers that should report."""
        if plan is not None:
            return tuple(dict.fromkeys(one.worker for one in plan.executors))
        since = at_us - round(self._rules.remembered_seconds * MICROSECONDS)
        return tuple(worker for worker, heard in window.heard_of().items() if heard >= since)

    def _find_lack(
        self,
        name: str,
        window: SlidingWindow,
        plan: PlanRecord | None,
        workers: Sequence[str],
        span: Span,
        at: float,
    ) -> str:
        """Why the window does not count; empty where it does."""
        rules = self._rules
        doubted_at, doubt = self._doubts.get(name, (-math.inf, ""))
        if at - doubted_at < rules.window_seconds:
            return f"metrics that cannot be: {doubt}"
        late = at - rules.late_seconds
        ended = None if plan is None else plan.valid_to_us
        if ended is not None and ended / MICROSECONDS < late:
            return f"it ended {at - ended / MICROSECONDS:.0f} s ago"
        coarsest = window.coarsest()
        if coarsest > rules.coarsest * rules.sub_seconds:
            return (
                f"metrics come every {coarsest:.0f} s, as a cluster without agents reports them;"
                f" expected every {rules.sub_seconds:g} s"
            )
        return _find_silent(window, workers, at, late) or _find_gap(window, workers, span)

    def _find_quality(
        self, job: WatchedJob, totals: Totals
    ) -> tuple[Quality, Since | None, list[str]]:
        latency: dict[Statistic, float] = {}
        since = next((one for one in Since if totals.latency[one].count > 0.0), None)
        notes = []
        if since is not None:
            found = totals.latency[since]
            latency[Statistic.MEAN] = found.nanoseconds / found.count / NANOSECONDS
            if any(found.bins.values()):
                for statistic, level in LEVELS.items():
                    latency[statistic] = self._quantile(found.bins, level) / NANOSECONDS
            if since is not Since.DUE:
                notes.append(f"latency is since {since}: when tuples were due is not known")
        juice = find_juice(job, totals)
        return Quality(latency_seconds=FrozenDict(latency), juice=juice), since, notes

    def _look_at_machines(self) -> dict[str, MachineSeen]:
        """Threads that run or could: time on cores, and time in which workers wanted one."""
        window = self._machines
        end_us = window.newest_us()
        span = window.span_to(end_us)
        busy: dict[str, float] = {}
        covered: dict[str, float] = {}
        delay: dict[str, float] = {}
        cores: dict[str, tuple[int, float]] = {}
        for sample in window.within(span):
            part = span.part_of(sample)
            if sample.metric == DELAY:
                node = sample.node or ""
                machine = self._machine_of.get(node, node)
                delay[machine] = delay.get(machine, 0.0) + sample.value * part
            elif sample.machine is None:
                continue
            elif sample.metric == "machine_cpu":
                seconds = part * sample.bucket_seconds
                busy[sample.machine] = busy.get(sample.machine, 0.0) + sample.value * part
                covered[sample.machine] = covered.get(sample.machine, 0.0) + seconds
            elif sample.metric == "machine_cores":
                cores[sample.machine] = max(
                    cores.get(sample.machine, (0, 0.0)), (end_of(sample), sample.value)
                )
        return {
            name: MachineSeen(
                load=(busy[name] + delay.get(name, 0.0)) / NANOSECONDS / covered[name],
                cores=cores[name][1],
            )
            for name in sorted(busy.keys() & cores.keys())
            if covered[name] > 0.0
        }


def _find_silent(window: SlidingWindow, workers: Sequence[str], at: float, late: float) -> str:
    """The first worker that should have reported; empty where all have."""
    heard = window.heard_of()
    for worker in workers:
        if worker not in heard:
            return f"worker {worker} has not reported yet"
        if heard[worker] < late * MICROSECONDS:
            ago = at - heard[worker] / MICROSECONDS
            return f"worker {worker} has not reported for {ago:.0f} s"
    return "" if workers else "no worker reports"


def _find_gap(window: SlidingWindow, workers: Sequence[str], span: Span) -> str:
    """The worker of which most is missing; empty where nothing is."""
    least = min(workers, key=lambda worker: window.covered(span, worker))
    covered = window.covered(span, least)
    if covered < span.seconds * (1.0 - 1e-6):
        return f"{covered:.0f} of {span.seconds:g} s are there of worker {least}"
    return ""


def _names_by_topology(jobs: Mapping[str, WatchedJob]) -> dict[str, str]:
    """Jobs by what metrics call them: their own name, or their topology's where only one has it."""
    topologies = [job.topology.name for job in jobs.values()]
    named = {
        job.topology.name: name
        for name, job in jobs.items()
        if topologies.count(job.topology.name) == 1
    }
    return {**named, **{name: name for name in jobs}}
