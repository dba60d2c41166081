"""Level one: from the partial sums of subjects to their figures.

Every subject's figures depend on its own rows only, so Spark may deal subjects to as many calls as
it likes. What needs several subjects at once (shares between tasks, capacity, juice) is left to
`assembly`.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from streamgauge.pipeline.estimation.catalogue import PROBABILITIES
from streamgauge.pipeline.estimation.dispersion import dispersion_figures
from streamgauge.pipeline.estimation.linearity import linearity_figures
from streamgauge.pipeline.estimation.means import mean_figures
from streamgauge.pipeline.estimation.outputs import regression_figures
from streamgauge.pipeline.estimation.reading import Layout, read
from streamgauge.pipeline.estimation.schemas import FIGURES, NOTHING, OWNER, Bools, Floats, Whole
from streamgauge.pipeline.estimation.standard_errors import Batch, Bootstrap, joined
from streamgauge.pipeline.estimation.times import with_shapes
from streamgauge.profile.block_weights import COUNT

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


def figures_of(sums: pa.Table, *, seed: int = 0, replicas: int = COUNT) -> pa.Table:
    """All figures of the subjects whose sums are given.

    Args:
        sums: All rows of a whole number of subjects, in any order, with the columns of
            `SERIES_SUMS`.
        seed: Of the replicas' weights.
        replicas: How many; none when zero.

    Returns:
        A table with the columns of `FIGURES`, sorted by owner and figure.

    Raises:
        InvalidInput: A column is missing.
    """
    layout = read(sums)
    if layout.sums.empty:
        return FIGURES.empty_table()
    blocks = (layout.coverage, layout.factors)
    starts = [rows["start_us"].to_numpy(dtype=np.int64) for rows in blocks]
    bootstrap = Bootstrap(np.concatenate(starts), seed=seed, count=replicas)
    means = joined(mean_figures(layout, bootstrap))
    batches = [
        with_shapes(means, layout, bootstrap),
        *dispersion_figures(layout, bootstrap),
        *regression_figures(layout, bootstrap),
        *linearity_figures(layout),
    ]
    return _table(joined(batches), layout)


def _table(batch: Batch, layout: Layout) -> pa.Table:
    """The figures as a table with the columns of `FIGURES`."""
    if batch.frame.empty:
        return FIGURES.empty_table()
    frame = batch.frame.assign(
        **{name: default for name, default in _REST.items() if name not in batch.frame}
    ).fillna(_REST)
    words = pa.array(layout.words, pa.string())
    owners = layout.owners.iloc[frame["subject"].to_numpy()]
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
    steps = layout.steps_us[frame["subject"].to_numpy()]
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
