"""From rates, load and delays of a plan to a prediction: what every model by formulas shares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.cpu_contention import Contention
from streamgauge.models.delays import Delays, Part
from streamgauge.models.end_to_end_latency import PROBABILITIES, Ways
from streamgauge.models.loading import Loaded, is_bolt
from streamgauge.models.network import MEDIAN, network_of
from streamgauge.models.parameters import Parameters
from streamgauge.models.prediction import (
    ExecutorPrediction,
    Limit,
    MachinePrediction,
    OperatorPrediction,
    Prediction,
    Verdict,
    WorkerPrediction,
)
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.tuple_flow import as_slice

Vector = NDArray[np.float64]

# Of an executor's delay, what is not waiting in a queue.
_OWN = (Part.SERVICE, Part.WINDOW)


def assemble(
    model: str,
    parameters: Parameters,
    loaded: Loaded,
    delays: Delays,
    limit: Limit,
    probabilities: Sequence[float] = PROBABILITIES,
    *,
    link_percentile: float = MEDIAN,
) -> Prediction:
    """What a model found, put together.

    Args:
        model: Its name.
        parameters: Routing, rates and work of the plan.
        loaded: What the load does to executors and machines.
        delays: In the plan's elements under this load.
        limit: The highest rate that fits.
        probabilities: Of the latencies' quantiles.
        link_percentile: Which latency between nodes counts.
    """
    plan = parameters.flow.plan
    network = network_of(plan, parameters.behaviour, percentile=link_percentile)
    ways = Ways(parameters.flow, parameters.rates, parameters.conversions, delays, network)
    latency = ways.latency(probabilities)
    return Prediction(
        model=model,
        verdict=Verdict.OVERLOADED if loaded.overloaded else Verdict.FITS,
        overloaded=loaded.overloaded,
        limit=limit,
        latency=latency,
        by_source=ways.by_source(latency, probabilities),
        operators=_operators(parameters, loaded, delays),
        executors=_executors(parameters, loaded, delays),
        workers=_workers(parameters, loaded),
        machines=_machines(plan, loaded.contention),
        notes=(*parameters.notes, *network.notes),
        provenance=parameters.behaviour.provenance,
    )


def _executors(
    parameters: Parameters, loaded: Loaded, delays: Delays
) -> tuple[ExecutorPrediction, ...]:
    plan = parameters.flow.plan
    came, left, tuples = _add_rates(parameters)
    total = delays.executor_mean
    own = [values for part, values in delays.executors.items() if part in _OWN]
    waiting = total - np.sum(own, axis=0)
    return tuple(
        ExecutorPrediction(
            name=one.label,
            operator=one.operator,
            worker=str(plan.workers[plan.placement[index]]),
            arrived_per_second=float(came[index]),
            emitted_per_second=float(left[index]),
            tuples_out_per_second=float(tuples[index]),
            utilisation=float(loaded.utilisation[index]),
            stretch=float(loaded.contention.stretch[index]),
            service_seconds=float(loaded.service.mean[index]),
            delay_seconds=float(total[index]),
            queue_length=float(came[index] * waiting[index]) if came[index] > 0.0 else 0.0,
        )
        for index, one in enumerate(plan.logical.executors)
    )


def _add_rates(parameters: Parameters) -> tuple[Vector, Vector, Vector]:
    """What comes to and leaves every executor, and what of the latter are tuples of the job."""
    flow, rates = parameters.flow, parameters.rates
    size = len(flow.plan.logical.executors)
    came, left, tuples = np.zeros(size), np.zeros(size), np.zeros(size)
    for name, span in flow.plan.logical.spans.items():
        here = as_slice(span)
        came[here] = rates.into(flow, name)
        left[here] = rates.out_of(flow, name)
        tuples[here] = rates.out_of(flow, name, system=False)
    return came, left, tuples


def _operators(
    parameters: Parameters, loaded: Loaded, delays: Delays
) -> dict[str, OperatorPrediction]:
    came, left, tuples = _add_rates(parameters)
    total = delays.executor_mean
    found = {}
    for name, span in parameters.flow.plan.logical.spans.items():
        here = as_slice(span)
        weights = came[here] if came[here].any() else np.ones(len(span))
        found[name] = OperatorPrediction(
            executors=len(span),
            idle=int(np.count_nonzero(came[here] <= 0.0)) if is_bolt(parameters.flow, name) else 0,
            arrived_per_second=float(came[here].sum()),
            emitted_per_second=float(left[here].sum()),
            tuples_out_per_second=float(tuples[here].sum()),
            utilisation=float(loaded.utilisation[here].mean()),
            busiest=float(loaded.utilisation[here].max()),
            service_seconds=_mean(weights, loaded.service.mean[here]),
            delay_seconds=_mean(weights, total[here]),
            parts={
                part.value: _mean(weights, values[here])
                for part, values in delays.executors.items()
            },
        )
    return found


def _mean(weights: Vector, values: Vector) -> float:
    """Of those that get anything."""
    busy = weights > 0.0
    return float(weights[busy] @ values[busy] / weights[busy].sum())


def _workers(parameters: Parameters, loaded: Loaded) -> tuple[WorkerPrediction, ...]:
    flow = parameters.flow
    place = np.asarray(flow.plan.placement, dtype=np.intp)
    sent = np.zeros(len(flow.plan.workers))
    for block in flow.blocks:
        away = np.where(block.types > 0, block.shares, 0.0).sum(axis=1)
        leaving = parameters.rates.emitted[block.stream.key] * away
        np.add.at(sent, place[as_slice(block.sources)], leaving)
    cores = np.bincount(
        place, weights=loaded.contention.used_cores[: len(place)], minlength=len(sent)
    )
    return tuple(
        WorkerPrediction(
            name=str(worker),
            executors=int(np.count_nonzero(place == index)),
            cores=float(cores[index]),
            sent_per_second=float(sent[index]),
        )
        for index, worker in enumerate(flow.plan.workers)
    )


def _machines(plan: PhysicalPlan, found: Contention) -> tuple[MachinePrediction, ...]:
    return tuple(
        MachinePrediction(
            name=one.name,
            cores=one.cores,
            background=one.background_cores,
            busy=float(found.busy_cores[index]),
            polling=float(found.polling_cores[index]),
            overloaded=bool(found.overloaded[index]),
        )
        for index, one in enumerate(plan.cluster.machines)
    )
