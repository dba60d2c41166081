"""Profiles kept in the lake, under names that their content gives: the same one is kept once."""

from __future__ import annotations

import hashlib
import re
from pathlib import PurePosixPath

from streamgauge.lake.tables import Lake
from streamgauge.lake.uris import open_store

FOLDER = "profiles"
REPLICAS = ".replicas.parquet"
_DIGEST = 12


def file_name(name: str) -> str:
    """A name that every file system takes, different for different names."""
    plain = re.sub(r"[^A-Za-z0-9._-]", lambda found: f"%{ord(found[0]):02X}", name)
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
    folder = lake.folder(FOLDER, file_name(name))
    if replicas is not None:
        _put(f"{folder}/{replicas[0]}", replicas[1])
    uri = f"{folder}/{_digest(profile.encode())}.json"
    _put(uri, profile.encode())
    return uri


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_DIGEST]


def _put(uri: str, content: bytes) -> None:
    """Write a file whole or not at all."""
    store, path = open_store(uri)
    place = PurePosixPath(path)
    store.create_dir(str(place.parent), recursive=True)
    hidden = str(place.with_name(f".{place.name}"))
    with store.open_output_stream(hidden) as file:
        file.write(content)
    store.move(hidden, path)
