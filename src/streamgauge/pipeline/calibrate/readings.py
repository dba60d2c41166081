"""Which samples can be summed, of which topology they are, and rows made of them.

Samples of nodes and machines belong to no topology: they count for every topology whose plan uses
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamgauge.pipeline.calibrate.lake_parts import (
    DAY_US,
    GAUGES,
    LEAST_BUCKET_US,
    MEANS,
    MOST_COUNT,
    NO_WORD,
    SERIES,
    WANTED,
    Arrays,
    largest,
)
from streamgauge.pipeline.calibrate.periods import StablePeriod
from streamgauge.pipeline.estimation.schemas import ARRAYS, SERIES_SUMS, Bools, Floats, Kind, Whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is summed of one topology.

    Attributes:
        period: When, on which plan, and by which blocks.
        first_us: When the first bucket of all times began.
        last_us: When the last one ended.
        look_back_us: How long before the period samples of counters may matter.
        superfluous: Metrics whose exact counterparts were written: operators and days, in days
            since 1970; none where that is so everywhere.
        beating: Workers and days with heartbeats; none where all workers send them.
    """

    period: StablePeriod
    first_us: int
    last_us: int
    look_back_us: int
    superfluous: Mapping[str, frozenset[tuple[str | None, int]] | None] = field(
        default_factory=dict
    )
    beating: frozenset[tuple[str | None, int]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Readings:
    """Samples that can be summed, each under the topology whose period it may be in.

    Attributes:
        samples: What they were read from.
        row: The sample of each.
        job: The place of its topology's scope.
        in_plan: Whether it named the plan of the period, or none.
        start_us: When the bucket begins.
        bucket_us: How long it is.
        value: What is squared and multiplied.
        amount: What is summed: a whole double.
        count: Observations.
    """

    samples: Arrays
    row: Whole
    job: Whole
    in_plan: Bools
    start_us: Whole
    bucket_us: Whole
    value: Floats
    amount: Floats
    count: Whole

    def where(self, chosen: Bools) -> Readings:
        """Some of them."""
        names = [name for name in self.__slots__ if name != "samples"]
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})

    def code(self, column: str) -> npt.NDArray[np.int32]:
        """The codes of a column."""
        return self.samples.codes[column][self.row]

    def labelled(self, labels: Iterable[str]) -> Bools:
        """Which are of these metrics."""
        return self.samples.flags("metric", frozenset(labels))[self.row]


def read_readings(samples: Arrays, scopes: Sequence[Scope]) -> Readings:
    """Samples that can be summed and may be of a scope, by their topology, node or machine."""
    row, job = _assigned(samples, scopes)
    bucket_us, value, count = samples.bucket_us[row], samples.value[row], samples.count[row]
    most = samples.numbers("metric", {label: largest(label) for label in WANTED}, -1.0)[row]
    summable = (bucket_us >= LEAST_BUCKET_US) & (np.abs(value) < most) & (count < int(MOST_COUNT))
    row, job = row[summable], job[summable]
    bucket_us, value, count = bucket_us[summable], value[summable], count[summable]
    plans = np.asarray([code_of(samples, "plan_id", one.period.plan_id) for one in scopes])
    plan = samples.codes["plan_id"][row]
    weights = dict.fromkeys(GAUGES, 1.0) | dict.fromkeys(MEANS, 2.0)
    weight = samples.numbers("metric", weights, 0.0)[row]
    # Of counts and sums the value; of gauges that times microseconds; of means that times
    # observations, in millionths.
    amount = value.copy()
    gauge, mean = weight == 1.0, weight == 2.0
    amount[gauge] = np.rint(value[gauge] * bucket_us[gauge])
    amount[mean] = np.rint(value[mean] * count[mean] * 1e6)
    return Readings(
        samples=samples,
        row=row,
        job=job,
        in_plan=(plan == NO_WORD) | (plan == plans[job]),
        start_us=samples.start_us[row],
        bucket_us=bucket_us,
        value=value,
        amount=amount,
        count=count,
    )


def code_of(samples: Arrays, column: str, word: str | None) -> int:
    """The code of a text; that of nothing where there is none, and another where nobody has it."""
    if word is None:
        return NO_WORD
    words = samples.words[column]
    return words.index(word) if word in words else len(words)


def _assigned(samples: Arrays, scopes: Sequence[Scope]) -> tuple[Whole, Whole]:
    """Rows and the scopes they are of; samples of hosts are of every topology that runs there."""
    cluster, topology = samples.codes["cluster"], samples.codes["topology"]
    clusters = [*samples.words["cluster"], None]
    places: dict[tuple[str | None, str | None], int] = {
        one.period.job: place for place, one in enumerate(scopes)
    }
    known = np.asarray(
        [
            [places.get((one, name), -1) for name in [*samples.words["topology"], None]]
            for one in clusters
        ]
    )
    job = known[cluster, topology]
    rows, jobs = [np.flatnonzero(job >= 0)], [job[job >= 0]]
    hosts = np.flatnonzero(topology == NO_WORD)
    node, machine = samples.codes["node"][hosts], samples.codes["machine"][hosts]
    for place, one in enumerate([each.period for each in scopes] if len(hosts) else ()):
        here = cluster[hosts] == code_of(samples, "cluster", one.cluster)
        nodes = [code_of(samples, "node", name) for name in one.nodes]
        machines = [code_of(samples, "machine", name) for name in one.machines]
        mine = np.isin(node, nodes) | ((node == NO_WORD) & np.isin(machine, machines))
        rows.append(hosts[here & mine])
        jobs.append(np.full(len(rows[-1]), place))
    return np.concatenate(rows), np.concatenate(jobs)


def superfluous(readings: Readings, scopes: Sequence[Scope]) -> Bools:
    """Which say less exactly what was written of the same operator on the same day, too."""
    samples = readings.samples
    labels = sorted({label for one in scopes for label in one.superfluous})
    metrics = [code_of(samples, "metric", label) for label in labels]
    found = np.zeros(len(readings.row), dtype=bool)
    told = np.flatnonzero(np.isin(readings.code("metric"), metrics))
    if not len(told):
        return found
    everywhere = np.zeros((len(scopes), len(samples.words["metric"]) + 1), dtype=bool)
    places: list[tuple[int, int, int, int]] = []
    for job, one in enumerate(scopes):
        for label, days in one.superfluous.items():
            metric = code_of(samples, "metric", label)
            everywhere[job, metric] |= days is None
            places += [
                (job, metric, code_of(samples, "component", name), day) for name, day in days or ()
            ]
    mine = (
        readings.job[told],
        readings.code("metric")[told],
        readings.code("component")[told],
        readings.start_us[told] // DAY_US,
    )
    found[told] = everywhere[mine[0], mine[1]] | rows_among(mine, places)
    return found


def rows_among(columns: Sequence[npt.NDArray[Any]], rows: Sequence[Sequence[int]]) -> Bools:
    """Which rows of some columns of numbers are among these."""
    if not rows:
        return np.zeros(len(columns[0]), dtype=bool)
    other = np.asarray(rows, dtype=np.int64).T
    key, sought = np.zeros(len(columns[0]), np.int64), np.zeros(other.shape[1], np.int64)
    for column, values in zip(columns, other, strict=True):
        low = min(int(column.min(initial=0)), int(values.min()))
        width = max(int(column.max(initial=0)), int(values.max())) - low + 1
        key, sought = key * width + (column - low), sought * width + (values - low)
    return np.isin(key, sought)


def in_period(readings: Readings, scopes: Sequence[Scope], look_back: bool = False) -> Bools:
    """Which lie in the period of their topology as a whole."""
    first = np.asarray([one.period.from_us - look_back * one.look_back_us for one in scopes])
    last = np.asarray([one.period.to_us for one in scopes])
    start = readings.start_us
    inside: Bools = (start >= first[readings.job]) & (
        start + readings.bucket_us <= last[readings.job]
    )
    return inside if look_back else inside & readings.in_plan


def at_places(places: Whole, size: int) -> Bools:
    """Places as flags; places are in ascending order."""
    flags = np.zeros(size, dtype=bool)
    flags[places] = True
    return flags


def sorting(number: Whole, start_us: Whole) -> Whole | None:
    """How rows are to be sorted by series and time; nothing where they are."""
    step = np.diff(number)
    if np.all(step >= 0) and np.all((step > 0) | (np.diff(start_us) >= 0)):
        return None
    return np.lexsort((start_us, number))


def reordered(readings: Readings, order: Whole) -> Readings:
    """The same in another order."""
    names = [name for name in readings.__slots__ if name != "samples"]
    return replace(readings, **{name: getattr(readings, name)[order] for name in names})


def table_of(
    heads: Readings,
    scopes: Sequence[Scope],
    kind: Kind,
    arrays: Mapping[str, tuple[Whole, Whole]],
    *,
    columns: Sequence[str] = SERIES,
    own_plan: bool = False,
) -> pa.Table:
    """Rows in the columns of `SERIES_SUMS`.

    Args:
        heads: A reading of each row, which has its names.
        scopes: Whose topology and plan they get.
        kind: What rows these are.
        arrays: By column the row and the number of each entry, in the order of rows.
        columns: Which names the rows have.
        own_plan: Whether rows keep the plan that samples named.
    """
    size = len(heads.row)
    named = heads.samples.table.select(SERIES).take(pa.array(heads.row))
    made: dict[str, pa.Array] = {
        name: named[name].combine_chunks().cast(SERIES_SUMS.field(name).type) for name in columns
    }
    periods = [scopes[job].period for job in heads.job.tolist()]
    made["kind"] = pa.array([kind.value] * size, pa.string())
    made["own_plan"] = made["plan_id"]
    for name in ("topology", "bucket_us", "block_us", *(() if own_plan else ("plan_id",))):
        values = [getattr(period, name) for period in periods]
        made[name] = pa.array(values, SERIES_SUMS.field(name).type)
    for name in ARRAYS:
        made[name] = _lists(*arrays.get(name, (np.zeros(0, np.int64),) * 2), size)
    return pa.table(
        [made[one.name] if one.name in made else pa.nulls(size, one.type) for one in SERIES_SUMS],
        schema=SERIES_SUMS,
    )


def _lists(owner: Whole, values: Whole, size: int) -> pa.Array:
    offsets = np.searchsorted(owner, np.arange(size + 1)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values, pa.int64()))


def with_column(table: pa.Table, name: str, column: pa.Array) -> pa.Table:
    """The table with another column of that name."""
    place = table.schema.get_field_index(name)
    return table.set_column(place, table.schema.field(name), column)
