"""Cores shared by the threads of a machine.

Threads that share a pool of cores do so evenly: of n runnable threads on c cores, each runs at the
rate min(1, c/n); idle threads that poll count as the part of a thread that they were measured to
be. Every core is a pool of its own. A thread wakes on the core that it had, even if another one is
idle; from time to time, about as often as the kernel looks (docs/contention.md), a core with at
least two threads more than another passes one on to it. Where threads find any free core at once,
all cores of a machine are one pool.

Processor sharing is computed in virtual time. A pool's clock advances at the rate of its threads,
so a thread that needs w seconds of a core finishes when the clock has moved by w, however many
threads come and go meanwhile: an event costs the logarithm of the number of threads.

How cores are shared is known here only. Whoever shares them in another way replaces `Cores`,
`make_cores` and these functions, none of which sets a timer:

* `start`: a thread wants so many seconds of a core;
* `next_finish`: when the first thread of a machine is done, or anything else is to be looked at;
  never, if no thread wants a core;
* `stop_first`: at that time, the thread that is done, or NOBODY;
* `add_polling`: an idle thread begins to poll, or ends;
* `work_left` and `polled_seconds`, outside of the kernel: what threads have yet to get of what they
  wanted, and what those that poll have burnt.

After each of the first, the third and the fourth the kernel asks for `next_finish` again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import InvalidInput
from streamgauge.simulation.compiling import primitive

NOBODY = -1
# A core passes a thread on to one that has so many fewer.
UNEVEN = 2


class Cores(NamedTuple):
    """All machines and the threads that run on them, as arrays that compiled code can share.

    Attributes:
        balance: By machine: seconds between two looks at whether its pools are uneven.
        looked: By machine: when anything last happened there.
        pool_first: Where each machine's pools begin; one entry more than machines.
        capacity: Cores of each pool that are not kept busy by something else.
        clock: Virtual time of each pool.
        updated: When each pool's clock was last moved.
        busy: Core-seconds that each pool has spent so far.
        running: Threads that want a core, by pool.
        first: Where each pool's part of `heap` begins.
        heap: Running threads of each pool by virtual finishing time.
        finish: Virtual finishing time of each thread.
        pool: The pool of each thread, or the one it last had.
        polling: Idle threads that burn cores, by machine.
        pollers: The same by pool: each polls on the core that it last had.
        burn: Cores that so many of a machine keep busy if nobody else wants them.
        polled: Core-seconds they have spent so far, by machine.
    """

    balance: NDArray[Any]
    looked: NDArray[Any]
    pool_first: NDArray[Any]
    capacity: NDArray[Any]
    clock: NDArray[Any]
    updated: NDArray[Any]
    busy: NDArray[Any]
    running: NDArray[Any]
    first: NDArray[Any]
    heap: NDArray[Any]
    finish: NDArray[Any]
    pool: NDArray[Any]
    polling: NDArray[Any]
    pollers: NDArray[Any]
    burn: NDArray[Any]
    polled: NDArray[Any]


def make_cores(
    cores: Sequence[float],
    machine_of_thread: Sequence[int],
    *,
    background: Sequence[float] | None = None,
    balance: Sequence[float] | None = None,
    poll_cores: float = 0.0,
    poll_growth: float = 1.0,
) -> Cores:
    """Machines with that many cores, and the machine of each thread.

    Args:
        cores: Of each machine.
        machine_of_thread: By thread; those of one machine are dealt to its cores in turn.
        background: Cores of each machine that something else keeps busy; none if not given.
        balance: Seconds between two looks at whether a machine's cores are uneven; zero, or not
            given: its threads find any free core.
        poll_cores: Cores that one polling thread keeps busy.
        poll_growth: The power of their number by which several do.

    Raises:
        InvalidInput: A machine has no core to spare.
    """
    count = len(cores)
    free = np.asarray(cores, dtype=np.float64) - (0.0 if background is None else background)
    for machine, left in enumerate(free.tolist()):
        if not left > 0.0:
            raise InvalidInput.single(
                ("machines", machine),
                seen=f"{left:g} free cores",
                expected="more than zero, or nothing there would ever finish",
                remedy="reduce the background load",
            )
    looks = np.zeros(count) if balance is None else np.asarray(balance, dtype=np.float64)
    of_thread = np.asarray(machine_of_thread, dtype=np.int64)
    threads = np.bincount(of_thread, minlength=count)
    # Threads with a whole core each are never in each other's way: one pool does, and is faster.
    apart = (looks > 0.0) & (threads > np.where(free == cores, free, 0.0))
    pools = np.where(apart, np.ceil(cores), 1.0).astype(np.int64)
    pool_first = np.concatenate([[0], np.cumsum(pools)])
    # Every pool has room for all threads of its machine.
    room = np.repeat(threads, pools)
    turn = np.zeros(len(of_thread), dtype=np.int64)
    for machine in range(count):
        turn[of_thread == machine] = np.arange(threads[machine]) % pools[machine]
    total = int(pool_first[-1])
    return Cores(
        balance=looks,
        looked=np.zeros(count),
        pool_first=pool_first,
        capacity=np.repeat(free / pools, pools),
        clock=np.zeros(total),
        updated=np.zeros(total),
        busy=np.zeros(total),
        running=np.zeros(total, dtype=np.int64),
        first=np.cumsum(room) - room,
        heap=np.full(int(room.sum()), NOBODY, dtype=np.int64),
        finish=np.zeros(len(of_thread)),
        pool=pool_first[of_thread] + turn,
        polling=np.zeros(count, dtype=np.int64),
        pollers=np.zeros(total, dtype=np.int64),
        burn=poll_cores * np.arange(len(of_thread) + 1.0) ** poll_growth,
        polled=np.zeros(count),
    )


@primitive
def _burnt(cores: Cores, machine: int, pool: int) -> Any:
    """Cores of a pool that idle threads want."""
    if cores.pollers[pool] == 0:
        return 0.0
    polling = cores.polling[machine]
    return cores.burn[polling] * cores.pollers[pool] / polling


@primitive
def _rate(cores: Cores, machine: int, pool: int) -> Any:
    wanted = cores.running[pool] + _burnt(cores, machine, pool)
    capacity = cores.capacity[pool]
    return 1.0 if wanted <= capacity else capacity / wanted


@primitive
def advance(cores: Cores, machine: int, pool: int, now: float) -> None:
    """Move a pool's virtual clock on to `now`."""
    passed = now - cores.updated[pool]
    if passed > 0.0:
        rate = _rate(cores, machine, pool)
        cores.clock[pool] += passed * rate
        cores.busy[pool] += passed * rate * cores.running[pool]
        cores.polled[machine] += passed * rate * _burnt(cores, machine, pool)
        cores.updated[pool] = now
    cores.looked[machine] = now


@primitive
def add_polling(cores: Cores, machine: int, thread: int, change: int, now: float) -> None:
    """Let an idle thread burn a core (a change of one), or no longer (of minus one)."""
    for pool in range(cores.pool_first[machine], cores.pool_first[machine + 1]):
        advance(cores, machine, pool, now)
    cores.polling[machine] += change
    cores.pollers[cores.pool[thread]] += change


@primitive
def start(cores: Cores, machine: int, thread: int, work: float, now: float) -> None:
    """Let an idle thread run for `work` seconds of a core."""
    pool = cores.pool[thread]
    advance(cores, machine, pool, now)
    _push(cores, pool, thread, cores.clock[pool] + work)


@primitive
def _push(cores: Cores, pool: int, thread: int, finish: float) -> None:
    cores.finish[thread] = finish
    first = cores.first[pool]
    place = cores.running[pool]
    cores.running[pool] += 1
    while place > 0:
        parent = (place - 1) >> 1
        other = cores.heap[first + parent]
        if cores.finish[other] <= finish:
            break
        cores.heap[first + place] = other
        place = parent
    cores.heap[first + place] = thread


@primitive
def _pool_finish(cores: Cores, machine: int, pool: int) -> Any:
    """When the first thread of a pool finishes, if nothing else happens."""
    if cores.running[pool] == 0:
        return np.inf
    left = cores.finish[cores.heap[cores.first[pool]]] - cores.clock[pool]
    return cores.updated[pool] + max(left, 0.0) / _rate(cores, machine, pool)


@primitive
def next_finish(cores: Cores, machine: int) -> Any:
    """When the first thread of a machine finishes, or its pools are to be made even; or inf."""
    first = cores.pool_first[machine]
    earliest = _pool_finish(cores, machine, first)
    least = most = cores.running[first]
    for pool in range(first + 1, cores.pool_first[machine + 1]):
        earliest = min(earliest, _pool_finish(cores, machine, pool))
        least, most = min(least, cores.running[pool]), max(most, cores.running[pool])
    if most - least >= UNEVEN:
        every = cores.balance[machine]
        earliest = min(earliest, (np.floor(cores.looked[machine] / every) + 1.0) * every)
    return earliest


@primitive
def stop_first(cores: Cores, machine: int, now: float) -> Any:
    """Take the first thread to finish off its core; NOBODY if a thread was passed on instead."""
    found, earliest = cores.pool_first[machine], np.inf
    for pool in range(cores.pool_first[machine], cores.pool_first[machine + 1]):
        finish = _pool_finish(cores, machine, pool)
        if finish < earliest:
            found, earliest = pool, finish
    if earliest > now:
        _pass_on(cores, machine, now)
        return NOBODY
    advance(cores, machine, found, now)
    return _pop(cores, found)


@primitive
def _pass_on(cores: Cores, machine: int, now: float) -> None:
    """Move a thread from the pool that has most to the one that has least."""
    least = most = cores.pool_first[machine]
    for pool in range(least + 1, cores.pool_first[machine + 1]):
        least = pool if cores.running[pool] < cores.running[least] else least
        most = pool if cores.running[pool] > cores.running[most] else most
    advance(cores, machine, least, now)
    advance(cores, machine, most, now)
    # The last of a heap may leave it without disturbing the others.
    cores.running[most] -= 1
    thread = cores.heap[cores.first[most] + cores.running[most]]
    left = max(cores.finish[thread] - cores.clock[most], 0.0)
    cores.pool[thread] = least
    _push(cores, least, thread, cores.clock[least] + left)


@primitive
def _pop(cores: Cores, pool: int) -> Any:
    first = cores.first[pool]
    done = cores.heap[first]
    cores.running[pool] -= 1
    size = cores.running[pool]
    if size == 0:
        # An idle pool's clock may start anew: sums of many small steps stay exact.
        cores.clock[pool] = 0.0
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


def work_left(cores: Cores, now: float) -> NDArray[Any]:
    """Work that is left of each thread's service, in seconds of a core."""
    left = np.zeros(len(cores.finish))
    clock = cores.clock + _passed(cores, now)
    for pool in np.flatnonzero(cores.running):
        first = cores.first[pool]
        threads = cores.heap[first : first + cores.running[pool]]
        left[threads] = np.maximum(cores.finish[threads] - clock[pool], 0.0)
    return left


def polled_seconds(cores: Cores, now: float) -> NDArray[Any]:
    """Core-seconds that idle threads have burnt on each machine."""
    more = _passed(cores, now) * _all_burnt(cores)
    return np.asarray(cores.polled + np.add.reduceat(more, cores.pool_first[:-1]))


def _passed(cores: Cores, now: float) -> NDArray[Any]:
    """What a thread of each pool got done since the pool was last looked at."""
    wanted = cores.running + _all_burnt(cores)
    rate = np.minimum(1.0, cores.capacity / np.maximum(wanted, 1e-12))
    return np.asarray((now - cores.updated) * rate)


def _all_burnt(cores: Cores) -> NDArray[Any]:
    """Cores of each pool that idle threads want."""
    each = cores.burn[cores.polling] / np.maximum(cores.polling, 1)
    return np.asarray(np.repeat(each, np.diff(cores.pool_first)) * cores.pollers)
