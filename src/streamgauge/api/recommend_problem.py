"""What a recommendation is asked for: job, load, objective, and what a plan may not do."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from streamgauge.api.loading import (
    ChosenProfile,
    DescribedJob,
    JobLike,
    ProfileLike,
    choose_profile,
    describe_job,
)
from streamgauge.errors import Findings, Infeasible, in_file
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.measured_plan import measured_plan
from streamgauge.models.objectives import Objective, parse_objective
from streamgauge.planning.recommending.machines_to_buy import widen_cluster
from streamgauge.planning.recommending.problem import Limits, Minimise, Problem
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.job import Job
from streamgauge.topology.cluster import Cluster
from streamgauge.topology.field_checks import check_number

if TYPE_CHECKING:
    from streamgauge.api.rates import Rates
    from streamgauge.planning.packing.catalogue import Catalogue
    from streamgauge.topology.physical_plan import PhysicalPlan

# The odds that are aimed at when none are given.
SURE = 0.8


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A problem, and where it came from.

    Attributes:
        chosen: What predictions rest on.
        warnings: What was assumed.
    """

    problem: Problem
    described: DescribedJob
    chosen: ChosenProfile
    warnings: tuple[str, ...]


def ask_for_plan(
    job: JobLike,
    objective: str | Iterable[str] | Objective | None,
    profile: ProfileLike | None,
    *,
    rate: Rates,
    step: str | None,
    minimise: str,
    limits: Limits,
    sure: float,
    tasks: bool | None,
    catalogue: Catalogue | None = None,
) -> Asked:
    """The problem that the arguments of a recommendation state.

    A job without a cluster is planned on machines of the catalogue.

    Raises:
        StreamgaugeError: What was given cannot be read, contradicts itself, or says too little.
    """
    wanted = objective if isinstance(objective, Objective) else parse_objective(objective)
    _check(sure, minimise)
    described = describe_job(job, profile, rate=rate, step=step)
    with in_file(described.file):
        chosen = _choose_behaviour(described, job, profile)
        problem, warnings = _state(described, chosen, wanted, limits, Minimise(minimise), catalogue)
        problem = replace(problem, is_submitted=chosen.profile is not None or tasks is False)
    return Asked(
        problem=problem,
        described=described,
        chosen=chosen,
        warnings=(*described.notes, *warnings, *chosen.warnings),
    )


def make_limits(
    *,
    keep: Collection[str],
    at_most: Mapping[str, int] | None,
    max_change: int | None,
    max_workers: int | None,
    utilisation: float | None,
) -> Limits:
    """What a plan may not do, with what is usual where nothing is given."""
    return Limits(
        keep=frozenset(keep),
        at_most=at_most or {},
        max_change=max_change,
        max_workers=max_workers,
        **({} if utilisation is None else {"utilisation": utilisation}),
    )


def list_options(problem: Problem, sure: float, tasks: bool | None) -> Iterator[str]:
    """Options of the command that lead to the same plan, those left out that are as usual."""
    limits = problem.limits
    if problem.minimise is not Minimise.EXECUTORS:
        yield from ("--minimise", problem.minimise)
    for name in sorted(limits.keep):
        yield from ("--keep", name)
    for name, most in limits.at_most.items():
        yield from ("--at-most", f"{name}={most}")
    if limits.max_change is not None:
        yield from ("--max-change", str(limits.max_change))
    if limits.max_workers is not None:
        yield from ("--max-workers", str(limits.max_workers))
    if limits.utilisation != Limits().utilisation:
        yield from ("--utilisation", f"{limits.utilisation:g}")
    if sure != SURE:
        yield from ("--sure", f"{sure:g}")
    if tasks is not None:
        yield "--tasks" if tasks else "--no-tasks"


def _check(sure: float, minimise: str) -> None:
    findings = Findings()
    check_number(findings, sure, "--sure", least=0.5, most=0.999)
    known = [one.value for one in Minimise]
    if minimise not in known:
        expected = f"one of {', '.join(known)}"
        findings.add("--minimise", seen=repr(minimise), expected=expected)
    findings.raise_if_any()


def _choose_behaviour(
    described: DescribedJob, job: JobLike, profile: ProfileLike | None
) -> ChosenProfile:
    """What was measured, with the folder of its replicas, or what the job declares."""
    if described.profile is None:
        behaviour = JobBehaviour.from_job(described.job)
        return ChosenProfile(behaviour=behaviour, profile=None, origin="as the job declares")
    source = job if profile is None else profile
    assert not isinstance(source, Job)
    return choose_profile(source, None, None, None)


def _state(
    described: DescribedJob,
    chosen: ChosenProfile,
    objective: Objective,
    limits: Limits,
    minimise: Minimise,
    catalogue: Catalogue | None,
) -> tuple[Problem, list[str]]:
    """The problem, with the plan that there is, and what was assumed."""
    job, warnings = described.job, []
    current: PhysicalPlan | None = None
    is_profile = described.profile is not None and not job.behaviours and job.plan is None
    if is_profile and described.profile is not None:
        current = measured_plan(described.profile)
        if job.cluster is None:
            job = replace(job, cluster=current.cluster)
            warnings.append(
                "the profile describes no cluster: assuming that each node is a machine with one"
                " core for each of its workers"
            )
    elif job.cluster is not None:
        try:
            current = place_job(job).plan
        except Infeasible as error:
            warnings.append(f"the job as it is cannot be placed: {error}")
    is_nowhere = job.cluster is None and catalogue is not None
    if is_nowhere:
        job = replace(job, cluster=Cluster.uniform(nodes=1))
        warnings.append("the job has no cluster: planned on machines of the catalogue")
    problem = Problem(
        job=job,
        behaviour=chosen.behaviour,
        objective=objective,
        limits=limits,
        current=current,
        minimise=minimise,
    )
    if is_nowhere and catalogue is not None:
        problem = widen_cluster(problem, catalogue)
    return problem, warnings
