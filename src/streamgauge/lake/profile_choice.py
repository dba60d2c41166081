"""Which of the profiles that a lake keeps says most about a plan to be predicted."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from streamgauge.errors import InvalidInput, NotEnoughData, UnreadableFile, suggest_name
from streamgauge.lake.plan_similarity import Distance, PlanLayout, distance
from streamgauge.lake.profiles import StoredProfile, stored_profiles
from streamgauge.lake.tables import Lake
from streamgauge.profile.profile import Profile
from streamgauge.topology.physical_plan import PhysicalPlan

_MANY = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A profile that the lake keeps, as it was read.

    Attributes:
        stored: Where it is.
        profile: What it says.
        distance: How far its plan is from the one to be predicted, where there is one.
    """

    stored: StoredProfile
    profile: Profile
    distance: Distance | None

    @property
    def rank(self) -> tuple[Distance | None, float, float, str]:
        """Less is better: the most alike, then the newest, then the one that was kept last."""
        stored = self.stored
        return (
            self.distance,
            -_end_of(self.profile),
            -stored.stored_at.timestamp(),
            stored.uri,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileChoice:
    """The profile to predict from.

    Attributes:
        best: That profile.
        compared: How many could be read, this one included.
        faults: Of the others of that topology, what is wrong with each.
    """

    best: Candidate
    compared: int
    faults: tuple[str, ...] = ()

    def describe(self) -> str:
        """Which profile it is, of when, and how far its plan is from the one to be predicted."""
        profile, stored, far = self.best.profile, self.best.stored, self.best.distance
        when = "period not known"
        if profile.period is not None:
            when = f"{profile.period.start} to {profile.period.end}"
        if self.compared == 1:
            why = "the only one stored"
        else:
            quality = "newest" if far is None else "most like the proposed plan"
            why = f"of {self.compared} stored profiles the {quality}"
        text = f"profile of {stored.name}, {when}, {why}"
        if far is not None and not profile.placement:
            text += "; the plan it was measured on is not known"
        elif far is not None:
            text += f"; its plan differs: {far}" if any(far) else "; its plan has the same layout"
        return f"{text} ({stored.uri})"


def choose_profile(
    lake: Lake, plan: PhysicalPlan | None = None, topology: str | None = None
) -> ProfileChoice:
    """The stored profile of a topology whose plan is most like the one to be predicted.

    Of equally similar ones, and without a plan, the one of the newest period is taken; of equally
    new ones the one that was kept last. A profile that cannot be read stops no other.

    Args:
        lake: What keeps the profiles.
        plan: The plan to be predicted.
        topology: Name of the topology in the lake; as in the plan where none is given.

    Raises:
        NotEnoughData: There is no profile, or none of the topology.
        InvalidInput: Of several topologies it is not said which, or no profile can be read.
    """
    name = plan.logical.topology.name if topology is None and plan is not None else topology
    stored = stored_profiles(lake, name)
    if not stored:
        raise _nothing(lake, name)
    if name is None:
        _check_single(_names(stored))
    wanted = None if plan is None else PlanLayout.of_plan(plan)
    faults: list[InvalidInput] = []
    best = min(_readable(stored, wanted, faults), key=lambda one: one.rank, default=None)
    if best is None:
        raise UnreadableFile(problem for fault in faults for problem in fault.problems)
    return ProfileChoice(
        best=best,
        compared=len(stored) - len(faults),
        faults=tuple(_in_short(fault) for fault in faults),
    )


def _readable(
    stored: Iterable[StoredProfile], wanted: PlanLayout | None, faults: list[InvalidInput]
) -> Iterator[Candidate]:
    """Profiles one by one, as they can be large; faults are gathered."""
    for one in stored:
        try:
            profile = one.read()
            layout = PlanLayout.of_profile(profile)
        except InvalidInput as error:
            faults.append(InvalidInput(replace(p, file=p.file or one.uri) for p in error.problems))
            continue
        far = None if wanted is None else distance(layout, wanted)
        yield Candidate(stored=one, profile=profile, distance=far)


def _end_of(profile: Profile) -> float:
    """When its period ended, in seconds since 1970; before all others where that is not known."""
    try:
        end = datetime.fromisoformat("" if profile.period is None else profile.period.end)
    except ValueError:
        return -math.inf
    return (end if end.tzinfo else end.replace(tzinfo=UTC)).timestamp()


def _in_short(fault: InvalidInput) -> str:
    first, *others = fault.problems
    return f"{first}, and {len(others)} more" if others else str(first)


def _names(stored: Iterable[StoredProfile]) -> list[str]:
    return sorted({one.name for one in stored})


def _listed(names: Sequence[str]) -> str:
    return ", ".join([*names[:_MANY], *(["…"] if len(names) > _MANY else [])])


def _check_single(names: Sequence[str]) -> None:
    if len(names) > 1:
        raise InvalidInput.single(
            ("topology",),
            seen=f"profiles of {len(names)} topologies: {_listed(names)}",
            expected="one of them",
            remedy="name it by --topology, or give the plan to predict by --plan",
        )


def _nothing(lake: Lake, topology: str | None) -> NotEnoughData:
    known = _names(stored_profiles(lake))
    if not known:
        # Where there is no lake at all, say that instead.
        lake.check_exists()
    of_topology = "" if topology is None else f" of topology {topology!r}"
    near = suggest_name(topology or "", known)
    expected = f"one of {_listed(known)}" if known else "one"
    options = ("--lake", lake.uri, "--topology", topology or "NAME", "-o", "FILE")
    command = shlex.join(("streamgauge", "calibrate", *options))
    return NotEnoughData(
        f"{lake.uri}: no profile{of_topology} is kept; expected {expected}"
        + (f" ({near})" if near else "")
        + f": `{command}` makes one"
    )
