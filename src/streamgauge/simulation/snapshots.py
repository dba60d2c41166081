"""The counters of a running simulation at one moment, and what two moments say together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.simulation.binning import BINS
from streamgauge.simulation.cores import NOBODY, USUAL_QUANTUM
from streamgauge.simulation.records import AFTERWARDS, BLOCKED, ON_CORE, WAITING
from streamgauge.simulation.state import Program, State

_THREAD = ("cpu", "executed", "emitted", "failed", "timed_out", "replayed")
_QUEUE = ("arrived", "objects", "sojourn", "dropped")
_WINDOW = ("triggers", "tuples", "service")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Snapshot:
    """Everything that is added up, at one moment.

    Attributes:
        time: Simulated seconds.
        thread: By figure: CPU time, counts, busy, blocked and throttled seconds of each thread.
        queue: By figure: counts, length over time and time caused of each queue.
        length: Of each queue now.
        peak: Of each queue since the snapshot before.
        cores: Seconds of work and of polling on each machine.
        window: By figure, of each window.
        roots: Acked and failed since the beginning.
        latency_at: Bins that grew since the snapshot before, of all rows one after the other,
        latency_by: by how much, and
        latency_sum: sums of all rows since the beginning.
    """

    time: float
    thread: dict[str, NDArray[Any]]
    queue: dict[str, NDArray[Any]]
    length: NDArray[Any]
    peak: NDArray[Any]
    cores: NDArray[Any]
    window: dict[str, NDArray[Any]]
    roots: tuple[int, int]
    latency_at: NDArray[Any]
    latency_by: NDArray[Any]
    latency_sum: NDArray[Any]


class Camera:
    """Takes snapshots of one simulation, each with what the latencies have grown by since."""

    def __init__(self, program: Program, rows: int) -> None:
        self._program = program
        self._before = np.zeros(rows * BINS, dtype=np.int64)

    def take(self, s: State) -> Snapshot:
        """A snapshot of now."""
        now = float(s.now[0])
        t = s.thread
        working = np.isin(t["phase"], (ON_CORE, WAITING, AFTERWARDS))
        blocked = t["phase"] == BLOCKED
        waited = np.where(blocked, now - t["blocked_since"], 0.0)
        thread = {name: t[name].copy() for name in _THREAD}
        thread["busy"] = t["busy"] + np.where(working, now - t["busy_since"], 0.0)
        thread["blocked"] = t["blocked"] + waited
        thread["throttled"] = t["throttled_time"] + np.where(
            t["throttled"] == 1, now - t["throttled_since"], 0.0
        )
        # Windows and joins are counted apart.
        q = s.queue[: self._program.at.windows]
        queue = {name: q[name].copy() for name in _QUEUE}
        queue["area"] = q["area"] + q["length"] * (now - q["changed"])
        queue["caused"] = q["caused"].copy()
        np.add.at(queue["caused"], t["blocked_on"][blocked], waited[blocked])
        peak = q["peak"].copy()
        q["peak"] = q["length"]
        grown = s.latency.ravel() - self._before
        at = np.flatnonzero(grown)
        self._before[at] += grown[at]
        return Snapshot(
            time=now,
            thread=thread,
            queue=queue,
            length=q["length"].copy(),
            peak=peak,
            cores=_cores(s, now),
            window={name: s.window[name].copy() for name in _WINDOW},
            roots=(
                int(s.outputs["roots_acked"].sum()),
                int(s.outputs["roots_failed"].sum()),
            ),
            latency_at=at,
            latency_by=grown[at],
            latency_sum=s.latency_sum.copy(),
        )


def _cores(s: State, now: float) -> NDArray[Any]:
    """Work and polling of each machine up to now, which is after they were last looked at."""
    c = s.cores
    if c.quantum > 0.0:
        held = c.holder != NOBODY
        machine = np.repeat(np.arange(len(c.capacity)), np.diff(c.core_first))
        speed = c.capacity / np.diff(c.core_first)
        under_way = np.where(held, np.maximum(now - c.since, 0.0), 0.0) * speed[machine]
        work = c.busy + np.bincount(machine, weights=under_way, minlength=len(c.capacity))
        return np.stack([work, c.polled])
    burn = c.burn[c.polling]
    wanted = c.running + burn
    shared = c.capacity / np.maximum(wanted, 1e-12) / (1.0 + c.switch / USUAL_QUANTUM)
    rate = np.where(wanted <= c.capacity, 1.0, shared)
    passed = (now - c.updated) * rate
    return np.stack([c.busy + passed * c.running, c.polled + passed * burn])
