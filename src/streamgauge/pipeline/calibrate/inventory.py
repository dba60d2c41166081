"""What the lake holds of each topology, plan and metric: one cheap pass over eleven columns.

Tasks sum up what they read; what they found of a topology comes together, and the driver gets one
short record of each, whose size does not depend on how many samples there are.
"""

from __future__ import annotations

import json
from bisect import bisect
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import SparkSession

from streamgauge.lake.metrics import Metric
from streamgauge.pipeline.calibrate.lake_parts import (
    DAY_US,
    NO_WORD,
    Arrays,
    Part,
    numbered,
    read_samples,
    run_starts,
)
from streamgauge.pipeline.calibrate.periods import Held, Job, Load, Recorded
from streamgauge.pipeline.calibrate.summing_rules import (
    HEARTBEATS,
    STAND_INS,
    WANTED,
)
from streamgauge.pipeline.estimation.blocks import BUCKETS_PER_BLOCK, rounded_lengths_us
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
# What tells a backlog that drains: input, output, and what waits.
_LOAD = (Metric.EMITTED.label, Metric.EXECUTED.label, Metric.QUEUE_POPULATION.label)
# Blocks of load between two cuts, and cuts, that are worth keeping; the last ones.
MOST_LOADS, MOST_CUTS = 64, 20
FOUND = pa.schema(
    [
        pa.field("cluster", pa.string()),
        pa.field("topology", pa.string(), nullable=False),
        pa.field("found", pa.string(), nullable=False),
    ]
)
Name = tuple[Any, ...]


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
    listed = spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(
        partial(_list_parts, tasks, topology), spark_schema(FOUND)
    )
    joined = listed.repartition("cluster", "topology").mapInArrow(
        partial(_join, dict(cuts)), spark_schema(FOUND)
    )
    rows = joined.toArrow().to_pylist()
    held = [held_of(row["cluster"], row["topology"], json.loads(row["found"])) for row in rows]
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
            yield _rows({job: some.to_json() for job, some in found.items()})


def _join(
    cuts: Mapping[Job, Sequence[int]], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    found: dict[Job, Found] = {}
    for batch in batches:
        for row in batch.to_pylist():
            job = (row["cluster"], row["topology"])
            found.setdefault(job, Found()).add(Found.from_json(row["found"]))
    yield _rows({job: json.dumps(some.shortened(cuts.get(job, ()))) for job, some in found.items()})


def _rows(found: Mapping[Job, str]) -> pa.RecordBatch:
    rows = [
        {"cluster": cluster, "topology": topology, "found": text}
        for (cluster, topology), text in found.items()
    ]
    return pa.RecordBatch.from_pylist(rows, schema=FOUND)


@dataclass(slots=True)
class Found:
    """What some samples say of a topology.

    Attributes:
        metrics: By plan, metric and length of buckets: rows, and what is least and greatest
            (`_STATISTICS`).
        exact: By operator and day which exact metrics there are, as bits.
        stand_ins: Rows of metrics that may be superfluous, by plan, metric, operator and day.
        beats: Workers and days with heartbeats.
        load: By length and start of five buckets: when they begin and end, input, output, and what
            waited, in microseconds.
    """

    metrics: dict[Name, list[Any]] = field(default_factory=dict)
    exact: dict[Name, int] = field(default_factory=dict)
    stand_ins: dict[Name, int] = field(default_factory=dict)
    beats: dict[Name, int] = field(default_factory=dict)
    load: dict[Name, list[Any]] = field(default_factory=dict)

    def add(self, other: Found) -> None:
        """Take in what other samples say."""
        for key, numbers in other.metrics.items():
            known = self.metrics.get(key, numbers)
            rows = numbers[0] + (known[0] if key in self.metrics else 0)
            least_and_greatest = zip(_STATISTICS.values(), known[1:], numbers[1:], strict=True)
            self.metrics[key] = [rows, *(how(one, two) for how, one, two in least_and_greatest)]
        for key, bits in other.exact.items():
            self.exact[key] = self.exact.get(key, 0) | bits
        for key, rows in other.stand_ins.items():
            self.stand_ins[key] = self.stand_ins.get(key, 0) + rows
        self.beats |= other.beats
        for key, numbers in other.load.items():
            self.load[key] = _added_load(self.load.get(key), numbers)

    def shortened(self, cuts: Sequence[int] = ()) -> dict[str, Any]:
        """The same in little: days and operators only where they matter, few blocks of load."""
        left: dict[str, list[Any]] = {}
        dropped: dict[tuple[str | None, str], int] = {}
        for (plan, metric, component, day), rows in self.stand_ins.items():
            if _NEEDS[metric] & ~self.exact.get((component, day), 0) == 0:
                dropped[plan, metric] = dropped.get((plan, metric), 0) + rows
                left.setdefault(metric, []).append([component, day])
        rows_of: dict[tuple[str | None, str], int] = {}
        for (plan, metric, _), (rows, *_) in self.metrics.items():
            rows_of[plan, metric] = rows_of.get((plan, metric), 0) + rows
        kept = {key[1] for key, rows in rows_of.items() if rows > dropped.get(key, 0)}
        beating = {plan for plan, metric, _ in self.metrics if metric == HEARTBEATS}
        return {
            "metrics": [[*key, *numbers] for key, numbers in self.metrics.items()],
            "superfluous": {
                metric: days if metric in kept else None for metric, days in left.items()
            },
            "beats": None if beating == {plan for plan, *_ in self.metrics} else list(self.beats),
            "load": _merged_load(self.load, cuts[-MOST_CUTS:]),
        }

    def to_json(self) -> str:
        """As text."""
        return json.dumps([list(getattr(self, name).items()) for name in self.__slots__])

    @classmethod
    def from_json(cls, text: str) -> Found:
        """Of a text."""
        return cls(*({tuple(key): value for key, value in rows} for rows in json.loads(text)))


_STATISTICS = {
    "first": min,
    "last": max,
    "shortest": min,
    "value": max,
    "count": max,
}


def listed(samples: Arrays, topology: str | None = None) -> dict[Job, Found]:
    """What some samples say of each topology that they name."""
    known = samples.codes["topology"] != NO_WORD
    if topology is not None:
        known = samples.flags("topology", [topology])
    rows = np.flatnonzero(known)
    if not len(rows):
        return {}
    start, bucket = samples.start_us[rows], samples.bucket_us[rows]
    names: dict[str, npt.NDArray[Any]] = {name: code[rows] for name, code in samples.codes.items()}
    names["day"] = start // DAY_US
    names["bucket"] = rounded_lengths_us(bucket)
    runs = run_starts(names.values(), len(rows))
    table = _Runs(
        samples=samples,
        names={name: column[runs] for name, column in names.items()},
        numbers={
            "rows": np.diff(np.append(runs, len(rows))),
            "first": np.minimum.reduceat(start, runs),
            "last": np.maximum.reduceat(start + bucket, runs),
            "shortest": np.minimum.reduceat(bucket, runs),
            "value": np.maximum.reduceat(np.abs(samples.value[rows]), runs),
            "count": np.maximum.reduceat(samples.count[rows], runs),
        },
    )
    found: dict[Job, Found] = {}
    everything = np.ones(len(runs), dtype=bool)
    for (*job, plan, metric, length), numbers in table.grouped(
        everything, "plan_id", "metric", "bucket"
    ):
        some = found.setdefault(tuple(job), Found())
        some.metrics[plan, metric, length] = list(numbers.values())
    for (*job, metric, component, day), _ in table.grouped(
        table.labelled(_EXACT), "metric", "component", "day"
    ):
        exact = found[tuple(job)].exact
        exact[component, day] = exact.get((component, day), 0) | _EXACT[metric]
    for (*job, plan, metric, component, day), numbers in table.grouped(
        table.labelled(_NEEDS), "plan_id", "metric", "component", "day"
    ):
        found[tuple(job)].stand_ins[plan, metric, component, day] = numbers["rows"]
    for (*job, worker, day), _ in table.grouped(table.labelled([HEARTBEATS]), "worker", "day"):
        found[tuple(job)].beats[worker, day] = 1
    _add_load(found, samples, rows)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Runs:
    """Samples that follow each other and are alike in all names: their names and numbers."""

    samples: Arrays
    names: Mapping[str, npt.NDArray[Any]]
    numbers: Mapping[str, npt.NDArray[Any]]

    def labelled(self, labels: Collection[str]) -> npt.NDArray[Any]:
        """Which are of these metrics."""
        known = np.asarray([word in labels for word in self.samples.words["metric"]] + [False])
        return np.asarray(known[self.names["metric"]])

    def grouped(
        self, chosen: npt.NDArray[Any], *names: str
    ) -> Iterator[tuple[Name, dict[str, Any]]]:
        """Topology and names of those that are alike in these, and their numbers together."""
        by = ("cluster", "topology", *names)
        columns = [self.names[name][chosen] for name in by]
        number, heads = numbered(columns, len(columns[0]))
        if not len(heads):
            return
        order = np.argsort(number, kind="stable")
        first = np.searchsorted(number[order], np.arange(len(heads)))
        numbers = {"rows": np.add.reduceat(self.numbers["rows"][chosen][order], first).tolist()}
        for name, how in _STATISTICS.items():
            extreme = np.minimum if how is min else np.maximum
            numbers[name] = extreme.reduceat(self.numbers[name][chosen][order], first).tolist()
        words = [self._words(name, column[heads]) for name, column in zip(by, columns, strict=True)]
        for place, key in enumerate(zip(*words, strict=True)):
            yield key, {name: values[place] for name, values in numbers.items()}

    def _words(self, name: str, codes: npt.NDArray[Any]) -> list[Any]:
        if name not in self.samples.words:
            return list(codes.tolist())
        words = [*self.samples.words[name], None]
        return [words[code] for code in codes.tolist()]


def _add_load(found: dict[Job, Found], samples: Arrays, rows: npt.NDArray[Any]) -> None:
    """Input, output and what waits, by five buckets: whole numbers, whose sums are exact."""
    told = rows[samples.flags("metric", _LOAD)[rows]]
    bucket, start, value = samples.bucket_us[told], samples.start_us[told], samples.value[told]
    block = BUCKETS_PER_BLOCK * rounded_lengths_us(bucket)
    names = {name: samples.codes[name][told] for name in ("cluster", "topology", "metric")}
    # A population counts for as long as it was seen.
    waits = samples.flags("metric", [_LOAD[-1]])[told]
    amount = np.where(waits, np.rint(value * bucket), value)
    number, heads = numbered([*names.values(), block, start // block], len(told))
    sums = np.bincount(number, amount, minlength=len(heads)).tolist()
    begins, ends = start[heads], (start + bucket)[heads]
    np.minimum.at(begins, number, start)
    np.maximum.at(ends, number, start + bucket)
    numbers = zip(begins.tolist(), ends.tolist(), sums, strict=True)
    words = {name: [*samples.words[name], None] for name in names}
    for head, (begin, end, total) in zip(heads.tolist(), numbers, strict=True):
        cluster, topology, metric = (words[name][code[head]] for name, code in names.items())
        load, length = found[cluster, topology].load, int(block[head])
        of_metric = [total if label == metric else 0.0 for label in _LOAD]
        key = (length, begin // length)
        load[key] = _added_load(load.get(key), [begin, end, *of_metric])


def _added_load(one: Sequence[float] | None, other: Sequence[float]) -> list[Any]:
    """Begin, end and sums of two blocks together."""
    if one is None:
        return list(other)
    sums = (a + b for a, b in zip(one[2:], other[2:], strict=True))
    return [min(one[0], other[0]), max(one[1], other[1]), *sums]


def _merged_load(load: Mapping[Name, Sequence[float]], cuts: Sequence[int]) -> list[list[Any]]:
    """Between two cuts by the longest blocks that occur, doubled until there are few."""
    pieces: dict[int, list[tuple[int, Sequence[float]]]] = {}
    for (length, _), numbers in load.items():
        pieces.setdefault(bisect(cuts, numbers[0]), []).append((length, numbers))
    merged: list[list[Any]] = []
    for piece in pieces.values():
        longest = max(length for length, _ in piece)
        first, last = (how(int(numbers[0]) for _, numbers in piece) for how in (min, max))
        while last // longest - first // longest >= MOST_LOADS:
            longest *= 2
        blocks: dict[int, list[Any]] = {}
        for _, numbers in piece:
            place = int(numbers[0]) // longest
            blocks[place] = _added_load(blocks.get(place), numbers)
        merged += blocks.values()
    return sorted(merged)


def held_of(cluster: str | None, topology: str, found: Mapping[str, Any]) -> Held:
    """What is held of a topology, of what was found and shortened."""
    recorded = [
        Recorded(
            cluster=cluster,
            topology=topology,
            plan_id=plan,
            metric=metric,
            bucket_us=length,
            first_us=first,
            last_us=last,
            rows=rows,
            is_needed=metric in WANTED and found["superfluous"].get(metric, ()) is not None,
            shortest_us=shortest,
            largest_value=value,
            largest_count=count,
        )
        for plan, metric, length, rows, first, last, shortest, value, count in found["metrics"]
    ]
    return Held(
        cluster=cluster,
        topology=topology,
        recorded=tuple(
            sorted(recorded, key=lambda one: (one.plan_id or "", one.metric, one.bucket_us))
        ),
        superfluous={
            metric: None if days is None else frozenset((name, day) for name, day in days)
            for metric, days in found["superfluous"].items()
        },
        beating=None
        if found["beats"] is None
        else frozenset((worker, day) for worker, day in found["beats"]),
        load=tuple(
            Load(
                start_us=start,
                end_us=end,
                emitted=emitted,
                executed=executed,
                queued=queued_us / (end - start),
            )
            for start, end, emitted, executed, queued_us in found["load"]
        ),
    )
