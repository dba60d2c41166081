"""A job made ready for the kernel: plan, behaviours and workload as arrays.

Names end here. Threads are the plan's executors in order, then one transfer thread a worker.
Streams are numbered by (operator, name), subscriptions in the topology's order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import Findings
from streamgauge.profile.behaviour import Behaviour, Service
from streamgauge.profile.counts import CountDistribution, EmpiricalCount
from streamgauge.profile.distribution import Distribution
from streamgauge.simulation.draws import Draws, make_draws
from streamgauge.simulation.emissions import Emissions, make_emissions
from streamgauge.topology.grouping import (
    All,
    Custom,
    Fields,
    Global,
    LocalOrShuffle,
    PartialKey,
    Shuffle,
)
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import ACKER, OperatorKind, Stream, StreamKey
from streamgauge.topology.workload import Emission, Unlimited, Workload
from streamgauge.transport.hashing import task_index

MILLISECOND = 1e-3
# What an operator is.
SOURCE, PROCESSOR, TRACKER = range(3)
# How a subscription chooses tasks: one of a list in turn, by key, by shares, all.
IN_TURN, BY_KEY, BY_SHARE, EVERY = range(4)
NONE = -1


class Program(NamedTuple):
    """Everything that does not change while a simulation runs.

    Attributes:
        kind: Of each executor: SOURCE, PROCESSOR or TRACKER.
        operator: Of each executor.
        worker: Of each thread.
        machine: Of each thread.
        executor_of_task: By task, counted from the first.
        task_of_executor: Its lowest task.
        cpu: Draw of the CPU time, by operator and subscription; the last column is a source's own.
        wait: Draw of the waiting time, likewise.
        output_first: Where the outputs of (operator, subscription) begin in the next two.
        output_stream: Stream of each output.
        output_count: Draw of its number.
        output_share: Cumulative probability of an output that excludes the others; else negative.
        stream_first: Where the subscriptions of each stream begin in `subscription`.
        subscription: Subscriptions by stream.
        key_draw: Draw of the key of each stream, or NONE.
        rule: How each subscription chooses tasks.
        target_first: Where the targets of (worker or sending task, subscription) begin.
        target: Tasks to choose from.
        target_share: Cumulative share of each target, for BY_SHARE.
        key_first: Where each subscription's table of tasks by key begins.
        key_task: Tasks by key.
        latency: Seconds between two workers.
        serialise: CPU seconds of an operator for a tuple that leaves its worker.
        ack: CPU seconds of an operator for one acknowledgement.
        factor: Relative service time of each task.
        is_sink: Whether paths end at an operator.
        acker_first: First acker task; ackers follow each other.
        ackers: How many there are; none means that nothing is tracked.
        process_executor: Source executor of each emission process.
        process_stream: Stream of each emission process.
        process_task: Task of each emission process.
        unlimited: Stream that a source executor emits on whenever asked, or NONE.
        max_pending: Roots that a source task may have open, or a huge number.
    """

    kind: NDArray[Any]
    operator: NDArray[Any]
    worker: NDArray[Any]
    machine: NDArray[Any]
    executor_of_task: NDArray[Any]
    task_of_executor: NDArray[Any]
    cpu: NDArray[Any]
    wait: NDArray[Any]
    output_first: NDArray[Any]
    output_stream: NDArray[Any]
    output_count: NDArray[Any]
    output_share: NDArray[Any]
    stream_first: NDArray[Any]
    subscription: NDArray[Any]
    key_draw: NDArray[Any]
    rule: NDArray[Any]
    target_first: NDArray[Any]
    target: NDArray[Any]
    target_share: NDArray[Any]
    key_first: NDArray[Any]
    key_task: NDArray[Any]
    latency: NDArray[Any]
    serialise: NDArray[Any]
    ack: NDArray[Any]
    factor: NDArray[Any]
    is_sink: NDArray[Any]
    acker_first: int
    ackers: int
    process_executor: NDArray[Any]
    process_stream: NDArray[Any]
    process_task: NDArray[Any]
    unlimited: NDArray[Any]
    max_pending: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A program with what its random parts draw from."""

    program: Program
    draws: Draws
    emissions: Emissions


def compile_job(
    plan: PhysicalPlan,
    behaviours: Mapping[str, Behaviour],
    workload: Workload,
) -> Compiled:
    """The plan under the workload, ready to run.

    Raises:
        InvalidInput: Something the plan needs is not said, or cannot be simulated.
    """
    _check(plan, behaviours, workload)
    return _Compiler(plan, behaviours, workload).compile()


def _check(plan: PhysicalPlan, behaviours: Mapping[str, Behaviour], workload: Workload) -> None:
    findings = Findings()
    topology = plan.logical.topology
    for operator in topology.operators:
        if operator.name not in behaviours and operator.kind is OperatorKind.PROCESSOR:
            findings.add(
                "behaviours",
                seen=f"nothing on {operator.name!r}",
                expected="a behaviour for every processor",
            )
        behaviour = behaviours.get(operator.name, Behaviour())
        if operator.window is not None or behaviour.join is not None:
            findings.add(
                "topology",
                "operators",
                operator.name,
                seen="a window or join",
                expected="operators that act on single tuples",
                remedy="windows and joins are not simulated yet",
            )
    for index, stream in enumerate(topology.streams):
        if isinstance(stream.grouping, PartialKey):
            findings.add(
                "topology",
                "streams",
                index,
                seen="partial-key grouping",
                expected="another grouping",
                remedy="partial keys are not simulated yet",
            )
    for index, emission in enumerate(workload.emissions):
        service = behaviours.get(emission.source, Behaviour()).service
        if isinstance(emission.shape, Unlimited) and service.mean_ms <= 0.0:
            findings.add(
                "workload",
                index,
                seen="an unlimited source whose tuples take no time",
                expected="a service time, or it would emit without end at one moment",
            )
    if not workload.emissions:
        findings.add("workload", seen="no emission", expected="at least one")
    if plan.logical.configuration.engine != "storm-2":
        findings.add(
            "configuration",
            "engine",
            seen=plan.logical.configuration.engine,
            expected="storm-2, the only transport that is simulated so far",
        )
    findings.raise_if_any()


class _Compiler:
    """Numbers everything and fills the tables; used once."""

    def __init__(
        self, plan: PhysicalPlan, behaviours: Mapping[str, Behaviour], workload: Workload
    ) -> None:
        self.plan = plan
        self.topology = plan.logical.topology
        self.behaviours = behaviours
        self.workload = workload
        self.distributions: list[Distribution | CountDistribution] = []
        self.numbers = {name: n for n, name in enumerate(self.topology.operator_names)}
        self.keys = list(dict.fromkeys(stream.key for stream in self.topology.streams))
        self.stream_number = {key: n for n, key in enumerate(self.keys)}
        self.first_task = plan.logical.executors[0].first_task

    def compile(self) -> Compiled:
        plan, topology = self.plan, self.topology
        executors = plan.logical.executors
        kinds = {
            OperatorKind.SOURCE: SOURCE,
            OperatorKind.PROCESSOR: PROCESSOR,
            OperatorKind.ACKER: TRACKER,
        }
        machines = [machine.name for machine in plan.cluster.machines]
        machine_of_worker = [
            machines.index(plan.cluster.machine_of(worker.node).name) for worker in plan.workers
        ]
        worker = [*plan.placement, *range(len(plan.workers))]
        cpu, wait = self._services()
        outputs = self._outputs()
        subscriptions = self._subscriptions()
        targets = self._targets()
        by_key = self._tasks_by_key()
        processes = self._processes()
        ackers = plan.logical.tasks_of(ACKER) if topology.has_ackers else range(0)
        pending = plan.logical.configuration.settings.get("topology.max.spout.pending")
        sinks = {operator.name for operator in topology.sinks}
        program = Program(
            kind=_ints(kinds[topology.operator(one.operator).kind] for one in executors),
            operator=_ints(self.numbers[one.operator] for one in executors),
            worker=_ints(worker),
            machine=_ints(machine_of_worker[one] for one in worker),
            executor_of_task=_ints(
                index for index, executor in enumerate(executors) for _ in executor.tasks
            ),
            task_of_executor=_ints(one.first_task - self.first_task for one in executors),
            cpu=cpu,
            wait=wait,
            output_first=outputs[0],
            output_stream=outputs[1],
            output_count=outputs[2],
            output_share=outputs[3],
            stream_first=subscriptions[0],
            subscription=subscriptions[1],
            key_draw=self._key_draws(),
            rule=_ints(_rule(stream, self._has_keys(stream)) for stream in topology.streams),
            target_first=targets[0],
            target=targets[1],
            target_share=targets[2],
            key_first=by_key[0],
            key_task=by_key[1],
            latency=np.asarray(
                [
                    [plan.cluster.latency_between(a.node, b.node) for b in plan.workers]
                    for a in plan.workers
                ]
            )
            * MILLISECOND,
            serialise=self._costs("serialise_ms"),
            ack=self._costs("ack_ms"),
            factor=self._factors(),
            is_sink=_ints(name in sinks for name in topology.operator_names),
            acker_first=ackers.start - self.first_task if ackers else NONE,
            ackers=len(ackers),
            process_executor=_ints(row[0] for row in processes),
            process_stream=_ints(row[1] for row in processes),
            process_task=_ints(row[2] for row in processes),
            unlimited=self._unlimited(),
            max_pending=int(pending) if pending is not None else 2**62,
        )
        emissions = make_emissions([row[3] for row in processes], [row[4] for row in processes])
        return Compiled(program=program, draws=make_draws(self.distributions), emissions=emissions)

    def _behaviour(self, name: str) -> Behaviour:
        return self.behaviours.get(name, Behaviour())

    def _draw(self, distribution: Distribution | CountDistribution) -> int:
        self.distributions.append(distribution)
        return len(self.distributions) - 1

    def _services(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Draws by operator and subscription; the last column is for what a source emits."""
        shape = (len(self.numbers), len(self.topology.streams) + 1)
        cpu, wait = np.full(shape, NONE), np.full(shape, NONE)
        for name, row in self.numbers.items():
            behaviour = self._behaviour(name)
            used: dict[Service, tuple[int, int]] = {}
            columns = [
                (column, behaviour.service_of(stream.key))
                for column, stream in enumerate(self.topology.streams)
                if stream.target == name
            ]
            for column, service in [*columns, (shape[1] - 1, behaviour.service)]:
                if service not in used:
                    used[service] = (
                        self._draw(service.cpu_ms.scaled(MILLISECOND)),
                        self._draw(service.wait_ms.scaled(MILLISECOND)),
                    )
                cpu[row, column], wait[row, column] = used[service]
        return cpu, wait

    def _outputs(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        first, streams, counts, shares = [0], [], [], []
        for name in self.numbers:
            behaviour = self._behaviour(name)
            for stream in self.topology.streams:
                if stream.target == name and not stream.is_system:
                    reached = 0.0
                    for output, distribution in behaviour.outputs_of(stream.key).items():
                        key = StreamKey(name, output)
                        streams.append(self.stream_number[key])
                        counts.append(self._draw(distribution))
                        reached += distribution.mean
                        shares.append(reached if behaviour.exclusive else -1.0)
                first.append(len(streams))
        return _ints(first), _ints(streams), _ints(counts), np.asarray(shares, dtype=np.float64)

    def _subscriptions(self) -> tuple[NDArray[Any], NDArray[Any]]:
        first, subscriptions = [0], []
        for key in self.keys:
            subscriptions += [
                n for n, stream in enumerate(self.topology.streams) if stream.key == key
            ]
            first.append(len(subscriptions))
        return _ints(first), _ints(subscriptions)

    def _has_keys(self, stream: Stream) -> bool:
        return stream.name in self._behaviour(stream.source).keys

    def _key_draws(self) -> NDArray[Any]:
        draws = []
        for key in self.keys:
            keys = self._behaviour(key.source).keys.get(key.name)
            draws.append(NONE if keys is None else self._draw(_indices(keys.shares())))
        return _ints(draws)

    def _targets(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """For each executor and subscription the tasks it may choose, with cumulative shares."""
        first, tasks, shares = [0], [], []
        logical = self.plan.logical
        for index, executor in enumerate(logical.executors):
            for stream in self.topology.streams:
                if stream.source == executor.operator:
                    found = self._reachable(index, stream)
                    tasks += [task - self.first_task for task in found]
                    shares += self._shares(index, stream, found)
                first.append(len(tasks))
        return _ints(first), _ints(tasks), np.asarray(shares, dtype=np.float64)

    def _reachable(self, executor: int, stream: Stream) -> list[int]:
        """Tasks that a stream can go to, in the scope that its grouping looks at."""
        tasks = list(self.plan.logical.tasks_of(stream.target))
        if isinstance(stream.grouping, Global):
            return tasks[:1]
        off = self.plan.logical.configuration.settings.get("topology.disable.loadaware.messaging")
        local_only = isinstance(stream.grouping, LocalOrShuffle)
        aware = isinstance(stream.grouping, Shuffle) and not off
        if not (local_only or aware):
            return tasks
        own = self.plan.workers[self.plan.placement[executor]]
        homes = {
            task: self.plan.workers[self.plan.placement[self.plan.logical.index_of_task[task]]]
            for task in tasks
        }
        rack = self.plan.cluster.node(own.node).rack
        scopes = [[task for task in tasks if homes[task] == own]]
        if aware:
            # Storm 2.x widens an empty scope at once: worker, host, rack, everything.
            scopes.append([task for task in tasks if homes[task].node == own.node])
            scopes.append([t for t in tasks if self.plan.cluster.node(homes[t].node).rack == rack])
        return next((scope for scope in scopes if scope), tasks)

    def _shares(self, executor: int, stream: Stream, tasks: list[int]) -> list[float]:
        if isinstance(stream.grouping, Custom):
            matrix = np.asarray(stream.grouping.matrix)
            sending = self.plan.logical.tasks_of(stream.source)
            rows = np.broadcast_to(matrix, (len(sending), matrix.shape[1]))
            own = self.plan.logical.executors[executor].tasks
            mean = rows[own.start - sending.start : own.stop - sending.start].mean(axis=0)
            return [float(share) for share in np.cumsum(mean)]
        return [(index + 1) / len(tasks) for index in range(len(tasks))]

    def _tasks_by_key(self) -> tuple[NDArray[Any], NDArray[Any]]:
        first, tasks = [0], []
        for stream in self.topology.streams:
            if isinstance(stream.grouping, Fields) and self._has_keys(stream):
                names = self._behaviour(stream.source).keys[stream.name].names()
                targets = self.plan.logical.tasks_of(stream.target)
                begin = targets.start - self.first_task
                tasks += [begin + task_index([name], len(targets)) for name in names]
            first.append(len(tasks))
        return _ints(first), _ints(tasks)

    def _processes(self) -> list[tuple[int, int, int, Emission, float]]:
        """Executor, stream, task, emission and rate of every process."""
        rows = []
        for emission in self.workload.emissions:
            if emission.per_second is None or emission.per_second == 0.0:
                continue
            tasks = self.plan.logical.tasks_of(emission.source)
            shares = emission.task_shares(len(tasks))
            for task, share in zip(tasks, shares, strict=True):
                if share > 0.0:
                    executor = self.plan.logical.index_of_task[task]
                    number = self.stream_number[emission.key]
                    rate = emission.per_second * share
                    rows.append((executor, number, task - self.first_task, emission, rate))
        return rows

    def _unlimited(self) -> NDArray[Any]:
        streams = {
            emission.source: self.stream_number[emission.key]
            for emission in self.workload.emissions
            if isinstance(emission.shape, Unlimited)
        }
        return _ints(streams.get(one.operator, NONE) for one in self.plan.logical.executors)

    def _costs(self, name: str) -> NDArray[Any]:
        costs = [getattr(self._behaviour(one).costs, name) for one in self.numbers]
        return np.asarray(costs, dtype=np.float64) * MILLISECOND

    def _factors(self) -> NDArray[Any]:
        factors = []
        for name in dict.fromkeys(one.operator for one in self.plan.logical.executors):
            tasks = len(self.plan.logical.tasks_of(name))
            relative = self._behaviour(name).relative_service
            factors += list(relative) if relative is not None else [1.0] * tasks
        return np.asarray(factors, dtype=np.float64)


def _rule(stream: Stream, has_keys: bool) -> int:
    grouping = stream.grouping
    if isinstance(grouping, All):
        return EVERY
    if isinstance(grouping, Fields) and has_keys:
        return BY_KEY
    if isinstance(grouping, Shuffle | LocalOrShuffle | Global):
        return IN_TURN
    return BY_SHARE


def _indices(shares: NDArray[np.float64]) -> CountDistribution:
    """Keys by their number."""
    return EmpiricalCount(values=tuple(range(len(shares))), weights=tuple(shares.tolist()))


def _ints(values: Any) -> NDArray[Any]:
    return np.asarray([int(value) for value in values], dtype=np.int64)
