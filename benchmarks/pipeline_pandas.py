"""The main figures of profiles in memory with pandas, written plainly from the raw columns.

It shares nothing with the pipeline but the raw format, so that its figures also check those of the
pipeline. Names are categories, which is how one would read many repeated names. Every figure but
quantiles has a hundred replicas, as a profile's has: sums by block of time, weighted anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow.parquet as pq

# A figure's name, then what names its subject: topology, operator or worker, task and the like.
Figures = dict[tuple[Any, ...], float]

NAMES = ["topology", "component", "executor", "worker", "metric", "stream", "source_component"]
COLUMNS = [*NAMES, "task", "source_task", "bin", "bucket_start", "bucket_seconds", "value", "count"]
QUANTILES = (0.5, 0.9, 0.95, 0.99)
BUCKETS_PER_BLOCK, MOST_BLOCKS, REPLICAS = 5, 24, 100
_INPUT = ["topology", "component", "task"]

Floats = npt.NDArray[np.float64]
Estimate = Callable[..., Floats]


@dataclass(frozen=True, slots=True)
class Estimates:
    """Figures by name and subject, and replicas by name, a row a subject."""

    figures: Figures = field(default_factory=dict)
    replicas: dict[str, Floats] = field(default_factory=dict)

    def add(self, name: str, sums: pd.DataFrame, estimate: Estimate) -> None:
        """A figure from sums by subject and block, and how it follows from their totals."""
        blocks = sums.index.get_level_values("block").to_numpy()
        subjects = [level for level in sums.index.names if level != "block"]
        totals = sums.groupby(subjects, observed=True).sum()
        values = estimate(*totals.to_numpy(dtype=float).T)
        self.figures.update(
            ((name, *key), float(value)) for key, value in zip(totals.index, values, strict=True)
        )
        first = np.concatenate([[0], np.cumsum(sums.groupby(subjects, observed=True).size())[:-1]])
        distinct, place = np.unique(blocks, return_inverse=True)
        weights = np.random.default_rng(1).exponential(size=(len(distinct), REPLICAS))[place]
        columns = sums.to_numpy(dtype=float).T[:, :, None]
        self.replicas[name] = estimate(
            *(np.add.reduceat(column * weights, first) for column in columns)
        )


def read(paths: Sequence[str]) -> pd.DataFrame:
    """All samples; in a lake every row is there once."""
    table = pq.read_table(list(paths), columns=COLUMNS, read_dictionary=NAMES)
    return table.unify_dictionaries().to_pandas()


def figures(samples: pd.DataFrame) -> Estimates:
    """All figures of all topologies."""
    samples["block"] = _blocks(samples)
    of = dict(iter(samples.groupby("metric", observed=True)))
    seconds = _known_seconds(of["worker_heartbeats"])
    estimates = Estimates()
    _rates(estimates, of["executed"], seconds, "input")
    _rates(estimates, of["emitted"], seconds, "output")
    _dispersion(estimates, of["executed"])
    _service(estimates, of["execute_latency_sum"], of["execute_latency_squares"])
    _quantiles(estimates, of["execute_latency_bin"])
    _routing(estimates, of["transferred"])
    _coefficients(estimates, of["executed"], of["emitted"])
    _cpu(estimates, of["executed"], of["executor_cpu"], of["executor_idle"])
    _cores(estimates, of["executor_cpu"], seconds, "executor")
    _cores(estimates, of["worker_cpu"], seconds, "worker")
    return estimates


def _blocks(samples: pd.DataFrame) -> pd.Series:
    """When the block began that a bucket lies in: of five buckets, or more where there are many."""
    longest = samples.groupby("topology", observed=True)["bucket_seconds"].max()
    times = samples.groupby("topology", observed=True)["bucket_start"]
    span = (times.max() - times.min()).dt.total_seconds()
    length = BUCKETS_PER_BLOCK * longest
    while (many := span / length > MOST_BLOCKS).any():
        length = length.where(~many, 2 * length)
    seconds = samples["bucket_start"].astype("int64") // 10**6
    of_each = length.reindex(samples["topology"].cat.categories)
    own = of_each.to_numpy()[samples["topology"].cat.codes]
    return pd.Series((seconds.to_numpy() // own * own).astype(np.int64), index=samples.index)


def _by(rows: pd.DataFrame, subject: Sequence[str], *columns: str) -> pd.DataFrame:
    """Sums by subject and block."""
    return rows.groupby([*subject, "block"], observed=True)[list(columns)].sum()


def _ratio(one: Floats, other: Floats) -> Floats:
    return one / other


def _known_seconds(beats: pd.DataFrame) -> pd.Series:
    """How long a topology was known in each block: its workers beat in every bucket."""
    by_worker = _by(beats, ["topology", "worker"], "bucket_seconds")["bucket_seconds"]
    return by_worker.groupby(["topology", "block"], observed=True).max()


def _beside(sums: pd.DataFrame, seconds: pd.Series) -> pd.DataFrame:
    place = pd.MultiIndex.from_arrays(
        [sums.index.get_level_values("topology"), sums.index.get_level_values("block")]
    )
    return sums.assign(seconds=seconds.reindex(place).to_numpy())


def _rates(estimates: Estimates, rows: pd.DataFrame, seconds: pd.Series, name: str) -> None:
    totals = _by(rows, _INPUT, "value")
    estimates.add(f"{name} rate", _beside(totals, seconds), _ratio)
    operator = ["topology", "component", "block"]
    of_all = totals.groupby(operator, observed=True)["value"].transform("sum")
    estimates.add(f"{name} share", totals.assign(of_all=of_all), _ratio)


def _dispersion(estimates: Estimates, rows: pd.DataFrame) -> None:
    squared = rows.assign(buckets=1.0, squares=rows["value"] ** 2)

    def index(buckets: Floats, total: Floats, squares: Floats) -> Floats:
        variance = (squares - total**2 / buckets) / (buckets - 1.0)
        return variance / (total / buckets)

    estimates.add("dispersion", _by(squared, _INPUT, "buckets", "value", "squares"), index)


def _service(estimates: Estimates, sums: pd.DataFrame, squares: pd.DataFrame) -> None:
    added = _by(sums, _INPUT, "value", "count")
    both = added.assign(squares=_by(squares, _INPUT, "value")["value"])

    def mean(total: Floats, count: Floats, _: Floats) -> Floats:
        return total / count / 1e6

    def scv(total: Floats, count: Floats, squared: Floats) -> Floats:
        return squared / count / (total / count) ** 2 - 1.0

    estimates.add("service mean", both, mean)
    estimates.add("service scv", both, scv)


def _quantiles(estimates: Estimates, bins: pd.DataFrame) -> None:
    """By bins that are ever wider by 2^(1/8); within a bin, even over the logarithm."""
    weights = bins.groupby([*_INPUT, "bin"], observed=True)["value"].sum().reset_index("bin")
    by_task = weights.groupby(_INPUT, observed=True)["value"]
    until, all_of = by_task.cumsum(), by_task.transform("sum")
    for probability in QUANTILES:
        rank = probability * all_of
        first = weights[until >= rank * (1.0 - 1e-12)].groupby(_INPUT, observed=True).head(1)
        at = until.to_numpy() >= rank.to_numpy() * (1.0 - 1e-12)
        inside = pd.DataFrame({"until": until[at], "rank": rank[at]})
        here = inside.groupby(_INPUT, observed=True).head(1)
        share = (here["rank"] - here["until"] + first["value"]) / first["value"]
        values = 2.0 ** ((first["bin"] - 1 + share) / 8) / 1e6
        name = f"service q{probability:g}"
        estimates.figures.update(((name, *key), float(value)) for key, value in values.items())


def _routing(estimates: Estimates, rows: pd.DataFrame) -> None:
    keys = ["topology", "source_component", "source_task", "task"]
    sent = _by(rows, keys, "value")
    of_all = sent.groupby([*keys[:3], "block"], observed=True)["value"].transform("sum")
    estimates.add("routing", sent.assign(of_all=of_all), _ratio)


def _coefficients(estimates: Estimates, executed: pd.DataFrame, emitted: pd.DataFrame) -> None:
    """Tuples out per tuple in: least squares through the origin, bucket by bucket."""
    keys = [*_INPUT, "block", "bucket_start"]
    both = executed[[*keys, "value"]].merge(emitted[[*keys, "value"]], on=keys)
    both = both.assign(xy=both["value_x"] * both["value_y"], xx=both["value_x"] ** 2)
    estimates.add("coefficient", _by(both, _INPUT, "xy", "xx"), _ratio)


def _cpu(
    estimates: Estimates, executed: pd.DataFrame, cpu: pd.DataFrame, idle: pd.DataFrame
) -> None:
    """CPU time of a tuple: least squares on tuples executed and time idle, without intercept."""
    keys = ["topology", "component", "executor", "block", "bucket_start"]
    both = executed[[*keys, "value"]].merge(cpu[[*keys, "value"]], on=keys, suffixes=("", "_cpu"))
    both = both.merge(idle[[*keys, "value"]], on=keys, suffixes=("", "_idle"))
    x, z, y = both["value"], both["value_idle"], both["value_cpu"]
    both = both.assign(xx=x * x, xz=x * z, zz=z * z, xy=x * y, zy=z * y)

    def per_tuple(xx: Floats, xz: Floats, zz: Floats, xy: Floats, zy: Floats) -> Floats:
        return (xy * zz - zy * xz) / (xx * zz - xz**2) / 1e6

    estimates.add("cpu mean", _by(both, keys[:3], "xx", "xz", "zz", "xy", "zy"), per_tuple)


def _cores(estimates: Estimates, rows: pd.DataFrame, seconds: pd.Series, subject: str) -> None:
    used = _by(rows, ["topology", subject], "value") / 1e9
    estimates.add(f"{subject} cores", _beside(used, seconds), _ratio)


def largest_difference(ours: Figures, theirs: Figures) -> dict[str, dict[str, float]]:
    """By figure: how many both have, how many only one has, and the largest relative difference.

    Where nothing can be compared, the difference is one.
    """
    differences = {}
    for name in sorted({key[0] for key in (*ours, *theirs)}):
        our_keys = {key for key in ours if key[0] == name}
        their_keys = {key for key in theirs if key[0] == name}
        both = our_keys & their_keys
        apart = [abs(ours[key] - theirs[key]) / max(abs(theirs[key]), 1e-12) for key in both]
        differences[name] = {
            "compared": float(len(both)),
            "only in one": float(len(our_keys ^ their_keys)),
            "largest relative difference": max(apart, default=1.0),
        }
    return differences
