"""What goes into estimation and what comes out: three tables.

`SERIES_SUMS` → `subjects.figures_of` → `FIGURES` → `assembly.profile_of` → a profile and
`REPLICAS`.

A subject is whoever figures are about: a task, executor, queue, worker, node or machine. All of
its rows must come together; how many subjects come at once, and in which order, makes no difference
to any byte of the answer. `OWNER` names the columns that tell subjects apart. In a row of
sums they are read as follows; `owner_key` says the same in SQL, for Spark to partition by:

* `transferred` and `received` belong to the task that sent: `component` and `task` of the owner are
  `source_component` and `source_task`, whereas the row's own `component` and `task` are the target.
* Of task, executor, worker, node and machine the first that is given names the subject, and those
  after it are null in its key: a task's worker may change. A queue has `queue` besides.
* `executed` and `window_triggers` of an executor, which name no task, are its tasks' once more, to
  be multiplied with its CPU time and for nothing else; `source_task` says which task's.
* Where a subject can be silent for a whole block, rows of `worker_heartbeats` with the columns of
  the subject say that it was there.
* `cluster`, `topology` and `plan_id` are always part of it. Rows of nodes and machines, which have
  no topology of their own, come once for every topology that runs there, with its name.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamgauge.lake.metrics import Metric
from streamgauge.lake.schemas import SAMPLES

# Names for the arrays that estimation works on.
Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Bools = NDArray[np.bool_]

OWNER = (
    "cluster",
    "topology",
    "plan_id",
    "component",
    "task",
    "executor",
    "queue",
    "worker",
    "node",
    "machine",
)
# Where a text or number is null, among numbers.
NOTHING = -1
# The first of these that a row gives is its subject; the others are null in the subject's key.
NAMED_BY = ("task", "executor", "worker", "node", "machine")
# Counted for each pair of tasks, and a matter of the one that sends.
TRANSFERS = frozenset({Metric.TRANSFERRED.label, Metric.RECEIVED.label})


class Kind(StrEnum):
    """What a row of `SERIES_SUMS` is.

    SUMS: A series of the period, by block. All that estimation reads; the others become such rows.
    COUNTER: Samples of a counter as they are, with their values as bits.
    HEARD: Buckets in which something was written of somebody who sends no heartbeats.
    HISTORY: Of all times, by step: what was executed or emitted, or how long a worker was known.
    TASKS: Of all times, by step: what tasks executed or emitted, and the CPU time of executors.
    PRESSED: Of all times, by minute: for how long a task held its senders back.
    MINUTES: Minutes of the period in which any task did, with the longest bucket of each.
    """

    SUMS = "sums"
    COUNTER = "counter"
    HEARD = "heard"
    HISTORY = "history"
    TASKS = "tasks"
    PRESSED = "pressed"
    MINUTES = "minutes"


def _column(name: str, kind: pa.DataType, meaning: str, *, required: bool = False) -> pa.Field:
    return pa.field(name, kind, nullable=not required, metadata={"meaning": meaning})


_SERIES = SAMPLES.schema.names[: SAMPLES.schema.names.index("bucket_start")]
_ARRAYS = {
    "start": "When each block begins, in microseconds since 1970, in order.",
    "buckets": "Samples in it.",
    "span_us": "Sum of the lengths of their buckets.",
    "observations": "Sum of their counts.",
    "total_low": "Sum of their values, which `exact_sums` puts together from",
    "total_middle": "three limbs; the upper ones are empty where they are zero",
    "total_top": "in all blocks.",
    "square_low": "Sum of their squares, likewise; empty where",
    "square_middle": "nobody asks",
    "square_top": "for it.",
    "slot": "Of what regressions multiply: buckets of the usual length, counted from 1970,",
    "slot_sum": "and the sums in them, times in whole microseconds.",
}
ARRAYS = tuple(_ARRAYS)

SERIES_SUMS = pa.schema(
    [
        _column("kind", pa.string(), "A word of `Kind`."),
        *(SAMPLES.schema.field(name).with_nullable(True) for name in _SERIES),
        _column("own_plan", pa.string(), "The plan that samples named, where that matters."),
        _column("bucket_us", pa.int64(), "How long buckets of the topology usually are."),
        _column("block_us", pa.int64(), "How long its blocks are."),
        *(_column(name, pa.list_(pa.int64()), meaning) for name, meaning in _ARRAYS.items()),
    ]
)


def flattened(lists: pa.ChunkedArray | pa.Array) -> tuple[Whole, Whole]:
    """How long each list is, and their numbers one behind the other; none where null."""
    array = lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists
    lengths = np.asarray(pc.fill_null(array.value_lengths(), 0)).astype(np.int64)
    return lengths, np.asarray(array.flatten())


def owner_key() -> dict[str, str]:
    """The subject of a row of sums: an SQL expression for every column of `OWNER`."""
    labels = ", ".join(f"'{label}'" for label in sorted(TRANSFERS))
    moved = f"metric IN ({labels})"
    key = {name: name for name in OWNER}
    key["component"] = f"CASE WHEN {moved} THEN source_component ELSE component END"
    key["task"] = f"CASE WHEN {moved} THEN source_task ELSE task END"
    unnamed = f"({key['task']}) IS NULL"
    for name in NAMED_BY[1:]:
        key[name] = f"CASE WHEN {unnamed} THEN {name} END"
        unnamed += f" AND {name} IS NULL"
    return key


_REPLICAS = pa.list_(pa.float64())

FIGURES = pa.schema(
    [
        *(SERIES_SUMS.field(name) for name in OWNER),
        _column("figure", pa.string(), "What it is, a fixed word.", required=True),
        _column("stream", pa.string(), "Of a task's own outputs, or of its inputs."),
        _column("source_component", pa.string(), "Who sends on an input."),
        _column("input_stream", pa.string(), "Of a coefficient: the input's stream."),
        _column("target_component", pa.string(), "Of a transfer: who receives."),
        _column("target_task", pa.int32(), "Of a transfer: which task."),
        _column("seconds", pa.float64(), "Of a dispersion: over how long arrivals are counted."),
        _column("value", pa.float64(), "The estimate.", required=True),
        _column("standard_error", pa.float64(), "From differences between blocks."),
        _column("samples", pa.int64(), "Observations really taken.", required=True),
        _column("buckets", pa.int64(), "Metric buckets they came from.", required=True),
        _column("blocks", pa.int32(), "Blocks of time they came from.", required=True),
        _column("block_seconds", pa.float64(), "How long a block is.", required=True),
        _column("scv", pa.float64(), "Of a time: its squared coefficient of variation."),
        _column("scv_error", pa.float64(), "Standard error of that."),
        _column(
            "quantiles",
            pa.list_(pa.struct([pa.field("p", pa.float64()), pa.field("ms", pa.float64())])),
            "Of a time: from histograms only.",
        ),
        _column("flags", pa.list_(pa.string()), "How it came about, where not the usual way."),
        _column("replicas", _REPLICAS, "The estimate from resampled blocks."),
        _column("scv_replicas", _REPLICAS, "The variation from resampled blocks."),
    ]
)

REPLICAS = pa.schema(
    [
        _column(
            "path",
            pa.string(),
            "The figure's place in the profile, such as"
            " tasks/splitter/3/inputs/sentences/default/wall/mean_ms; a slash in a name is %2F.",
            required=True,
        ),
        _column("values", _REPLICAS, "One value a replica, null where undefined.", required=True),
    ]
)
