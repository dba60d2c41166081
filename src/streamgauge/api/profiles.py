"""Which profile a prediction rests on: a file, one that the lake keeps, or what a job declares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamgauge.api.loading import PlannedJob, ProfileLike, load_profile
from streamgauge.errors import InvalidInput, NotEnoughData, in_file
from streamgauge.extras import require_extra
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.profile.profile import Profile

if TYPE_CHECKING:
    from streamgauge.topology.physical_plan import PhysicalPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenProfile:
    """What predictions rest on, and where it came from.

    Attributes:
        behaviour: What the job's operators do: the one input of every model.
        profile: What was measured; None where a job declares its behaviour, and never ran.
        origin: Its file, or a sentence on why this one was chosen.
        warnings: Profiles that could not be considered.
    """

    behaviour: JobBehaviour
    profile: Profile | None
    origin: str
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
    profile: ProfileLike | None,
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
        loaded = load_profile(profile)
        name = loaded.topology.name if isinstance(profile, Profile) else str(profile)
        with in_file(name):
            behaviour = JobBehaviour.from_profile(loaded)
        return ChosenProfile(behaviour=behaviour, profile=loaded, origin=name)
    assert lake is not None
    return choose_from_lake(lake, None if planned is None else planned.plan, topology)


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
        warnings=tuple(f"{fault}; not considered" for fault in choice.faults),
    )
