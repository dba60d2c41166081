"""Topologies of others: their program is run, and submits itself to our cluster."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

from streamgauge.engines.storm.cluster import StormCluster
from streamgauge.engines.storm.jars import java_command
from streamgauge.engines.storm.layout import LOGGING, Layout
from streamgauge.errors import InvalidInput, UnreadableFile

_SUBMIT_SECONDS = 300.0
_MANY_LINES = 6


def submit_jar(
    cluster: StormCluster,
    jar: Path,
    main: str,
    arguments: Sequence[str] = (),
    *,
    settings: Mapping[str, Any] | None = None,
) -> tuple[str, ...]:
    """Run the main class of a jar, as Storm's own client does; the names it submitted.

    The settings are added to the configuration of whatever it submits.

    Raises:
        UnreadableFile: There is no such jar.
        InvalidInput: The program fails; the message has its last words.
    """
    if not jar.is_file():
        raise UnreadableFile.single(
            (), file=str(jar), seen="no such file", expected="the jar of a topology"
        )
    with cluster.bridge() as bridge:
        before = {one["id"] for one in bridge.ask("cluster")["topologies"]}
        _run([*submit_command(cluster.layout, jar, main, settings or {}), *arguments], main)
        after = bridge.ask("cluster")["topologies"]
    return tuple(one["name"] for one in after if one["id"] not in before)


def submit_command(layout: Layout, jar: Path, main: str, settings: Mapping[str, Any]) -> list[str]:
    """How the program is started; its arguments follow."""
    # As Storm's client writes them: each encoded, values as JSON.
    options = (quote_plus(f"{name}={json.dumps(value)}") for name, value in settings.items())
    properties: Mapping[str, object] = {
        "storm.jar": jar.resolve(),
        "storm.home": layout.home,
        "storm.options": ",".join(options),
        "log4j.configurationFile": LOGGING / "client.xml",
    }
    return [
        java_command(),
        *(f"-D{name}={value}" for name, value in properties.items()),
        "-cp",
        f"{jar.resolve()}:{layout.home}/lib-worker/*:{layout.settings_of('nimbus')}",
        main,
    ]


def _run(command: Sequence[str], main: str) -> None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_SUBMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InvalidInput.single(
            (),
            seen=f"{main} still runs after {_SUBMIT_SECONDS:g} s",
            expected="a program that submits its topology and ends",
        ) from None
    if done.returncode != 0:
        last = "".join(f"\n  {line[:300]}" for line in done.stdout.splitlines()[-_MANY_LINES:])
        raise InvalidInput.single(
            (),
            seen=f"{main} ended with code {done.returncode}",
            expected=f"a program that submits its topology; it said:{last}",
        )
