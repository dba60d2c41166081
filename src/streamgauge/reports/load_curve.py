"""What a load curve says: up to which rate a plan keeps up, and how latency and CPU grow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from streamgauge.drawing.charts import Band, Series, draw_line_chart
from streamgauge.drawing.text_picture import draw_sparkline
from streamgauge.drawing.wording import (
    format_duration,
    format_emission,
    format_estimate,
    format_number,
    format_plain_duration,
    format_rate,
    format_utilisation,
)
from streamgauge.models.intervals import Interval, Intervals
from streamgauge.models.throughput import Risk
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
    Terms,
    Text,
    Verdict,
    tabulate,
)
from streamgauge.reports.intervals import PERCENT
from streamgauge.reports.latency import get_quantile
from streamgauge.reports.prediction_figures import list_prediction_figures
from streamgauge.reports.prediction_verdict import find_busiest
from streamgauge.reports.report import Report, describe_size
from streamgauge.topology.frozen import FrozenDict

if TYPE_CHECKING:
    from streamgauge.models.load_curve import LoadCurve, LoadPoint
    from streamgauge.models.prediction import Prediction
    from streamgauge.topology.physical_plan import PhysicalPlan

LATENCY = "source to sink"
LEVELS = (0.95, 0.99)
GUIDE = "How points are chosen, and what holds beyond saturation: docs/outlook.md."


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadCurveReport(Report):
    """A plan under a range of loads.

    Attributes:
        name: What the plan is called.
        plan: Where its executors run.
        curve: What was found.
        load: Where the range comes from.
        profile: Which profile it rests on.
        intervals: How sure some of the points are, by their place.
        warnings: What was assumed.
    """

    name: str
    plan: PhysicalPlan
    curve: LoadCurve
    load: str
    profile: str = ""
    intervals: Mapping[int, Intervals] = field(default_factory=FrozenDict)
    warnings: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The job's name."""
        return f"{self.plan.logical.topology.name} under many loads"

    @property
    def about(self) -> str:
        """Plan and range in one line."""
        return (
            f"{self.plan.logical.topology.name}: {describe_size(self.plan)},"
            f" {self._show_range()} ({self.load})"
        )

    @property
    def verdict(self) -> Verdict:
        """Up to which rate the plan keeps up."""
        curve = self.curve
        if math.isinf(curve.saturation):
            return Verdict(
                grade=Grade.FINE,
                word="Keeps up",
                sentence=": nothing that was measured limits the rate.",
            )
        highest = f"{format_estimate(curve.saturation)} tuples/s"
        full = f"; then {curve.full} is full"
        if curve.saturation >= curve.points[-1].per_second:
            sentence = f" with all of {self._show_range()}. It saturates at {highest}{full}."
            return Verdict(grade=Grade.FINE, word="Keeps up", sentence=sentence)
        last = curve.points[-1]
        sentence = (
            f" at {highest}{self._show_uncertainty()}{full}. At"
            f" {format_estimate(last.per_second)} tuples/s it processes"
            f" {format_estimate(last.throughput.processed_per_second)}."
        )
        return Verdict(grade=Grade.WARNING, word="Saturates", sentence=sentence)

    @property
    def headline(self) -> Sequence[Term]:
        """Where it saturates, and latency at both ends."""
        fitting = [one for one in self.curve.points if not one.prediction.overloaded]
        terms = [Term("saturates at", self._show_saturation())]
        if fitting:
            first, last = fitting[0], fitting[-1]
            p99 = " → ".join(format_duration(_find_p99(one.prediction)) for one in (first, last))
            terms.append(
                Term(
                    f"p99 at {format_rate(first.per_second)} → {format_rate(last.per_second)}/s",
                    p99,
                )
            )
        return terms

    def sections(self) -> Sequence[Section]:
        """The table, pictures, and how it was made."""
        return [
            Section("curve", "Loads", [self._tabulate(), self._tabulate_beyond()]),
            Section(
                "pictures",
                "Pictures",
                [ChartRow(charts=[self._draw_latency(), self._draw_rates()])],
            ),
            Section("made", "How this was made", self._made()),
        ]

    def document(self) -> Mapping[str, Any]:
        """Every point with its figures and intervals."""
        curve = self.curve
        return {
            "load_curve": {
                "plan": self.name,
                "load": self.load,
                "profile": self.profile,
                "verdict": str(self.verdict),
                "saturation_per_second": curve.saturation,
                "full": curve.full or None,
                "points": [
                    _write_point(one, self.intervals.get(place))
                    for place, one in enumerate(curve.points)
                ],
                "warnings": list(self.warnings),
            }
        }

    def figures(self) -> Iterator[FigureRow]:
        """All figures of each point, the rate before each name."""
        for place, one in enumerate(self.curve.points):
            yield from list_prediction_figures(
                one.prediction, f"{one.per_second:g}/s", self.intervals.get(place)
            )

    def _show_range(self) -> str:
        points = self.curve.points
        low, high = (format_emission(points[at].per_second) for at in (0, -1))
        return f"{low} to {high} tuples/s"

    def _show_saturation(self) -> str:
        if math.isinf(self.curve.saturation):
            return "no limit"
        return f"{format_estimate(self.curve.saturation)} tuples/s"

    def _show_uncertainty(self) -> str:
        """`` (579 to 640)``; nothing where that is not known."""
        for one in reversed(list(self.intervals.values())):
            interval = one.of("job", "", "highest_rate")
            if interval is not None:
                return f" ({format_estimate(interval.low)} to {format_estimate(interval.high)})"
        return ""

    def _tabulate(self) -> Table:
        return tabulate(
            "The plan under each load",
            [
                _describe(one, self.intervals.get(place))
                for place, one in enumerate(self.curve.points)
            ],
            note=f"Latency from source to sink since emission; from, to: {PERCENT} interval of p99."
            " Cores: kept busy by all workers. Busiest: executor, by what it would have to do.",
        )

    def _tabulate_beyond(self) -> Table:
        rows: list[Row] = [
            {
                Column("load", "tuples/s"): format_number(one.per_second),
                Column("processed", "tuples/s"): format_number(one.throughput.processed_per_second),
                Column("piles up", "tuples/s"): format_number(one.throughput.backlog_per_second),
                Column("where", words=True): ", ".join(
                    backlog.name for backlog in one.throughput.backlogs[:2]
                ),
                Column("sources", words=True): str(one.throughput.holding.value),
            }
            for one in self.curve.points
            if one.throughput.is_held_back
        ]
        return tabulate("Beyond saturation: what is really processed, and what piles up", rows)

    def _draw_latency(self) -> Chart:
        return Chart(
            title="Latency by load",
            draw=partial(_draw_latency, self.curve, self.intervals),
            caption="Latency grows without bound where the line ends.",
            draw_text=partial(_draw_text, self.curve),
        )

    def _draw_rates(self) -> Chart:
        return Chart(
            title="Processed and CPU by load",
            draw=partial(_draw_rates, self.curve),
            caption="What is processed of what comes, as parts of the highest load.",
        )

    def _made(self) -> list[Terms | Text]:
        terms = [
            Term("plan", self.name),
            Term("loads", f"{self._show_range()}, {self.load}"),
            Term("profile", self.profile),
        ]
        return [Terms([one for one in terms if one.value]), Text([GUIDE], page_only=True)]


def _find_p99(prediction: Prediction) -> float:
    return math.inf if prediction.overloaded else get_quantile(prediction.latency, 0.99)


def _interval_of_p99(intervals: Intervals | None) -> Interval | None:
    return None if intervals is None else intervals.of("latency", LATENCY, "p99")


def _describe(one: LoadPoint, intervals: Intervals | None) -> Row:
    prediction, headroom = one.prediction, one.throughput.headroom
    is_over = bool(prediction.overloaded)
    latency = prediction.latency
    interval = None if is_over else _interval_of_p99(intervals)
    busiest = max(prediction.executors, key=lambda each: each.utilisation)
    return {
        Column("load", "/s"): format_number(one.per_second),
        Column("mean"): format_duration(math.inf if is_over else latency.mean),
        Column("p95"): format_duration(math.inf if is_over else get_quantile(latency, 0.95)),
        Column("p99"): format_duration(_find_p99(prediction)),
        Column("from"): None if interval is None else format_duration(interval.low),
        Column("to"): None if interval is None else format_duration(interval.high),
        Column("cores"): format_number(one.cores),
        Column("busiest"): format_utilisation(busiest.utilisation),
        Column("which", page_only=True): busiest.name,
        Column("headroom"): "no limit" if math.isinf(headroom) else f"{format_number(headroom)}×",
        Column("verdict", words=True): _judge(one),
    }


def _judge(one: LoadPoint) -> str:
    if one.prediction.overloaded:
        return "overloaded"
    return "nearly full" if one.throughput.risk is Risk.HIGH else "fits"


def _write_point(one: LoadPoint, intervals: Intervals | None) -> dict[str, Any]:
    prediction, throughput = one.prediction, one.throughput
    interval = _interval_of_p99(intervals)
    busiest = max(prediction.executors, key=lambda each: each.utilisation)
    return {
        "per_second": one.per_second,
        "verdict": str(prediction.verdict),
        "risk": str(throughput.risk),
        "mean_seconds": math.inf if prediction.overloaded else prediction.latency.mean,
        "quantiles_seconds": {
            f"p{100 * level:g}": value for level, value in prediction.latency.quantiles.items()
        },
        "p99_interval_seconds": None if interval is None else [interval.low, interval.high],
        "overload_probability": None if intervals is None else intervals.overload,
        "cores": one.cores,
        "machines_in_use": {each.name: each.in_use for each in prediction.machines},
        "busiest": busiest.name,
        "busiest_utilisation": busiest.utilisation,
        "headroom": throughput.headroom,
        "processed_per_second": throughput.processed_per_second,
        "backlog_per_second": throughput.backlog_per_second,
        "backlogs": [
            {"name": each.name, "per_second": each.per_second} for each in throughput.backlogs
        ],
    }


def _draw_latency(
    curve: LoadCurve, intervals: Mapping[int, Intervals], *, embedded: bool = False
) -> str:
    rates = [one.per_second for one in curve.points]
    shown = [
        Series(name="mean", values=[_find_mean(one.prediction) for one in curve.points]),
        *(
            Series(
                name=f"p{100 * level:g}",
                values=[
                    math.inf
                    if one.prediction.overloaded
                    else get_quantile(one.prediction.latency, level)
                    for one in curve.points
                ],
            )
            for level in LEVELS
        ),
    ]
    ends = [_interval_of_p99(intervals.get(place)) for place in range(len(rates))]
    bands = [
        Band(
            name=f"{PERCENT} of p99",
            low=[math.nan if end is None else end.low for end in ends],
            high=[math.nan if end is None else end.high for end in ends],
        )
    ]
    return draw_line_chart(
        rates,
        shown,
        title="latency from source to sink",
        x_title="tuples per second of all sources",
        log=True,
        bands=bands if any(ends) else (),
        marks=_mark(curve),
        tick_label=format_plain_duration,
        embedded=embedded,
    )


def _find_mean(prediction: Prediction) -> float:
    return math.inf if prediction.overloaded else prediction.latency.mean


def _mark(curve: LoadCurve) -> list[tuple[str, float]]:
    if math.isinf(curve.saturation):
        return []
    return [(f"saturates at {format_estimate(curve.saturation)}", curve.saturation)]


def _draw_rates(curve: LoadCurve, *, embedded: bool = False) -> str:
    rates = [one.per_second for one in curve.points]
    cores = [one.cores for one in curve.points]
    most = max(cores) or 1.0
    return draw_line_chart(
        rates,
        [
            Series(
                name="processed",
                values=[one.throughput.processed_per_second / rates[-1] for one in curve.points],
            ),
            Series(name=f"CPU, of {format_number(most)} cores", values=[c / most for c in cores]),
            Series(
                name="busiest executor",
                values=[min(find_busiest(one.prediction), 1.0) for one in curve.points],
            ),
        ],
        title="parts of the highest",
        x_title="tuples per second of all sources",
        marks=_mark(curve),
        embedded=embedded,
    )


def _draw_text(curve: LoadCurve, width: int) -> str:
    """Logarithms of p99 over even loads, and where the plan is overloaded."""
    first, last = curve.points[0].per_second, curve.points[-1].per_second
    columns = min(max(width - 30, 20), 60)
    values: list[float | None] = []
    for at in range(columns):
        rate = first + (last - first) * at / (columns - 1)
        near = min(curve.points, key=lambda one: abs(one.per_second - rate))
        p99 = _find_p99(near.prediction)
        values.append(math.log(p99) if rate < curve.saturation and 0.0 < p99 < math.inf else None)
    bars = "".join(
        bar if value is not None else "×"
        for bar, value in zip(draw_sparkline(values, columns), values, strict=True)
    )
    over = "  × overloaded" if "×" in bars else ""
    ends = f"{format_rate(first)}/s", f"{format_rate(last)}/s"
    blank = " " * max(columns - sum(map(len, ends)), 1)
    return f" p99 {bars}{over}\n     {ends[0]}{blank}{ends[1]}"
