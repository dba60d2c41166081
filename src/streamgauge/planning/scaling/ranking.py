"""Scalings side by side: which components get units, what flows then, best first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from streamgauge.errors import Infeasible, InvalidInput, NotEnoughData
from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.prediction import Prediction
from streamgauge.planning.scaling.combined import SAME
from streamgauge.planning.scaling.contract import (
    DEFAULT_OPTIONS,
    Scaler,
    Scaling,
    ScalingOptions,
    load_scaler,
    scaler_names,
)
from streamgauge.planning.scaling.from_profile import WHOLE_CORE, graph_of_job, graph_of_profile
from streamgauge.planning.scaling.graph import ScalingGraph, TableLaw, check_budget
from streamgauge.planning.scaling.rates import GraphRates, find_congested, propagate
from streamgauge.planning.scaling.sweep import Bottleneck, SweepRow, next_bottleneck, sweep
from streamgauge.planning.scaling.translation import Translation, Unit, scaled_job
from streamgauge.planning.scheduling.contract import PlacementRequest, Schedule
from streamgauge.planning.scheduling.isolation import IsolationScheduler
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.job import Job
from streamgauge.profile.profile import Profile
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.transport.chaining import find_chaining

ALL_PLANNERS = "all"
DEFAULT_PLANNER = "combined"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingProblem:
    """What is to be scaled.

    Attributes:
        graph: Components with the units they have.
        job: Whose operators they are; None where a file only has components.
        notes: What was assumed, or contradicts other figures.
        behaviour: Of the job; None where the latency of its tuples is not known.
    """

    graph: ScalingGraph
    job: Job | None = None
    units: int
    unit: Unit = Unit.EXECUTOR
    notes: tuple[str, ...] = ()
    behaviour: JobBehaviour | None = None

    def __post_init__(self) -> None:
        check_budget(self.units)

    @classmethod
    def of_job(
        cls,
        job: Job,
        profile: Profile | None,
        units: int,
        *,
        unit: Unit = Unit.EXECUTOR,
        unit_cores: float = WHOLE_CORE,
    ) -> ScalingProblem:
        """A job to be scaled, by what was measured of it or by what it declares."""
        derived = (
            graph_of_job(job, unit_cores=unit_cores)
            if profile is None
            else graph_of_profile(profile, job.workload, unit_cores=unit_cores)
        )
        return cls(
            graph=_with_executors_of(job, derived.graph),
            job=job,
            units=units,
            unit=unit,
            notes=derived.notes,
            # What executors can process follows from their CPU, and not how long tuples take.
            behaviour=None if derived.estimated else derived.behaviour,
        )

    @property
    def most_units(self) -> int:
        """Units worth asking for: one more than there are spare tasks, which shows who has none."""
        if self.job is None:
            return self.units
        spare = sum(
            component.most_units - component.units
            for component in self.graph.components
            if component.most_units is not None
        )
        return min(self.units, spare + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What one scaler proposes.

    Attributes:
        bottleneck: The busiest component then; None where there are only sources.
        job: As it would be; None for components without one.
    """

    scaling: Scaling
    rates: GraphRates
    bottleneck: Bottleneck | None
    job: Job | None = None
    translation: Translation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedScalings:
    """What all scalers propose.

    Attributes:
        before: What flows now.
        proposals: By scaler, the best first.
        sweep: The same with one unit, two …, where that was asked for.
        prediction: How the job would behave with the best proposal on its own cluster; None where
            it has none, or where that cannot be predicted.
        plan: Where its executors then run.
        unpredicted: Why it cannot.
    """

    problem: ScalingProblem
    options: ScalingOptions
    before: GraphRates
    proposals: Mapping[str, Proposal]
    refused: Mapping[str, str] = field(default_factory=dict)
    sweep: tuple[SweepRow, ...] = ()
    prediction: Prediction | None = None
    plan: PhysicalPlan | None = None
    unpredicted: str = ""

    @property
    def best(self) -> Proposal:
        """The first in the ranking."""
        return next(iter(self.proposals.values()))

    def curve(self, scaler: str) -> list[float]:
        """Throughput with no unit more, one, two …."""
        rows = [row.throughput for row in self.sweep if row.scaler == scaler]
        return [self.before.throughput, *rows]


def rank_scalings(
    problem: ScalingProblem,
    planner: str = DEFAULT_PLANNER,
    *,
    options: ScalingOptions = DEFAULT_OPTIONS,
    with_sweep: bool = False,
) -> RankedScalings:
    """What one scaler or all of them propose, the best first.

    The planner is a scaler's name, or ``all``; with a sweep, 1, 2 … units are asked for as well.

    Raises:
        Infeasible: Nothing that can be done.
        InvalidInput: There is no such scaler.
    """
    names = scaler_names() if planner == ALL_PLANNERS else (planner,)
    scalers = {name: options.apply(load_scaler(name)) for name in names}
    proposer = _Proposer(problem, options)
    proposals: dict[str, Proposal] = {}
    refused: dict[str, str] = {}
    for name, scaler in scalers.items():
        try:
            proposals[name] = proposer.propose(scaler)
        except Infeasible as error:
            if planner != ALL_PLANNERS:
                raise
            refused[name] = str(error)
    if not proposals:
        raise Infeasible("\n".join(f"{name}: {reason}" for name, reason in refused.items()))
    ordered = dict(sorted(proposals.items(), key=_preference))
    plan, prediction, unpredicted = _predict(problem, next(iter(ordered.values())))
    return RankedScalings(
        problem=problem,
        options=options,
        before=propagate(problem.graph, weights=options.sink_weights),
        proposals=ordered,
        refused=refused,
        sweep=sweep(
            problem.graph,
            [scalers[name] for name in proposals],
            problem.units,
            propose=proposer.propose_fewer,
            options=options,
        )
        if with_sweep
        else (),
        prediction=prediction,
        plan=plan,
        unpredicted=unpredicted,
    )


def _with_executors_of(job: Job, graph: ScalingGraph) -> ScalingGraph:
    """The graph with a job's executors and tasks, where others were measured.

    What sources emit is the workload: more executors of theirs emit no more. The operators of a
    chain, which is one component, have as many tasks and executors each.
    """
    chaining = find_chaining(job.topology, job.configuration)
    components = []
    for component in graph.components:
        law = component.law
        if component.source:
            emitted = law.rate(component.units)
            law = TableLaw(rates=(emitted, emitted))
        name = component.name if chaining is None else chaining.members_of(component.name)[0]
        tasks = job.topology.operator(name).tasks
        components.append(
            replace(
                component,
                units=job.configuration.executors_of(name),
                law=law,
                most_units=None if component.source else tasks,
            )
        )
    return replace(graph, components=tuple(components))


def _predict(
    problem: ScalingProblem, proposal: Proposal
) -> tuple[PhysicalPlan | None, Prediction | None, str]:
    """Whether the job's own machines carry what a graph of units with a core each promises."""
    job, behaviour = proposal.job, problem.behaviour
    if job is None or job.cluster is None or job.workload is None:
        return None, None, ""
    if behaviour is None:
        return None, None, "service times are estimated from the CPU of executors"
    try:
        plan = _place(job, proposal.translation).plan
        return plan, AnalyticModel().predict(behaviour, plan, job.workload), ""
    except (InvalidInput, Infeasible, NotEnoughData) as error:
        return None, None, str(error)


def _place(job: Job, translation: Translation | None) -> Schedule:
    """Evenly, or with a worker for every executor where units are isolated workers.

    Raises:
        Infeasible: There are too few slots for that.
    """
    if translation is None or not translation.workers or job.cluster is None:
        return place_job(job)
    isolation = IsolationScheduler.for_engine(job.configuration.engine)
    isolation = replace(isolation, units=translation.workers)
    return isolation.schedule(PlacementRequest(job.topology, job.configuration, job.cluster))


def _preference(item: tuple[str, Proposal]) -> tuple[float, bool, int]:
    """The highest throughput to six digits; then the default; then the fewest units."""
    name, proposal = item
    scaling = proposal.scaling
    return -float(f"{scaling.expected:.6g}"), name != DEFAULT_PLANNER, scaling.units


class _Proposer:
    """Asks scalers for what can be applied to a problem."""

    def __init__(self, problem: ScalingProblem, options: ScalingOptions) -> None:
        self._problem = problem
        self._options = options

    def propose(self, scaler: Scaler) -> Proposal:
        """A scaler's proposal; with fewer units where tasks do not allow for all of them."""
        refused: Infeasible | None = None
        for units in range(self._problem.most_units, 0, -1):
            scaling = self._scale(scaler, units)
            refused = refused or self._find_task_limit(scaling)
            if refused is not None and not scaling.units:
                raise refused
            try:
                return self._apply(scaling, refused)
            except Infeasible as error:
                refused = refused or error
        assert refused is not None
        raise refused

    def propose_fewer(self, scaler: Scaler, units: int) -> Scaling | None:
        """The same for a given number of units; None where tasks do not allow for it."""
        if units > self._problem.most_units:
            return None
        scaling = self._scale(scaler, units)
        try:
            self._apply(scaling, None)
        except Infeasible:
            return None
        return scaling

    def _scale(self, scaler: Scaler, units: int) -> Scaling:
        """What a scaler proposes, without units for a job's sources: they have no more to emit."""
        graph = self._problem.graph
        scaling = scaler.scale(graph, units)
        if self._problem.job is None:
            return scaling
        sources = graph.sources
        kept = {name: more for name, more in scaling.allocation.items() if name not in sources}
        useful = replace(scaling, allocation=kept)
        if useful.units in (0, units):
            return replace(useful, reasons=useful.reasons if useful.units else ())
        # Asked for no more than is of use, it does not speak of sources either.
        fewer = scaler.scale(graph, useful.units)
        same = fewer.expected >= useful.expected * (1.0 - SAME)
        return fewer if same and not set(fewer.allocation) & set(sources) else useful

    def _find_task_limit(self, scaling: Scaling) -> Infeasible | None:
        """Who stays congested with an executor for every task, where units are left."""
        graph = self._problem.graph
        if scaling.units >= self._problem.units:
            return None
        rates = propagate(graph, scaling.allocation)
        stuck = [
            f"{name} has as many executors as tasks, {rates[name].units}"
            for name in find_congested(graph, scaling.allocation, rule=self._options.rule)
            if rates[name].units == graph.by_name[name].most_units
        ]
        if not stuck:
            return None
        return Infeasible(
            "; ".join(stuck) + "; tasks are fixed when a topology is submitted: submit it with more"
        )

    def _apply(self, scaling: Scaling, refused: Infeasible | None) -> Proposal:
        problem = self._problem
        if refused is not None:
            why = f"{problem.units} units cannot all be used: {refused}"
            scaling = replace(scaling, reasons=(*scaling.reasons, why))
        weights, rule = self._options.sink_weights, self._options.rule
        rates = propagate(problem.graph, scaling.allocation, weights=weights)
        proposal = Proposal(
            scaling=scaling,
            rates=rates,
            bottleneck=next_bottleneck(problem.graph, rates, rule=rule),
        )
        if problem.job is None:
            return proposal
        job, translation = scaled_job(problem.job, scaling.allocation, unit=problem.unit)
        if translation.workers:
            _place(job, translation)
        return replace(proposal, job=job, translation=translation)
