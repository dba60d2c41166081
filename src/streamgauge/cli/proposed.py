"""What is to be predicted: the profile, the plan and the load that a command's options name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from streamgauge.cli.output import in_file, warn
from streamgauge.cli.rates import with_rates
from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.models.declared import declared_profile
from streamgauge.models.source_plan import measured_plan, measured_workload
from streamgauge.planning.scheduling.deploy import place_job
from streamgauge.profile.files.jobs import load_job, load_profile
from streamgauge.profile.job import Job
from streamgauge.profile.profile import Profile
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import Topology
from streamgauge.topology.workload import Emission, Workload

OWN_PLAN = "the profile's own plan"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """A plan under a load.

    Attributes:
        name: What the plan is called: its file and step.
        plan: Where every executor runs.
        workload: What sources emit.
        load: Where the workload comes from.
    """

    name: str
    plan: PhysicalPlan
    workload: Workload
    load: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A plan from a file, and the load that the file has for it."""

    name: str
    job: Job
    plan: PhysicalPlan

    @property
    def workload(self) -> Workload | None:
        """What the file says that sources emit."""
        return self.job.workload


def find_profile(
    profile: str | None, lake: str | None, topology: str | None, placed: Placed | None
) -> tuple[Profile, str]:
    """The profile that is named, the lake's most alike, or what a plan's file declares."""
    if profile is None and lake is None and placed is not None and placed.job.behaviours:
        with in_file(placed.name):
            return declared_profile(placed.job), f"as {placed.name} declares"
    if (profile is None) == (lake is None):
        raise InvalidInput.single(
            ("--profile",),
            seen="--profile and --lake" if profile else "neither --profile nor --lake",
            expected="a profile in a file, a lake that keeps some, or a plan with behaviours",
        )
    if profile is not None:
        return load_profile(profile), profile
    from streamgauge.cli.stored_profile import profile_from_lake

    assert lake is not None
    return profile_from_lake(lake, None if placed is None else placed.plan, topology)


def place_file(file: str, step: str | None) -> Placed:
    """The plan of a job file; the even scheduler places what has no placement."""
    job = load_job(file)
    with in_file(file):
        job = job if step is None else job.at_step(step)
        schedule = place_job(job)
    warn(schedule.warnings)
    name = Path(file).name if step is None else f"{Path(file).name}, {step}"
    return Placed(name=name, job=job, plan=schedule.plan)


def own_plan(profile: Profile, rates: Sequence[str] = ()) -> Proposed:
    """The plan that a profile was measured on."""
    return Proposed(
        name=OWN_PLAN,
        plan=measured_plan(profile),
        workload=measured_load(profile, rates),
        load="the given rate" if rates else "as measured",
    )


def proposed(placed: Placed, profile: Profile, rates: Sequence[str] = ()) -> Proposed:
    """A file's plan under the file's load, or what was measured; at other rates where given."""
    load = "as measured"
    if placed.workload is None:
        workload = measured_load(profile, rates)
    else:
        workload, load = with_rates(placed.workload, rates), "as the plan's file says"
    return Proposed(
        name=placed.name,
        plan=placed.plan,
        workload=workload,
        load="the given rate" if rates else load,
    )


def job_load(job: Job, profile: Profile | None, rates: Sequence[str]) -> Workload | None:
    """A job's own load, else what was measured, at other rates where given; None: nobody says."""
    if job.workload is not None:
        return with_rates(job.workload, rates)
    if profile is not None:
        return measured_load(profile, rates)
    return with_rates(_alike(job.topology), rates) if rates else None


def measured_load(profile: Profile, rates: Sequence[str]) -> Workload:
    """What was measured, at other rates where given: then all sources alike if nobody measured."""
    try:
        workload = measured_workload(profile)
    except NotEnoughData:
        if not rates:
            raise
        workload = _alike(profile.topology)
    return with_rates(workload, rates)


def _alike(topology: Topology) -> Workload:
    """All streams of sources at one rate."""
    streams = {
        stream.key for source in topology.sources for stream in topology.streams_from(source.name)
    }
    return Workload(
        emissions=tuple(
            Emission(source=key.source, stream=key.name, per_second=1.0) for key in sorted(streams)
        )
    )
