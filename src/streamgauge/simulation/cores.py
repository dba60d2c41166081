"""Cores shared by all threads of a machine: processor sharing in virtual time.

With n runnable threads on c cores, each runs at the rate min(1, c/n); idle threads that poll count
as the part of a thread that they were measured to be. A machine's virtual clock
advances at that rate, so a thread that needs w seconds of a core finishes when the clock has moved
by w, however many threads come and go meanwhile: an event costs the logarithm of the number of
threads, and none but the first to finish need ever be looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import InvalidInput
from streamgauge.simulation.compiling import inlined

NOBODY = -1


class Cores(NamedTuple):
    """All machines and the threads that run on them, as arrays that compiled code can share.

    Attributes:
        capacity: Cores of each machine that are not kept busy by something else.
        clock: Virtual time of each machine.
        updated: When each machine's clock was last moved.
        busy: Core-seconds that each machine has spent so far.
        running: Threads that want a core, by machine.
        first: Where each machine's part of `heap` begins.
        heap: Running threads of each machine by virtual finishing time.
        finish: Virtual finishing time of each thread.
        polling: Idle threads that burn cores, by machine.
        burn: Cores that so many of them keep busy if nobody else wants them.
        polled: Core-seconds they have spent so far, by machine.
    """

    capacity: NDArray[Any]
    clock: NDArray[Any]
    updated: NDArray[Any]
    busy: NDArray[Any]
    running: NDArray[Any]
    first: NDArray[Any]
    heap: NDArray[Any]
    finish: NDArray[Any]
    polling: NDArray[Any]
    burn: NDArray[Any]
    polled: NDArray[Any]


def make_cores(
    capacity: Sequence[float],
    machine_of_thread: Sequence[int],
    *,
    poll_cores: float = 0.0,
    poll_growth: float = 1.0,
) -> Cores:
    """Machines with that many free cores, and the machine of each thread.

    Args:
        capacity: Free cores of each machine.
        machine_of_thread: By thread.
        poll_cores: Cores that one polling thread keeps busy.
        poll_growth: The power of their number by which several do.

    Raises:
        InvalidInput: A machine has no core to spare.
    """
    for machine, cores in enumerate(capacity):
        if not cores > 0.0:
            raise InvalidInput.single(
                ("machines", machine),
                seen=f"{cores:g} free cores",
                expected="more than none, or nothing there would ever finish",
                remedy="less background load",
            )
    threads = np.bincount(np.asarray(machine_of_thread, dtype=np.int64), minlength=len(capacity))
    count = len(capacity)
    return Cores(
        capacity=np.asarray(capacity, dtype=np.float64),
        clock=np.zeros(count),
        updated=np.zeros(count),
        busy=np.zeros(count),
        running=np.zeros(count, dtype=np.int64),
        first=np.concatenate([[0], np.cumsum(threads)[:-1]]).astype(np.int64),
        heap=np.full(len(machine_of_thread), NOBODY, dtype=np.int64),
        finish=np.zeros(len(machine_of_thread)),
        polling=np.zeros(count, dtype=np.int64),
        burn=poll_cores * np.arange(len(machine_of_thread) + 1.0) ** poll_growth,
        polled=np.zeros(count),
    )


@inlined
def _rate(cores: Cores, machine: int) -> Any:
    wanted = cores.running[machine] + cores.burn[cores.polling[machine]]
    capacity = cores.capacity[machine]
    return 1.0 if wanted <= capacity else capacity / wanted


@inlined
def advance(cores: Cores, machine: int, now: float) -> None:
    """Move a machine's virtual clock on to `now`."""
    passed = now - cores.updated[machine]
    if passed > 0.0:
        rate = _rate(cores, machine)
        cores.clock[machine] += passed * rate
        cores.busy[machine] += passed * rate * cores.running[machine]
        cores.polled[machine] += passed * rate * cores.burn[cores.polling[machine]]
        cores.updated[machine] = now


@inlined
def start(cores: Cores, machine: int, thread: int, work: float, now: float) -> None:
    """Let an idle thread run for `work` seconds of a core."""
    advance(cores, machine, now)
    finish = cores.clock[machine] + work
    cores.finish[thread] = finish
    first = cores.first[machine]
    place = cores.running[machine]
    cores.running[machine] += 1
    while place > 0:
        parent = (place - 1) >> 1
        other = cores.heap[first + parent]
        if cores.finish[other] <= finish:
            break
        cores.heap[first + place] = other
        place = parent
    cores.heap[first + place] = thread


@inlined
def next_finish(cores: Cores, machine: int) -> float:
    """When the first thread of a machine finishes if nothing else happens; infinite without one."""
    if cores.running[machine] == 0:
        return np.inf
    left = cores.finish[cores.heap[cores.first[machine]]] - cores.clock[machine]
    return float(cores.updated[machine] + max(left, 0.0) / _rate(cores, machine))


@inlined
def stop_first(cores: Cores, machine: int, now: float) -> int:
    """Take the first thread to finish off its machine; `now` is when it does."""
    advance(cores, machine, now)
    first = cores.first[machine]
    done = cores.heap[first]
    cores.running[machine] -= 1
    size = cores.running[machine]
    if size == 0:
        # An idle machine's clock may start anew: sums of many small steps stay exact.
        cores.clock[machine] = 0.0
        return int(done)
    last = cores.heap[first + size]
    finish = cores.finish[last]
    place, child = 0, 1
    while child < size:
        other = cores.heap[first + child]
        if child + 1 < size:
            right = cores.heap[first + child + 1]
            if cores.finish[right] < cores.finish[other]:
                child += 1
                other = right
        if cores.finish[other] >= finish:
            break
        cores.heap[first + place] = other
        place = child
        child = 2 * place + 1
    cores.heap[first + place] = last
    return int(done)
