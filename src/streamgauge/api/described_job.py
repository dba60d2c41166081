"""A job under a load, with what was measured of it: what planners start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from streamgauge.api.loading import JobLike, ProfileLike, load_profile
from streamgauge.api.rates import Rates, choose_workload, list_rates
from streamgauge.errors import in_file
from streamgauge.profile.files.jobs import build_job, find_profile
from streamgauge.profile.job import Job
from streamgauge.profile.profile import Profile
from streamgauge.topology.files.document import Document, read_document


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedJob:
    """A job and what is known about it.

    Attributes:
        job: Configured as in a step, with the load to plan for.
        profile: What was measured of it; None where its own behaviours are used.
        file: Where it came from; empty for an object.
        options: Of a command that describes the same job again; none where an object was given.
    """

    job: Job
    profile: Profile | None
    file: str = ""
    options: tuple[str, ...] = ()


def describe_job(
    job: JobLike | Document,
    profile: ProfileLike | None = None,
    *,
    rate: Rates = None,
    step: str | None = None,
) -> DescribedJob:
    """Load a job with its profile, and put it under a load.

    A profile's file is a job too: the one that was measured, with its rates.

    Args:
        job: A file, a document that was read from one, or a job.
        profile: A file or a profile; by default the job's own file, where that is a profile.
        rate: Tuples per second of all sources together, or by source.
        step: Configure the job as in this step of its file.
    """
    if isinstance(job, Job):
        own, file = None, ""
    else:
        document = read_document(job) if isinstance(job, str | Path) else job
        file = document.name
        job, own = build_job(document), None if profile is not None else find_profile(document)
    with in_file(file):
        source = own if profile is None else load_profile(profile)
        job = job if step is None else job.at_step(step)
        job = replace(job, workload=choose_workload(job, source, rate))
    is_repeatable = bool(file) and not isinstance(profile, Profile)
    return DescribedJob(
        job=job,
        profile=source,
        file=file if is_repeatable else "",
        options=_list_options(profile, step, list_rates(rate)),
    )


def _list_options(
    profile: ProfileLike | None, step: str | None, rates: Sequence[str]
) -> tuple[str, ...]:
    options = [] if profile is None else ["--profile", str(profile)]
    options += [] if step is None else ["--step", step]
    for rate in rates:
        options += ["--rate", rate]
    return tuple(options)
