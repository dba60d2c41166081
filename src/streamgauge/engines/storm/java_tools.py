"""Java and Maven on this machine: where they are, and what to install where they are not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from streamgauge.errors import InvalidInput

MINIMUM_JAVA = 17
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_ANSWER_SECONDS = 60.0


def java_command(environ: Mapping[str, str] = os.environ) -> str:
    """The Java to start: that of ``JAVA_HOME``, else the one on the path.

    Raises:
        InvalidInput: There is none, or it is too old.
    """
    seen = []
    for command in _candidates(environ):
        version = java_version(command)
        if version is not None and version >= MINIMUM_JAVA:
            return command
        seen.append(f"{command} " + ("does not run" if version is None else f"is Java {version}"))
    raise InvalidInput.single(
        (),
        seen="; ".join(seen) or "no java on PATH",
        expected=f"Java {MINIMUM_JAVA} or later, which Storm runs on",
        remedy=f"install a JDK {MINIMUM_JAVA}, such as openjdk-{MINIMUM_JAVA}-jdk-headless, "
        "or set JAVA_HOME",
    )


def maven_command(environ: Mapping[str, str] = os.environ) -> str:
    """The Maven on the path.

    Raises:
        InvalidInput: There is none.
    """
    found = shutil.which("mvn", path=environ.get("PATH"))
    if found is None:
        raise InvalidInput.single(
            (),
            seen="no mvn on PATH",
            expected="Maven 3.8 or later, which fetches Storm's jars and builds ours",
            remedy="install the package maven",
        )
    return found


@cache
def java_version(command: str) -> int | None:
    """17 for a Java 17; None where it does not run."""
    try:
        done = subprocess.run(
            [command, "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ANSWER_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(done.stderr + done.stdout)
    return int(found[1]) if found and done.returncode == 0 else None


def _candidates(environ: Mapping[str, str]) -> list[str]:
    home = environ.get("JAVA_HOME")
    found = shutil.which("java", path=environ.get("PATH"))
    return ([str(Path(home, "bin", "java"))] if home else []) + ([found] if found else [])
