"""The counters of a running simulation at one moment, and what two moments say together.

What lasts is entered when it ends, and a service is charged when it begins. Here what is under way
is counted as far as it has come.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.simulation.binning import BINS
from streamgauge.simulation.cores import polled_seconds, work_left
from streamgauge.simulation.records import AFTERWARDS, BLOCKED, ON_CORE
from streamgauge.simulation.state import Program, State

Account = dict[str, NDArray[Any]]

_THREAD = ("executed", "emitted", "failed", "timed_out", "replayed")
_QUEUE = ("arrived", "objects", "sojourn", "dropped")
_WINDOW = ("triggers", "tuples", "wall", "wall_squares", "cpu", "cpu_squares")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Snapshot:
    """Everything that is added up, at one moment.

    Attributes:
        time: Simulated seconds.
        thread: By figure: CPU time, counts, busy, blocked and throttled seconds of each thread.
        queue: By figure: counts, length now and over time, and time caused of each queue.
        peak: Of each queue since the snapshot before.
        machine: By figure: seconds of work and of polling on each machine.
        window: By figure, of each window.
        roots: Acked and failed since the beginning.
        latency_at: Bins that grew since the snapshot before, of all rows one after the other,
        latency_by: by how much, and
        latency_sum: sums of all rows since the beginning.
    """

    time: float
    thread: dict[str, NDArray[Any]]
    queue: dict[str, NDArray[Any]]
    peak: NDArray[Any]
    machine: dict[str, NDArray[Any]]
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
        thread = {name: s.thread[name].copy() for name in _THREAD} | thread_accounts(s)
        # Windows and joins are counted apart.
        count = self._program.at.windows
        q = s.queue[:count]
        queue = {name: q[name].copy() for name in _QUEUE} | queue_accounts(s, count)
        peak = q["peak"].copy()
        q["peak"] = queue["length"]
        counts = s.latency.ravel()
        at = np.flatnonzero(counts != self._before)
        grown = counts[at] - self._before[at]
        self._before[at] = counts[at]
        return Snapshot(
            time=float(s.now[0]),
            thread=thread,
            queue=queue,
            peak=peak,
            machine=machine_accounts(s, thread["cpu"]),
            window={name: s.window[name].copy() for name in _WINDOW},
            roots=(
                int(s.outputs["roots_acked"].sum()),
                int(s.outputs["roots_failed"].sum()),
            ),
            latency_at=at,
            latency_by=grown,
            latency_sum=s.latency_sum.copy(),
        )


def thread_accounts(s: State) -> Account:
    """Seconds that each thread was busy, blocked and throttled, and spent on a core."""
    now, t = float(s.now[0]), s.thread
    working = (t["phase"] >= ON_CORE) & (t["phase"] <= AFTERWARDS)
    held_back = t["throttled"] == 1
    return {
        "busy": t["busy"] + np.where(working, now - t["busy_since"], 0.0),
        "blocked": t["blocked"] + _waited(s),
        "throttled": t["throttled_time"] + np.where(held_back, now - t["throttled_since"], 0.0),
        "cpu": t["cpu"] - work_left(s.cores, now),
    }


def queue_accounts(s: State, count: int) -> Account:
    """Of the first `count` queues: tuples now and over time, and seconds of waiting for room."""
    now, q = float(s.now[0]), s.queue[:count]
    caused = q["caused"].copy()
    blocked = s.thread["phase"] == BLOCKED
    if blocked.any():
        np.add.at(caused, s.thread["blocked_on"][blocked], _waited(s)[blocked])
    length = q["length"] - q["flushes"]
    return {
        "length": length,
        "area": q["area"] + length * (now - q["changed"]),
        "caused": caused,
    }


def machine_accounts(s: State, spent: NDArray[Any]) -> Account:
    """Core-seconds of work on each machine, of what threads have `spent`, and of polling."""
    polled = polled_seconds(s.cores, float(s.now[0]))
    return {
        "busy": np.bincount(s.thread["machine"], spent, minlength=len(polled)),
        "polled": polled,
    }


def _waited(s: State) -> NDArray[Any]:
    """How long each blocked thread has been."""
    blocked = s.thread["phase"] == BLOCKED
    return np.asarray(np.where(blocked, float(s.now[0]) - s.thread["blocked_since"], 0.0))
