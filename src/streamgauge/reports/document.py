"""Results as JSON documents: one schema version, no infinities."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

SCHEMA_VERSION = 1


def make_document(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body as a JSON document of the current schema version."""
    return {"schema_version": SCHEMA_VERSION, **replace_non_finite(dict(body))}


def write_document(body: Mapping[str, Any]) -> str:
    """The document as text."""
    return json.dumps(make_document(body), indent=2, ensure_ascii=False)


def replace_non_finite(value: Any) -> Any:
    """The value with null for infinities and NaN, which JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): replace_non_finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [replace_non_finite(item) for item in value]
    return value
