"""Processes of a cluster, told from all others by a mark that every child inherits.

The mark is an environment variable: daemons hand it on to their workers, and it cannot be lost
while a process lives. So what a killed controller left behind is found without any record of it,
and a process that got the number of a dead one is never taken for it.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

MARK = "STREAMGAUGE_STORM"
CLAIM = "STREAMGAUGE_STORM_PORTS"
_PROC = Path("/proc")
_START_FIELD = 19
_END_SECONDS = 10.0


@dataclass(frozen=True, slots=True, order=True)
class ProcessKey:
    """A process by its number and when it started, in clock ticks since the machine did."""

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> ProcessKey | None:
        """The process that has this number now."""
        try:
            text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        # The name of the command stands in brackets and may hold anything, brackets included.
        fields = text[text.rindex(")") + 2 :].split()
        return None if fields[0] in "ZX" else cls(pid, int(fields[_START_FIELD]))

    def is_alive(self) -> bool:
        """Whether it still runs."""
        return ProcessKey.of(self.pid) == self


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What the processes of a cluster carry: its id, and who brings it down in the end.

    The owner is None where the cluster shall outlive who started it.
    """

    cluster: str
    owner: ProcessKey | None = None

    def __str__(self) -> str:
        owner = f"{self.owner.pid}.{self.owner.started}" if self.owner else "-"
        return f"{self.cluster}:{owner}"

    @classmethod
    def parse(cls, text: str) -> Mark | None:
        """The mark in a text; None where there is none."""
        cluster, _, owner = text.partition(":")
        if owner == "-":
            return cls(cluster=cluster)
        pid, _, started = owner.partition(".")
        if not (pid.isdecimal() and started.isdecimal()):
            return None
        return cls(cluster=cluster, owner=ProcessKey(int(pid), int(started)))

    def is_orphaned(self) -> bool:
        """Whether its owner is gone."""
        return self.owner is not None and not self.owner.is_alive()


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedProcess:
    """A process of some cluster, and the ports claimed for workers that may not run yet."""

    pid: int
    mark: Mark
    ports: frozenset[int]


def marked_processes() -> Iterator[MarkedProcess]:
    """Every process of any cluster of ours that this user may look at."""
    for entry in _PROC.iterdir():
        if entry.name.isdecimal() and (found := _read(int(entry.name))) is not None:
            yield found


def processes_of(cluster: str) -> list[MarkedProcess]:
    """The processes of one cluster."""
    return [one for one in marked_processes() if one.mark.cluster == cluster]


def orphans() -> list[MarkedProcess]:
    """The processes of clusters whose owner was killed."""
    return [one for one in marked_processes() if one.mark.is_orphaned()]


def end_all(cluster: str) -> int:
    """End all processes of a cluster, workers included; how many there were.

    They are asked first and killed when they do not go. Workers that a supervisor started meanwhile
    are found in the next round.
    """
    ended: set[int] = set()
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGKILL):
        alive = processes_of(cluster)
        if not alive:
            break
        ended.update(one.pid for one in alive)
        _signal(alive, cluster, number)
    return len(ended)


def _signal(processes: Iterable[MarkedProcess], cluster: str, number: signal.Signals) -> None:
    """Signal processes and wait for their end."""
    deadline = time.monotonic() + _END_SECONDS
    with _handles(processes, cluster) as handles:
        for handle in handles:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, number)
        waiting = set(handles)
        poll = select.poll()
        for handle in waiting:
            poll.register(handle, select.POLLIN)
        while waiting and (left := deadline - time.monotonic()) > 0:
            for handle, _ in poll.poll(left * 1000):
                poll.unregister(handle)
                waiting.discard(handle)
                with suppress(ChildProcessError):
                    # One of our own is gone only when its end was noticed.
                    os.waitid(os.P_PIDFD, handle, os.WEXITED | os.WNOHANG)


@contextmanager
def _handles(processes: Iterable[MarkedProcess], cluster: str) -> Iterator[list[int]]:
    """Handles of processes that still carry the mark: a handle never means another process."""
    handles: list[int] = []
    try:
        for one in processes:
            with suppress(ProcessLookupError):
                handles.append(os.pidfd_open(one.pid))
                again = _read(one.pid)
                if again is None or again.mark.cluster != cluster:
                    os.close(handles.pop())
        yield handles
    finally:
        for handle in handles:
            os.close(handle)


def _read(pid: int) -> MarkedProcess | None:
    try:
        environ = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return None
    wanted = f"{MARK}=".encode()
    if wanted not in environ:
        return None
    pairs = dict(
        entry.split("=", 1)
        for entry in environ.decode("utf-8", "replace").split("\0")
        if "=" in entry
    )
    mark = Mark.parse(pairs.get(MARK, ""))
    if mark is None:
        return None
    claimed = (port for port in pairs.get(CLAIM, "").split(",") if port.isdecimal())
    return MarkedProcess(pid=pid, mark=mark, ports=frozenset(map(int, claimed)))
