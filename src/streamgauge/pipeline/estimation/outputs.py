"""Regressions of tasks and executors: tuples out per tuple in, and CPU time per tuple.

* `coefficient`: emitted by output stream on executed by input stream, per task.
* `per_trigger`: emitted by output stream on windows that fired, per task.
* `cpu_by_input`, `polling` and `cpu_by_trigger`: CPU time of an executor on executed tuples, idle
  time and windows that fired. A thread burns CPU while it polls; dividing all of it by the tuples
  would invent service time at low rates.

Numbers are multiplied bucket by bucket; buckets shorter than the topology's usual ones are added
first. Where only totals of blocks came, as of the engine's own counters, each block is taken as one
long bucket (flag `block-totals`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from streamgauge.lake.metrics import Metric
from streamgauge.pipeline.estimation.catalogue import FigureName
from streamgauge.pipeline.estimation.reading import CODES, Layout, dense, ranges
from streamgauge.pipeline.estimation.regression import Design, Fits, fit
from streamgauge.pipeline.estimation.schemas import NOTHING, Floats, Whole
from streamgauge.pipeline.estimation.standard_errors import Batch, Bootstrap, Estimates, Groups

BLOCK_TOTALS = "block-totals"
_ENGINES_OWN = {
    Metric.EXECUTED: Metric.EXECUTED_TOTAL,
    Metric.EMITTED: Metric.EMITTED_TOTAL,
}
_MILLISECONDS = 1e-3
# What names a regressor.
_REGRESSOR = ["subject", "metric", "stream", "source"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """What is explained by what.

    Attributes:
        explained: The metric whose totals are explained.
        figures: By explaining metric the word of its coefficient, and its unit's factor.
        by_totals: Whether block totals will do where sums of products are missing.
    """

    explained: Metric
    figures: dict[Metric, tuple[str, float]]
    by_totals: bool = False


RELATIONS = (
    Relation(
        explained=Metric.EMITTED,
        figures={Metric.EXECUTED: (FigureName.COEFFICIENT, 1.0)},
        by_totals=True,
    ),
    Relation(
        explained=Metric.EMITTED,
        figures={Metric.WINDOW_TRIGGERS: (FigureName.PER_TRIGGER, 1.0)},
        by_totals=True,
    ),
    Relation(
        explained=Metric.EXECUTOR_CPU,
        figures={
            Metric.EXECUTED: (FigureName.CPU_BY_INPUT, _MILLISECONDS),
            Metric.EXECUTOR_IDLE: ("polling", 1.0),
            Metric.WINDOW_TRIGGERS: (FigureName.CPU_BY_TRIGGER, _MILLISECONDS),
        },
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Products:
    """Sums of products of one relation, block by block.

    Attributes:
        squares: `subject`, `start_us`, `x` and `other_x` (places in `explaining`), `total`.
        mixed: `subject`, `start_us`, `x`, `y` (place in `explained`), `total`.
        explaining: A row a subject and regressor: `subject`, `metric`, `stream`, `source`,
            `samples`, `buckets`.
        explained: A row a subject and output: `subject`, `stream`, `flags`.
    """

    squares: pd.DataFrame
    mixed: pd.DataFrame
    explaining: pd.DataFrame
    explained: pd.DataFrame


def regression_figures(layout: Layout, bootstrap: Bootstrap) -> list[Batch]:
    """All coefficients."""
    batches = []
    for relation in RELATIONS:
        found = _products(layout, relation)
        if relation.by_totals:
            taken = set() if found is None else set(found.explained["subject"])
            others = _totals(layout, relation, taken)
            batches += [] if others is None else _fitted(others, relation, layout, bootstrap)
        batches += [] if found is None else _fitted(found, relation, layout, bootstrap)
    return batches


def _products(layout: Layout, relation: Relation) -> Products | None:
    """Sums of products over the buckets of each block."""
    factors = layout.factors.reset_index(names="row")
    x = factors[factors["metric"].isin([CODES[metric.label] for metric in relation.figures])]
    y = factors[factors["metric"] == CODES[relation.explained.label]]
    # A subject without what is explained has nothing to fit, and one without tuples or triggers
    # has nothing to fit it by: a source's CPU time is not its idle time's.
    x = x[x["subject"].isin(y["subject"])]
    tuples = x[x["metric"] != CODES[Metric.EXECUTOR_IDLE.label]]
    x = x[x["subject"].isin(tuples["subject"])]
    y = y[y["run"].isin(x["run"])]
    x = x[x["subject"].isin(y["subject"])]
    if x.empty:
        return None
    number, explaining = dense({name: x[name].to_numpy() for name in _REGRESSOR})
    y_number, explained = dense({name: y[name].to_numpy() for name in ("subject", "stream")})
    x, y = x.assign(x=number), y.assign(y=y_number)
    pairs = x.merge(x[["run", "x", "row"]], on="run", suffixes=("", "_other"))
    pairs = pairs.rename(columns={"x_other": "other_x"})
    squares = _multiplied(pairs[pairs["x"] <= pairs["other_x"]], "other_x", layout.slots)
    mixed = x.merge(y[["run", "y", "row"]], on="run", suffixes=("", "_other"))
    return Products(
        squares=squares,
        mixed=_multiplied(mixed, "y", layout.slots),
        explaining=_counted(layout, explaining, squares[squares["x"] == squares["other_x"]]),
        explained=explained.assign(flags=""),
    )


def _multiplied(pairs: pd.DataFrame, other: str, slots: Floats) -> pd.DataFrame:
    """Sums of the products of pairs of factors, by subject and block."""
    one, two = slots[pairs["row"].to_numpy()], slots[pairs["row_other"].to_numpy()]
    names = ("subject", "start_us", "x", other)
    place, keys = dense({name: pairs[name].to_numpy() for name in names})
    products = one * two
    both = (~np.isnan(products)).sum(axis=1).astype(np.float64)
    return keys.assign(
        total=np.bincount(place, np.nansum(products, axis=1), minlength=len(keys)),
        slots=np.bincount(place, both, minlength=len(keys)),
    )


def _counted(layout: Layout, explaining: pd.DataFrame, squares: pd.DataFrame) -> pd.DataFrame:
    """What every regressor rests on: the counts of its series, else the slots it has."""
    own = squares.groupby("x")["slots"].sum().reindex(range(len(explaining))).to_numpy()
    series = layout.series
    series = series[series["metric"].isin(explaining["metric"])]
    place = pd.MultiIndex.from_frame(series[_REGRESSOR]).get_indexer(
        pd.MultiIndex.from_frame(explaining[_REGRESSOR])
    )
    group, row = ranges(layout.series_offsets, series.index.to_numpy()[place[place >= 0]])
    sums = layout.sums
    counted = {}
    for name, column in (("samples", "observations"), ("buckets", "buckets")):
        values = own.copy()
        values[place >= 0] = np.bincount(
            group, sums[column].to_numpy()[row], minlength=int((place >= 0).sum())
        )
        counted[name] = values
    return explaining.assign(**counted)


def _totals(layout: Layout, relation: Relation, taken: set[int]) -> Products | None:
    """Products of block totals, of subjects whose products by bucket did not come."""
    (x_metric,) = relation.figures
    y_metric = relation.explained
    if not any(len(layout.series_of(one)) for one in (y_metric, _ENGINES_OWN[y_metric])):
        return None
    tried = set(taken)
    parts = []
    for x_one, y_one in (
        (x_metric, y_metric),
        (_ENGINES_OWN.get(x_metric, x_metric), _ENGINES_OWN[y_metric]),
    ):
        x = _plain(layout, x_one, tried)
        y = _plain(layout, y_one, tried)
        x, y = x[x["subject"].isin(y["subject"])], y[y["subject"].isin(x["subject"])]
        tried |= set(x["subject"])
        parts.append((x.assign(metric=CODES[x_metric.label]), y))
    x, y = (pd.concat([part[side] for part in parts], ignore_index=True) for side in (0, 1))
    if x.empty:
        return None
    number, explaining = dense({name: x[name].to_numpy() for name in _REGRESSOR})
    y_number, explained = dense({name: y[name].to_numpy() for name in ("subject", "stream")})
    x, y = x.assign(x=number), y.assign(y=y_number)
    block = ["subject", "start_us"]
    squares = x.merge(x.rename(columns={"x": "other_x"}), on=block, suffixes=("", "_other"))
    mixed = x.merge(y, on=block, suffixes=("", "_other"))
    counted = x.groupby("x")[["observations", "buckets"]].sum()
    return Products(
        squares=squares.assign(total=squares["total"] * squares["total_other"]),
        mixed=mixed.assign(total=mixed["total"] * mixed["total_other"]),
        explaining=explaining.assign(
            samples=counted["observations"].to_numpy(), buckets=counted["buckets"].to_numpy()
        ),
        explained=explained.assign(flags=BLOCK_TOTALS),
    )


def _plain(layout: Layout, metric: Metric, taken: set[int]) -> pd.DataFrame:
    """The block totals of a metric, of subjects that are not taken."""
    series = layout.series.iloc[layout.series_of(metric)]
    chosen = series[~series["subject"].isin(taken)]
    group, row = layout.rows_of(chosen.index.to_numpy())
    frame = chosen[_REGRESSOR].iloc[group].reset_index(drop=True)
    sums = layout.sums.iloc[row].reset_index(drop=True)
    return frame.join(sums[["start_us", "total", "observations", "buckets"]])


def _fitted(
    products: Products, relation: Relation, layout: Layout, bootstrap: Bootstrap
) -> list[Batch]:
    """Fits of all outputs, those with the same number of regressors together."""
    first = np.searchsorted(
        products.explaining["subject"].to_numpy(), products.explained["subject"].to_numpy()
    )
    last = np.searchsorted(
        products.explaining["subject"].to_numpy(),
        products.explained["subject"].to_numpy(),
        side="right",
    )
    batches = []
    for size in np.unique(last - first).tolist():
        chosen = np.flatnonzero(last - first == size)
        design = _design(products, chosen, first[chosen], size, layout.steps_us)
        fits = fit(design, bootstrap)
        batches += [
            _batch(products, relation, chosen, first[chosen] + place, fits, place)
            for place in range(size)
        ]
    return batches


def _design(products: Products, chosen: Whole, first: Whole, size: int, steps_us: Whole) -> Design:
    """The normal equations of the chosen outputs, which have `size` regressors each."""
    subjects = products.explained["subject"].to_numpy()[chosen]
    squares = products.squares[products.squares["subject"].isin(subjects)]
    row, blocks = dense({name: squares[name].to_numpy() for name in ("subject", "start_us")})
    base = np.zeros(len(steps_us), dtype=np.int64)
    base[subjects] = first
    i = squares["x"].to_numpy() - base[squares["subject"].to_numpy()]
    j = squares["other_x"].to_numpy() - base[squares["subject"].to_numpy()]
    gram = np.zeros((len(blocks), size, size))
    gram[row, i, j] = squares["total"].to_numpy()
    gram[row, j, i] = squares["total"].to_numpy()
    owner = blocks["subject"].to_numpy()
    offsets = np.searchsorted(owner, np.arange(len(steps_us) + 1))
    fit_of, block = ranges(offsets, subjects)
    return Design(
        groups=Groups.of(fit_of, blocks["start_us"].to_numpy()[block], steps_us[owner[block]]),
        gram=gram[block],
        moments=_moments(products.mixed, chosen, base, size, fit_of, blocks.iloc[block]),
    )


def _moments(
    mixed: pd.DataFrame, chosen: Whole, base: Whole, size: int, fit_of: Whole, blocks: pd.DataFrame
) -> np.ndarray:
    """Sums of x·y of every fit and block."""
    mine = mixed[mixed["y"].isin(chosen)]
    fit_number = np.searchsorted(chosen, mine["y"].to_numpy())
    wanted = pd.MultiIndex.from_arrays([fit_number, mine["start_us"].to_numpy()])
    known = pd.MultiIndex.from_arrays([fit_of, blocks["start_us"].to_numpy()])
    place = known.get_indexer(wanted)
    # Where no regressor was counted, the product is zero and the block is no part of the fit.
    there = place >= 0
    moments = np.zeros((len(fit_of), size))
    x = mine["x"].to_numpy() - base[mine["subject"].to_numpy()]
    moments[place[there], x[there]] = mine["total"].to_numpy()[there]
    return moments


def _batch(
    products: Products, relation: Relation, chosen: Whole, regressor: Whole, fits: Fits, place: int
) -> Batch:
    """The coefficients of one place among the regressors, for all fits."""
    outputs = products.explained.iloc[chosen]
    inputs = products.explaining.iloc[regressor]
    words = {CODES[metric.label]: pair for metric, pair in relation.figures.items()}
    factor = np.asarray([words[metric][1] for metric in inputs["metric"]])
    of_task = relation.explained is Metric.EMITTED
    remarks = zip(outputs["flags"], fits.ridged.tolist(), fits.bounded.tolist(), strict=True)
    flags = [
        " ".join(filter(None, (text, ridged and "ridge", bounded and "non-negative")))
        for text, ridged, bounded in remarks
    ]
    keys = pd.DataFrame(
        {
            "subject": outputs["subject"].to_numpy(),
            "figure": [words[metric][0] for metric in inputs["metric"]],
            # A coefficient has an output and an input; CPU time has an input only.
            "stream": (outputs if of_task else inputs)["stream"].to_numpy(),
            "input_stream": inputs["stream"].to_numpy() if of_task else NOTHING,
            "source": inputs["source"].to_numpy(),
            "samples": inputs["samples"].to_numpy(),
            "buckets": inputs["buckets"].to_numpy(),
            "flags": flags,
        }
    )
    estimates = Estimates(
        values=fits.coefficients[:, place] * factor,
        errors=fits.errors[:, place] * factor,
        blocks=fits.blocks,
        resampled=fits.resampled,
        replicas=fits.replicas[:, place] * factor[fits.resampled][:, None],
    )
    return Batch.of(keys, estimates)
