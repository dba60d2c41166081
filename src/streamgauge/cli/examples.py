"""Where the bundled examples are."""

from __future__ import annotations

from pathlib import Path

import streamgauge
from streamgauge.errors import InvalidInput, did_you_mean


def example_path(name: str) -> Path:
    """The bundled example of that file name.

    A wheel holds the examples inside the package; a checkout beside `src/`.
    """
    package = Path(streamgauge.__file__).parent
    for folder in (package / "examples", package.parent.parent / "examples"):
        if (folder / name).is_file():
            return folder / name
    known = sorted(path.name for path in folder.glob("*.yaml"))
    raise InvalidInput.single(
        (), seen=f"example {name!r}", expected="a bundled example", remedy=did_you_mean(name, known)
    )
