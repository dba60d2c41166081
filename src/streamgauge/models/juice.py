"""Juice: which part of the sources' input a topology processes (Henge, eq. 2.5 to 2.7).

J of an operator o for a source s is Σ over parents i of J of i × (tuples of i that o executed) /
(tuples that i sent to all of its children); a source has 1 for itself. The topology's is the sum
over sinks and sources, divided by the number of sources.

An operator that was sent tuples and sent none on (a filter that let nothing pass, a window that did
not fire) counts as a sink: it processed them. A source that sent nothing does not count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JuiceEstimate:
    """Juice, of one or of many replicas.

    Attributes:
        topology: Of the whole.
        operators: Of each operator, summed over sources.
    """

    topology: Floats
    operators: Floats


def juice_of(
    executed: Floats,
    sent: Floats,
    *,
    sources: Bools,
    sinks: Bools,
    acked: Floats | None = None,
    weights: Floats | None = None,
) -> JuiceEstimate:
    """Juice of a topology; leading dimensions are replicas. Cycles are allowed.

    Args:
        executed: [i, o]: tuples of operator i that operator o executed, by count or rate.
        sent: [i]: tuples that i sent to all of its children together, copies included.
        sources: Which operators are sources.
        sinks: Which send nothing on by design.
        acked: Part of the sources' tuples that was acked, where trees are tracked.
        weights: What a tuple counts, by operator where it ends; one when not given.

    Raises:
        numpy.linalg.LinAlgError: Tuples go round in a cycle and never leave it.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        passed = np.where(sent[..., :, None] > 0.0, executed / sent[..., :, None], 0.0)
    begun = np.where(sources & (sent > 0.0), 1.0, 0.0)
    through = np.eye(len(sources)) - np.swapaxes(passed, -1, -2)
    operators: Floats = np.asarray(np.linalg.solve(through, begun[..., None])[..., 0], np.float64)
    silent = ~sources & (sent <= 0.0) & (executed.sum(axis=-2) > 0.0)
    number = begun.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ended = np.where(sinks | silent, operators, 0.0)
        topology = (ended if weights is None else ended * weights).sum(axis=-1) / number
    if acked is not None:
        topology = topology * acked
    return JuiceEstimate(topology=np.asarray(topology), operators=operators)
