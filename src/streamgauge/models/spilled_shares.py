"""Storm 2.x's shuffle beyond what the nearest executors can serve: tuples go further.

Before a queue is full and holds senders back, its load takes weight from its executor, and gives it
to others in the sender's scope; where all of them fill up, the scope widens (`load_aware_shuffle`,
`regimes`). In a long run an executor therefore gets what it can serve, and the others the rest. A
limit on open roots may keep queues from ever filling up: then nothing spills (`Regimes.blocked`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.load_aware_shuffle import SCOPES, find_nearness
from streamgauge.models.parameters import Parameters
from streamgauge.topology.topology import Subscription
from streamgauge.topology.tuple_flow import Matrix, TupleFlow, as_slice

Vector = NDArray[np.float64]

# Who could do less than this part more is full.
FULL = 1e-2
# Part of the way to equal loads that shares go in one round, and the widest they change.
STEP, WIDEST = 0.7, 4.0


def spill(
    now: Parameters, room: Vector, scopes: dict[Subscription, NDArray[np.int8]]
) -> tuple[TupleFlow, float]:
    """The plan with shares by which full executors get less, and by which part they changed.

    Args:
        now: The plan at the rates that get through, with the shares so far.
        room: By executor: how many times as much it could do.
        scopes: How far each sender looks, which is widened here where all in scope are full.
    """
    flow, changed = now.flow, 0.0
    nearness = find_nearness(flow.plan)
    placement = np.asarray(flow.plan.placement, dtype=np.intp)
    blocks = []
    for block in flow.blocks:
        scope = scopes.get(block.stream.subscription)
        if scope is None:
            blocks.append(block)
            continue
        near = nearness[placement[as_slice(block.sources)]][:, placement[as_slice(block.targets)]]
        shares = _spill(block.shares, room[as_slice(block.targets)], near, scope)
        changed = max(changed, float(np.abs(shares - block.shares).max(initial=0.0)))
        blocks.append(replace(block, shares=shares))
    return replace(flow, blocks=tuple(blocks)), changed


def _spill(
    shares: Matrix, room: Vector, near: NDArray[np.int64], scope: NDArray[np.int8]
) -> Matrix:
    """Shares of one stream; senders whose targets all have room keep theirs."""
    found = shares.copy()
    full = room <= 1.0 + FULL
    for row in range(len(shares)):
        if not full[shares[row] > 0.0].any():
            continue
        inside = near[row] <= scope[row]
        if full[inside].all() and scope[row] < len(SCOPES) - 1 and not inside.all():
            scope[row] = near[row][~inside].min()
            inside = near[row] <= scope[row]
            found[row] = np.where(shares[row] > 0.0, shares[row], 1.0 / inside.sum()) * inside
        # Nobody is without any share: who has room again gets more.
        start = np.maximum(found[row], 1e-3) * inside
        wanted = start * np.clip(room, 1.0 / WIDEST, WIDEST) ** STEP
        found[row] = wanted / wanted.sum()
    return found
