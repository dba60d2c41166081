"""Load of a plan whose executors all have a core to themselves, as textbooks and dashboards see it.

Everything grows in proportion to the rate, so that the highest rate is a division.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.cpu_contention import Contention
from streamgauge.models.load_limit import (
    Limit,
    Loaded,
    find_machines,
    fires_on_thread,
    machine_of_executor,
)
from streamgauge.models.parameters import Parameters
from streamgauge.models.queueing import divide_or
from streamgauge.models.service import stretch_service
from streamgauge.models.worker_cpu import sum_at
from streamgauge.topology.tuple_flow import as_slice
from streamgauge.topology.workload import Workload

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stations:
    """Queues and their servers; one entry for each executor of a plan.

    Executors that serve one queue together have the same entry.

    Attributes:
        per_second: Tuples that come to the queue.
        servers: Executors that serve it.
        mean: How long a tuple occupies one of them, in seconds.
    """

    per_second: Vector
    servers: Vector
    mean: Vector
    variance: Vector

    @property
    def utilisation(self) -> Vector:
        """Part of the time that a server is busy; one and more: overloaded."""
        return np.asarray(self.per_second * self.mean / self.servers)


def single_servers(parameters: Parameters) -> Stations:
    """A queue for each executor.

    A window that fires by count does so on the executor's own thread: some tuples occupy it for
    the trigger's time too.
    """
    works = parameters.works
    rate = works.tuples.per_second
    service = stretch_service(works, np.ones_like(rate), np.ones_like(rate))
    fired = np.where(fires_on_thread(parameters.flow), works.triggers.per_second, 0.0)
    share = divide_or(fired, rate, otherwise=0.0)
    trigger = service.trigger_mean
    return Stations(
        per_second=rate,
        servers=np.ones_like(rate),
        mean=service.mean + share * trigger,
        variance=service.variance
        + share * service.trigger_variance
        + share * (1.0 - share) * trigger**2,
    )


def pooled_servers(parameters: Parameters) -> Stations:
    """A queue for each operator, which all of its executors serve, whatever its groupings say."""
    alone = single_servers(parameters)
    rate, servers = np.zeros_like(alone.mean), np.zeros_like(alone.mean)
    mean, variance = np.zeros_like(alone.mean), np.zeros_like(alone.mean)
    for span in parameters.flow.plan.logical.spans.values():
        here = as_slice(span)
        servers[here], rate[here] = len(span), alone.per_second[here].sum()
        weights = normalise(alone.per_second[here])
        mean[here] = weights @ alone.mean[here]
        # The law of total variance.
        variance[here] = weights @ (alone.variance[here] + (alone.mean[here] - mean[here]) ** 2)
    return Stations(per_second=rate, servers=servers, mean=mean, variance=variance)


def normalise(rates: Vector) -> Vector:
    """Parts of one; even where there is nothing."""
    total = rates.sum()
    return rates / total if total > 0.0 else np.full_like(rates, 1.0 / len(rates))


def uncontended_load(parameters: Parameters, stations: Stations) -> Loaded:
    """What a load does to executors and machines, if threads never wait for a core.

    Machines are overloaded all the same where more cores are wanted than they have; their executors
    have an infinite stretch.
    """
    busy = stations.utilisation
    service = stretch_service(parameters.works, np.ones_like(busy), np.ones_like(busy))
    machine = machine_of_executor(parameters.flow.plan)
    machines, waking = find_machines(parameters)
    free = machines.free
    growing, fixed = _wanted_cores(parameters)
    wanted = _by_machine(parameters, growing + fixed)
    overloaded = (wanted > 0.0) & (wanted >= free)
    # Who is offered more than it can do does as much as it can, an executor as well as a machine.
    used = (growing + fixed) / np.maximum(busy, 1.0)
    enough = divide_or(np.maximum(free, 0.0), _by_machine(parameters, used))
    used = used * np.minimum(enough, 1.0)[machine]
    return Loaded(
        contention=Contention(
            stretch=np.where(overloaded[machine], np.inf, 1.0),
            limits=None,
            used_cores=used,
            busy_cores=_by_machine(parameters, used),
            polling_cores=np.zeros_like(free),
            overloaded=overloaded,
        ),
        service=service,
        utilisation=busy,
        transfer_load=np.zeros(len(parameters.flow.plan.workers)),
        network_load=np.zeros(len(parameters.flow.plan.cluster.machines)),
        cores=used,
        waking=waking,
        variation=lambda: np.zeros(len(free)),
        at_crowd=lambda factor: service,
        overloaded=_worst(parameters, busy, np.where(overloaded, divide_or(wanted, free), 0.0)),
    )


def _worst(parameters: Parameters, executors: Vector, machines: Vector) -> dict[str, float]:
    """Who is offered as much as it can do or more, the worst first."""
    found = _named(parameters, executors, machines)
    above = {name: load for name, load in found.items() if load >= 1.0}
    return dict(sorted(above.items(), key=lambda one: -one[1]))


def uncontended_limit(parameters: Parameters, workload: Workload, stations: Stations) -> Limit:
    """The highest multiple of a load that fits: one over the highest utilisation.

    Of a machine, what windows by the clock take does not grow with the rate.
    """
    growing, fixed = (_by_machine(parameters, one) for one in _wanted_cores(parameters))
    idle, busy = (find_machines(parameters, factor)[0] for factor in (0.0, 1.0))
    growing += np.maximum(busy.engine_cores - idle.engine_cores, 0.0)
    left = np.maximum(idle.free - fixed, 0.0)
    machines = np.where((fixed > 0.0) & (left <= 0.0), 0.0, divide_or(left, growing))
    executors = divide_or(np.ones_like(stations.mean), stations.utilisation)
    factors = _named(parameters, executors, machines)
    by = min(factors, key=factors.__getitem__)
    factor = factors[by]
    if math.isinf(factor):
        return Limit(factor=math.inf, per_second=math.inf, by="nothing")
    emitted = sum(one.per_second or 0.0 for one in workload.emissions)
    return Limit(factor=factor, per_second=factor * emitted, by=by)


def _named(parameters: Parameters, executors: Vector, machines: Vector) -> dict[str, float]:
    """Figures of executors and machines by their names."""
    plan = parameters.flow.plan
    names = [one.label for one in plan.logical.executors]
    names += [one.name for one in plan.cluster.machines]
    return dict(zip(names, [*executors.tolist(), *machines.tolist()], strict=True))


def _wanted_cores(parameters: Parameters) -> tuple[Vector, Vector]:
    """Cores for what grows with the rate, and for windows by the clock, of each executor."""
    tuples, triggers = parameters.works.tuples, parameters.works.triggers
    fired = triggers.per_second * triggers.cpu
    on_thread = fires_on_thread(parameters.flow)
    growing = tuples.per_second * tuples.cpu + np.where(on_thread, fired, 0.0)
    return growing, np.where(on_thread, 0.0, fired)


def _by_machine(parameters: Parameters, amounts: Vector) -> Vector:
    """Sums of what executors have, of each machine."""
    plan = parameters.flow.plan
    return sum_at(machine_of_executor(plan), amounts, len(plan.cluster.machines))
