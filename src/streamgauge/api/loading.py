"""Jobs, profiles and plans from files, or as the objects that they are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from streamgauge.errors import in_file
from streamgauge.profile.files import jobs as files
from streamgauge.profile.job import Job
from streamgauge.profile.profile import Profile
from streamgauge.topology.files.document import STANDARD_INPUT, read_document
from streamgauge.topology.physical_plan import PhysicalPlan

JobLike = str | Path | Job
ProfileLike = str | Path | Profile
PlanLike = str | Path | Job | PhysicalPlan


def load_job(job: JobLike, step: str | None = None) -> Job:
    """The job that a file describes, following its references.

    Args:
        job: A file in YAML or JSON, or a job that is given back as it is.
        step: Configure it as in this step of the file.

    Raises:
        UnreadableFile: The file is missing or is no document.
        InvalidInput: The file is wrong; every problem is listed with its line.
    """
    loaded = job if isinstance(job, Job) else files.load_job(job)
    if step is None:
        return loaded
    with in_file("" if isinstance(job, Job) else str(job)):
        return loaded.at_step(step)


def load_profile(profile: ProfileLike) -> Profile:
    """The profile in a file.

    Args:
        profile: A file in JSON or YAML, or a profile that is given back as it is.

    Raises:
        UnreadableFile: The file is missing or is no document.
        InvalidInput: The file is wrong or holds no profile; every problem is listed.
    """
    return profile if isinstance(profile, Profile) else files.load_profile(profile)


def describes_job(source: ProfileLike | Job) -> bool:
    """Whether a file declares how a job behaves and holds no profile."""
    if isinstance(source, Job):
        return True
    if isinstance(source, Profile) or str(source) == STANDARD_INPUT:
        return False
    sections = read_document(source).data
    return "behaviours" in sections and "profile" not in sections


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedJob:
    """A plan, and the job that it is of where it came with one.

    Attributes:
        name: What the plan is called: its file and step.
        file: The file it came from, for messages.
        plan: Where every executor runs.
        job: What the file describes.
        warnings: What was assumed in placing it.
    """

    name: str
    file: str
    plan: PhysicalPlan
    job: Job | None
    warnings: tuple[str, ...] = ()


def load_plan(plan: PlanLike, step: str | None = None) -> PlannedJob:
    """A plan as it is, or that of a job; the even scheduler places a job without a placement."""
    from streamgauge.planning.scheduling.deploy import place_job

    if isinstance(plan, PhysicalPlan):
        return PlannedJob(name=plan.logical.topology.name, file="", plan=plan, job=None)
    job = load_job(plan, step)
    file = "" if isinstance(plan, Job) else str(plan)
    with in_file(file):
        schedule = place_job(job)
    name = Path(file).name if file else job.topology.name
    return PlannedJob(
        name=name if step is None else f"{name}, {step}",
        file=file,
        plan=schedule.plan,
        job=job,
        warnings=schedule.warnings,
    )
