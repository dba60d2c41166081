"""Place a job by one scheduler: which worker runs what, and which paths tuples take then."""

from __future__ import annotations

from streamgauge.api.loading import DescribedJob, JobLike, ProfileLike, describe_job, load_job
from streamgauge.api.rates import Rates
from streamgauge.errors import NotEnoughData, in_file
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.latency_by_path import PathLatencies, predict_paths
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.job import Job
from streamgauge.reports.paths import PathsReport
from streamgauge.reports.placement import PlacementReport
from streamgauge.topology.physical_plan import PhysicalPlan


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


def find_paths(
    job: JobLike,
    scheduler: str | None = None,
    step: str | None = None,
    *,
    to_acker: bool = False,
    listed: int = 0,
    source: str | None = None,
    sink: str | None = None,
    latency: bool = False,
    profile: ProfileLike | None = None,
    rate: Rates = None,
) -> PathsReport:
    """How many paths there are by source and by operators, and single ones.

    Args:
        job: A job's file, or a job.
        scheduler: A scheduler's name; by default the job's own plan, else the even scheduler.
        step: Configure the job as in this step of its file.
        to_acker: Whether paths go on from sinks to ackers.
        listed: How many single paths to list.
        source: List only those from this source.
        sink: List only those to this sink.
        latency: Whether to predict how long tuples take along paths.
        profile: With `latency`: what was measured; by default what the job declares.
        rate: With `latency`: tuples per second of all sources together, or by source.

    Raises:
        CyclicTopology: There are infinitely many paths.
        NotEnoughData: No load is known, and latency was asked for.
    """
    described = describe_job(job, profile, rate=rate, step=step)
    schedule = place_job(described.job, scheduler)
    latencies = _predict(described, schedule.plan) if latency else None
    return PathsReport(
        placement=PlacementReport.of(described.job, schedule),
        to_acker=to_acker,
        listed=listed,
        source=source,
        sink=sink,
        latencies=latencies,
    )


def _predict(described: DescribedJob, plan: PhysicalPlan) -> PathLatencies:
    job, profile = described.job, described.profile
    if job.workload is None:
        raise NotEnoughData("no load is known: give --rate, or a workload in the job's file")
    behaviour = (
        JobBehaviour.from_job(job) if profile is None else JobBehaviour.from_profile(profile)
    )
    return predict_paths(behaviour, plan, job.workload)
