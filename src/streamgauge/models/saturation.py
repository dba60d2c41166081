"""Saturation: the rate at which a plan can do no more, what fills in which order, and which way.

The saturation rate of a topology is min over k of SP_k/g_k, g_k being what comes to k per tuple of
the sources (Kalim 2020, eq. 3.13 as it has to read). What is full first is found with all that
threads do to each other (`load_limit.find_limit`). What fills next is asked as if what fills before
it were out of the way: of executors that have cores of their own, of machines, transfer queues.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from streamgauge.models.held_back import ALL_OF_IT, Delivery, deliver
from streamgauge.models.load_limit import (
    TRANSFER_QUEUE,
    Limit,
    find_machines,
    machine_of_executor,
)
from streamgauge.models.parameters import Parameters
from streamgauge.models.worker_cpu import sum_at
from streamgauge.topology.paths import iter_logical_paths

# Saturation rates are found to this part of them.
NEAR = 5e-3
# Loads that are looked at until then, at most.
MOST_STEPS = 12
# Paths of operators that are looked at, and that are listed.
MOST_PATHS, LISTED_PATHS = 2000, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """Something that fills up as the rates of all sources grow alike.

    Attributes:
        name: An executor, a machine, a worker's transfer queue, or a limit on open roots.
        operator: Whose executor that is; None where it is none.
        per_second: What all sources emit together when it is full, if what fills before it were
            out of the way. For executors: with cores that nobody else uses, unless it is the first.
    """

    name: str
    operator: str | None
    per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PathSaturation:
    """A way from a source to a sink, a candidate for the critical path.

    Attributes:
        operators: From source to sink.
        per_second: What all sources emit together when the first of them is full.
        by: The executor that is.
    """

    operators: tuple[str, ...]
    per_second: float
    by: str


def find_saturation(parameters: Parameters, limit: Limit) -> Limit:
    """The highest multiple of the load that is processed to the end, in a long run.

    That is where the first thing is full, unless load-aware shuffle then sends further.

    Args:
        parameters: At the rates that are due.
        limit: Where the first thing is full.
    """
    spills = any(
        len(block.targets) > 1 and block.stream.subscription in parameters.routing.scopes
        for block in parameters.flow.data_blocks
    )
    if not spills or not 0.0 < limit.factor < math.inf:
        return limit
    low, high = limit.factor, math.inf
    asked = low * (1.0 + 4.0 * NEAR)
    name = limit.by
    for _ in range(MOST_STEPS):
        if high - low <= NEAR * low:
            break
        delivery = deliver(parameters.rescaled(asked))
        part = float(delivery.emitted.min())
        if part >= ALL_OF_IT:
            low = asked
        else:
            high = asked
            name = next(iter(_full_names(delivery)), name)
        # Whoever is held back most emits as much as at a lower rate of all.
        likely = asked * part * (1.0 + NEAR / 2.0)
        if math.isinf(high):
            asked = 2.0 * low
        else:
            asked = likely if low < likely < high else math.sqrt(low * high)
    if low == limit.factor:
        return limit
    return Limit(factor=low, per_second=low * limit.per_second / limit.factor, by=name)


def _full_names(delivery: Delivery) -> Iterator[str]:
    executors = delivery.parameters.flow.plan.logical.executors
    busy = np.where(delivery.full, delivery.loaded.utilisation, -1.0)
    for place in np.argsort(-busy).tolist():
        if delivery.full[place]:
            yield executors[place].label


def order_bottlenecks(parameters: Parameters, saturation: Limit) -> Iterator[Filling]:
    """What fills as all rates grow, in order: of each operator the executor that does first."""
    if not 0.0 < saturation.factor < math.inf:
        return
    plan = parameters.flow.plan
    at_one = saturation.per_second / saturation.factor
    labels = [one.label for one in plan.logical.executors]
    rates = {name: at_one / load for name, load in _own_loads(parameters) if load > 0.0}
    # What stands first was found with all that threads do to each other.
    rates = {name: max(rate, saturation.per_second) for name, rate in rates.items()} | {
        saturation.by: saturation.per_second
    }
    operators = dict(zip(labels, (one.operator for one in plan.logical.executors), strict=True))
    seen: set[str] = set()
    for name, rate in sorted(rates.items(), key=lambda one: (one[1], one[0] != saturation.by)):
        operator = operators.get(name)
        if operator is not None and operator in seen:
            continue
        seen.add(operator or "")
        yield Filling(name=name, operator=operator, per_second=rate)


def _own_loads(parameters: Parameters) -> Iterator[tuple[str, float]]:
    """Load of all that may fill: executors with cores of their own, machines, transfer queues."""
    plan, works = parameters.flow.plan, parameters.works
    tuples, triggers = works.tuples, works.triggers
    cores = tuples.per_second * tuples.cpu + triggers.per_second * triggers.cpu
    busy = tuples.per_second * (tuples.cpu + tuples.wait)
    for executor, one in zip(plan.logical.executors, busy.tolist(), strict=True):
        yield executor.label, one
    machine = machine_of_executor(plan)
    free = find_machines(parameters)[0].free
    wanted = sum_at(machine, cores, len(free))
    threads = sum_at(machine, (cores > 0.0).astype(np.float64), len(free))
    for one, part, left, many in zip(plan.cluster.machines, wanted, free, threads, strict=True):
        if many > left > 0.0:
            yield one.name, float(part / left)
    for worker, one in zip(plan.workers, parameters.transfer_load().tolist(), strict=True):
        yield f"{TRANSFER_QUEUE} {worker}", one


def order_paths(
    parameters: Parameters, bottlenecks: tuple[Filling, ...]
) -> Iterator[PathSaturation]:
    """Ways from sources to sinks, by the rate at which the first of their operators is full."""
    topology = parameters.flow.plan.logical.topology
    if topology.cycle() is not None:
        return
    fills = {one.operator: one for one in bottlenecks if one.operator is not None}
    found = []
    for streams in islice(iter_logical_paths(topology), MOST_PATHS):
        names = (streams[0].source, *(one.target for one in streams))
        first = min(
            (fills[name] for name in names if name in fills),
            key=lambda one: one.per_second,
            default=None,
        )
        if first is not None:
            found.append(
                PathSaturation(operators=names, per_second=first.per_second, by=first.name)
            )
    yield from sorted(found, key=lambda one: one.per_second)[:LISTED_PATHS]
