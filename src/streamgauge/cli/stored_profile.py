"""The profile to predict from where none is named: one that the lake keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamgauge.cli.output import warn
from streamgauge.extras import require_extra

if TYPE_CHECKING:
    from streamgauge.profile.profile import Profile
    from streamgauge.topology.physical_plan import PhysicalPlan


def profile_from_lake(
    uri: str, plan: PhysicalPlan | None = None, topology: str | None = None
) -> tuple[Profile, str]:
    """The stored profile with the plan most like the proposed one, and a sentence that says which.

    Warns of profiles that cannot be read. Spark is not needed.

    Args:
        uri: The lake.
        plan: The proposed plan; without one the newest profile is taken.
        topology: Name of the topology in the lake; as in the plan where none is given.

    Raises:
        NotEnoughData: There is no profile, or none of the topology.
        InvalidInput: There is no lake, of several topologies it is not said which, or no profile
            can be read.
        MissingExtra: The packages that read lakes are not installed.
    """
    with require_extra("lake"):
        from streamgauge.lake.profile_choice import choose_profile
        from streamgauge.lake.tables import Lake
    choice = choose_profile(Lake(uri), plan, topology)
    warn(f"{fault}; not considered" for fault in choice.faults)
    return choice.best.profile, choice.describe()
