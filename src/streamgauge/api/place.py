"""Place a job by one scheduler: which worker runs what."""

from __future__ import annotations

from streamgauge.api.loading import JobLike, load_job
from streamgauge.errors import in_file
from streamgauge.planning.scheduling.deploy import place_job
from streamgauge.profile.job import Job
from streamgauge.reports.placement import PlacementReport


def place(job: JobLike, scheduler: str | None = None, step: str | None = None) -> PlacementReport:
    """The plan of a job; its `plan` says where every executor runs.

    Args:
        job: A job's file, or a job.
        scheduler: A scheduler's name; by default the job's own plan where it has one, else the
            even scheduler.
        step: Configure the job as in this step of its file.

    Raises:
        Infeasible: The scheduler found no plan.
        InvalidInput: The file is wrong, or there is no such scheduler or step.
    """
    loaded = load_job(job, step)
    with in_file("" if isinstance(job, Job) else str(job)):
        return PlacementReport.of(loaded, place_job(loaded, scheduler))
