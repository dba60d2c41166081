"""Windows and joins: tuples that are kept before something is done with them.

A window belongs to a task. At a trigger the tuples that have left the window expire and are acked,
then the window function gets those that are left, and what it emits is anchored to all of them: a
tumbling window's tuples are acked at the next trigger. Storm also looks for tuples that have
expired after every hundred that came. A count trigger runs on the executor's thread, a time trigger
on a thread of its own.

A join on keys keeps a tuple until every input has one of the same key, or drops it (acked) once it
is too old, which is noticed when the next tuple comes.
"""

from __future__ import annotations

from typing import Any

from streamgauge.simulation.compiling import inlined, rare
from streamgauge.simulation.queues import free_message, pop, push
from streamgauge.simulation.records import (
    ACK,
    FREE_MESSAGES,
    NONE,
)
from streamgauge.simulation.state import Program, State
from streamgauge.simulation.timers import is_set, next_tick, set_timer
from streamgauge.simulation.trees import acknowledge, anchors_in, verdict_on

# Storm's WindowManager: EXPIRE_EVENTS_THRESHOLD.
SCAN_AFTER = 100


@inlined
def _is_old(s: State, window: int) -> Any:
    """Whether the oldest tuple has left the window."""
    w = s.window[window]
    q = s.queue[w.queue]
    if q.length == 0:
        return False
    if w.length > 0:
        return q.length > w.length
    return s.message[q.head].arrived <= w.reference - w.span


@rare
def expire(p: Program, s: State, window: int, thread: int, now: float) -> None:
    """Ack, or fail, and forget the tuples that have left a window."""
    w = s.window[window]
    w.since_scan = 0
    while _is_old(s, window):
        which = pop(p, s, w.queue, now)
        w.roots -= anchors_in(s, which)
        t = s.thread[thread]
        acknowledge(p, s, thread, which, verdict_on(p, s, t.operator, t.executor), now)
        free_message(p, s, which)


@rare
def first_trigger(p: Program, s: State, window: int, now: float) -> None:
    """Set the timer of a time trigger, which nobody missed while the window was empty."""
    w = s.window[window]
    timer = p.at.thread_timers + w.thread
    if not is_set(s.timers, timer):
        w.due = next_tick(w.phase, w.every, now)
        set_timer(s.timers, timer, w.due)


@rare
def next_trigger(p: Program, s: State, window: int, now: float) -> None:
    """Set the timer of a time trigger after one: at a fixed rate, and at once where it is late."""
    w = s.window[window]
    w.due += w.every
    set_timer(s.timers, p.at.thread_timers + w.thread, max(w.due, now))


@rare
def add_to_window(p: Program, s: State, window: int, thread: int, which: int, now: float) -> Any:
    """Put a tuple into the window of its task; whether the count trigger fires."""
    w = s.window[window]
    push(p, s, w.queue, which, now)
    w.roots += anchors_in(s, which)
    w.since_trigger += 1
    w.since_scan += 1
    if w.slide > 0 and w.since_trigger >= w.slide:
        return True
    if w.since_scan >= SCAN_AFTER and w.size == 0:
        expire(p, s, window, thread, now)
    return False


@rare
def fire(p: Program, s: State, window: int, thread: int, now: float) -> None:
    """A trigger: what has left the window expires, and the thread has its function to run."""
    w = s.window[window]
    w.since_trigger = 0
    w.reference = now
    expire(p, s, window, thread, now)
    s.thread[thread].window = window


@rare
def is_even(p: Program, s: State, window: int) -> bool:
    """Whether the counts of a window's tuples by input are all even or all odd."""
    w = s.window[window]
    which = s.queue[w.queue].head
    odd = 0
    for _ in range(w.size):
        m = s.message[which]
        odd ^= 1 << p.subscription[m.what].input
        which = m.link
    every = (1 << p.operator[p.task[w.task].operator].inputs) - 1
    return odd in (0, every)


@rare
def drop_old(p: Program, s: State, join: int, operator: int, thread: int, now: float) -> None:
    """Ack and forget tuples of a join that waited too long for their partners."""
    while s.age[join, 0] != NONE:
        which = s.age[join, 0]
        m = s.message[which]
        if m.arrived > now - p.operator[operator].within:
            return
        if s.free[FREE_MESSAGES] < 2 * p.at.reserve + anchors_in(s, which):
            # There is room for all when the next tuple comes.
            return
        # The oldest of all is the first of its own queue.
        _leave_age(s, join, which)
        pop(p, s, _join_queue(p, s, which), now)
        acknowledge(p, s, thread, which, ACK, now)
        free_message(p, s, which)


@rare
def _join_queue(p: Program, s: State, which: int) -> Any:
    """The queue of tuples with the same key, task and input."""
    m = s.message[which]
    u = p.subscription[m.what]
    o = p.operator[p.task[m.task].operator]
    key = p.join_key[u.join_keys + m.key]
    return p.at.joins + p.task[m.task].join + key * o.inputs + u.input


@rare
def join_roots(p: Program, s: State, which: int) -> Any:
    """How many roots a tuple and the partners it would find have, at the most."""
    at = _join_queue(p, s, which)
    first = at - p.subscription[s.message[which].what].input
    roots = anchors_in(s, which)
    for place in range(first, first + p.operator[p.task[s.message[which].task].operator].inputs):
        if place != at and s.queue[place].length > 0:
            roots += anchors_in(s, s.queue[place].head)
    return roots


@rare
def _leave_age(s: State, join: int, which: int) -> None:
    m = s.message[which]
    if m.older == NONE:
        s.age[join, 0] = m.younger
    else:
        s.message[m.older].younger = m.younger
    if m.younger == NONE:
        s.age[join, 1] = m.older
    else:
        s.message[m.younger].older = m.older


@rare
def add_to_join(p: Program, s: State, operator: int, which: int, now: float) -> int:
    """Keep a tuple; if all its partners are there, the first of a list of them, else NONE."""
    m = s.message[which]
    join = m.task
    at = _join_queue(p, s, which)
    push(p, s, at, which, now)
    m.older, m.younger = s.age[join, 1], NONE
    if m.older == NONE:
        s.age[join, 0] = which
    else:
        s.message[m.older].younger = which
    s.age[join, 1] = which
    inputs = p.operator[operator].inputs
    first = at - p.subscription[m.what].input
    for place in range(first, first + inputs):
        if s.queue[place].length == 0:
            return NONE
    head = NONE
    for place in range(first, first + inputs):
        partner = pop(p, s, place, now)
        _leave_age(s, join, partner)
        s.message[partner].link = head
        head = partner
    return head
