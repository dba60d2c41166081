"""Profiles kept in the lake, under names that their content gives: the same one is kept once."""

from __future__ import annotations

import hashlib
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from urllib.parse import quote, unquote

from pyarrow import fs

from streamgauge.errors import UnreadableFile
from streamgauge.lake.tables import Lake
from streamgauge.lake.uris import is_local, open_store
from streamgauge.profile.files.jobs import parse_profile
from streamgauge.profile.profile import Profile

FOLDER = "profiles"
REPLICAS = ".replicas.parquet"
_DIGEST = 12
# Neither replicas, nor what a writer that was killed left behind.
_PROFILE = re.compile(rf"[0-9a-f]{{{_DIGEST}}}\.json")
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredProfile:
    """A profile that the lake keeps, not yet read.

    Attributes:
        name: What it was kept under: its topology, after its cluster and a slash where that has a
            name.
        uri: Where it is.
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
    if _digest(content) != PurePosixPath(path).stem:
        raise UnreadableFile.single(
            (),
            file=uri,
            seen="content that is not what its name was made from",
            expected="the profile as it was kept",
            remedy="remove the file and calibrate again",
        )
    return parse_profile(content, uri)


def file_name(name: str) -> str:
    """A name that every file system takes, different for different names."""
    plain = re.sub(r"[^A-Za-z0-9._-]", lambda found: _escaped(found[0]), name)
    return f"%2E{plain[1:]}" if plain.startswith(".") else plain


def replicas_name(topology: str, content: bytes) -> str:
    """What the file of these replicas is called, wherever it lies."""
    return f"{file_name(topology)}-{_digest(content)}{REPLICAS}"


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
    uri = _uri(lake, folder, f"{_digest(profile.encode())}.json")
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


def _escaped(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_DIGEST]


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
