"""What the lake holds of each topology, plan and metric: one cheap pass over ten columns.

Tasks list what they read; what they found of a topology comes together, and the driver gets one
short record of each, whose size does not depend on how many samples there are.
"""

from __future__ import annotations

import pickle
from bisect import bisect
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import SparkSession

from streamgauge.lake.metrics import Metric
from streamgauge.pipeline.calibrate.lake_parts import (
    DAY_US,
    HEARTBEATS,
    LEAST_BUCKET_US,
    MOST_COUNT,
    NO_WORD,
    STAND_INS,
    WANTED,
    Arrays,
    Job,
    Part,
    largest,
    numbered,
    read_samples,
    run_starts,
)
from streamgauge.pipeline.estimation.blocks import BUCKETS_PER_BLOCK, rounded_lengths_us
from streamgauge.pipeline.estimation.schemas import Whole
from streamgauge.pipeline.schemas import spark_schema

_READ = (
    "cluster",
    "topology",
    "plan_id",
    "component",
    "worker",
    "metric",
    "bucket_start",
    "bucket_seconds",
    "value",
    "count",
)
_BITS = sorted({metric.label for exact in STAND_INS.values() for metric in exact})
_EXACT = {label: 1 << place for place, label in enumerate(_BITS)}
# What makes a stand-in superfluous, as bits.
_NEEDS = {
    metric.label: sum(_EXACT[one.label] for one in exact) for metric, exact in STAND_INS.items()
}
# What tells a backlog that drains: input, output, and what waits; by the fields of `Load`.
_WAITING = Metric.QUEUE_POPULATION.label
_LOAD = {
    Metric.EMITTED.label: "emitted",
    Metric.EXECUTED.label: "executed",
    _WAITING: "queued_us",
}
# Blocks of load between two cuts, and cuts, that are worth keeping; the last ones.
MOST_LOADS, MOST_CUTS = 64, 20
# A record of each topology, pickled.
_RECORDS = pa.schema(
    [
        pa.field("cluster", pa.string()),
        pa.field("topology", pa.string(), nullable=False),
        pa.field("record", pa.binary(), nullable=False),
    ]
)
Name = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What the lake holds of one metric of a topology under one plan, in buckets of one length.

    Attributes:
        plan_id: The plan that the samples name; nothing where they name none.
        metric: Its label.
        bucket_us: How long the buckets are, to two digits.
        rows: Samples.
        first_us: When the first bucket began.
        last_us: When the last bucket ended.
        shortest_us: The shortest bucket.
        largest_value: The largest value, whatever its sign.
        largest_count: The largest count.
        is_needed: Whether any of them are summed up.
    """

    plan_id: str | None
    metric: str
    bucket_us: int
    rows: int
    first_us: int
    last_us: int
    shortest_us: int = LEAST_BUCKET_US
    largest_value: float = 0.0
    largest_count: int = 0
    is_needed: bool = True

    @property
    def is_summable(self) -> bool:
        """Whether sums of all its samples are exact; those of which they are not are left out."""
        return self.metric not in WANTED or (
            self.shortest_us >= LEAST_BUCKET_US
            and self.largest_value < largest(self.metric)
            and self.largest_count < MOST_COUNT
        )

    def __add__(self, other: Recorded) -> Recorded:
        both = (self, other)
        together = {
            name: how(*(getattr(one, name) for one in both)).item()
            for name, how in _TOGETHER.items()
        }
        return replace(self, **together)


# How numbers of a metric's samples are put together.
_TOGETHER = {
    "rows": np.add,
    "first_us": np.minimum,
    "last_us": np.maximum,
    "shortest_us": np.minimum,
    "largest_value": np.maximum,
    "largest_count": np.maximum,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What a topology did in one block: input, output, and what waits.

    Where queues shrink while more is executed than came, a backlog drains.

    Attributes:
        start_us: When the first bucket of the block begins.
        end_us: When its last one ends.
        emitted: Tuples emitted, all tasks: the input of others.
        executed: Tuples executed, all tasks.
        queued_us: Tuples in all queues, times how long they were seen there.
    """

    start_us: int
    end_us: int
    emitted: float = 0.0
    executed: float = 0.0
    queued_us: float = 0.0

    @property
    def queued(self) -> float:
        """Tuples in all queues, on average."""
        return self.queued_us / (self.end_us - self.start_us)

    def __add__(self, other: Load) -> Load:
        return Load(
            start_us=min(self.start_us, other.start_us),
            end_us=max(self.end_us, other.end_us),
            emitted=self.emitted + other.emitted,
            executed=self.executed + other.executed,
            queued_us=self.queued_us + other.queued_us,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What the lake holds of a topology.

    Attributes:
        cluster: Where several clusters share a lake.
        topology: The job.
        recorded: By plan, metric and length of buckets.
        superfluous: Metrics whose exact counterparts were written too: on which operators and days,
            counted from 1970; none where that is so everywhere.
        beating: Workers and days with heartbeats; none where they came under every plan.
        load: By block, in order of time; some dozens between two cuts.
    """

    cluster: str | None
    topology: str
    recorded: tuple[Recorded, ...]
    superfluous: Mapping[str, frozenset[tuple[str | None, int]] | None] = field(
        default_factory=dict
    )
    beating: frozenset[tuple[str | None, int]] | None = None
    load: tuple[Load, ...] = ()


def take_inventory(
    spark: SparkSession,
    tasks: Sequence[tuple[Part, ...]],
    topology: str | None,
    cuts: Mapping[Job, Sequence[int]],
) -> list[Held]:
    """What is held of every topology, or of one, by cluster and name.

    Args:
        spark: The session.
        tasks: What each task reads.
        topology: The only one that matters; all where none is given.
        cuts: When the time of each topology is cut, in order.
    """
    if not tasks:
        return []
    schema = spark_schema(_RECORDS)
    found = spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(
        partial(_list_parts, tasks, topology), schema
    )
    by_topology = found.repartition("cluster", "topology")
    rows = by_topology.mapInArrow(partial(_join, dict(cuts)), schema).toArrow()
    held: list[Held] = [pickle.loads(record) for record in rows["record"].to_pylist()]
    return sorted(held, key=lambda one: (one.cluster or "", one.topology))


def _list_parts(
    tasks: Sequence[tuple[Part, ...]], topology: str | None, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for place in batch["id"].to_pylist():
            found: dict[Job, Found] = {}
            for table in read_samples(tasks[place], _READ, topology):
                for job, some in listed(Arrays.of(table), topology).items():
                    found.setdefault(job, Found()).add(some)
            yield _pickled(found)


def _join(
    cuts: Mapping[Job, Sequence[int]], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    found: dict[Job, Found] = {}
    for batch in batches:
        for row in batch.to_pylist():
            job = (row["cluster"], row["topology"])
            found.setdefault(job, Found()).add(pickle.loads(row["record"]))
    yield _pickled({job: some.held(job, cuts.get(job, ())) for job, some in found.items()})


def _pickled(records: Mapping[Job, Any]) -> pa.RecordBatch:
    rows = [
        {"cluster": cluster, "topology": topology, "record": pickle.dumps(record)}
        for (cluster, topology), record in records.items()
    ]
    return pa.RecordBatch.from_pylist(rows, schema=_RECORDS)


@dataclass(slots=True)
class Found:
    """What some samples say of a topology.

    Attributes:
        recorded: By plan, metric and length of buckets.
        exact: By operator and day which exact metrics there are, as bits.
        stand_ins: Rows of metrics that may be superfluous, by plan, metric, operator and day.
        beats: Workers and days with heartbeats.
        load: By length and number of five buckets.
    """

    recorded: dict[Name, Recorded] = field(default_factory=dict)
    exact: dict[Name, int] = field(default_factory=dict)
    stand_ins: dict[Name, int] = field(default_factory=dict)
    beats: set[Name] = field(default_factory=set)
    load: dict[Name, Load] = field(default_factory=dict)

    def add(self, other: Found) -> None:
        """Take in what other samples say."""
        for key, one in other.recorded.items():
            self.recorded[key] = self.recorded[key] + one if key in self.recorded else one
        for key, bits in other.exact.items():
            self.exact[key] = self.exact.get(key, 0) | bits
        for key, rows in other.stand_ins.items():
            self.stand_ins[key] = self.stand_ins.get(key, 0) + rows
        self.beats |= other.beats
        for key, load in other.load.items():
            self.load[key] = self.load[key] + load if key in self.load else load

    def held(self, job: Job, cuts: Sequence[int] = ()) -> Held:
        """The same in little: days and operators only where they matter, few blocks of load."""
        left: dict[str, set[tuple[str | None, int]]] = {}
        # Of each metric under each plan, samples that are not superfluous.
        kept: dict[Name, int] = {}
        for (plan, metric, _), one in self.recorded.items():
            kept[plan, metric] = kept.get((plan, metric), 0) + one.rows
        for (plan, metric, component, day), rows in self.stand_ins.items():
            if _NEEDS[metric] & ~self.exact.get((component, day), 0) == 0:
                kept[plan, metric] -= rows
                left.setdefault(metric, set()).add((component, day))
        needed = {metric for (_, metric), rows in kept.items() if rows and metric in WANTED}
        beating = {plan for plan, metric in kept if metric == HEARTBEATS}
        return Held(
            cluster=job[0],
            topology=job[1],
            recorded=tuple(
                replace(one, is_needed=one.metric in needed)
                for _, one in sorted(self.recorded.items(), key=lambda item: _ordered(item[0]))
            ),
            superfluous={
                metric: frozenset(days) if metric in needed else None
                for metric, days in left.items()
            },
            beating=None if beating == {plan for plan, _ in kept} else frozenset(self.beats),
            load=_merged_load(self.load, cuts[-MOST_CUTS:]),
        )


def _ordered(key: Name) -> Name:
    return (key[0] or "", *key[1:])


def listed(samples: Arrays, topology: str | None = None) -> dict[Job, Found]:
    """What some samples say of each topology that they name."""
    known = samples.codes["topology"] != NO_WORD
    if topology is not None:
        known = samples.flags("topology", [topology])
    rows = np.flatnonzero(known)
    if not len(rows):
        return {}
    table = _Runs.of(samples, rows)
    found: dict[Job, Found] = {}
    for job, (plan, metric, bucket_us), numbers in table.grouped(
        ("plan_id", "metric", "bucket_us")
    ):
        found.setdefault(job, Found()).recorded[plan, metric, bucket_us] = Recorded(
            plan_id=plan, metric=metric, bucket_us=bucket_us, **numbers
        )
    for job, (metric, *place), _ in table.grouped(("metric", "component", "day"), _EXACT):
        exact = found[job].exact
        exact[tuple(place)] = exact.get(tuple(place), 0) | _EXACT[metric]
    for job, key, numbers in table.grouped(("plan_id", "metric", "component", "day"), _NEEDS):
        found[job].stand_ins[key] = numbers["rows"]
    for job, key, _ in table.grouped(("worker", "day"), [HEARTBEATS]):
        found[job].beats.add(key)
    _add_load(found, samples, rows)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Runs:
    """Samples that follow each other and are alike in all names: their names and numbers."""

    samples: Arrays
    names: Mapping[str, npt.NDArray[Any]]
    numbers: Mapping[str, npt.NDArray[Any]]

    @classmethod
    def of(cls, samples: Arrays, rows: Whole) -> _Runs:
        """The runs of some rows."""
        start, bucket = samples.start_us[rows], samples.bucket_us[rows]
        names: dict[str, npt.NDArray[Any]] = {
            name: code[rows] for name, code in samples.codes.items()
        }
        names |= {"day": start // DAY_US, "bucket_us": rounded_lengths_us(bucket)}
        numbers: dict[str, npt.NDArray[Any]] = {
            "rows": np.ones(len(rows), np.int64),
            "first_us": start,
            "last_us": start + bucket,
            "shortest_us": bucket,
            "largest_value": np.abs(samples.value[rows]),
            "largest_count": samples.count[rows],
        }
        runs = run_starts(names.values(), len(rows))
        return cls(
            samples=samples,
            names={name: column[runs] for name, column in names.items()},
            numbers={name: _TOGETHER[name].reduceat(one, runs) for name, one in numbers.items()},
        )

    def grouped(
        self, names: Sequence[str], metrics: Collection[str] | None = None
    ) -> Iterator[tuple[Job, Name, dict[str, Any]]]:
        """Topology and names of those that are alike in them, with their numbers together.

        Args:
            names: What they are told apart by.
            metrics: Only these; all where none are given.
        """
        chosen = np.ones(len(self.numbers["rows"]), dtype=bool)
        if metrics is not None:
            known = [word in metrics for word in self.samples.words["metric"]]
            chosen = np.asarray([*known, False])[self.names["metric"]]
        by = ("cluster", "topology", *names)
        columns = [self.names[name][chosen] for name in by]
        number, heads = numbered(columns, len(columns[0]))
        if not len(heads):
            return
        order = np.argsort(number, kind="stable")
        first = np.searchsorted(number[order], np.arange(len(heads)))
        numbers = [
            how.reduceat(self.numbers[name][chosen][order], first).tolist()
            for name, how in _TOGETHER.items()
        ]
        words = [self._words(name, column[heads]) for name, column in zip(by, columns, strict=True)]
        for (cluster, topology, *key), values in zip(
            zip(*words, strict=True), zip(*numbers, strict=True), strict=True
        ):
            yield (cluster, topology), tuple(key), dict(zip(_TOGETHER, values, strict=True))

    def _words(self, name: str, codes: npt.NDArray[Any]) -> list[Any]:
        if name not in self.samples.words:
            return list(codes.tolist())
        words = [*self.samples.words[name], None]
        return [words[code] for code in codes.tolist()]


def _add_load(found: dict[Job, Found], samples: Arrays, rows: Whole) -> None:
    """Input, output and what waits, by five buckets: whole numbers, whose sums are exact."""
    told = rows[samples.flags("metric", _LOAD)[rows]]
    bucket, start, value = samples.bucket_us[told], samples.start_us[told], samples.value[told]
    length = BUCKETS_PER_BLOCK * rounded_lengths_us(bucket)
    names = {name: samples.codes[name][told] for name in ("cluster", "topology", "metric")}
    # A population counts for as long as it was seen.
    waits = samples.flags("metric", [_WAITING])[told]
    amount = np.where(waits, np.rint(value * bucket), value)
    number, heads = numbered([*names.values(), length, start // length], len(told))
    sums = np.bincount(number, amount, minlength=len(heads)).tolist()
    begins, ends = start[heads], (start + bucket)[heads]
    np.minimum.at(begins, number, start)
    np.maximum.at(ends, number, start + bucket)
    words = {name: [*samples.words[name], None] for name in names}
    times = zip(length[heads].tolist(), begins.tolist(), ends.tolist(), strict=True)
    for head, total, (long, begin, end) in zip(heads.tolist(), sums, times, strict=True):
        cluster, topology, metric = (words[name][code[head]] for name, code in names.items())
        known, key = found[cluster, topology].load, (long, begin // long)
        load = Load(start_us=begin, end_us=end, **{_LOAD[metric]: total})
        known[key] = known[key] + load if key in known else load


def _merged_load(load: Mapping[Name, Load], cuts: Sequence[int]) -> tuple[Load, ...]:
    """Between two cuts by the longest blocks that occur, doubled until there are few."""
    pieces: dict[int, list[tuple[int, Load]]] = {}
    for (length, _), one in load.items():
        pieces.setdefault(bisect(cuts, one.start_us), []).append((length, one))
    merged: list[Load] = []
    for piece in pieces.values():
        longest = max(length for length, _ in piece)
        starts = [one.start_us for _, one in piece]
        while max(starts) // longest - min(starts) // longest >= MOST_LOADS:
            longest *= 2
        blocks: dict[int, Load] = {}
        for _, one in piece:
            place = one.start_us // longest
            blocks[place] = blocks[place] + one if place in blocks else one
        merged += blocks.values()
    return tuple(sorted(merged, key=lambda one: one.start_us))
