"""Placement as a problem of counts: how many executors of each class every node gets.

Executors that send and receive alike are interchangeable, so that what matters is not which of
them a node has but how many. A stream between X and Y such executors has x·y/(X·Y) of its tuples
inside a node with x and y of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from streamgauge.planning.scheduling.traffic import Traffic

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Counts = NDArray[np.int64]

# Rates that differ by rounding only are the same.
DIGITS = 12
# A limit that is passed by less than this part is kept.
TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Limit:
    """What nodes, or the machines that several of them share, can take of something.

    Attributes:
        load: What one executor of each class takes.
        group: For each node which place it draws on.
        most: What each place has.
    """

    load: Vector
    group: NDArray[np.intp]
    most: Vector

    def loads(self, counts: Counts) -> Vector:
        """What each place has to take."""
        by_node = self.load @ counts
        found = np.bincount(self.group, weights=by_node, minlength=len(self.most))
        return found.astype(np.float64)

    def is_kept(self, counts: Counts) -> bool:
        """Whether no place has to take more than it has."""
        return bool(np.all(self.loads(counts) <= self.allowed))

    @property
    def allowed(self) -> Vector:
        """What each place has, with room for rounding."""
        return self.most * (1.0 + TOLERANCE)


@dataclass(frozen=True, kw_only=True, eq=False)
class PlacementProblem:
    """Which counts are allowed, and what they cost.

    Attributes:
        members: Executors of each class, by their indices in the logical plan.
        pairs: Tuples per second, both ways, between an executor of one class and one of another;
            on the diagonal, between two of the same.
        nodes: How many nodes there are to choose from.
        most_nodes: How many of them may be used.
        limits: What they can take.
    """

    members: tuple[tuple[int, ...], ...]
    pairs: Matrix
    nodes: int
    most_nodes: int
    limits: tuple[Limit, ...]

    @cached_property
    def sizes(self) -> Counts:
        """Executors in each class."""
        return np.asarray([len(one) for one in self.members], dtype=np.int64)

    @cached_property
    def total(self) -> float:
        """Tuples per second between different executors, wherever they are."""
        return self.together(self.sizes[:, np.newaxis])

    def together(self, counts: Counts) -> float:
        """Tuples per second that stay inside nodes with so many executors of each class."""
        products = float(np.sum(counts * (self.pairs @ counts)))
        return 0.5 * (products - float(np.diagonal(self.pairs) @ counts.sum(axis=1)))

    def remote(self, counts: Counts) -> float:
        """Tuples per second between nodes."""
        return max(self.total - self.together(counts), 0.0)

    def allows(self, counts: Counts) -> bool:
        """Whether every executor is placed once and every limit is kept."""
        return (
            bool(np.all(counts >= 0))
            and np.array_equal(counts.sum(axis=1), self.sizes)
            and int(counts.any(axis=0).sum()) <= self.most_nodes
            and all(limit.is_kept(counts) for limit in self.limits)
        )

    def count_nodes(self, node_of_executor: Sequence[int]) -> Counts:
        """The counts of a placement given executor by executor."""
        counts = np.zeros((len(self.members), self.nodes), dtype=np.int64)
        for index, members in enumerate(self.members):
            for executor in members:
                counts[index, node_of_executor[executor]] += 1
        return counts

    def deal_nodes(self, counts: Counts) -> list[int]:
        """For each executor its node: those of a class in the order of their tasks."""
        found = [0] * int(self.sizes.sum())
        for members, row in zip(self.members, counts, strict=True):
            nodes = np.repeat(np.arange(self.nodes), row).tolist()
            for executor, node in zip(members, nodes, strict=True):
                found[executor] = node
        return found


def classes_of(traffic: Traffic) -> tuple[tuple[tuple[int, ...], ...], Matrix]:
    """The classes of interchangeable executors, and the traffic between two of each.

    Executors of one operator are of one class if they send and get the same, and have the same
    part of their operator's work.
    """
    logical = traffic.logical
    marks: dict[str, list[Matrix]] = {
        name: [parts[:, np.newaxis]] for name, parts in traffic.parts.items()
    }
    for one in traffic.streams:
        single = len(one.shares) == 1
        per_second = one.per_second
        marks[one.stream.source].append(one.sent[:, np.newaxis] if single else per_second)
        marks[one.stream.target].append(per_second[:1].T if single else per_second.T)
    members: list[tuple[int, ...]] = []
    for name, span in logical.spans.items():
        alike = _rounded(np.hstack(marks[name]))
        _, inverse = np.unique(alike, axis=0, return_inverse=True)
        groups: dict[int, list[int]] = {}
        for executor, group in zip(span, inverse.ravel().tolist(), strict=True):
            groups.setdefault(group, []).append(executor)
        members += sorted(tuple(group) for group in groups.values())
    first = np.asarray([group[0] for group in members], dtype=np.intp)
    pairs = np.zeros((len(members), len(members)))
    operator = np.asarray([logical.executors[index].operator for index in first])
    for one in traffic.streams:
        rows = np.flatnonzero(operator == one.stream.source)
        columns = np.flatnonzero(operator == one.stream.target)
        per_second = one.per_second[
            np.ix_(first[rows] - one.sources.start, first[columns] - one.targets.start)
        ]
        pairs[np.ix_(rows, columns)] += per_second
        pairs[np.ix_(columns, rows)] += per_second.T
    return tuple(members), pairs


def _rounded(values: Matrix) -> Matrix:
    """Each column to a number of digits of its largest value."""
    scale = np.abs(values).max(axis=0)
    scaled = np.divide(values, scale, out=np.zeros_like(values), where=scale > 0.0)
    return np.asarray(np.round(scaled, DIGITS))
