"""What an outlook says: when a plan will not keep up, how likely, who is full, and what to do."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from streamgauge.drawing.charts import Band, Series, draw_line_chart
from streamgauge.drawing.text_picture import draw_sparkline
from streamgauge.drawing.wording import (
    count,
    format_duration,
    format_estimate,
    format_number,
    format_period,
    format_share,
)
from streamgauge.models.outlook import PROBABILITIES
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
from streamgauge.reports.report import Report, describe_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from streamgauge.models.load_curve import LoadCurve
    from streamgauge.models.outlook import Capability, LeadTime, OutlookWish, Risks
    from streamgauge.topology.physical_plan import PhysicalPlan
    from streamgauge.traffic.forecast import Forecast

# Below this probability trouble is not worth a word.
UNLIKELY = 0.05
# Steps that a table shows beside those of trouble.
SHOWN_STEPS = 12
HOUR_SECONDS, DAY_SECONDS = 3600.0, 86_400.0
MOST_PAST_DAYS = 3
# Scenarios that are told of: the middle one, and one that is exceeded in one of ten cases.
MIDDLE, HIGH = 0.5, 0.9
GUIDE = "How probabilities come about, and what they do not contain: docs/outlook.md."


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlookReport(Report):
    """A plan under what is forecast.

    Attributes:
        name: What the plan is called.
        plan: Where its executors run.
        history: What the forecast was made from.
        profile: Which profile it rests on.
        wish: What was asked for.
        forecast: Of all sources together.
        curves: The plan under many loads, for some proportions of its sources.
        capabilities: What it can do by these.
        which: Which of them holds at each step.
        risks: How likely trouble is at each step.
        lead: How long it takes to act.
        cautions: What a reader must not overlook.
        warnings: What was assumed or repaired.
    """

    name: str
    plan: PhysicalPlan
    history: str
    profile: str
    wish: OutlookWish
    forecast: Forecast
    curves: tuple[LoadCurve, ...]
    capabilities: tuple[Capability, ...]
    which: NDArray[np.int64]
    risks: Risks
    lead: LeadTime
    cautions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The job's name."""
        return f"Outlook of {self.plan.logical.topology.name}"

    @property
    def about(self) -> str:
        """Plan, history and horizon in one line."""
        return (
            f"{self.plan.logical.topology.name}: {describe_size(self.plan)}, history of"
            f" {self.history}, {format_period(self.wish.horizon_seconds)} ahead"
        )

    @property
    def chance(self) -> float:
        """How likely trouble is at the worst step."""
        return float(self.risks.trouble.max())

    @property
    def worst(self) -> int:
        """The step at which trouble is most likely."""
        return int(self.risks.trouble.argmax())

    @property
    def onset(self) -> int | None:
        """The first step at which trouble is expected; None where it is not."""
        found = np.flatnonzero(self.risks.trouble >= self.wish.chance)
        return int(found[0]) if len(found) else None

    @property
    def seconds_until(self) -> float:
        """From the end of the history until trouble is expected; infinite where it is not."""
        return math.inf if self.onset is None else self.onset * self.forecast.series.step_seconds

    @property
    def is_in_time(self) -> bool:
        """Whether there is time to act."""
        return self.seconds_until > self.lead.seconds

    @property
    def full(self) -> str:
        """What is full first at the worst step."""
        return self.curves[int(self.which[self.worst])].full

    @property
    def verdict(self) -> Verdict:
        """Whether the plan keeps up, when not, and who is then full."""
        if self.onset is not None:
            return self._tell_trouble(self.onset)
        if self.chance >= UNLIKELY:
            return Verdict(
                grade=Grade.WARNING,
                word="May not keep up",
                sentence=f": {format_share(self.chance)} likely to {self._name_trouble(self.worst)}"
                f" at {_show_time(self.forecast.times[self.worst])}; {self._say_who()}"
                f" {self._say_highest()}",
                cautions=self.cautions,
            )
        grade = Grade.WARNING if self.cautions else Grade.FINE
        return Verdict(
            grade=grade,
            word="Keeps up",
            sentence=f". {self._say_highest()}",
            cautions=self.cautions,
        )

    @property
    def headline(self) -> Sequence[Term]:
        """How likely trouble is, and when."""
        terms = [Term("trouble at the worst time", format_share(self.chance))]
        if self.onset is not None:
            until = format_period(self.seconds_until) if self.onset else "now"
            terms.append(Term("expected in" if self.onset else "expected", until))
        terms.append(Term("saturates at", self._show_saturation(self.worst)))
        terms.append(Term("time to act takes", format_period(self.lead.seconds)))
        return terms

    @property
    def summary(self) -> Sequence[str]:
        """The answer in a few lines, for those who tell of many things."""
        return [
            f"Saturates at {self._show_saturation(self.worst)}; {self._say_who()}",
            str(self.verdict),
            *self._tell_backlog()[:1],
        ]

    def sections(self) -> Sequence[Section]:
        """A picture, steps, backlog, time to act, and how it was made."""
        return [
            Section(
                "outlook",
                "Load and what the plan can take",
                [self._draw(), self._tabulate_steps()],
            ),
            Section(
                "chances",
                "How likely",
                [ChartRow(charts=[self._draw_chances(), self._draw_backlog()])],
            ),
            Section("backlog", "What piles up", [Text(self._tell_backlog())]),
            Section("acting", "Is there time to act?", [Text([self._tell_lead()])]),
            Section("made", "How this was made", self._made()),
        ]

    def document(self) -> Mapping[str, Any]:
        """Every step with what is forecast, what the plan can take, and how likely trouble is."""
        return {"outlook": self.write()}

    def write(self) -> dict[str, Any]:
        """The document's body, which those of many topologies list."""
        onset = self.onset
        return {
            "topology": self.plan.logical.topology.name,
            "plan": self.name,
            "profile": self.profile,
            "history": self.history,
            "verdict": str(self.verdict),
            "grade": str(self.verdict.grade),
            "horizon_seconds": self.wish.horizon_seconds,
            "objective": None if self.wish.objective is None else self.wish.objective.text,
            "probability": self.chance,
            "worst_at": self.forecast.times[self.worst].isoformat(),
            "expected_at": None if onset is None else self.forecast.times[onset].isoformat(),
            "seconds_until": self.seconds_until,
            "full": self.full or None,
            "lead": {
                "modelling_seconds": self.lead.modelling_seconds,
                "rescaling_seconds": self.lead.rescaling_seconds,
                "origin": self.lead.origin,
                "in_time": self.is_in_time,
            },
            "step_seconds": self.forecast.series.step_seconds,
            "steps": list(self._write_steps()),
            "cautions": list(self.cautions),
        }

    def figures(self) -> Iterator[FigureRow]:
        """A row for each step and figure."""
        for row in self._write_steps():
            time = row.pop("time")
            for figure, value in row.items():
                number = math.nan if value is None else value
                yield FigureRow(subject="outlook", name=time, figure=figure, value=number)

    def loads(self, probability: float) -> NDArray[np.float64]:
        """A quantile of what is forecast."""
        return self.forecast.quantile(probability)

    @property
    def limits(self) -> NDArray[np.float64]:
        """The highest rate that is processed, by step."""
        return np.asarray([self.capabilities[one].saturation for one in self.which])

    def backlog(self, probability: float) -> NDArray[np.float64]:
        """What waits at the end of each step, where the load keeps to a quantile."""
        place = int(np.argmin(np.abs(np.asarray(PROBABILITIES) - probability)))
        return self.risks.backlog[:, place]

    def _write_steps(self) -> Iterator[dict[str, Any]]:
        for at, time in enumerate(self.forecast.times):
            yield {
                "time": time.isoformat(),
                "expected_per_second": float(self.forecast.middle[at]),
                "p5_per_second": float(self.loads(0.05)[at]),
                "p95_per_second": float(self.loads(0.95)[at]),
                "saturation_per_second": float(self.limits[at]),
                "probability_saturates": float(self.risks.saturates[at]),
                "probability_misses": float(self.risks.misses[at])
                if self.wish.objective is not None
                else None,
                "backlog": float(self.backlog(MIDDLE)[at]),
                "backlog_p90": float(self.backlog(HIGH)[at]),
            }

    def _name_trouble(self, step: int) -> str:
        """What is more than likely at a step: saturation, or a missed objective."""
        objective = self.wish.objective
        chance = min(self.wish.chance, float(self.risks.trouble[step]))
        if objective is None or self.risks.saturates[step] >= chance:
            return "saturate"
        return f"miss {objective.text}"

    def _tell_trouble(self, onset: int) -> Verdict:
        what = self._name_trouble(onset).capitalize().replace("Saturate", "Saturates")
        what = what.replace("Miss ", "Misses ")
        chance = format_share(float(self.risks.trouble[onset]))
        soon = f"in {format_period(self.seconds_until)}" if onset else "now"
        when = f" at {_show_time(self.forecast.times[onset])} ({soon}), {chance} likely"
        if self.worst != onset:
            worst = _show_time(self.forecast.times[self.worst])
            when += f", at {worst} {format_share(self.chance)}"
        takes = format_period(self.lead.seconds)
        acting = f"There is time to act, which takes {takes}."
        if not self.is_in_time:
            acting = f"Too late to act before that, which takes {takes}."
        return Verdict(
            grade=Grade.BAD,
            word=what,
            sentence=f"{when}; {self._say_who()} {self._say_highest()} {acting}",
            cautions=self.cautions,
        )

    def _say_who(self) -> str:
        return f"{self.full} is full first." if self.full else "nothing that was measured is full."

    def _say_highest(self) -> str:
        """The most that is expected, against what fits."""
        middle = self.forecast.middle
        at = int(np.argmax(middle / self.limits))
        most, limit = float(middle[at]), float(self.limits[at])
        when = _show_time(self.forecast.times[at])
        if math.isinf(limit):
            most_of_all = f"At most {format_estimate(most)} tuples/s are expected ({when})"
            return f"{most_of_all}; nothing that was measured limits the rate."
        return (
            f"At most {format_estimate(most)} tuples/s are expected ({when}),"
            f" {format_share(most / limit)} of the {format_estimate(limit)} that it can process."
        )

    def _show_saturation(self, step: int) -> str:
        limit = float(self.limits[step])
        if math.isinf(limit):
            return "no limit"
        reach = self.capabilities[int(self.which[step])].saturation_reach
        if not reach:
            return f"{format_estimate(limit)} tuples/s"
        low, high = (format_estimate(limit * math.exp(side * reach)) for side in (-1.0, 1.0))
        return f"{format_estimate(limit)} tuples/s ({low} to {high})"

    def _tabulate_steps(self) -> Table:
        rows = [self._describe_step(at) for at in self._choose_steps()]
        steps = len(self.forecast.middle)
        note = "" if len(rows) == steps else f"{len(rows)} of {steps} steps; --json has all. "
        return tabulate(
            "What is expected, and how likely trouble is",
            rows,
            note=f"{note}Waiting: tuples at the end of the step, as expected, and where the load"
            " stays at its 90th percentile.",
        )

    def _choose_steps(self) -> list[int]:
        steps = len(self.forecast.middle)
        every = math.ceil(steps / SHOWN_STEPS)
        shown = {*range(every - 1, steps, every), self.worst}
        if self.onset is not None:
            shown.add(self.onset)
        return sorted(shown)

    def _describe_step(self, at: int) -> Row:
        limit = float(self.limits[at])
        row: Row = {
            Column("time", "UTC"): _show_time(self.forecast.times[at]),
            Column("expected", "/s"): format_number(float(self.forecast.middle[at])),
            Column("p5", page_only=True): format_number(float(self.loads(0.05)[at])),
            Column("p95"): format_number(float(self.loads(0.95)[at])),
            Column("fits", "/s"): "no limit" if math.isinf(limit) else format_estimate(limit),
            Column("saturates"): format_share(float(self.risks.saturates[at])),
        }
        objective = self.wish.objective
        if objective is not None:
            capability = self.capabilities[int(self.which[at])]
            latency = float(capability.latency_at(self.forecast.middle[at : at + 1])[0])
            if self.backlog(MIDDLE)[at] >= 1.0:
                latency = math.inf
            row = {
                **row,
                Column(objective.figure): format_duration(latency),
                Column(f"misses {objective.text}"): format_share(float(self.risks.misses[at])),
            }
        waiting, high = (float(self.backlog(one)[at]) for one in (MIDDLE, HIGH))
        return {
            **row,
            Column("waiting"): _show_tuples(waiting),
            Column("p90 of it"): _show_tuples(high),
        }

    def _tell_backlog(self) -> list[str]:
        told = []
        for level, words in ((MIDDLE, "As expected"), (HIGH, "At the 90th percentile of the load")):
            waiting = self.backlog(level)
            if waiting.max() < 1.0:
                continue
            peak = int(waiting.argmax())
            begin = int(np.flatnonzero(waiting >= 1.0)[0])
            gone = np.flatnonzero(waiting[peak:] < 1.0)
            end = (
                f"gone by {_show_time(self.forecast.times[peak + int(gone[0])])}"
                if len(gone)
                else "not gone within the horizon"
            )
            told.append(
                f"{words} tuples pile up from {_show_time(self.forecast.times[begin])}, up to"
                f" {_show_tuples(float(waiting[peak]))} at"
                f" {_show_time(self.forecast.times[peak])}; {end}."
            )
        return told

    def _tell_lead(self) -> str:
        lead = self.lead
        takes = (
            f"Finding a plan takes {format_period(lead.modelling_seconds)} and rescaling"
            f" {format_period(lead.rescaling_seconds)} ({lead.origin})"
        )
        if self.onset is None:
            return f"{takes}; nothing has to be done by what is expected."
        if self.is_in_time:
            spare = format_period(self.seconds_until - lead.seconds)
            return f"{takes}; act within {spare}."
        until = f"in {format_period(self.seconds_until)}" if self.onset else "now"
        return f"{takes}; trouble is expected before that, {until}."

    def _draw(self) -> Chart:
        return Chart(
            title="Load",
            draw=partial(draw_loads, self),
            caption="What came, what is expected with its 90 % band, and the highest rate that the"
            " plan can process.",
            wide=False,
            draw_text=partial(_draw_text, self),
        )

    def _draw_chances(self) -> Chart:
        return Chart(title="Probability of trouble", draw=partial(_draw_chances, self))

    def _draw_backlog(self) -> Chart:
        return Chart(title="Tuples that wait", draw=partial(_draw_backlog, self))

    def _made(self) -> list[Terms | Text]:
        series = self.forecast.series
        terms = [
            Term("plan", self.name),
            Term("profile", self.profile),
            Term("history", f"{self.history}, until {_show_time(series.end)} UTC"),
            Term("step", format_period(series.step_seconds)),
            Term("trouble is expected from", format_share(self.wish.chance)),
            Term("proportions of sources", count(len(self.curves), "case")),
        ]
        return [Terms(terms), Text([GUIDE], page_only=True)]


def _show_time(time: datetime) -> str:
    return time.strftime("%m-%d %H:%M")


def _show_tuples(tuples: float) -> str | None:
    """``12,300 tuples``; nothing where hardly any wait."""
    return None if tuples < 1.0 else format_estimate(tuples)


def _past(report: OutlookReport) -> NDArray[np.float64]:
    """So much of the history as pictures show."""
    series, ahead = report.forecast.series, len(report.forecast.middle)
    day = int(DAY_SECONDS / series.step_seconds)
    most = min(max(2 * ahead, day), max(MOST_PAST_DAYS * day, ahead))
    return series.values[-most:]


def draw_loads(report: OutlookReport, *, embedded: bool = False) -> str:
    """The history, what is expected with its band, and the highest rate that is processed."""
    forecast = report.forecast
    past = _past(report).tolist()
    gap, blank = [math.nan] * len(past), [math.nan] * len(forecast.middle)
    step_hours = forecast.series.step_seconds / HOUR_SECONDS
    hours = [step_hours * at for at in range(len(past) + len(blank))]
    limits = [one if math.isfinite(one) else math.nan for one in report.limits.tolist()]
    lines = [
        Series(name="measured", values=[*past, *blank]),
        Series(name="expected", values=[*gap, *forecast.middle.tolist()]),
    ]
    if not all(map(math.isnan, limits)):
        lines.append(Series(name="saturates", values=[limits[0]] * len(past) + limits))
    marks = []
    if report.onset is not None:
        marks = [("trouble", hours[len(past) + report.onset])]
    band = Band(
        name="90 %",
        low=[*gap, *report.loads(0.05).tolist()],
        high=[*gap, *report.loads(0.95).tolist()],
    )
    start = forecast.series.time_of(len(forecast.series.values) - len(past))
    return draw_line_chart(
        hours,
        lines,
        title=f"{report.plan.logical.topology.name}: tuples per second of all sources",
        x_title=f"hours since {_show_time(start)} UTC",
        bands=[band],
        marks=marks,
        embedded=embedded,
    )


def _draw_chances(report: OutlookReport, *, embedded: bool = False) -> str:
    lines = [Series(name="saturates", values=(100.0 * report.risks.saturates).tolist())]
    if report.wish.objective is not None:
        name = f"misses {report.wish.objective.text}"
        lines.append(Series(name=name, values=(100.0 * report.risks.misses).tolist()))
    return _draw_ahead(report, lines, "probability, per cent", embedded=embedded)


def _draw_backlog(report: OutlookReport, *, embedded: bool = False) -> str:
    lines = [
        Series(name="as expected", values=report.backlog(MIDDLE).tolist()),
        Series(name="load at p90", values=report.backlog(HIGH).tolist()),
    ]
    return _draw_ahead(report, lines, "tuples that wait at the sources", embedded=embedded)


def _draw_ahead(
    report: OutlookReport, lines: Sequence[Series], title: str, *, embedded: bool
) -> str:
    step_hours = report.forecast.series.step_seconds / HOUR_SECONDS
    return draw_line_chart(
        [step_hours * at for at in range(len(report.forecast.middle))],
        lines,
        title=title,
        x_title=f"hours since {_show_time(report.forecast.times[0])} UTC",
        embedded=embedded,
    )


def _draw_text(report: OutlookReport, width: int) -> str:
    """Past and future as bars, and below them how likely trouble is."""
    past = [value if math.isfinite(value) else None for value in _past(report).tolist()]
    middle = report.forecast.middle.tolist()
    step = math.ceil((len(past) + len(middle)) / max(width - 14, 20))
    # Columns do not straddle the present.
    past = past[len(past) % step :]
    bars = draw_sparkline([*past, *middle], max(width - 14, 20)) if step == 1 else ""
    if step > 1:
        values = [_mean(past[at : at + step]) for at in range(0, len(past), step)]
        values += [_mean(middle[at : at + step]) for at in range(0, len(middle), step)]
        bars = draw_sparkline(values, len(values))
    before = math.ceil(len(past) / step)
    trouble = report.risks.trouble
    signs = [
        _sign(float(trouble[at : at + step].max()), report.wish.chance)
        for at in range(0, len(trouble), step)
    ]
    return (
        f" {bars}\n {' ' * before}{''.join(signs)}\n"
        f" {' ' * before}└ from here expected; ! trouble expected, ? possible, · unlikely"
    )


def _sign(chance: float, expected: float) -> str:
    if chance >= expected:
        return "!"
    return "?" if chance >= UNLIKELY else "·"


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
