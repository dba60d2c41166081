"""`sg.slo_status`: how jobs do by the metrics that agents are writing."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from streamgauge.engines.storm.gate import close_gate, open_gate
from streamgauge.errors import InvalidInput, in_file
from streamgauge.lake.field_rules import Rejected
from streamgauge.lake.histogram import quantile
from streamgauge.lake.line_tail import LineTail
from streamgauge.lake.raw import decode
from streamgauge.lake.records import Plan, Sample, SampleGroup
from streamgauge.planning.sharing.admission import find_refusal
from streamgauge.planning.sharing.congestion import Congestion
from streamgauge.planning.sharing.files.shared_cluster_file import load_shared_cluster
from streamgauge.planning.sharing.files.slo_file import find_slo
from streamgauge.planning.sharing.guarded import Guarded
from streamgauge.planning.sharing.job_figures import WatchedJob
from streamgauge.planning.sharing.policy import load_policy
from streamgauge.planning.sharing.shared_cluster import SharedCluster
from streamgauge.planning.sharing.sliding_window import MICROSECONDS, WindowRules
from streamgauge.planning.sharing.slo import Slo
from streamgauge.planning.sharing.statistics import Statistics
from streamgauge.planning.sharing.utility import Custom
from streamgauge.profile.files.jobs import build_job, parse_job
from streamgauge.profile.job import Job
from streamgauge.reports.slo_status import SloStatusReport
from streamgauge.topology.files.document import read_document

FileLike = str | Path
# Records of which nothing is used here; most of a file may be traces.
SKIPPED = (b'{"type":"trace"', b'{"type":"link"', b'{"type":"event"')
# A plan's line says within so many bytes that it is one.
PLAN_WITHIN = 64


def slo_status(
    files: FileLike | SharedCluster | Iterable[FileLike] = (),
    *,
    metrics: FileLike,
    congestion: str = "capacity",
    policy: str | None = None,
    gate: FileLike | None = None,
    window: float = 60.0,
    subwindow: float = 10.0,
) -> SloStatusReport:
    """Utility, objective and congested operators of jobs over the last minute of their metrics.

    Args:
        files: Clusters that jobs share, or jobs whose configuration has an objective. Without any,
            the jobs of the metrics whose plans have one.
        metrics: A folder of raw metrics, with those that are being written.
        congestion: What makes an operator congested: ``capacity``, ``queue`` or ``etp``.
        policy: A policy that is asked what it would do.
        gate: The folder of plans of a Storm cluster with our scheduler: new topologies wait there
            while those that run do not all meet their objectives.
        window: Seconds that figures are of.
        subwindow: Seconds by which the window moves on.

    Raises:
        InvalidInput: A file is wrong, or a name is not known.
    """
    watch = SloWatch(
        files,
        metrics=metrics,
        congestion=congestion,
        policy=policy,
        gate=gate,
        window=window,
        subwindow=subwindow,
    )
    return watch.look_back()


class SloWatch:
    """Looks again and again; arguments are as of `slo_status`.

    Args:
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        files: FileLike | SharedCluster | Iterable[FileLike] = (),
        *,
        metrics: FileLike,
        congestion: str = "capacity",
        policy: str | None = None,
        gate: FileLike | None = None,
        window: float = 60.0,
        subwindow: float = 10.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.metrics = str(metrics)
        self._by = _read_congestion(congestion)
        self._clock = clock
        self._folder = Path(metrics)
        if self._folder.exists() and not self._folder.is_dir():
            raise InvalidInput.single(
                ("--metrics",), seen=f"the file {metrics}", expected="a folder of metrics"
            )
        self._tail = LineTail(self._folder)
        jobs = _list_jobs(files)
        self._discovers = not jobs
        self._notes: dict[str, str] = {}
        rules = WindowRules(window_seconds=window, sub_seconds=subwindow)
        self._statistics = Statistics(jobs, quantile, rules)
        self._policy = None if policy is None else Guarded(load_policy(policy))
        self._gate = None if gate is None else Path(gate)
        if self._gate is not None and not self._gate.is_dir():
            raise InvalidInput.single(
                ("--gate",), seen=f"{gate}, which is no folder", expected="the folder of plans"
            )

    def look(self) -> SloStatusReport:
        """How jobs do now."""
        now = self._read()
        return self._report(now)

    def look_back(self) -> SloStatusReport:
        """How jobs did when the metrics end, be that long ago."""
        now = self._read()
        return self._report(min(now, self._statistics.newest() or now))

    def _read(self) -> float:
        now = self._clock()
        lines: Iterable[bytes] = self._tail.read()
        if self._discovers:
            # Jobs are known by their plans, which may stand behind their first samples.
            lines = list(lines)
            for line in lines:
                if b'"plan"' in line[:PLAN_WITHIN]:
                    self._discover(line)
        for line in lines:
            self._take(line, now)
        return now

    def _report(self, at: float) -> SloStatusReport:
        status = self._statistics.look(at)
        seen = status.as_seen()
        decision = None if self._policy is None else self._policy.decide(seen)
        refusal = find_refusal(seen)
        if self._gate is not None:
            if refusal:
                close_gate(self._gate, refusal)
            else:
                open_gate(self._gate)
        return SloStatusReport(
            metrics=self.metrics,
            status=status,
            congestion=self._by,
            policy="" if self._policy is None else self._policy.name,
            decision=decision,
            refusal=refusal,
            notes=(
                *self._notes.values(),
                *(f"{path} is read in part: {why}" for path, why in self._tail.faults.items()),
            ),
        )

    def _take(self, line: bytes, now: float) -> None:
        if not line.strip() or line.startswith(SKIPPED):
            return
        record = decode(line)
        if isinstance(record, Rejected):
            topology, at = _subject_of(line, now)
            self._statistics.refuse(topology, str(record), at)
        elif isinstance(record, SampleGroup):
            for sample in record.samples:
                self._statistics.take(sample, now)
        elif isinstance(record, Sample):
            self._statistics.take(record, now)
        elif isinstance(record, Plan):
            self._statistics.take_plan(record)

    def _discover(self, line: bytes) -> None:
        """Watch the job of a plan whose configuration has an objective."""
        plan = decode(line)
        if not isinstance(plan, Plan):
            return
        try:
            job = parse_job(plan.document)
            watched = _watch_by_itself(job)
            if watched is None:
                return
            if isinstance(watched.slo.shape, Custom):
                raise InvalidInput.single(
                    ("streamgauge.slo.utility",),
                    seen="a function, in metrics",
                    expected="a shape: functions are taken from files only",
                )
        except InvalidInput as error:
            first = str(error).splitlines()[0]
            self._notes[plan.topology] = f"the objective of {plan.topology} is not taken: {first}"
            return
        self._statistics.watch(plan.topology, watched)


def _read_congestion(text: str) -> Congestion:
    try:
        return Congestion(text)
    except ValueError:
        raise InvalidInput.single(
            ("--congestion",), seen=repr(text), expected=f"one of {', '.join(Congestion)}"
        ) from None


def _list_jobs(
    files: FileLike | SharedCluster | Iterable[FileLike],
) -> dict[str, WatchedJob]:
    """All jobs of all files."""
    if isinstance(files, SharedCluster):
        return _watch_shared(files)
    listed = [files] if isinstance(files, str | Path) else list(files)
    jobs: dict[str, WatchedJob] = {}
    for path in listed:
        document = read_document(path)
        if "sharing" in document.data:
            found = _watch_shared(load_shared_cluster(path))
        else:
            job = build_job(document)
            with in_file(str(path)):
                watched = _watch_by_itself(job)
                if watched is None:
                    raise InvalidInput.single(
                        ("configuration", "settings"),
                        seen="no objective",
                        expected="streamgauge.slo.latency_ms or streamgauge.slo.juice",
                        remedy="add one, or name a file of a cluster that jobs share",
                    )
            found = {job.topology.name: watched}
        for name, one in found.items():
            if name in jobs:
                raise InvalidInput.single(
                    (str(path),), seen=f"a second job {name!r}", expected="jobs of other names"
                )
            jobs[name] = one
    return jobs


def _watch_shared(cluster: SharedCluster) -> dict[str, WatchedJob]:
    return {one.name: _watch(one.job, one.slo) for one in cluster.jobs}


def _watch_by_itself(job: Job) -> WatchedJob | None:
    """A job whose configuration has an objective; None for another one."""
    try:
        slo = find_slo(job.configuration, job.topology)
    except InvalidInput as error:
        raise error.below("configuration") from None
    return None if slo is None else _watch(job, slo)


def _watch(job: Job, slo: Slo) -> WatchedJob:
    return WatchedJob(slo=slo, topology=job.topology, configuration=job.configuration)


def _subject_of(line: bytes, now: float) -> tuple[str | None, float]:
    """Of which job and of when a line is that is no record; of now where it does not say."""
    try:
        found = json.loads(line)
    except ValueError:
        return None, now
    if not isinstance(found, dict):
        return None, now
    name, begun = found.get("topology"), found.get("bucket_start_us")
    at = begun / MICROSECONDS if isinstance(begun, int | float) else now
    return name if isinstance(name, str) else None, min(at, now)
