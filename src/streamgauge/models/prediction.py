"""What a model says of a plan that has never run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from streamgauge.models.end_to_end_latency import Latency
from streamgauge.topology.frozen import FrozenDict


class Verdict(StrEnum):
    """Whether a plan carries its load."""

    FITS = "fits"
    OVERLOADED = "overloaded"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorPrediction:
    """One executor.

    Attributes:
        name: ``OPERATOR[FIRST-LAST]`` by its tasks.
        operator: Whose tasks it runs.
        worker: Where it runs.
        arrived_per_second: Tuples and messages that come.
        emitted_per_second: Tuples and messages that leave, before copies.
        tuples_out_per_second: The same without messages of the engine.
        utilisation: Part of the time it is busy; one and more: overloaded.
        stretch: How many times as long a service takes on its crowded machine.
        service_seconds: Mean wall-clock service time of a tuple.
        delay_seconds: Mean time from arrival until outputs leave; infinite where overloaded.
        queue_length: Mean tuples waiting.
    """

    name: str
    operator: str
    worker: str
    arrived_per_second: float
    emitted_per_second: float
    tuples_out_per_second: float
    utilisation: float
    stretch: float
    service_seconds: float
    delay_seconds: float
    queue_length: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorPrediction:
    """One operator, over all its executors.

    Attributes:
        executors: How many.
        idle: How many of them would get nothing.
        arrived_per_second: Tuples and messages that come.
        emitted_per_second: Tuples and messages that leave, before copies.
        tuples_out_per_second: The same without messages of the engine.
        utilisation: Mean over executors.
        busiest: The same of the busiest.
        service_seconds: Mean wall-clock service time of a tuple.
        delay_seconds: Mean time of a tuple here.
        parts: What that is made up of.
    """

    executors: int
    idle: int
    arrived_per_second: float
    emitted_per_second: float
    tuples_out_per_second: float
    utilisation: float
    busiest: float
    service_seconds: float
    delay_seconds: float
    parts: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPrediction:
    """One worker.

    Attributes:
        name: ``NODE:PORT``.
        executors: How many it runs.
        cores: CPU time of its executors, per second.
        sent_per_second: Tuples and messages to other workers.
    """

    name: str
    executors: int
    cores: float
    sent_per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinePrediction:
    """One machine.

    Attributes:
        name: Of the machine.
        cores: How many it has.
        background: Cores that something else keeps busy.
        busy: Cores that the job's work keeps busy.
        polling: Cores that its idle threads keep busy.
        overloaded: Whether threads want more than there is.
    """

    name: str
    cores: float
    background: float
    busy: float
    polling: float
    overloaded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """How much more of the same load a plan would carry.

    Attributes:
        factor: By which all rates may grow, or must shrink; infinite where nothing limits them,
            NaN where it was not looked for.
        per_second: What all sources then emit together.
        by: What would be overloaded first: an executor or a machine.
    """

    factor: float
    per_second: float
    by: str

    @classmethod
    def unknown(cls) -> Limit:
        """It was not looked for."""
        return cls(factor=math.nan, per_second=math.nan, by="")


class Drawback(StrEnum):
    """Why one executor more would lower the highest rate that fits.

    CROWDS_MACHINE: Its thread takes time from others of its machine.
    NARROWS_SHUFFLE: Load-aware shuffle would keep to fewer executors, those that are nearer.
    REGROUPS_TASKS: Tasks are divided anew, and busy ones would share an executor.
    """

    CROWDS_MACHINE = "crowds-machine"
    NARROWS_SHUFFLE = "narrows-shuffle"
    REGROUPS_TASKS = "regroups-tasks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """What a change of one operator would do to the answer.

    Attributes:
        longer_service: Part by which the mean latency grows for each part of the operator's service
            time: 0.5 means 1 % more for 2 % more.
        longer_service_p99: The same of the 99th percentile.
        one_more: Change of the mean latency in seconds with one executor more; None where the
            operator has no task left for it.
        one_more_limit: The highest rate that would then fit, in tuples per second.
        one_more_full: What would then be full first: an executor or a machine.
        one_more_drawback: Why that rate would be lower than now; None where it is not.
    """

    longer_service: float
    longer_service_p99: float
    one_more: float | None
    one_more_limit: float | None
    one_more_full: str | None = None
    one_more_drawback: Drawback | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottleneck:
    """What is full first as all rates grow, with what was done about those before it.

    Attributes:
        limit: The highest rate that fits, and what is full then.
        operator: Whose executor that is; None for a machine.
        executors: How many executors that operator has here; None for a machine.
        tasks: How many it can have at most; None for a machine.
    """

    limit: Limit
    operator: str | None
    executors: int | None
    tasks: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a plan behaves so, and what would change it.

    Attributes:
        bottlenecks: What is full first as all rates grow; what would be if that operator had twice
            as many executors; and so on up to a machine, or an operator that has as many as tasks.
        sensitivities: By operator.
    """

    bottlenecks: tuple[Bottleneck, ...]
    sensitivities: Mapping[str, Sensitivity]


@dataclass(frozen=True, slots=True, kw_only=True)
class Swing:
    """How a plan swings between two states.

    Attributes:
        lowest: Mean latency in seconds when it goes best.
        highest: The same when it goes worst.
        period: Seconds from one crest to the next; None where fewer than two were seen.
    """

    lowest: float
    highest: float
    period: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """How a job would behave on a plan.

    Attributes:
        model: Which one says so.
        verdict: Whether the plan carries the load.
        overloaded: What is overloaded, the worst first, with its utilisation.
        limit: The highest rate that fits, and what stands in its way
        latency: From emission to the end of service at a sink, all sources together.
        by_source: The same by source.
        operators: By name.
        executors: In the plan's order.
        workers: In the plan's order.
        machines: In the cluster's order.
        complete: Of whole tuple trees as the engine reports it; None where nothing is acknowledged.
        seen_by_source: Of whole tuple trees, from emission until the source learns of the end.
        swing: Where shuffle of Storm 2.x widens and narrows again and again; None elsewhere.
        explanation: Why, and what would change it; None where not asked for.
        notes: What was assumed, what to keep in mind.
        provenance: Which profile and plan it rests on.
    """

    model: str
    verdict: Verdict
    overloaded: Mapping[str, float]
    limit: Limit
    latency: Latency
    by_source: Mapping[str, Latency]
    operators: Mapping[str, OperatorPrediction]
    executors: tuple[ExecutorPrediction, ...]
    workers: tuple[WorkerPrediction, ...]
    machines: tuple[MachinePrediction, ...]
    complete: Latency | None = None
    seen_by_source: Latency | None = None
    swing: Swing | None = None
    explanation: Explanation | None = None
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, str] = field(default_factory=FrozenDict)

    def to_dict(self) -> dict[str, Any]:
        """A plain document."""
        return asdict(self)
