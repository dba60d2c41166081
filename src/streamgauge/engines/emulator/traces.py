"""Traces: from hops that the simulator notes one by one to whole paths of roots.

A hop names the hop it follows. Where trees are acked, the simulator notes when a root has ended,
and the paths of the root are written then: those to a sink, and of a root that failed also those
that ended on the way. Where nobody tracks roots, a path is written when it comes to a sink.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from streamgauge.engines.emulator.readings import MICROSECONDS, NANOSECONDS
from streamgauge.engines.emulator.subjects import Subjects
from streamgauge.lake.records import Hop, Outcome, Trace
from streamgauge.simulation import records
from streamgauge.simulation.program import Compiled
from streamgauge.simulation.records import FIRST_HOP_KEPT, HOPS_KEPT, HOPS_TRACED
from streamgauge.simulation.state import State

# Hops of roots that have not ended; beyond this the oldest roots are forgotten.
MOST_HOPS = 1 << 18
_FIELDS = ["parent", "task", "what", "key", "outcome", "arrived", "started", "finished"]


class _Noted(NamedTuple):
    """A hop as the simulator notes it; of a root's end, `arrived` is the complete latency."""

    parent: int
    task: int
    what: int
    key: int
    outcome: int
    arrived: float
    started: float
    finished: float


@dataclass(slots=True)
class _Root:
    """An open root: its hops by number, and how many of its paths were written."""

    hops: dict[int, _Noted]
    paths: int = 0


class Tracer:
    """Gathers hops and gives the traces of roots that have ended.

    Attributes:
        incomplete: Whether roots that were to be traced had to be given up.
    """

    def __init__(
        self,
        subjects: Subjects,
        compiled: Compiled,
        started_at_us: int,
        *,
        most_hops: int = MOST_HOPS,
    ) -> None:
        logical = subjects.plan.logical
        sinks = {operator.name for operator in logical.topology.sinks}
        self._tasks = subjects.tasks
        self._at_sink = [subject["component"] in sinks for subject in subjects.tasks]
        self._compiled = compiled
        self._tracked = compiled.program.at.ackers > 0
        self._started_at_us = started_at_us
        self._most_hops = most_hops
        self._roots: dict[int, _Root] = {}
        self._root_of: dict[int, int] = {}
        self.incomplete = False
        self._of_job = subjects.of_job

    def take(self, state: State) -> Iterator[Trace]:
        """Read what was noted since the last time, and let the simulator use the room again."""
        first, end = int(state.counts[FIRST_HOP_KEPT]), int(state.counts[HOPS_TRACED])
        noted = state.hops[: end - first][_FIELDS].tolist()
        state.counts[FIRST_HOP_KEPT] = end
        self.incomplete |= end - first >= int(state.counts[HOPS_KEPT])
        for number, values in enumerate(noted, start=first):
            yield from self._note(number, _Noted(*values))
            self._make_room()

    def _note(self, number: int, hop: _Noted) -> Iterator[Trace]:
        if hop.task == records.NONE:
            yield from self._ended(hop)
            return
        root = number if hop.parent == records.NONE else self._root_of.get(hop.parent)
        if root is None:
            # Its root has ended, or was given up.
            return
        self._roots.setdefault(root, _Root({})).hops[number] = hop
        self._root_of[number] = root
        if not self._tracked and self._at_sink[hop.task]:
            yield self._trace(root, number, Outcome.ARRIVED, None)

    def _ended(self, end: _Noted) -> Iterator[Trace]:
        root = end.parent
        if root not in self._roots:
            return
        hops = self._roots[root].hops
        acked = end.outcome == records.ACKED
        if acked:
            last = [number for number, hop in hops.items() if self._at_sink[hop.task]]
        else:
            followed = {hop.parent for hop in hops.values()}
            last = [number for number in hops if number not in followed]
        outcome = Outcome.ACKED if acked else Outcome.FAILED
        complete = _nanoseconds(end.arrived) if acked else None
        for number in last:
            yield self._trace(root, number, outcome, complete)
        self._forget(root)

    def _forget(self, root: int) -> None:
        for number in self._roots.pop(root).hops:
            del self._root_of[number]

    def _make_room(self) -> None:
        while len(self._root_of) > self._most_hops:
            self._forget(next(iter(self._roots)))
            # Where nobody tracks roots, old ones are as good as ended.
            self.incomplete |= self._tracked

    def _trace(self, root: int, last: int, outcome: Outcome, complete: int | None) -> Trace:
        one = self._roots[root]
        way = []
        number = last
        while number != records.NONE:
            way.append(one.hops[number])
            number = one.hops[number].parent
        born = way[-1].finished
        hops = tuple(self._hop(hop, born) for hop in reversed(way))
        path = one.paths
        one.paths += 1
        return Trace(
            **self._of_job,
            root=f"{root:x}",
            path=path,
            started_at_us=self._started_at_us + round(born * MICROSECONDS),
            hops=hops,
            latency_ns=hops[-1].finished_ns,
            complete_latency_ns=complete,
            outcome=outcome.value,
        )

    def _hop(self, hop: _Noted, born: float) -> Hop:
        subject: dict[str, Any] = self._tasks[hop.task]
        stream = key = None
        # To a source a tuple comes when it is due.
        if hop.what != records.DUE:
            subscription = self._compiled.subscriptions[hop.what]
            stream = subscription.name
            if hop.key != records.NONE and subscription.key in self._compiled.keys:
                key = self._compiled.keys[subscription.key][hop.key]
        return Hop(
            component=subject["component"],
            task=subject["task"],
            stream=stream,
            key=key,
            arrived_ns=_nanoseconds(hop.arrived - born),
            started_ns=_nanoseconds(hop.started - born),
            finished_ns=_nanoseconds(hop.finished - born),
        )


def _nanoseconds(seconds: float) -> int:
    return round(seconds * NANOSECONDS)
