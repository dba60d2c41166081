"""Storm as an engine of experiments: a cluster for as long as they last, steps by rebalance."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar, NoReturn

from streamgauge.engines.deployment import Deployment
from streamgauge.engines.runner import Progress, StepOrder, StepRecord, trace_one_in
from streamgauge.engines.storm.agent import AgentFiles, agent_settings
from streamgauge.engines.storm.applying import (
    apply_plan,
    as_storm_numbers,
    await_plan,
    read_assignment,
    remove_plan,
    write_plan,
)
from streamgauge.engines.storm.bridge import Bridge
from streamgauge.engines.storm.cluster import StormCluster
from streamgauge.engines.storm.jars import own_jar
from streamgauge.engines.storm.program import program_text, rate_ratio, topology_program
from streamgauge.engines.storm.warming import LATE_SECONDS, RateControl, WarmingUp, next_bucket_us
from streamgauge.errors import SourceUnreachable
from streamgauge.lake.raw import encode
from streamgauge.lake.records import EventKind
from streamgauge.topology.cluster import Cluster
from streamgauge.topology.files.document import write_whole
from streamgauge.topology.physical_plan import PhysicalPlan, Worker

CONTROL_SETTING = "streamgauge.control.file"
_KILL_SECONDS = 120.0
_WORKERS_SECONDS = 300.0
_LAST_LINES_SECONDS = 30.0
_LOOK_SECONDS = 0.2
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class StormRunner:
    """Runs jobs on a real Storm cluster on this machine."""

    name: ClassVar[str] = "storm"
    simulates: ClassVar[bool] = False

    @contextmanager
    def session(self, cluster: Cluster, folder: Path) -> Iterator[StormSession]:
        """A cluster with as many nodes as asked for, each with the slots of the largest."""
        slots = max(len(node.ports) for node in cluster.nodes)
        with _leaving_on_terminate():
            storm = StormCluster.up(
                folder / "storm", nodes=len(cluster.nodes), slots=slots, outlives=False
            )
            try:
                with storm.bridge() as bridge:
                    yield StormSession(storm=storm, bridge=bridge, folder=folder)
            finally:
                storm.down()


@contextmanager
def _leaving_on_terminate() -> Iterator[None]:
    """Let a request to end unwind the stack, so that the cluster goes down with us."""
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread is told of signals.
        yield
        return

    def leave(number: int, frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    """A topology that was submitted with a program, what its agents write, and its rates."""

    name: str
    program: dict[str, Any]
    bucket_seconds: float
    files: AgentFiles
    control: RateControl


class StormSession:
    """Runs step after step on one cluster; agents write to the folder until a step is over."""

    def __init__(self, *, storm: StormCluster, bridge: Bridge, folder: Path) -> None:
        self._storm = storm
        self._bridge = bridge
        self._folder = folder
        self._running: _Running | None = None

    @property
    def cluster(self) -> Cluster:
        """The nodes on this machine, which share its cores."""
        return self._storm.cluster

    def run_step(self, order: StepOrder, progress: Progress) -> StepRecord:
        """Bring the job into the order's state, warm it up, measure it.

        A step that differs from the one before in executors, workers, placement or rate alone is
        reached by a rebalance, any other by a new submission. Whatever ends a step early, what was
        measured lies in the order's folder.
        """
        wanted = as_storm_numbers(order.plan)
        progress(0.0, "bringing the plan into place")
        running, factor, kind = self._bring(order, wanted)
        began_at = datetime.now(UTC)
        estimate = _Estimate(order, progress)
        snapshot: PhysicalPlan | None = None
        try:
            warming = WarmingUp(
                order=order,
                files=running.files,
                control=running.control,
                factor=factor,
                tell=estimate.tell,
            )
            notes = warming.run()
            measured_from = _EPOCH + next_bucket_us(order.bucket_seconds) * _MICROSECOND
            measured_to = measured_from + timedelta(seconds=order.windows * order.window_seconds)
            middle = measured_from + (measured_to - measured_from) / 2
            estimate.wait_until(middle, "measuring")
            found = read_assignment(self._bridge, running.name)
            snapshot = found.plan(order.job.topology, order.job.configuration, self.cluster)
            estimate.wait_until(measured_to, "measuring")
            estimate.wait_until(measured_to + timedelta(seconds=LATE_SECONDS), "gathering")
            notes += _fates(running.files, wanted.workers, measured_from, measured_to)
        finally:
            running.files.gather(order.folder)
            placed = wanted if snapshot is None else snapshot
            self._write_records(order, placed, began_at, kind)
        return StepRecord(
            began_at=began_at,
            measured_from=measured_from,
            measured_to=measured_to,
            plan=snapshot,
            notes=tuple(notes),
        )

    def _bring(self, order: StepOrder, wanted: PhysicalPlan) -> tuple[_Running, float, EventKind]:
        """The topology in its plan, the factor of its rates, and how it got there."""
        program = topology_program(order.job, seed=order.seed, trace_every=trace_every(order))
        running = self._running
        ratio = None
        if running is not None and running.bucket_seconds == order.bucket_seconds:
            ratio = rate_ratio(running.program, program)
        asked_at = time.time()
        if running is not None and ratio is not None:
            changed = read_assignment(self._bridge, running.name).changed_workers(wanted)
            apply_plan(self._bridge, self._storm.layout.plans, running.name, wanted)
            self._await_workers(running, changed, asked_at)
            running.files.skip()
            return running, ratio, EventKind.REBALANCE
        if running is not None:
            self._kill(running.name)
        running = self._submit(order, wanted, program)
        self._await_workers(running, wanted.workers, asked_at)
        return running, 1.0, EventKind.START

    def _submit(self, order: StepOrder, wanted: PhysicalPlan, program: dict[str, Any]) -> _Running:
        name = order.job.topology.name
        metrics = _new_folder(self._folder / "metrics")
        control = RateControl(file=metrics / "control.json")
        control.set(1.0)
        plans = self._storm.layout.plans
        write_plan(plans, wanted, name)
        self._bridge.ask(
            "submit",
            topology=name,
            program=program_text(program),
            jar=str(own_jar()),
            configuration={
                **agent_settings(folder=metrics, bucket_seconds=order.bucket_seconds),
                # Plans are recorded here, with the job's whole description.
                "streamgauge.agent.plans": False,
                CONTROL_SETTING: str(control.file),
            },
        )
        running = _Running(
            name=name,
            program=program,
            bucket_seconds=order.bucket_seconds,
            files=AgentFiles(metrics),
            control=control,
        )
        # From here on it must be killed before another is submitted, whatever comes.
        self._running = running
        await_plan(self._bridge, plans, name, wanted)
        return running

    def _await_workers(self, running: _Running, workers: Sequence[Worker], since: float) -> None:
        """Wait until workers run as processes that began after a moment, and tell of it."""
        deadline = time.monotonic() + _WORKERS_SECONDS
        while missing := [worker for worker in workers if running.files.last_start(worker) < since]:
            if time.monotonic() > deadline:
                raise SourceUnreachable(
                    f"worker {missing[0]} of {running.name!r} reports nothing "
                    f"{_WORKERS_SECONDS:g} s after it was assigned; see its log below "
                    f"{self._storm.layout.worker_logs(missing[0].node)}"
                )
            time.sleep(_LOOK_SECONDS)

    def _kill(self, name: str) -> None:
        """Kill a topology and wait until its workers are gone."""
        self._running = None
        remove_plan(self._storm.layout.plans, name)
        self._bridge.ask("kill", topology=name, wait_seconds=0)
        deadline = time.monotonic() + _KILL_SECONDS
        while self._bridge.ask("cluster")["topologies"] or self._storm.has_workers():
            if time.monotonic() > deadline:
                raise SourceUnreachable(
                    f"workers of {name!r} still run {_KILL_SECONDS:g} s after it was killed; "
                    f"see {self._storm.layout.logs}"
                )
            time.sleep(_LOOK_SECONDS)

    def _write_records(
        self, order: StepOrder, plan: PhysicalPlan, began_at: datetime, kind: EventKind
    ) -> None:
        """The plan with its time, and how it came about, beside what agents wrote."""
        deployment = Deployment.of(order.job, plan, None)
        began_us, ended_us = _microseconds(began_at), _microseconds(datetime.now(UTC))
        detail = f"step {order.name}, repetition {order.repetition}"
        event = deployment.event(kind, began_us, detail=detail)
        order.folder.mkdir(parents=True, exist_ok=True)
        plan_line = encode(deployment.record(began_us, ended_us))
        write_whole(order.folder / "plans.jsonl", plan_line + "\n")
        write_whole(order.folder / "events.jsonl", encode(event) + "\n")


class _Estimate:
    """Tells how far a step has come, by the time that it will take at least."""

    def __init__(self, order: StepOrder, progress: Progress) -> None:
        self._progress = progress
        self._began = time.monotonic()
        warm = order.warm_up.seconds + 2.0 * order.window_seconds
        self._seconds = warm + order.windows * order.window_seconds

    def tell(self, doing: str) -> None:
        part = (time.monotonic() - self._began) / self._seconds
        self._progress(min(part, 1.0), doing)

    def wait_until(self, moment: datetime, doing: str) -> None:
        while (left := (moment - datetime.now(UTC)).total_seconds()) > 0:
            time.sleep(min(left, _LOOK_SECONDS))
            self.tell(doing)


def trace_every(order: StepOrder) -> int:
    """Every how many-th root of a step is traced; each has a path at the least."""
    workload = order.job.workload
    rates = [one.per_second for one in workload.emissions] if workload else []
    if not rates or None in rates:
        return trace_one_in(order.job, None)
    roots = math.fsum(rate or 0.0 for rate in rates) * order.windows * order.window_seconds
    return trace_one_in(order.job, roots)


def _new_folder(parent: Path) -> Path:
    """A folder that no topology has written to, not even one of an earlier session."""
    parent.mkdir(parents=True, exist_ok=True)
    taken = [int(path.name) for path in parent.iterdir() if path.name.isdecimal()]
    folder = parent.resolve() / str(max(taken, default=0) + 1)
    folder.mkdir()
    return folder


def _fates(
    files: AgentFiles, workers: Sequence[Worker], start: datetime, end: datetime
) -> list[str]:
    """Wait for the last lines of all workers; which of them died while they were measured."""
    deadline = time.monotonic() + _LAST_LINES_SECONDS
    while silent := [one for one in workers if files.last_written(one) < end.timestamp()]:
        if time.monotonic() > deadline:
            break
        time.sleep(_LOOK_SECONDS)
    anew = [one for one in workers if files.last_start(one) >= start.timestamp()]
    return [
        *(f"worker {one} was restarted during the measurement" for one in anew),
        *(f"worker {one} had stopped reporting by the end" for one in silent if one not in anew),
    ]


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND
