"""What to scale: which operators get more executors, what that brings, and what is full next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, TypeVar

from streamgauge.api.histories import HistoryPlace
from streamgauge.api.intervals import find_plan_intervals
from streamgauge.api.loading import DescribedJob, JobLike, ProfileLike, describe_job, load_profile
from streamgauge.api.rates import Rates, list_rates
from streamgauge.errors import InvalidInput, in_file, suggest_name
from streamgauge.planning.scaling.contract import ScalingOptions, Selection, TieRule
from streamgauge.planning.scaling.files.scale_out_file import is_scale_out, scale_out_of
from streamgauge.planning.scaling.from_profile import WHOLE_CORE
from streamgauge.planning.scaling.graph import ScalingGraph
from streamgauge.planning.scaling.measured import compare_with_run, measured_rates
from streamgauge.planning.scaling.ranking import DEFAULT_PLANNER, ScalingProblem
from streamgauge.planning.scaling.ranking import rank_scalings as rank
from streamgauge.planning.scaling.translation import Unit
from streamgauge.profile.job import Job
from streamgauge.reports.scaling import ScalingRanking
from streamgauge.topology.files.document import read_document

Choice = TypeVar("Choice", bound=StrEnum)


def rank_scalings(
    job: JobLike | ScalingGraph,
    units: int | None = None,
    profile: ProfileLike | None = None,
    rate: Rates = None,
    step: str | None = None,
    planner: str = DEFAULT_PLANNER,
    *,
    sweep: bool = False,
    unit: str = Unit.EXECUTOR,
    unit_cores: float = WHOLE_CORE,
    ties: str = TieRule.FIRST,
    packages: str = Selection.GREEDY,
    recheck: bool = False,
    tolerate_drops: float = 0.0,
    sink_weights: Mapping[str, float] | None = None,
    against: ProfileLike | None = None,
    load: str | None = None,
    series: str | Path | None = None,
    lake: str | None = None,
) -> ScalingRanking:
    """Hand out units to the components that gain most, by one planner or by all.

    Args:
        job: A job's file, a job, a file of components with their rates, or a graph of components.
        units: How many executors there are to hand out; by default what a file of components says.
        profile: What was measured of the job, as a file or a profile; by default what it declares.
        rate: Tuples per second of all sources together, or by source.
        step: Configure the job as in this step of its file.
        planner: A planner's name, or ``all``.
        sweep: Whether to say what 1, 2 … units would bring as well.
        unit: ``executor``, or ``isolated-worker``: a worker for every executor.
        unit_cores: Cores that a unit of a job may keep busy; less than one where a control group
            limits it.
        ties: Who gets a unit where several components reach as much: ``first`` or ``last``
            declared, or ``most-dropped``.
        packages: How packages are chosen: ``greedy`` by gain per unit, or ``knapsack``.
        recheck: Whether chosen packages are checked together.
        tolerate_drops: Tuples per second that a component may drop before it is congested.
        sink_weights: What a tuple counts, by sink; 1 where a sink is not named.
        against: A profile measured in a run, whose rates are compared with the estimate.
        load: Instead of a rate: ``mean``, ``peak``, ``p95`` … of what sources emitted, or
            ``forecast+1h@p95``.
        series: With `load`: a CSV file of source rates.
        lake: With `load`: a lake that measured them; the profile's own history without either.

    Raises:
        Infeasible: Nothing that can be done.
        InvalidInput: A file is wrong, or an argument is.
    """
    kind = _choose(Unit, unit, "--unit")
    asked = _AskedLoad(rate=rate, load=load, place=HistoryPlace.choose(series, lake, None))
    problem, described = _read_problem(job, units, profile, asked, step, kind, unit_cores)
    options = ScalingOptions(
        ties=_choose(TieRule, ties, "--ties"),
        selection=_choose(Selection, packages, "--packages"),
        recheck=recheck,
        drop_threshold=tolerate_drops,
        sink_weights=sink_weights or {},
    )
    ranking = rank(problem, planner, options=options, with_sweep=sweep)
    accuracy, measured = None, {}
    if against is not None:
        run = load_profile(against)
        accuracy = compare_with_run(problem.graph, run)
        measured = measured_rates(run)
    intervals = None
    if described is not None:
        intervals = find_plan_intervals(described, ranking.plan, ranking.prediction)
    return ScalingRanking(
        ranking=ranking, accuracy=accuracy, measured=measured, intervals=intervals
    )


class _AskedLoad(NamedTuple):
    """Under which load: rates, or a load of a history."""

    rate: Rates
    load: str | None
    place: HistoryPlace

    @property
    def is_given(self) -> bool:
        """Whether anything says so."""
        return bool(list_rates(self.rate)) or self.load is not None


def _read_problem(
    job: JobLike | ScalingGraph,
    units: int | None,
    profile: ProfileLike | None,
    asked: _AskedLoad,
    step: str | None,
    unit: Unit,
    unit_cores: float,
) -> tuple[ScalingProblem, DescribedJob | None]:
    is_job_described = profile is not None or step is not None or asked.is_given
    if isinstance(job, ScalingGraph):
        _refuse_job_options(is_job_described, job.name)
        return ScalingProblem(graph=job, units=_check_units(units)), None
    document = None if isinstance(job, Job) else read_document(job)
    if document is not None and is_scale_out(document):
        _refuse_job_options(is_job_described, document.name)
        components = scale_out_of(document)
        problem = ScalingProblem(
            graph=components.graph,
            units=_check_units(components.free_units if units is None else units),
            notes=tuple(str(warning) for warning in components.warnings),
        )
        return problem, None
    described = describe_job(
        job if document is None else document, profile, step=step, **asked._asdict()
    )
    with in_file(described.file):
        problem = ScalingProblem.of_job(
            described.job,
            described.profile,
            _check_units(units),
            unit=unit,
            unit_cores=unit_cores,
        )
    return replace(problem, notes=(*described.notes, *problem.notes)), described


def _refuse_job_options(is_job_described: bool, file: str) -> None:
    if is_job_described:
        raise InvalidInput.single(
            (),
            file=file,
            seen="--profile, --step, --rate or --load together with a file of components",
            expected="a job file, or the components alone",
        )


def _check_units(units: int | None) -> int:
    if units is None:
        raise InvalidInput.single(
            ("--units",), seen="nothing", expected="how many units there are to hand out"
        )
    return units


def _choose(choices: type[Choice], name: str, option: str) -> Choice:
    known = [choice.value for choice in choices]
    if name not in known:
        raise InvalidInput.single(
            (option,),
            seen=repr(name),
            expected=f"one of {', '.join(known)}",
            remedy=suggest_name(name, known),
        )
    return choices(name)
