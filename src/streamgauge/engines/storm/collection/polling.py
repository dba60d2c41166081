"""Polling until told to stop: how often, how long, and what happens when nobody answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from streamgauge.engines.storm.collection.collector import Collector, Poll
from streamgauge.engines.storm.collection.folder import CollectionFolder
from streamgauge.errors import Findings
from streamgauge.topology.field_checks import check_number

# Waits double while nobody answers, up to so many times the usual one.
_MOST_WAITS = 8


class Stop(Protocol):
    """Something that can be waited for, such as `threading.Event`."""

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it has come, within so many seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PollSchedule:
    """How often and how long.

    Attributes:
        every_seconds: Between the beginnings of two polls.
        for_seconds: In all; None without end, 0 for one poll.
        give_up_seconds: How long to go on without an answer, once there was one.
    """

    every_seconds: float = 60.0
    for_seconds: float | None = None
    give_up_seconds: float = 600.0

    def __post_init__(self) -> None:
        findings = Findings()
        check_number(findings, self.every_seconds, "every", least=1.0, most=3600.0)
        if self.for_seconds is not None:
            check_number(findings, self.for_seconds, "for")
        check_number(findings, self.give_up_seconds, "give_up")
        findings.raise_if_any()


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What became of it.

    Attributes:
        polls: That were made.
        records: That were written.
        topologies: That were seen whole at least once.
    """

    polls: int = 0
    records: int = 0
    topologies: set[str]


def poll_on(
    collector: Collector,
    folder: CollectionFolder,
    schedule: PollSchedule,
    stop: Stop,
    *,
    say: Callable[[str], None],
    monotonic: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Poll until `stop` comes or the time is over.

    Raises:
        SourceUnreachable: Nobody answers at the first poll, or for too long; what was collected
            is kept.
        UnreadableFile: The folder cannot be written any more.
    """
    outcome = Outcome(topologies=set())
    began = answered = monotonic()
    said: set[str] = set()
    heard, failures = False, 0
    while True:
        asked = monotonic()
        poll = collector.poll()
        _keep(poll, collector, folder, outcome, said, say)
        now = monotonic()
        heard = heard or poll.failure is None or bool(poll.topologies)
        if poll.failure is None:
            failures, answered = 0, now
        elif not heard or now - answered > schedule.give_up_seconds:
            raise poll.failure
        else:
            failures += 1
            say(f"warning: {poll.failure}")
        wait = schedule.every_seconds * min(2**failures, _MOST_WAITS) - (now - asked)
        if schedule.for_seconds is not None and now + wait - began > schedule.for_seconds:
            return outcome
        if stop.wait(max(wait, 0.0)):
            return outcome


def _keep(
    poll: Poll,
    collector: Collector,
    folder: CollectionFolder,
    outcome: Outcome,
    said: set[str],
    say: Callable[[str], None],
) -> None:
    """Write what a poll gave, and say what is new."""
    gone = folder.write(poll.records, collector.memory, collector.clock())
    outcome.polls += 1
    outcome.records += len(poll.records)
    outcome.topologies.update(poll.topologies)
    notes = [f"warning: {note}" for note in poll.notes]
    if gone:
        notes.append("warning: the folder has reached its size limit: the oldest files are deleted")
    for note in notes:
        if note not in said:
            said.add(note)
            say(note)
