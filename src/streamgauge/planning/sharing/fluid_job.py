"""A job as a fluid: tuples per second that flow through operators, without single tuples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from streamgauge.models.parameters import Parameters
from streamgauge.planning.sharing.slo import Slo
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.grouping import Fields
from streamgauge.topology.topology import OperatorKind


@dataclass(frozen=True, slots=True, kw_only=True)
class FluidOperator:
    """One operator.

    Attributes:
        executors: With how many its figures hold.
        tasks: How many it can have at most.
        inputs: Tuples that come to it for each that a parent processes, by parent.
        cpu_seconds: Of a core, for one tuple.
        wait_seconds: Off the cores, for one tuple.
        exponent: So many times the executors do so many times as much, to this power.
        skew: What its busiest executor gets, over an even part.
    """

    name: str
    executors: int
    tasks: int
    is_source: bool
    inputs: Mapping[str, float]
    cpu_seconds: float
    wait_seconds: float
    exponent: float = 1.0
    skew: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FluidJob:
    """One job.

    Attributes:
        operators: In topological order.
        source_shares: Part of the job's input by source.
        begins: Executors that it begins with, by operator, where they are others.
        present: From when to when it is there, in seconds.
    """

    name: str
    slo: Slo
    operators: tuple[FluidOperator, ...]
    source_shares: Mapping[str, float]
    begins: Mapping[str, int] = field(default_factory=FrozenDict)
    present: tuple[float, float] = (0.0, math.inf)

    def is_present(self, at: float) -> bool:
        """Whether it is there at that time."""
        return self.present[0] <= at < self.present[1]

    @classmethod
    def of(cls, name: str, slo: Slo, parameters: Parameters) -> FluidJob:
        """What flows through a plan, by its routing, coefficients and work."""
        flow, rates, works = parameters.flow, parameters.rates, parameters.works
        logical = flow.plan.logical
        topology = logical.topology
        emitted = {
            one.name: float(rates.out_of(flow, one.name, system=False).sum())
            for one in topology.sources
        }
        total = sum(emitted.values())
        operators: list[FluidOperator] = []
        processed = dict(emitted)
        for operator in topology.topological_order():
            if operator.kind is OperatorKind.ACKER:
                continue
            span = logical.spans[operator.name]
            here = slice(span.start, span.stop)
            came: dict[str, float] = {}
            for stream in topology.streams_into(operator.name):
                if not stream.is_system:
                    arrived = float(rates.arrived[stream.subscription].sum())
                    came[stream.source] = came.get(stream.source, 0.0) + arrived
            is_source = operator.kind is OperatorKind.SOURCE
            tuples = emitted[operator.name] if is_source else sum(came.values())
            processed[operator.name] = tuples
            cpu, wait = (
                float(
                    (works.tuples.per_second * getattr(works.tuples, part))[here].sum()
                    + (works.triggers.per_second * getattr(works.triggers, part))[here].sum()
                )
                / max(tuples, 1e-12)
                for part in ("cpu", "wait")
            )
            keyed = any(
                isinstance(one.grouping, Fields) for one in topology.streams_into(operator.name)
            )
            by_executor = rates.into(flow, operator.name, system=False)
            is_uneven = keyed and by_executor.sum() > 0.0
            operators.append(
                FluidOperator(
                    name=operator.name,
                    executors=len(span),
                    tasks=operator.tasks,
                    is_source=is_source,
                    inputs={
                        parent: rate / processed[parent]
                        for parent, rate in came.items()
                        if processed[parent] > 0.0
                    },
                    cpu_seconds=cpu,
                    wait_seconds=wait,
                    skew=float(by_executor.max() / by_executor.mean()) if is_uneven else 1.0,
                )
            )
        shares = {one: rate / total if total > 0.0 else 0.0 for one, rate in emitted.items()}
        return cls(name=name, slo=slo, operators=tuple(operators), source_shares=shares)

    def gains(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Tuples that every operator processes for one of the job's input."""
        place = {one.name: index for index, one in enumerate(self.operators)}
        gains = np.zeros(len(self.operators))
        for index, one in enumerate(self.operators):
            gains[index] = (
                self.source_shares[one.name]
                if one.is_source
                else sum(gains[place[parent]] * times for parent, times in one.inputs.items())
            )
        return gains

    def visits(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """How likely a way from source to sink leads through every operator.

        At a fork a way takes each branch as often as tuples do.
        """
        place = {one.name: index for index, one in enumerate(self.operators)}
        leaving = np.zeros(len(self.operators))
        for one in self.operators:
            for parent, times in one.inputs.items():
                leaving[place[parent]] += times
        visits = np.zeros(len(self.operators))
        for index, one in enumerate(self.operators):
            visits[index] = (
                self.source_shares[one.name]
                if one.is_source
                else sum(
                    visits[place[parent]] * times / leaving[place[parent]]
                    for parent, times in one.inputs.items()
                    if leaving[place[parent]] > 0.0
                )
            )
        return visits
