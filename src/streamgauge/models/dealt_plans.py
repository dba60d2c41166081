"""Many plans at once: how many executors of each operator every slot has.

A configuration is written `<n, s, b, w>`: nodes, executors of the spout, of the bolt, and workers a
node (Bedini et al. 2013, section 6.2); of a job with more operators there is a number for each in
their order. Executors are dealt as Storm deals them (section 3.2): the first worker of each node,
then the second of each, and so on, going on where the operator before ended. That is why <1,8,8,16>
has one executor in a worker, as the paper says; a cursor that starts anew with every operator would
use eight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import InvalidInput
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.tuple_flow import as_slice

Vector = NDArray[np.float64]
Counts = NDArray[np.int64]

# Numbers by plan, operator and slot that are held at once.
CHUNK = 1 << 20


class DealtPlan(NamedTuple):
    """A configuration: nodes, executors by operator, workers on each node."""

    nodes: int
    executors: tuple[int, ...]
    workers: int

    @classmethod
    def parse(cls, text: str) -> DealtPlan:
        """The configuration that a text such as ``<2,4,4,2>`` means.

        Raises:
            InvalidInput: It is none.
        """
        inside = text.strip().removeprefix("<").removesuffix(">")
        parts = [part.strip() for part in inside.split(",")]
        fine = all(part.isascii() and part.isdigit() and int(part) > 0 for part in parts)
        if len(parts) < 3 or not fine:
            raise InvalidInput.single(
                ("configuration",),
                seen=repr(text),
                expected="<nodes, executors of each operator, workers a node>, such as <2,4,4,2>",
            )
        first, *executors, last = map(int, parts)
        return cls(first, tuple(executors), last)

    def __str__(self) -> str:
        return f"<{','.join(map(str, (self.nodes, *self.executors, self.workers)))}>"

    @property
    def active_workers(self) -> int:
        """Workers that have anything to run (footnote 6)."""
        return min(sum(self.executors), self.nodes * self.workers)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Slots:
    """Plans on the same slots, in arrays of plans × operators × slots.

    Attributes:
        counts: Executors of an operator in a slot.
        first: The slot of an operator's first executor, plans × operators.
        node: The node of each slot, counted from zero.
    """

    counts: Counts
    first: Counts
    node: NDArray[np.intp]

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return int(self.node.max()) + 1

    @property
    def executors(self) -> Counts:
        """By plan and operator."""
        return np.asarray(self.counts.sum(axis=2))

    @property
    def active_workers(self) -> Counts:
        """By plan: slots that have anything to run."""
        return np.asarray((self.counts.sum(axis=1) > 0).sum(axis=1))

    @property
    def most_threads(self) -> Counts:
        """By plan: executors on the node that has most."""
        return np.asarray(self.sum_by_node(self.counts.sum(axis=1)).max(axis=1))

    def sum_by_node(self, amounts: NDArray[np.generic]) -> Vector:
        """Sums over the slots of each node, along the last axis."""
        of_node = np.equal.outer(self.node, np.arange(self.nodes)).astype(np.float64)
        return np.asarray(amounts.astype(np.float64) @ of_node)

    @classmethod
    def deal(cls, nodes: int, workers: int, executors: Counts, *, restart: bool = False) -> Slots:
        """Executors of plans × operators, dealt in turn over so many nodes and workers a node."""
        size = nodes * workers
        cursor = np.zeros_like(executors)
        if not restart:
            cursor[:, 1:] = np.cumsum(executors, axis=1)[:, :-1]
        first = cursor % size
        turn = (np.arange(size) - first[:, :, np.newaxis]) % size
        whole, rest = np.divmod(executors, size)
        counts = whole[:, :, np.newaxis] + (turn < rest[:, :, np.newaxis])
        return cls(counts=counts, first=first, node=np.arange(size) % nodes)

    @classmethod
    def of(cls, plan: PhysicalPlan, operators: Sequence[str]) -> Slots:
        """A single plan, whatever made it; slots are its workers."""
        place = np.asarray(plan.placement, dtype=np.intp)
        spans = [plan.logical.spans[name] for name in operators]
        counts = [np.bincount(place[as_slice(s)], minlength=len(plan.workers)) for s in spans]
        number = {name: index for index, name in enumerate(plan.nodes)}
        return cls(
            counts=np.asarray([counts], dtype=np.int64),
            first=np.asarray([[place[span.start] for span in spans]], dtype=np.int64),
            node=np.asarray([number[worker.node] for worker in plan.workers], dtype=np.intp),
        )


class Batch(NamedTuple):
    """Plans of the same slots, and their places among those asked for."""

    places: NDArray[np.intp]
    slots: Slots


def deal_all(
    nodes: Counts, executors: Counts, workers: Counts, *, restart: bool = False
) -> Iterator[Batch]:
    """Plans by the slots they have in common, few enough at a time for memory.

    Args:
        nodes: Of each plan.
        executors: Plans × operators.
        workers: On each node, of each plan.
        restart: Whether every operator is dealt from the first slot on.
    """
    pairs, which = np.unique(np.stack([nodes, workers], axis=1), axis=0, return_inverse=True)
    for place, (node_count, worker_count) in enumerate(pairs.tolist()):
        members = np.flatnonzero(which.reshape(-1) == place)
        each = max(CHUNK // (node_count * worker_count * executors.shape[1]), 1)
        for start in range(0, len(members), each):
            chosen = members[start : start + each]
            dealt = Slots.deal(node_count, worker_count, executors[chosen], restart=restart)
            yield Batch(chosen, dealt)
