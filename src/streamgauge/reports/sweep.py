"""What a sweep found: the best plan, the front of cost, latency and throughput, and pictures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.drawing.charts import Series, draw_line_chart
from streamgauge.drawing.wording import (
    MISSING,
    count,
    format_bytes_rate,
    format_duration,
    format_estimate,
    format_number,
    format_plain_duration,
    format_plain_number,
    format_rate,
    format_share,
    format_utilisation,
)
from streamgauge.errors import InvalidInput
from streamgauge.models.dealt_plans import DealtPlan
from streamgauge.planning.sweeping.choice import (
    Columns,
    Condition,
    find_feasible,
    find_front,
    order_by,
)
from streamgauge.planning.sweeping.evaluation import FIGURES
from streamgauge.planning.sweeping.sweep import Sweep
from streamgauge.reports.content import (
    Chart,
    ChartRow,
    Column,
    FigureRow,
    Grade,
    Row,
    Section,
    Table,
    Term,
    Text,
    Verdict,
    tabulate,
)
from streamgauge.reports.cost import FULL
from streamgauge.reports.report import Report, list_figures

if TYPE_CHECKING:
    import pyarrow as pa

# As many lines as a chart can tell apart.
LINES = 6
MOST_BEST, MOST_FRONT, MOST_ERRORS = 10, 20, 5
LATENCIES = ("p99", "mean", "floor")
SECONDS = ("mean", "p50", "p99", "floor")
# How figures are written; others as plain numbers.
SHOWN: Mapping[str, Callable[[float], str]] = {
    **dict.fromkeys(SECONDS, format_duration),
    **dict.fromkeys(("saturation", "busy"), format_utilisation),
    **dict.fromkeys(("local", "node", "remote"), format_share),
    **dict.fromkeys(
        ("remote_bytes", "card_bytes", "bandwidth", "management_bytes"), format_bytes_rate
    ),
    "limit": format_rate,
    "cost": format_estimate,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport(Report):
    """The results of a sweep.

    Attributes:
        rows: A row for each case, as a pyarrow table.
        columns: The same as arrays.
        by: The figure that decides.
        feasible: How many cases carry their load and meet the conditions.
        ranked: Places of those at the highest rate that any plan carries, the best first; at all
            rates that the conditions name, where they name one.
        front: Places on the Pareto fronts of cost, latency and highest rate, one for each model,
            replica and rate.
        folder: Where the results are kept; empty where they are not.
    """

    sweep: Sweep
    rows: pa.Table
    columns: Columns
    by: str
    conditions: tuple[Condition, ...]
    feasible: int
    ranked: NDArray[np.intp]
    front: NDArray[np.intp]
    latency: str
    folder: str = ""

    @classmethod
    def of(
        cls,
        sweep: Sweep,
        rows: pa.Table,
        *,
        best: str | None,
        conditions: tuple[Condition, ...],
        folder: str = "",
    ) -> SweepReport:
        """Choose among results.

        Raises:
            InvalidInput: No model of the sweep gives the figure that is to decide.
        """
        names = ("model", "replica", "nodes", "workers", "rate", "fits", "full", "error", *FIGURES)
        columns = {name: rows[name].to_numpy(zero_copy_only=False) for name in names}
        known = [name for name in FIGURES if not np.isnan(columns[name]).all()]
        latency = next((name for name in LATENCIES if name in known), "floor")
        by = best or (latency if latency != "floor" else "cost")
        if by not in known and known != ["cost"]:
            raise InvalidInput.single(
                ("--best",),
                seen=f"{by!r}, which {', '.join(sweep.models)} does not give",
                expected=f"one of {', '.join(known)}",
                remedy="add a model that predicts it to `models`",
            )
        feasible = find_feasible(columns, conditions)
        at_rate = feasible
        if feasible.any() and not any(one.figure == "rate" for one in conditions):
            # Lower rates have lower latencies: plans are compared at the highest that any carries.
            at_rate = feasible & (columns["rate"] == columns["rate"][feasible].max())
        ranked = order_by(columns, by, at_rate)
        return cls(
            sweep=sweep,
            rows=rows,
            columns=columns,
            by=by,
            conditions=conditions,
            feasible=int(feasible.sum()),
            ranked=ranked,
            front=_find_fronts(columns, order_by(columns, latency, feasible), latency),
            latency=latency,
            folder=folder,
        )

    def name_plan(self, place: int) -> str:
        """``<2,4,4,2>``."""
        executors = tuple(self.rows["executors"][int(place)].as_py())
        nodes, workers = self.columns["nodes"][place], self.columns["workers"][place]
        return str(DealtPlan(int(nodes), executors, int(workers)))

    @property
    def title(self) -> str:
        """The sweep's name."""
        return f"{self.sweep.name}, swept"

    @property
    def about(self) -> str:
        """What was evaluated."""
        sweep = self.sweep
        parts = [
            count(len(sweep.plans), "plan"),
            count(len(sweep.rates), "rate"),
            *([f"models {', '.join(sweep.models)}"] if len(sweep.models) > 1 else sweep.models),
            *([count(len(sweep.behaviours), "replica")] if len(sweep.behaviours) > 1 else []),
        ]
        return f"{sweep.name} ({sweep.job.topology.name}): {' × '.join(parts)}"

    @property
    def verdict(self) -> Verdict:
        """The best case, or that there is none."""
        asked = " and ".join(["fits", *map(str, self.conditions)])
        if not len(self.ranked):
            return Verdict(
                grade=Grade.BAD,
                word="No plan",
                sentence=f" of {len(self.rows):,} cases meets: {asked}.{self._say_nearest()}",
            )
        place = int(self.ranked[0])
        columns = self.columns
        crowded = columns["threads"][place] > self.sweep.node.cores
        return Verdict(
            grade=Grade.FINE,
            word=self.name_plan(place),
            sentence=f" at {format_rate(columns['rate'][place])} tuples/s is the best by {self.by}:"
            f" {_show(self.by, columns[self.by][place])}; {self.feasible:,} of"
            f" {len(self.rows):,} cases meet: {asked}.",
            cautions=(
                "More threads than cores on a node: what the cost model says of it is doubtful.",
            )
            if crowded
            else (),
        )

    def _say_nearest(self) -> str:
        """What comes nearest to carrying its load, where nothing does."""
        unknown = [
            one.figure
            for one in self.conditions
            if np.isnan(np.asarray(self.columns[one.figure], dtype=np.float64)).all()
        ]
        if unknown:
            models = ", ".join(dict.fromkeys(map(str, self.columns["model"])))
            return f" Of {' and '.join(unknown)} {models} says nothing: ask another model."
        fits = np.asarray(self.columns["fits"], dtype=np.bool_)
        saturation = self.columns["saturation"]
        if fits.any() or np.isnan(saturation).all():
            several = f" {int(fits.sum()):,} carry their load." if fits.any() else ""
            return f"{several} Relax the conditions." if several else ""
        place = int(np.nanargmin(saturation))
        part, full = format_share(1.0 / float(saturation[place])), str(self.columns["full"][place])
        return (
            f" Nearest is {self.name_plan(place)} at {format_rate(self.columns['rate'][place])}"
            f" tuples/s, of which it carries {part}; then"
            f" {FULL.get(full, full) or 'something'} is full."
        )

    @property
    def headline(self) -> Sequence[Term]:
        """The best case's figures."""
        if not len(self.ranked):
            return []
        place = int(self.ranked[0])
        shown = dict.fromkeys([self.by, "cost", self.latency, "limit"])
        return [Term(name, _show(name, self.columns[name][place])) for name in shown]

    @property
    def warnings(self) -> Sequence[str]:
        """Cases that could not be evaluated, by why."""
        errors = Counter(str(one) for one in self.columns["error"] if one is not None)
        return [
            f"{count(times, 'case')} not evaluated: {error}"
            for error, times in errors.most_common(MOST_ERRORS)
        ]

    def sections(self) -> Sequence[Section]:
        """The best, the front, pictures, and where results are."""
        made = [f"Results: the Delta table {self.folder}/results"] if self.folder else []
        return [
            Section(
                "best",
                "The best",
                [self._tabulate(f"The best by {self.by}", self.ranked[:MOST_BEST])],
            ),
            Section(
                "front",
                "Cost, latency and throughput",
                [
                    self._tabulate_front(),
                    ChartRow(charts=list(self._chart_front())),
                ],
            ),
            Section("pictures", "Over rate and parallelism", self._chart_rows()),
            Section("made", "How this was made", [Text(made)]),
        ]

    def _tabulate_front(self) -> Table:
        """The front at the rate of the best case."""
        at_rate = self.front
        rate = ""
        if len(self.ranked):
            best = float(self.columns["rate"][self.ranked[0]])
            at_rate = self.front[self.columns["rate"][self.front] == best]
            rate = f" at {format_rate(best)} tuples/s"
        left_out = len(at_rate) - MOST_FRONT
        return self._tabulate(
            f"Pareto front{rate}",
            at_rate[:MOST_FRONT],
            note="No other plan is as good in cost, latency and highest rate, and better in one of"
            " them. Pictures and --json have the fronts of all rates."
            + (f" {left_out} more are left out." if left_out > 0 else ""),
        )

    def _tabulate(self, caption: str, places: NDArray[np.intp], note: str = "") -> Table:
        return tabulate(caption, [self._describe(int(place)) for place in places], note=note)

    def _describe(self, place: int) -> Row:
        columns = self.columns
        several = len(self.sweep.models) > 1
        asked = [self.by] if self.by not in ("cost", self.latency, "limit", "saturation") else []
        return {
            Column("configuration"): self.name_plan(place),
            **({Column("model"): str(columns["model"][place])} if several else {}),
            Column("rate", "/s"): format_rate(columns["rate"][place]),
            **{Column(name): _show(name, columns[name][place]) for name in asked},
            Column("cost"): _show("cost", columns["cost"][place]),
            Column(self.latency): _show(self.latency, columns[self.latency][place]),
            Column("up to", "/s"): _show("limit", columns["limit"][place]),
            Column("saturation"): _show("saturation", columns["saturation"][place]),
            Column("between nodes"): _show("remote_bytes", columns["remote_bytes"][place]),
            Column("then full", words=True, page_only=True): columns["full"][place] or None,
        }

    def _chart_rows(self) -> list[ChartRow]:
        """Latency and saturation of the first plans over rate, and over parallelism by rate."""
        if not len(self.rows):
            return []
        rows = [
            [self._chart_over_rate(name) for name in (self.latency, "saturation")],
            [self._chart_over_parallelism(name) for name in (self.latency, "saturation")],
        ]
        drawn = [[one for one in row if one is not None] for row in rows]
        return [ChartRow(charts=row) for row in drawn if row]

    def _first_case(self) -> NDArray[np.bool_]:
        """Rows of one model and replica: those of the best, else the first."""
        place = int(self.ranked[0]) if len(self.ranked) else 0
        same = self.columns["model"] == self.columns["model"][place]
        return np.asarray(same & (self.columns["replica"] == self.columns["replica"][place]))

    def _chart_over_rate(self, figure: str) -> Chart | None:
        """A line for each of the best plans."""
        rates = sorted(set(self.sweep.rates))
        if len(rates) < 2:
            return None
        plans = self._plan_numbers()
        order = self.ranked if len(self.ranked) else np.arange(len(self.rows))
        chosen = list(dict.fromkeys(plans[order].tolist()))[:LINES]
        rows = self._first_case()
        lines = []
        for plan in chosen:
            places = np.flatnonzero(rows & (plans == plan))
            by_rate = dict(
                zip(self.columns["rate"][places], self.columns[figure][places], strict=True)
            )
            values = [_finite(by_rate.get(rate, math.nan)) for rate in rates]
            lines.append(Series(name=self.name_plan(int(places[0])), values=values))
        return _chart(rates, lines, figure, f"{figure} over rate", "tuples per second")

    def _chart_over_parallelism(self, figure: str) -> Chart | None:
        """A line for each of some rates: the best that any plan of so many executors reaches."""
        plans = self._plan_numbers()
        executors = self.sweep.plans.executors.sum(axis=1)[plans]
        sizes = sorted(set(executors.tolist()))
        if len(sizes) < 2:
            return None
        rates = sorted(set(self.sweep.rates))
        step = max(math.ceil(len(rates) / LINES), 1)
        rows = self._first_case()
        lines = []
        for rate in rates[::step]:
            best = np.full(len(sizes), np.inf)
            chosen = rows & (self.columns["rate"] == rate)
            place = np.searchsorted(sizes, executors[chosen])
            values = np.nan_to_num(self.columns[figure][chosen], nan=np.inf)
            np.minimum.at(best, place, values)
            lines.append(
                Series(name=f"{format_rate(rate)}/s", values=[_finite(float(one)) for one in best])
            )
        title = f"least {figure} over executors"
        return _chart([float(size) for size in sizes], lines, figure, title, "executors in all")

    def _plan_numbers(self) -> NDArray[np.int64]:
        """The plan of each row, as its place in the sweep."""
        case = self.rows["case"].to_numpy()
        return np.asarray(case % len(self.sweep.plans))

    def _chart_front(self) -> Iterator[Chart]:
        """Latency, and the highest rate, over cost: a line of dots for each of some rates."""
        columns = self.columns
        front = self.front[self._first_case()[self.front]]
        front = front[np.argsort(columns["cost"][front], kind="stable")]
        if len(front) < 2:
            return
        rates = sorted(set(columns["rate"][front].tolist()))
        chosen = rates[:: max(math.ceil(len(rates) / LINES), 1)]
        # A gap after each case: cases are dots, which no line joins.
        costs = np.repeat(columns["cost"][front], 2).tolist()
        for figure in (self.latency, "limit"):
            lines = []
            for rate in chosen:
                values = np.full(len(costs), np.nan)
                at_rate = columns["rate"][front] == rate
                values[::2] = np.where(at_rate, columns[figure][front], np.nan)
                lines.append(Series(name=f"{format_rate(rate)}/s", values=values.tolist()))
            yield _chart(costs, lines, figure, f"{figure} over cost: the front", "cost")

    def document(self) -> Mapping[str, Any]:
        """Counts, the best cases and the front."""
        return {
            "sweep": self.sweep.name,
            "cases": len(self.rows),
            "feasible": self.feasible,
            "by": self.by,
            "where": [str(one) for one in self.conditions],
            "verdict": str(self.verdict),
            "best": [self._document(int(place)) for place in self.ranked[:MOST_BEST]],
            "front": [self._document(int(place)) for place in self.front],
            "not_evaluated": sum(one is not None for one in self.columns["error"]),
            "results": f"{self.folder}/results" if self.folder else None,
        }

    def _document(self, place: int) -> dict[str, Any]:
        columns = self.columns
        return {
            "configuration": self.name_plan(place),
            "model": str(columns["model"][place]),
            "replica": int(columns["replica"][place]),
            "rate": float(columns["rate"][place]),
            "full": columns["full"][place] or None,
            **{name: float(columns[name][place]) for name in FIGURES},
        }

    def figures(self) -> Iterator[FigureRow]:
        """The figures of the cases on the front; all cases are in `rows`."""
        for place in self.front.tolist():
            name = f"{self.name_plan(place)} at {self.columns['rate'][place]:g}/s"
            values = {figure: float(self.columns[figure][place]) for figure in FIGURES}
            yield from list_figures("case", name, values)


def _find_fronts(columns: Columns, places: NDArray[np.intp], latency: str) -> NDArray[np.intp]:
    """The front among the cases of each model, replica and rate, by rate and cost."""
    keys = [columns[name][places] for name in ("model", "replica", "rate")]
    groups: dict[tuple[Any, ...], list[int]] = {}
    for place, *key in zip(places.tolist(), *keys, strict=True):
        groups.setdefault(tuple(key), []).append(place)
    kept: list[int] = []
    for named in sorted(groups):
        group = np.asarray(groups[named], dtype=np.intp)
        # Limits are found to three digits or so: smaller differences are none.
        limit = np.minimum(columns["limit"][group], np.finfo(np.float64).max)
        digits = np.asarray([float(f"{one:.2e}") for one in limit.tolist()])
        found = find_front([columns["cost"][group], columns[latency][group], -digits])
        front = group[found]
        kept += front[np.argsort(columns["cost"][front], kind="stable")].tolist()
    return np.asarray(kept, dtype=np.intp)


def _finite(value: float) -> float:
    return value if math.isfinite(value) else math.nan


def _chart(
    xs: Sequence[float], lines: Sequence[Series], figure: str, title: str, x_title: str
) -> Chart:
    in_seconds = figure in SECONDS
    shown = f"{title}, seconds" if in_seconds else title
    draw = partial(
        draw_line_chart,
        xs,
        lines,
        title=shown,
        x_title=x_title,
        log=in_seconds,
        tick_label=format_plain_duration if in_seconds else format_plain_number,
    )
    return Chart(title=title, draw=draw)


def _show(name: str, value: float) -> str:
    """A figure as one reads it."""
    if math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "no limit" if name == "limit" else "infinite"
    return SHOWN.get(name, format_number)(value)
