"""Caladrius: throughput curves put together into a job's, as a baseline (Kalim et al. 2019).

Saturation points are those that were measured, at any parallelism, and p instances do p times as
much; where an operator was never saturated, one over its service time stands in, and a note says
so. Tuples are dealt as Caladrius has it: shuffle evenly, keys by the shares of tasks. CPU grows in
proportion to output (ψ). Nothing is known of latency, of the plan's placement, or of shared cores.

Repaired, see `throughput_curve`: inputs share one budget, the saturation rate is a minimum over the
graph, and fields grouping under another rate scales what was offered.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.chained import split_chains
from streamgauge.models.end_to_end_latency import Latency
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.load_limit import Limit, fires_on_thread
from streamgauge.models.observations import relative_costs
from streamgauge.models.plan_check import check_case
from streamgauge.models.plan_family import PlanFamily
from streamgauge.models.prediction import (
    ExecutorPrediction,
    MachinePrediction,
    OperatorPrediction,
    Prediction,
    Verdict,
    WorkerPrediction,
)
from streamgauge.models.routing import route
from streamgauge.models.service import Works, find_work
from streamgauge.models.throughput_curve import (
    ComponentCurve,
    ComponentFlow,
    CurveGraph,
    InstanceCurve,
)
from streamgauge.models.traffic_equations import Traffic, data_keys, propagate, source_rates
from streamgauge.models.worker_cpu import machine_of_worker, sum_at
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import OperatorKind, StreamKey, Topology
from streamgauge.topology.tuple_flow import as_slice
from streamgauge.topology.workload import Workload

Vector = NDArray[np.float64]

UNKNOWN = Latency(mean=math.nan, variance=math.nan, quantiles={}, parts={})


class CaladriusModel:
    """The published throughput model, repaired, to see what placement and contention change."""

    name = "caladrius"

    def describe(self) -> str:
        """One sentence on what it looks at."""
        return (
            "throughput curves of operators as they were measured, p executors doing p times as"
            " much; no latency"
        )

    @split_chains
    def predict(
        self, behaviour: JobBehaviour, plan: PhysicalPlan, workload: Workload
    ) -> Prediction:
        """How the job would behave on `plan` under `workload`."""
        check_case(behaviour, plan, workload)
        case = _Case.of(behaviour, plan, workload)
        offered = case.graph.flow(case.sources, unlimited=True)
        flow = case.graph.flow(case.sources)
        headrooms = case.graph.headrooms(case.sources)
        cores = np.concatenate([case.cores_of(name, flow) for name in case.spans])
        executors = tuple(case.executors(offered))
        overloaded = {
            one.name: one.utilisation
            for one in sorted(executors, key=lambda one: -one.utilisation)
            if one.utilisation >= 1.0
        }
        return Prediction(
            model=self.name,
            verdict=Verdict.OVERLOADED if overloaded else Verdict.FITS,
            overloaded=overloaded,
            limit=_limit(headrooms, executors, math.fsum(case.sources.values())),
            latency=UNKNOWN,
            by_source=dict.fromkeys((one.name for one in case.topology.sources), UNKNOWN),
            operators={name: _pooled(name, executors) for name in case.spans},
            executors=executors,
            workers=tuple(_workers(plan, cores)),
            machines=tuple(_machines(plan, cores)),
            notes=(*behaviour.notes, *case.notes(headrooms, flow)),
            provenance=behaviour.provenance,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Case:
    """A plan under a load: rates by even shuffle, work, and the curves of its operators."""

    behaviour: JobBehaviour
    traffic: Traffic
    works: Works
    routing_notes: tuple[str, ...]
    sources: Mapping[StreamKey, float]
    prefers_near_tasks: bool

    @classmethod
    def of(cls, behaviour: JobBehaviour, plan: PhysicalPlan, workload: Workload) -> _Case:
        family = PlanFamily.of(behaviour, plan.logical)
        # Whatever the engine does, tuples of a shuffle go to all executors alike.
        even = replace(family.mechanics, load_aware=False)
        routing = route(family.connect(plan), behaviour, even, family.keyed)
        emitted = source_rates(plan.logical, workload)
        rates = propagate(routing.flow, emitted, family.conversions)
        traffic = Traffic(
            flow=routing.flow, rates=rates, conversions=family.conversions, mechanics=even
        )
        # Messages of the engine are none of the job's throughput.
        silent = {
            block.stream.subscription: np.zeros(len(block.targets))
            for block in routing.flow.blocks
            if block.stream.is_system
        }
        counted = replace(rates, arrived={**silent, **rates.arrived})
        return cls(
            behaviour=behaviour,
            traffic=replace(traffic, rates=counted),
            works=find_work(replace(traffic, rates=counted), behaviour),
            routing_notes=routing.notes,
            sources={key: float(each.sum()) for key, each in emitted.items()},
            prefers_near_tasks=family.mechanics.load_aware,
        )

    @property
    def topology(self) -> Topology:
        return self.traffic.flow.plan.logical.topology

    @property
    def spans(self) -> Mapping[str, range]:
        return self.traffic.flow.plan.logical.spans

    @cached_property
    def processors(self) -> tuple[str, ...]:
        """In topological order."""
        order = self.topology.topological_order()
        return tuple(one.name for one in order if one.kind is OperatorKind.PROCESSOR)

    @cached_property
    def graph(self) -> CurveGraph:
        """The curves of all processors."""
        return CurveGraph(
            curves={name: self._curve(name) for name in self.processors},
            inputs={name: tuple(self._arrived(name)) for name in self.processors},
        )

    def _arrived(self, name: str) -> dict[StreamKey, Vector]:
        """What comes to each executor of an operator by stream, if nothing saturates."""
        arrived = self.traffic.rates.arrived
        streams = self.topology.streams_into(name)
        return {one.key: arrived[one.subscription] for one in streams if not one.is_system}

    def _curve(self, name: str) -> ComponentCurve:
        arrived, emitted = self._arrived(name), self.traffic.rates.emitted
        shares = {}
        for key, each in arrived.items():
            total = float(emitted[key].sum())
            parts = each / total if total > 0.0 else np.full(len(each), 1.0 / len(each))
            shares[key] = tuple(parts.tolist())
        instance = InstanceCurve(
            saturation_per_second=self._saturation(name),
            amplification={
                key.name: self._amplification(name, key)
                for key in data_keys(self.traffic.flow, name)
            },
            costs=self._costs(name),
        )
        return ComponentCurve(instance=instance, shares=shares)

    def _measured(self, name: str) -> float | None:
        """Saturation point of one executor by the linear rule; None where it is not known."""
        curves = self.behaviour.curves
        fit = None if curves is None else curves.by_operator.get(name)
        rules = None if fit is None else fit.capacities(len(self.spans[name]))
        return None if rules is None else rules.linear.value / len(self.spans[name])

    def _saturation(self, name: str) -> float:
        measured = self._measured(name)
        if measured is not None:
            return measured
        seconds = self._service_seconds(name)
        return 1.0 / seconds if seconds > 0.0 else math.inf

    def _service_seconds(self, name: str) -> float:
        """Of a tuple of any stream, with its part of the windows that its thread fires."""
        here = as_slice(self.spans[name])
        tuples, triggers = self.works.tuples, self.works.triggers
        rate = tuples.per_second[here]
        fired = np.where(fires_on_thread(self.traffic.flow), triggers.per_second, 0.0)[here]
        busy = (
            rate @ (tuples.cpu + tuples.wait)[here] + fired @ (triggers.cpu + triggers.wait)[here]
        )
        return float(busy / rate.sum()) if rate.any() else 0.0

    def _costs(self, name: str) -> dict[StreamKey, float]:
        """Relative to a tuple of the mix that the saturation point counts."""
        curves = self.behaviour.curves
        if curves is not None and self._measured(name) is not None:
            return relative_costs(curves.profile, name)
        arrived = {key: float(each.sum()) for key, each in self._arrived(name).items()}
        times = {key: self.behaviour.operators[name].service_of(key).mean_ms for key in arrived}
        total = math.fsum(arrived.values())
        mean = math.fsum(arrived[key] * times[key] for key in arrived) / total if total else 0.0
        return {key: time / mean for key, time in times.items()} if mean > 0.0 else {}

    def _amplification(self, name: str, output: StreamKey) -> dict[StreamKey, float]:
        """Tuples out for each tuple in; of windows, whatever the inputs, at this load."""
        conversion, arrived = self.traffic.conversions[name], self._arrived(name)
        total = math.fsum(float(each.sum()) for each in arrived.values())
        if self.topology.operator(name).window is not None:
            out = float(self.traffic.rates.emitted[output].sum())
            return dict.fromkeys(arrived, out / total if total > 0.0 else 0.0)
        found = {}
        for key, each in arrived.items():
            ratios = np.broadcast_to(conversion.per_input.get((key, output.name), 0.0), each.shape)
            weights = each if each.any() else np.ones_like(each)
            found[key] = float(weights @ ratios / weights.sum())
        return found

    def cores_of(self, name: str, flow: Mapping[str, ComponentFlow]) -> Vector:
        """By executor: ψ times what it emits; what its tuples take on a core where ψ is unknown."""
        here, count = as_slice(self.spans[name]), len(self.spans[name])
        tuples, triggers = self.works.tuples, self.works.triggers
        if name in flow:
            got = math.fsum(flow[name].processed.values())
            came = sum(self._arrived(name).values(), start=np.zeros(count))
            output = math.fsum(flow[name].emitted.values()) or got
        else:
            came = self.traffic.rates.out_of(self.traffic.flow, name, system=False)
            output = got = float(came.sum())
        parts = came / came.sum() if came.any() else np.full(count, 1.0 / count)
        curves = self.behaviour.curves
        fit = None if curves is None else curves.by_operator.get(name)
        if fit is not None and fit.output_cpu is not None:
            return np.asarray(parts * fit.output_cpu.cores(output, count))
        part = got / came.sum() if came.any() else 1.0
        used = tuples.per_second * tuples.cpu + triggers.per_second * triggers.cpu
        return np.asarray(part * used[here])

    def executors(self, offered: Mapping[str, ComponentFlow]) -> Iterator[ExecutorPrediction]:
        """In the plan's order, with what is offered to them."""
        plan = self.traffic.flow.plan
        busy = {
            name: self.graph.curves[name].utilisation(one.arriving) for name, one in offered.items()
        }
        for name, span in self.spans.items():
            came = sum(self._arrived(name).values(), start=np.zeros(len(span)))
            out = self.traffic.rates.out_of(self.traffic.flow, name, system=False)
            for index, place in enumerate(span):
                yield ExecutorPrediction(
                    name=plan.logical.executors[place].label,
                    operator=name,
                    worker=str(plan.workers[plan.placement[place]]),
                    arrived_per_second=float(came[index]) if name in busy else 0.0,
                    emitted_per_second=float(out[index]),
                    tuples_out_per_second=float(out[index]),
                    utilisation=busy[name][index] if name in busy else 0.0,
                    stretch=1.0,
                    service_seconds=1.0 / self.graph.curves[name].instance.saturation_per_second
                    if name in busy
                    else math.nan,
                    delay_seconds=math.nan,
                    queue_length=math.nan,
                )

    def notes(
        self, headrooms: Mapping[str, float], flow: Mapping[str, ComponentFlow]
    ) -> Iterator[str]:
        """What was assumed, and what would flow."""
        yield (
            "the model caladrius leaves out shared cores, placement, ackers and what sources"
            " themselves can do, and knows no latency"
        )
        yield from self.routing_notes
        if self.prefers_near_tasks:
            yield (
                "the model caladrius deals shuffled tuples evenly; this engine prefers near tasks"
                " unless load-awareness is off"
            )
        guessed = [name for name in self.processors if self._measured(name) is None]
        if guessed:
            yield (
                f"never saturated, so that one over the service time stands in for the saturation"
                f" point: {', '.join(guessed)}"
            )
        factor = next(iter(headrooms.values()), math.inf)
        if factor < 1.0:
            held = self.graph.held_back(self.sources)
            together, alone = (self._delivered(one) for one in (held, flow))
            yield (
                f"held back by back-pressure, sinks would process {together:,.4g} tuples/s; without"
                f" it, each operator by its own curve, {alone:,.4g}"
            )

    def _delivered(self, flow: Mapping[str, ComponentFlow]) -> float:
        """What operators without outputs process."""
        sinks = [name for name in flow if not data_keys(self.traffic.flow, name)]
        return math.fsum(math.fsum(flow[name].processed.values()) for name in sinks)


def _limit(
    headrooms: Mapping[str, float], executors: tuple[ExecutorPrediction, ...], emitted: float
) -> Limit:
    name, factor = next(iter(headrooms.items()), ("", math.inf))
    if math.isinf(factor):
        return Limit(factor=math.inf, per_second=math.inf, by="nothing")
    mine = [one for one in executors if one.operator == name]
    busiest = max(mine, key=lambda one: one.utilisation)
    return Limit(factor=factor, per_second=factor * emitted, by=busiest.name)


def _pooled(name: str, executors: tuple[ExecutorPrediction, ...]) -> OperatorPrediction:
    """An operator of its executors."""
    mine = [one for one in executors if one.operator == name]
    arrived = math.fsum(one.arrived_per_second for one in mine)
    return OperatorPrediction(
        executors=len(mine),
        idle=sum(one.arrived_per_second <= 0.0 for one in mine) if arrived > 0.0 else 0,
        arrived_per_second=arrived,
        emitted_per_second=math.fsum(one.emitted_per_second for one in mine),
        tuples_out_per_second=math.fsum(one.tuples_out_per_second for one in mine),
        utilisation=math.fsum(one.utilisation for one in mine) / len(mine),
        busiest=max(one.utilisation for one in mine),
        service_seconds=mine[0].service_seconds,
        delay_seconds=math.nan,
        parts={},
    )


def _workers(plan: PhysicalPlan, cores: Vector) -> Iterator[WorkerPrediction]:
    """CPU by ψ, which has in it whatever executors' threads do."""
    used = sum_at(plan.placement, cores, len(plan.workers))
    for index, worker in enumerate(plan.workers):
        yield WorkerPrediction(
            name=str(worker),
            executors=plan.placement.count(index),
            cores=float(used[index]),
            work=float(used[index]),
            engine=0.0,
            engine_error=0.0,
            polling=0.0,
            sent_per_second=math.nan,
        )


def _machines(plan: PhysicalPlan, cores: Vector) -> Iterator[MachinePrediction]:
    place = machine_of_worker(plan)[np.asarray(plan.placement, dtype=np.intp)]
    used = sum_at(place, cores, len(plan.cluster.machines))
    for index, one in enumerate(plan.cluster.machines):
        yield MachinePrediction(
            name=one.name,
            cores=one.cores,
            background=one.background_cores,
            busy=float(used[index]),
            engine=0.0,
            polling=0.0,
            # Containers are taken to have all the cores that they need.
            overloaded=False,
        )
