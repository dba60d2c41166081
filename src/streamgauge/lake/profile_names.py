"""Names of files of profiles and their replicas: of the topology, and of the content."""

from __future__ import annotations

import hashlib
import re

REPLICAS = ".replicas.parquet"
DIGEST_LENGTH = 12


def file_name(name: str) -> str:
    """A name that every file system takes, different for different names."""
    plain = re.sub(r"[^A-Za-z0-9._-]", lambda found: _escaped(found[0]), name)
    return f"%2E{plain[1:]}" if plain.startswith(".") else plain


def replicas_name(topology: str, content: bytes) -> str:
    """What the file of these replicas is called, wherever it lies."""
    return f"{file_name(topology)}-{digest(content)}{REPLICAS}"


def digest(content: bytes) -> str:
    """What a file's content is known by."""
    return hashlib.sha256(content).hexdigest()[:DIGEST_LENGTH]


def _escaped(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())
