"""Profiles kept in the lake, and the choice of the one that says most about a plan.

They are kept under names that their content gives, so that the same one is kept once.
"""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import PurePosixPath
from urllib.parse import quote, unquote

from pyarrow import fs

from streamgauge.errors import InvalidInput, NotEnoughData, UnreadableFile, suggest_name
from streamgauge.lake.plans import Distance, PlanLayout, distance
from streamgauge.lake.profile_names import DIGEST_LENGTH, digest, file_name
from streamgauge.lake.tables import Lake
from streamgauge.lake.uris import is_local, open_store
from streamgauge.profile.files.jobs import parse_profile
from streamgauge.profile.profile import Profile
from streamgauge.topology.physical_plan import PhysicalPlan

FOLDER = "profiles"
# Neither replicas, nor what a writer that was killed left behind.
_PROFILE = re.compile(rf"[0-9a-f]{{{DIGEST_LENGTH}}}\.json")
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredProfile:
    """A profile that the lake keeps, not yet read.

    Attributes:
        name: What it was kept under: its topology, after its cluster and a slash where that has a
            name.
        stored_at: When it was kept last.
    """

    name: str
    uri: str
    stored_at: datetime

    def read(self) -> Profile:
        """What was kept.

        Raises:
            UnreadableFile: It is gone, or no longer what was kept.
            InvalidInput: It is no profile.
        """
        return read_profile(self.uri)


def read_profile(uri: str) -> Profile:
    """The profile that a lake keeps at this place.

    Raises:
        UnreadableFile: It is gone, or no longer what was kept.
        InvalidInput: It is no profile.
    """
    store, path = open_store(uri)
    try:
        with store.open_input_stream(path) as file:
            content = file.read()
    except OSError as error:
        raise UnreadableFile.single(
            (), file=uri, seen=str(error), expected="a profile that can be read"
        ) from None
    if digest(content) != PurePosixPath(path).stem:
        raise UnreadableFile.single(
            (),
            file=uri,
            seen="content that is not what its name was made from",
            expected="the profile as it was kept",
            remedy="remove the file and calibrate again",
        )
    return parse_profile(content, uri)


def keep_profile(
    lake: Lake, name: str, profile: str, replicas: tuple[str, bytes] | None = None
) -> str:
    """Keep a profile and the named file of its replicas.

    Returns:
        The profile's URI. Its file is there only once that of its replicas is.
    """
    folder = file_name(name)
    if replicas is not None:
        _put(_uri(lake, folder, replicas[0]), replicas[1])
    uri = _uri(lake, folder, f"{digest(profile.encode())}.json")
    _put(uri, profile.encode())
    return uri


def stored_profiles(lake: Lake, topology: str | None = None) -> list[StoredProfile]:
    """The profiles that a lake keeps, by name and content; none of them is read.

    Args:
        lake: The lake; without profiles, or not there at all, it keeps none.
        topology: Only those of this topology, in whatever cluster, or in the one before a slash.
    """
    found: list[StoredProfile] = []
    for folder in _listed(lake):
        name = unquote(folder.base_name)
        if folder.is_file or not (topology is None or f"/{name}".endswith(f"/{topology}")):
            continue
        found += [
            StoredProfile(
                name=name,
                uri=_uri(lake, folder.base_name, file.base_name),
                stored_at=file.mtime or _LONG_AGO,
            )
            for file in _listed(lake, folder.base_name)
            if file.is_file and _PROFILE.fullmatch(file.base_name)
        ]
    return sorted(found, key=lambda one: (one.name, one.uri))


def _listed(lake: Lake, *folders: str) -> list[fs.FileInfo]:
    """What is in a folder of profiles; nothing where there is no such folder."""
    uri = _uri(lake, *folders)
    store, path = open_store(uri)
    try:
        return list(store.get_file_info(fs.FileSelector(path, allow_not_found=True)))
    except OSError as error:
        raise UnreadableFile.single(
            (), file=uri, seen=str(error), expected="a folder that can be read"
        ) from None


def _uri(lake: Lake, *parts: str) -> str:
    """The URI of what has these names below the folder of profiles."""
    # A path is taken as it is; whoever opens a URI undoes what is escaped in it.
    names = parts if is_local(lake.uri) else tuple(quote(part) for part in parts)
    return lake.folder(FOLDER, *names)


def _put(uri: str, content: bytes) -> None:
    """Write a file whole or not at all.

    Raises:
        UnreadableFile: It cannot be written.
    """
    store, path = open_store(uri)
    place = PurePosixPath(path)
    hidden = str(place.with_name(f".{place.name}"))
    try:
        store.create_dir(str(place.parent), recursive=True)
        try:
            with store.open_output_stream(hidden) as file:
                file.write(content)
            store.move(hidden, path)
        except OSError:
            with suppress(OSError):
                store.delete_file(hidden)
            raise
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise UnreadableFile.single(
            (), file=uri, seen=reason.lower(), expected="a file that can be written"
        ) from None


_MANY = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A profile that the lake keeps, as it was read.

    Attributes:
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
    new ones the one that was kept last. A profile that cannot be read stops no other. The topology
    is named as in the plan where no name is given.

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


def _join_names(names: Sequence[str]) -> str:
    return ", ".join([*names[:_MANY], *(["…"] if len(names) > _MANY else [])])


def _check_single(names: Sequence[str]) -> None:
    if len(names) > 1:
        raise InvalidInput.single(
            ("topology",),
            seen=f"profiles of {len(names)} topologies: {_join_names(names)}",
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
    expected = f"one of {_join_names(known)}" if known else "one"
    options = ("--lake", lake.uri, "--topology", topology or "NAME", "-o", "FILE")
    command = shlex.join(("streamgauge", "calibrate", *options))
    return NotEnoughData(
        f"{lake.uri}: no profile{of_topology} is kept; expected {expected}"
        + (f" ({near})" if near else "")
        + f": `{command}` makes one"
    )
