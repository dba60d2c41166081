"""Queues, and the threads that wait at them.

A queue is a list of messages. In Storm 2.x the sender puts a tuple straight into it. In Storm 1.x
(Cooper 2020, section 2.7) objects, which are tuples, lists or maps of them, gather in a batch; a
full batch, or any batch when the flush timer goes off, moves to the ring if there is room for all
of it, else it overflows; the consumer takes all that is in the ring. All three parts stand in one
list, because none ever overtakes another.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streamgauge.simulation.compiling import inlined, internal, rare
from streamgauge.simulation.records import (
    FIRST_FREE_ANCHOR,
    FIRST_FREE_MESSAGE,
    FLOODED_QUEUES,
    FLUSH,
    FREE_ANCHORS,
    FREE_MESSAGES,
    NONE,
)
from streamgauge.simulation.state import Program, State
from streamgauge.simulation.threads import wake
from streamgauge.simulation.timers import is_set, next_tick, set_timer


@inlined
def take_message(p: Program, s: State) -> Any:
    """A message from the pool."""
    which = s.free[FIRST_FREE_MESSAGE]
    m = s.message[which]
    s.free[FIRST_FREE_MESSAGE] = m.link
    s.free[FREE_MESSAGES] -= 1
    if p.at.keeps == 1:
        m.anchors = NONE
    if p.at.ackers > 0:
        m.edge = np.uint64(0)
    if p.at.labelled == 1:
        m.hop, m.key, m.size = NONE, NONE, 0.0
    return which


@inlined
def free_message(p: Program, s: State, which: int) -> None:
    """Give a message and its anchors back to their pools."""
    m = s.message[which]
    if p.at.keeps == 1 and m.anchors != NONE:
        _free_anchors(s, which)
    m.link = s.free[FIRST_FREE_MESSAGE]
    s.free[FIRST_FREE_MESSAGE] = which
    s.free[FREE_MESSAGES] += 1


@rare
def _free_anchors(s: State, which: int) -> None:
    m = s.message[which]
    while m.anchors != NONE:
        anchor = m.anchors
        m.anchors = s.anchor[anchor].link
        s.anchor[anchor].link = s.free[FIRST_FREE_ANCHOR]
        s.free[FIRST_FREE_ANCHOR] = anchor
        s.free[FREE_ANCHORS] += 1


@inlined
def _append(s: State, at: int, head: int, tail: int) -> None:
    """Put messages `head` to `tail` at the end of a queue's list."""
    q = s.queue[at]
    s.message[tail].link = NONE
    if q.length == q.overflow:
        q.head = head
    else:
        s.message[q.tail].link = head
    q.tail = tail


@inlined
def _tuples_in(p: Program, s: State, at: int) -> Any:
    """How many tuples are in a queue."""
    q = s.queue[at]
    return q.length - q.flushes if p.rules.flushes == 1 else q.length


@inlined
def _pass_time(p: Program, s: State, at: int, now: float) -> None:
    """Add up how many tuples were in a queue up to now."""
    q = s.queue[at]
    q.area += _tuples_in(p, s, at) * (now - q.changed)
    q.changed = now


@inlined
def _count(p: Program, s: State, at: int, tuples: int, now: float) -> None:
    """Enter an object of so many tuples into a queue's accounts."""
    _pass_time(p, s, at, now)
    q = s.queue[at]
    q.length += tuples
    q.arrived += tuples
    q.objects += 1
    q.peak = max(q.peak, _tuples_in(p, s, at))


@inlined
def push(p: Program, s: State, at: int, which: int, now: float) -> None:
    """Put a message into a plain queue."""
    s.message[which].arrived = now
    _append(s, at, which, which)
    _count(p, s, at, 1, now)


@rare
def push_flush(p: Program, s: State, at: int, which: int, now: float) -> None:
    """Put a flush tuple into a plain queue: it takes room and its turn, but is no tuple."""
    _append(s, at, which, which)
    _pass_time(p, s, at, now)
    s.queue[at].length += 1
    s.queue[at].flushes += 1


@rare
def push_over(p: Program, s: State, at: int, which: int, now: float) -> None:
    """Put a message from another worker behind a full queue."""
    q = s.queue[at]
    s.message[which].arrived = now
    s.message[which].link = NONE
    if q.overflow == 0:
        q.over_head = which
    else:
        s.message[q.over_tail].link = which
    q.over_tail = which
    q.overflow += 1
    _count(p, s, at, 1, now)


@inlined
def pop(p: Program, s: State, at: int, now: float) -> Any:
    """Take the first message out of a queue, or of its overflow when that is next."""
    q = s.queue[at]
    if q.overflow > 0 and (q.taken > 0 or q.length == q.overflow):
        if q.taken == 0:
            q.taken = q.overflow
        q.taken -= 1
        q.overflow -= 1
        which = q.over_head
        q.over_head = s.message[which].link
    else:
        which = q.head
        q.head = s.message[which].link
    _pass_time(p, s, at, now)
    q.length -= 1
    if p.rules.flushes == 1 and s.message[which].what == FLUSH:
        q.flushes -= 1
    else:
        q.sojourn += now - s.message[which].arrived
    return which


@inlined
def take_list(p: Program, s: State, at: int, count: int, now: float) -> Any:
    """Take so many messages out of a queue without overflow; the first of their list."""
    q = s.queue[at]
    _pass_time(p, s, at, now)
    head = which = last = q.head
    for _ in range(count):
        last = which
        q.sojourn += now - s.message[which].arrived
        which = s.message[which].link
    s.message[last].link = NONE
    q.head = which
    q.length -= count
    return head


@inlined
def has_room(s: State, at: int) -> Any:
    """Whether a plain queue takes one more."""
    return s.queue[at].length - s.queue[at].overflow < s.queue[at].limit


@rare
def _next_batch(s: State, at: int, last: int) -> None:
    """The batch that overflowed after the one that ends with `last`."""
    q = s.queue[at]
    following = s.message[last].link
    q.over_head = NONE if following == q.batch_head else following


@inlined
def _close_batch(s: State, at: int) -> None:
    """Move a batch on: into the ring if it is next and fits, else it overflows."""
    q = s.queue[at]
    if q.over_head == NONE and q.ring_objects + q.batch_objects <= q.limit:
        q.ring_objects += q.batch_objects
        q.ring_tuples += q.batch_tuples
    else:
        first = s.message[q.batch_head]
        first.objects, first.tuples, first.last = q.batch_objects, q.batch_tuples, q.tail
        if q.over_head == NONE:
            q.over_head = q.batch_head
    q.batch_head, q.batch_objects, q.batch_tuples = NONE, 0, 0


@rare
def _move_overflow(s: State, at: int) -> None:
    """Move batches that overflowed into the ring, oldest first, while the next one fits."""
    q = s.queue[at]
    while q.over_head != NONE:
        first = s.message[q.over_head]
        if q.ring_objects + first.objects > q.limit:
            return
        q.ring_objects += first.objects
        q.ring_tuples += first.tuples
        _next_batch(s, at, first.last)


@inlined
def _next_flush(p: Program, s: State, at: int, now: float) -> None:
    """Set the flush timer of a queue, which runs free, unless it is set."""
    timer = p.at.flush_timers + at
    if not is_set(s.timers, timer):
        set_timer(s.timers, timer, next_tick(s.queue[at].phase, p.rules.flush, now))


@inlined
def insert(p: Program, s: State, at: int, head: int, tail: int, tuples: int, now: float) -> None:
    """Put an object, messages `head` to `tail` that arrive now, into a batched queue."""
    q = s.queue[at]
    _append(s, at, head, tail)
    _count(p, s, at, tuples, now)
    if q.batch_objects == 0:
        q.batch_head = head
    q.batch_objects += 1
    q.batch_tuples += tuples
    if q.batch_objects >= p.rules.batch:
        _close_batch(s, at)
    elif q.over_head != NONE and q.lingering == 0:
        _move_overflow(s, at)
    if q.batch_objects > 0:
        _next_flush(p, s, at, now)
    if q.ring_tuples > 0:
        wake(p, s, q.consumer, now)
    if q.length > q.high_water and q.flooded == 0:
        q.flooded = 1
        s.counts[FLOODED_QUEUES] += 1


@inlined
def flush(p: Program, s: State, at: int, now: float) -> None:
    """The flush timer of a batched queue: move everything on, and wait for room if need be."""
    q = s.queue[at]
    if q.lingering == 0:
        if q.batch_objects > 0:
            _close_batch(s, at)
        if q.over_head != NONE:
            _move_overflow(s, at)
            q.lingering = 0 if q.over_head == NONE else 1
    if q.batch_objects > 0:
        _next_flush(p, s, at, now)
    if q.ring_tuples > 0:
        wake(p, s, q.consumer, now)


@internal
def take_all(s: State, at: int) -> None:
    """Let the consumer of a batched queue take all that is in the ring."""
    q = s.queue[at]
    q.taken = q.ring_tuples
    q.ring_objects, q.ring_tuples = 0, 0
    if q.lingering == 1:
        _move_overflow(s, at)
        if q.over_head == NONE:
            q.lingering = 0
