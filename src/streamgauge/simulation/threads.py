"""Threads: how they wait, wake, work and are blocked.

An idle executor polls for a while, burning a core, and then sleeps a little at a time; whoever
brings it work finds it awake or waits for the end of its sleep. Nothing happens while nothing
happens: when a thread will notice is computed when there is something to notice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streamgauge.simulation.compiling import inlined, internal, rare
from streamgauge.simulation.cores import add_polling, next_finish, start
from streamgauge.simulation.draws import normal
from streamgauge.simulation.records import (
    BLOCKED,
    EXECUTOR,
    IDLE,
    NONE,
    ON_CORE,
    READY_THREADS,
    SOURCE,
    TRANSFER,
    WAITING,
    WAKING,
)
from streamgauge.simulation.state import Program, State
from streamgauge.simulation.timers import UNSET, clear_timer, next_tick, set_timer


@inlined
def _rest_of_sleep(p: Program, s: State, which: int, now: float) -> Any:
    """How long an idle thread does not notice its work: not while it polls, else while it sleeps.

    Sleeps vary, so that the n-th ends √n times their deviation off the beat. If work came after
    that, or before the end of the sleep before, it is another sleep that the thread is in.
    """
    t = s.thread[which]
    spin, sleep = 0.0, 0.0
    if t.what == EXECUTOR:
        if t.kind == SOURCE:
            sleep = p.rules.source_sleep
        else:
            spin, sleep = p.rules.bolt_spin, p.rules.bolt_sleep
    elif t.what == TRANSFER:
        sleep = p.rules.transfer_sleep
    asleep = now - t.idle_since - spin
    if sleep <= 0.0 or asleep <= 0.0:
        return 0.0
    begun = np.ceil(asleep / sleep)
    rest = begun * sleep - asleep
    if p.rules.sleep_jitter > 0.0:
        drift = p.rules.sleep_jitter * normal(s.random, p.at.worker_streams + t.worker)
        rest += np.sqrt(begun) * drift
        if rest < 0.0 or (begun > 1.0 and rest > sleep):
            rest %= sleep
    return rest


@inlined
def _change_polling(p: Program, s: State, which: int, change: int, now: float) -> None:
    machine = s.thread[which].machine
    add_polling(s.cores, machine, which, change, now)
    finish = next_finish(s.cores, machine)
    if finish < np.inf:
        set_timer(s.timers, p.at.machine_timers + machine, finish)


@internal
def stop_polling(p: Program, s: State, which: int, now: float) -> None:
    """Take a thread out of those that burn a core while they wait."""
    t = s.thread[which]
    if t.polling == 1:
        t.polling = 0
        _change_polling(p, s, which, -1, now)


@internal
def _start_polling(p: Program, s: State, which: int, now: float) -> None:
    """Let an idle thread burn a core until it goes to sleep."""
    t = s.thread[which]
    if t.what == EXECUTOR and t.kind != SOURCE and p.rules.bolt_spin > 0.0:
        t.polling = 1
        _change_polling(p, s, which, 1, now)
        if p.rules.bolt_sleep > 0.0:
            set_timer(s.timers, p.at.thread_timers + which, now + p.rules.bolt_spin)


@inlined
def make_ready(s: State, which: int) -> None:
    """Let a thread go on at this very moment."""
    s.ready[s.counts[READY_THREADS]] = which
    s.counts[READY_THREADS] += 1


@inlined
def wake(p: Program, s: State, which: int, now: float) -> None:
    """Let a thread notice that there is work."""
    if s.thread[which].phase == IDLE:
        _wake_idle(p, s, which, now)


@inlined
def _wake_idle(p: Program, s: State, which: int, now: float) -> None:
    t = s.thread[which]
    if p.rules.polls == 1:
        stop_polling(p, s, which, now)
    if p.rules.flushes == 1 and t.what == EXECUTOR:
        timer = p.at.flush_timers + t.worker
        if s.timers.place[timer] == UNSET:
            phase = s.queue[which].phase
            set_timer(s.timers, timer, next_tick(phase, p.rules.flush, now))
    t.phase = WAKING
    rest = _rest_of_sleep(p, s, which, now) if p.rules.sleeps == 1 else 0.0
    if rest > 0.0:
        set_timer(s.timers, p.at.thread_timers + which, now + rest)
    else:
        if p.rules.polls == 1:
            clear_timer(s.timers, p.at.thread_timers + which)
        make_ready(s, which)


@rare
def block(s: State, which: int, at: int, far: bool, now: float) -> None:
    """Let a thread wait for room in a queue, or until another worker lifts its back-pressure."""
    t, q = s.thread[which], s.queue[at]
    t.phase, t.blocked_on, t.blocked_since, t.next_waiter = BLOCKED, at, now, NONE
    t.busy += now - t.busy_since
    if far:
        t.next_waiter = q.held_back
        q.held_back = which
    elif q.waiter == NONE:
        q.waiter = q.last_waiter = which
    else:
        s.thread[q.last_waiter].next_waiter = which
        q.last_waiter = which


@rare
def unblock(s: State, which: int, now: float) -> None:
    """Count the time that a thread was blocked, now that it is not."""
    t = s.thread[which]
    t.blocked += now - t.blocked_since
    s.queue[t.blocked_on].caused += now - t.blocked_since
    t.busy_since = now


@rare
def make_way(s: State, at: int) -> None:
    """Let the threads that wait for room in a queue try again, as many as there is room for."""
    q = s.queue[at]
    room = q.limit - (q.length - q.overflow)
    while q.waiter != NONE and room > 0:
        first = q.waiter
        q.waiter = s.thread[first].next_waiter
        make_ready(s, first)
        room -= 1


@inlined
def serve(p: Program, s: State, thread: int, work: float, rest: float, now: float) -> Any:
    """Let a thread spend time on a core and then waiting; True if it needs neither."""
    t = s.thread[thread]
    t.work, t.rest = work, rest
    t.cpu += work
    t.rested += rest
    if work > 0.0:
        t.phase = ON_CORE
        start(s.cores, t.machine, thread, work, now)
        machine_timer = p.at.machine_timers + t.machine
        set_timer(s.timers, machine_timer, next_finish(s.cores, t.machine))
        return False
    if rest > 0.0:
        t.phase = WAITING
        set_timer(s.timers, p.at.thread_timers + thread, now + rest)
        return False
    t.phase = ON_CORE
    return True


@inlined
def go_idle(p: Program, s: State, thread: int, now: float) -> None:
    """Let a thread be idle."""
    t = s.thread[thread]
    t.busy += now - t.busy_since
    t.phase, t.idle_since = IDLE, now
    if p.rules.polls == 1:
        _start_polling(p, s, thread, now)
