"""Where a tuple goes: how each grouping chooses a task.

Storm 2.x's shuffle looks at nearness and load (`LoadAwareShuffleGrouping`). Its scope begins at
the own worker and widens to the host, the rack and everything when the targets in scope are loaded
on the mean beyond one bound, and narrows when those of the next smaller scope are below another.
Inside the scope every target has a weight, which grows slowly while its load is near the least,
and falls fast otherwise. Loads are looked at by a timer of each worker; those of other workers are
known by what they last told.
"""

from __future__ import annotations

from typing import Any

from streamgauge.simulation.compiling import inlined, rare
from streamgauge.simulation.draws import draw, pass_over
from streamgauge.simulation.random_streams import uniform
from streamgauge.simulation.records import (
    BY_KEY,
    BY_KEY_OF_TWO,
    EVERY,
    IN_TURN,
    NEAR_AND_FREE,
)
from streamgauge.simulation.state import Program, State
from streamgauge.simulation.timers import set_timer

HEAVIEST, GROWTH, FALL = 100.0, 1.0, 10.0
# Loads this near to the least count as equal to it.
NEAR_THE_LEAST = 0.05
# Nobody reports the load of a task that is not its executor's lowest: it counts as full.
UNKNOWN_LOAD = 1.0
WORKER, HOST, RACK, EVERYWHERE = range(4)


@inlined
def choose(p: Program, s: State, executor: int, subscription: int, key: int, copy: int) -> Any:
    """The task that the next tuple of a subscription goes to."""
    rule = p.subscription[subscription].rule
    r = s.route[executor * p.at.subscriptions + subscription]
    if rule == NEAR_AND_FREE:
        r.turn += 1
        if r.turn >= r.choices:
            r.turn = 0
        return s.choice[r.choice + r.turn]
    if rule == IN_TURN:
        task = p.target[r.first + r.turn]
        r.turn += 1
        if r.first + r.turn >= r.last:
            r.turn = 0
        return task
    if rule == BY_KEY:
        return p.key_task[p.subscription[subscription].keys + key]
    if rule == EVERY:
        return p.target[r.first + copy]
    if rule == BY_KEY_OF_TWO:
        row = p.subscription[subscription].keys + 2 * key
        base = r.first - p.first_task[p.subscription[subscription].target]
        one, other = p.key_task[row], p.key_task[row + 1]
        task = other if s.used[base + one] > s.used[base + other] else one
        s.used[base + task] += 1
        return task
    wanted = uniform(s.random, executor)
    place = r.first
    while place + 1 < r.last and p.target_share[place] <= wanted:
        place += 1
    return p.target[place]


@inlined
def copies_of(p: Program, s: State, executor: int, subscription: int) -> Any:
    """How many tasks get a copy."""
    if p.subscription[subscription].rule != EVERY:
        return 1
    r = s.route[executor * p.at.subscriptions + subscription]
    return r.last - r.first


@inlined
def draw_key(p: Program, s: State, stream: int, executor: int) -> Any:
    """The key of a tuple on that stream, or a negative number without keys."""
    law = p.stream[stream].key
    if law < 0:
        return -1
    if p.at.labelled == 0 and p.stream[stream].keyed == 0:
        # Nobody looks at it: only random numbers are the same as if somebody did.
        pass_over(s.draws, law, s.random, executor)
        return -1
    return int(draw(s.draws, law, s.random, executor))


@inlined
def _in_scope(s: State, route: int, scope: int) -> Any:
    """How many targets, the nearest first, are in a scope."""
    r = s.route[route]
    if scope == WORKER:
        return r.worker_size
    if scope == HOST:
        return r.host_size
    if scope == RACK:
        return r.rack_size
    return r.last - r.first


@inlined
def _mean_load(p: Program, s: State, route: int, scope: int, worker: int) -> Any:
    total, first = 0.0, s.route[route].first
    count = _in_scope(s, route, scope)
    for place in range(first, first + count):
        total += s.load[worker, p.target[place]]
    return total / count


@rare
def refresh_route(p: Program, s: State, route: int, worker: int, executor: int) -> None:
    """Look at the loads: perhaps another scope, then new weights, then new choices."""
    r = s.route[route]
    before = r.scope
    while _in_scope(s, route, r.scope) == 0:
        r.scope += 1
    if _mean_load(p, s, route, r.scope, worker) > p.rules.widen:
        if r.scope < EVERYWHERE:
            r.scope += 1
    elif (
        r.scope > WORKER
        and _in_scope(s, route, r.scope - 1) > 0
        and _mean_load(p, s, route, r.scope - 1, worker) < p.rules.narrow
    ):
        r.scope -= 1
    changed = r.scope != before
    if changed:
        for place in range(r.first, r.last):
            s.weight[place] = HEAVIEST
    first, count = r.first, _in_scope(s, route, r.scope)
    least = UNKNOWN_LOAD
    for place in range(first, first + count):
        least = min(least, s.load[worker, p.target[place]])
    for place in range(first, first + count):
        weight = s.weight[place]
        if s.load[worker, p.target[place]] <= least + NEAR_THE_LEAST:
            s.weight[place] = min(HEAVIEST, weight + GROWTH)
        else:
            s.weight[place] = max(0.0, weight - FALL)
        changed |= s.weight[place] != weight
    if changed:
        fill_choices(p, s, route, executor)


@rare
def fill_choices(p: Program, s: State, route: int, executor: int) -> None:
    """Fill the list of choices by weight, and shuffle it."""
    r = s.route[route]
    while _in_scope(s, route, r.scope) == 0:
        r.scope += 1
    first, count = r.first, _in_scope(s, route, r.scope)
    total = 0.0
    for place in range(first, first + count):
        total += s.weight[place]
    filled = 0
    if total > 0.0:
        for place in range(first, first + count):
            for _ in range(int(s.weight[place] / total * r.choices)):
                s.choice[r.choice + filled] = p.target[place]
                filled += 1
    if filled == 0:
        for filled_with in range(r.choices):
            s.choice[r.choice + filled_with] = p.target[first + filled_with % count]
        filled = r.choices
    for place in range(filled, r.choices):
        pick = int(uniform(s.random, executor) * place)
        s.choice[r.choice + place] = s.choice[r.choice + pick]
    for place in range(r.choices - 1, 0, -1):
        other = int(uniform(s.random, executor) * (place + 1))
        task = s.choice[r.choice + place]
        s.choice[r.choice + place] = s.choice[r.choice + other]
        s.choice[r.choice + other] = task
    r.turn = -1


@rare
def refresh_loads(p: Program, s: State, worker: int, now: float) -> None:
    """A worker's timer: take the loads of its own executors, tell others, choose anew."""
    tells = now >= s.gossiped[worker] + p.rules.gossip
    if tells:
        s.gossiped[worker] = now
    for executor in range(p.at.executors):
        if p.worker[executor] == worker:
            q = s.queue[executor]
            load, task = (q.length - q.overflow) / q.limit, p.task_of_executor[executor]
            if tells:
                for other in range(p.at.workers):
                    s.load[other, task] = load
            s.load[worker, task] = load
    for executor in range(p.at.executors):
        if p.worker[executor] == worker:
            for subscription in range(p.at.subscriptions):
                route = executor * p.at.subscriptions + subscription
                if p.subscription[subscription].rule == NEAR_AND_FREE and s.route[route].choices:
                    refresh_route(p, s, route, worker, executor)
    later = uniform(s.random, p.at.worker_streams + worker)
    pause = p.rules.refresh + p.rules.refresh_jitter * later
    set_timer(s.timers, p.at.load_timers + worker, now + pause)
