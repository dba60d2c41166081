"""The counters of a running simulation at one moment, and what two moments say together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.simulation.accounts import machine_accounts, queue_accounts, thread_accounts
from streamgauge.simulation.binning import BINS
from streamgauge.simulation.state import Program, State

_THREAD = ("executed", "emitted", "failed", "timed_out", "replayed")
_QUEUE = ("arrived", "objects", "sojourn", "dropped")
_WINDOW = ("triggers", "tuples", "service")


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
        grown = s.latency.ravel() - self._before
        at = np.flatnonzero(grown)
        self._before[at] += grown[at]
        return Snapshot(
            time=float(s.now[0]),
            thread=thread,
            queue=queue,
            peak=peak,
            machine=machine_accounts(s),
            window={name: s.window[name].copy() for name in _WINDOW},
            roots=(
                int(s.outputs["roots_acked"].sum()),
                int(s.outputs["roots_failed"].sum()),
            ),
            latency_at=at,
            latency_by=grown[at],
            latency_sum=s.latency_sum.copy(),
        )
