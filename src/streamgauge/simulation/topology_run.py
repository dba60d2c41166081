"""Simulating a whole job: from a plan, behaviours and a workload to what happens."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import Findings, InternalError
from streamgauge.profile.behaviour import Behaviour
from streamgauge.simulation import kernel
from streamgauge.simulation.cores import make_cores
from streamgauge.simulation.draws import TABLE, Draws
from streamgauge.simulation.emissions import next_due
from streamgauge.simulation.kernel import BINS, BINS_PER_E, SMALLEST, State, Waiting
from streamgauge.simulation.program import EVERY, NONE, Compiled, Program, compile_job
from streamgauge.simulation.random_streams import make_streams
from streamgauge.simulation.timers import make_timers, set_timer
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.validation import check_number
from streamgauge.topology.workload import Workload

# Storm 2.8 with its default wait strategies (verified on a running cluster).
STORM_2_WAITING = Waiting(
    bolt_spin=0.055, bolt_sleep=0.001, source_sleep=0.001, transfer_sleep=0.001, transfer_work=0.0
)
NO_WAITING = Waiting(
    bolt_spin=0.0, bolt_sleep=0.0, source_sleep=0.0, transfer_sleep=0.0, transfer_work=0.0
)
EVENTS_AT_A_TIME = 2_000_000
FIRST_POOL = 1 << 16
# Two million messages: a quarter of a gigabyte with their roots.
LARGEST_POOL = 1 << 21


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Latencies:
    """A distribution of latencies in bins of one per cent, from a microsecond on."""

    counts: NDArray[np.int64]
    total_seconds: float

    @property
    def count(self) -> int:
        """How many were recorded."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """Mean in seconds; NaN without any."""
        return self.total_seconds / self.count if self.count else math.nan

    def quantile(self, probability: float) -> float:
        """The latency in seconds that is not exceeded with that probability.

        Read off inside its bin as if that were evenly filled; right to one per cent.
        """
        if not self.count:
            return math.nan
        reached = np.cumsum(self.counts)
        # The smallest latency for a probability of zero: an empty bin has no inside.
        wanted = max(probability * self.count, 1e-9)
        place = min(int(np.searchsorted(reached, wanted)), BINS - 1)
        inside = (wanted - float(reached[place] - self.counts[place])) / self.counts[place]
        return SMALLEST * math.exp((place + min(max(inside, 0.0), 1.0)) / BINS_PER_E)

    def between(self, edges: Sequence[float]) -> list[int]:
        """How many lie between each two neighbouring edges, in seconds."""
        middles = SMALLEST * np.exp((np.arange(BINS) + 0.5) / BINS_PER_E)
        return [int(n) for n in np.histogram(middles, bins=list(edges), weights=self.counts)[0]]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorFigures:
    """What one operator did, over all its executors.

    Attributes:
        executed_per_second: Tuples served.
        emitted_per_second: Tuples emitted, before copies to several subscribers.
        utilisation: Part of the time its executors were not idle.
        queue_length: Mean tuples waiting, all its receive queues together.
        latency: From emission at the source to the end of service here; recorded at sinks.
    """

    executed_per_second: float
    emitted_per_second: float
    utilisation: float
    queue_length: float
    latency: Latencies


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationResult:
    """What happened after the warm-up.

    Attributes:
        seconds: Simulated time that the figures rest on.
        overloaded: Whether queues outgrew all bounds, so that the run ended early.
        operators: By name.
        complete: Complete latency by the ackers' clock, as Storm 2.8 reports it.
        seen_by_source: From emission until the source learned that the tree was complete.
        cores_busy: Cores in use, by machine.
        open_roots: Tuple trees that were not complete at the end.
    """

    seconds: float
    overloaded: bool
    operators: Mapping[str, OperatorFigures]
    complete: Latencies
    seen_by_source: Latencies
    cores_busy: Mapping[str, float]
    open_roots: int


def simulate(
    plan: PhysicalPlan,
    behaviours: Mapping[str, Behaviour],
    workload: Workload,
    *,
    seconds: float,
    warmup: float = 0.0,
    seed: int,
    waiting: Waiting = STORM_2_WAITING,
    progress: Callable[[float], None] | None = None,
) -> SimulationResult:
    """Simulate `seconds` after a warm-up; the same seed gives the same answer.

    Args:
        plan: Where executors run.
        behaviours: What operators do with a tuple.
        workload: What sources emit.
        seconds: Simulated time to measure.
        warmup: Simulated time before that, which is left out.
        seed: Of the random numbers.
        waiting: How idle threads wait.
        progress: Called now and then with the simulated time reached.
    """
    findings = Findings()
    check_number(findings, seconds, "seconds", above=0.0)
    check_number(findings, warmup, "warmup")
    findings.raise_if_any()
    compiled = compile_job(plan, behaviours, workload)
    run = _Run(plan, compiled, waiting, seed, progress)
    if run.until(warmup):
        # It did not live to see the end of its warm-up: say what was seen of it.
        return run.result(since=0.0, overloaded=True)
    run.forget()
    overloaded = run.until(warmup + seconds)
    return run.result(since=warmup, overloaded=overloaded)


class _Run:
    """One simulation under way."""

    def __init__(
        self,
        plan: PhysicalPlan,
        compiled: Compiled,
        waiting: Waiting,
        seed: int,
        progress: Callable[[float], None] | None,
    ) -> None:
        self.plan = plan
        self.compiled = compiled
        self.waiting = waiting
        self.progress = progress
        self.reserve = _most_messages(compiled.program, compiled.draws)
        self.state = _initial(plan, compiled, seed, self.reserve)
        for process in range(len(compiled.program.process_executor)):
            row = len(compiled.program.kind) + process
            due = next_due(compiled.emissions, process, 0.0, self.state.random, row)
            set_timer(self.state.timers, process, due)
        for executor, stream in enumerate(compiled.program.unlimited):
            if stream != NONE:
                thread = len(compiled.program.process_executor) + executor
                self.state.thread["phase"][executor] = kernel.WAKING
                set_timer(self.state.timers, thread, 0.0)

    def until(self, time: float) -> bool:
        """Go on to that time; whether queues outgrew all bounds before it."""
        while True:
            reason = kernel.run(
                self.compiled.program,
                self.state,
                self.compiled.draws,
                self.compiled.emissions,
                self.waiting,
                time,
                EVENTS_AT_A_TIME,
                self.reserve,
            )
            if self.progress is not None:
                self.progress(float(self.state.now[0]))
            if reason == kernel.REACHED:
                return False
            if reason == kernel.BUDGET_SPENT:
                continue
            if len(self.state.message) >= LARGEST_POOL:
                return True
            self.state = _grown(self.state)

    def forget(self) -> None:
        """Begin to measure: the past does not count."""
        s = self.state
        for name in ("executed", "emitted", "busy"):
            s.thread[name] = 0
        s.thread["busy_since"] = s.now[0]
        s.queue["area"], s.queue["changed"] = 0.0, s.now[0]
        s.latency[...] = 0
        s.latency_sum[...] = 0.0
        s.cores.busy[:] = 0.0

    def result(self, *, since: float, overloaded: bool) -> SimulationResult:
        """The figures from `since` on."""
        s, p, plan = self.state, self.compiled.program, self.plan
        seconds = float(s.now[0]) - since
        t, q, now = s.thread, s.queue, s.now[0]
        active = (t["phase"] != kernel.IDLE) & (t["phase"] != kernel.WAKING)
        busy = t["busy"] + np.where(active, now - t["busy_since"], 0.0)
        area = q["area"] + q["length"] * (now - q["changed"])
        operators = {}
        names = plan.logical.topology.operator_names
        for number, name in enumerate(names):
            span = plan.logical.spans[name]
            mine = slice(span.start, span.stop)
            operators[name] = OperatorFigures(
                executed_per_second=float(t["executed"][mine].sum()) / seconds,
                emitted_per_second=float(t["emitted"][mine].sum()) / seconds,
                utilisation=float(busy[mine].mean()) / seconds,
                queue_length=float(area[mine].sum()) / seconds,
                latency=_latencies(s, number),
            )
        machines = [machine.name for machine in plan.cluster.machines]
        return SimulationResult(
            seconds=seconds,
            overloaded=overloaded,
            operators=operators,
            complete=_latencies(s, len(names)),
            seen_by_source=_latencies(s, len(names) + 1),
            cores_busy={name: float(s.cores.busy[n]) / seconds for n, name in enumerate(machines)},
            open_roots=int(t["pending"].sum()) if p.ackers else 0,
        )


def _latencies(s: State, row: int) -> Latencies:
    return Latencies(counts=s.latency[row].copy(), total_seconds=float(s.latency_sum[row]))


def _most_messages(p: Program, draws: Draws) -> int:
    """The most messages that one event can create."""
    copies = np.zeros(len(p.stream_first) - 1, dtype=np.int64)
    for stream in range(len(copies)):
        for place in range(p.stream_first[stream], p.stream_first[stream + 1]):
            subscription = p.subscription[place]
            rows = np.arange(len(p.kind)) * len(p.rule) + subscription
            fan = int((p.target_first[rows + 1] - p.target_first[rows]).max())
            copies[stream] += fan if p.rule[subscription] == EVERY else 1
    most = int(copies.max(initial=1))
    for row in range(len(p.output_first) - 1):
        places = range(p.output_first[row], p.output_first[row + 1])
        total = sum(_largest(draws, p.output_count[n]) * copies[p.output_stream[n]] for n in places)
        most = max(most, int(total))
    return most + 4


def _largest(draws: Draws, which: int) -> int:
    if draws.kind[which] != TABLE:
        raise InternalError("outputs are counted by tables")
    return int(draws.value[draws.first[which + 1] - 1])


def _initial(plan: PhysicalPlan, compiled: Compiled, seed: int, reserve: int) -> State:
    p = compiled.program
    pool = max(FIRST_POOL, 4 * reserve)
    executors, workers = len(p.kind), len(plan.workers)
    threads, processes = executors + workers, len(p.process_executor)
    machines = len(plan.cluster.machines)
    queues = 2 * executors + workers + workers * workers
    capacity = [one.cores - one.background_cores for one in plan.cluster.machines]
    random = make_streams(seed, executors + processes)
    rows = len(plan.logical.topology.operators) + 2
    turn = np.zeros(executors * len(p.rule), dtype=np.int64)
    sizes = np.maximum(np.diff(p.target_first), 1)
    # Every sender begins its round at a random target.
    turn[:] = np.random.default_rng(seed).integers(0, sizes)
    return State(
        now=np.zeros(1),
        timers=make_timers(processes + threads + machines + workers * workers),
        cores=make_cores(capacity, p.machine.tolist()),
        random=random,
        queue=np.zeros(queues, dtype=kernel.QUEUE),
        message=_pool(kernel.MESSAGE, 0, pool),
        root=_pool(kernel.ROOT, 0, pool if p.ackers else 1),
        thread=np.zeros(threads, dtype=kernel.THREAD),
        free=np.asarray([0, pool, 0, pool if p.ackers else 1], dtype=np.int64),
        turn=turn,
        outbox=np.zeros(reserve, dtype=np.int64),
        ready=np.zeros(threads, dtype=np.int64),
        latency=np.zeros((rows, BINS), dtype=np.int64),
        latency_sum=np.zeros(rows),
    )


def _pool(kind: np.dtype[Any], first: int, last: int) -> NDArray[Any]:
    """Entries `first` to `last` of a pool, each the next free one of the one before."""
    pool = np.zeros(last - first, dtype=kind)
    pool["link"] = np.arange(first + 1, last + 1)
    pool["link"][-1] = NONE
    return pool


def _grown(s: State) -> State:
    """The same state with twice the messages and roots."""
    message = _doubled(s.message, s.free[0:2])
    return s._replace(message=message, root=_doubled(s.root, s.free[2:4]))


def _doubled(pool: NDArray[Any], free: NDArray[Any]) -> NDArray[Any]:
    """A pool of twice the size; `free` holds its first free entry and how many there are."""
    size = len(pool)
    added = _pool(pool.dtype, size, 2 * size)
    # What was free before follows what is new.
    added["link"][-1] = free[0] if free[1] > 0 else NONE
    free[0] = size
    free[1] += size
    return np.concatenate([pool, added])
