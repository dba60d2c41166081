"""The tables of the lake: columns, natural keys, partitions and order.

A record's field is a column of the same name; times lose their `_us` and become UTC timestamps.
Each table adds `received_at` and `file`, which say when and by which file a row came, and `date`,
the UTC day it is kept under. Two rows with equal keys are the same row, nulls being equal to nulls;
where their other columns differ, the later receipt is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

TIMESTAMP = pa.timestamp("us", tz="UTC")
PARTITION = "date"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table of the lake.

    Attributes:
        name: Of the table and its folder.
        schema: Its columns, with meaning and unit as metadata of each.
        key: The columns that make a row the same row.
        day_of: The time whose UTC day is the partition.
        order: How rows are sorted within a partition.
    """

    name: str
    schema: pa.Schema
    key: tuple[str, ...]
    day_of: str
    order: tuple[str, ...]
    partition: str = PARTITION


def _column(
    name: str, kind: pa.DataType, meaning: str, *, unit: str = "", required: bool = False
) -> pa.Field:
    metadata = {"meaning": meaning}
    if unit:
        metadata["unit"] = unit
    return pa.field(name, kind, nullable=not required, metadata=metadata)


def _text(name: str, meaning: str, *, required: bool = False) -> pa.Field:
    return _column(name, pa.string(), meaning, required=required)


def _time(name: str, meaning: str, *, required: bool = True) -> pa.Field:
    return _column(name, TIMESTAMP, meaning, unit="UTC", required=required)


def _task(name: str, meaning: str, *, required: bool = False) -> pa.Field:
    return _column(name, pa.int32(), meaning, required=required)


def _nanoseconds(name: str, meaning: str, *, required: bool = False) -> pa.Field:
    return _column(name, pa.int64(), meaning, unit="ns", required=required)


_CLUSTER = _text("cluster", "Cluster, where several share a lake.")
_PLAN_ID = _text("plan_id", "Version of the plan it ran on, where known.")
_RECEIPT = (
    _time("received_at", "When the file was received."),
    _text("file", "URI of the file it came by.", required=True),
    _column(PARTITION, pa.date32(), "UTC day the row is kept under.", required=True),
)


def _topology(*, required: bool = True) -> pa.Field:
    return _text("topology", "Name of the job.", required=required)


def _table(name: str, columns: tuple[pa.Field, ...], *, key: str, day_of: str, order: str) -> Table:
    return Table(
        name=name,
        schema=pa.schema([*columns, *_RECEIPT]),
        key=tuple(key.split()),
        day_of=day_of,
        order=tuple(order.split()),
    )


SAMPLES = _table(
    "samples",
    (
        _CLUSTER,
        _topology(required=False),
        _PLAN_ID,
        _text("component", "Operator of the task, executor or queue."),
        _task("task", "The engine's number of the task."),
        _text("executor", "COMPONENT[FIRST-LAST], or COMPONENT[TASK] for one task."),
        _text("queue", "Which queue: receive, send, transfer or network."),
        _text("worker", "NODE:PORT of the process that measured."),
        _text("node", "Node of that process."),
        _text("machine", "Machine the node runs on."),
        _text("metric", "Label of the metric.", required=True),
        _text("stream", "Stream it went or came by."),
        _text("source_component", "Operator that sent it."),
        _task("source_task", "Task that sent it."),
        _column("bin", pa.int16(), "Bin of a histogram."),
        _time("bucket_start", "When the bucket began."),
        _column("bucket_seconds", pa.float64(), "Its length.", unit="s", required=True),
        _column("value", pa.float64(), "In the metric's unit.", unit="metric's", required=True),
        _column("count", pa.int64(), "Observations really taken.", required=True),
    ),
    key="cluster topology component task executor queue worker node machine metric stream"
    " source_component source_task bin bucket_start",
    day_of="bucket_start",
    order="topology cluster metric component task executor worker bucket_start",
)

PLANS = _table(
    "plans",
    (
        _CLUSTER,
        _topology(),
        _text("plan_id", "Version of the plan.", required=True),
        _text("engine", "What runs it.", required=True),
        _time("valid_from", "When it took effect."),
        _time("valid_to", "When it ended; null while it lasts.", required=False),
        _text("document", "The job file, as text.", required=True),
        _column(
            "executors",
            pa.list_(
                pa.field(
                    "element",
                    pa.struct(
                        [
                            _text("component", "Its operator.", required=True),
                            _task("first_task", "First of its tasks.", required=True),
                            _task("last_task", "Last of its tasks.", required=True),
                            _text("worker", "NODE:PORT of its process.", required=True),
                            _text("node", "Node of that process.", required=True),
                            _text("machine", "Machine the node runs on."),
                        ]
                    ),
                    nullable=False,
                )
            ),
            "Who runs where.",
            required=True,
        ),
    ),
    key="cluster topology plan_id valid_from",
    day_of="valid_from",
    order="topology cluster valid_from",
)

TRACES = _table(
    "traces",
    (
        _CLUSTER,
        _topology(),
        _PLAN_ID,
        _text("root", "Id of the root.", required=True),
        _column("path", pa.int32(), "Number of the path among the root's.", required=True),
        _time("started_at", "When the source emitted the root."),
        _column(
            "hops",
            pa.list_(
                pa.field(
                    "element",
                    pa.struct(
                        [
                            _text("component", "Operator of the task.", required=True),
                            _task("task", "The engine's number of it.", required=True),
                            _text("stream", "By which it came; null at the source."),
                            _text("key", "Key it was routed by, where traced."),
                            _nanoseconds("arrived_ns", "Entered the queue.", required=True),
                            _nanoseconds("started_ns", "Execution began.", required=True),
                            _nanoseconds("finished_ns", "Execution ended.", required=True),
                        ]
                    ),
                    nullable=False,
                )
            ),
            "The tasks it met, times counted from started_at.",
            required=True,
        ),
        _nanoseconds("latency_ns", "From emission to the end of the last hop.", required=True),
        _nanoseconds("complete_latency_ns", "Of the root's tree, by the engine's rule."),
        _text("outcome", "arrived, acked or failed.", required=True),
    ),
    key="cluster topology root path started_at",
    day_of="started_at",
    order="topology cluster started_at root path",
)

LINKS = _table(
    "links",
    (
        _CLUSTER,
        _text("source_node", "Who probed.", required=True),
        _text("target_node", "Who was probed.", required=True),
        _text("kind", "round-trip or one-way.", required=True),
        _time("measured_at", "When the first probe left."),
        _column("sent", pa.int32(), "Probes that left.", required=True),
        _column("received", pa.int32(), "Probes that were answered.", required=True),
        _nanoseconds("least_ns", "Shortest time; null where none was answered."),
        _nanoseconds("mean_ns", "Mean time; null where none was answered."),
        _nanoseconds("most_ns", "Longest time; null where none was answered."),
    ),
    key="cluster source_node target_node kind measured_at",
    day_of="measured_at",
    order="cluster source_node target_node measured_at",
)

EVENTS = _table(
    "events",
    (
        _CLUSTER,
        _topology(required=False),
        _text("plan_id", "Version of the plan that took effect, where one did."),
        _time("happened_at", "When."),
        _text("kind", "start, stop, rebalance, restart, step-begin or step-end.", required=True),
        _text("component", "Operator it happened to."),
        _task("task", "The engine's number of the task."),
        _text("worker", "NODE:PORT of the process."),
        _text("node", "The node."),
        _text("name", "Of an experiment's step."),
        _text("detail", "Anything a reader should know."),
    ),
    key="cluster topology happened_at kind component task worker node name",
    day_of="happened_at",
    order="topology cluster happened_at kind",
)

QUARANTINE = _table(
    "quarantine",
    (
        _column("raw", pa.binary(), "The line, byte by byte as it came.", required=True),
        _text("reason", "Why it was not taken, one of the fixed words.", required=True),
        _text("detail", "What was seen and what was expected.", required=True),
        _text("table", "Where the row belongs; null where it could not be read."),
        _text("row_key", "Digest of its natural key; null where it could not be read."),
    ),
    key="raw",
    day_of="received_at",
    order="file reason",
)

FILES = _table(
    "files",
    (
        _column("bytes", pa.int64(), "Size.", unit="bytes", required=True),
        _time("modified_at", "When it was last written."),
        _column("rows", pa.int64(), "Lines in it.", required=True),
        _text("fault", "Why it could not be read to its end; null where it could."),
    ),
    key="file",
    day_of="received_at",
    order="file",
)

TABLES: Mapping[str, Table] = {
    table.name: table for table in (SAMPLES, PLANS, TRACES, LINKS, EVENTS, QUARANTINE, FILES)
}
