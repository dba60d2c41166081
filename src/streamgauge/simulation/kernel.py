"""The event loop: every tuple of a job, from the moment it is due to its last acknowledgement.

A thread goes through phases: it is idle, wakes, serves a message on a core and then waiting, spends
the CPU time of sending, delivers, and perhaps is blocked there; then it begins with the next. An
event is the end of such a phase, a tuple that is due, one that arrives from another worker, or a
timer of a queue, a window or a worker. One thing may lead to another at the same moment; threads
that can go on are kept in a list of those that are ready.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streamgauge.simulation.compiling import compiled, inlined, rare
from streamgauge.simulation.cores import NOBODY, stop_first
from streamgauge.simulation.draws import draw
from streamgauge.simulation.emissions import next_due
from streamgauge.simulation.finishing import finish
from streamgauge.simulation.message_transfer import (
    arrive_over,
    begin_carrying,
    deliver,
    finish_carrying,
    lift_pressure,
    send_flush_tuples,
)
from streamgauge.simulation.queues import flush, pop, push, take_all, take_message
from streamgauge.simulation.random_streams import uniform
from streamgauge.simulation.records import (
    AFTERWARDS,
    BLOCKED,
    BUDGET_SPENT,
    DISTURBED,
    DUE,
    EXECUTOR,
    FLOODED_QUEUES,
    FLUSH,
    FREE_ANCHORS,
    FREE_MESSAGES,
    FREE_ROOTS,
    IDLE,
    NO_ROOM,
    NONE,
    ON_CORE,
    ON_KEY,
    REACHED,
    READY_THREADS,
    SOURCE,
    TRACKER,
    TRIGGER,
    WAITING,
    WAKING,
)
from streamgauge.simulation.routing import fill_choices, refresh_loads
from streamgauge.simulation.sources import next_emission
from streamgauge.simulation.state import Program, State
from streamgauge.simulation.threads import (
    end_polling,
    go_idle,
    look_again,
    make_way,
    serve,
    set_machine_timers,
    unblock,
    wake,
)
from streamgauge.simulation.timers import (
    clear_gone,
    clear_timer,
    first_time,
    first_timer,
    let_go_off,
    set_timer,
)
from streamgauge.simulation.trees import anchors_in, hear_answers, time_out_roots
from streamgauge.simulation.windows import fire, join_roots, next_trigger

# What a thread does next, where it goes on at the same moment.
NOTHING, FINISH, SEND, DELIVER, BEGIN = range(5)


@rare
def _begin_window(p: Program, s: State, thread: int, now: float) -> Any:
    """Run the function of a window that has fired; True if that takes no time."""
    t = s.thread[thread]
    w = s.window[t.window]
    o = p.operator[p.task[w.task].operator]
    factor = p.task[w.task].factor
    w.size = s.queue[w.queue].length
    w.started = now
    work = factor * draw(s.draws, o.window_cpu, s.random, t.executor) + w.size * o.window_tuple
    rest = factor * draw(s.draws, o.window_wait, s.random, t.executor)
    return serve(p, s, thread, work, rest, now)


@inlined
def _next_message(p: Program, s: State, thread: int, now: float) -> Any:
    """What an executor takes next from its queues, or NONE."""
    t, q = s.thread[thread], s.queue[thread]
    if p.rules.send_threads == 1:
        if q.taken == 0 and q.ring_tuples > 0:
            take_all(s, thread)
        if q.taken > 0:
            q.taken -= 1
            which = pop(p, s, thread, now)
            if q.flooded == 1 and q.length < q.low_water:
                q.flooded = 0
                s.counts[FLOODED_QUEUES] -= 1
                if s.counts[FLOODED_QUEUES] == 0:
                    for source in range(p.at.executors):
                        if s.thread[source].kind == SOURCE:
                            wake(p, s, source, now)
            return which
    elif q.length > 0:
        which = pop(p, s, thread, now)
        if q.waiter != NONE:
            make_way(s, thread)
        return which
    return next_emission(p, s, thread, now) if t.kind == SOURCE else NONE


@inlined
def _begin(p: Program, s: State, thread: int, now: float) -> Any:
    """Let a thread go on with what is next; True if that takes no time."""
    t = s.thread[thread]
    if t.what == EXECUTOR:
        return _begin_executor(p, s, thread, now)
    if p.at.keeps == 0 or t.what != TRIGGER:
        return begin_carrying(p, s, thread, now)
    if t.window != NONE:
        return _begin_window(p, s, thread, now)
    t.busy += now - t.busy_since
    t.phase, t.idle_since = IDLE, now
    window = thread - p.at.triggers
    if s.queue[s.window[window].queue].length > 0:
        next_trigger(p, s, window, now)
    return False


@inlined
def _begin_executor(p: Program, s: State, thread: int, now: float) -> Any:
    """An executor goes on with its window or its next message; True if that takes no time."""
    t = s.thread[thread]
    if p.at.keeps == 1 and t.window != NONE:
        return _begin_window(p, s, thread, now)
    which = _next_message(p, s, thread, now)
    if which == NONE:
        go_idle(p, s, thread, now)
        return False
    m = s.message[which]
    t.current = which
    if p.at.detailed == 1:
        m.started = now
    o = t.operator
    if m.what >= 0 or m.what == DUE:
        column = m.what if m.what >= 0 else p.at.subscriptions
        service = p.service[o * (p.at.subscriptions + 1) + column]
        factor = p.task[m.task].factor
        work = draw(s.draws, service.cpu, s.random, thread) * factor
        rest = draw(s.draws, service.wait, s.random, thread) * factor
    elif t.kind == TRACKER and m.what != FLUSH:
        service = p.service[o * (p.at.subscriptions + 1) + p.at.subscriptions]
        work = p.operator[o].ack + draw(s.draws, service.cpu, s.random, thread)
        rest = draw(s.draws, service.wait, s.random, thread)
    else:
        work, rest = 0.0, 0.0
    return serve(p, s, thread, work, rest, now)


@inlined
def _lacks_room(p: Program, s: State, thread: int) -> Any:
    """Whether the pools might not hold what the end of this service creates."""
    roots = _roots_at_hand(p, s, thread) if p.at.keeps == 1 else 0
    return (
        s.free[FREE_MESSAGES] < p.at.reserve + roots
        or (p.at.keeps == 1 and s.free[FREE_ANCHORS] < p.at.copies * (roots + 2))
        or (p.at.ackers > 0 and s.free[FREE_ROOTS] < 2)
    )


@rare
def _roots_at_hand(p: Program, s: State, thread: int) -> Any:
    """How many roots the tuples have, at the most, that the end of this service deals with."""
    t = s.thread[thread]
    if t.window != NONE:
        return s.window[t.window].roots
    roots, which = 0, t.current
    m = s.message[which]
    if m.what >= 0:
        if m.anchors != NONE:
            roots = anchors_in(s, which)
        window = p.task[m.task].window
        if window != NONE:
            roots += s.window[window].roots
        elif p.operator[t.operator].join == ON_KEY:
            roots += join_roots(p, s, which)
    return roots


@rare
def _serialising(p: Program, s: State, thread: int) -> None:
    """Storm 2.x: the emitter itself turns what leaves its worker into bytes."""
    t = s.thread[thread]
    o = p.operator[t.operator]
    which = t.held
    while which != NONE:
        m = s.message[which]
        if p.worker[p.task[m.task].executor] != t.worker:
            t.extra += o.serialise + o.serialise_byte * m.size
        which = m.link


@inlined
def _fall_due(p: Program, s: State, process: int, now: float) -> None:
    """A tuple is due at a source."""
    source = p.process[process].executor
    which = take_message(p, s)
    m = s.message[which]
    m.what, m.root, m.task = DUE, np.int64(p.process[process].stream), p.process[process].task
    m.due = now
    push(p, s, p.at.due + source, which, now)
    row = p.at.executors + process
    set_timer(s.timers, process, next_due(s.emissions, process, now, s.random, row))
    wake(p, s, source, now)


@compiled
def begin(p: Program, s: State) -> None:
    """Set the first timers of everything."""
    for process in range(len(p.process)):
        due = next_due(s.emissions, process, 0.0, s.random, p.at.executors + process)
        set_timer(s.timers, process, due)
    for executor in range(p.at.executors):
        if s.thread[executor].unlimited != NONE:
            s.thread[executor].phase = WAKING
            set_timer(s.timers, p.at.thread_timers + executor, 0.0)
    aware = False
    for route in range(len(s.route)):
        if s.route[route].choices > 0:
            aware = True
            fill_choices(p, s, route, route // p.at.subscriptions)
    if aware:
        for worker in range(p.at.workers):
            delay = 1e-3 * uniform(s.random, p.at.worker_streams + worker)
            set_timer(s.timers, p.at.load_timers + worker, delay)


@compiled
def run(p: Program, s: State, until: float, budget: int) -> int:
    """Let the simulation go on until a time, a number of events or the end of a pool.

    Args:
        p: What does not change.
        s: What does.
        until: Simulated time to reach.
        budget: Events to handle at the most.
    """
    timers = s.timers
    while budget > 0:
        budget -= 1
        if s.free[FREE_MESSAGES] < p.at.reserve:
            return NO_ROOM
        one, step, full = NONE, NOTHING, False
        now = s.now[0]
        if s.counts[READY_THREADS] == 0:
            if s.counts[DISTURBED] > 0:
                set_machine_timers(p, s)
            clear_gone(timers)
            timer = first_timer(timers)
            now = first_time(timers)
            if now > until:
                s.now[0] = until
                return REACHED
            s.now[0] = now
            if timer < p.at.thread_timers:
                _fall_due(p, s, timer, now)
            elif timer < p.at.machine_timers:
                one = timer - p.at.thread_timers
                t = s.thread[one]
                if t.phase == WAITING:
                    let_go_off(timers, timer)
                    step = FINISH
                    t.phase = ON_CORE
                elif t.phase == WAKING:
                    let_go_off(timers, timer)
                    step = BEGIN
                    t.busy_since = now
                elif t.phase == BLOCKED:
                    clear_timer(timers, timer)
                    unblock(s, one, now)
                    step = DELIVER
                elif p.at.keeps == 1:
                    # A time trigger.
                    clear_timer(timers, timer)
                    window = one - p.at.triggers
                    w = s.window[window]
                    if s.free[FREE_MESSAGES] < p.at.reserve + w.roots:
                        set_timer(timers, timer, now)
                        return NO_ROOM
                    t.busy_since = now
                    fire(p, s, window, one, now)
                    if s.queue[w.queue].length == 0:
                        t.window = NONE
                    step = SEND
            elif timer < p.at.link_timers:
                machine = timer - p.at.machine_timers
                let_go_off(timers, timer)
                look_again(s, machine)
                one = stop_first(s.cores, machine, now)
                if one != NOBODY:
                    t = s.thread[one]
                    if t.phase == AFTERWARDS:
                        step = DELIVER
                    elif t.rest > 0.0:
                        t.phase = WAITING
                        set_timer(timers, p.at.thread_timers + one, now + t.rest)
                    else:
                        step = FINISH
            elif timer < p.at.flush_timers:
                arrive_over(p, s, timer - p.at.link_timers, now)
            elif timer < p.at.load_timers:
                let_go_off(timers, timer)
                if p.rules.send_threads == 1:
                    flush(p, s, timer - p.at.flush_timers, now)
                else:
                    send_flush_tuples(p, s, timer - p.at.flush_timers, now)
            elif timer < p.at.time_out_timers:
                refresh_loads(p, s, timer - p.at.load_timers, now)
            elif timer < p.at.pressure_timers:
                clear_timer(timers, timer)
                time_out_roots(p, s, timer - p.at.time_out_timers, now)
            elif p.rules.polls == 1 and timer == p.at.poll_timer:
                let_go_off(timers, timer)
                end_polling(p, s, now)
            else:
                clear_timer(timers, timer)
                lift_pressure(p, s, timer - p.at.pressure_timers, now)

        # What follows at the same moment: a thread goes on until it waits for something, then
        # the next that is ready.
        while True:
            if step == FINISH:
                t = s.thread[one]
                if t.what not in (EXECUTOR, TRIGGER):
                    finish_carrying(p, s, one, now)
                    step = BEGIN
                elif _lacks_room(p, s, one):
                    t.phase = WAITING
                    set_timer(timers, p.at.thread_timers + one, now)
                    full = True
                    break
                else:
                    finish(p, s, one, now)
                    step = SEND
            if step == SEND:
                if p.at.serialises == 1 and p.rules.send_threads == 0:
                    _serialising(p, s, one)
                t = s.thread[one]
                if (p.at.ackers > 0 or p.at.serialises == 1) and t.extra > 0.0:
                    extra = t.extra
                    t.extra = 0.0
                    serve(p, s, one, extra, 0.0, now)
                    t.phase = AFTERWARDS
                else:
                    step = DELIVER
            if step == DELIVER:
                if deliver(p, s, one, now):
                    step = BEGIN
                elif (p.at.ackers > 0 or p.rules.flushes == 1) and s.thread[one].kind == SOURCE:
                    hear_answers(p, s, one, now)
            if step == BEGIN and _begin(p, s, one, now):
                step = FINISH
                continue
            if s.counts[READY_THREADS] == 0 or budget <= 0:
                break
            budget -= 1
            if s.free[FREE_MESSAGES] < p.at.reserve:
                full = True
                break
            s.counts[READY_THREADS] -= 1
            one = s.ready[s.counts[READY_THREADS]]
            if s.thread[one].phase == BLOCKED:
                unblock(s, one, now)
                step = DELIVER
            else:
                s.thread[one].busy_since = now
                step = BEGIN
        if full:
            return NO_ROOM
    return BUDGET_SPENT
