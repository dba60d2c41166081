"""Jobs, profiles, plans and times as people give them: files and texts, or objects."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from streamgauge.api.rates import Rates, choose_workload, list_rates
from streamgauge.errors import InvalidInput, NotEnoughData, in_file
from streamgauge.extras import require_extra
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.profile.files import jobs as files
from streamgauge.profile.files.jobs import build_job, build_profile, find_profile
from streamgauge.profile.job import Job
from streamgauge.profile.profile import Profile
from streamgauge.topology.files.document import STANDARD_INPUT, Document, read_document
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import Topology

if TYPE_CHECKING:
    from streamgauge.api.histories import HistoryPlace

JobLike = str | Path | Job
ProfileLike = str | Path | Profile
PlanLike = str | Path | Job | PhysicalPlan
TimeLike = str | datetime

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


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


def describes_job(source: Job | Document) -> bool:
    """Whether a job is declared, and nothing that was measured of it is there."""
    if isinstance(source, Job):
        return True
    return "behaviours" in source.data and "profile" not in source.data


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedJob:
    """A plan, named by its file and step, and the job that it is of where it came with one."""

    name: str
    file: str
    plan: PhysicalPlan
    job: Job | None
    warnings: tuple[str, ...] = ()


def load_plan(plan: PlanLike, step: str | None = None) -> PlannedJob:
    """A plan as it is, or that of a job; the even scheduler places a job without a placement."""
    from streamgauge.planning.scheduling.job_placement import place_job

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenProfile:
    """What predictions rest on, and where it came from.

    Attributes:
        behaviour: What the job's operators do: the one input of every model.
        profile: What was measured; None where a job declares its behaviour, and never ran.
        origin: Its file, or a sentence on why this one was chosen.
        warnings: Profiles that could not be considered.
        folder: Where the profile lies, and its replicas beside it; None where that is not known.
    """

    behaviour: JobBehaviour
    profile: Profile | None
    origin: str
    folder: str | None = None
    warnings: tuple[str, ...] = ()

    def require_profile(self) -> Profile:
        """What was measured, for what only a profile can say.

        Raises:
            NotEnoughData: The behaviour is declared.
        """
        if self.profile is None:
            raise NotEnoughData(f"nothing was measured: {self.origin}; give a profile")
        return self.profile


def choose_profile(
    profile: ProfileLike | Document | None,
    lake: str | None,
    topology: str | None,
    planned: PlannedJob | None,
) -> ChosenProfile:
    """The profile that is named, the lake's most alike, or what the plan's job declares.

    Raises:
        InvalidInput: None of the three is given, or two of them.
        NotEnoughData: The lake has no profile of the topology.
    """
    neither = profile is None and lake is None
    if neither and planned is not None and planned.job is not None and planned.job.behaviours:
        with in_file(planned.file):
            declared = JobBehaviour.from_job(planned.job)
        return ChosenProfile(behaviour=declared, profile=None, origin=f"as {planned.name} declares")
    if neither or (profile is not None and lake is not None):
        raise InvalidInput.single(
            ("--profile",),
            seen="--profile and --lake" if profile else "neither --profile nor --lake",
            expected="a profile in a file, a lake that keeps some, or a plan with behaviours",
        )
    if profile is not None:
        if isinstance(profile, Document):
            loaded, name = build_profile(profile), profile.name
            folder = None if profile.folder is None else str(profile.folder)
        else:
            loaded = load_profile(profile)
            name = loaded.topology.name if isinstance(profile, Profile) else str(profile)
            is_file = isinstance(profile, str | Path) and str(profile) != STANDARD_INPUT
            folder = str(Path(name).parent) if is_file else None
        with in_file(name):
            behaviour = JobBehaviour.from_profile(loaded)
        return ChosenProfile(behaviour=behaviour, profile=loaded, origin=name, folder=folder)
    assert lake is not None
    return choose_from_lake(lake, None if planned is None else planned.plan, topology)


def topology_of(chosen: ChosenProfile, planned: PlannedJob | None) -> Topology:
    """Of the plan to predict, else of what was measured."""
    if planned is not None:
        return planned.plan.logical.topology
    return chosen.require_profile().topology


def choose_from_lake(
    uri: str, plan: PhysicalPlan | None = None, topology: str | None = None
) -> ChosenProfile:
    """The stored profile whose plan is most like the proposed one; Spark is not needed.

    Args:
        uri: The lake.
        plan: The proposed plan; without one the newest profile is taken.
        topology: Name of the topology in the lake; as in the plan where none is given.

    Raises:
        NotEnoughData: There is no profile, or none of the topology.
        InvalidInput: There is no lake, no profile can be read, or the lake has several topologies
            and none is named.
        MissingExtra: The packages that read lakes are not installed.
    """
    with require_extra("lake"):
        from streamgauge.lake.profiles import choose_profile as choose
        from streamgauge.lake.tables import Lake
    choice = choose(Lake(uri), plan, topology)
    return ChosenProfile(
        behaviour=JobBehaviour.from_profile(choice.best.profile),
        profile=choice.best.profile,
        origin=choice.describe(),
        folder=choice.best.stored.uri.rpartition("/")[0],
        warnings=tuple(f"{fault}; not considered" for fault in choice.faults),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedJob:
    """A job and what is known about it.

    Attributes:
        job: Configured as in a step, with the load to plan for.
        profile: What was measured of it; None where its own behaviours are used.
        file: Where it came from; empty for an object.
        options: Of a command that describes the same job again; none where an object was given.
        folder: Where the profile lies, and its replicas beside it; None where that is not known.
        notes: Where the load comes from, where it was found, and what to keep in mind of it.
    """

    job: Job
    profile: Profile | None
    file: str = ""
    options: tuple[str, ...] = ()
    folder: str | None = None
    notes: tuple[str, ...] = ()


def describe_job(
    job: JobLike | Document,
    profile: ProfileLike | None = None,
    *,
    rate: Rates = None,
    step: str | None = None,
    load: str | None = None,
    place: HistoryPlace | None = None,
) -> DescribedJob:
    """Load a job with its profile, and put it under a load.

    A profile's file is a job too: the one that was measured, with its rates.

    Args:
        job: A file, a document that was read from one, or a job.
        profile: A file or a profile; by default the job's own file, where that is a profile.
        rate: Tuples per second of all sources together, or by source.
        step: Configure the job as in this step of its file.
        load: Instead of a rate: of what sources emitted or will emit, as in `find_load`.
        place: With `load`: where the history of the sources is.
    """
    from streamgauge.api.histories import HistoryPlace
    from streamgauge.api.loads import resolve_load

    if isinstance(job, Job):
        own, file = None, ""
    else:
        document = read_document(job) if isinstance(job, str | Path) else job
        file = document.name
        job, own = build_job(document), None if profile is not None else find_profile(document)
    with in_file(file):
        source = own if profile is None else load_profile(profile)
        job = job if step is None else job.at_step(step)
        rates, found = resolve_load(load, rate, place or HistoryPlace(), job.topology, source)
        job = replace(job, workload=choose_workload(job, source, rates))
    is_repeatable = bool(file) and not isinstance(profile, Profile)
    return DescribedJob(
        job=job,
        profile=source,
        file=file if is_repeatable else "",
        folder=_find_folder(source, file if profile is None else profile),
        options=_list_options(profile, step, list_rates(rate), load, place),
        notes=() if found is None else (f"load: {found.origin}", *found.cautions),
    )


def _find_folder(source: Profile | None, given: ProfileLike | str) -> str | None:
    """Where the file of a profile lies, if it came from one."""
    if source is None or not isinstance(given, str | Path) or not Path(given).is_file():
        return None
    return str(Path(given).parent)


def _list_options(
    profile: ProfileLike | None,
    step: str | None,
    rates: Sequence[str],
    load: str | None,
    place: HistoryPlace | None,
) -> tuple[str, ...]:
    options = [] if profile is None else ["--profile", str(profile)]
    options += [] if step is None else ["--step", step]
    for rate in rates:
        options += ["--rate", rate]
    options += [] if load is None else ["--load", load]
    if place is not None:
        options += [] if place.series is None else ["--series", str(place.series)]
        options += [] if place.lake is None else ["--lake", place.lake]
    return tuple(options)


def read_time(value: TimeLike, place: str) -> datetime:
    """The time in UTC; `place` names the argument in messages.

    Raises:
        InvalidInput: It is none, or has no zone.
    """
    time: datetime | None = None
    with suppress(ValueError):
        time = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    if time is None or time.tzinfo is None:
        raise InvalidInput.single(
            (place,), seen=repr(value), expected="a time with its zone: 2026-01-31T12:00:00Z"
        )
    return time.astimezone(UTC)


def microseconds_of(time: datetime) -> int:
    """Whole microseconds since 1970."""
    return (time - _EPOCH) // timedelta(microseconds=1)
