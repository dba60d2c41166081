"""Layers: which links run backwards, which layer a box is in, which points a long edge passes.

Cycles are broken at the links that close one in a depth-first walk (Gansner, Koutsofios, North and
Vo 1993). Layers are longest paths from the sources (Eades and Sugiyama 1990), shortened as in the
promotion of nodes by Nikolov and Tarassov (2006), except that a vertex moves by more than one layer
at a time. Dummy vertices on long edges are those of Sugiyama, Tagawa and Toda (1981).
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise

from streamgauge.drawing.layered.graph import Box, Graph, Link, Route, Spacing

# Bound on the passes over all seeds, never reached in practice: of 300 random graphs with up to 124
# boxes the slowest was stable after six.
_PULL_PASSES = 30


def feedback_links(boxes: Sequence[Box], links: Sequence[Link]) -> frozenset[int]:
    """Indices of the links drawn backwards: self-loops and those that close a cycle."""
    return frozenset(closing_links(len(boxes), link_ends(boxes, links), backward(links)))


def backward(links: Sequence[Link]) -> set[int]:
    """Indices of the links that are meant to run backwards."""
    return {number for number, link in enumerate(links) if link.back}


def link_ends(boxes: Sequence[Box], links: Sequence[Link]) -> list[tuple[int, int]]:
    """Box indices of every link's source and target, checked."""
    index = {box.id: number for number, box in enumerate(boxes)}
    if len(index) < len(boxes):
        twice = next(box.id for number, box in enumerate(boxes) if index[box.id] != number)
        raise ValueError(f"box id {twice!r} occurs twice; ids must be unique")
    for number, link in enumerate(links):
        for end in (link.source, link.target):
            if end not in index:
                raise ValueError(f"link {number} names unknown box {end!r}; add the box first")
    return [(index[link.source], index[link.target]) for link in links]


def closing_links(
    size: int, ends: Sequence[tuple[int, int]], back: AbstractSet[int] = frozenset()
) -> set[int]:
    """Links meant to run back, and those that close a cycle in a walk along the others.

    The walk is depth-first from the sources, in input order.
    """
    out: list[list[tuple[int, int]]] = [[] for _ in range(size)]
    onward = [(number, end) for number, end in enumerate(ends) if number not in back]
    for number, (source, target) in onward:
        out[source].append((target, number))
    entered = {target for _, (source, target) in onward if source != target}
    closing = set(back)
    state = [0] * size
    for root in sorted(range(size), key=lambda v: v in entered):
        if state[root]:
            continue
        state[root] = 1
        walk = [(root, iter(out[root]))]
        while walk:
            v, steps = walk[-1]
            step = next(steps, None)
            if step is None:
                state[v] = 2
                walk.pop()
            elif state[step[0]] == 1:
                closing.add(step[1])
            elif state[step[0]] == 0:
                state[step[0]] = 1
                walk.append((step[0], iter(out[step[0]])))
    return closing


def connected_parts(size: int, ends: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Connected parts as sorted box indices, in the order of their first boxes."""
    near: list[list[int]] = [[] for _ in range(size)]
    for source, target in ends:
        near[source].append(target)
        near[target].append(source)
    parts, seen = [], [False] * size
    for root in range(size):
        if seen[root]:
            continue
        seen[root] = True
        part = [root]
        for v in part:
            fresh = [w for w in dict.fromkeys(near[v]) if not seen[w]]
            for w in fresh:
                seen[w] = True
            part += fresh
        parts.append(sorted(part))
    return parts


def assign_layers(size: int, arcs: Sequence[tuple[int, int, int]]) -> list[int]:
    """Longest-path layers, then groups pulled right while that shortens the edges in total."""
    out: list[list[tuple[int, int]]] = [[] for _ in range(size)]
    into: list[list[tuple[int, int]]] = [[] for _ in range(size)]
    for u, v, weight in arcs:
        out[u].append((v, weight))
        into[v].append((u, weight))
    waiting = [len(arcs_in) for arcs_in in into]
    layer = [0] * size
    ready = [v for v in range(size) if not waiting[v]]
    for v in ready:
        for w, _ in out[v]:
            layer[w] = max(layer[w], layer[v] + 1)
            waiting[w] -= 1
            if not waiting[w]:
                ready.append(w)
    # A group never gains by its seed unless more weight leaves the seed than enters it.
    seeds = [v for v in reversed(ready) if sum(w for _, w in out[v]) > sum(w for _, w in into[v])]
    for _ in range(_PULL_PASSES):
        moved = [_pull_right(seed, layer, out, into) for seed in seeds]
        if not any(moved):
            break
    return layer


def _pull_right(
    seed: int,
    layer: list[int],
    out: Sequence[Sequence[tuple[int, int]]],
    into: Sequence[Sequence[tuple[int, int]]],
) -> bool:
    """Moves the seed, with all it would push, as far right as pays; tells whether it moved."""
    group, members = [seed], {seed}
    for v in group:
        tight = [w for w, _ in out[v] if layer[w] == layer[v] + 1 and w not in members]
        members.update(tight)
        group += dict.fromkeys(tight)
    leaving = [(layer[w] - layer[v] - 1, n) for v in group for w, n in out[v] if w not in members]
    entering = sum(n for v in group for u, n in into[v] if u not in members)
    if sum(n for _, n in leaving) <= entering:
        return False
    step = min(slack for slack, _ in leaving)
    for v in group:
        layer[v] += step
    return True


def thread_route(
    graph: Graph, u: int, v: int, links: tuple[int, ...], *, back: bool, space: Spacing
) -> Route:
    """Adds the points a bundle passes through and joins them."""
    if u == v:
        return Route(links=links, source=u, target=v, path=(), feedback=True)
    half = (len(links) - 1) * space.lane / 2
    first, last = (v, u) if back else (u, v)
    low, high = graph.layer[first], graph.layer[last]
    inner = range(low, high + 1) if back else range(low + 1, high)
    points = []
    for level in inner:
        share = (level - low) / (high - low)
        rank = graph.rank[first] * (1 - share) + graph.rank[last] * share
        # Feedback starts out below its nodes.
        rank += 0.5 if back else 0.0
        points.append(graph.add(level, half, half, space.edge_gap / 2, rank))
    path = points if back else [u, *points, v]
    for a, b in pairwise(path):
        graph.join(a, b, len(links))
    if back:
        start = graph.add(low - 1, 0.0, 0.0, 0.0, graph.rank[v])
        stop = graph.add(high + 1, 0.0, 0.0, 0.0, graph.rank[u])
        graph.turns |= {start, stop}
        for a, b in ((start, v), (start, path[0]), (u, stop), (path[-1], stop)):
            graph.join(a, b, len(links))
    return Route(links=links, source=u, target=v, path=tuple(path), feedback=back)
