"""Workers by their own clocks: when a process began, and which time a report of it spans.

A worker reports once in a heartbeat, together with its age in whole seconds. So what it reports
belongs to that age, not to the moment somebody asked, which may be a heartbeat later. Ages are put
on the calendar by one guess for each process, early enough that no report lies in the future.
"""

from __future__ import annotations

from dataclasses import dataclass

MICROSECONDS = 1_000_000
# After so many missed reports a bucket would be too long to be summed up with the others.
_MOST_MISSED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A worker's process.

    Attributes:
        began_us: When it began, by our guess.
        uptime_seconds: Its age at its last report.
    """

    began_us: int
    uptime_seconds: int

    @property
    def reported_us(self) -> int:
        """When it last reported."""
        return self.began_us + self.uptime_seconds * MICROSECONDS

    def is_followed_by(self, uptime_seconds: int) -> bool:
        """Whether that age is of the same process."""
        return uptime_seconds >= self.uptime_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """The time that a report spans."""

    start_us: int
    seconds: float


def process_at(
    uptime_seconds: int, before: Process | None, *, asked_us: int, heartbeat_seconds: float
) -> Process:
    """The process that has that age now.

    Args:
        uptime_seconds: Its age when it reported.
        before: What was known of the worker.
        asked_us: When it was asked for.
        heartbeat_seconds: How old a report can be.
    """
    latest_us = asked_us - uptime_seconds * MICROSECONDS
    if before is not None and before.is_followed_by(uptime_seconds):
        # A report that came later than heartbeats say must not end in the future.
        return Process(began_us=min(before.began_us, latest_us), uptime_seconds=uptime_seconds)
    began_us = latest_us - round(heartbeat_seconds * MICROSECONDS)
    if before is not None:
        began_us = min(max(began_us, before.reported_us), latest_us)
    return Process(began_us=max(began_us, 0), uptime_seconds=uptime_seconds)


def continues(process: Process, before: Process | None, *, usual_seconds: float) -> bool:
    """Whether a report follows on the one before: of the same process, and soon enough.

    Args:
        process: With its last report.
        before: At the report before, if there was one.
        usual_seconds: Between two reports that somebody reads.
    """
    if before is None or not before.is_followed_by(process.uptime_seconds):
        return False
    gap_us = process.reported_us - before.reported_us
    return gap_us <= _MOST_MISSED * usual_seconds * MICROSECONDS


def bucket_of(process: Process, before: Process | None, *, usual_seconds: float) -> Bucket | None:
    """What the last report of a process spans; nothing where it is the same as before.

    Args:
        process: With its last report.
        before: At the report that it follows on; None for the first one.
        usual_seconds: Between two reports that somebody reads.
    """
    if before is None:
        return _ending(process.reported_us, min(usual_seconds, float(process.uptime_seconds)))
    seconds = (process.reported_us - before.reported_us) / MICROSECONDS
    if usual_seconds < seconds <= usual_seconds + 1:
        # Ages are whole seconds. Buckets that differ by what was cut off would be summed up apart.
        seconds = usual_seconds
    return _ending(process.reported_us, seconds)


def _ending(end_us: int, seconds: float) -> Bucket | None:
    start_us = end_us - round(seconds * MICROSECONDS)
    return Bucket(start_us=start_us, seconds=seconds) if seconds > 0 and start_us >= 0 else None
