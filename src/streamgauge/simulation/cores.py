"""Cores shared by the threads of a machine.

Threads that share a pool of cores do so evenly: of n runnable threads on c cores, each runs at the
rate min(1, c/n); idle threads that poll count as the part of a thread that they were measured to
be. Every core is a pool of its own. A thread wakes on the core that it had, even if another one is
idle; from time to time, about as often as the kernel looks (docs/contention.md), a core with at
least two threads more than another passes one on to it. Where threads find any free core at once,
all cores of a machine are one pool.

Processor sharing is computed in virtual time. A pool's clock advances at the rate of its threads,
so a thread that needs w seconds of a core finishes when the clock has moved by w, however many
threads come and go meanwhile: an event costs the logarithm of the number of threads. Events look at
pools where somebody wants a core, which a machine keeps in a list; all others have the rate one.

How cores are shared is known here only. Whoever shares them in another way replaces `Cores`,
`make_cores` and these functions, none of which sets a timer:

* `start`: a thread wants so many seconds of a core;
* `next_finish`: when the first thread of a machine is done, or anything else is to be looked at;
  never, if no thread wants a core;
* `stop_first`: at that time, the thread that is done, or NOBODY;
* `add_polling`: an idle thread begins to poll, or ends;
* `work_left` and `polled_seconds`, outside of the kernel: what threads have yet to get of what they
  wanted, and what those that poll have burnt.

After any of the first, the third and the fourth, and before time goes on, the kernel asks for
`next_finish` again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import InvalidInput
from streamgauge.simulation.compiling import primitive

NOBODY = -1
# The place in a machine's list of a pool that is not in it.
UNLISTED = -1
# A core passes a thread on to one that has so many fewer.
UNEVEN = 2


class Cores(NamedTuple):
    """All machines and the threads that run on them, as arrays that compiled code can share.

    Attributes:
        balance: By machine: seconds between two looks at whether its pools are uneven.
        look: By machine: when its pools are looked at next, if they are uneven, and
        looked: when anything last happened there.
        pool_first: Where each machine's pools begin; one entry more than machines.
        capacity: Cores of each pool that are not kept busy by something else.
        clock: Virtual time of each pool.
        updated: When each pool's clock was last moved.
        rate: At which each pool's threads run.
        end: When the first thread of each pool is done, if nothing else happens.
        busy: Core-seconds that each pool has spent so far.
        running: Threads that want a core, by pool.
        listed: How many pools are in each machine's list: all where threads run, or where those
            that poll might want more than there is.
        listing: The lists, one after the other.
        spot: The place of each pool in them, or UNLISTED.
        soonest: By machine: the pool whose thread is done first, or NOBODY.
        first: Where each pool's part of `heap` begins.
        heap: Running threads of each pool by virtual finishing time.
        finish: Virtual finishing time of each thread.
        pool: The pool of each thread, or the one it last had.
        polling: Idle threads that burn cores, by machine.
        pollers: The same by pool: each polls on the core that it last had.
        resting: The same by machine, of pools that are not listed.
        counted: By machine: up to when `polled` holds what they have spent.
        moved: By machine: whether threads began or ended to poll since `next_finish`.
        crowd: So many may poll in a pool, at most, without wanting more than there is.
        burn: Cores that each of so many of a machine keeps busy if nobody else wants them.
        polled: Core-seconds they have spent so far, by machine.
    """

    balance: NDArray[Any]
    look: NDArray[Any]
    looked: NDArray[Any]
    pool_first: NDArray[Any]
    capacity: NDArray[Any]
    clock: NDArray[Any]
    updated: NDArray[Any]
    rate: NDArray[Any]
    end: NDArray[Any]
    busy: NDArray[Any]
    running: NDArray[Any]
    listed: NDArray[Any]
    listing: NDArray[Any]
    spot: NDArray[Any]
    soonest: NDArray[Any]
    first: NDArray[Any]
    heap: NDArray[Any]
    finish: NDArray[Any]
    pool: NDArray[Any]
    polling: NDArray[Any]
    pollers: NDArray[Any]
    resting: NDArray[Any]
    counted: NDArray[Any]
    moved: NDArray[Any]
    crowd: NDArray[Any]
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
    together = np.arange(1.0, len(of_thread) + 1.0)
    burn = np.concatenate([[0.0], poll_cores * together**poll_growth / together])
    capacity = np.repeat(free / pools, pools)
    return Cores(
        balance=looks,
        look=np.zeros(count),
        looked=np.zeros(count),
        pool_first=pool_first,
        capacity=capacity,
        clock=np.zeros(total),
        updated=np.zeros(total),
        rate=np.ones(total),
        end=np.full(total, np.inf),
        busy=np.zeros(total),
        running=np.zeros(total, dtype=np.int64),
        listed=np.zeros(count, dtype=np.int64),
        listing=np.zeros(total, dtype=np.int64),
        spot=np.full(total, UNLISTED, dtype=np.int64),
        soonest=np.full(count, NOBODY, dtype=np.int64),
        first=np.cumsum(room) - room,
        heap=np.full(int(room.sum()), NOBODY, dtype=np.int64),
        finish=np.zeros(len(of_thread)),
        pool=pool_first[of_thread] + turn,
        polling=np.zeros(count, dtype=np.int64),
        pollers=np.zeros(total, dtype=np.int64),
        resting=np.zeros(count, dtype=np.int64),
        counted=np.zeros(count),
        moved=np.zeros(count, dtype=np.int64),
        crowd=np.floor(capacity / max(float(burn.max()), 1e-12)).astype(np.int64),
        burn=burn,
        polled=np.zeros(count),
    )


@primitive
def _burnt(cores: Cores, machine: int, pool: int) -> Any:
    """Cores of a pool that idle threads want."""
    return cores.burn[cores.polling[machine]] * cores.pollers[pool]


@primitive
def advance(cores: Cores, machine: int, pool: int, now: float) -> None:
    """Move a pool's virtual clock on to `now`."""
    passed = now - cores.updated[pool]
    if passed > 0.0:
        done = passed * cores.rate[pool]
        cores.clock[pool] += done
        cores.busy[pool] += done * cores.running[pool]
        if cores.spot[pool] != UNLISTED:
            cores.polled[machine] += done * _burnt(cores, machine, pool)
        cores.updated[pool] = now
    cores.looked[machine] = now


@primitive
def _retime(cores: Cores, machine: int, pool: int) -> None:
    """Find the rate of a pool's threads, and when the first of them is done."""
    running = cores.running[pool]
    wanted = running + _burnt(cores, machine, pool)
    capacity = cores.capacity[pool]
    rate = 1.0 if wanted <= capacity else capacity / wanted
    cores.rate[pool] = rate
    end = np.inf
    if running > 0:
        left = cores.finish[cores.heap[cores.first[pool]]] - cores.clock[pool]
        end = cores.updated[pool] + max(left, 0.0) / rate
    cores.end[pool] = end


@primitive
def _count_resting(cores: Cores, machine: int, now: float) -> None:
    """Add up what idle threads have burnt on pools that are not listed."""
    each = cores.burn[cores.polling[machine]]
    cores.polled[machine] += (now - cores.counted[machine]) * each * cores.resting[machine]
    cores.counted[machine] = now


@primitive
def _is_crowded(cores: Cores, pool: int) -> Any:
    """Whether idle threads alone might want more than a pool has."""
    return cores.pollers[pool] > cores.crowd[pool]


@primitive
def _list(cores: Cores, machine: int, pool: int, now: float) -> None:
    """Put a pool into its machine's list."""
    _count_resting(cores, machine, now)
    cores.resting[machine] -= cores.pollers[pool]
    spot = cores.pool_first[machine] + cores.listed[machine]
    cores.listed[machine] += 1
    cores.listing[spot], cores.spot[pool] = pool, spot


@primitive
def _unlist(cores: Cores, machine: int, pool: int, now: float) -> None:
    """Take a pool where nobody runs out of its machine's list."""
    _count_resting(cores, machine, now)
    cores.resting[machine] += cores.pollers[pool]
    cores.listed[machine] -= 1
    spot = cores.spot[pool]
    last = cores.listing[cores.pool_first[machine] + cores.listed[machine]]
    cores.listing[spot], cores.spot[last] = last, spot
    cores.spot[pool] = UNLISTED
    cores.rate[pool], cores.end[pool] = 1.0, np.inf


@primitive
def add_polling(cores: Cores, machine: int, thread: int, change: int, now: float) -> None:
    """Let an idle thread burn a core (a change of one), or no longer (of minus one)."""
    first = cores.pool_first[machine]
    for spot in range(first, first + cores.listed[machine]):
        advance(cores, machine, cores.listing[spot], now)
    _count_resting(cores, machine, now)
    pool = cores.pool[thread]
    cores.polling[machine] += change
    cores.pollers[pool] += change
    cores.moved[machine], cores.looked[machine] = 1, now
    if cores.spot[pool] != UNLISTED:
        if cores.running[pool] == 0 and not _is_crowded(cores, pool):
            _unlist(cores, machine, pool, now)
        return
    cores.resting[machine] += change
    if _is_crowded(cores, pool):
        advance(cores, machine, pool, now)
        _list(cores, machine, pool, now)


@primitive
def start(cores: Cores, machine: int, thread: int, work: float, now: float) -> None:
    """Let an idle thread run for `work` seconds of a core."""
    pool = cores.pool[thread]
    advance(cores, machine, pool, now)
    _push(cores, machine, pool, thread, cores.clock[pool] + work)


@primitive
def _push(cores: Cores, machine: int, pool: int, thread: int, finish: float) -> None:
    """Let a thread run in a pool whose clock stands at this moment."""
    if cores.spot[pool] == UNLISTED:
        _list(cores, machine, pool, cores.looked[machine])
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
    _retime(cores, machine, pool)


@primitive
def next_finish(cores: Cores, machine: int) -> Any:
    """When the first thread of a machine finishes, or its pools are to be made even; or inf."""
    first, listed = cores.pool_first[machine], cores.listed[machine]
    moved = cores.moved[machine] == 1
    cores.moved[machine] = 0
    soonest, earliest = NOBODY, np.inf
    most, least = 0, cores.running[cores.listing[first]]
    for spot in range(first, first + listed):
        pool = cores.listing[spot]
        if moved:
            _retime(cores, machine, pool)
        end = cores.end[pool]
        # Of several the first one, in whichever order they came into the list; without a branch,
        # as any may be the earliest.
        sooner = (end < earliest) | ((end == earliest) & (pool < soonest))
        soonest, earliest = pool if sooner else soonest, min(earliest, end)
        most, least = max(most, cores.running[pool]), min(least, cores.running[pool])
    cores.soonest[machine] = soonest
    if listed < cores.pool_first[machine + 1] - first:
        least = 0
    if most - least >= UNEVEN:
        if cores.looked[machine] >= cores.look[machine]:
            every = cores.balance[machine]
            cores.look[machine] = (np.floor(cores.looked[machine] / every) + 1.0) * every
        earliest = min(earliest, cores.look[machine])
    return earliest


@primitive
def stop_first(cores: Cores, machine: int, now: float) -> Any:
    """Take the first thread to finish off its core; NOBODY if a thread was passed on instead."""
    pool = cores.soonest[machine]
    if pool == NOBODY or cores.end[pool] > now:
        _pass_on(cores, machine, now)
        return NOBODY
    advance(cores, machine, pool, now)
    done = _pop(cores, pool)
    if cores.running[pool] > 0 or _is_crowded(cores, pool):
        _retime(cores, machine, pool)
    else:
        _unlist(cores, machine, pool, now)
    return done


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
    _retime(cores, machine, most)
    _push(cores, machine, least, thread, cores.clock[least] + left)


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
    clock = cores.clock + (now - cores.updated) * cores.rate
    for pool in np.flatnonzero(cores.running):
        first = cores.first[pool]
        threads = cores.heap[first : first + cores.running[pool]]
        left[threads] = np.maximum(cores.finish[threads] - clock[pool], 0.0)
    return left


def polled_seconds(cores: Cores, now: float) -> NDArray[Any]:
    """Core-seconds that idle threads have burnt on each machine."""
    each = cores.burn[cores.polling]
    counts = np.diff(cores.pool_first)
    listed = np.where(cores.spot == UNLISTED, 0.0, (now - cores.updated) * cores.rate)
    more = listed * np.repeat(each, counts) * cores.pollers
    resting = (now - cores.counted) * each * cores.resting
    return np.asarray(cores.polled + np.add.reduceat(more, cores.pool_first[:-1]) + resting)
