"""How messages travel: batches, lists, the transfer thread, the network, back-pressure.

Storm 2.x: the emitter's own thread puts a tuple into a receive queue of its worker, or into the
worker's transfer queue. A full queue blocks the emitter. What comes from another worker is never
refused: it overflows, and the worker tells all others to hold back until the overflow is empty.
Storm 1.x: everything goes through the executor's send queue, whose thread makes a list for each
executor of the worker and a map for all others (Cooper 2020, section 2.7).
"""

from __future__ import annotations

from typing import Any

from streamgauge.simulation.compiling import inlined, internal, rare
from streamgauge.simulation.queues import (
    free_message,
    has_room,
    insert,
    push,
    push_flush,
    push_over,
    take_all,
    take_list,
    take_message,
)
from streamgauge.simulation.random_streams import exponential
from streamgauge.simulation.records import (
    BLOCKED,
    FLUSH,
    FREE_MESSAGES,
    IDLE,
    LAST_MARK,
    NONE,
    RECEIVE,
    SEND,
    SOURCE,
    TRANSFER,
)
from streamgauge.simulation.state import Program, State
from streamgauge.simulation.threads import block, go_idle, make_way, serve, wake
from streamgauge.simulation.timers import clear_timer, next_tick, set_timer
from streamgauge.simulation.trees import hear_answers


@inlined
def _notify(p: Program, s: State, at: int, now: float) -> None:
    """Let the consumer of a plain queue know; a source that is blocked hears answers at once."""
    consumer = s.queue[at].consumer
    wake(p, s, consumer, now)
    if p.at.ackers == 0:
        return
    if s.thread[consumer].phase == BLOCKED and s.thread[consumer].kind == SOURCE:
        hear_answers(p, s, consumer, now)


@rare
def _publish(p: Program, s: State, executor: int, place: int, now: float) -> None:
    """Put a producer's batch for one queue into it."""
    queues = p.at.executors + 1
    b = s.batch[executor * queues + place]
    at = place if place < p.at.executors else p.at.transfer + p.worker[executor]
    while b.head != NONE:
        which = b.head
        b.head = s.message[which].link
        push(p, s, at, which, now)
    b.count = 0
    _notify(p, s, at, now)


@rare
def publish_all(p: Program, s: State, executor: int, now: float) -> None:
    """A flush tuple: publish everything that a producer has gathered."""
    t = s.thread[executor]
    queues = p.at.executors + 1
    while t.batches != NONE:
        place = t.batches
        b = s.batch[executor * queues + place]
        t.batches, b.listed = b.next, 0
        if b.count > 0:
            _publish(p, s, executor, place, now)


@rare
def _gather(p: Program, s: State, executor: int, at: int, which: int, now: float) -> None:
    """Put a tuple into a producer's batch; a full one is published at once."""
    queues = p.at.executors + 1
    place = min(at, p.at.executors)
    b = s.batch[executor * queues + place]
    s.message[which].link = NONE
    if b.count == 0:
        b.head = which
        if b.listed == 0:
            # Until the next flush, whatever is published before.
            b.listed, b.next = 1, s.thread[executor].batches
            s.thread[executor].batches = place
    else:
        s.message[b.tail].link = which
    b.tail = which
    b.count += 1
    if b.count >= p.rules.batch:
        _publish(p, s, executor, place, now)


@rare
def send_flush_tuples(p: Program, s: State, worker: int, now: float) -> None:
    """A worker's timer: a flush tuple for each of its executors that it could do something to.

    All are put before any is handled. The timer stands still while the worker has nothing to do.
    """
    sent = False
    for executor in range(p.at.executors):
        t, q = s.thread[executor], s.queue[executor]
        active = t.phase != IDLE or q.length > 0 or t.batches != NONE
        if p.worker[executor] != worker or not active:
            continue
        sent = True
        if t.kind == SOURCE and t.phase == BLOCKED:
            # It goes on handling what comes to it, flush tuples too.
            hear_answers(p, s, executor, now)
            publish_all(p, s, executor, now)
        elif has_room(s, executor) and s.free[FREE_MESSAGES] > p.at.reserve:
            which = take_message(p, s)
            s.message[which].what = FLUSH
            push_flush(p, s, executor, which, now)
    if sent:
        for executor in range(p.at.executors):
            if p.worker[executor] == worker and s.queue[executor].length > 0:
                wake(p, s, executor, now)
        set_timer(s.timers, p.at.flush_timers + worker, now + p.rules.flush)


@inlined
def deliver(p: Program, s: State, thread: int, now: float) -> Any:
    """Hand on what a thread has made; whether all of it found room."""
    t = s.thread[thread]
    which = t.held
    while which != NONE:
        m = s.message[which]
        following = m.link
        if p.rules.send_threads == 1:
            m.arrived = now
            insert(p, s, p.at.send + t.executor, which, which, 1, now)
        else:
            goal = p.task[m.task].executor
            at = goal
            if p.worker[goal] != t.worker:
                q = s.queue[goal]
                away = p.worker[goal]
                if q.pressed == 1 and now >= q.pressed_at + p.latency[away, t.worker]:
                    t.held = which
                    block(s, thread, goal, True, now)
                    s.queue[t.executor].taken = 0
                    return False
                at = p.at.transfer + t.worker
            if not has_room(s, at):
                t.held = which
                block(s, thread, at, False, now)
                s.queue[t.executor].taken = 0
                return False
            if p.rules.batch > 1:
                _gather(p, s, t.executor, at, which, now)
            else:
                push(p, s, at, which, now)
                _notify(p, s, at, now)
        which = following
    t.held = NONE
    return True


@internal
def _deliver_lists(p: Program, s: State, head: int, home: int, now: float) -> None:
    """Storm 1.x: one list for each executor of the own worker, one map for all others.

    With no own worker (NONE) everything is for where it has arrived.
    """
    touched, remote, last_remote, many = 0, NONE, NONE, 0
    which = head
    while which != NONE:
        m = s.message[which]
        following = m.link
        goal = p.task[m.task].executor
        m.link, m.arrived = NONE, now
        if home != NONE and p.worker[goal] != home:
            if remote == NONE:
                remote = which
            else:
                s.message[last_remote].link = which
            last_remote = which
            many += 1
        else:
            if s.group[goal, 2] == 0:
                s.group[goal, 0] = which
                s.touched[touched] = goal
                touched += 1
            else:
                s.message[s.group[goal, 1]].link = which
            s.group[goal, 1] = which
            s.group[goal, 2] += 1
        which = following
    for place in range(touched):
        goal = s.touched[place]
        count = s.group[goal, 2]
        s.group[goal, 2] = 0
        insert(p, s, goal, s.group[goal, 0], s.group[goal, 1], count, now)
    if remote != NONE:
        insert(p, s, p.at.transfer + home, remote, last_remote, many, now)


@internal
def _send_over(p: Program, s: State, head: int, home: int, now: float) -> None:
    """A transfer thread hands a bundle for each worker to the network."""
    s.counts[LAST_MARK] += 1
    mark = s.counts[LAST_MARK]
    row = p.at.worker_streams + home
    which = head
    while which != NONE:
        m = s.message[which]
        following = m.link
        away = p.worker[p.task[m.task].executor]
        link = s.link[home * p.at.workers + away]
        if s.group[p.at.executors + away, 0] != mark:
            # A bundle arrives as a whole, and a connection keeps its order.
            s.group[p.at.executors + away, 0] = mark
            arrives = now + p.latency[home, away]
            if p.jitter[home, away] > 0.0:
                arrives += p.jitter[home, away] * (exponential(s.random, row) - 1.0)
            if link.length > 0:
                arrives = max(arrives, s.message[link.tail].arrived)
        else:
            arrives = s.message[link.tail].arrived
        m.link, m.arrived = NONE, arrives
        if link.length == 0:
            link.head = which
            set_timer(s.timers, p.at.link_timers + home * p.at.workers + away, arrives)
        else:
            s.message[link.tail].link = which
        link.tail = which
        link.length += 1
        link.carried += 1
        which = following


@internal
def _receive(p: Program, s: State, head: int, now: float) -> None:
    """Messages from another worker come to their receive queues, or overflow."""
    if p.rules.send_threads == 1:
        _deliver_lists(p, s, head, NONE, now)
        return
    which = head
    while which != NONE:
        following = s.message[which].link
        goal = p.task[s.message[which].task].executor
        q = s.queue[goal]
        over = q.overflow > 0 or not has_room(s, goal)
        if over:
            if q.overflow >= p.rules.overflow_limit:
                q.dropped += 1
                free_message(p, s, which)
                which = following
                continue
            if q.pressed == 0:
                q.pressed, q.pressed_at = 1, now
                look = next_tick(0.0, p.rules.pressure, now)
                set_timer(s.timers, p.at.pressure_timers + goal, look)
            push_over(p, s, goal, which, now)
        else:
            push(p, s, goal, which, now)
        _notify(p, s, goal, now)
        which = following


@internal
def arrive_over(p: Program, s: State, which_link: int, now: float) -> None:
    """What a connection has carried: to be deserialised first where that takes time."""
    link = s.link[which_link]
    head = link.head
    tail = NONE
    which = head
    while link.length > 0 and s.message[which].arrived <= now:
        tail = which
        which = s.message[which].link
        link.length -= 1
    link.head = which
    if link.length > 0:
        set_timer(s.timers, p.at.link_timers + which_link, s.message[which].arrived)
    else:
        clear_timer(s.timers, p.at.link_timers + which_link)
    s.message[tail].link = NONE
    if p.at.deserialises == 0:
        _receive(p, s, head, now)
        return
    away = which_link % p.at.workers
    which = head
    while which != NONE:
        following = s.message[which].link
        push(p, s, p.at.incoming + away, which, now)
        which = following
    wake(p, s, p.at.receives + away, now)


@rare
def lift_pressure(p: Program, s: State, goal: int, now: float) -> None:
    """Look whether a queue's overflow is empty, and tell those who hold back."""
    q = s.queue[goal]
    if q.overflow > 0:
        set_timer(s.timers, p.at.pressure_timers + goal, now + p.rules.pressure)
        return
    q.pressed = 0
    while q.held_back != NONE:
        which = q.held_back
        q.held_back = s.thread[which].next_waiter
        news = now + p.latency[p.worker[goal], s.thread[which].worker]
        set_timer(s.timers, p.at.thread_timers + which, news)


@inlined
def _is_far(p: Program, s: State, which: int, worker: int) -> Any:
    """Whether a message goes to another worker."""
    return p.worker[p.task[s.message[which].task].executor] != worker


@rare
def _convert(p: Program, s: State, thread: int, work: float) -> Any:
    """Add the CPU time that turns what a thread holds into bytes, or back into tuples."""
    t = s.thread[thread]
    which = t.held
    while which != NONE:
        m = s.message[which]
        if m.sender != NONE:
            o = p.operator[p.task[m.sender].operator]
            if t.what == RECEIVE:
                work += o.deserialise + o.deserialise_byte * m.size
            elif _is_far(p, s, which, t.worker):
                work += o.serialise + o.serialise_byte * m.size
        which = m.link
    return work


@inlined
def begin_carrying(p: Program, s: State, thread: int, now: float) -> Any:
    """A send, transfer or receive thread takes all there is; True if it takes no time."""
    t = s.thread[thread]
    if t.what == SEND:
        at, each = p.at.send + t.executor, p.rules.send_work
    elif t.what == TRANSFER:
        at, each = p.at.transfer + t.worker, p.rules.transfer_work
    else:
        at, each = p.at.incoming + t.worker, 0.0
    q = s.queue[at]
    count = q.length
    if p.rules.send_threads == 1 and t.what != RECEIVE:
        take_all(s, at)
        count = q.taken
        q.taken = 0
    if count == 0:
        go_idle(p, s, thread, now)
        return False
    t.held = take_list(p, s, at, count, now)
    work = each * count
    if t.what == RECEIVE or (t.what == SEND and p.at.serialises == 1):
        work = _convert(p, s, thread, work)
    if q.waiter != NONE:
        make_way(s, at)
    return serve(p, s, thread, work, 0.0, now)


@inlined
def finish_carrying(p: Program, s: State, thread: int, now: float) -> None:
    """A send, transfer or receive thread hands on what it took."""
    t = s.thread[thread]
    head = t.held
    t.held = NONE
    if t.what == SEND:
        _deliver_lists(p, s, head, t.worker, now)
    elif t.what == TRANSFER:
        _send_over(p, s, head, t.worker, now)
    else:
        _receive(p, s, head, now)
