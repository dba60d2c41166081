"""Graphs to scale from what was measured of a job, or from what is declared of it.

A unit is an executor of the operator with so many cores to itself, one unless said otherwise. Its
thread is busy for the whole of a tuple's time, waiting included, so it processes no more than one
tuple in that time; and no more than its cores allow. Ratios and shares follow from rates: those of
the sources pushed through the job by the same formulas that predict a plan (`models.parameters`).
So windows, joins, broadcasts and several streams are all in the ratios; they hold for the mix of
inputs at that load.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import Findings, NotEnoughData
from streamgauge.models.chained import chain_job
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.load_limit import fires_on_thread
from streamgauge.models.measured_plan import measured_workload
from streamgauge.models.parameters import Parameters, find_parameters
from streamgauge.models.simulated_job import fill_in_rates
from streamgauge.models.simulated_overload import holds_back
from streamgauge.models.traffic_equations import data_keys
from streamgauge.planning.scaling.graph import Component, Edge, LinearLaw, ScalingGraph
from streamgauge.planning.scaling.rates import find_congested
from streamgauge.profile.figures import Figure, TimeFigures
from streamgauge.profile.job import Job
from streamgauge.profile.profile import Profile
from streamgauge.topology.cluster import Cluster
from streamgauge.topology.field_checks import check_number
from streamgauge.topology.logical_plan import Executor, LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import OperatorKind
from streamgauge.topology.tuple_flow import as_slice
from streamgauge.topology.workload import Workload
from streamgauge.transport.engine import load_engine

# Where the busiest executor has so much more to do than the mean of its operator, keys are uneven.
UNEVEN = 1.05
WHOLE_CORE = 1.0
MS_PER_SECOND = 1e3


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedGraph:
    """A graph, and what its reader should know of how it came about.

    Attributes:
        graph: A component for every operator, with its executors as units.
        estimated: Operators whose service times are estimated from the CPU of their executors.
        notes: What was assumed, and where a graph says less than the behaviour.
    """

    graph: ScalingGraph
    behaviour: JobBehaviour
    estimated: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def graph_of_profile(
    profile: Profile, workload: Workload | None = None, *, unit_cores: float = WHOLE_CORE
) -> DerivedGraph:
    """The graph of a measured job.

    The workload is what sources emit with the executors they have, as measured if not given. A unit
    may keep less than one core busy where a control group limits it.

    Raises:
        CyclicTopology: The job has a cycle.
        NotEnoughData: What a unit can process, or a source emits, is not known; names operators.
    """
    profile.topology.topological_order()
    completed, estimated = with_estimated_times(profile)
    given = measured_workload(profile) if workload is None else workload
    derived = graph_of(JobBehaviour.from_profile(completed), given, unit_cores=unit_cores)
    notes = list(derived.notes)
    if estimated:
        notes.append(
            f"what a unit of {', '.join(estimated)} can process is estimated from the CPU of its"
            " executors, polling included: it may be more"
        )
    if profile.backpressure_minutes:
        notes.append(
            "senders were held back while this was measured: sources may have more to emit"
        )
    return replace(derived, estimated=estimated, notes=tuple(notes))


def graph_of(
    behaviour: JobBehaviour, workload: Workload, *, unit_cores: float = WHOLE_CORE
) -> DerivedGraph:
    """The graph of a job of known behaviour under a workload.

    Raises:
        CyclicTopology: The job has a cycle.
        NotEnoughData: A processor takes no time, or a source emits nothing.
    """
    findings = Findings()
    check_number(findings, unit_cores, "unit_cores", above=0.0)
    findings.raise_if_any()
    plan, own = _in_one_place(behaviour), behaviour
    chained = chain_job(behaviour, plan)
    if chained is not None:
        # A unit of a chain does the work of all its operators.
        behaviour, plan = chained.behaviour, chained.plan
    parameters = find_parameters(behaviour, plan, fill_in_rates(plan, workload, behaviour))
    reading = _Reading(parameters=parameters, unit_cores=unit_cores)
    graph = ScalingGraph(
        name=behaviour.topology.name,
        components=tuple(reading.components()),
        edges=tuple(reading.edges()),
    )
    # How tuples would be dealt on this plan is of no concern: nobody proposes it.
    notes = [*behaviour.notes, *parameters.works.notes, *reading.notes()]
    crowded = find_congested(graph)
    if crowded and holds_back(parameters):
        # Puttaswamy 2018, section 5.1, switches back-pressure off: others flow on past the drops.
        notes.append(
            f"{', '.join(crowded)} would hold senders back on {behaviour.configuration.engine},"
            " while the planner's model drops excess tuples: as long as anything is congested, the"
            " job delivers less than the model says"
        )
    return DerivedGraph(graph=graph, behaviour=own, notes=tuple(notes))


def graph_of_job(job: Job, *, unit_cores: float = WHOLE_CORE) -> DerivedGraph:
    """The graph of a described job: its behaviours under its workload.

    Raises:
        CyclicTopology: The job has a cycle.
        InvalidInput: A processor has no behaviour.
        NotEnoughData: There is no workload, or a processor takes no time.
    """
    job.topology.topological_order()
    if job.workload is None:
        names = ", ".join(source.name for source in job.topology.sources)
        raise NotEnoughData(
            f"what {names} emits is not known: add a workload to the job, or give a profile"
        )
    return graph_of(JobBehaviour.from_job(job), job.workload, unit_cores=unit_cores)


def _in_one_place(behaviour: JobBehaviour) -> PhysicalPlan:
    """The job's executors side by side: where they run is not what scaling looks at."""
    configuration = replace(behaviour.configuration, workers=1, ackers=0)
    order = load_engine(configuration.engine).task_order
    logical = LogicalPlan.of(behaviour.topology, configuration, task_order=order)
    cluster = Cluster.uniform(nodes=1)
    return PhysicalPlan.from_slots(logical, cluster, cluster.slots, [0] * len(logical.executors))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """Components and edges, read from a plan's rates and work."""

    parameters: Parameters
    unit_cores: float

    def components(self) -> Iterator[Component]:
        """One for every operator, as declared."""
        logical = self.parameters.flow.plan.logical
        rates: dict[str, float] = {}
        for operator in logical.topology.operators:
            source = operator.kind is OperatorKind.SOURCE
            rates[operator.name] = (
                self._emitted(operator.name) / len(logical.spans[operator.name])
                if source
                else self._unit_capacity(operator.name)
            )
        self._check(rates)
        for operator in logical.topology.operators:
            yield Component(
                name=operator.name,
                units=len(logical.spans[operator.name]),
                law=LinearLaw(per_unit=rates[operator.name]),
                source=operator.kind is OperatorKind.SOURCE,
                out_per_in=self._out_per_in(operator.name),
            )

    def edges(self) -> Iterator[Edge]:
        """One for every pair, all streams between them taken together."""
        arrived: dict[tuple[str, str], float] = {}
        for block in self.parameters.flow.data_blocks:
            pair = (block.stream.source, block.stream.target)
            came = float(self.parameters.rates.arrived[block.stream.subscription].sum())
            arrived[pair] = arrived.get(pair, 0.0) + came
        for (source, target), came in arrived.items():
            emitted = self._emitted(source)
            yield Edge(source=source, target=target, share=came / emitted if emitted else 0.0)

    def notes(self) -> Iterator[str]:
        """Where a graph is simpler than the job."""
        logical = self.parameters.flow.plan.logical
        timed = [
            operator.name
            for operator in logical.topology.operators
            if operator.window is not None and operator.window.slide_seconds is not None
        ]
        if timed:
            names = ", ".join(timed)
            yield f"emits by wall-clock time, so its ratio holds only at this load: {names}"
        idle = [
            operator.name
            for operator in logical.topology.operators
            if operator.kind is OperatorKind.PROCESSOR and not self._arrived(operator.name)
        ]
        if idle:
            yield f"no tuples reach {', '.join(idle)}; more units do not change that"
        for operator in logical.topology.operators:
            uneven = self._unevenness(operator.name)
            if operator.kind is OperatorKind.PROCESSOR and uneven > UNEVEN:
                yield (
                    f"{operator.name}: the busiest executor has {uneven:.2f} times the mean load;"
                    " units are counted as if keys were spread evenly"
                )

    def _check(self, rates: dict[str, float]) -> None:
        """Raise where a unit does nothing, or anything whatever."""
        topology = self.parameters.flow.plan.logical.topology
        silent = [source.name for source in topology.sources if not rates[source.name] > 0.0]
        timeless = [name for name, rate in rates.items() if not np.isfinite(rate)]
        problems = []
        if silent:
            problems.append(f"{', '.join(silent)} emits nothing: the gain of a unit is unknown")
        if timeless:
            problems.append(
                f"what a unit of {', '.join(timeless)} can process is not known, as its tuples"
                " take no time"
            )
        if problems:
            raise NotEnoughData(
                "; ".join(problems) + ": measure under load, or write the figures by hand"
            )

    def _emitted(self, operator: str) -> float:
        """Tuples out a second on all streams, each once."""
        flow, rates = self.parameters.flow, self.parameters.rates
        return float(sum(rates.emitted[key].sum() for key in data_keys(flow, operator)))

    def _arrived(self, operator: str) -> float:
        """Tuples in a second, of all streams."""
        return float(self.parameters.rates.into(self.parameters.flow, operator).sum())

    def _out_per_in(self, operator: str) -> float:
        """Of a leaf one: what it processes is what the job delivers."""
        topology = self.parameters.flow.plan.logical.topology
        if topology.operator(operator).kind is OperatorKind.SOURCE:
            return 1.0
        if not topology.streams_from(operator):
            return 1.0
        arrived = self._arrived(operator)
        return self._emitted(operator) / arrived if arrived > 0.0 else 0.0

    def _unit_capacity(self, operator: str) -> float:
        """Of an executor that gets the operator's mix of tuples, and its part of the triggers."""
        works = self.parameters.works
        here = as_slice(self.parameters.flow.plan.logical.spans[operator])
        rate = works.tuples.per_second[here]
        if not rate.any():
            return self._idle_capacity(operator)
        fired, on_thread = works.triggers.per_second[here], self._on_thread()[here]
        inside = np.where(on_thread, fired, 0.0)
        cpu = rate @ works.tuples.cpu[here] + inside @ works.triggers.cpu[here]
        wait = rate @ works.tuples.wait[here] + inside @ works.triggers.wait[here]
        beside = (fired - inside) @ works.triggers.cpu[here]
        return unit_capacity(
            cpu_seconds=float(cpu / rate.sum()),
            wait_seconds=float(wait / rate.sum()),
            beside_seconds=float(beside / rate.sum()),
            unit_cores=self.unit_cores,
        )

    def _idle_capacity(self, operator: str) -> float:
        """Of an executor to which nothing comes: as if all its streams came alike."""
        streams = self.parameters.flow.plan.logical.topology.streams_into(operator)
        behaviour = self.parameters.behaviour.operators[operator]
        services = [behaviour.service_of(stream.key) for stream in streams]
        cpu_ms = sum(float(service.cpu.mean_ms) for service in services) / len(services)
        wait_ms = sum(float(service.wait.mean_ms) for service in services) / len(services)
        return unit_capacity(
            cpu_seconds=cpu_ms / MS_PER_SECOND,
            wait_seconds=wait_ms / MS_PER_SECOND,
            unit_cores=self.unit_cores,
        )

    def _unevenness(self, operator: str) -> float:
        """What the busiest executor has to do, over the mean."""
        works = self.parameters.works
        here = as_slice(self.parameters.flow.plan.logical.spans[operator])
        inside = np.where(self._on_thread(), works.triggers.per_second, 0.0)[here]
        busy = works.tuples.per_second[here] * (works.tuples.cpu + works.tuples.wait)[here]
        busy = busy + inside * (works.triggers.cpu + works.triggers.wait)[here]
        return float(busy.max() / busy.mean()) if busy.any() else 1.0

    def _on_thread(self) -> NDArray[np.bool_]:
        """Whether windows fire on the executor's own thread."""
        return fires_on_thread(self.parameters.flow)


def unit_capacity(
    *,
    cpu_seconds: float,
    wait_seconds: float = 0.0,
    beside_seconds: float = 0.0,
    unit_cores: float = WHOLE_CORE,
) -> float:
    """Tuples per second of one unit; infinite where a tuple takes no time.

    Args:
        cpu_seconds: Of a tuple on a core.
        wait_seconds: Of a tuple off the cores.
        beside_seconds: On a core for each tuple, but on another thread: windows by time.
        unit_cores: Cores that the unit may keep busy.
    """
    wall_seconds, on_cores = cpu_seconds + wait_seconds, cpu_seconds + beside_seconds
    return min(
        1.0 / wall_seconds if wall_seconds > 0.0 else math.inf,
        unit_cores / on_cores if on_cores > 0.0 else math.inf,
    )


def estimated_unit_maximum(
    processed_per_second: float, *, used_cores: float, limit_cores: float = WHOLE_CORE
) -> float:
    """What a unit below saturation would process with all of its CPU in use.

    Puttaswamy 2018, chapter 7: CPU in use is correlated with tuples processed. Whatever else its
    thread does, such as polling, counts as work, so that this is an estimate from below.
    """
    findings = Findings()
    check_number(findings, processed_per_second, "processed_per_second")
    check_number(findings, used_cores, "used_cores", above=0.0)
    check_number(findings, limit_cores, "limit_cores", above=0.0)
    findings.raise_if_any()
    return processed_per_second / (used_cores / limit_cores)


def with_estimated_times(profile: Profile) -> tuple[Profile, tuple[str, ...]]:
    """The profile, where operators lack service times with those that their CPU suggests.

    Returns:
        The profile, and the operators whose times are estimates.

    Raises:
        NotEnoughData: Of an operator neither service time nor CPU and rate were measured.
    """
    missing = [
        operator.name
        for operator in profile.topology.operators
        if operator.kind is OperatorKind.PROCESSOR and not _is_timed(profile, operator.name)
    ]
    seconds_each = {name: _core_seconds(profile, name) for name in missing}
    unknown = [name for name, seconds in seconds_each.items() if seconds is None]
    if unknown:
        raise NotEnoughData(
            f"what a unit of {', '.join(unknown)} can process is not known: neither service times"
            " nor the CPU of executors and what they processed were measured; profile a longer"
            " period, or write the figures by hand"
        )
    if not missing:
        return profile, ()
    tasks = dict(profile.tasks)
    for address, task in tasks.items():
        seconds = seconds_each.get(address.operator)
        if seconds is not None:
            cpu = TimeFigures(mean_ms=Figure(value=seconds * MS_PER_SECOND))
            inputs = {key: replace(figures, cpu=cpu) for key, figures in task.inputs.items()}
            tasks[address] = replace(task, inputs=inputs)
    return replace(profile, tasks=tasks), tuple(missing)


def _is_timed(profile: Profile, operator: str) -> bool:
    """Whether a service time was measured of a stream into it."""
    received = {stream.key for stream in profile.topology.streams_into(operator)}
    return any(
        figures.wall is not None or figures.cpu is not None
        for task in profile.tasks_of(operator).values()
        for key, figures in task.inputs.items()
        if key in received
    )


def _core_seconds(profile: Profile, operator: str) -> float | None:
    """Time on a core for each tuple, by all that its executors' threads used; None: not known."""
    rates = [
        figures.per_second.value
        for task in profile.tasks_of(operator).values()
        for figures in task.inputs.values()
        if figures.per_second is not None
    ]
    cores = [
        figures.cores.value
        for label, figures in profile.executors.items()
        if figures.cores is not None and Executor.parse(label).operator == operator
    ]
    # What is known of some executors is taken to hold for all.
    used = math.fsum(cores) / max(len(cores), 1) * profile.configuration.executors_of(operator)
    processed = math.fsum(rates)
    if used <= 0.0 or processed <= 0.0:
        return None
    return 1.0 / estimated_unit_maximum(processed, used_cores=used)
