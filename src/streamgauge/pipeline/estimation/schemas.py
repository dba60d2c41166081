"""What goes into estimation and what comes out: three tables.

`SUBJECT_PARTIALS` → `subjects.figures_of` → `FIGURES` → `assembly.profile_of` → a profile and
`REPLICAS`.

A subject is whoever figures are about: a task, executor, queue, worker, node or machine. All of
its rows must come together; how many subjects come at once, and in which order, makes no difference
to any byte of the answer. `OWNER` names the columns that tell subjects apart. In a row of partial
sums they are read as follows; `owner_key` says the same in SQL, for Spark to partition by:

* `transferred` and `received` belong to the task that sent: `component` and `task` of the owner are
  `source_component` and `source_task`, whereas the row's own `component` and `task` are the target.
* Of task, executor, worker, node and machine the first that is given names the subject, and those
  after it are null in its key: a task's worker may change. A queue has `queue` besides.
* `executed` and `window_triggers` of an executor, which name no task, are its tasks' once more, to
  be multiplied with its CPU time and for nothing else.
* Where a subject can be silent for a whole block, rows of `worker_heartbeats` with the columns of
  the subject say that it was there; it lived as long as the longest span of its rows.
* `cluster`, `topology` and `plan_id` are always part of it. Rows of nodes and machines, which have
  no topology of their own, come once for every topology that runs there, with its name.
"""

from __future__ import annotations

import pyarrow as pa

from streamgauge.lake.metrics import Metric
from streamgauge.lake.schemas import PARTIALS, PARTITION

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
# The first of these that a row gives is its subject; the others are null in the subject's key.
NAMED_BY = ("task", "executor", "worker", "node", "machine")
# Counted for each pair of tasks, and a matter of the one that sends.
TRANSFERS = frozenset({Metric.TRANSFERRED.label, Metric.RECEIVED.label})

_RECEIPT = frozenset({"version", "received_at", "file", PARTITION})
_SUMS = tuple(field for field in PARTIALS.schema if field.name not in _RECEIPT)


def _column(name: str, kind: pa.DataType, meaning: str, *, required: bool = False) -> pa.Field:
    return pa.field(name, kind, nullable=not required, metadata={"meaning": meaning})


SUBJECT_PARTIALS = pa.schema(
    [
        *_SUMS,
        _column(
            "common_block_seconds",
            pa.float64(),
            "Length of the blocks that all figures of the topology are resampled by; see"
            " `blocks.common_block_seconds`. Null: the subject's longest block.",
        ),
    ]
)
# The column that a caller may leave out.
OPTIONAL = frozenset({"common_block_seconds"})


def owner_key() -> dict[str, str]:
    """The subject of a row of partial sums: an SQL expression for every column of `OWNER`."""
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
        *(SUBJECT_PARTIALS.field(name) for name in OWNER),
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
