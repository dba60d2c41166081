"""Time of threads, and of the workers, nodes and machines that they run on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.engines.emulator.readings import NANOSECONDS, Bucket
from streamgauge.engines.emulator.series import counted, gauged, spent
from streamgauge.engines.emulator.subjects import Rows, Subjects
from streamgauge.lake.metrics import Metric
from streamgauge.lake.records import Sample
from streamgauge.simulation.program import Compiled
from streamgauge.simulation.records import PROCESSOR, SOURCE
from streamgauge.simulation.trees import SAMPLING
from streamgauge.transport.mechanics import NO_LIMIT


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
        self._nodes = list(subjects.nodes)
        self._node_of_worker = np.asarray([self._nodes.index(one.node) for one in plan.workers])
        self._threads = _workers_of_threads(compiled)
        first_tasks = program.task_of_executor[: at.executors]
        kind = program.operator["kind"][program.task["operator"][first_tasks]]
        self._polls = kind != SOURCE
        self._processors = np.flatnonzero(kind == PROCESSOR)
        self._sources = kind == SOURCE
        self._input_executor = program.task["executor"][rows.inputs // at.subscriptions]
        self._task_of_executor = first_tasks.tolist()
        # A source that must stop is held back by full queues where nothing else can stop it.
        mechanics = compiled.mechanics
        self._stopped = mechanics.watermarks is not None and mechanics.max_pending >= NO_LIMIT
        self._timed = [n for n, (_, w) in enumerate(compiled.windows) if w.slide_seconds]
        self._window_tasks = [task for task, _ in compiled.windows]

    def of(self, bucket: Bucket) -> Iterator[Sample]:
        """All samples of a bucket."""
        cpu = bucket.grown_whole("cpu", NANOSECONDS)
        polled = np.rint(self._polling(bucket) * NANOSECONDS)
        yield from self._executors(bucket, cpu, polled)
        yield from self._back_pressure(bucket)
        yield from self._window_threads(bucket, cpu)
        yield from self._workers(bucket, cpu, polled)
        yield from self._hardware(bucket, self._by_worker(cpu, polled))

    def _polling(self, bucket: Bucket) -> NDArray[Any]:
        """Core-seconds that each executor polled, by its part of its machine's idle time."""
        machine = self._machine_of_worker[self._worker]
        idle = bucket.grown("idle")[: self._at.executors] * self._polls
        of_machine = np.bincount(machine, idle, minlength=len(self._machines))
        share = bucket.grown("polled") / np.maximum(of_machine, 1e-300)
        return np.asarray(idle * share[machine])

    def _executors(
        self, bucket: Bucket, cpu: NDArray[Any], polled: NDArray[Any]
    ) -> Iterator[Sample]:
        who, mine = self._subjects.executors, slice(0, self._at.executors)
        idle = bucket.grown_whole("idle", NANOSECONDS)[mine]
        yield from spent(bucket, Metric.EXECUTOR_CPU, who, cpu[mine] + polled)
        yield from spent(bucket, Metric.EXECUTOR_IDLE, who, idle)
        # Storm's capacity: sampled executions times their mean time, by a clock of milliseconds.
        sampled = np.bincount(
            self._input_executor,
            SAMPLING * bucket.grown("inputs", "sampled_wall"),
            minlength=self._at.executors,
        )
        capacity = sampled[self._processors] / (1e3 * bucket.seconds)
        bolts = [who[place] for place in self._processors.tolist()]
        yield from gauged(bucket, Metric.EXECUTOR_CAPACITY, bolts, capacity)

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

    def _window_threads(self, bucket: Bucket, cpu: NDArray[Any]) -> Iterator[Sample]:
        who = [self._subjects.tasks[self._window_tasks[n]] for n in self._timed]
        mine = [self._at.triggers + n for n in self._timed]
        yield from spent(bucket, Metric.WINDOW_THREAD_CPU, who, cpu[mine])

    def _by_worker(self, cpu: NDArray[Any], polled: NDArray[Any]) -> NDArray[Any]:
        workers = self._at.workers
        of_threads = np.bincount(self._threads, cpu, minlength=workers)
        return np.asarray(of_threads + np.bincount(self._worker, polled, minlength=workers))

    def _workers(self, bucket: Bucket, cpu: NDArray[Any], polled: NDArray[Any]) -> Iterator[Sample]:
        at, who = self._at, self._subjects.workers
        total = self._by_worker(cpu, polled)
        ones = np.ones(at.workers, dtype=np.int64)
        yield from counted(bucket, Metric.WORKER_HEARTBEATS, who, ones)
        yield from gauged(bucket, Metric.WORKER_UPTIME, who, ones * bucket.after.time)
        threads = np.bincount(self._worker, minlength=at.workers)
        yield from gauged(bucket, Metric.WORKER_THREADS, who, threads)
        yield from spent(bucket, Metric.WORKER_CPU, who, total)
        cores = np.maximum(total, 0.0) / (NANOSECONDS * bucket.seconds)
        yield from gauged(bucket, Metric.WORKER_CORES, who, cores)
        transfer = cpu[at.transfers : at.receives]
        yield from spent(bucket, Metric.TRANSFER_THREAD_CPU, who, transfer)
        if at.triggers > at.receives:
            network = cpu[at.receives : at.triggers]
            yield from spent(bucket, Metric.NETWORK_THREADS_CPU, who, network)
        carried = bucket.grown("carried").reshape(at.workers, at.workers).sum(axis=1)
        yield from counted(bucket, Metric.NETWORK_MESSAGES_SENT, who, carried)

    def _hardware(self, bucket: Bucket, by_worker: NDArray[Any]) -> Iterator[Sample]:
        nodes = list(self._subjects.nodes.values())
        by_node = np.bincount(self._node_of_worker, by_worker, minlength=len(nodes))
        threads = np.bincount(self._worker, minlength=self._at.workers)
        of_node = np.bincount(self._node_of_worker, threads, minlength=len(nodes))
        yield from spent(bucket, Metric.NODE_CPU, nodes, by_node)
        yield from gauged(bucket, Metric.NODE_THREADS, nodes, of_node)
        machines = list(self._subjects.machines.values())
        background = np.asarray([one.background_cores for one in self._machines])
        other = np.rint(background * bucket.seconds * NANOSECONDS)
        work = bucket.grown_whole("busy", NANOSECONDS) + bucket.grown_whole("polled", NANOSECONDS)
        cores = np.asarray([one.cores for one in self._machines])
        of_machine = np.bincount(self._machine_of_worker, threads, minlength=len(self._machines))
        yield from spent(bucket, Metric.MACHINE_CPU, machines, (work + other)[self._used])
        yield from gauged(bucket, Metric.MACHINE_CORES, machines, cores[self._used])
        yield from gauged(bucket, Metric.MACHINE_THREADS, machines, of_machine[self._used])


def _workers_of_threads(compiled: Compiled) -> NDArray[Any]:
    """The worker of every thread: executors', send, transfer, receive and trigger threads."""
    program = compiled.program
    at = program.at
    of_executor = program.worker.tolist()
    workers = [*of_executor, *of_executor[: at.transfers - at.sends]]
    workers += [*range(at.workers), *range(at.triggers - at.receives)]
    workers += [of_executor[program.task["executor"][task]] for task, _ in compiled.windows]
    return np.asarray(workers)
