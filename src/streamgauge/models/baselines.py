"""Baselines: models of the textbooks and of dashboards, to see what a better one buys.

They share routing, rates and service times with the analytic model, so that only the queueing
differs. Every executor has a core to itself, tuples come one by one, no thread sleeps, no window
waits.

The queues are M/M/1, M/M/c, G/G/1 and G/G/c (Kleinrock 1975, Kingman 1961, Allen 1990). One server
is a case of several: M/M/1 is M/M/c, and Kingman's formula that of Allen and Cunneen, with c = 1.
Where a queue is offered as much as it can do, or more, waits are infinite.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from streamgauge.models import transforms
from streamgauge.models.arrival_variability import bursts_into
from streamgauge.models.chained import split_chains
from streamgauge.models.delays import DelayLevels, Delays, Part, no_wait
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.lateness import Lateness
from streamgauge.models.load_limit import Loaded, mark_bolts
from streamgauge.models.parameters import Parameters, find_parameters
from streamgauge.models.plan_check import check_case
from streamgauge.models.prediction import Prediction, assemble
from streamgauge.models.queueing import as_vector, divide_or
from streamgauge.models.transforms import Complex, Vector
from streamgauge.models.uncontended import (
    Stations,
    normalise,
    pooled_servers,
    single_servers,
    uncontended_limit,
    uncontended_load,
)
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.tuple_flow import as_slice
from streamgauge.topology.workload import Workload

LEFT_OUT = "shared cores, batching, sleeping and transfer threads, and waiting for windows"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wait:
    """Waits in front of several servers: none where one of them is free, else exponential.

    Attributes:
        chance: Part of the customers that wait at all.
        patience: Mean wait of those, in seconds; infinite where the queue is overloaded.
    """

    chance: Vector
    patience: Vector

    @property
    def mean(self) -> Vector:
        """Of all customers."""
        return np.asarray(self.chance * self.patience)

    @property
    def variance(self) -> Vector:
        """Of the same."""
        return np.asarray(self.chance * (2.0 - self.chance) * self.patience**2)

    def transform(self, s: Complex) -> Complex:
        """E[e^(−sT)], points × queues; zero where waits are infinite."""
        finite = np.isfinite(self.patience)
        delayed = transforms.exponential(s, np.where(finite, self.patience, 0.0))
        return np.asarray(np.where(finite, transforms.with_atom(delayed, self.chance), 0.0))


def erlang_c(load: ArrayLike, servers: ArrayLike) -> Vector:
    """Probability that a customer of the M/M/c queue waits; one where the queue is overloaded.

    By Erlang's loss formula as a ratio of incomplete gamma functions, so that neither powers nor
    factorials of hundreds of servers overflow.
    """
    from scipy import special

    offered, count = np.broadcast_arrays(as_vector(load), as_vector(servers))
    stable = offered < count
    safe = np.where(stable, offered, 0.0)
    states = np.exp(special.xlogy(count, safe) - safe - special.gammaln(count + 1.0))
    loss = states / special.gammaincc(count + 1.0, safe)
    return np.where(stable, loss / (1.0 - safe / count * (1.0 - loss)), 1.0)


def mmc_wait(rate: ArrayLike, service_seconds: ArrayLike, servers: ArrayLike) -> Wait:
    """Wait in the M/M/c queue (Kleinrock 1975, section 3.5)."""
    service, count = as_vector(service_seconds), as_vector(servers)
    load = as_vector(rate) * service
    return Wait(chance=erlang_c(load, count), patience=divide_or(service, count - load))


def allen_cunneen_wait(
    rate: ArrayLike,
    service_seconds: ArrayLike,
    servers: ArrayLike,
    arrival_scv: ArrayLike,
    service_scv: ArrayLike,
) -> Wait:
    """Wait in the G/G/c queue: that of M/M/c, longer by (c_a² + c_s²)/2 (Allen 1990)."""
    base = mmc_wait(rate, service_seconds, servers)
    variability = (as_vector(arrival_scv) + as_vector(service_scv)) / 2.0
    # Constant arrivals and services never wait below saturation, and 0·∞ has no value above.
    longer = np.multiply(
        base.patience,
        variability,
        out=np.full(np.broadcast_shapes(base.patience.shape, variability.shape), np.inf),
        where=np.isfinite(base.patience),
    )
    return replace(base, patience=longer)


class _Baseline:
    """A network of queues, each as if alone in the world.

    Attributes:
        looks_at: One sentence for `describe`.
        is_pooled: Whether all executors of an operator serve one queue, or each its own.
        is_exponential: Whether service is taken to be exponential.
    """

    name: ClassVar[str]
    looks_at: ClassVar[str]
    left_out: ClassVar[str] = LEFT_OUT
    is_pooled: ClassVar[bool] = False
    is_exponential: ClassVar[bool] = False

    def describe(self) -> str:
        """One sentence on what it looks at."""
        return self.looks_at

    def _wait(self, parameters: Parameters, stations: Stations) -> Wait:
        """How long tuples wait in the queues of a plan."""
        return mmc_wait(stations.per_second, stations.mean, stations.servers)

    @split_chains
    def predict(
        self, behaviour: JobBehaviour, plan: PhysicalPlan, workload: Workload
    ) -> Prediction:
        """How the job would behave on `plan` under `workload`."""
        check_case(behaviour, plan, workload)
        parameters = find_parameters(behaviour, plan, workload)
        note = f"the model {self.name} leaves out {self.left_out}"
        parameters = replace(parameters, notes=(*parameters.notes, note))
        stations = pooled_servers(parameters) if self.is_pooled else single_servers(parameters)
        if self.is_exponential:
            stations = replace(stations, variance=stations.mean**2)
        loaded = uncontended_load(parameters, stations)
        delays = _delays(parameters, loaded, stations, self._wait(parameters, stations))
        limit = uncontended_limit(parameters, workload, stations)
        return assemble(self.name, parameters, loaded, DelayLevels.single(delays), limit)


class JacksonModel(_Baseline):
    """Jackson 1957: every executor is an M/M/1 queue that knows nothing of the others."""

    name = "jackson"
    looks_at = "every executor as an M/M/1 queue: random arrivals, exponential service"
    is_exponential = True


class ErlangModel(_Baseline):
    """All executors of an operator serve one queue, M/M/c, as DRS (Fu et al. 2015) has it."""

    name = "mmc"
    looks_at = "every operator as an M/M/c queue, its executors as servers of one queue"
    is_pooled = True
    is_exponential = True


class KingmanModel(_Baseline):
    """Kingman 1961, with Allen and Cunneen's several servers: what varies more waits longer."""

    name = "kingman"
    looks_at = "every operator as a G/G/c queue, by how much arrivals and service vary"
    is_pooled = True

    def _wait(self, parameters: Parameters, stations: Stations) -> Wait:
        return allen_cunneen_wait(
            stations.per_second,
            stations.mean,
            stations.servers,
            _arrival_scv(parameters, stations),
            _scv(stations),
        )


class BusyTimeModel(_Baseline):
    """What dashboards lead to: busy time in proportion to the rate, and nobody waits."""

    name = "busy-time"
    looks_at = "busy time in proportion to rate and parallelism, service times and no queues"
    left_out = f"queueing, {LEFT_OUT}"

    def _wait(self, parameters: Parameters, stations: Stations) -> Wait:
        overloaded = stations.utilisation >= 1.0
        return Wait(
            chance=overloaded.astype(np.float64), patience=np.where(overloaded, np.inf, 0.0)
        )


def _scv(stations: Stations) -> Vector:
    return divide_or(stations.variance, stations.mean**2, otherwise=0.0)


def _arrival_scv(parameters: Parameters, stations: Stations) -> Vector:
    """Variability of what comes to an operator, that of its executors by their rates.

    In the long run, the index of dispersion of a renewal process is the squared coefficient of
    variation of its gaps.
    """
    bursts = bursts_into(parameters)
    each = bursts.dispersion
    found = np.ones_like(stations.mean)
    for span in parameters.flow.plan.logical.spans.values():
        here = as_slice(span)
        found[here] = normalise(bursts.per_second[here] * bursts.mean[here]) @ each[here]
    return found


def _delays(parameters: Parameters, loaded: Loaded, stations: Stations, wait: Wait) -> Delays:
    """A wait and a service in every executor, the wait without end where it is overloaded."""
    stuck = np.isinf(loaded.contention.stretch)
    unbounded = replace(
        wait,
        chance=np.where(stuck, 1.0, wait.chance),
        patience=np.where(stuck, np.inf, wait.patience),
    )
    scv = _scv(stations)
    send, send_transform = no_wait(len(scv))
    transfer, transfer_transform = no_wait(len(parameters.flow.plan.workers))

    def executor_transform(s: Complex) -> Complex:
        return np.asarray(unbounded.transform(s) * transforms.gamma(s, stations.mean, scv))

    # A source is a queue of what is due.
    sources = ~mark_bolts(parameters.flow)
    spread = unbounded.variance + stations.variance
    return Delays(
        executors={Part.QUEUEING: unbounded.mean, Part.SERVICE: stations.mean},
        spread=spread,
        executor_transform=executor_transform,
        send=send,
        send_transform=send_transform,
        transfer=transfer,
        transfer_transform=transfer_transform,
        utilisation=stations.utilisation,
        find_lateness=lambda: Lateness(
            mean=np.where(sources, unbounded.mean + stations.mean, 0.0),
            variance=np.where(sources, spread, 0.0),
            transform=lambda s: np.where(sources, executor_transform(s), 1.0),
        ),
    )
