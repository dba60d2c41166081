"""Open roots: how long a round of them takes if only so many may be open.

A round begins when a source may emit a root and ends when the source hears that it is done. How
long that takes is said by the engine's formulas, for tuples that meet a part κ of the traffic. κ is
that of a network of product form with the same services and all else a delay (`closed_network`),
exactly solved for one class of roots. Executors of sources whose tuples go to the same places are
one class. To each class the roots of others are as in an open network: they make its stations
slower (mixed networks; Baskett, Chandy, Muntz & Palacios 1975).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.acks import roots_per_tuple, with_acks
from streamgauge.models.closed_network import MOST_EXACT, ClosedNetwork, find_admission
from streamgauge.models.delays import find_delays
from streamgauge.models.load_limit import Loaded, load
from streamgauge.models.network import Network
from streamgauge.models.parameters import Parameters, find_parameters
from streamgauge.models.queueing import Moments, divide_or
from streamgauge.models.traffic_equations import propagate
from streamgauge.models.tuple_trees import TupleTrees
from streamgauge.topology.topology import StreamKey
from streamgauge.topology.tuple_flow import as_slice
from streamgauge.topology.workload import Emission, Workload

Vector = NDArray[np.float64]
Places = NDArray[np.intp]

# What others leave of a station, at the least; with nothing left there is no network.
LEAST_SPARE = 1e-2
# Nobody meets nothing at all: bursts of no length would come infinitely often.
LEAST_MET = 1e-6
# Digits in which two executors' shares have to agree for their roots to be of one class.
SAME_DIGITS = 9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanState:
    """A plan at some rates of its sources.

    Attributes:
        parameters: At these rates; tuples meet what they meet in a closed network.
        loaded: Executors are as busy as these rates make them; services take as long as what is met
            makes them.
        rounds: Of roots, by executor of a source: its own time for them, and as long as they are
            open; nought for other executors.
        per_second: Roots that each executor of a source emits.
    """

    parameters: Parameters
    loaded: Loaded
    rounds: Moments
    per_second: Vector

    @property
    def open_roots(self) -> Vector:
        """Mean roots of each executor that are on their round (Little's law)."""
        idle = self.per_second <= 0.0
        return np.where(idle, 0.0, self.per_second * np.where(idle, 0.0, self.rounds.mean))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RootClass:
    """Executors of sources whose roots go the same ways.

    Attributes:
        members: As places in the plan.
        share: Part of each executor's work that these roots make.
        network: What they go round in.
        per_second: Roots that are due of all of them.
    """

    members: Places
    share: Vector
    network: ClosedNetwork
    per_second: float

    def part_met_closed(self, customers: int) -> float:
        """Which part of the class's own traffic is met, with always so many roots open."""
        if customers > MOST_EXACT:
            return 1.0 - 1.0 / customers
        seconds = float(self.network.round_seconds(customers)[-1])
        return self.network.part_met(customers / seconds, seconds)

    def part_met(self, customers: int, part: float) -> float:
        """The same with so many at most, and a part of the rate that they let through.

        Who finds all of them open waits outside.
        """
        seconds = self.network.round_seconds(customers)
        per_second = part * customers / float(seconds[-1])
        inside = find_admission(per_second, seconds).inside
        return self.network.part_met(per_second, inside / per_second)


class OpenRoots:
    """The roots of a plan under a load.

    Attributes:
        due: Roots a second that each executor should emit; nought for all but sources.
        places: Executors that emit any.
        tasks: Of each executor.
    """

    def __init__(self, parameters: Parameters, workload: Workload, network: Network) -> None:
        self._parameters, self._workload, self._network = parameters, workload, network
        logical = parameters.flow.plan.logical
        self._logical = logical
        self.tasks = np.asarray([len(one.tasks) for one in logical.executors])
        self.due = np.zeros(len(logical.executors))
        for source in logical.topology.sources:
            out = parameters.rates.out_of(parameters.flow, source.name, system=False)
            self.due[as_slice(logical.spans[source.name])] = out
        self.places: Places = np.flatnonzero(self.due > 0.0)

    def at(
        self,
        factors: Vector | float,
        met: Vector | float,
        *,
        crowd: float | None = None,
        paced: float = 0.0,
    ) -> PlanState:
        """The plan at multiples of what is due, if tuples meet those parts of the traffic.

        Args:
            factors: Of each executor, or of all.
            met: By executor, or everywhere.
            crowd: Part of the rates at which threads slow each other down, if not as what is met.
            paced: Part of the tuples that sources emit when others of theirs have ended.
        """
        parameters = self._rescaled(factors)
        parts = np.maximum(np.broadcast_to(met, len(self.due)), LEAST_MET)
        per_second = self.due * factors
        if crowd is None:
            crowd = float(per_second @ parts / per_second.sum())
        loaded = load(parameters)
        if crowd < 1.0:
            loaded = replace(loaded, service=load(parameters, crowd, near=loaded).service)
        parameters = replace(parameters, met=parts, paced=paced)
        delays = find_delays(parameters, loaded.service)
        trees = TupleTrees(parameters, delays, self._network, loaded.service)
        rounds = _add(trees.open_times(), _own_times(loaded, per_second, parts), self.places)
        return PlanState(parameters=parameters, loaded=loaded, rounds=rounds, per_second=per_second)

    def _rescaled(self, factors: Vector | float) -> Parameters:
        of_sources = np.broadcast_to(factors, len(self.due))[self.places]
        if np.ptp(of_sources) == 0.0:
            factor = float(of_sources[0])
            return self._parameters if factor == 1.0 else self._parameters.rescaled(factor)
        behaviour, plan = self._parameters.behaviour, self._parameters.flow.plan
        emissions = tuple(self._scale(one, np.asarray(factors)) for one in self._workload.emissions)
        family = self._parameters.family
        return find_parameters(behaviour, plan, Workload(emissions=emissions), family)

    def _scale(self, emission: Emission, factors: Vector) -> Emission:
        """An emission of which every executor emits another part."""
        tasks = self._logical.tasks_of(emission.source)
        executors = self._logical.executors_of(emission.source)
        of_tasks = np.repeat(
            factors[as_slice(self._logical.spans[emission.source])],
            [len(one.tasks) for one in executors],
        )
        shares = np.asarray(emission.task_shares(len(tasks))) * of_tasks
        total = float(shares.sum())
        if total <= 0.0:
            return replace(emission, per_second=0.0)
        # Shares have to add up to one, whatever was rounded.
        return replace(
            emission,
            per_second=(emission.per_second or 0.0) * total,
            shares=tuple((shares / total).tolist()),
        )

    def classify(self, idle: PlanState) -> tuple[RootClass, ...]:
        """The classes of roots; `idle` is the plan as those see it who meet nobody."""
        groups: dict[tuple[object, ...], list[int]] = {}
        for place in self.places.tolist():
            groups.setdefault(self._ways(place), []).append(place)
        members = [np.asarray(group, dtype=np.intp) for group in groups.values()]
        shares = self._shares(members)
        return tuple(
            RootClass(
                members=group,
                share=share,
                network=self._network_of(idle, group, share),
                per_second=float(self.due[group].sum()),
            )
            for group, share in zip(members, shares, strict=True)
        )

    def _ways(self, place: int) -> tuple[object, ...]:
        """Where an executor's roots go."""
        source = self._logical.executors[place].operator
        row = place - self._logical.spans[source].start
        emitted = self._parameters.rates.emitted
        return (
            source,
            *(
                (
                    round(float(emitted[block.stream.key][row]) / self.due[place], SAME_DIGITS),
                    np.round(block.shares[row], SAME_DIGITS).tobytes(),
                )
                for block in self._parameters.flow.data_blocks
                if block.stream.source == source
            ),
        )

    def _shares(self, classes: Sequence[Places]) -> list[Vector]:
        """Of each class, the part of every executor's work."""
        if len(classes) == 1:
            return [np.ones(len(self.due))]
        came = np.asarray([self._came_of(members) for members in classes])
        total = came.sum(axis=0)
        return [divide_or(one, total, 0.0) for one in came]

    def _came_of(self, members: Places) -> Vector:
        """What comes to executors of the roots of some; of these executors, what they emit."""
        parameters, flow = self._parameters, self._parameters.flow
        wanted = np.isin(np.arange(len(self.due)), members)
        sources: dict[StreamKey, Vector] = {}
        for source in self._logical.topology.sources:
            here = wanted[as_slice(self._logical.spans[source.name])]
            for stream in self._logical.topology.streams_from(source.name):
                if not stream.is_system:
                    sources[stream.key] = np.where(here, parameters.rates.emitted[stream.key], 0.0)
        rates = propagate(flow, sources, parameters.conversions)
        traffic = with_acks(replace(parameters, rates=rates), roots_per_tuple(parameters))
        came = np.where(wanted, self.due, 0.0)
        for name, span in self._logical.spans.items():
            if not wanted[as_slice(span)].any():
                came[as_slice(span)] += traffic.rates.into(flow, name)
        return came

    def _network_of(self, idle: PlanState, members: Places, share: Vector) -> ClosedNetwork:
        """What the roots of some executors go round in.

        A round takes `idle` seconds where nobody meets anybody; what of that is not service is a
        delay. Where a root's tuples are served side by side, services may be longer than that.
        """
        per_second = float(idle.per_second[members].sum())
        busy = idle.loaded.utilisation * share
        demands = busy / per_second
        round_seconds = float(idle.per_second[members] @ idle.rounds.mean[members] / per_second)
        spare = np.maximum(1.0 - (idle.loaded.utilisation - busy), LEAST_SPARE)
        used = demands > 0.0
        return ClosedNetwork(
            demands=(demands / spare)[used],
            delay_seconds=max(round_seconds - float(demands.sum()), 0.0),
        )


def meet(classes: Sequence[RootClass], own_parts: Sequence[float]) -> Vector:
    """Which part of all traffic is met at each executor, if classes meet those parts of their own.

    Of others' traffic all is met. The mean over those who come: 1 − Σ q²·(1 − κ), q the classes'
    shares.
    """
    missed = sum(
        (one.share**2 * (1.0 - part) for one, part in zip(classes, own_parts, strict=True)),
        start=np.zeros_like(classes[0].share),
    )
    return np.asarray(1.0 - missed)


def _own_times(loaded: Loaded, per_second: Vector, met: Vector) -> Moments:
    """A source's time for a root: service, and the wait for those that are met before it."""
    mean, variance = loaded.service.mean, loaded.service.variance
    spare = 1.0 - met * per_second * mean
    wait = divide_or(met * per_second * (variance + mean**2) / 2.0, spare)
    return Moments(mean=wait + mean, variance=variance + wait**2)


def _add(first: Moments, second: Moments, places: Places) -> Moments:
    """Moments of a sum, of some executors; of the others nought."""
    mean, variance = np.zeros_like(first.mean), np.zeros_like(first.mean)
    mean[places] = first.mean[places] + second.mean[places]
    variance[places] = first.variance[places] + second.variance[places]
    return Moments(mean=mean, variance=variance)


def hold_in_windows(parameters: Parameters) -> dict[str, float]:
    """Roots that windows by count may hold without firing, by operator.

    A tuple is acknowledged when it leaves its window, at a trigger; so a task holds up to length
    and slide, less one, and then waits for the next. Siblings there count as one root; what a
    window emitted, as all of its roots.
    """
    topology, flow = parameters.flow.plan.logical.topology, parameters.flow
    roots = roots_per_tuple(parameters)
    begun = sum(
        float(parameters.rates.out_of(flow, one.name, system=False).sum())
        for one in topology.sources
    )
    held = {}
    for operator in topology.operators:
        window = operator.window
        if window is None or window.slide_tuples is None:
            continue
        streams = [one for one in topology.streams_into(operator.name) if not one.is_system]
        came = [float(parameters.rates.arrived[one.subscription].sum()) for one in streams]
        if not sum(came) > 0.0:
            continue
        of_roots = sum(roots[one.key] * rate for one, rate in zip(streams, came, strict=True))
        tasks = float(np.sum(parameters.conversions[operator.name].busy_tasks))
        tuples = tasks * ((window.length_tuples or 0) + window.slide_tuples - 1)
        if tuples > 0.0:
            held[operator.name] = tuples * of_roots / sum(came) / max(of_roots / begun, 1.0)
    return held
