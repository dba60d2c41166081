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
    DISTURBED,
    EXECUTOR,
    FIRST_POLLER,
    IDLE,
    LAST_POLLER,
    NONE,
    ON_CORE,
    READY_THREADS,
    SOURCE,
    TRANSFER,
    WAITING,
    WAKING,
)
from streamgauge.simulation.state import Program, State
from streamgauge.simulation.timers import clear_timer, is_set, next_tick, set_timer


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
def look_again(s: State, machine: int) -> None:
    """Let a machine's timer be set anew before time goes on."""
    if s.disturbed[machine, 0] == 0:
        s.disturbed[machine, 0] = 1
        s.disturbed[s.counts[DISTURBED], 1] = machine
        s.counts[DISTURBED] += 1


@inlined
def set_machine_timers(p: Program, s: State) -> None:
    """Set the timers of machines where something happened: once, whatever happened at the time."""
    for place in range(s.counts[DISTURBED]):
        machine = s.disturbed[place, 1]
        s.disturbed[machine, 0] = 0
        finish = next_finish(s.cores, machine)
        if finish < np.inf:
            set_timer(s.timers, p.at.machine_timers + machine, finish)
        else:
            clear_timer(s.timers, p.at.machine_timers + machine)
    s.counts[DISTURBED] = 0


@internal
def stop_polling(s: State, which: int, now: float) -> None:
    """Take a thread out of those that burn a core while they wait."""
    t = s.thread[which]
    t.polling = 0
    add_polling(s.cores, t.machine, which, -1, now)
    look_again(s, t.machine)
    _leave_pollers(s, which)


@inlined
def _leave_pollers(s: State, which: int) -> None:
    """Take a thread out of the list of those that poll."""
    t = s.thread[which]
    if t.poller_before == NONE:
        s.counts[FIRST_POLLER] = t.poller_after
    else:
        s.thread[t.poller_before].poller_after = t.poller_after
    if t.poller_after == NONE:
        s.counts[LAST_POLLER] = t.poller_before
    else:
        s.thread[t.poller_after].poller_before = t.poller_before


@internal
def _start_polling(p: Program, s: State, which: int, now: float) -> None:
    """Let an idle thread burn a core until it goes to sleep."""
    t = s.thread[which]
    if t.what != EXECUTOR or t.kind == SOURCE or p.rules.bolt_spin <= 0.0:
        return
    if t.polling == 1:
        # What it was woken for took no time.
        _leave_pollers(s, which)
    else:
        t.polling = 1
        add_polling(s.cores, t.machine, which, 1, now)
        look_again(s, t.machine)
    # All poll equally long: who began first goes to sleep first, and one timer does for all.
    t.poller_before, t.poller_after = s.counts[LAST_POLLER], NONE
    s.counts[LAST_POLLER] = which
    if t.poller_before == NONE:
        s.counts[FIRST_POLLER] = which
    else:
        s.thread[t.poller_before].poller_after = which
    if p.rules.bolt_sleep > 0.0 and not is_set(s.timers, p.at.poll_timer):
        set_timer(s.timers, p.at.poll_timer, now + p.rules.bolt_spin)


@rare
def end_polling(p: Program, s: State, now: float) -> None:
    """The timer of all that poll: those who have done so long enough go to sleep."""
    while s.counts[FIRST_POLLER] != NONE:
        first = s.counts[FIRST_POLLER]
        until = s.thread[first].idle_since + p.rules.bolt_spin
        if until > now:
            # Whoever the timer was set for has found work meanwhile.
            set_timer(s.timers, p.at.poll_timer, until)
            return
        stop_polling(s, first, now)


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
    if p.rules.flushes == 1 and t.what == EXECUTOR:
        timer = p.at.flush_timers + t.worker
        if not is_set(s.timers, timer):
            phase = s.queue[which].phase
            set_timer(s.timers, timer, next_tick(phase, p.rules.flush, now))
    t.phase = WAKING
    rest = 0.0
    # Who polls notices at once, and goes on polling until it is known that the work takes time.
    if p.rules.sleeps == 1 and t.polling == 0:
        rest = _rest_of_sleep(p, s, which, now)
    if rest > 0.0:
        set_timer(s.timers, p.at.thread_timers + which, now + rest)
    else:
        make_ready(s, which)


@rare
def block(s: State, which: int, at: int, far: bool, now: float) -> None:
    """Let a thread wait for room in a queue, or until another worker lifts its back-pressure."""
    t, q = s.thread[which], s.queue[at]
    t.phase, t.blocked_on, t.blocked_since, t.next_waiter = BLOCKED, at, now, NONE
    t.busy += now - t.busy_since
    if t.polling == 1:
        stop_polling(s, which, now)
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
    if p.rules.polls == 1 and t.polling == 1 and work + rest > 0.0:
        stop_polling(s, thread, now)
    if work > 0.0:
        t.phase = ON_CORE
        start(s.cores, t.machine, thread, work, now)
        look_again(s, t.machine)
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
