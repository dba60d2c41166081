"""The main figures of profiles in memory with pandas, written plainly from the raw columns.

It shares nothing with the pipeline but the raw format, so that its figures also check those of the
pipeline. Names are categories, which is how one would read many repeated names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
import pyarrow.parquet as pq

# A figure's name, then what names its subject: topology, operator or worker, task and the like.
Figures = dict[tuple[Any, ...], float]

NAMES = (
    "topology",
    "component",
    "executor",
    "worker",
    "metric",
    "stream",
    "source_component",
)
COLUMNS = (*NAMES, "task", "source_task", "bin", "bucket_start", "bucket_seconds", "value", "count")
QUANTILES = (0.5, 0.95, 0.99)
_INPUT = ["topology", "component", "task"]


def read(paths: Sequence[str]) -> pd.DataFrame:
    """All samples; in a lake every row is there once."""
    table = pq.read_table(list(paths), columns=list(COLUMNS), read_dictionary=list(NAMES))
    return table.unify_dictionaries().to_pandas()


def figures(samples: pd.DataFrame) -> Figures:
    """All figures of all topologies."""
    of = dict(iter(samples.groupby("metric", observed=True)))
    seconds = _known_seconds(of["worker_heartbeats"])
    found: Figures = {}
    found |= _rates(of["executed"], seconds, "input")
    found |= _rates(of["emitted"], seconds, "output")
    found |= _dispersion(of["executed"])
    found |= _service(of["execute_latency_sum"], of["execute_latency_squares"])
    found |= _quantiles(of["execute_latency_bin"])
    found |= _routing(of["transferred"])
    found |= _coefficients(of["executed"], of["emitted"])
    found |= _cpu(of["executed"], of["executor_cpu"], of["executor_idle"])
    found |= _cores(of["executor_cpu"], seconds, "executor")
    found |= _cores(of["worker_cpu"], seconds, "worker")
    return found


def _keyed(name: str, series: pd.Series) -> Figures:
    return {(name, *key): float(value) for key, value in series.items()}


def _known_seconds(beats: pd.DataFrame) -> pd.Series:
    """How long a topology was known: its workers beat in every bucket."""
    by_worker = beats.groupby(["topology", "worker"], observed=True)["bucket_seconds"].sum()
    return by_worker.groupby("topology", observed=True).max()


def _rates(rows: pd.DataFrame, seconds: pd.Series, name: str) -> Figures:
    totals = rows.groupby(_INPUT, observed=True)["value"].sum()
    rates = totals / seconds.reindex(totals.index.get_level_values("topology")).to_numpy()
    of_operator = totals.groupby(["topology", "component"], observed=True).transform("sum")
    return _keyed(f"{name} rate", rates) | _keyed(f"{name} share", totals / of_operator)


def _dispersion(rows: pd.DataFrame) -> Figures:
    counts = rows.groupby(_INPUT, observed=True)["value"]
    return _keyed("dispersion", counts.var() / counts.mean())


def _service(sums: pd.DataFrame, squares: pd.DataFrame) -> Figures:
    added = sums.groupby(_INPUT, observed=True)[["value", "count"]].sum()
    squared = squares.groupby(_INPUT, observed=True)["value"].sum()
    mean = added["value"] / added["count"]
    scv = squared / added["count"] / mean**2 - 1.0
    return _keyed("service mean", mean / 1e6) | _keyed("service scv", scv)


def _quantiles(bins: pd.DataFrame) -> Figures:
    """By bins that are ever wider by 2^(1/8); within a bin, even over the logarithm."""
    weights = bins.groupby([*_INPUT, "bin"], observed=True)["value"].sum().reset_index("bin")
    by_task = weights.groupby(_INPUT, observed=True)["value"]
    until, all_of = by_task.cumsum(), by_task.transform("sum")
    found: Figures = {}
    for probability in QUANTILES:
        rank = probability * all_of
        first = weights[until >= rank * (1.0 - 1e-12)].groupby(_INPUT, observed=True).head(1)
        at = until.to_numpy() >= rank.to_numpy() * (1.0 - 1e-12)
        inside = pd.DataFrame({"until": until[at], "rank": rank[at]})
        here = inside.groupby(_INPUT, observed=True).head(1)
        share = (here["rank"] - here["until"] + first["value"]) / first["value"]
        found |= _keyed(f"service q{probability:g}", 2.0 ** ((first["bin"] - 1 + share) / 8) / 1e6)
    return found


def _routing(rows: pd.DataFrame) -> Figures:
    keys = ["topology", "source_component", "source_task", "task"]
    sent = rows.groupby(keys, observed=True)["value"].sum()
    return _keyed("routing", sent / sent.groupby(keys[:3], observed=True).transform("sum"))


def _coefficients(executed: pd.DataFrame, emitted: pd.DataFrame) -> Figures:
    """Tuples out per tuple in: least squares through the origin, bucket by bucket."""
    keys = [*_INPUT, "bucket_start"]
    both = executed[[*keys, "value"]].merge(emitted[[*keys, "value"]], on=keys)
    both = both.assign(
        xx=both["value_x"] ** 2,
        xy=both["value_x"] * both["value_y"],
    )
    sums = both.groupby(_INPUT, observed=True)[["xx", "xy"]].sum()
    return _keyed("coefficient", sums["xy"] / sums["xx"])


def _cpu(executed: pd.DataFrame, cpu: pd.DataFrame, idle: pd.DataFrame) -> Figures:
    """CPU time of a tuple: least squares on tuples executed and time idle, without intercept."""
    keys = ["topology", "component", "executor", "bucket_start"]
    both = executed[[*keys, "value"]].merge(cpu[[*keys, "value"]], on=keys, suffixes=("", "_cpu"))
    both = both.merge(idle[[*keys, "value"]], on=keys, suffixes=("", "_idle"))
    x, z, y = both["value"], both["value_idle"], both["value_cpu"]
    both = both.assign(xx=x * x, xz=x * z, zz=z * z, xy=x * y, zy=z * y)
    sums = both.groupby(keys[:3], observed=True)[["xx", "xz", "zz", "xy", "zy"]].sum()
    determinant = sums["xx"] * sums["zz"] - sums["xz"] ** 2
    per_tuple = (sums["xy"] * sums["zz"] - sums["zy"] * sums["xz"]) / determinant
    return _keyed("cpu mean", per_tuple / 1e6)


def _cores(rows: pd.DataFrame, seconds: pd.Series, subject: str) -> Figures:
    used = rows.groupby(["topology", subject], observed=True)["value"].sum() / 1e9
    known = seconds.reindex(used.index.get_level_values("topology")).to_numpy()
    return _keyed(f"{subject} cores", used / known)


def largest_difference(
    ours: Figures, theirs: Figures, names: Iterable[str]
) -> dict[str, dict[str, float]]:
    """By figure: how many both have, how many only one has, and the largest relative difference.

    Where nothing can be compared, the difference is one.
    """
    found = {}
    for name in names:
        one = {key for key in ours if key[0] == name}
        other = {key for key in theirs if key[0] == name}
        both = sorted(one & other, key=repr)
        apart = [abs(ours[key] - theirs[key]) / max(abs(theirs[key]), 1e-12) for key in both]
        found[name] = {
            "compared": float(len(both)),
            "only in one": float(len(one ^ other)),
            "largest relative difference": max(apart, default=1.0),
        }
    return found
