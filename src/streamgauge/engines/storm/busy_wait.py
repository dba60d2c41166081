"""Timing the empty loop in Java, where Storm's bolts would run it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from streamgauge.applications.cycles import LoadTiming
from streamgauge.engines.storm.jars import JAR_VARIABLE, java_command, own_jar
from streamgauge.errors import InternalError, InvalidInput

MAIN = "io.streamgauge.storm.calibration.BusyWait"
# CPU time of a batch of calls: long against the clock's half microsecond.
BATCH_MS = 20
_START_SECONDS = 60.0
# A busy machine gives the loop a small part of a core.
_SLOWEST = 20.0
_NO_CLASS = "Could not find or load main class"


@dataclass(frozen=True, slots=True, kw_only=True)
class BusyWaits:
    """What was timed, and by which Java."""

    java: str
    timings: tuple[LoadTiming, ...]


def time_busy_waits(
    cycles: Sequence[int], *, rounds: int, command: Sequence[str] | None = None
) -> BusyWaits:
    """Time the loop with each of these numbers of cycles, in rounds over all of them.

    Java is started as a worker's would be, so that the same compiler is at work; a command takes
    the place of our own way to start it.

    Raises:
        InvalidInput: Java is missing, or the jar that was named is not of this version.
        SourceUnreachable: Maven cannot fetch what the jar needs.
        InternalError: Java fails.
    """
    started = command or (java_command(), "-cp", str(own_jar()), MAIN)
    longest_ms = sum(BATCH_MS + one / 1e6 for one in cycles) * rounds
    try:
        done = subprocess.run(
            [*started, str(rounds), str(BATCH_MS), *map(str, cycles)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_START_SECONDS + _SLOWEST * longest_ms / 1000.0,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise InternalError(f"timing cycles took longer than {error.timeout:.0f} s") from None
    if done.returncode != 0:
        raise _failure(done.stderr)
    return _read(done.stdout)


def _failure(said: str) -> InternalError | InvalidInput:
    first = next(iter(said.strip().splitlines()), "nothing")
    if _NO_CLASS in said:
        return InvalidInput.single(
            (),
            seen="a jar without the loop to time",
            expected="our jar for Storm, of this version",
            remedy=f"rebuild it, or do not set {JAR_VARIABLE}",
        )
    return InternalError(f"timing cycles in Java failed: {first}")


def _read(text: str) -> BusyWaits:
    try:
        answer = json.loads(text)
        timings = tuple(
            LoadTiming(
                cycles=int(one["cycles"]),
                cpu_ns=tuple(map(float, one["cpu_ns"])),
                wall_ns=tuple(map(float, one["wall_ns"])),
            )
            for one in answer["timings"]
        )
        return BusyWaits(java=str(answer["java"]), timings=timings)
    except (ValueError, KeyError, TypeError):
        raise InternalError(f"timing cycles in Java answered {text[:200]!r}") from None
