"""Cores shared by all threads of a machine.

Processor sharing in virtual time: with n runnable threads on c cores, each runs at the rate
min(1, c/n); idle threads that poll count as the part of a thread that they were measured to be. A
machine's virtual clock advances at that rate, so a thread that needs w seconds of a core finishes
when the clock has moved by w, however many threads come and go meanwhile: an event costs the
logarithm of the number of threads, and none but the first to finish need ever be looked at.

The finer alternative takes turns: a thread keeps its core for a quantum if others wait, then goes
to the end of the machine's queue; what idle threads burn is not counted there. Every change of
threads may cost time in both.

How cores are shared is known here only. Whoever shares them in another way replaces `Sharing`,
`Cores`, `make_cores` and these functions, none of which sets a timer:

* `start`: a thread wants so many seconds of a core;
* `next_finish`: when the first thread of a machine is done, or anything else is to be looked at;
* `stop_first`: at that time, the thread that is done, or NOBODY;
* `has_running`: whether any thread of a machine wants a core;
* `add_polling`: so many more, or fewer, idle threads of a machine poll;
* `work_left` and `polled_seconds`, outside of the kernel: what threads have yet to get of what they
  wanted, and what those that poll have burnt.

After each of the first, the third and the fifth the kernel asks for `next_finish` again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import Findings, InvalidInput
from streamgauge.simulation.compiling import internal, primitive
from streamgauge.topology.field_checks import check_number

NOBODY = -1
# Linux gives a thread some milliseconds while others wait.
USUAL_QUANTUM = 0.004
_NEARLY_NOTHING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """How threads share cores.

    Attributes:
        quantum_seconds: Time a thread keeps its core while others wait; None shares evenly.
        switch_seconds: CPU time that is lost when a core changes to another thread.
    """

    quantum_seconds: float | None = None
    switch_seconds: float = 0.0

    def __post_init__(self) -> None:
        findings = Findings()
        if self.quantum_seconds is not None:
            check_number(findings, self.quantum_seconds, "quantum_seconds", above=0.0)
        check_number(findings, self.switch_seconds, "switch_seconds")
        findings.raise_if_any()


EVENLY = Sharing()


class Cores(NamedTuple):
    """All machines and the threads that run on them, as arrays that compiled code can share.

    Attributes:
        quantum: Of those that take turns; zero for processor sharing.
        switch: Lost at each change of threads.
        capacity: Cores of each machine that are not kept busy by something else.
        clock: Virtual time of each machine.
        updated: When each machine's clock was last moved.
        busy: Core-seconds that each machine has spent so far.
        running: Threads that want a core, by machine.
        first: Where each machine's part of `heap` begins.
        size: How long that part is.
        heap: Running threads of each machine by virtual finishing time; in turns, the threads that
            wait for a core, as a ring.
        finish: Virtual finishing time of each thread; in turns, what is left of its work.
        polling: Idle threads that burn cores, by machine.
        burn: Cores that so many of them keep busy if nobody else wants them.
        polled: Core-seconds they have spent so far, by machine.
        core_first: Where each machine's cores begin; one entry more than machines.
        holder: The thread on each core, or NOBODY.
        since: When its turn began, and
        until: when it ends.
        head: The first in each machine's ring.
    """

    quantum: float
    switch: float
    capacity: NDArray[Any]
    clock: NDArray[Any]
    updated: NDArray[Any]
    busy: NDArray[Any]
    running: NDArray[Any]
    first: NDArray[Any]
    size: NDArray[Any]
    heap: NDArray[Any]
    finish: NDArray[Any]
    polling: NDArray[Any]
    burn: NDArray[Any]
    polled: NDArray[Any]
    core_first: NDArray[Any]
    holder: NDArray[Any]
    since: NDArray[Any]
    until: NDArray[Any]
    head: NDArray[Any]


def make_cores(
    capacity: Sequence[float],
    machine_of_thread: Sequence[int],
    *,
    sharing: Sharing = EVENLY,
    poll_cores: float = 0.0,
    poll_growth: float = 1.0,
) -> Cores:
    """Machines with that many free cores, and the machine of each thread.

    Args:
        capacity: Free cores of each machine.
        machine_of_thread: By thread.
        sharing: How threads share cores.
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
                expected="more than zero, or nothing there would ever finish",
                remedy="reduce the background load",
            )
    threads = np.bincount(np.asarray(machine_of_thread, dtype=np.int64), minlength=len(capacity))
    count = len(capacity)
    core_first = np.concatenate([[0], np.cumsum(np.ceil(capacity))]).astype(np.int64)
    return Cores(
        quantum=sharing.quantum_seconds or 0.0,
        switch=sharing.switch_seconds,
        capacity=np.asarray(capacity, dtype=np.float64),
        clock=np.zeros(count),
        updated=np.zeros(count),
        busy=np.zeros(count),
        running=np.zeros(count, dtype=np.int64),
        first=np.concatenate([[0], np.cumsum(threads)[:-1]]).astype(np.int64),
        size=threads.astype(np.int64),
        heap=np.full(len(machine_of_thread), NOBODY, dtype=np.int64),
        finish=np.zeros(len(machine_of_thread)),
        polling=np.zeros(count, dtype=np.int64),
        burn=poll_cores * np.arange(len(machine_of_thread) + 1.0) ** poll_growth,
        polled=np.zeros(count),
        core_first=core_first,
        holder=np.full(core_first[-1], NOBODY, dtype=np.int64),
        since=np.zeros(core_first[-1]),
        until=np.zeros(core_first[-1]),
        head=np.zeros(count, dtype=np.int64),
    )


@primitive
def _rate(cores: Cores, machine: int) -> Any:
    wanted = cores.running[machine] + cores.burn[cores.polling[machine]]
    capacity = cores.capacity[machine]
    if wanted <= capacity:
        return 1.0
    # Threads that share change places once a quantum, as the scheduler lets them.
    return capacity / wanted / (1.0 + cores.switch / USUAL_QUANTUM)


@primitive
def advance(cores: Cores, machine: int, now: float) -> None:
    """Move a machine's virtual clock on to `now`; those that take turns have none."""
    passed = now - cores.updated[machine]
    if passed > 0.0 and cores.quantum == 0.0:
        rate = _rate(cores, machine)
        cores.clock[machine] += passed * rate
        cores.busy[machine] += passed * rate * cores.running[machine]
        cores.polled[machine] += passed * rate * cores.burn[cores.polling[machine]]
        cores.updated[machine] = now


@primitive
def add_polling(cores: Cores, machine: int, threads: int, now: float) -> None:
    """Let so many more idle threads burn cores, or fewer."""
    advance(cores, machine, now)
    cores.polling[machine] += threads


@primitive
def has_running(cores: Cores, machine: int) -> Any:
    """Whether any thread of a machine wants a core."""
    return cores.running[machine] > 0


@primitive
def start(cores: Cores, machine: int, thread: int, work: float, now: float) -> None:
    """Let an idle thread run for `work` seconds of a core."""
    if cores.quantum > 0.0:
        _queue_up(cores, machine, thread, work, now)
        return
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


@primitive
def next_finish(cores: Cores, machine: int) -> Any:
    """When the first thread of a machine finishes, or its turn, if nothing else happens."""
    if cores.running[machine] == 0:
        return np.inf
    if cores.quantum > 0.0:
        return _first_end(cores, machine)
    left = cores.finish[cores.heap[cores.first[machine]]] - cores.clock[machine]
    return cores.updated[machine] + max(left, 0.0) / _rate(cores, machine)


@primitive
def stop_first(cores: Cores, machine: int, now: float) -> Any:
    """Take the first thread to finish off its machine; NOBODY if only a turn is over."""
    if cores.quantum > 0.0:
        return _end_turn(cores, machine, now)
    advance(cores, machine, now)
    first = cores.first[machine]
    done = cores.heap[first]
    cores.running[machine] -= 1
    size = cores.running[machine]
    if size == 0:
        # An idle machine's clock may start anew: sums of many small steps stay exact.
        cores.clock[machine] = 0.0
        return done
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
    return done


@primitive
def _speed(cores: Cores, machine: int) -> Any:
    """What one core does in a second where something else takes a part of them all."""
    return cores.capacity[machine] / (cores.core_first[machine + 1] - cores.core_first[machine])


@primitive
def _waiting(cores: Cores, machine: int) -> Any:
    """How many threads wait for a core."""
    held = cores.core_first[machine + 1] - cores.core_first[machine]
    return max(cores.running[machine] - held, 0)


@primitive
def _give(cores: Cores, machine: int, core: int, thread: int, switch: float, now: float) -> None:
    """Give a thread a core: until its work is done, or for a quantum if others wait."""
    cores.holder[core] = thread
    cores.since[core] = now + switch
    turn = cores.finish[thread] / _speed(cores, machine)
    if _waiting(cores, machine) > 0:
        turn = min(turn, cores.quantum)
    cores.until[core] = now + switch + turn


@internal
def _queue_up(cores: Cores, machine: int, thread: int, work: float, now: float) -> None:
    """A thread wants a core: a free one, or its place in the ring."""
    cores.finish[thread] = work
    first, last = cores.core_first[machine], cores.core_first[machine + 1]
    cores.running[machine] += 1
    for core in range(first, last):
        if cores.holder[core] == NOBODY:
            _give(cores, machine, core, thread, cores.switch, now)
            return
    place = cores.head[machine] + cores.running[machine] - (last - first) - 1
    cores.heap[cores.first[machine] + place % cores.size[machine]] = thread
    # Nobody waited before: whoever has a core longer than a quantum keeps it to the end of one.
    for core in range(first, last):
        turns = np.ceil((now - cores.since[core]) / cores.quantum + _NEARLY_NOTHING)
        cores.until[core] = min(
            cores.until[core], cores.since[core] + max(turns, 1.0) * cores.quantum
        )


@internal
def _first_end(cores: Cores, machine: int) -> float:
    """When the first turn on a machine ends."""
    found = np.inf
    for core in range(cores.core_first[machine], cores.core_first[machine + 1]):
        if cores.holder[core] != NOBODY:
            found = min(found, cores.until[core])
    return found


@internal
def _end_turn(cores: Cores, machine: int, now: float) -> int:
    """The first turn that ends: its thread is done, or goes to the end of the ring."""
    core = cores.core_first[machine]
    for other in range(core, cores.core_first[machine + 1]):
        if cores.holder[other] != NOBODY and (
            cores.holder[core] == NOBODY or cores.until[other] < cores.until[core]
        ):
            core = other
    thread = cores.holder[core]
    done = max(now - cores.since[core], 0.0) * _speed(cores, machine)
    cores.finish[thread] -= done
    cores.busy[machine] += done
    waiting = _waiting(cores, machine)
    finished = cores.finish[thread] <= _NEARLY_NOTHING
    if finished:
        cores.running[machine] -= 1
        cores.holder[core] = NOBODY
    if waiting == 0:
        if not finished:
            _give(cores, machine, core, thread, 0.0, now)
        return thread if finished else NOBODY
    first, size = cores.first[machine], cores.size[machine]
    following = cores.heap[first + cores.head[machine] % size]
    cores.head[machine] = (cores.head[machine] + 1) % size
    if not finished:
        cores.heap[first + (cores.head[machine] + waiting - 1) % size] = thread
    _give(cores, machine, core, following, cores.switch, now)
    return thread if finished else NOBODY


def work_left(cores: Cores, now: float) -> NDArray[Any]:
    """Work that is left of each thread's service, in seconds of a core."""
    if cores.quantum == 0.0:
        left = np.zeros(len(cores.finish))
        clock = cores.clock + _passed(cores, now)
        for machine, running in enumerate(cores.running.tolist()):
            first = int(cores.first[machine])
            threads = cores.heap[first : first + running]
            left[threads] = np.maximum(cores.finish[threads] - clock[machine], 0.0)
        return left
    # Less by what those on a core have done of theirs.
    left = cores.finish.copy()
    cores_of = np.diff(cores.core_first)
    speed = np.repeat(cores.capacity / cores_of, cores_of)
    held = cores.holder != NOBODY
    left[cores.holder[held]] -= (np.maximum(now - cores.since, 0.0) * speed)[held]
    return np.asarray(np.maximum(left, 0.0))


def polled_seconds(cores: Cores, now: float) -> NDArray[Any]:
    """Core-seconds that idle threads have burnt on each machine; in turns they take none."""
    if cores.quantum > 0.0:
        return cores.polled.copy()
    return np.asarray(cores.polled + _passed(cores, now) * cores.burn[cores.polling])


def _passed(cores: Cores, now: float) -> NDArray[Any]:
    """What a thread of each machine got done since the machine was last looked at."""
    wanted = cores.running + cores.burn[cores.polling]
    crowded = cores.capacity / np.maximum(wanted, 1e-12) / (1.0 + cores.switch / USUAL_QUANTUM)
    return np.asarray((now - cores.updated) * np.where(wanted <= cores.capacity, 1.0, crowded))
