"""Tuple trees: roots, the tuples anchored to them, and how acknowledgements end them.

A tuple has an id for each of its roots. When it is acked, the acker of each root is told the
exclusive or of that id and of those of all tuples anchored to it; a root is complete when the acker
knows that it began and everything it was told adds up to zero. Most tuples have one root, which
the message itself holds; what a window or a join emits has many, in a list of anchors.

A root that failed or ran out of time is forgotten, and its place is used again: whoever still
speaks of it is known by an older generation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streamgauge.simulation.binning import bin_of, coarse_bin_of
from streamgauge.simulation.compiling import inlined, internal, rare
from streamgauge.simulation.queues import free_message, pop, push, take_message
from streamgauge.simulation.random_streams import next_word, uniform
from streamgauge.simulation.records import (
    ACK,
    ACKED,
    DONE,
    DUE,
    FAIL,
    FAILED,
    FAILED_ROOT,
    FIRST_FREE_ANCHOR,
    FIRST_FREE_ROOT,
    FIRST_HOP_KEPT,
    FREE_ANCHORS,
    FREE_MESSAGES,
    FREE_ROOTS,
    HOPS_KEPT,
    HOPS_TRACED,
    IDLE,
    LAST_MARK,
    NONE,
)
from streamgauge.simulation.state import Program, State
from streamgauge.simulation.threads import wake
from streamgauge.simulation.timers import is_set, next_tick, set_timer

_INDEX = 0xFFFFFFFF
# Storm looks at one tuple in twenty: one picked at random of each twenty that follow each other.
SAMPLING = 20


@internal
def record(s: State, row: int, seconds: float, weight: int) -> None:
    """Count a latency."""
    s.latency[row, bin_of(seconds)] += weight
    s.latency_sum[row] += weight * seconds


@inlined
def hold(s: State, thread: int, which: int) -> None:
    """Put a new message behind those that a thread has yet to deliver."""
    t = s.thread[thread]
    s.message[which].link = NONE
    if t.held == NONE:
        t.held = which
    else:
        s.message[t.last_held].link = which
    t.last_held = which


@internal
def open_root(p: Program, s: State, thread: int, which: int, now: float) -> Any:
    """A new tree for what a source is about to emit."""
    index = s.free[FIRST_FREE_ROOT]
    r, m = s.root[index], s.message[which]
    s.free[FIRST_FREE_ROOT] = r.link
    s.free[FREE_ROOTS] -= 1
    r.sum, r.known, r.ended, r.first = np.uint64(0), 0, 0, -1.0
    r.born, r.due, r.task, r.stream = now, m.due, m.task, np.int32(m.root)
    t = s.thread[thread]
    r.older, r.younger = t.youngest, NONE
    if t.youngest == NONE:
        t.oldest = index
    else:
        s.root[t.youngest].younger = index
    t.youngest = index
    t.pending += 1
    timer = p.at.time_out_timers + thread
    if not is_set(s.timers, timer):
        set_timer(s.timers, timer, next_tick(0.0, p.rules.time_out, now))
    return (np.int64(r.generation) << 32) | np.int64(index)


@inlined
def is_open(s: State, root: int) -> Any:
    """Whether a tree is still that of its root's place."""
    return s.root[root & _INDEX].generation == (root >> 32)


@inlined
def _acker_of(p: Program, root: int) -> Any:
    """The acker of a tree: any, with equal chances, as the random ids of roots are dealt.

    The place alone would not do: while few trees are open, few places are ever used.
    """
    mixed = ((root & _INDEX) * 0x9E3779B1 + (root >> 32 & 0xFFFFFF) * 0x85EBCA6B) & _INDEX
    mixed = ((mixed ^ (mixed >> 15)) * 0x2C1B3C6D) & _INDEX
    return p.at.acker_first + (mixed ^ (mixed >> 12)) % p.at.ackers


@inlined
def tell_acker(p: Program, s: State, thread: int, what: int, root: int, edge: Any) -> None:
    """A message to the acker of a root."""
    new = take_message(p, s)
    m = s.message[new]
    m.what, m.root, m.edge = what, root, edge
    m.task = _acker_of(p, root)
    t = s.thread[thread]
    m.sender = p.task_of_executor[t.executor]
    hold(s, thread, new)
    t.extra += p.operator[t.operator].ack


@inlined
def verdict_on(p: Program, s: State, operator: int, row: int) -> Any:
    """Whether an operator acks a tuple that it is done with, or fails it."""
    fails = p.operator[operator].fails
    return FAIL if fails > 0.0 and uniform(s.random, row) < fails else ACK


@inlined
def acknowledge(p: Program, s: State, thread: int, which: int, what: int, now: float) -> None:
    """Tell the ackers of all roots of a tuple that it was dealt with, well (ACK) or not (FAIL)."""
    m = s.message[which]
    if p.at.detailed == 1:
        _count_ack(p, s, which, what, now)
    if p.at.ackers == 0:
        return
    if p.at.keeps == 0 or m.anchors == NONE:
        tell_acker(p, s, thread, what, m.root, m.edge)
    else:
        _tell_ackers(p, s, thread, which, what)


@rare
def _tell_ackers(p: Program, s: State, thread: int, which: int, what: int) -> None:
    m = s.message[which]
    anchor = m.anchors
    while anchor != NONE:
        a = s.anchor[anchor]
        tell_acker(p, s, thread, what, a.root, a.edge ^ m.edge)
        anchor = a.link


@rare
def _count_ack(p: Program, s: State, which: int, what: int, now: float) -> None:
    m = s.message[which]
    row = m.task * p.at.subscriptions + m.what
    r = s.inputs[row]
    taken = now - m.started
    if what == FAIL:
        r.failed += 1
        return
    if r.acked % SAMPLING == 0:
        r.ack_pick = int(SAMPLING * uniform(s.random, p.at.look_stream))
    looks = r.acked % SAMPLING == r.ack_pick
    r.acked += 1
    r.process += taken
    r.process_squares += taken * taken
    s.process_bin[row, coarse_bin_of(taken)] += 1
    if looks:
        # The engine's clock has milliseconds.
        r.sampled_processes += 1
        r.sampled_process += np.floor(now * 1e3) - np.floor(m.started * 1e3)


@rare
def anchors_in(s: State, which: int) -> Any:
    """How many roots a message has, at the most."""
    count, anchor = 0, s.message[which].anchors
    while anchor != NONE:
        count += 1
        anchor = s.anchor[anchor].link
    return max(count, 1)


@inlined
def anchor_to_one(p: Program, s: State, new: int, parent: int, subscription: int, row: int) -> None:
    """Anchor a new tuple to one that has one root."""
    n, m = s.message[new], s.message[parent]
    n.born, n.due = m.born, m.due
    n.path = p.path_next[m.path, subscription]
    if p.at.detailed == 1:
        n.hop = m.hop
    if p.at.ackers > 0:
        n.root = m.root
        n.edge = next_word(s.random, row)
        m.edge ^= n.edge


@rare
def anchor_to_many(
    p: Program, s: State, new: int, parent: int, parents: int, subscription: int, row: int
) -> None:
    """Anchor a new tuple to all roots of several, which follow each other in a list."""
    n = s.message[new]
    s.counts[LAST_MARK] += 1
    mark = s.counts[LAST_MARK]
    which, last = parent, NONE
    for _ in range(parents):
        m = s.message[which]
        edge = next_word(s.random, row) if p.at.ackers > 0 else np.uint64(0)
        m.edge ^= edge
        if n.hop == NONE:
            n.hop = m.hop
        anchor = m.anchors
        while True:
            if anchor == NONE:
                root, born, due, path, weight = m.root, m.born, m.due, m.path, np.int32(1)
            else:
                a = s.anchor[anchor]
                root, born, due, path, weight = a.root, a.born, a.due, a.path, a.weight
            path = p.path_next[path, subscription]
            place = NONE
            if p.at.ackers > 0:
                r = s.root[root & _INDEX]
                a = s.anchor[r.place]
                if r.mark == mark and a.root == root and a.path == path:
                    place = r.place
            if place != NONE:
                s.anchor[place].weight += weight
                s.anchor[place].edge ^= edge
            else:
                place = s.free[FIRST_FREE_ANCHOR]
                s.free[FIRST_FREE_ANCHOR] = s.anchor[place].link
                s.free[FREE_ANCHORS] -= 1
                b = s.anchor[place]
                b.link, b.root, b.edge, b.weight = NONE, root, edge, weight
                b.born, b.due, b.path = born, due, path
                if last == NONE:
                    n.anchors = place
                else:
                    s.anchor[last].link = place
                last = place
                if p.at.ackers > 0:
                    s.root[root & _INDEX].mark = mark
                    s.root[root & _INDEX].place = place
            if anchor == NONE:
                break
            anchor = s.anchor[anchor].link
            if anchor == NONE:
                break
        which = m.link


@internal
def arrive(p: Program, s: State, which: int, operator: int, now: float) -> None:
    """A tuple has come to the end of its way: count the latency of each of its roots."""
    m = s.message[which]
    if p.at.keeps == 0 or m.anchors == NONE:
        row = p.path_row[m.path, operator]
        record(s, row, now - m.born, 1)
        record(s, p.at.due_rows + row, now - m.due, 1)
    else:
        anchor = m.anchors
        while anchor != NONE:
            a = s.anchor[anchor]
            row = p.path_row[a.path, operator]
            record(s, row, now - a.born, a.weight)
            record(s, p.at.due_rows + row, now - a.due, a.weight)
            anchor = a.link


@internal
def handle_at_acker(p: Program, s: State, thread: int, which: int, now: float) -> None:
    """What an acker does with a message: add it up, and answer the source at the end."""
    m = s.message[which]
    if not is_open(s, m.root):
        return
    r = s.root[m.root & _INDEX]
    if r.ended == 1:
        return
    if r.first < 0.0:
        r.first = now
    r.sum ^= m.edge
    if m.what not in (ACK, FAIL):
        r.known = 1
    if m.what == FAIL or (r.known == 1 and r.sum == 0):
        r.ended = 1
        answer = take_message(p, s)
        a = s.message[answer]
        a.what, a.root, a.task, a.sender = DONE, m.root, r.task, m.task
        if m.what == FAIL:
            a.what = FAILED
        else:
            taken = now - r.first
            operator = p.task[r.task].operator
            record(s, p.at.path_rows + p.source_row[operator], taken, 1)
            if p.at.detailed == 1:
                r.taken = taken
                row = r.task * p.at.streams + r.stream
                o = s.outputs[row]
                o.complete += taken
                o.complete_squares += taken * taken
                s.complete_bin[row, coarse_bin_of(taken)] += 1
                if o.completed % SAMPLING == 0:
                    o.pick = int(SAMPLING * uniform(s.random, p.at.look_stream))
                o.completed += 1
                if (o.completed - 1) % SAMPLING == o.pick:
                    o.sampled_roots += 1
                    o.sampled_complete += np.floor(now * 1e3) - np.floor(r.first * 1e3)
        hold(s, thread, answer)


@internal
def end_root(
    p: Program, s: State, thread: int, root: int, fails: bool, late: bool, now: float
) -> None:
    """A source learns, or decides, how one of its roots ended."""
    index = root & _INDEX
    r, t = s.root[index], s.thread[thread]
    if r.older == NONE:
        t.oldest = r.younger
    else:
        s.root[r.older].younger = r.younger
    if r.younger == NONE:
        t.youngest = r.older
    else:
        s.root[r.younger].older = r.older
    t.pending -= 1
    operator = p.task[r.task].operator
    o = s.outputs[r.task * p.at.streams + r.stream]
    if fails:
        t.failed += 1
        o.roots_failed += 1
        if late:
            t.timed_out += 1
            o.roots_timed_out += 1
    else:
        o.roots_acked += 1
        taken = now - r.born
        record(s, p.at.path_rows + p.at.sources + p.source_row[operator], taken, 1)
        o.seen += taken
        o.seen_squares += taken * taken
    if p.at.detailed == 1 and r.hop != NONE:
        note_end(s, r.hop, FAILED_ROOT if fails else ACKED, 0.0 if fails else r.taken, now)
    if fails and p.operator[operator].replays == 1:
        t.replayed += 1
        o.roots_replayed += 1
        again = take_message(p, s)
        m = s.message[again]
        m.what, m.task, m.root, m.due = DUE, r.task, np.int64(r.stream), r.due
        push(p, s, p.at.due + thread, again, now)
        if t.phase == IDLE:
            wake(p, s, thread, now)
    r.generation += 1
    r.link = s.free[FIRST_FREE_ROOT]
    s.free[FIRST_FREE_ROOT] = index
    s.free[FREE_ROOTS] += 1


@rare
def time_out_roots(p: Program, s: State, thread: int, now: float) -> None:
    """A source's timer: roots that were open before the last but one turn of it have failed."""
    t = s.thread[thread]
    every = p.rules.time_out
    turn = np.floor(now / every + 0.5)
    while t.oldest != NONE and np.floor(s.root[t.oldest].born / every) <= turn - 2.0:
        if s.free[FREE_MESSAGES] < p.at.reserve:
            # No room to emit it again: once there is more.
            set_timer(s.timers, p.at.time_out_timers + thread, now)
            return
        index = t.oldest
        root = (np.int64(s.root[index].generation) << 32) | np.int64(index)
        end_root(p, s, thread, root, True, True, now)
    if t.pending > 0:
        set_timer(s.timers, p.at.time_out_timers + thread, (turn + 1.0) * every)


@rare
def hear_answers(p: Program, s: State, thread: int, now: float) -> None:
    """A source that is blocked still hears the ackers' answers."""
    while s.queue[thread].length > 0:
        which = pop(p, s, thread, now)
        m = s.message[which]
        if m.what in (DONE, FAILED) and is_open(s, m.root):
            end_root(p, s, thread, m.root, m.what == FAILED, False, now)
        free_message(p, s, which)


@rare
def note_end(s: State, parent: int, outcome: int, complete: float, now: float) -> None:
    """Write down how a traced root ended."""
    place = s.counts[HOPS_TRACED] - s.counts[FIRST_HOP_KEPT]
    if place < s.counts[HOPS_KEPT]:
        h = s.hops[place]
        h.parent, h.task, h.what, h.outcome = parent, NONE, NONE, outcome
        h.arrived, h.started, h.finished = complete, now, now
        s.counts[HOPS_TRACED] += 1


@rare
def note_hop(s: State, which: int, now: float) -> None:
    """Write down where a traced tuple was served; those anchored to it follow this hop."""
    place = s.counts[HOPS_TRACED] - s.counts[FIRST_HOP_KEPT]
    m = s.message[which]
    if place >= s.counts[HOPS_KEPT]:
        m.hop = NONE
        return
    h = s.hops[place]
    h.parent, h.task, h.what, h.key, h.outcome = m.hop, m.task, m.what, m.key, NONE
    h.arrived, h.started, h.finished = m.arrived, m.started, now
    m.hop = s.counts[HOPS_TRACED]
    s.counts[HOPS_TRACED] += 1
