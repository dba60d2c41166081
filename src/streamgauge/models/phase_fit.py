"""What phases of a tuple cost an engine, fitted to what executors and workers were seen to use.

CPU beside the job's own code is a sum of costs times what they are for: tuples read, grouped by
each kind of grouping and serialised, with their bytes, by executors that wake up for them; batches
of messages sent and received, and messages deserialised, by threads of their own. No cost is below
zero. Differences count as parts of their figures, as large ones would decide alone. Errors are
those of the jackknife over steps (Efron 1982), which know that the steps of an experiment differ in
more than in counts; and each step is predicted from all others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import NotEnoughData
from streamgauge.models.cost_job import ByDistance, CostConstants, TypeCosts
from streamgauge.models.engine_costs import Seen, fit_above_zero

Vector = NDArray[np.float64]

READ = "read"
# Network threads deserialise what they receive.
SERIALISE, DESERIALISE = "serialise", "deserialise"
SERIALISE_BYTE, DESERIALISE_BYTE = "serialise a byte", "deserialise a byte"
GROUPING = "group by "
# Of threads that wake up a thousand times a second, what is not known as idle time.
AWAKE, TRANSFER_THREAD = "awake executor", "awake transfer thread"
# What a message costs the transfer thread, and a batch of them the network threads.
HAND_OVER, SEND, RECEIVE = "hand over", "send a batch", "receive a batch"
BYTE_COSTS = (SERIALISE_BYTE, DESERIALISE_BYTE)
CORE_COSTS = (AWAKE, TRANSFER_THREAD)
# Executors of the same load differ by about this part, and by this many cores.
UNLIKE, LEAST = 0.1, 1e-4
RANK_TOLERANCE = 1e-6


class LeftOut(NamedTuple):
    """A step predicted from the others: cores beside the job's own code, of all together."""

    step: str
    measured: float
    predicted: float

    @property
    def error(self) -> float:
        """As a part of what was measured."""
        return self.predicted / self.measured - 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedCosts:
    """The costs that explain best what was seen, in seconds; of idle threads in cores.

    Attributes:
        names: Of the costs.
        values: Of each.
        errors: Standard errors; NaN where a step cannot be left out.
        figures: How many figures they were fitted to.
        batches: In a message, on the mean over the experiment.
        median_error: Of these figures, as a part of them.
        left_out: Each step predicted from the others, where these tell all costs.
        needed: Steps without which some cost is not known.
    """

    names: tuple[str, ...]
    values: Vector
    errors: Vector
    figures: int
    batches: float
    median_error: float
    left_out: tuple[LeftOut, ...] = ()
    needed: tuple[str, ...] = ()

    def value(self, name: str) -> float:
        """A cost by its name; none where it was not seen."""
        return float(self.values[self.names.index(name)]) if name in self.names else 0.0

    @property
    def constants(self) -> CostConstants:
        """For the cost models; transport has a message's part of batches, as many as were seen."""
        moving = self.value(HAND_OVER)
        moving += self.batches * (self.value(SEND) + self.value(RECEIVE))
        return CostConstants(
            any_type=TypeCosts(
                read=self.value(READ),
                serialise=self.value(SERIALISE),
                deserialise=self.value(DESERIALISE),
                serialise_per_byte=self.value(SERIALISE_BYTE),
                deserialise_per_byte=self.value(DESERIALISE_BYTE),
            ),
            groupings={
                name.removeprefix(GROUPING): self.value(name)
                for name in self.names
                if name.startswith(GROUPING)
            },
            transport=ByDistance(node=moving, remote=moving),
        )


def see(cores: float, made_of: Mapping[str, float]) -> Seen:
    """Cores that were seen, and how much of which cost is in them a second."""
    return Seen(figure=cores, error=math.hypot(UNLIKE * cores, LEAST), made_of=made_of)


def fit_phases(steps: Mapping[str, Sequence[Seen]]) -> FittedCosts:
    """The costs that explain best what was seen in the steps of an experiment.

    Raises:
        NotEnoughData: The steps cannot tell the costs apart.
    """
    rows = [one for seen in steps.values() for one in seen]
    names = tuple(dict.fromkeys(name for one in rows for name, n in one.made_of.items() if n > 0.0))
    if not names:
        raise NotEnoughData("no step has tuples that cost anything beside the job's own code")
    values = _fit(rows, names)
    if values is None:
        raise NotEnoughData(
            f"{len(steps)} steps do not tell {len(names)} costs apart ({', '.join(names)}): vary"
            " workers, rates, groupings and sizes of tuples independently"
        )
    others: list[Vector] = []
    left_out: list[LeftOut] = []
    needed: list[str] = []
    for step, seen in steps.items():
        rest = [one for name, some in steps.items() if name != step for one in some]
        found = _fit(rest, names)
        if found is None:
            needed.append(step)
            continue
        others.append(found)
        measured = math.fsum(one.figure for one in seen)
        left_out.append(LeftOut(step, measured, float((_design(seen, names) @ found).sum())))
    figures = np.asarray([one.figure for one in rows])
    known = figures > 0.0
    off = np.abs(_design(rows, names) @ values - figures)[known] / figures[known]
    return FittedCosts(
        names=names,
        values=values,
        errors=_jackknife(others, len(names)),
        figures=len(rows),
        batches=_divide(rows, SEND, HAND_OVER),
        median_error=float(np.median(off)) if known.any() else math.nan,
        left_out=tuple(left_out),
        needed=tuple(needed),
    )


def _divide(rows: Sequence[Seen], one: str, other: str) -> float:
    """How much of one there is for each of the other; none where there is none."""
    total = math.fsum(row.made_of.get(other, 0.0) for row in rows)
    return math.fsum(row.made_of.get(one, 0.0) for row in rows) / total if total else 0.0


def _jackknife(others: Sequence[Vector], size: int) -> Vector:
    if len(others) < 2:
        return np.full(size, np.nan)
    found = np.asarray(others)
    count = len(found)
    return np.asarray(
        np.sqrt((count - 1) / count * ((found - found.mean(axis=0)) ** 2).sum(axis=0))
    )


def _design(rows: Sequence[Seen], names: Sequence[str]) -> Vector:
    return np.asarray([[one.made_of.get(name, 0.0) for name in names] for one in rows])


def _fit(rows: Sequence[Seen], names: Sequence[str]) -> Vector | None:
    """None where some cost is not in the rows, or only ever together with others."""
    if len(rows) < len(names):
        return None
    error = np.asarray([one.error for one in rows])
    matrix = _design(rows, names) / error[:, np.newaxis]
    size = np.linalg.norm(matrix, axis=0)
    if not size.all():
        return None
    # In units of each column's size, as bytes are hundreds of times as many as tuples.
    scaled = matrix / size
    if np.linalg.matrix_rank(scaled, tol=RANK_TOLERANCE) < len(names):
        return None
    figures = np.asarray([one.figure for one in rows]) / error
    return np.asarray(fit_above_zero(scaled, figures) / size)
