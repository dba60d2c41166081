"""A job made ready for the kernel: plan, behaviours and workload as arrays.

Names end here. Threads are the plan's executors in order, then those of the transport. Streams are
numbered by (operator, name), subscriptions in the topology's order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.profile.behaviour import Behaviour, JoinByParity, JoinOnKey, Service
from streamgauge.profile.distribution import CountDistribution, Distribution, EmpiricalCount
from streamgauge.simulation.draws import CONSTANT, Draws, make_draws
from streamgauge.simulation.emissions import Emissions, make_emissions
from streamgauge.simulation.job_check import check_job, check_sizes, check_table, most_messages
from streamgauge.simulation.records import (
    BY_KEY,
    BY_KEY_OF_TWO,
    BY_PARITY,
    EVERY,
    NO_JOIN,
    NONE,
    ON_KEY,
    OPERATOR,
    OUTPUT,
    PROCESS,
    PROCESSOR,
    SERVICE,
    SOURCE,
    STREAM,
    SUBSCRIPTION,
    TASK,
    TRACKER,
)
from streamgauge.simulation.routes import Routes, Ways, find_ways, make_routes, rule_of
from streamgauge.simulation.state import Program, Sizes, lay_out, rules_of
from streamgauge.topology.grouping import Fields, PartialKey
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import ACKER, OperatorKind, Stream, StreamKey, Window
from streamgauge.topology.workload import Emission, Unlimited, Workload
from streamgauge.transport.engine import load_engine
from streamgauge.transport.mechanics import NO_LIMIT, Mechanics

MILLISECOND = 1e-3
# Of an operator without one.
_NOTHING_SAID = Behaviour()
KINDS = {
    OperatorKind.SOURCE: SOURCE,
    OperatorKind.PROCESSOR: PROCESSOR,
    OperatorKind.ACKER: TRACKER,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A program with what its random parts draw from, and what its numbers stand for.

    Attributes:
        program: For the kernel.
        draws: Distributions.
        emissions: Emission processes.
        routes: As they are at the beginning.
        windows: The tasks that have windows, with them.
        unlimited: Stream that each executor emits on whenever asked, or NONE.
        eager_sources: Sources that have such a stream.
        ways: What latencies are kept apart by.
        streams: Streams by number.
        subscriptions: Subscriptions by number.
        keys: The keys of each stream by number, where it has some.
        mechanics: The transport's figures.
        marks: By executor, how many tuples in its queue stop all sources, and below how many they
            continue; None where queues do not.
    """

    program: Program
    draws: Draws
    emissions: Emissions
    routes: Routes
    windows: tuple[tuple[int, Window], ...]
    unlimited: NDArray[Any]
    eager_sources: frozenset[str]
    ways: Ways
    streams: tuple[StreamKey, ...]
    subscriptions: tuple[Stream, ...]
    keys: Mapping[StreamKey, tuple[str, ...]]
    mechanics: Mechanics
    marks: NDArray[Any] | None


def compile_job(
    plan: PhysicalPlan,
    behaviours: Mapping[str, Behaviour],
    workload: Workload,
    mechanics: Mechanics,
    *,
    detailed: bool = False,
) -> Compiled:
    """The plan under the workload, ready to run.

    Args:
        plan: Where executors run.
        behaviours: What operators do with a tuple.
        workload: What sources emit.
        mechanics: The transport's figures.
        detailed: Whether everything an agent could measure is counted.

    Raises:
        InvalidInput: Something the plan needs is not said, or cannot be simulated.
    """
    check_job(plan, behaviours, workload)
    if mechanics.watermark_bytes is not None:
        check_sizes(plan, behaviours)
    return _Compiler(plan, behaviours, workload, mechanics, detailed).compile()


class _Compiler:
    """Numbers everything and fills the tables; used once."""

    def __init__(
        self,
        plan: PhysicalPlan,
        behaviours: Mapping[str, Behaviour],
        workload: Workload,
        mechanics: Mechanics,
        detailed: bool,
    ) -> None:
        self.plan = plan
        self.topology = plan.logical.topology
        self.executors = plan.logical.executors
        self.behaviours = behaviours
        self.workload = workload
        self.mechanics = mechanics
        self.detailed = detailed
        self.subscriptions = self.topology.data_streams
        self.distributions: list[Distribution | CountDistribution] = []
        self.numbers = {name: n for n, name in enumerate(self.topology.operator_names)}
        self.sources = [operator.name for operator in self.topology.sources]
        self.keys = list(dict.fromkeys(stream.key for stream in self.subscriptions))
        self.stream_number = {key: n for n, key in enumerate(self.keys)}
        self.first_task = self.executors[0].first_task

    def compile(self) -> Compiled:
        plan = self.plan
        rules = [
            rule_of(stream, has_keys=self._has_keys(stream), load_aware=self.mechanics.load_aware)
            for stream in self.subscriptions
        ]
        routes = make_routes(plan, self.subscriptions, rules)
        ways = find_ways(self.topology, self.subscriptions)
        service = self._services()
        output_first, output = self._outputs()
        stream, subscriber = self._streams(rules)
        operator = self._operators()
        subscription, key_task, join_key = self._subscriptions(rules, operator)
        task, join_queues = self._tasks(operator)
        windows = self._windows()
        processes = self._processes()
        draws = make_draws(self.distributions)
        latency, jitter = self._network()
        transfer_first = self._transfers()
        most = most_messages(stream, subscriber, rules, routes, output_first, output, draws)
        program = Program(
            rules=rules_of(self.mechanics),
            at=lay_out(
                self._sizes(len(processes), len(windows), join_queues, len(ways.rows), most)
            ),
            worker=_ints(plan.placement),
            max_pending=_ints(
                min(self.mechanics.max_pending * len(one.tasks), NO_LIMIT) for one in self.executors
            ),
            operator=operator,
            task=task,
            task_of_executor=_ints(
                [
                    *(one.first_task - self.first_task for one in self.executors),
                    self.executors[-1].last_task + 1 - self.first_task,
                ]
            ),
            first_task=_ints(
                self.plan.logical.tasks_of(name).start - self.first_task for name in self.numbers
            ),
            source_row=_ints(
                self.sources.index(name) if name in self.sources else NONE for name in self.numbers
            ),
            stream=stream,
            subscriber=subscriber,
            subscription=subscription,
            target=routes.target,
            target_share=routes.share,
            key_task=key_task,
            join_key=join_key,
            service=service,
            output_first=output_first,
            output=output,
            only_output=_only_outputs(output_first, output, draws),
            latency=latency,
            jitter=jitter,
            path_next=ways.following,
            path_row=ways.row,
            process=_filled(PROCESS, [row[:3] for row in processes]),
            transfer_first=transfer_first,
        )
        return Compiled(
            program=program,
            draws=draws,
            emissions=make_emissions([row[3] for row in processes], [row[4] for row in processes]),
            routes=routes,
            windows=windows,
            unlimited=self._unlimited(),
            eager_sources=self.workload.eager_sources,
            ways=ways,
            streams=tuple(self.keys),
            subscriptions=self.subscriptions,
            keys={
                key: self._behaviour(key.source).keys[key.name].names()
                for key in self.keys
                if key.name in self._behaviour(key.source).keys
            },
            mechanics=self.mechanics,
            marks=self._marks(),
        )

    def _behaviour(self, name: str) -> Behaviour:
        return self.behaviours.get(name, _NOTHING_SAID)

    def _draw(self, distribution: Distribution | CountDistribution) -> int:
        self.distributions.append(distribution)
        return len(self.distributions) - 1

    def _sizes(self, processes: int, windows: int, joins: int, rows: int, most: int) -> Sizes:
        ackers = self.plan.logical.tasks_of(ACKER) if self.topology.has_ackers else range(0)
        costs = [self._behaviour(name).costs for name in self.numbers]
        return Sizes(
            executors=len(self.executors),
            workers=len(self.plan.workers),
            machines=len(self.plan.cluster.machines),
            processes=processes,
            subscriptions=len(self.subscriptions),
            streams=len(self.keys),
            sources=len(self.sources),
            windows=windows,
            join_queues=joins,
            ackers=range(ackers.start - self.first_task, ackers.stop - self.first_task),
            path_rows=rows,
            most_messages=most,
            sends=self.mechanics.send_threads,
            serialises=any(
                one.serialise_ms > 0.0 or one.serialise_ms_per_byte > 0.0 for one in costs
            ),
            deserialises=any(
                one.deserialise_ms > 0.0 or one.deserialise_ms_per_byte > 0.0 for one in costs
            ),
            detailed=self.detailed,
        )

    def _services(self) -> NDArray[Any]:
        """Draws by operator and subscription; the last column is for what a source emits."""
        shape = (len(self.numbers), len(self.subscriptions) + 1)
        table = np.full(shape, NONE, dtype=SERVICE)
        for name, row in self.numbers.items():
            behaviour = self._behaviour(name)
            used: dict[Service, tuple[int, int]] = {}
            columns = [
                (column, behaviour.service_of(stream.key))
                for column, stream in enumerate(self.subscriptions)
                if stream.target == name
            ]
            for column, service in [*columns, (shape[1] - 1, behaviour.service)]:
                if service not in used:
                    used[service] = (
                        self._draw(service.cpu_ms.scale(MILLISECOND)),
                        self._draw(service.wait_ms.scale(MILLISECOND)),
                    )
                table[row, column] = used[service]
        return table.ravel()

    def _outputs(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Outputs by operator and subscription; those of a window follow its operator's."""
        first = [0]
        rows: list[tuple[int, int, float]] = []
        for name in self.numbers:
            behaviour = self._behaviour(name)
            for stream in self.subscriptions:
                if stream.target == name and behaviour.window is None:
                    given = behaviour.outputs_of(stream.key)
                    rows += self._output_rows(name, given, behaviour.exclusive)
                first.append(len(rows))
            if behaviour.window is not None:
                rows += self._output_rows(name, behaviour.window.outputs, False)
            first.append(len(rows))
        return _ints(first), _filled(OUTPUT, rows)

    def _output_rows(
        self, name: str, outputs: Mapping[str, CountDistribution], exclusive: bool
    ) -> list[tuple[int, int, float]]:
        rows, reached = [], 0.0
        for output, distribution in outputs.items():
            reached += distribution.mean
            number = self.stream_number[StreamKey(name, output)]
            rows.append((number, self._draw(distribution), reached if exclusive else -1.0))
        return rows

    def _marks(self) -> NDArray[Any] | None:
        """High and low marks of every executor's queue, in tuples."""
        size = len(self.executors)
        if self.mechanics.watermarks is not None:
            marks = np.asarray(self.mechanics.watermarks)[:, np.newaxis]
            return np.asarray(np.tile(marks * self.mechanics.receive_limit, size))
        if self.mechanics.watermark_bytes is None:
            return None
        each = np.full(size, np.nan)
        for name in self.topology.operator_names:
            streams = [one for one in self.topology.streams_into(name) if not one.is_system]
            sizes = [self._behaviour(one.source).bytes[one.name].mean for one in streams]
            if sizes:
                each[[one.operator == name for one in self.executors]] = np.mean(sizes)
        marks = np.asarray(self.mechanics.watermark_bytes)[:, np.newaxis] / each
        # Sources and ackers hold no tuples of the job.
        return np.asarray(np.nan_to_num(np.minimum(marks, NO_LIMIT), nan=NO_LIMIT))

    def _streams(self, rules: list[int]) -> tuple[NDArray[Any], NDArray[Any]]:
        rows: list[tuple[int, ...]] = []
        subscribers: list[int] = []
        for key in self.keys:
            behaviour = self._behaviour(key.source)
            keys, size = behaviour.keys.get(key.name), behaviour.bytes.get(key.name)
            first = len(subscribers)
            mine = [n for n, stream in enumerate(self.subscriptions) if stream.key == key]
            subscribers += mine
            rows.append(
                (
                    first,
                    len(subscribers),
                    mine[0] if len(mine) == 1 and rules[mine[0]] != EVERY else NONE,
                    NONE if keys is None else self._draw(_indices(keys.shares())),
                    NONE if size is None else self._draw(size),
                    int(any(rules[n] in (BY_KEY, BY_KEY_OF_TWO) for n in mine)),
                )
            )
        return _filled(STREAM, rows), _ints(subscribers)

    def _has_keys(self, stream: Stream) -> bool:
        return stream.name in self._behaviour(stream.source).keys

    def _operators(self) -> NDArray[Any]:
        table = np.zeros(len(self.numbers), dtype=OPERATOR)
        sinks = {operator.name for operator in self.topology.sinks}
        for name, row in self.numbers.items():
            behaviour, o = self._behaviour(name), table[row]
            costs, join = behaviour.costs, behaviour.join
            o["kind"] = KINDS[self.topology.operator(name).kind]
            o["sink"] = name in sinks
            o["fails"], o["replays"] = behaviour.fails, behaviour.replays
            o["serialise"] = costs.serialise_ms * MILLISECOND
            o["serialise_byte"] = costs.serialise_ms_per_byte * MILLISECOND
            o["deserialise"] = costs.deserialise_ms * MILLISECOND
            o["deserialise_byte"] = costs.deserialise_ms_per_byte * MILLISECOND
            o["ack"] = costs.ack_ms * MILLISECOND
            o["window_cpu"] = o["window_wait"] = NONE
            o["inputs"] = sum(stream.target == name for stream in self.subscriptions)
            if behaviour.window is not None:
                service = behaviour.window.service
                o["window_cpu"] = self._draw(service.cpu_ms.scale(MILLISECOND))
                o["window_wait"] = self._draw(service.wait_ms.scale(MILLISECOND))
                o["window_tuple"] = behaviour.window.per_tuple_ms * MILLISECOND
            o["join"] = NO_JOIN
            if isinstance(join, JoinByParity):
                o["join"] = BY_PARITY
                o["equal"] = self.stream_number[StreamKey(name, join.equal)]
                o["different"] = self.stream_number[StreamKey(name, join.different)]
            elif isinstance(join, JoinOnKey):
                o["join"], o["within"] = ON_KEY, join.within_seconds
                o["keys"] = len(self._join_names(name))
        return table

    def _join_names(self, name: str) -> dict[str, int]:
        """The keys of all inputs of a join, numbered."""
        names: dict[str, int] = {}
        for stream in self.subscriptions:
            if stream.target == name:
                for key in self._behaviour(stream.source).keys[stream.name].names():
                    names.setdefault(key, len(names))
        return names

    def _subscriptions(
        self, rules: list[int], operator: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Subscriptions, the tasks by key of all, and the joins' numbers of keys."""
        table = np.zeros(len(self.subscriptions), dtype=SUBSCRIPTION)
        key_task: list[int] = []
        join_key: list[int] = []
        inputs = dict.fromkeys(self.numbers, 0)
        for number, stream in enumerate(self.subscriptions):
            u = table[number]
            u["rule"], u["stream"] = rules[number], self.stream_number[stream.key]
            u["target"], u["input"] = self.numbers[stream.target], inputs[stream.target]
            inputs[stream.target] += 1
            u["keys"], u["join_keys"] = len(key_task), len(join_key)
            if not self._has_keys(stream):
                continue
            names = self._behaviour(stream.source).keys[stream.name].names()
            targets = self.plan.logical.tasks_of(stream.target)
            begin, count = targets.start - self.first_task, len(targets)
            transport = load_engine(self.plan.logical.configuration.engine).load_transport()
            if isinstance(stream.grouping, Fields):
                key_task += [begin + transport.task_of_key([name], count) for name in names]
            elif isinstance(stream.grouping, PartialKey):
                pairs = [transport.tasks_of_key([name], count) for name in names]
                key_task += [begin + index for pair in pairs for index in pair]
            if operator[u["target"]]["join"] == ON_KEY:
                known = self._join_names(stream.target)
                join_key += [known[name] for name in names]
        return table, _ints(key_task), _ints(join_key)

    def _tasks(self, operator: NDArray[Any]) -> tuple[NDArray[Any], int]:
        """Tasks, and how many queues their joins need."""
        rows, queues, windows = [], 0, 0
        for index, executor in enumerate(self.executors):
            number = self.numbers[executor.operator]
            tasks = self.plan.logical.tasks_of(executor.operator)
            relative = self._behaviour(executor.operator).relative_service
            window = self.topology.operator(executor.operator).window
            o = operator[number]
            for task in executor.tasks:
                factor = 1.0 if relative is None else relative[task - tasks.start]
                join = NONE
                if o["join"] == ON_KEY:
                    join = queues
                    queues += int(o["keys"]) * int(o["inputs"])
                rows.append((index, number, factor, NONE if window is None else windows, join))
                windows += window is not None
        check_table(queues, "join", "keys, inputs and tasks of joins")
        return _filled(TASK, rows), queues

    def _windows(self) -> tuple[tuple[int, Window], ...]:
        return tuple(
            (task - self.first_task, window)
            for executor in self.executors
            if (window := self.topology.operator(executor.operator).window) is not None
            for task in executor.tasks
        )

    def _network(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Latency and jitter between workers, in seconds."""
        cluster, workers = self.plan.cluster, self.plan.workers
        check_table(len(workers) ** 2, "workers", "pairs of workers")
        nodes = list(dict.fromkeys(worker.node for worker in workers))
        latency = np.asarray([[cluster.latency_between(a, b) for b in nodes] for a in nodes])
        jitter = np.asarray([[cluster.jitter_between(a, b) for b in nodes] for a in nodes])
        place = [nodes.index(worker.node) for worker in workers]
        chosen = np.ix_(place, place)
        return latency[chosen] * MILLISECOND, jitter[chosen] * MILLISECOND

    def _transfers(self) -> NDArray[Any]:
        """Where the transfers of (task, subscription) are counted, if they are; the end is last."""
        if not self.detailed:
            return np.zeros(1, dtype=np.int64)
        first, total = [], 0
        for executor in self.executors:
            for _ in executor.tasks:
                for stream in self.subscriptions:
                    first.append(total)
                    if stream.source == executor.operator:
                        total += len(self.plan.logical.tasks_of(stream.target))
        check_table(total, "streams", "pairs of tasks")
        return _ints([*first, total])

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
        return _ints(streams.get(one.operator, NONE) for one in self.executors)


def _only_outputs(output_first: NDArray[Any], output: NDArray[Any], draws: Draws) -> NDArray[Any]:
    """The stream of each row that has one output, of one tuple; NONE of all others."""
    law = draws.law[output["count"]]
    single = (law["kind"] == CONSTANT) & (law["first"] == 1.0) & (output["share"] < 0.0)
    alone = np.diff(output_first) == 1
    only = np.full(len(alone), NONE)
    first = output_first[:-1][alone]
    only[alone] = np.where(single[first], output["stream"][first], NONE)
    return only


def _indices(shares: NDArray[np.float64]) -> CountDistribution:
    """Keys by their number."""
    return EmpiricalCount(values=tuple(range(len(shares))), weights=tuple(shares.tolist()))


def _filled(kind: np.dtype[Any], rows: list[Any]) -> NDArray[Any]:
    return np.asarray([tuple(row) for row in rows], dtype=kind)


def _ints(values: Any) -> NDArray[Any]:
    return np.asarray([int(value) for value in values], dtype=np.int64)
