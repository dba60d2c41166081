"""Estimates on their way into one table of figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa

from streamgauge.pipeline.estimation.arrays import Bools, Floats, Whole
from streamgauge.pipeline.estimation.catalogue import PROBABILITIES
from streamgauge.pipeline.estimation.reading import NOTHING, Partials
from streamgauge.pipeline.estimation.schemas import FIGURES, OWNER
from streamgauge.pipeline.estimation.standard_errors import Estimates

# What tells figures of one subject apart, with the value of a figure that has none.
KEYS: dict[str, float | int | str] = {
    "figure": "",
    "stream": NOTHING,
    "source": NOTHING,
    "input_stream": NOTHING,
    "target": NOTHING,
    "target_task": NOTHING,
    "seconds": np.nan,
}
_QUANTILES = tuple(f"q{probability}" for probability in PROBABILITIES)
# What a figure may have besides; what is not finite becomes null.
_REST: dict[str, float | int | str] = {
    "samples": 0.0,
    "buckets": 0.0,
    "blocks": 0,
    "row": NOTHING,
    "scv": np.inf,
    "scv_error": np.inf,
    "scv_row": NOTHING,
    **dict.fromkeys(_QUANTILES, np.inf),
    "flags": "",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """Some figures.

    Attributes:
        frame: A row a figure: `subject`, the columns of `KEYS`, `value`, `error` and the rest;
            `row` is the figure's row in the replicas, -1 for none.
        replicas: A row for every figure that has them.
    """

    frame: pd.DataFrame
    replicas: Floats

    @classmethod
    def of(cls, keys: pd.DataFrame, estimates: Estimates) -> Batch:
        """A batch of estimates, one for each row of `keys`; what is not finite is left out."""
        row = np.where(estimates.resampled, np.cumsum(estimates.resampled) - 1, NOTHING)
        frame = keys.assign(
            value=estimates.values, error=estimates.errors, blocks=estimates.blocks, row=row
        )
        finite = np.isfinite(estimates.values)
        return cls(frame=frame[finite].reset_index(drop=True), replicas=estimates.replicas)


def joined(batches: Sequence[Batch]) -> Batch:
    """All of them as one, in the order of subjects and keys."""
    frames, matrices, rows = [], [], 0
    for batch in batches:
        frame = batch.frame.assign(
            **{name: default for name, default in KEYS.items() if name not in batch.frame}
        )
        for name in ("row", "scv_row"):
            if name in frame:
                frame[name] = np.where(frame[name] >= 0, frame[name] + rows, NOTHING)
        if len(frame):
            frames.append(frame)
        if len(batch.replicas):
            matrices.append(batch.replicas)
            rows += len(batch.replicas)
    if not frames:
        return Batch(frame=pd.DataFrame(columns=["subject", *KEYS]), replicas=np.zeros((0, 0)))
    frame = pd.concat(frames, ignore_index=True)
    frame = frame.sort_values(["subject", *KEYS], kind="stable", ignore_index=True)
    return Batch(frame=frame, replicas=np.concatenate(matrices) if matrices else np.zeros((0, 0)))


def table_of(batch: Batch, partials: Partials) -> pa.Table:
    """The figures as a table with the columns of `FIGURES`."""
    if batch.frame.empty:
        return FIGURES.empty_table()
    frame = batch.frame.assign(
        **{name: default for name, default in _REST.items() if name not in batch.frame}
    ).fillna(_REST)
    words = pa.array(partials.words, pa.string())
    owners = partials.owners.iloc[frame["subject"].to_numpy()]
    columns: dict[str, pa.Array] = {}
    for name in OWNER:
        codes = owners[name].to_numpy()
        columns[name] = _optional(codes, pa.int32()) if name == "task" else _named(codes, words)
    for name, key in (
        ("stream", "stream"),
        ("source_component", "source"),
        ("input_stream", "input_stream"),
        ("target_component", "target"),
    ):
        columns[name] = _named(frame[key].to_numpy(), words)
    columns["figure"] = pa.array(frame["figure"], pa.string())
    columns["target_task"] = _optional(frame["target_task"].to_numpy(), pa.int32())
    for name, key in (
        ("seconds", "seconds"),
        ("value", "value"),
        ("standard_error", "error"),
        ("scv", "scv"),
        ("scv_error", "scv_error"),
    ):
        values = frame[key].to_numpy(dtype=np.float64)
        columns[name] = pa.array(values, pa.float64(), mask=~np.isfinite(values))
    for name, kind in (("samples", pa.int64()), ("buckets", pa.int64()), ("blocks", pa.int32())):
        columns[name] = pa.array(np.rint(frame[name].to_numpy(dtype=np.float64)), kind, safe=False)
    steps = partials.steps_us[frame["subject"].to_numpy()]
    columns["block_seconds"] = pa.array(steps / 1e6, pa.float64())
    columns["quantiles"] = _quantiles(frame[list(_QUANTILES)].to_numpy(dtype=np.float64))
    columns["flags"] = pa.array(
        [text.split() if text else None for text in frame["flags"]], pa.list_(pa.string())
    )
    columns["replicas"] = _lists(batch.replicas, frame["row"].to_numpy(dtype=np.int64))
    columns["scv_replicas"] = _lists(batch.replicas, frame["scv_row"].to_numpy(dtype=np.int64))
    return pa.table([columns[name] for name in FIGURES.names], schema=FIGURES)


def _named(codes: Whole, words: pa.Array) -> pa.Array:
    return words.take(_optional(codes, pa.int64()))


def _optional(numbers: Whole, kind: pa.DataType) -> pa.Array:
    return pa.array(numbers, kind, mask=numbers == NOTHING, safe=False)


def _offsets(lengths: Whole, known: Bools) -> pa.Array:
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    # A list whose offset is null is null itself.
    return pa.array(ends, pa.int32(), mask=np.append(~known, False))


def _lists(matrix: Floats, rows: Whole) -> pa.Array:
    known = rows >= 0
    offsets = _offsets(np.where(known, matrix.shape[1], 0), known)
    flat = matrix[rows[known]].ravel()
    values = pa.array(flat, pa.float64(), mask=~np.isfinite(flat))
    return pa.ListArray.from_arrays(offsets, values, type=FIGURES.field("replicas").type)


def _quantiles(matrix: Floats) -> pa.Array:
    known: Bools = np.all(np.isfinite(matrix), axis=1)
    kept = matrix[known]
    kind = FIGURES.field("quantiles").type
    values = pa.StructArray.from_arrays(
        [np.tile(np.asarray(PROBABILITIES), len(kept)), kept.ravel()],
        fields=list(kind.value_type),
    )
    offsets = _offsets(np.where(known, matrix.shape[1], 0), known)
    return pa.ListArray.from_arrays(offsets, values, type=kind)
