"""What a model says of a plan that has never run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.byte_flow import ByteFlow, find_byte_flow
from streamgauge.models.delays import DelayLevels, Delays, Part
from streamgauge.models.end_to_end_latency import ENDLESS, PROBABILITIES, Latency, Ways
from streamgauge.models.load_limit import Limit, Loaded, find_polling, is_bolt
from streamgauge.models.network import MEDIAN, find_network
from streamgauge.models.parameters import Parameters
from streamgauge.models.pending_limit import Pending
from streamgauge.models.worker_cpu import WorkerCores, divide_cores, machine_of_worker, sum_at
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.tuple_flow import as_slice

if TYPE_CHECKING:
    from streamgauge.models.throughput import (
        ExecutorThroughput,
        OperatorThroughput,
        Throughput,
    )

Vector = NDArray[np.float64]

# Part of a machine's cores in use from which latencies of real Storm no longer repeated.
FULL = 0.8
UNSTEADY = f"on real Storm they exploded at about {FULL:.0%}, and no run was like the other"
# Of an executor's delay, what is not waiting in a queue.
_OWN = (Part.SERVICE, Part.WINDOW)


class Verdict(StrEnum):
    """Whether a plan carries its load."""

    FITS = "fits"
    OVERLOADED = "overloaded"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorPrediction:
    """One executor.

    Attributes:
        name: ``OPERATOR[FIRST-LAST]`` by its tasks.
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
    """One operator, over all its executors; rates and times as of one of them.

    Attributes:
        idle: How many of them would get nothing.
        utilisation: Mean over executors.
        busiest: The same of the busiest.
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
        cores: That its process keeps busy, made up of the following three.
        work: For tuples and windows, in the job's own code.
        engine: For what the engine itself does.
        engine_error: Standard error of that.
        polling: For threads without work, which poll, or wake up from short sleeps.
        sent_per_second: Tuples and messages to other workers.
    """

    name: str
    executors: int
    cores: float
    work: float
    engine: float
    engine_error: float
    polling: float
    sent_per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinePrediction:
    """One machine.

    Attributes:
        background: Cores that something else keeps busy.
        busy: Cores that the job's work keeps busy.
        engine: Cores that its engine keeps busy beside that.
        polling: Cores that its idle threads keep busy.
        overloaded: Whether threads want more than there is.
    """

    name: str
    cores: float
    background: float
    busy: float
    engine: float
    polling: float
    overloaded: bool

    @property
    def at_work(self) -> float:
        """The part of its cores that is busy with anything but polling."""
        return (self.busy + self.engine + self.background) / self.cores

    @property
    def in_use(self) -> float:
        """The part of its cores that anything keeps busy."""
        return (self.busy + self.engine + self.polling + self.background) / self.cores


Predicted = TypeVar("Predicted", OperatorPrediction, ExecutorPrediction)


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
        operator: Whose executor that is; None for a machine or a limit on open roots.
        executors: How many executors that operator has here; None for a machine.
        tasks: How many it can have at most; None for a machine.
        unlimited: Whether the limit on open roots is left out.
    """

    limit: Limit
    operator: str | None
    executors: int | None
    tasks: int | None
    unlimited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a plan behaves so, and what would change it.

    Attributes:
        bottlenecks: What is full first as all rates grow; what would be if that operator had twice
            as many executors; and so on up to a machine, or an operator that has as many as tasks.
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
        overloaded: What is overloaded, the worst first, with its utilisation.
        limit: The highest rate that fits, and what stands in its way
        latency: From emission to the end of service at a sink, all sources together.
        by_source: The same of each source.
        executors: In the plan's order.
        workers: In the plan's order.
        machines: In the cluster's order.
        bytes: What moves through the plan.
        complete: Of whole tuple trees as the engine reports it; None where nothing is acknowledged.
        seen_by_source: Of whole tuple trees, from emission until the source learns of the end.
        since_due: As `latency`, from when tuples were due; None where a source has no due times, or
            the model does not know how late it is.
        since_due_by_source: The same of each source; empty where the model does not know.
        pending: What a limit on open roots does: its sources may then emit less than is due, and
            all figures are of what they emit; None where there is none.
        throughput: What the plan really processes, where it saturates, and where tuples pile up;
            rates of operators and executors are then those, while their utilisation stays the load
            that is due. None where not asked for.
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
    bytes: ByteFlow | None = None
    complete: Latency | None = None
    seen_by_source: Latency | None = None
    since_due: Latency | None = None
    since_due_by_source: Mapping[str, Latency] = field(default_factory=FrozenDict)
    pending: Pending | None = None
    throughput: Throughput | None = None
    swing: Swing | None = None
    explanation: Explanation | None = None
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, str] = field(default_factory=FrozenDict)

    def to_dict(self) -> dict[str, Any]:
        """A plain document."""
        bytes_moved = None if self.bytes is None else self.bytes.to_dict()
        return asdict(replace(self, bytes=None)) | {"bytes": bytes_moved}


def assemble(
    model: str,
    parameters: Parameters,
    loaded: Loaded,
    levels: DelayLevels,
    limit: Limit,
    probabilities: Sequence[float] = PROBABILITIES,
    *,
    link_percentile: float = MEDIAN,
    is_brief: bool = False,
) -> Prediction:
    """What a model found, put together; in brief, without latency since tuples were due."""
    plan = parameters.flow.plan
    network = find_network(plan, parameters.behaviour, percentile=link_percentile)
    ways, delays = Ways(parameters, levels, network), levels.mix_elements()
    latency = ways.latency(probabilities)
    since_due = None
    if not is_brief and delays.find_lateness is not None:
        since_due = ways.latency(probabilities, since_due=True)
    used = divide_cores(
        parameters,
        work=sum_at(plan.placement, loaded.cores, len(plan.workers)),
        idle=find_polling(parameters, loaded) + loaded.waking,
    )
    machines = list_machines(plan, used, loaded.contention.overloaded)
    rates = _add_rates(parameters)
    return Prediction(
        model=model,
        verdict=Verdict.OVERLOADED if loaded.overloaded else Verdict.FITS,
        overloaded=loaded.overloaded,
        limit=limit,
        latency=latency,
        by_source=ways.by_source(latency, probabilities),
        operators=_operators(parameters, rates, loaded, delays),
        executors=_executors(parameters, rates, loaded, delays),
        workers=list_workers(plan, used, parameters.leaving_workers()),
        machines=machines,
        bytes=None
        if is_brief
        else find_byte_flow(parameters, parameters.behaviour, parameters.crossings),
        since_due=since_due,
        since_due_by_source={}
        if since_due is None
        else ways.by_source(since_due, probabilities, since_due=True),
        notes=(*parameters.notes, *network.notes, *warn_of_full_machines(machines, limit)),
        provenance=parameters.behaviour.provenance,
    )


def limit_roots(prediction: Prediction, pending: Pending) -> Prediction:
    """A prediction of a plan under a limit on open roots, with what that does.

    Where nothing gets through, nothing ever arrives.
    """
    found = replace(prediction, pending=pending)
    if pending.emitted_per_second > 0.0:
        return found
    return replace(
        found,
        latency=ENDLESS,
        by_source=dict.fromkeys(found.by_source, ENDLESS),
        complete=None if found.complete is None else ENDLESS,
        seen_by_source=None if found.seen_by_source is None else ENDLESS,
        since_due=None if found.since_due is None else ENDLESS,
        since_due_by_source=dict.fromkeys(found.since_due_by_source, ENDLESS),
    )


def take_throughput(prediction: Prediction, throughput: Throughput) -> Prediction:
    """A prediction with what the plan really processes.

    What a limit on open roots lets through is in its rates already.
    """
    found = replace(prediction, throughput=throughput)
    if not throughput.is_held_back or prediction.pending is not None:
        return found
    return replace(
        found,
        operators={
            name: _take_rates(one, throughput.operators[name], name in prediction.by_source)
            for name, one in prediction.operators.items()
        },
        executors=tuple(
            _take_rates(one, real, one.operator in prediction.by_source)
            for one, real in zip(prediction.executors, throughput.executors, strict=True)
        ),
    )


def _take_rates(
    one: Predicted, real: OperatorThroughput | ExecutorThroughput, is_source: bool
) -> Predicted:
    """Figures with the rates that get through; messages of the engine become as many times less."""
    due = one.tuples_out_per_second if is_source else one.arrived_per_second
    part = real.processed_per_second / due if due > 0.0 else 1.0
    messages = max(one.emitted_per_second - one.tuples_out_per_second, 0.0)
    return replace(
        one,
        arrived_per_second=part * one.arrived_per_second if is_source else real.arrived_per_second,
        tuples_out_per_second=real.emitted_per_second,
        emitted_per_second=real.emitted_per_second + part * messages,
    )


class _ExecutorRates(NamedTuple):
    """What comes to and leaves every executor, and what of the latter are tuples of the job."""

    came: Vector
    left: Vector
    tuples: Vector


def _executors(
    parameters: Parameters, rates: _ExecutorRates, loaded: Loaded, delays: Delays
) -> tuple[ExecutorPrediction, ...]:
    plan = parameters.flow.plan
    total = delays.executor_mean
    own = [values for part, values in delays.executors.items() if part in _OWN]
    waiting = total - np.sum(own, axis=0)
    queued = np.multiply(rates.came, waiting, out=np.zeros_like(total), where=rates.came > 0.0)
    names = [str(worker) for worker in plan.workers]
    # Lists hold plain numbers; one at a time, taking them out of arrays is most of the work.
    figures = (
        *(one.tolist() for one in rates),
        loaded.utilisation.tolist(),
        loaded.contention.stretch[: len(total)].tolist(),
        loaded.service.mean.tolist(),
        total.tolist(),
        queued.tolist(),
    )
    return tuple(
        ExecutorPrediction(
            name=one.label,
            operator=one.operator,
            worker=names[worker],
            arrived_per_second=came,
            emitted_per_second=left,
            tuples_out_per_second=tuples,
            utilisation=utilisation,
            stretch=stretch,
            service_seconds=service,
            delay_seconds=delay,
            queue_length=queue,
        )
        for one, worker, came, left, tuples, utilisation, stretch, service, delay, queue in zip(
            plan.logical.executors, plan.placement, *figures, strict=True
        )
    )


def _add_rates(parameters: Parameters) -> _ExecutorRates:
    flow, rates = parameters.flow, parameters.rates
    size = len(flow.plan.logical.executors)
    came, left, tuples = np.zeros(size), np.zeros(size), np.zeros(size)
    for name, span in flow.plan.logical.spans.items():
        here = as_slice(span)
        came[here] = rates.into(flow, name)
        left[here] = rates.out_of(flow, name)
        tuples[here] = rates.out_of(flow, name, system=False)
    return _ExecutorRates(came, left, tuples)


def _operators(
    parameters: Parameters, rates: _ExecutorRates, loaded: Loaded, delays: Delays
) -> dict[str, OperatorPrediction]:
    came, left, tuples = rates
    total = delays.executor_mean
    operators = {}
    for name, span in parameters.flow.plan.logical.spans.items():
        here = as_slice(span)
        mean = _weigh(came[here] if came[here].any() else np.ones(len(span)))
        operators[name] = OperatorPrediction(
            executors=len(span),
            idle=int(np.count_nonzero(came[here] <= 0.0)) if is_bolt(parameters.flow, name) else 0,
            arrived_per_second=float(came[here].sum()),
            emitted_per_second=float(left[here].sum()),
            tuples_out_per_second=float(tuples[here].sum()),
            utilisation=float(loaded.utilisation[here].mean()),
            busiest=float(loaded.utilisation[here].max()),
            service_seconds=mean(loaded.service.mean[here]),
            delay_seconds=mean(total[here]),
            parts={part.value: mean(values[here]) for part, values in delays.executors.items()},
        )
    return operators


def _weigh(weights: Vector) -> Callable[[Vector], float]:
    """What finds the mean of those that get anything."""
    busy = weights > 0.0
    chosen = weights[busy]
    total = chosen.sum()
    return lambda values: float(chosen @ values[busy] / total)


def list_workers(
    plan: PhysicalPlan, used: WorkerCores, sent: Vector
) -> tuple[WorkerPrediction, ...]:
    """Every worker, in the plan's order, with what it sends to others."""
    total = used.total
    return tuple(
        WorkerPrediction(
            name=str(worker),
            executors=plan.placement.count(index),
            cores=float(total[index]),
            work=float(used.work[index]),
            engine=float(used.engine[index]),
            engine_error=float(used.engine_error[index]),
            polling=float(used.polling[index]),
            sent_per_second=float(sent[index]),
        )
        for index, worker in enumerate(plan.workers)
    )


def list_machines(
    plan: PhysicalPlan, used: WorkerCores, overloaded: Sequence[bool] | NDArray[np.bool_]
) -> tuple[MachinePrediction, ...]:
    """Every machine, in the cluster's order."""
    place, count = machine_of_worker(plan), len(plan.cluster.machines)
    work, engine, polling = (
        sum_at(place, part, count) for part in (used.work, used.engine, used.polling)
    )
    return tuple(
        MachinePrediction(
            name=one.name,
            cores=one.cores,
            background=one.background_cores,
            busy=float(work[index]),
            engine=float(engine[index]),
            polling=float(polling[index]),
            overloaded=bool(overloaded[index]),
        )
        for index, one in enumerate(plan.cluster.machines)
    )


def warn_of_full_machines(machines: Iterable[MachinePrediction], limit: Limit) -> Iterator[str]:
    """A word on machines that are, or soon will be, so full that latency is anybody's guess.

    Between this load and the highest that fits, use of a machine is taken to grow in proportion.
    """
    full = []
    for one in machines:
        if one.in_use >= FULL and not one.overloaded:
            full.append(f"{one.in_use:.0%} of {one.name}")
        elif one.name == limit.by and 1.0 < limit.factor < math.inf and one.in_use < FULL:
            part = (FULL - one.in_use) / (1.0 - one.in_use)
            from_rate = (1.0 + part * (limit.factor - 1.0)) * limit.per_second / limit.factor
            yield (
                f"latency cannot be predicted from about {from_rate:,.3g} tuples/s on, where"
                f" {FULL:.0%} of {one.name} would be in use: {UNSTEADY}"
            )
    if full:
        yield (
            f"{', '.join(full)} would be in use, so do not count on predicted latencies: {UNSTEADY}"
        )
