"""Tuples between the slots of many plans at once: who gets how much, and from how far.

For every stream the executors of a slot send alike. Divided evenly, a slot gets as much as it has
of the receivers (Bedini et al. 2013, C1 to C3, for each edge and weighted by its tuples); with
`all` grouping every receiver gets a copy, with `global` the first has everything, and those that
prefer near receivers keep to their worker, or then to their node, where there is one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.cost_job import LOCAL_FIRST, NEAREST, TO_ALL, TO_ONE
from streamgauge.models.dealt_plans import Slots

Vector = NDArray[np.float64]


class Fractions(NamedTuple):
    """Parts of the tuples that stay in their worker, reach another of the node, and another node.

    Numbers of plans, or arrays by plan.
    """

    local: Vector
    node: Vector
    remote: Vector

    @property
    def printed_remote(self) -> Vector:
        """α_remote as the paper prints it (C4), 1 − α_node.

        For its tables only: it counts what stays in a worker as remote too, so that the three sum
        to more than one.
        """
        return np.asarray(1.0 - self.node)


class Reach(NamedTuple):
    """Where the tuples of an edge go, by plan and slot.

    Attributes:
        local: Copies of a tuple of the slot's senders that stay there.
        node: Copies that reach other slots of its node.
        remote: Copies that reach other nodes.
        leaves: Probability that any copy leaves the slot.
        arrived: Tuples a second that come to the slot's receivers.
        from_away: Of these, what came from other slots.
        from_nodes: Of these, what came from other nodes.
    """

    local: Vector
    node: Vector
    remote: Vector
    leaves: Vector
    arrived: Vector
    from_away: Vector
    from_nodes: Vector


def pair_fractions(slots: Slots, edges: list[tuple[int, int]]) -> Fractions:
    """α by pairs of executors (C1 to C3, C4'): sums of products over sums of products.

    Args:
        slots: The plans.
        edges: Places of sender and receiver among the plans' operators.
    """
    counts, by_node = slots.counts.astype(np.float64), slots.sum_by_node(slots.counts)
    total = local = intra = np.zeros(len(counts))
    for source, target in edges:
        local = local + np.einsum("ks,ks->k", counts[:, source], counts[:, target])
        intra = intra + np.einsum("kn,kn->k", by_node[:, source], by_node[:, target])
        total = total + counts[:, source].sum(axis=1) * counts[:, target].sum(axis=1)
    return Fractions(local / total, (intra - local) / total, 1.0 - intra / total)


def carry(sent: Vector, slots: Slots, source: int, target: int, division: str) -> Reach:
    """Where the tuples of an edge go that senders of each slot send a second."""
    if division in (LOCAL_FIRST, NEAREST):
        return _carry_near(sent, slots, target, whole_node=division == NEAREST)
    there = slots.counts[:, target].astype(np.float64)
    many = there.sum(axis=1, keepdims=True)
    copies = np.ones_like(many)
    if division == TO_ONE:
        part = np.equal.outer(slots.first[:, target], np.arange(len(slots.node))).astype(np.float64)
    elif division == TO_ALL:
        part, copies = there, many
    else:
        part = there / many
    return _spread(sent, slots, part, copies)


def _spread(sent: Vector, slots: Slots, part: Vector, copies: Vector) -> Reach:
    """Every sender sends the same parts of each tuple to each slot."""
    total = sent.sum(axis=1, keepdims=True)
    in_node = slots.sum_by_node(part)[:, slots.node]
    sent_in_node = slots.sum_by_node(sent)[:, slots.node]
    return Reach(
        local=part,
        node=in_node - part,
        remote=np.maximum(copies - in_node, 0.0),
        # Of an even division the part that leaves; of copies, whether any does.
        leaves=np.where(copies > 1.0, part < copies, 1.0 - part).astype(np.float64),
        arrived=total * part,
        from_away=(total - sent) * part,
        from_nodes=(total - sent_in_node) * part,
    )


def _carry_near(sent: Vector, slots: Slots, target: int, *, whole_node: bool) -> Reach:
    """Senders keep to receivers of their slot; else, if asked, of their node; else to any."""
    there = slots.counts[:, target].astype(np.float64)
    in_node = slots.sum_by_node(there)[:, slots.node]
    here = there > 0.0
    near = ~here & (in_node > 0.0) if whole_node else np.zeros_like(here)
    far = ~here & ~near
    many = there.sum(axis=1, keepdims=True)
    # What senders of a node without receivers in their slot give each of its receivers.
    of_node = slots.sum_by_node(np.where(near, sent, 0.0))[:, slots.node]
    each = np.divide(of_node, in_node, out=np.zeros_like(sent), where=in_node > 0.0)
    from_far = np.where(far, sent, 0.0)
    spread = _spread(from_far, slots, there / many, np.ones_like(many))
    return Reach(
        local=here.astype(np.float64),
        node=np.where(near, 1.0, np.where(far, spread.node, 0.0)),
        remote=np.where(far, spread.remote, 0.0),
        leaves=(~here).astype(np.float64),
        arrived=np.where(here, sent, 0.0) + each * there + spread.arrived,
        from_away=each * there + spread.from_away,
        from_nodes=spread.from_nodes,
    )
