"""Timers: the next thing that each part of a simulation is waiting for, earliest first.

Every part (a source, a thread, a link, a machine) has at most one time ahead of it, so the future
is an indexed binary heap of fixed size: setting, moving and clearing a part's timer costs the
logarithm of the number of parts, and nothing is ever left behind to be skipped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.simulation.compiling import compiled, primitive

UNSET = -1

ENTRY = np.dtype([("time", np.float64), ("timer", np.int64)])


class Timers(NamedTuple):
    """The heap as arrays that compiled code can share.

    Attributes:
        heap: Times and their timers by the heap order; what is beyond the last is never due.
        place: Where in the heap each timer is, or UNSET.
        size: How many are in the heap, and the one of them that has gone off, or UNSET.
    """

    heap: NDArray[Any]
    place: NDArray[Any]
    size: NDArray[Any]


def make_timers(count: int) -> Timers:
    """`count` timers, none of them set."""
    heap = np.zeros(count + 1, dtype=ENTRY)
    heap["time"] = np.inf
    return Timers(
        heap=heap,
        place=np.full(count, UNSET, dtype=np.int64),
        size=np.asarray([0, UNSET]),
    )


@compiled
def set_timer(timers: Timers, timer: int, time: float) -> None:
    """Let a timer go off at `time`, whether it was set before or not."""
    place = timers.place[timer]
    if place == UNSET:
        place = _free_place(timers)
    elif timer == timers.size[1]:
        timers.size[1] = UNSET
    _settle(timers, timer, time, place)


@primitive
def _free_place(timers: Timers) -> Any:
    """A place in the heap: that of the timer that has gone off, or a new one at its end.

    So a timer that follows another takes one way through the heap and not two.
    """
    gone = timers.size[1]
    if gone == UNSET:
        place = timers.size[0]
        timers.size[0] = place + 1
        return place
    place = timers.place[gone]
    timers.place[gone], timers.size[1] = UNSET, UNSET
    return place


@compiled
def clear_timer(timers: Timers, timer: int) -> None:
    """Let a timer not go off; fine when it was not set."""
    place = timers.place[timer]
    if place == UNSET:
        return
    timers.place[timer] = UNSET
    if timer == timers.size[1]:
        timers.size[1] = UNSET
    size = timers.size[0] - 1
    timers.size[0] = size
    last, time = timers.heap[size].timer, timers.heap[size].time
    timers.heap[size].time = np.inf
    if last != timer:
        _settle(timers, last, time, place)


@primitive
def let_go_off(timers: Timers, timer: int) -> None:
    """Let the first timer go off: it counts as not set, but its place is kept for the next one."""
    timers.size[1] = timer


@primitive
def clear_gone(timers: Timers) -> None:
    """Give up the place of the timer that has gone off, if nobody took it."""
    gone = timers.size[1]
    if gone != UNSET:
        timers.size[1] = UNSET
        clear_timer(timers, gone)


@primitive
def is_set(timers: Timers, timer: int) -> Any:
    """Whether a timer has yet to go off."""
    return timers.place[timer] != UNSET and timer != timers.size[1]


@primitive
def first_timer(timers: Timers) -> Any:
    """The timer that goes off first, or UNSET; of equal times any, but always the same one."""
    return timers.heap[0].timer if timers.size[0] > 0 else UNSET


@primitive
def first_time(timers: Timers) -> Any:
    """When the first timer goes off; never when none is set."""
    return timers.heap[0].time


def times_of(timers: Timers, which: slice) -> NDArray[Any]:
    """When some timers go off; never where they are not set. Not for compiled code."""
    place = timers.place[which]
    return np.where(place == UNSET, np.inf, timers.heap["time"][place])


@primitive
def _settle(timers: Timers, timer: int, time: float, place: int) -> None:
    """Put a timer into the gap at `place`, or where the gap goes as others move into it."""
    while place > 0:
        parent = (place - 1) >> 1
        above = timers.heap[parent]
        if above.time <= time:
            break
        timers.heap[place].time, timers.heap[place].timer = above.time, above.timer
        timers.place[above.timer] = place
        place = parent
    size = timers.size[0]
    child = 2 * place + 1
    while child < size:
        # Without a branch, as either child may be the earlier; there is always a right one.
        child += timers.heap[child + 1].time < timers.heap[child].time
        below = timers.heap[child]
        if below.time >= time:
            break
        timers.heap[place].time, timers.heap[place].timer = below.time, below.timer
        timers.place[below.timer] = place
        place = child
        child = 2 * place + 1
    timers.heap[place].time, timers.heap[place].timer = time, timer
    timers.place[timer] = place


@primitive
def next_tick(phase: float, every: float, now: float) -> Any:
    """The next time after `now` of a clock that ticks at `phase` and then `every` so often."""
    tick = phase + (np.floor((now - phase) / every) + 1.0) * every
    # Rounding may have found the tick that is now.
    return tick if tick > now else tick + every
