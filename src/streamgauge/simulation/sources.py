"""Sources: what they emit next, and when they are held back.

A source is held back while too many of its roots are open (`topology.max.spout.pending`), or while
a queue above its high-water mark stops all sources.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streamgauge.simulation.compiling import inlined
from streamgauge.simulation.queues import pop, take_message
from streamgauge.simulation.records import DUE, FLOODED_QUEUES, NONE
from streamgauge.simulation.state import Program, State


@inlined
def next_emission(p: Program, s: State, thread: int, now: float) -> Any:
    """What a source emits next, if it may, or NONE."""
    t = s.thread[thread]
    due = s.queue[p.at.due + thread].length > 0 or t.unlimited != NONE
    if t.pending >= p.max_pending[thread] or s.counts[FLOODED_QUEUES] > 0:
        if due and t.throttled == 0:
            t.throttled, t.throttled_since = 1, now
        return NONE
    if not due:
        return NONE
    if t.throttled == 1:
        t.throttled = 0
        t.throttled_time += now - t.throttled_since
    if s.queue[p.at.due + thread].length > 0:
        return pop(p, s, p.at.due + thread, now)
    which = take_message(p, s)
    m = s.message[which]
    m.what, m.root = DUE, np.int64(t.unlimited)
    m.due, m.arrived = now, now
    # Its tasks are asked in turn.
    first, following = p.task_of_executor[thread], p.task_of_executor[thread + 1]
    m.task = first + t.emitted % (following - first)
    return which
