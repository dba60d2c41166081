"""Simulating a whole job: from a plan, behaviours and a workload to what happens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import Findings, InvalidInput
from streamgauge.profile.behaviour import Behaviour
from streamgauge.simulation import records
from streamgauge.simulation.binning import BINS, COARSE_BINS
from streamgauge.simulation.chained import chain_behaviours, find_members, split_result
from streamgauge.simulation.cores import make_cores
from streamgauge.simulation.figures import figures
from streamgauge.simulation.handles import Handle
from streamgauge.simulation.kernel import begin, run
from streamgauge.simulation.program import Compiled, compile_job
from streamgauge.simulation.random_streams import make_streams
from streamgauge.simulation.records import NONE
from streamgauge.simulation.replications import settled_after
from streamgauge.simulation.results import SimulationResult
from streamgauge.simulation.routing import HEAVIEST, UNKNOWN_LOAD
from streamgauge.simulation.snapshots import Camera, Snapshot
from streamgauge.simulation.state import Program, State
from streamgauge.simulation.timers import make_timers
from streamgauge.topology.field_checks import check_number, check_whole
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.workload import Workload
from streamgauge.transport.chaining import find_chaining
from streamgauge.transport.engine import load_engine
from streamgauge.transport.mechanics import Mechanics

EVENTS_AT_A_TIME = 1_000_000
FIRST_POOL = 1 << 14
# Two million messages with as many roots: 540 MB.
LARGEST_POOL = 1 << 21
# Stretches of simulated time that the time line and intervals rest on.
BUCKETS = 100
# Part of the measured time that may be left out as warm-up where none is given.
LONGEST_WARMUP = 0.25
NEVER = -1e300
TRACED_HOPS = 1 << 16
# Figures of a job without acks, send threads, batches, sleeping and polling threads, costs of
# serialising, windows, joins and tracing.
PLAIN_JOB = {
    "ackers": 0,
    "send_threads": 0,
    "batch": 1,
    "flushes": 0,
    "sleeps": 0,
    "polls": 0,
    "serialises": 0,
    "deserialises": 0,
    "keeps": 0,
    "detailed": 0,
    "labelled": 0,
}
# Names the random numbers that say in which phase threads sleep.
SLEEPING = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracing:
    """What is watched closely, for those who write down what a cluster would.

    Attributes:
        bucket_seconds: Simulated time between two looks.
        trace_every: Every how many-th root is traced; none when zero.
        look: Called at the end of each bucket, and of the run, with the state and what it means.
    """

    bucket_seconds: float
    trace_every: int
    look: Callable[[State, Compiled], None]


def simulate(
    plan: PhysicalPlan,
    behaviours: Mapping[str, Behaviour],
    workload: Workload,
    *,
    seconds: float,
    warmup: float | None = 0.0,
    seed: int,
    mechanics: Mechanics | None = None,
    progress: Callable[[float, float], None] | None = None,
    tracing: Tracing | None = None,
) -> SimulationResult:
    """Simulate `seconds` after a warm-up; the same seed gives the same answer.

    Args:
        plan: Where executors run.
        behaviours: What operators do with a tuple.
        workload: What sources emit.
        seconds: Simulated time to measure.
        warmup: Simulated time before that, which is left out; None finds where the run settles.
        seed: Of the random numbers.
        mechanics: Figures of the transport; those of the plan's engine and settings by default.
        progress: Called now and then with the simulated time reached, and that to be reached.
        tracing: What else is to be watched.
    """
    findings = Findings()
    check_number(findings, seconds, "seconds", above=0.0)
    if warmup is not None:
        check_number(findings, warmup, "warmup")
    check_whole(findings, seed, "seed", least=0)
    findings.raise_if_any()
    chosen = mechanics or _mechanics_of(plan)
    run_on = partial(
        _simulate,
        workload=workload,
        seconds=seconds,
        warmup=warmup,
        seed=seed,
        mechanics=chosen,
        progress=progress,
        tracing=tracing,
    )
    logical = plan.logical
    chaining = find_chaining(logical.topology, logical.configuration)
    if chaining is None:
        return run_on(plan, behaviours)
    if tracing is not None:
        raise InvalidInput.single(
            ("configuration", "engine"),
            seen=f"engine {logical.configuration.engine!r}, which runs operators as chains",
            expected="an engine without chains, where samples of every operator are written",
        )
    result = run_on(chaining.chain_plan(plan), chain_behaviours(chaining, behaviours))
    return split_result(result, chaining, logical, find_members(chaining, behaviours))


def _simulate(
    plan: PhysicalPlan,
    behaviours: Mapping[str, Behaviour],
    workload: Workload,
    *,
    seconds: float,
    warmup: float | None,
    seed: int,
    mechanics: Mechanics,
    progress: Callable[[float, float], None] | None,
    tracing: Tracing | None,
) -> SimulationResult:
    """The same without chains."""
    compiled = compile_job(plan, behaviours, workload, mechanics, detailed=tracing is not None)
    every = tracing.trace_every if tracing else 0
    state = initial_state(plan, compiled, seed, trace_every=every)
    under_way = _Run(compiled, state, progress, tracing)
    ahead = LONGEST_WARMUP * seconds if warmup is None else warmup
    parts = max(round(BUCKETS * ahead / seconds), 1) if ahead > 0.0 else 0
    ends = [ahead * (n + 1) / parts for n in range(parts)]
    ends += [ahead + seconds * (n + 1) / BUCKETS for n in range(BUCKETS)]
    snapshots = under_way.through(ends)
    settled = True
    if warmup is None:
        series = _population(snapshots)
        first = settled_after(series, parts)
        settled = first < parts
    else:
        first = parts
    if under_way.overloaded:
        # It did not live to see the end: say what was seen of it.
        first = 0 if len(snapshots) <= first + 1 else first
    return figures(
        plan, compiled, snapshots, first=first, settled=settled, overloaded=under_way.overloaded
    )


def _mechanics_of(plan: PhysicalPlan) -> Mechanics:
    """The figures of the plan's engine under its settings."""
    configuration = plan.logical.configuration
    engine = load_engine(configuration.engine)
    try:
        return engine.mechanics(configuration.settings)
    except InvalidInput as error:
        raise error.below("configuration") from None


def _population(snapshots: list[Snapshot]) -> NDArray[np.float64]:
    """Mean tuples in all queues in each stretch."""
    areas = np.asarray([one.queue["area"].sum() for one in snapshots])
    times = np.asarray([one.time for one in snapshots])
    return np.asarray(np.diff(areas) / np.diff(times))


def _program_handle(program: Program) -> Handle:
    """The program for the kernel, which has a variant for jobs that use none of some features."""
    used = program.rules._asdict() | program.at._asdict()
    if all(used[name] == value for name, value in PLAIN_JOB.items()):
        return Handle(program, variant="Plain", fixed=PLAIN_JOB)
    return Handle(program)


class _Run:
    """One simulation under way."""

    def __init__(
        self,
        compiled: Compiled,
        state: State,
        progress: Callable[[float, float], None] | None,
        tracing: Tracing | None,
    ) -> None:
        self.compiled = compiled
        self.progress = progress
        self.tracing = tracing
        self.overloaded = False
        self.state = state
        self.program, self.handle = _program_handle(compiled.program), Handle(self.state)
        begin(self.program, self.handle)
        at = compiled.program.at
        self.camera = Camera(compiled.program, at.latency_rows)

    def through(self, ends: list[float]) -> list[Snapshot]:
        """Go on to each of those times; a snapshot of the beginning and of each."""
        snapshots = [self.camera.take(self.state)]
        look = self.tracing.bucket_seconds if self.tracing else 0.0
        looked = 0
        for end in ends:
            while self.tracing and (looked + 1) * look <= end * (1.0 + 1e-12):
                if not self._until((looked + 1) * look, ends[-1]):
                    break
                looked += 1
                self.tracing.look(self.state, self.compiled)
            self._until(end, ends[-1])
            if float(self.state.now[0]) > snapshots[-1].time:
                snapshots.append(self.camera.take(self.state))
            if self.overloaded:
                break
        if self.tracing and float(self.state.now[0]) > looked * look * (1.0 + 1e-12):
            # What is left of the last bucket.
            self.tracing.look(self.state, self.compiled)
        return snapshots

    def _until(self, time: float, horizon: float) -> bool:
        """Go on to that time; whether it was reached before queues outgrew all bounds."""
        while not self.overloaded:
            reason = run(self.program, self.handle, time, EVENTS_AT_A_TIME)
            if self.progress is not None:
                self.progress(float(self.state.now[0]), horizon)
            if reason == records.REACHED:
                return True
            if reason == records.NO_ROOM:
                if len(self.state.message) >= LARGEST_POOL:
                    self.overloaded = True
                else:
                    self.state = _grown(self.state)
                    self.handle = Handle(self.state)
        return False


def initial_state(plan: PhysicalPlan, compiled: Compiled, seed: int, *, trace_every: int) -> State:
    """A job at time zero: queues empty, threads idle, first tuples due."""
    p = compiled.program
    at, m = p.at, compiled.mechanics
    pool = max(FIRST_POOL, 4 * at.reserve)
    has_lists = bool(compiled.windows) or (p.operator["join"] == records.ON_KEY).any()
    anchors = max(pool if has_lists else 0, 4 * at.copies, 64)
    roots = pool if at.ackers else 4
    machines = [machine.name for machine in plan.cluster.machines]
    machine_of_worker = [
        machines.index(plan.cluster.machine_of(worker.node).name) for worker in plan.workers
    ]
    generator = np.random.default_rng(seed)
    tasks = len(p.task)
    thread = _threads(compiled, machine_of_worker, np.random.default_rng([seed, SLEEPING]))
    queue = _queues(compiled, generator)
    route = compiled.routes.route.copy()
    # Every sender begins its round at a random target.
    route["turn"] = generator.integers(0, np.maximum(route["last"] - route["first"], 1))
    detail = at.detailed
    inputs = records.make_records(records.INPUT, tasks * at.subscriptions)
    return State(
        now=np.zeros(1),
        timers=make_timers(at.timers),
        cores=make_cores(
            [machine.cores for machine in plan.cluster.machines],
            thread["machine"].tolist(),
            background=[machine.background_cores for machine in plan.cluster.machines],
            balance=[machine.balance_seconds for machine in plan.cluster.machines],
            poll_cores=m.poll_cores,
            poll_growth=m.poll_growth,
        ),
        random=make_streams(seed, at.executors + len(p.process) + 1 + at.workers),
        draws=compiled.draws,
        emissions=compiled.emissions,
        queue=queue,
        message=_pool(records.MESSAGE, 0, pool),
        anchor=_pool(records.ANCHOR, 0, anchors),
        root=_pool(records.ROOT, 0, roots),
        thread=thread,
        window=_windows(compiled, generator),
        route=route,
        used=np.zeros(max(len(p.target), 1), dtype=np.int64),
        weight=np.full(max(len(p.target), 1), HEAVIEST),
        choice=np.zeros(max(compiled.routes.choices, 1), dtype=np.int64),
        load=np.full((at.workers, tasks), UNKNOWN_LOAD),
        gossiped=np.full(at.workers, NEVER),
        batch=_batches(compiled),
        link=np.zeros(at.workers * at.workers, dtype=records.LINK),
        age=np.full((tasks, 2), NONE, dtype=np.int64),
        free=np.asarray([0, pool, 0, roots, 0, anchors], dtype=np.int64),
        counts=_counts(TRACED_HOPS * detail, trace_every),
        ready=np.zeros(len(thread), dtype=np.int64),
        disturbed=np.zeros((len(machines), 2), dtype=np.int64),
        group=np.zeros((at.executors + at.workers, 3), dtype=np.int64),
        touched=np.zeros(at.executors, dtype=np.int64),
        latency=np.zeros((at.latency_rows, BINS), dtype=np.int64),
        latency_sum=np.zeros(at.latency_rows),
        inputs=inputs,
        outputs=records.make_records(records.EMITTED, tasks * at.streams),
        wall_bin=_lake_bins(detail * len(inputs)),
        cpu_bin=_lake_bins(detail * len(inputs)),
        process_bin=_lake_bins(detail * len(inputs)),
        wait_bin=_lake_bins(detail * at.executors),
        emit_bin=_lake_bins(detail * tasks * at.streams),
        complete_bin=_lake_bins(detail * tasks * at.streams),
        transferred=np.zeros(int(p.transfer_first[-1]) + 1, dtype=np.int64),
        hops=np.zeros(max(TRACED_HOPS * detail, 1), dtype=records.HOP),
    )


def _counts(hops_kept: int, trace_every: int) -> NDArray[Any]:
    counts = np.zeros(records.LAST_POLLER + 1, dtype=np.int64)
    counts[records.HOPS_KEPT], counts[records.TRACE_EVERY] = hops_kept, trace_every
    counts[records.FIRST_POLLER] = counts[records.LAST_POLLER] = NONE
    return counts


def _threads(
    compiled: Compiled, machine_of_worker: list[int], generator: np.random.Generator
) -> NDArray[Any]:
    p, m = compiled.program, compiled.mechanics
    at = p.at
    rows = [
        (records.EXECUTOR, executor, int(p.worker[executor])) for executor in range(at.executors)
    ]
    rows += [(records.SEND, n, int(p.worker[n])) for n in range(at.transfers - at.sends)]
    rows += [(records.TRANSFER, NONE, worker) for worker in range(at.workers)]
    rows += [(records.RECEIVE, NONE, worker) for worker in range(at.triggers - at.receives)]
    for task, _ in compiled.windows:
        executor = int(p.task["executor"][task])
        rows.append((records.TRIGGER, executor, int(p.worker[executor])))
    thread = records.make_records(records.THREAD, len(rows))
    for name in ("current", "held", "last_held", "window", "blocked_on", "next_waiter"):
        thread[name] = NONE
    for name in ("oldest", "youngest", "unlimited", "batches", "kind", "operator"):
        thread[name] = NONE
    for index, (what, executor, worker) in enumerate(rows):
        t = thread[index]
        t["what"], t["executor"], t["worker"] = what, executor, worker
        t["machine"] = machine_of_worker[worker]
        if executor != NONE:
            t["operator"] = p.task["operator"][p.task_of_executor[executor]]
        if what == records.EXECUTOR:
            t["kind"] = p.operator["kind"][t["operator"]]
            t["unlimited"] = compiled.unlimited[executor]
    # Idle threads sleep a little at a time, each from a moment of its own.
    sleep = np.zeros(len(thread))
    is_executor, is_source = thread["what"] == records.EXECUTOR, thread["kind"] == records.SOURCE
    sleep[is_executor] = m.bolt_sleep
    sleep[is_executor & is_source] = m.source_sleep
    sleep[thread["what"] == records.TRANSFER] = m.transfer_sleep
    thread["idle_since"] = -generator.random(len(thread)) * sleep
    return thread


def _queues(compiled: Compiled, generator: np.random.Generator) -> NDArray[Any]:
    p, m = compiled.program, compiled.mechanics
    at = p.at
    queue = records.make_records(records.QUEUE, at.queues)
    for name in ("over_head", "batch_head", "waiter", "last_waiter", "held_back"):
        queue[name] = NONE
    queue["limit"] = np.iinfo(np.int32).max
    queue["limit"][: at.executors] = m.receive_limit
    queue["limit"][at.send : at.transfer] = m.send_limit
    queue["limit"][at.transfer : at.incoming] = m.transfer_limit
    queue["high_water"] = np.iinfo(np.int32).max
    if compiled.marks is not None:
        high, low = compiled.marks
        queue["high_water"][: at.executors] = np.floor(high)
        queue["low_water"][: at.executors] = np.ceil(low)
    queue["consumer"] = NONE
    queue["consumer"][: at.executors] = np.arange(at.executors)
    queue["consumer"][at.due : at.send] = np.arange(at.executors)
    queue["consumer"][at.send : at.transfer] = np.arange(at.sends, at.transfers)
    queue["consumer"][at.transfer : at.incoming] = np.arange(at.transfers, at.receives)
    queue["consumer"][at.incoming : at.windows] = np.arange(at.receives, at.triggers)
    # Flush timers run free, each from a moment of its own; in Storm 2.x one for each worker.
    queue["phase"] = -generator.random(at.queues) * m.flush_seconds
    if not m.send_threads:
        by_worker = -generator.random(at.workers) * m.flush_seconds
        queue["phase"][: at.executors] = by_worker[p.worker]
    return queue


def _windows(compiled: Compiled, generator: np.random.Generator) -> NDArray[Any]:
    p = compiled.program
    window = np.zeros(max(len(compiled.windows), 1), dtype=records.WINDOW)
    window["thread"], window["reference"] = NONE, NEVER
    for index, (task, given) in enumerate(compiled.windows):
        w = window[index]
        w["queue"], w["task"] = p.at.windows + index, task
        w["length"] = given.length_tuples or 0
        w["span"] = given.length_seconds or 0.0
        w["slide"] = given.slide_tuples or 0
        w["every"] = given.slide_seconds or 0.0
        if w["every"] > 0.0:
            w["thread"] = p.at.triggers + index
            w["phase"] = -generator.random() * w["every"]
    return window


def _batches(compiled: Compiled) -> NDArray[Any]:
    at, m = compiled.program.at, compiled.mechanics
    size = at.executors * (at.executors + 1) if m.batch > 1 and not m.send_threads else 1
    batch = np.zeros(size, dtype=records.BATCH)
    batch["head"] = batch["tail"] = batch["next"] = NONE
    return batch


def _lake_bins(rows: int) -> NDArray[Any]:
    return np.zeros((max(rows, 1), COARSE_BINS), dtype=np.int64)


def _pool(kind: np.dtype[Any], first: int, last: int) -> NDArray[Any]:
    """Entries `first` to `last` of a pool, each the next free one of the one before."""
    pool = records.make_records(kind, last - first)
    pool["link"] = np.arange(first + 1, last + 1)
    pool["link"][-1] = NONE
    return pool


def _grown(s: State) -> State:
    """The same state with twice the messages, roots and anchors."""
    return s._replace(
        message=_doubled(s.message, s.free[0:2]),
        root=_doubled(s.root, s.free[2:4]),
        anchor=_doubled(s.anchor, s.free[4:6]),
    )


def _doubled(pool: NDArray[Any], free: NDArray[Any]) -> NDArray[Any]:
    """A pool of twice the size; `free` holds its first free entry and how many there are."""
    size = len(pool)
    added = _pool(pool.dtype, size, 2 * size)
    # What was free before follows what is new.
    added["link"][-1] = free[0] if free[1] > 0 else NONE
    free[0] = size
    free[1] += size
    grown = records.make_records(pool.dtype, 2 * size)
    grown[:size], grown[size:] = pool, added
    return grown
