"""The profile to predict from where none is named: one that the lake keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamgauge.cli.output import warn
from streamgauge.errors import InvalidInput

if TYPE_CHECKING:
    from streamgauge.lake.profile_choice import ProfileChoice
    from streamgauge.profile.profile import Profile
    from streamgauge.topology.physical_plan import PhysicalPlan


def profile_from_lake(
    uri: str, plan: PhysicalPlan | None = None, topology: str | None = None
) -> tuple[Profile, str]:
    """The stored profile with the plan most like the proposed one, and a sentence that says which.

    Profiles that cannot be read are warned of. Spark is not needed.

    Args:
        uri: The lake.
        plan: The proposed plan; without one the newest profile is taken.
        topology: Name of the topology in the lake; as in the plan where none is given.

    Raises:
        NotEnoughData: There is no profile, or none of the topology.
        InvalidInput: There is no lake, of several topologies it is not said which, no profile can
            be read, or what reads lakes is not installed.
    """
    try:
        from streamgauge.lake.profile_choice import choose_profile
        from streamgauge.lake.tables import Lake
    except ModuleNotFoundError as error:
        raise InvalidInput.single(
            (),
            seen=f"{error.name} is not installed",
            expected="the extra that reads lakes",
            remedy="pip install 'streamgauge[lake]'",
        ) from None
    choice = choose_profile(Lake(uri), plan, topology)
    warn(f"{fault}; not considered" for fault in choice.faults)
    return choice.best.profile, _reason(choice)


def _reason(choice: ProfileChoice) -> str:
    """Which profile it is, of when, and how far its plan is from the proposed one."""
    profile, stored, far = choice.best.profile, choice.best.stored, choice.best.distance
    when = "period not known"
    if profile.period is not None:
        when = f"{profile.period.start} to {profile.period.end}"
    if choice.compared == 1:
        why = "the only one kept"
    else:
        quality = "newest" if far is None else "most like the proposed plan"
        why = f"of {choice.compared} kept the {quality}"
    text = f"profile of {stored.name}, {when}, {why}"
    if far is not None and not profile.placement:
        text += "; the plan it was measured on is not known"
    elif far is not None:
        text += f"; its plan differs: {far}" if any(far) else "; its plan is laid out alike"
    return f"{text} ({stored.uri})"
