"""Figures: what was measured of tasks, executors, queues, workers, nodes and links.

Every number carries how many observations and buckets it rests on. What was not measured is
missing, never zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from streamgauge.errors import Findings
from streamgauge.topology.field_checks import check_number, check_whole
from streamgauge.topology.frozen import FrozenDict, freeze
from streamgauge.topology.topology import StreamKey

SHARE_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A measured number and what it rests on.

    Attributes:
        value: The estimate.
        samples: Observations really taken; zero for a figure written by hand.
        buckets: Metric buckets they came from.
        standard_error: Of the estimate, where it is known.
    """

    value: float
    samples: int = 0
    buckets: int = 0
    standard_error: float | None = None

    def __post_init__(self) -> None:
        with Findings() as findings:
            check_number(findings, self.value, "value")
            check_whole(findings, self.samples, "samples", least=0)
            check_whole(findings, self.buckets, "buckets", least=0)
            if self.standard_error is not None:
                check_number(findings, self.standard_error, "standard_error")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeFigures:
    """A measured time in milliseconds.

    Attributes:
        mean_ms: Its mean.
        scv: Its squared coefficient of variation, where squares or histograms were recorded.
        quantiles_ms: Probability → value, where histograms or traces were recorded.
    """

    mean_ms: Figure
    scv: Figure | None = None
    quantiles_ms: Mapping[float, float] = field(default_factory=FrozenDict)

    def __post_init__(self) -> None:
        quantiles = FrozenDict(sorted(self.quantiles_ms.items()))
        object.__setattr__(self, "quantiles_ms", quantiles)
        findings = Findings()
        previous = 0.0
        for probability, value in quantiles.items():
            check_number(findings, probability, "quantiles_ms", str(probability), most=1.0)
            if check_number(findings, value, "quantiles_ms", str(probability)):
                if value < previous:
                    findings.add(
                        "quantiles_ms",
                        str(probability),
                        seen=f"{value:g} after {previous:g}",
                        expected="quantiles that do not fall",
                    )
                previous = value
        findings.raise_if_any()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """How the tuples of a stream were divided over the tasks of one subscriber (eq. 4.2).

    Attributes:
        parts: The part of each task, in the order of the tasks.
        samples: Tuples that were counted; zero for what is written by hand.
        buckets: Metric buckets they came from.
    """

    parts: tuple[float, ...]
    samples: int = 0
    buckets: int = 0

    def __post_init__(self) -> None:
        freeze(self, "parts")
        findings = Findings()
        bounded = [
            check_number(findings, part, "parts", index, most=1.0)
            for index, part in enumerate(self.parts)
        ]
        if all(bounded) and abs(sum(self.parts) - 1.0) > SHARE_TOLERANCE:
            findings.add(
                "parts", seen=f"shares that sum to {sum(self.parts):.6g}", expected="a sum of 1"
            )
        check_whole(findings, self.samples, "samples", least=0)
        check_whole(findings, self.buckets, "buckets", least=0)
        findings.raise_if_any()


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFigures:
    """What was measured of one input stream of a task.

    Attributes:
        per_second: Arrival rate.
        share: Part of the operator's tuples of this stream that this task received (eq. 4.10).
        dispersion: Index of dispersion of the arrivals by bucket; one for a Poisson stream.
        dispersions: The same by seconds over which arrivals are counted, buckets and longer.
        wall: Wall-clock service time.
        cpu: CPU service time.
        failed_share: Part of the tuples that the task failed.
    """

    per_second: Figure | None = None
    share: Figure | None = None
    dispersion: Figure | None = None
    dispersions: Mapping[float, Figure] = field(default_factory=FrozenDict)
    wall: TimeFigures | None = None
    cpu: TimeFigures | None = None
    failed_share: Figure | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "dispersions", FrozenDict(sorted(self.dispersions.items())))
        with Findings() as findings:
            for seconds in self.dispersions:
                check_number(findings, seconds, "dispersions", str(seconds), above=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFigures:
    """What was measured of one output stream of a task.

    Attributes:
        per_second: Emission rate.
        share: Part of the operator's tuples of this stream that this task emitted (eq. 4.4).
        wall: Wall-clock time for each tuple that a source emits.
        cpu: CPU time for each tuple that a source emits.
        coefficients: Tuples out per tuple in, by input stream (Cooper 2020, eq. 4.9).
        per_trigger: Tuples out per window that fires.
        linear: Whether tuples out are a linear function of tuples in; null where too little was
            measured to tell.
        bytes: Mean size of a tuple.
        shares: For each subscriber the part of the tuples that went to each of its tasks.
        complete: Latency of a source's roots by the engine's rule.
        root: Latency of a source's roots from emission to the ack at the source.
    """

    per_second: Figure | None = None
    share: Figure | None = None
    wall: TimeFigures | None = None
    cpu: TimeFigures | None = None
    coefficients: Mapping[StreamKey, Figure] = field(default_factory=FrozenDict)
    per_trigger: Figure | None = None
    linear: bool | None = None
    bytes: Figure | None = None
    shares: Mapping[str, Shares] = field(default_factory=FrozenDict)
    complete: TimeFigures | None = None
    root: TimeFigures | None = None

    def __post_init__(self) -> None:
        freeze(self, "coefficients", "shares")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskProfile:
    """What was measured of one task.

    Attributes:
        inputs: By input stream.
        outputs: By output stream.
        window: Wall-clock service time of a window's trigger.
        window_cpu: CPU service time of a window's trigger.
        window_tuples: Tuples in a window that fires.
        triggers_per_second: Windows that fire.
        end_to_end: Latency from a root of each source to the end of this sink's execution.
        backpressure: Share of time in which this task's full queue blocked its senders.
    """

    inputs: Mapping[StreamKey, InputFigures] = field(default_factory=FrozenDict)
    outputs: Mapping[str, OutputFigures] = field(default_factory=FrozenDict)
    window: TimeFigures | None = None
    window_cpu: TimeFigures | None = None
    window_tuples: Figure | None = None
    triggers_per_second: Figure | None = None
    end_to_end: Mapping[str, TimeFigures] = field(default_factory=FrozenDict)
    backpressure: Figure | None = None

    def __post_init__(self) -> None:
        freeze(self, "inputs", "outputs", "end_to_end")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFigures:
    """What was measured of one queue.

    Attributes:
        per_second: Tuples that enter.
        tuples_per_list: Mean number of tuples in a list that enters, where reported.
        length: Mean tuples in it, overflow left out.
        overflow: Mean tuples in the overflow behind it.
        limit: Tuples it can hold.
        sojourn: Time from entering to leaving.
        drops_per_second: Tuples dropped because it was full.
    """

    per_second: Figure | None = None
    tuples_per_list: Figure | None = None
    length: Figure | None = None
    overflow: Figure | None = None
    limit: Figure | None = None
    sojourn: TimeFigures | None = None
    drops_per_second: Figure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorFigures:
    """What was measured of one executor.

    Attributes:
        capacity: Share of time in execute: tuples executed × mean execute time / time (Henge,
            eq. 2.3); may exceed one.
        cores: Cores in use by its thread, polling included.
        idle_cores: The part of them without a tuple: polling, waking up from sleeps.
        run_delay: Share of time in which its thread wanted a core and had none.
        slowdown: How many times as long its work took for want of a core: 1 + run delay over CPU
            time, both while it had tuples, where that can be told.
        idle: Share of time in which it had no tuple.
        held: Share of time in which a full queue downstream blocked it.
        receive: Its receive queue.
        send: Its send queue, where the engine has one.
    """

    capacity: Figure | None = None
    cores: Figure | None = None
    idle_cores: Figure | None = None
    run_delay: Figure | None = None
    slowdown: Figure | None = None
    idle: Figure | None = None
    held: Figure | None = None
    receive: QueueFigures | None = None
    send: QueueFigures | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerFigures:
    """What was measured of one worker.

    Attributes:
        cores: Cores in use by the process.
        threads: Executor threads in it.
        transfer_cores: Cores in use by its transfer thread.
        network_cores: Cores in use by its network threads.
        gc_cores: Cores in use by its garbage collector.
        window_cores: Cores in use by threads that fire windows by time.
        timer_cores: Cores in use by the engine's timers.
        jit_cores: Cores in use by the compiler.
        agent_cores: Cores in use by the agent.
        run_delay: Threads of the process that wanted a core and had none, on the mean.
        executed_per_second: Tuples and messages that its executors execute.
        messages_per_second: Messages that it sends to other workers.
        engine_ms_per_tuple: CPU time of all but executors and windows, for each tuple or message
            more that executors execute; from times in which there were more or fewer.
        heap_bytes: Heap in use.
        memory_bytes: Memory the process holds.
        bytes_per_second: Bytes sent to other workers.
        transfer: Its transfer queue.
        network: The queue before its receive thread.
    """

    cores: Figure | None = None
    threads: Figure | None = None
    transfer_cores: Figure | None = None
    network_cores: Figure | None = None
    gc_cores: Figure | None = None
    window_cores: Figure | None = None
    timer_cores: Figure | None = None
    jit_cores: Figure | None = None
    agent_cores: Figure | None = None
    run_delay: Figure | None = None
    executed_per_second: Figure | None = None
    messages_per_second: Figure | None = None
    engine_ms_per_tuple: Figure | None = None
    heap_bytes: Figure | None = None
    memory_bytes: Figure | None = None
    bytes_per_second: Figure | None = None
    transfer: QueueFigures | None = None
    network: QueueFigures | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFigures:
    """What was measured of one node or machine, all jobs on it included.

    Attributes:
        cores: Cores in use.
        threads: Executor threads on it.
        available: Cores that threads can run on at once; machines only.
        stolen: Cores that the host gave to other virtual machines.
    """

    cores: Figure | None = None
    threads: Figure | None = None
    available: Figure | None = None
    stolen: Figure | None = None


class TaskId(NamedTuple):
    """A task by its operator and its place among the operator's tasks, from zero.

    Engines number tasks differently; the place is what a rebalance never changes.
    """

    operator: str
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFigures:
    """Measured one-way latency between two nodes."""

    source: str
    target: str
    latency: TimeFigures


class PeriodState(StrEnum):
    """What a job did while it was measured; only what was steady can be trusted.

    * steady: rates and waiting times hardly changed;
    * draining: a backlog became shorter, so that more was processed than came;
    * filling: a backlog grew;
    * drifting: the load changed.
    """

    STEADY = "steady"
    DRAINING = "draining"
    FILLING = "filling"
    DRIFTING = "drifting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """When the figures were taken.

    Attributes:
        start: As an RFC 3339 time.
        end: As an RFC 3339 time.
        state: Whether it was steady, where that is known.
    """

    start: str
    end: str
    state: PeriodState | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RateSeries:
    """Emission rate of a source's stream over time, the input of forecasts.

    Attributes:
        start: Of the first value, as an RFC 3339 time.
        step_seconds: From one value to the next.
        per_second: Mean rate of each step; null where a step was not measured.
    """

    start: str
    step_seconds: float
    per_second: tuple[float | None, ...]

    def __post_init__(self) -> None:
        freeze(self, "per_second")
        with Findings() as findings:
            check_number(findings, self.step_seconds, "step_seconds", above=0.0)
            for index, rate in enumerate(self.per_second):
                if rate is not None:
                    check_number(findings, rate, "per_second", index)


class Saturation(NamedTuple):
    """Input and output of an operator in one period, under the plan of that time (Caladrius, §3).

    Attributes:
        plan_id: The plan it ran on.
        executors: Of the operator under that plan; zero where not known.
        minutes: Length of the period.
        input_per_second: Tuples executed, all tasks.
        output_per_second: Tuples emitted, all tasks and streams.
        backpressure: Share of time in which the operator blocked its senders.
    """

    plan_id: str
    executors: int
    minutes: float
    input_per_second: float
    output_per_second: float
    backpressure: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Juice:
    """Which part of the sources' input a topology processes (Henge, eq. 2.5 to 2.7).

    Attributes:
        topology: Of the whole, acked roots taken into account where roots are acked.
        operators: Of each operator, summed over sources.
    """

    topology: Figure
    operators: Mapping[str, float] = field(default_factory=FrozenDict)

    def __post_init__(self) -> None:
        freeze(self, "operators")
        with Findings() as findings:
            for name, part in self.operators.items():
                check_number(findings, part, "operators", name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicas:
    """Where the resampled figures are: one column per replica, from a block bootstrap over time.

    Attributes:
        count: How many replicas; zero where there were too few blocks.
        blocks: Blocks of time they were drawn from.
        block_seconds: Length of a block.
        seed: Of the weights.
        file: Name of the Parquet file next to the profile; empty where there is none.
    """

    count: int
    blocks: int
    block_seconds: float
    seed: int = 0
    file: str = ""

    def __post_init__(self) -> None:
        with Findings() as findings:
            check_whole(findings, self.count, "count", least=0)
            check_whole(findings, self.blocks, "blocks", least=0)
            check_number(findings, self.block_seconds, "block_seconds", above=0.0)
