"""Timers: the next thing that each part of a simulation is waiting for, earliest first.

Every part (a source, a thread, a link, a machine) has at most one time ahead of it, so the future
is an indexed binary heap of fixed size: setting, moving and clearing a part's timer costs the
logarithm of the number of parts, and nothing is ever left behind to be skipped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.simulation.compiling import inlined

UNSET = -1


class Timers(NamedTuple):
    """The heap as arrays that compiled code can share.

    Attributes:
        time: When each timer goes off; only meaningful while it is set.
        heap: Timers by the heap order.
        place: Where in the heap each timer is, or UNSET.
        size: How many are set, in an array of one.
    """

    time: NDArray[Any]
    heap: NDArray[Any]
    place: NDArray[Any]
    size: NDArray[Any]


def make_timers(count: int) -> Timers:
    """`count` timers, none of them set."""
    return Timers(
        time=np.zeros(count),
        heap=np.zeros(count, dtype=np.int64),
        place=np.full(count, UNSET, dtype=np.int64),
        size=np.zeros(1, dtype=np.int64),
    )


@inlined
def set_timer(timers: Timers, timer: int, time: float) -> None:
    """Let a timer go off at `time`, whether it was set before or not."""
    place = timers.place[timer]
    timers.time[timer] = time
    if place == UNSET:
        place = timers.size[0]
        timers.size[0] += 1
    _settle(timers, timer, _raised(timers, timer, place))


@inlined
def clear_timer(timers: Timers, timer: int) -> None:
    """Let a timer not go off; fine when it was not set."""
    place = timers.place[timer]
    if place == UNSET:
        return
    timers.place[timer] = UNSET
    timers.size[0] -= 1
    last = timers.heap[timers.size[0]]
    if last != timer:
        _settle(timers, last, _raised(timers, last, place))


@inlined
def first_timer(timers: Timers) -> int:
    """The timer that goes off first, or UNSET; of equal times any, but always the same one."""
    if timers.size[0] == 0:
        return UNSET
    return int(timers.heap[0])


@inlined
def _raised(timers: Timers, timer: int, place: int) -> int:
    """Move later timers down from `place` upwards; where the timer belongs then."""
    time = timers.time[timer]
    while place > 0:
        parent = (place - 1) >> 1
        other = timers.heap[parent]
        if timers.time[other] <= time:
            break
        timers.heap[place] = other
        timers.place[other] = place
        place = parent
    return place


@inlined
def _settle(timers: Timers, timer: int, place: int) -> None:
    """Move earlier timers up from `place` downwards, and put the timer where they leave room."""
    time = timers.time[timer]
    size = timers.size[0]
    child = 2 * place + 1
    while child < size:
        other = timers.heap[child]
        if child + 1 < size and timers.time[timers.heap[child + 1]] < timers.time[other]:
            child += 1
            other = timers.heap[child]
        if timers.time[other] >= time:
            break
        timers.heap[place] = other
        timers.place[other] = place
        place = child
        child = 2 * place + 1
    timers.heap[place] = timer
    timers.place[timer] = place


@inlined
def next_tick(phase: float, every: float, now: float) -> Any:
    """The next time after `now` of a clock that ticks at `phase` and then `every` so often."""
    tick = phase + (np.floor((now - phase) / every) + 1.0) * every
    # Rounding may have found the tick that is now.
    return tick if tick > now else tick + every
