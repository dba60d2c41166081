"""What the end of a service leads to: outputs, acknowledgements, the end of a tree or a window."""

from __future__ import annotations

from typing import Any

import numpy as np

from streamgauge.simulation.binning import coarse_bin_of
from streamgauge.simulation.compiling import inlined, internal, rare
from streamgauge.simulation.draws import draw
from streamgauge.simulation.message_transfer import publish_all
from streamgauge.simulation.queues import free_message, take_message
from streamgauge.simulation.random_streams import uniform
from streamgauge.simulation.records import (
    BY_PARITY,
    DONE,
    DUE,
    FAILED,
    FLUSH,
    IDLE,
    INIT,
    NONE,
    ON_KEY,
    ROOTS_EMITTED,
    TRACE_EVERY,
)
from streamgauge.simulation.routing import choose, copies_of, draw_key
from streamgauge.simulation.state import Program, State
from streamgauge.simulation.trees import (
    SAMPLING,
    acknowledge,
    anchor_to_many,
    anchor_to_one,
    arrive,
    end_root,
    handle_at_acker,
    hold,
    is_open,
    note_hop,
    open_root,
    tell_acker,
    verdict_on,
)
from streamgauge.simulation.windows import (
    add_to_join,
    add_to_window,
    drop_old,
    fire,
    first_trigger,
    is_even,
)


@inlined
def _emit(
    p: Program, s: State, thread: int, task: int, stream: int, parent: int, parents: int
) -> None:
    """One tuple on a stream: a copy for each task that it goes to, held by the thread."""
    t, o = s.thread[thread], p.stream[stream]
    t.emitted += 1
    counts = s.outputs[task * p.at.streams + stream]
    counts.emitted += 1
    key = draw_key(p, s, stream, t.executor)
    size = 0.0
    if o.size >= 0:
        size = draw(s.draws, o.size, s.random, t.executor)
        counts.size += size
    if o.only != NONE:
        _send_copy(p, s, thread, task, o.only, key, size, 0, parent, parents)
    else:
        _send_copies(p, s, thread, task, stream, key, size, parent, parents)


@inlined
def _send_copy(
    p: Program,
    s: State,
    thread: int,
    task: int,
    subscription: int,
    key: int,
    size: float,
    copy: int,
    parent: int,
    parents: int,
) -> None:
    """The copy of a tuple for one of the tasks that a subscription sends it to."""
    executor = s.thread[thread].executor
    goal = choose(p, s, executor, subscription, key, copy)
    new = take_message(p, s)
    n = s.message[new]
    n.what, n.task, n.sender = subscription, goal, task
    if p.at.labelled == 1:
        n.key, n.size = key, size
    if p.at.keeps == 0 or (parents == 1 and s.message[parent].anchors == NONE):
        anchor_to_one(p, s, new, parent, subscription, executor)
    else:
        anchor_to_many(p, s, new, parent, parents, subscription, executor)
    hold(s, thread, new)
    if p.at.detailed == 1:
        row = task * p.at.subscriptions + subscription
        first = p.first_task[p.subscription[subscription].target]
        s.transferred[p.transfer_first[row] + goal - first] += 1
    s.outputs[task * p.at.streams + p.subscription[subscription].stream].sent += 1


@internal
def _send_copies(
    p: Program,
    s: State,
    thread: int,
    task: int,
    stream: int,
    key: int,
    size: float,
    parent: int,
    parents: int,
) -> None:
    """The copies of a tuple for all subscriptions of its stream."""
    executor = s.thread[thread].executor
    for place in range(p.stream[stream].first, p.stream[stream].last):
        subscription = p.subscriber[place]
        for copy in range(copies_of(p, s, executor, subscription)):
            _send_copy(p, s, thread, task, subscription, key, size, copy, parent, parents)


@inlined
def _emit_outputs(
    p: Program, s: State, thread: int, task: int, row: int, parent: int, parents: int
) -> None:
    """Everything that one input, or one window, leads to."""
    only = p.only_output[row]
    if only != NONE:
        _emit(p, s, thread, task, only, parent, parents)
    elif p.output_first[row] < p.output_first[row + 1]:
        _emit_all(p, s, thread, task, row, parent, parents)


@internal
def _emit_all(
    p: Program, s: State, thread: int, task: int, row: int, parent: int, parents: int
) -> None:
    """The same where it is more than one tuple on one stream, or may be."""
    executor = s.thread[thread].executor
    output, last = p.output_first[row], p.output_first[row + 1]
    if p.output[output].share >= 0.0:
        # Alternatives: at most one of them.
        wanted = uniform(s.random, executor)
        while output < last and p.output[output].share <= wanted:
            output += 1
        last = min(last, output + 1)
    while output < last:
        count = 1
        if p.output[output].share < 0.0:
            count = int(draw(s.draws, p.output[output].count, s.random, executor))
        for _ in range(count):
            _emit(p, s, thread, task, p.output[output].stream, parent, parents)
        output += 1


@rare
def _finish_window(p: Program, s: State, thread: int, now: float) -> None:
    """The function of a window has run: emit, and count what came to its end here."""
    t = s.thread[thread]
    window = t.window
    w = s.window[window]
    operator = p.task[w.task].operator
    o = p.operator[operator]
    head = s.queue[w.queue].head
    row = operator * (p.at.subscriptions + 1) + p.at.subscriptions
    if o.join == BY_PARITY:
        wanted = o.equal if is_even(p, s, window) else o.different
        _emit(p, s, thread, w.task, wanted, head, w.size)
    _emit_outputs(p, s, thread, w.task, row, head, w.size)
    if o.sink == 1:
        which = head
        for _ in range(w.size):
            arrive(p, s, which, operator, now)
            which = s.message[which].link
    w.triggers += 1
    w.tuples += w.size
    taken = now - w.started
    w.wall += taken
    w.wall_squares += taken * taken
    w.cpu += t.work
    w.cpu_squares += t.work * t.work
    w.size = 0
    t.window = NONE


@rare
def _count_execution(p: Program, s: State, which: int, work: float, now: float) -> None:
    """The times of one execution, for those who ask for everything."""
    m = s.message[which]
    taken = now - m.started
    row = m.task * p.at.subscriptions + m.what
    r = s.inputs[row]
    count = r.executed - 1
    if count % SAMPLING == 0:
        r.pick = int(SAMPLING * uniform(s.random, p.at.look_stream))
    r.wall += taken
    r.wall_squares += taken * taken
    r.cpu += work
    r.cpu_squares += work * work
    s.wall_bin[row, coarse_bin_of(taken)] += 1
    s.cpu_bin[row, coarse_bin_of(work)] += 1
    s.wait_bin[p.task[m.task].executor, coarse_bin_of(m.started - m.arrived)] += 1
    if count % SAMPLING == r.pick:
        # The engine's clock has milliseconds.
        r.sampled += 1
        r.sampled_wall += np.floor(now * 1e3) - np.floor(m.started * 1e3)


@rare
def _count_emission(p: Program, s: State, which: int, stream: int, work: float, now: float) -> None:
    """The times that a source took for one tuple."""
    m = s.message[which]
    row = m.task * p.at.streams + stream
    o = s.outputs[row]
    taken = now - m.started
    o.wall += taken
    o.wall_squares += taken * taken
    o.cpu += work
    o.cpu_squares += work * work
    s.emit_bin[row, coarse_bin_of(taken)] += 1


@inlined
def _finish_tuple(p: Program, s: State, thread: int, which: int, now: float) -> None:
    """A tuple was served: what it leads to, and what it has come to."""
    t, m = s.thread[thread], s.message[which]
    t.executed += 1
    r = s.inputs[m.task * p.at.subscriptions + m.what]
    r.executed += 1
    if p.at.detailed == 1:
        _count_execution(p, s, which, t.work, now)
        if m.hop != NONE:
            note_hop(s, which, now)
    if p.at.keeps == 1 and _keep_tuple(p, s, thread, which, now):
        return
    o = p.operator[t.operator]
    row = t.operator * (p.at.subscriptions + 1) + m.what
    _emit_outputs(p, s, thread, m.task, row, which, 1)
    if o.sink == 1:
        arrive(p, s, which, t.operator, now)
    acknowledge(p, s, thread, which, verdict_on(p, s, t.operator, t.executor), now)
    free_message(p, s, which)


@rare
def _keep_tuple(p: Program, s: State, thread: int, which: int, now: float) -> Any:
    """Put a tuple into its window or join, and do what follows; False where there is none."""
    t, m = s.thread[thread], s.message[which]
    window = p.task[m.task].window
    o = p.operator[t.operator]
    if window != NONE:
        fires = add_to_window(p, s, window, thread, which, now)
        if fires:
            fire(p, s, window, thread, now)
        elif s.window[window].thread != NONE:
            trigger = s.window[window].thread
            if s.thread[trigger].phase == IDLE:
                first_trigger(p, s, window, now)
        return True
    if o.join != ON_KEY:
        return False
    row = t.operator * (p.at.subscriptions + 1) + m.what
    drop_old(p, s, m.task, t.operator, thread, now)
    partner = add_to_join(p, s, t.operator, which, now)
    if partner == NONE:
        return True
    _emit_outputs(p, s, thread, m.task, row, partner, o.inputs)
    while partner != NONE:
        following = s.message[partner].link
        if o.sink == 1:
            arrive(p, s, partner, t.operator, now)
        acknowledge(p, s, thread, partner, verdict_on(p, s, t.operator, t.executor), now)
        free_message(p, s, partner)
        partner = following
    return True


@inlined
def _finish_emission(p: Program, s: State, thread: int, which: int, now: float) -> None:
    """A source emits what was due."""
    t, m = s.thread[thread], s.message[which]
    stream = int(m.root)
    m.born, m.path = now, p.source_row[t.operator]
    if p.at.detailed == 1:
        _count_emission(p, s, which, stream, t.work, now)
        s.counts[ROOTS_EMITTED] += 1
        if s.counts[TRACE_EVERY] > 0 and s.counts[ROOTS_EMITTED] % s.counts[TRACE_EVERY] == 0:
            # A tuple that is emitted again was due as long ago as the first time.
            m.what, m.arrived = DUE, m.due
            note_hop(s, which, now)
    if p.at.ackers > 0:
        m.root = open_root(p, s, thread, which, now)
        if p.at.detailed == 1:
            s.root[m.root & 0xFFFFFFFF].hop = m.hop
    _emit(p, s, thread, m.task, stream, which, 1)
    if p.at.ackers > 0:
        tell_acker(p, s, thread, INIT, m.root, m.edge)
    free_message(p, s, which)


@inlined
def finish(p: Program, s: State, thread: int, now: float) -> None:
    """The service of an executor's message, or of a window, is over."""
    t = s.thread[thread]
    if p.at.keeps == 1 and t.window != NONE:
        _finish_window(p, s, thread, now)
        return
    which = t.current
    m = s.message[which]
    if m.what >= 0:
        _finish_tuple(p, s, thread, which, now)
    elif m.what == DUE:
        _finish_emission(p, s, thread, which, now)
    else:
        if p.rules.flushes == 1 and m.what == FLUSH:
            publish_all(p, s, thread, now)
        elif p.at.ackers > 0:
            if m.what not in (DONE, FAILED):
                t.executed += 1
                handle_at_acker(p, s, thread, which, now)
            elif is_open(s, m.root):
                end_root(p, s, thread, m.root, m.what == FAILED, False, now)
        free_message(p, s, which)
