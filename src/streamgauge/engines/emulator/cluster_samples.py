"""What carries the tasks: queues, threads, workers, nodes, machines, and links between nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.engines.emulator.readings import MILLISECONDS, NANOSECONDS, Bucket
from streamgauge.engines.emulator.subjects import Rows, Subject, Subjects
from streamgauge.lake.definition import Queue
from streamgauge.lake.metrics import Metric
from streamgauge.lake.records import Link, LinkKind, Sample
from streamgauge.simulation.program import Compiled
from streamgauge.simulation.records import PROCESSOR, SOURCE
from streamgauge.simulation.trees import SAMPLING
from streamgauge.topology.cluster import Cluster
from streamgauge.transport.mechanics import NO_LIMIT

PROBES = 10
_NANOSECONDS_PER_MS = 1e6


class QueueSamples:
    """Samples of the engine's queues.

    What comes from other workers to be deserialised is the network's queue, where that takes
    time. What is due at sources waits outside of the engine.
    """

    def __init__(self, subjects: Subjects, compiled: Compiled) -> None:
        at, mechanics = compiled.program.at, compiled.mechanics
        self._batched = mechanics.send_threads
        places: list[int] = []
        limits: list[int] = []
        self._who: list[Subject] = []
        for queue, first, end, limit in (
            (Queue.RECEIVE, 0, at.executors, mechanics.receive_limit),
            (Queue.SEND, at.send, at.transfer, mechanics.send_limit),
            (Queue.TRANSFER, at.transfer, at.incoming, mechanics.transfer_limit),
            (Queue.NETWORK, at.incoming, at.windows, NO_LIMIT),
        ):
            places += range(first, end)
            limits += [limit] * (end - first)
            self._who += [subjects.queue(queue, owner) for owner in range(end - first)]
        self._places = np.asarray(places)
        self._limits = np.asarray(limits)
        # Only there can a tuple be thrown away, and only by engines without batches.
        self._receive = slice(0, at.executors)
        self._drops = not self._batched and mechanics.overflow_limit < NO_LIMIT

    def of(self, bucket: Bucket) -> Iterator[Sample]:
        """All samples of a bucket."""
        arrived = bucket.grown("arrived")[self._places]
        yield from bucket.counted(Metric.QUEUE_ARRIVALS, self._who, arrived)
        if self._batched:
            lists = bucket.grown("objects")[self._places]
            yield from bucket.counted(Metric.QUEUE_LISTS, self._who, lists)
            yield from bucket.averaged(Metric.TUPLES_PER_LIST_MEAN, self._who, arrived, lists)
        yield from self._levels(bucket)
        yield from self._sojourns(bucket, arrived)
        if self._drops:
            who, total = self._who[self._receive], bucket.after["dropped"][self._receive]
            dropped = bucket.grown("dropped")[self._receive]
            yield from bucket.counted(Metric.QUEUE_DROPS, who, dropped)
            yield from bucket.totals(Metric.QUEUE_DROPS_TOTAL, who, total, 1)
        yield from self._engine(bucket, arrived)

    def _levels(self, bucket: Bucket) -> Iterator[Sample]:
        """Mean length over time, and what stands behind the queue when the bucket ends."""
        length = bucket.grown("area")[self._places] / bucket.seconds
        if not self._batched:
            length = np.minimum(length, self._limits)
        bounded = np.flatnonzero(self._limits < NO_LIMIT)
        who = [self._who[place] for place in bounded.tolist()]
        overflow = bucket.after["overflow"][self._places]
        # Sums of many small steps may end a hair below zero.
        yield from bucket.gauged(Metric.QUEUE_POPULATION, self._who, np.maximum(length, 0.0))
        yield from bucket.gauged(Metric.QUEUE_CAPACITY, who, self._limits[bounded])
        yield from bucket.gauged(Metric.QUEUE_OVERFLOW, who, overflow[bounded])

    def _sojourns(self, bucket: Bucket, arrived: NDArray[Any]) -> Iterator[Sample]:
        left = arrived - bucket.grown("length")[self._places]
        sojourn = bucket.grown_whole("sojourn", NANOSECONDS)[self._places]
        yield from bucket.summed(Metric.QUEUE_SOJOURN_SUM, self._who, sojourn, left)
        waits = bucket.grown("wait_bin")
        yield from bucket.binned(Metric.QUEUE_SOJOURN_BIN, self._who[self._receive], waits)

    def _engine(self, bucket: Bucket, arrived: NDArray[Any]) -> Iterator[Sample]:
        """What Storm says of its queues: a rate, and from it a time by Little's law.

        It divides the tuples there are at one moment by the rate of those that come.
        """
        rate = arrived / bucket.seconds
        yield from bucket.gauged(Metric.QUEUE_ARRIVAL_RATE, self._who, rate)
        inside = (bucket.after["length"] - bucket.after["overflow"])[self._places]
        for place in np.flatnonzero(arrived).tolist():
            value = float(inside[place]) / float(rate[place]) * MILLISECONDS
            yield bucket.sample(Metric.QUEUE_SOJOURN_MEAN, self._who[place], value, 1)


class ThreadSamples:
    """Samples of executors, workers, nodes and machines.

    The simulator knows how long all idle threads of a machine polled together; each executor
    that is no source is charged by the time that it was idle.
    """

    def __init__(self, subjects: Subjects, compiled: Compiled, rows: Rows) -> None:
        program, plan = compiled.program, subjects.plan
        at = program.at
        self._subjects = subjects
        self._at = at
        self._machines = plan.cluster.machines
        names = [machine.name for machine in self._machines]
        of_worker = [plan.cluster.machine_of(worker.node).name for worker in plan.workers]
        self._machine_of_worker = np.asarray([names.index(name) for name in of_worker])
        self._used = [names.index(name) for name in subjects.machines]
        self._worker = np.asarray(plan.placement)
        self._executors_of_worker = np.bincount(self._worker, minlength=at.workers)
        nodes = list(subjects.nodes)
        self._node_of_worker = np.asarray([nodes.index(one.node) for one in plan.workers])
        self._worker_of_thread = _workers_of_threads(compiled)
        first_tasks = program.task_of_executor[: at.executors]
        kind = program.operator["kind"][program.task["operator"][first_tasks]]
        self._sources = kind == SOURCE
        owners = plan.logical.topology.operator_names
        # What emits as fast as it can has nothing due.
        self._paced = [
            place
            for place, number in enumerate(program.task["operator"][first_tasks].tolist())
            if self._sources[place] and owners[number] not in compiled.eager_sources
        ]
        self._processors = np.flatnonzero(kind == PROCESSOR)
        self._input_executor = program.task["executor"][rows.inputs // at.subscriptions]
        self._task_of_executor = first_tasks.tolist()
        # A source that must stop is held back by full queues where nothing else can stop it.
        mechanics = compiled.mechanics
        self._stopped = mechanics.stops_sources and mechanics.max_pending >= NO_LIMIT
        self._timed = [n for n, (_, w) in enumerate(compiled.windows) if w.slide_seconds]
        self._window_tasks = [task for task, _ in compiled.windows]

    def of(self, bucket: Bucket) -> Iterator[Sample]:
        """All samples of a bucket."""
        cpu = bucket.grown_whole("cpu", NANOSECONDS)
        polled = np.rint(self._polling(bucket) * NANOSECONDS)
        workers = self._at.workers
        of_threads = np.bincount(self._worker_of_thread, cpu, minlength=workers)
        by_worker = of_threads + np.bincount(self._worker, polled, minlength=workers)
        yield from self._executors(bucket, cpu, polled)
        yield from self._lags(bucket)
        yield from self._back_pressure(bucket)
        yield from self._windows(bucket, cpu)
        yield from self._workers(bucket, cpu, by_worker)
        yield from self._hardware(bucket, by_worker)

    def _windows(self, bucket: Bucket, cpu: NDArray[Any]) -> Iterator[Sample]:
        who = [self._subjects.tasks[self._window_tasks[n]] for n in self._timed]
        mine = [self._at.triggers + n for n in self._timed]
        if mine:
            of_worker = np.bincount(
                self._worker_of_thread[mine], cpu[mine], minlength=self._at.workers
            )
            yield from bucket.spent(Metric.WINDOW_THREAD_CPU, who, cpu[mine])
            yield from bucket.spent(Metric.WINDOW_THREADS_CPU, self._subjects.workers, of_worker)

    def _polling(self, bucket: Bucket) -> NDArray[Any]:
        """Core-seconds that each executor polled, by its part of its machine's idle time."""
        machine = self._machine_of_worker[self._worker]
        idle = bucket.grown("idle")[: self._at.executors] * ~self._sources
        of_machine = np.bincount(machine, idle, minlength=len(self._machines))
        share = bucket.grown("polled") / np.maximum(of_machine, 1e-300)
        return np.asarray(idle * share[machine])

    def _executors(
        self, bucket: Bucket, cpu: NDArray[Any], polled: NDArray[Any]
    ) -> Iterator[Sample]:
        who, mine = self._subjects.executors, slice(0, self._at.executors)
        idle = bucket.grown_whole("idle", NANOSECONDS)[mine]
        delay = bucket.grown_whole("run_delay", NANOSECONDS)[mine]
        yield from bucket.spent(Metric.EXECUTOR_CPU, who, cpu[mine] + polled)
        yield from bucket.spent(Metric.EXECUTOR_RUN_DELAY, who, delay)
        yield from bucket.spent(Metric.EXECUTOR_IDLE, who, idle)
        yield from bucket.spent(Metric.EXECUTOR_IDLE_CPU, who, polled)
        # Storm's capacity: sampled executions times their mean time, by a clock of milliseconds.
        sampled = np.bincount(
            self._input_executor,
            SAMPLING * bucket.grown("inputs", "sampled_wall"),
            minlength=self._at.executors,
        )
        capacity = sampled[self._processors] / (1e3 * bucket.seconds)
        bolts = [who[place] for place in self._processors.tolist()]
        yield from bucket.gauged(Metric.EXECUTOR_CAPACITY, bolts, capacity)

    def _lags(self, bucket: Bucket) -> Iterator[Sample]:
        """Tuples that are due and not emitted when the bucket ends."""
        who = [self._subjects.executors[place] for place in self._paced]
        waiting = bucket.after["length"][self._at.due : self._at.send]
        yield from bucket.gauged(Metric.SOURCE_LAG, who, waiting[self._paced])

    def _back_pressure(self, bucket: Bucket) -> Iterator[Sample]:
        mine = slice(0, self._at.executors)
        held = bucket.grown_whole("blocked", NANOSECONDS)[mine]
        if self._stopped:
            stopped = bucket.grown_whole("throttled", NANOSECONDS)[mine]
            held = held + np.where(self._sources, stopped, 0.0)
        # The simulator adds up senders; several that wait at once count once here at the most.
        most = bucket.seconds * NANOSECONDS
        caused = np.minimum(bucket.grown_whole("caused", NANOSECONDS)[mine], np.rint(most))
        for place in np.flatnonzero(held > 0.0).tolist():
            who = self._subjects.executors[place]
            yield bucket.sample(Metric.BACKPRESSURE_HELD, who, float(held[place]), 1)
        for place in np.flatnonzero(caused > 0.0).tolist():
            who = self._subjects.tasks[self._task_of_executor[place]]
            yield bucket.sample(Metric.BACKPRESSURE_CAUSED, who, float(caused[place]), 1)

    def _workers(
        self, bucket: Bucket, cpu: NDArray[Any], by_worker: NDArray[Any]
    ) -> Iterator[Sample]:
        at, who = self._at, self._subjects.workers
        ones = np.ones(at.workers, dtype=np.int64)
        yield from bucket.counted(Metric.WORKER_HEARTBEATS, who, ones)
        yield from bucket.gauged(Metric.WORKER_UPTIME, who, ones * bucket.after["time"])
        yield from bucket.gauged(Metric.WORKER_THREADS, who, self._executors_of_worker)
        yield from bucket.spent(Metric.WORKER_CPU, who, by_worker)
        delay = bucket.grown_whole("run_delay", NANOSECONDS)
        of_worker = np.bincount(self._worker_of_thread, delay, minlength=at.workers)
        yield from bucket.spent(Metric.WORKER_RUN_DELAY, who, of_worker)
        executed = np.bincount(
            self._worker[self._input_executor],
            bucket.grown("inputs", "executed"),
            minlength=at.workers,
        )
        yield from bucket.counted(Metric.WORKER_EXECUTED, who, executed.astype(np.int64))
        cores = np.maximum(by_worker, 0.0) / (NANOSECONDS * bucket.seconds)
        yield from bucket.gauged(Metric.WORKER_CORES, who, cores)
        yield from bucket.spent(Metric.TRANSFER_THREAD_CPU, who, cpu[at.transfers : at.receives])
        if at.triggers > at.receives:
            yield from bucket.spent(Metric.NETWORK_THREADS_CPU, who, cpu[at.receives : at.triggers])
        carried = bucket.grown("carried").reshape(at.workers, at.workers).sum(axis=1)
        yield from bucket.counted(Metric.NETWORK_MESSAGES_SENT, who, carried)

    def _hardware(self, bucket: Bucket, by_worker: NDArray[Any]) -> Iterator[Sample]:
        nodes = list(self._subjects.nodes.values())
        by_node = np.bincount(self._node_of_worker, by_worker, minlength=len(nodes))
        threads = self._executors_of_worker
        of_node = np.bincount(self._node_of_worker, threads, minlength=len(nodes))
        yield from bucket.spent(Metric.NODE_CPU, nodes, by_node)
        yield from bucket.gauged(Metric.NODE_THREADS, nodes, of_node)
        machines = list(self._subjects.machines.values())
        background = np.asarray([one.background_cores for one in self._machines])
        other = np.rint(background * bucket.seconds * NANOSECONDS)
        work = bucket.grown_whole("busy", NANOSECONDS) + bucket.grown_whole("polled", NANOSECONDS)
        cores = np.asarray([one.cores for one in self._machines])
        of_machine = np.bincount(self._machine_of_worker, threads, minlength=len(self._machines))
        yield from bucket.spent(Metric.MACHINE_CPU, machines, (work + other)[self._used])
        yield from bucket.gauged(Metric.MACHINE_CORES, machines, cores[self._used])
        yield from bucket.gauged(Metric.MACHINE_THREADS, machines, of_machine[self._used])


def _workers_of_threads(compiled: Compiled) -> NDArray[Any]:
    """The worker of every thread: executors', send, transfer, receive and trigger threads."""
    program = compiled.program
    at = program.at
    of_executor = program.worker.tolist()
    workers = [*of_executor, *of_executor[: at.transfers - at.sends]]
    workers += [*range(at.workers), *range(at.triggers - at.receives)]
    workers += [of_executor[program.task["executor"][task]] for task, _ in compiled.windows]
    return np.asarray(workers)


class Probes:
    """Probes between all pairs of nodes: what `ping` would say of the cluster's links.

    A message takes the link's latency, of which the jitter is the exponential random part, as in
    the simulator. All nodes have the same clock, so that one-way times are right.
    """

    def __init__(
        self,
        cluster: Cluster,
        nodes: tuple[str, ...],
        name: str | None,
        random: np.random.Generator,
    ) -> None:
        self._name = name
        self._random = random
        self._pairs = [(a, b) for a in nodes for b in nodes if a != b]
        self._latency = _matrix([cluster.latency_between(a, b) for a, b in self._pairs])
        self._jitter = _matrix([cluster.jitter_between(a, b) for a, b in self._pairs])
        place = {pair: index for index, pair in enumerate(self._pairs)}
        self._back = [place[b, a] for a, b in self._pairs]

    def at(self, measured_at_us: int) -> Iterator[Link]:
        """One-way times and round trips of all pairs."""
        # Drawn apart, since a round trip is not the way out and back of two other probes.
        alone, out, back = (self._one_way() for _ in range(3))
        both = out + back[self._back]
        for (source, target), one_way, trip in zip(self._pairs, alone, both, strict=True):
            for kind, times in ((LinkKind.ROUND_TRIP, trip), (LinkKind.ONE_WAY, one_way)):
                yield Link(
                    cluster=self._name,
                    source_node=source,
                    target_node=target,
                    kind=kind.value,
                    measured_at_us=measured_at_us,
                    sent=PROBES,
                    received=PROBES,
                    least_ns=round(float(times.min())),
                    mean_ns=round(float(times.mean())),
                    most_ns=round(float(times.max())),
                )

    def _one_way(self) -> NDArray[Any]:
        """Nanoseconds of each probe of each pair."""
        random = self._random.standard_exponential((len(self._pairs), PROBES))
        return np.asarray(self._latency + self._jitter * (random - 1.0))


def _matrix(milliseconds: list[float]) -> NDArray[np.float64]:
    return np.asarray(milliseconds).reshape(-1, 1) * _NANOSECONDS_PER_MS
