"""What scalers make of a graph: who gets how many units, and what would flow then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from streamgauge.api.rates import choose_workload as job_load
from streamgauge.cli.output import in_file
from streamgauge.errors import Infeasible, InvalidInput, NotEnoughData
from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.declared import declared_profile
from streamgauge.models.prediction import Prediction
from streamgauge.planning.scaling.combined import SAME
from streamgauge.planning.scaling.congestion import congested
from streamgauge.planning.scaling.contract import Scaler, Scaling, load_scaler, scaler_names
from streamgauge.planning.scaling.files.scale_out_file import is_scale_out, scale_out_of
from streamgauge.planning.scaling.from_profile import graph_of_job, graph_of_profile
from streamgauge.planning.scaling.graph import ScalingGraph, TableLaw, check_budget
from streamgauge.planning.scaling.rates import GraphRates, propagate
from streamgauge.planning.scaling.sweep import Bottleneck, SweepRow, next_bottleneck, sweep_row
from streamgauge.planning.scaling.translation import Translation, scaled_job
from streamgauge.planning.scheduling.deploy import place_job
from streamgauge.profile.files.jobs import job_of, load_profile, profile_in
from streamgauge.profile.job import Job
from streamgauge.profile.profile import Profile
from streamgauge.topology.files.document import read_document
from streamgauge.topology.topology import OperatorKind

ALL = "all"
DEFAULT = "combined"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """What is to be scaled.

    Attributes:
        graph: Components with the units they have.
        job: Whose operators they are; None where a file only has components.
        units: To be handed out.
        notes: What was assumed, or contradicts other figures.
        profile: What was measured of the job, or it declares.
    """

    graph: ScalingGraph
    job: Job | None
    units: int
    notes: tuple[str, ...]
    profile: Profile | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """What one scaler proposes.

    Attributes:
        scaling: Who gets how many.
        rates: What would flow.
        bottleneck: What would be full next; None where there are sources only.
        job: As it would be; None for components without one.
        translation: What the engine is told for that.
    """

    scaling: Scaling
    rates: GraphRates
    bottleneck: Bottleneck | None
    job: Job | None = None
    translation: Translation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Growths:
    """What all scalers propose.

    Attributes:
        scaled: What was scaled.
        before: What flows now.
        found: By scaler, the best first.
        refused: Why others propose nothing that can be done.
        sweep: The same with one unit, two …, where that was asked for.
        prediction: How the job would behave with the best, placed evenly on its own cluster;
            None where there is none, or it cannot be predicted.
    """

    scaled: Scaled
    before: GraphRates
    found: Mapping[str, Growth]
    refused: Mapping[str, str]
    sweep: tuple[SweepRow, ...]
    prediction: Prediction | None

    @property
    def chosen(self) -> Growth:
        """The best."""
        return next(iter(self.found.values()))

    def curve(self, scaler: str) -> list[float]:
        """Throughput with no unit more, one, two …."""
        rows = [row.throughput for row in self.sweep if row.scaler == scaler]
        return [self.before.throughput, *rows]


def ask(
    file: str,
    *,
    step: str | None,
    profile: str | None,
    rates: Sequence[str],
    units: int | None,
) -> Scaled:
    """What a command's options name: a job with its description or profile, or components."""
    if units is not None:
        check_budget(units)
    document = read_document(file)
    if is_scale_out(document):
        if profile is not None or step is not None or rates:
            raise InvalidInput.single(
                (),
                file=file,
                seen="--profile, --step or --rate beside a file of components",
                expected="a job file, or the components alone",
            )
        found = scale_out_of(document)
        wanted = units if units is not None else found.free_units
        return Scaled(
            graph=found.graph,
            job=None,
            units=_budget(wanted),
            notes=tuple(str(one) for one in found.warnings),
        )
    job = job_of(document)
    with in_file(file):
        job = job if step is None else job.at_step(step)
        source = profile_in(document) if profile is None else load_profile(profile)
        job = replace(job, workload=job_load(job, source, rates))
        return scaled_of(job, source, _budget(units))


def scaled_of(job: Job, profile: Profile | None, units: int) -> Scaled:
    """A job to be scaled, by what was measured of it or by what it declares."""
    derived = graph_of_job(job) if profile is None else graph_of_profile(profile, job.workload)
    return Scaled(
        graph=_of_job(derived.graph, job),
        job=job,
        units=units,
        notes=derived.notes,
        profile=declared_profile(job) if profile is None else profile,
    )


def _budget(units: int | None) -> int:
    if units is None:
        raise InvalidInput.single(
            ("--units",), seen="nothing", expected="how many units there are to hand out"
        )
    check_budget(units)
    return units


def _of_job(graph: ScalingGraph, job: Job) -> ScalingGraph:
    """The graph with a job's executors and tasks, where others were measured.

    What sources emit is the workload: more of their executors find no more of it.
    """
    topology, configuration = job.topology, job.configuration
    components = []
    for one in graph.components:
        law = one.law
        if one.source:
            emitted = law.rate(one.units)
            law = TableLaw(rates=(emitted, emitted))
        components.append(
            replace(
                one,
                units=configuration.executors_of(one.name),
                law=law,
                most_units=None if one.source else topology.operator(one.name).tasks,
            )
        )
    return replace(graph, components=tuple(components))


def scale_all(scaled: Scaled, planner: str, *, with_sweep: bool) -> Growths:
    """What one scaler or all of them propose.

    Raises:
        Infeasible: Nothing that can be done.
        InvalidInput: There is no such scaler.
    """
    names = scaler_names() if planner == ALL else (planner,)
    scalers = {name: load_scaler(name) for name in names}
    found: dict[str, Growth] = {}
    refused: dict[str, str] = {}
    for name, scaler in scalers.items():
        try:
            found[name] = _growth(scaled, scaler)
        except Infeasible as error:
            if planner != ALL:
                raise
            refused[name] = str(error)
    if not found:
        raise Infeasible("\n".join(f"{name}: {reason}" for name, reason in refused.items()))
    swept = [scalers[name] for name in found] if with_sweep else []
    ordered = dict(sorted(found.items(), key=_preference))
    return Growths(
        scaled=scaled,
        before=propagate(scaled.graph),
        found=ordered,
        refused=refused,
        sweep=tuple(_swept(scaled, swept)),
        prediction=_predicted(scaled, next(iter(ordered.values()))),
    )


def _swept(scaled: Scaled, scalers: Sequence[Scaler]) -> Iterator[SweepRow]:
    """What one unit, two … would bring; no more than before where tasks do not allow for it."""
    graph, most = scaled.graph, _most(scaled)
    now = propagate(graph).throughput
    last = {one.name: Scaling(scaler=one.name, throughput=now, expected=now) for one in scalers}
    for units in range(1, scaled.units + 1):
        for scaler in scalers:
            if units <= most:
                scaling = _useful(scaled, scaler, units)
                if _is_feasible(scaled, scaling):
                    last[scaler.name] = scaling
            yield sweep_row(graph, last[scaler.name], units)


def _is_feasible(scaled: Scaled, scaling: Scaling) -> bool:
    try:
        _applied(scaled, scaling, None)
    except Infeasible:
        return False
    return True


def _predicted(scaled: Scaled, growth: Growth) -> Prediction | None:
    """Whether the job's own machines carry what a graph of units of a core each promises."""
    job, profile = growth.job, scaled.profile
    if job is None or job.cluster is None or job.workload is None or profile is None:
        return None
    try:
        return AnalyticModel().predict(profile, place_job(job).plan, job.workload)
    except (InvalidInput, Infeasible, NotEnoughData):
        return None


def _preference(item: tuple[str, Growth]) -> tuple[float, bool, int]:
    """The highest throughput, to six digits; then the default; then who needs the fewest units."""
    name, growth = item
    return -float(f"{growth.scaling.expected:.6g}"), name != DEFAULT, growth.scaling.units


def _growth(scaled: Scaled, scaler: Scaler) -> Growth:
    """What a scaler proposes; with fewer units where tasks do not allow for all of them."""
    refused: Infeasible | None = None
    for units in range(_most(scaled), 0, -1):
        scaling = _useful(scaled, scaler, units)
        refused = refused or _out_of_tasks(scaled, scaling)
        if refused is not None and not scaling.units:
            raise refused
        try:
            return _applied(scaled, scaling, refused)
        except Infeasible as error:
            refused = refused or error
    assert refused is not None
    raise refused


def _out_of_tasks(scaled: Scaled, scaling: Scaling) -> Infeasible | None:
    """Who stays congested as it has an executor for every task, where units are left."""
    if scaling.units >= scaled.units:
        return None
    rates = propagate(scaled.graph, scaling.allocation)
    stuck = [
        f"{name} has as many executors as tasks, {rates[name].units}"
        for name in congested(scaled.graph, scaling.allocation)
        if rates[name].units == scaled.graph.by_name[name].most_units
    ]
    if not stuck:
        return None
    return Infeasible(
        "; ".join(stuck) + "; tasks are fixed when a topology is submitted: submit it with more"
    )


def _most(scaled: Scaled) -> int:
    """Units that are worth asking for: one more than find a task, which tells who has none."""
    if scaled.job is None:
        return scaled.units
    configuration = scaled.job.configuration
    spare = sum(
        one.tasks - configuration.executors_of(one.name)
        for one in scaled.job.topology.operators
        if one.kind is OperatorKind.PROCESSOR
    )
    return min(scaled.units, spare + 1)


def _useful(scaled: Scaled, scaler: Scaler, units: int) -> Scaling:
    """What a scaler proposes, without units for a job's sources, which have no more to emit."""
    scaling = scaler.scale(scaled.graph, units)
    if scaled.job is None:
        return scaling
    sources = scaled.graph.sources
    kept = {name: more for name, more in scaling.allocation.items() if name not in sources}
    useful = replace(scaling, allocation=kept)
    if useful.units in (0, units):
        return replace(useful, reasons=useful.reasons if useful.units else ())
    # Asked for no more than is of use, it does not speak of sources either.
    fewer = scaler.scale(scaled.graph, useful.units)
    same = fewer.expected >= useful.expected * (1.0 - SAME)
    return fewer if same and not set(fewer.allocation) & set(sources) else useful


def _applied(scaled: Scaled, scaling: Scaling, refused: Infeasible | None) -> Growth:
    if refused is not None:
        why = f"{scaled.units} units cannot all be used: {refused}"
        scaling = replace(scaling, reasons=(*scaling.reasons, why))
    rates = propagate(scaled.graph, scaling.allocation)
    growth = Growth(scaling=scaling, rates=rates, bottleneck=next_bottleneck(scaled.graph, rates))
    if scaled.job is None:
        return growth
    job, translation = scaled_job(scaled.job, scaling.allocation)
    return replace(growth, job=job, translation=translation)
