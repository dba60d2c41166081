"""What the outlooks of a fleet say: who is in trouble, the worst first, one line each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from streamgauge.drawing.wording import (
    count,
    format_estimate,
    format_period,
    format_share,
    list_names,
)
from streamgauge.reports.content import (
    Chart,
    ChartRow,
    Column,
    FigureRow,
    Grade,
    Row,
    Section,
    Table,
    Verdict,
    tabulate,
)
from streamgauge.reports.outlook import UNLIKELY, OutlookReport, draw_loads
from streamgauge.reports.report import Report, list_figures

if TYPE_CHECKING:
    from streamgauge.models.outlook import OutlookWish

# So many topologies have a picture each, the worst first.
MOST_CHARTS = 6


class FleetFailure(NamedTuple):
    """A topology without an outlook, and why."""

    topology: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetReport(Report):
    """All topologies of a lake.

    Attributes:
        lake: Where they were measured.
        wish: What was asked for.
        outlooks: By topology.
        failures: Topologies without an outlook.
    """

    lake: str
    wish: OutlookWish
    outlooks: Mapping[str, OutlookReport]
    failures: tuple[FleetFailure, ...] = ()

    @property
    def title(self) -> str:
        """What the report is about."""
        return "Outlook of a fleet"

    @property
    def about(self) -> str:
        """Where, and how far ahead."""
        size = count(len(self.outlooks) + len(self.failures), "job")
        return f"{self.lake}: {size}, {format_period(self.wish.horizon_seconds)} ahead"

    @property
    def ranked(self) -> list[tuple[str, OutlookReport]]:
        """Those first that are in trouble soonest, then by probability."""
        return sorted(
            self.outlooks.items(), key=lambda one: (one[1].seconds_until, -one[1].chance, one[0])
        )

    @property
    def verdict(self) -> Verdict:
        """How many are in trouble."""
        troubled = [name for name, one in self.ranked if one.onset is not None]
        possible = [
            name for name, one in self.ranked if one.onset is None and one.chance >= UNLIKELY
        ]
        without = (
            f" {count(len(self.failures), 'job')} without an outlook." if self.failures else ""
        )
        maybe = f" Possible for {list_names(possible)}." if possible else ""
        if troubled:
            return Verdict(
                grade=Grade.BAD,
                word="Trouble",
                sentence=f" is expected for {list_names(troubled)}.{maybe}{without}",
            )
        grade = Grade.WARNING if possible or self.failures else Grade.FINE
        fine = count(len(self.outlooks) - len(possible), "job")
        return Verdict(grade=grade, word="No trouble", sentence=f" for {fine}.{maybe}{without}")

    @property
    def warnings(self) -> Sequence[str]:
        """Topologies without an outlook."""
        return [f"no outlook of {one.topology}: {one.reason}" for one in self.failures]

    def sections(self) -> Sequence[Section]:
        """A line for each topology, and pictures of the worst."""
        charts = [
            Chart(title=name, draw=partial(draw_loads, one), caption=str(one.verdict))
            for name, one in self.ranked[:MOST_CHARTS]
        ]
        return [
            Section("fleet", "Jobs, those in trouble first", [self._tabulate()]),
            Section("failures", "Without an outlook", [self._tabulate_failures()]),
            Section("pictures", "Pictures", [ChartRow(charts=charts)]),
        ]

    def document(self) -> Mapping[str, Any]:
        """All outlooks, those in trouble first."""
        return {
            "fleet": {
                "lake": self.lake,
                "verdict": str(self.verdict),
                "horizon_seconds": self.wish.horizon_seconds,
                "outlooks": [one.write() for _, one in self.ranked],
                "failures": [one._asdict() for one in self.failures],
            }
        }

    def figures(self) -> Iterator[FigureRow]:
        """The few figures of each topology."""
        for name, one in self.ranked:
            figures = {
                "probability": one.chance,
                "seconds_until": one.seconds_until,
                "saturation_per_second": float(one.limits[one.worst]),
                "highest_per_second": float(one.forecast.middle.max()),
            }
            yield from list_figures("topology", name, figures)

    def _tabulate(self) -> Table:
        return tabulate(
            "",
            [_describe(name, one) for name, one in self.ranked],
            note="Trouble: probability that a plan is full or misses its objective, at its worst"
            " time. Highest: the most that is expected.",
        )

    def _tabulate_failures(self) -> Table:
        rows: list[Row] = [
            {Column("job"): one.topology, Column("why", words=True): one.reason}
            for one in self.failures
        ]
        return tabulate("", rows)


def _show_until(seconds: float) -> str | None:
    if math.isinf(seconds):
        return None
    return format_period(seconds) if seconds else "now"


def _describe(name: str, one: OutlookReport) -> Row:
    limit = float(one.limits[one.worst])
    acting = None
    if one.onset is not None:
        acting = "yes" if one.is_in_time else "no"
    return {
        Column("job"): name,
        Column("trouble"): format_share(one.chance),
        Column("expected in"): _show_until(one.seconds_until),
        Column("time to act"): acting,
        Column("highest", "/s"): format_estimate(float(one.forecast.middle.max())),
        Column("fits", "/s"): "no limit" if math.isinf(limit) else format_estimate(limit),
        Column("full first", words=True): one.full or None,
    }
