"""The figures of one topology by subject and word, numbers made of several, and replicas."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from streamgauge.pipeline.estimation.catalogue import FigureName
from streamgauge.pipeline.estimation.roster import Subject
from streamgauge.pipeline.estimation.schemas import FIGURES, REPLICAS, Floats
from streamgauge.pipeline.estimation.standard_errors import stated_error
from streamgauge.profile.figures import Figure, TimeFigures


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimate:
    """A number with what it rests on.

    Attributes:
        value: The number.
        error: Its standard error, where known.
        samples: Observations.
        buckets: Metric buckets.
        blocks: Blocks of time.
        replicas: The same from resampled blocks, where there were enough.
    """

    value: float
    error: float | None = None
    samples: int = 0
    buckets: int = 0
    blocks: int = 0
    replicas: Floats | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Row:
    """A figure of a subject; names that it does not have are empty."""

    figure: str
    stream: str
    source: str
    input_stream: str
    target: str
    target_task: int
    seconds: float
    mean: Estimate
    scv: Estimate | None = None
    quantiles: dict[float, float] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


class Measured:
    """All figures of one topology.

    Args:
        figures: With the columns of `FIGURES`, in any order.
        plan_id: The plan they should be of; rows that name another are left out.

    Attributes:
        left_out: Figures of other plans.
        blocks: The most blocks that any figure rests on.
        block_seconds: How long they are.
        replicas: How many replicas figures have; none where blocks were too few.
    """

    def __init__(self, figures: pa.Table, plan_id: str) -> None:
        self._rows: dict[Subject, dict[str, list[Row]]] = {}
        self.left_out = 0
        self.blocks = 0
        self.block_seconds = 0.0
        self.replicas = 0
        for record, replicas, scv_replicas in _records(figures):
            if record["plan_id"] not in (None, plan_id):
                self.left_out += 1
                continue
            row = _row(record, replicas, scv_replicas)
            words = self._rows.setdefault(_subject(record), {})
            words.setdefault(row.figure, []).append(row)
            self.blocks = max(self.blocks, record["blocks"])
            self.block_seconds = max(self.block_seconds, record["block_seconds"])
            if replicas is not None:
                self.replicas = len(replicas)

    def subjects(self, kind: str) -> list[Subject]:
        """All subjects of a kind, in order."""
        return sorted(subject for subject in self._rows if subject.kind == kind)

    def rows(self, subject: Subject, figure: FigureName) -> list[Row]:
        """All rows of one word."""
        return self._rows.get(subject, {}).get(figure, [])

    def one(self, subject: Subject, figure: FigureName, **keys: str | int) -> Row | None:
        """The row of one word with those keys, if there is one."""
        for row in self.rows(subject, figure):
            if all(getattr(row, name) == value for name, value in keys.items()):
                return row
        return None


def _records(figures: pa.Table) -> Iterator[tuple[dict[str, Any], Floats | None, Floats | None]]:
    """Rows in an order of their own, lists of numbers as arrays."""
    names = [field.name for field in FIGURES if not pa.types.is_list(field.type)]
    order = [(name, "ascending") for name in names if name not in ("value", "standard_error")]
    table = figures.select(FIGURES.names).sort_by(order).combine_chunks()
    lists = {name: arrays_of(table[name]) for name in ("replicas", "scv_replicas")}
    plain = table.drop_columns(list(lists)).to_pylist()
    yield from zip(plain, lists["replicas"], lists["scv_replicas"], strict=True)


def arrays_of(column: pa.ChunkedArray) -> list[Floats | None]:
    """Lists of numbers as arrays."""
    found: list[Floats | None] = []
    for chunk in column.chunks:
        values = chunk.values.to_numpy(zero_copy_only=False)
        offsets = chunk.offsets.to_numpy()
        valid = chunk.is_valid().to_numpy(zero_copy_only=False)
        found += [
            np.asarray(values[first:last], dtype=np.float64) if known else None
            for first, last, known in zip(offsets[:-1], offsets[1:], valid, strict=True)
        ]
    return found


def _subject(record: dict[str, Any]) -> Subject:
    if record["task"] is not None:
        return Subject("task", record["component"], record["task"])
    owner = record["executor"] or record["worker"]
    if record["queue"] is not None:
        return Subject("queue", owner, queue=record["queue"])
    for kind in ("executor", "worker", "node"):
        if record[kind] is not None:
            return Subject(kind, record[kind])
    return Subject("machine", record["machine"] or "")


def _row(record: dict[str, Any], replicas: Floats | None, scv_replicas: Floats | None) -> Row:
    counted = {name: record[name] for name in ("samples", "buckets", "blocks")}
    scv = None
    if record["scv"] is not None:
        scv = Estimate(
            value=record["scv"], error=record["scv_error"], replicas=scv_replicas, **counted
        )
    return Row(
        figure=record["figure"],
        stream=record["stream"] or "",
        source=record["source_component"] or "",
        input_stream=record["input_stream"] or "",
        target=record["target_component"] or "",
        target_task=-1 if record["target_task"] is None else record["target_task"],
        seconds=record["seconds"] or 0.0,
        mean=Estimate(
            value=record["value"], error=record["standard_error"], replicas=replicas, **counted
        ),
        scv=scv,
        quantiles={pair["p"]: pair["ms"] for pair in record["quantiles"] or ()},
        flags=tuple(record["flags"] or ()),
    )


def combined(value: float, replicas: Floats | None, parts: Iterable[Estimate]) -> Estimate:
    """A number made of others; its error is the deviation of its replicas.

    Args:
        value: The number.
        replicas: The same made of their replicas.
        parts: What it was made of.
    """
    known = list(parts)
    error = None if replicas is None else _deviation(replicas[np.isfinite(replicas)])
    return Estimate(
        value=value,
        error=error,
        samples=sum(part.samples for part in known),
        buckets=max((part.buckets for part in known), default=0),
        blocks=min((part.blocks for part in known), default=0),
        replicas=replicas,
    )


def _deviation(values: Floats) -> float | None:
    """The standard deviation of a sample; nothing of fewer than two."""
    if len(values) < 2:
        return None
    # Several times as fast as NumPy's own for so few.
    apart = values - values.sum() / len(values)
    return math.sqrt(float((apart * apart).sum()) / (len(values) - 1))


def total(parts: Iterable[Estimate]) -> Estimate:
    """The sum of several."""
    known = list(parts)
    return combined(math.fsum(part.value for part in known), added(known), known)


def added(parts: list[Estimate]) -> Floats | None:
    """Sums of replicas; nothing where one has none, unless it is zero."""
    found: Floats | None = None
    for part in parts:
        if part.replicas is None:
            if part.value != 0.0:
                return None
        else:
            found = part.replicas if found is None else found + part.replicas
    return found


def parts_of(estimates: list[Estimate]) -> list[Estimate] | None:
    """The part that each has of their sum (eq. 4.2, 4.4 and 4.10); nothing of a sum of zero."""
    whole = math.fsum(one.value for one in estimates)
    if whole <= 0.0:
        return None
    sums = added(estimates)
    found = []
    for one in estimates:
        replicas = None
        if sums is not None:
            own = np.zeros_like(sums) if one.replicas is None else one.replicas
            replicas = own / sums
        found.append(combined(one.value / whole, replicas, [one]))
    return found


def path_of(*places: str | int) -> str:
    """A figure's place in the profile as a text; slashes within names are escaped."""
    return "/".join(map(_escaped, places))


@lru_cache(maxsize=10_000)
def _escaped(place: str | int) -> str:
    return str(place).replace("%", "%25").replace("/", "%2F")


class Recorder:
    """Turns estimates into figures and remembers their replicas."""

    def __init__(self) -> None:
        self._replicas: dict[str, Floats] = {}

    def figure(self, estimate: Estimate | None, *place: str | int) -> Figure | None:
        """The figure of an estimate; nothing where that is none, or no number of at least zero."""
        if estimate is None or not 0.0 <= estimate.value < math.inf:
            return None
        error = estimate.error
        if error is not None and estimate.blocks > 1:
            error = stated_error(error, estimate.blocks)
        else:
            error = None
        if estimate.replicas is not None:
            self._replicas[path_of(*place)] = estimate.replicas
        return Figure(
            value=estimate.value,
            samples=estimate.samples,
            buckets=estimate.buckets,
            standard_error=error,
        )

    def value(self, row: Row | None, *place: str | int) -> Figure | None:
        """The figure of a row."""
        return None if row is None else self.figure(row.mean, *place)

    def time(self, row: Row | None, *place: str | int) -> TimeFigures | None:
        """The figures of a row that is a time."""
        if row is None:
            return None
        mean = self.figure(row.mean, *place, "mean_ms")
        if mean is None:
            return None
        return TimeFigures(
            mean_ms=mean,
            scv=self.figure(row.scv, *place, "scv"),
            quantiles_ms=row.quantiles,
        )

    def remember(self, replicas: Floats | None, *place: str | int) -> None:
        """Keep replicas of a number that is no figure of its own."""
        if replicas is not None:
            self._replicas[path_of(*place)] = replicas

    def table(self) -> pa.Table:
        """All replicas, with the columns of `REPLICAS`, by path."""
        paths = sorted(self._replicas)
        rows = [self._replicas[path] for path in paths]
        values = np.concatenate(rows) if rows else np.zeros(0)
        offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int32)
        lists = pa.ListArray.from_arrays(
            offsets,
            pa.array(values, pa.float64(), mask=~np.isfinite(values)),
            type=REPLICAS.field("values").type,
        )
        return pa.table([pa.array(paths, pa.string()), lists], schema=REPLICAS)
