"""Polling a source until told to stop: what runs, said in records, and when nobody answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from streamgauge.engines.storm.collection.folder import CollectionFolder, LastState, Memory
from streamgauge.engines.storm.collection.plans import describe_running_plan
from streamgauge.engines.storm.collection.snapshot import (
    Host,
    ListedTopology,
    StormSource,
    TopologySnapshot,
    Vanished,
)
from streamgauge.engines.storm.collection.snapshot_records import SnapshotRecords, event_of
from streamgauge.errors import Findings, InvalidInput, SourceUnreachable, did_you_mean
from streamgauge.lake.records import EventKind, Record
from streamgauge.topology.field_checks import check_number

# Waits double while nobody answers, up to so many times the usual one.
_MOST_WAITS = 8


@dataclass(slots=True, kw_only=True)
class Poll:
    """What one poll gave: `topologies` were seen whole, `failure` says why it ended early."""

    records: list[Record] = field(default_factory=list)
    topologies: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failure: SourceUnreachable | None = None


@dataclass(slots=True, kw_only=True)
class Collector:
    """Polls one source.

    Attributes:
        source: Who is asked.
        clock: Microseconds since 1970.
        every_seconds: How often it will be asked.
        names: Of the topologies wanted; all where there are none.
        cluster: What the cluster is called in the lake, where several share one.
        memory: What was seen before; goes on with every poll.
    """

    source: StormSource
    clock: Callable[[], int]
    every_seconds: float
    names: Sequence[str] = ()
    cluster: str | None = None
    memory: Memory = field(default_factory=dict)

    def check(self) -> tuple[str, ...]:
        """The names of what will be collected.

        Raises:
            InvalidInput: A topology that was asked for does not run.
            SourceUnreachable: No answer.
        """
        running = self.source.topologies()
        names = [one.name for one in running]
        for wanted in self.names:
            if not any(wanted in (one.name, one.id) for one in running):
                raise InvalidInput.single(
                    ("topology",),
                    seen=f"topology {wanted!r}",
                    expected=f"one that runs: {', '.join(sorted(names)) or 'there is none'}",
                    remedy=did_you_mean(wanted, names),
                )
        return tuple(one.name for one in running if self._wants(one.name, one.id))

    def poll(self) -> Poll:
        """Look at every topology once."""
        poll = Poll()
        try:
            running = [one for one in self.source.topologies() if self._wants(one.name, one.id)]
            hosts = self.source.hosts()
            alive = {one.id for one in running if self._take_snapshot(one, hosts, poll)}
            self._end_others(alive, poll)
        except SourceUnreachable as error:
            poll.failure = error
        return poll

    def _wants(self, name: str, topology_id: str) -> bool:
        return not self.names or name in self.names or topology_id in self.names

    def _take_snapshot(self, listed: ListedTopology, hosts: Sequence[Host], poll: Poll) -> bool:
        """Whether the topology is still there."""
        try:
            snapshot = self.source.take_snapshot(listed)
        except Vanished:
            return False
        state = self.memory.get(listed.id)
        if snapshot.silent and not _at_their_places(snapshot, state):
            poll.notes.append(
                f"{listed.name}: {snapshot.silent} executors have not reported yet; left for later"
            )
            return True
        try:
            plan = None if snapshot.silent else describe_running_plan(snapshot, hosts, self.cluster)
            made = SnapshotRecords(
                snapshot,
                state,
                now_us=self.clock(),
                every_seconds=self.every_seconds,
                cluster=self.cluster,
            )
            records = list(made.records(plan))
        except InvalidInput as error:
            poll.notes.append(f"{listed.name}: cannot be described: {error}")
            return True
        if state is None or len(records) > 1:
            # A plan by itself has been said before.
            poll.records += records
        poll.topologies.append(listed.name)
        if plan is not None:
            poll.notes += [f"{listed.name}: {note}" for note in plan.notes]
        self.memory[listed.id] = made.state
        return True

    def _end_others(self, alive: set[str], poll: Poll) -> None:
        """Topologies that ran when they were last seen, and do not any more."""
        for topology_id in sorted(self.memory.keys() - alive):
            plan = self.memory[topology_id].plan
            if not self._wants(plan.topology, topology_id):
                continue
            now_us = max(self.clock(), plan.valid_from_us + 1)
            poll.records.append(replace(plan, valid_to_us=now_us))
            poll.records.append(event_of(plan, EventKind.STOP, now_us))
            poll.notes.append(f"{plan.topology}: does not run any more")
            del self.memory[topology_id]


def _at_their_places(snapshot: TopologySnapshot, state: LastState | None) -> bool:
    """Whether those who reported are where the plan of before had them."""
    if state is None:
        return False
    places = {(one.component, one.first_task, one.worker) for one in state.plan.executors}
    return all(
        (one.executor.operator, one.executor.first_task, str(one.slot)) in places
        for one in snapshot.executors
    )


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
    """How many polls were made and records written, and what was seen whole at least once."""

    polls: int = 0
    records: int = 0
    topologies: set[str] = field(default_factory=set)


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
    outcome = Outcome()
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
