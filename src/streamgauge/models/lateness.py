"""Lateness: how long after a tuple was due its source emits it.

A source that finds nothing due sleeps, again and again; when it wakes, it emits one by one all
that is due by then, each taking its wall-clock service time. That is an M/G/1 queue whose server
takes vacations of equal length: a tuple waits as without vacations, for what is left of a vacation,
which is uniform over its length and independent of that wait (Fuhrmann & Cooper 1985), and for its
own service.

Tuples are taken to be due at random. Those due in one sleep leave together, the latest last: who
waits long for the source is served early after it, so that lateness and the first queue are not
independent. Means are right all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from streamgauge.models.closed_network import Admission
from streamgauge.models.queueing import BulkQueue, Setup, divide_or, sojourn_transform, wait
from streamgauge.models.service import ServiceTimes
from streamgauge.models.traffic_equations import Traffic
from streamgauge.models.transforms import Complex, Transform, Vector
from streamgauge.topology.topology import OperatorKind


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lateness:
    """From when a tuple was due until its source has emitted it, by the plan's executors.

    Attributes:
        mean: Seconds; zero for executors that are no sources, infinite for overloaded ones.
        transform: E[e^(−sT)], points × executors.
    """

    mean: Vector
    variance: Vector
    transform: Transform


def find_lateness(traffic: Traffic, service: ServiceTimes, sleep: float) -> Lateness:
    """How late the sources of a plan are, by finite wall-clock service times.

    Args:
        traffic: Rates of the plan.
        service: Of its executors.
        sleep: How long a source sleeps that found nothing due, in seconds; zero: not at all.
    """
    logical = traffic.flow.plan.logical
    places: list[int] = []
    rates: list[float] = []
    for operator in logical.topology.operators:
        if operator.kind is OperatorKind.SOURCE:
            places += logical.spans[operator.name]
            rates += traffic.rates.out_of(traffic.flow, operator.name, system=False).tolist()
    rate, seconds, variance = np.asarray(rates), service.mean[places], service.variance[places]
    queue = BulkQueue(
        batches_per_second=rate,
        service_seconds=seconds,
        service_scv=divide_or(variance, seconds**2, otherwise=0.0),
        setup=Setup.sleep(sleep, rate) if sleep > 0.0 else None,
    )
    waits, sojourn = wait(queue), sojourn_transform(queue)
    size = len(logical.executors)
    mean, spread = np.zeros(size), np.zeros(size)
    mean[places], spread[places] = waits.mean + seconds, waits.variance + variance

    def transform(s: Complex) -> Complex:
        value = np.ones((len(s), size), dtype=np.complex128)
        value[:, places] = sojourn(s)
        return value

    return Lateness(mean=mean, variance=spread, transform=transform)


def wait_for_roots(lateness: Lateness, waits: Mapping[int, Admission]) -> Lateness:
    """The same where sources also wait until as few roots are open as may be.

    Args:
        lateness: For their sleep and their own queue.
        waits: By place in the plan.
    """
    mean, variance = lateness.mean.copy(), lateness.variance.copy()
    for place, one in waits.items():
        mean[place] += one.mean
        variance[place] += one.variance

    def transform(s: Complex) -> Complex:
        value = lateness.transform(s)
        for place, one in waits.items():
            value[:, place] *= one.transform(s).ravel()
        return value

    return Lateness(mean=mean, variance=variance, transform=transform)
