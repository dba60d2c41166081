"""What an experiment has measured: its finding first, then steps, figures and how it was made."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from streamgauge.drawing.bar_charts import Bar, draw_bar_chart
from streamgauge.drawing.charts import Series, draw_line_chart
from streamgauge.drawing.svg import SERIES
from streamgauge.drawing.wording import (
    MISSING,
    count,
    format_duration,
    format_measured,
    format_number,
    format_plain_duration,
    format_plain_number,
    format_share,
)
from streamgauge.experiments.figures import ALL, LEAST_FOR_TAIL, ONE_CLOCK, QUANTILES, FigureKind
from streamgauge.experiments.studies import BottleneckSearch, Fidelity, LoadSweep
from streamgauge.experiments.study_results import (
    LATENCY,
    SINCE_DUE,
    THROUGHPUT,
    Difference,
    Gain,
    Regime,
    RepetitionRegime,
    compare_with_reference,
    find_regimes,
    rank_gains,
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
    Term,
    Terms,
    Text,
    Verdict,
    tabulate,
    tabulate_groups,
)
from streamgauge.reports.report import Report

if TYPE_CHECKING:
    from streamgauge.experiments.experiment import Experiment
    from streamgauge.experiments.journal import Journal
    from streamgauge.experiments.truth import Figure, StepTruth, Truth

CORES = (FigureKind.CPU, ALL, "cores")
HELD = (FigureKind.BACK_PRESSURE, ALL, "held")
# What stands first for every step: the name, and the key of the figure.
HEADLINE = (
    ("sources emit", THROUGHPUT),
    ("latency since emission, mean", LATENCY),
    *((f"latency since emission, {name}", (FigureKind.LATENCY, ALL, name)) for name in QUANTILES),
    ("latency since due, mean", SINCE_DUE),
    *((f"latency since due, {name}", (FigureKind.SINCE_DUE, ALL, name)) for name in QUANTILES),
    ("complete latency, mean", (FigureKind.COMPLETE, ALL, "mean")),
    ("complete latency, p95", (FigureKind.COMPLETE, ALL, "p95")),
    ("CPU of all workers", CORES),
    ("executors held back", HELD),
    ("back-pressure events", (FigureKind.BACK_PRESSURE, ALL, "events")),
    ("back-pressure, seconds", (FigureKind.BACK_PRESSURE, ALL, "event_seconds")),
)
OVERVIEW = (
    (Column("sources emit", "tuples/s"), THROUGHPUT),
    (Column("since emission", "mean"), LATENCY),
    *((Column(name), (FigureKind.LATENCY, ALL, name)) for name in ("p50", "p95", "p99")),
    (Column("since due", "mean"), SINCE_DUE),
    (Column("CPU", "cores"), CORES),
    (Column("held back", "executors"), HELD),
)
KINDS = {
    FigureKind.LATENCY: "Latency from source to sink, since emission",
    FigureKind.SINCE_DUE: "Latency from source to sink, since due",
    FigureKind.PATH: "Latency on paths since emission, traced",
    FigureKind.PATH_SINCE_DUE: "Latency on paths since due, traced",
    FigureKind.COMPLETE: "Complete latency",
    FigureKind.THROUGHPUT: "Throughput",
    FigureKind.CPU: "CPU",
    FigureKind.NETWORK: "Network",
    FigureKind.BACK_PRESSURE: "Back-pressure",
    FigureKind.QUEUE: "Queues",
    FigureKind.MESSAGES: "Between workers",
    FigureKind.MEMORY: "Memory",
}
MEANING = (
    "The value of a figure is the median over windows that are not marked; spread is half of the"
    " distance between the quartiles; floor is the median error of predicting a repetition by"
    " another. How: docs/experiments.md."
)
# With a larger floor, a difference between two steps says little.
LARGE_FLOOR = 0.1
# More bars cannot be read as a picture; tables have the rest.
MOST_BARS = 30
_draw_count_bars = partial(draw_bar_chart, tick_label=format_plain_number, part_label=format_number)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentReport(Report):
    """What the repetitions of an experiment that are done come to.

    Attributes:
        is_brief: Whether a terminal shows figures of the whole job only.
    """

    journal: Journal
    truth: Truth
    is_brief: bool = False

    @property
    def title(self) -> str:
        """Experiment and engine."""
        return f"{self.truth.experiment} on {self.truth.engine}"

    @property
    def about(self) -> str:
        """How much was measured."""
        journal, steps = self.journal, self.truth.steps
        total = len(journal.done) + len(journal.left)
        text = (
            f"{self.title}: {count(len(steps), 'step')},"
            f" {len(journal.done)} of {count(total, 'repetition')},"
            f" {count(sum(step.windows for step in steps), 'window')} of"
            f" {journal.experiment.window_seconds:g} s"
        )
        return f"{text}. {journal.experiment.about}" if journal.experiment.about else text

    @property
    def verdict(self) -> Verdict:
        """What the experiment's study found, or how far its steps are apart."""
        study = read_study(self.journal.experiment, self.truth)
        return Verdict(
            grade=Grade.WARNING if self.warnings else Grade.FINE,
            word="Measured" if study is None else study.word,
            sentence=f": {self._compare_steps() if study is None else study.finding}.",
            cautions=tuple(self._judge_measuring()),
        )

    @property
    def warnings(self) -> Sequence[str]:
        """What to know of the figures: notes, marks, clocks, tails that are missing."""
        remarks = (
            [f"{count(self.truth.left, 'repetition')} not done yet"] if self.truth.left else []
        )
        for step in self.truth.steps:
            for repetition in step.repetitions:
                marks = (mark for window in repetition.windows for mark in window.marks)
                remarks += [f"{repetition.turn}: {text}" for text in (*repetition.notes, *marks)]
            remarks += _list_gaps(step)
        return tuple(dict.fromkeys(remarks))

    def sections(self) -> Sequence[Section]:
        """The study's table, steps beside each other, courses over time, all figures."""
        study = read_study(self.journal.experiment, self.truth)
        return [
            Section("study", "What it was about", [] if study is None else [study.table]),
            Section("steps", "Steps", [self._build_overview(), chart_steps(self.truth)]),
            Section("time", "How it went over time", [chart_courses(self.truth)]),
            Section("figures", "All figures", list(map(self._build_step_table, self.truth.steps))),
            Section(
                "made",
                "How this was made",
                [Terms(self._list_making()), Text([MEANING], page_only=True)],
            ),
        ]

    def document(self) -> Mapping[str, Any]:
        """What was measured, and what the study found."""
        study = read_study(self.journal.experiment, self.truth)
        verdict = self.verdict
        return {
            "truth": self.truth.to_dict(),
            "study": None if study is None else study.document,
            "verdict": [str(verdict), self.about, *verdict.cautions],
            "cautions": list(self.warnings),
        }

    def figures(self) -> Iterator[FigureRow]:
        """Every figure of every step; the name tells step and subject."""
        for step in self.truth.steps:
            for figure in step.figures:
                yield FigureRow(
                    subject=figure.kind,
                    name=f"{step.name}: {figure.subject}",
                    figure=figure.quantity,
                    value=figure.value,
                    unit="" if figure.unit == "1" else figure.unit,
                )

    def _compare_steps(self) -> str:
        """The range of mean latency over steps, or that of the only one."""
        means = [
            (figure, step.name)
            for step in self.truth.steps
            if (figure := step.figure(*LATENCY)) is not None
        ]
        if not means:
            return "no latency yet"
        least, most = (pick(means, key=lambda mean: mean[0].value) for pick in (min, max))
        if len(means) == 1:
            return f"mean latency since emission is {_show_figure(least[0])}"
        return (
            f"mean latency since emission is {_show_figure(least[0])} ({least[1]})"
            f" to {_show_figure(most[0])} ({most[1]})"
        )

    def _judge_measuring(self) -> Iterator[str]:
        """What was left out, and how well a repetition predicts another."""
        marked = sum(step.marked for step in self.truth.steps)
        left_out = f"{count(marked, 'window')} marked and left out."
        yield left_out if marked else "No window had to be left out."
        floors = [
            (figure.floor, step.name)
            for step in self.truth.steps
            if (figure := step.figure(*LATENCY)) and figure.floor is not None
        ]
        if not floors:
            yield "Floor: not known from one repetition."
            return
        worst, where = max(floors)
        step = f" (worst, in {where})" if len(floors) > 1 else ""
        floor = f"{format_share(worst)}{step}"
        yield f"Floor: one repetition predicts another's mean latency since emission to {floor}."
        if worst > LARGE_FLOOR:
            yield "That is much: longer windows or more repetitions would lower it."

    def _build_overview(self) -> Table:
        return tabulate(
            "Steps",
            [
                {
                    Column("step"): step.name,
                    **{
                        column: None if figure is None else _show_value(figure, figure.value)
                        for column, figure in ((head, step.figure(*key)) for head, key in OVERVIEW)
                    },
                    Column("windows"): step.windows - step.marked,
                }
                for step in self.truth.steps
            ],
        )

    def _build_step_table(self, step: StepTruth) -> Table:
        left_out = f", {step.marked} left out" if step.marked else ""
        headline = {
            name: figure for name, key in HEADLINE if (figure := step.figure(*key)) is not None
        }
        groups = {"": [_describe_figure(*item) for item in headline.items()]}
        if not self.is_brief:
            first = {figure.key for figure in headline.values()}
            for kind, heading in KINDS.items():
                groups[heading] = [
                    _describe_figure(f"{figure.subject}, {figure.quantity}", figure)
                    for figure in step.figures
                    if figure.kind == kind and figure.key not in first
                ]
        return tabulate_groups(
            f"{step.name}: {count(len(step.repetitions), 'repetition')},"
            f" {count(step.windows, 'window')}{left_out}",
            {heading: rows for heading, rows in groups.items() if rows},
        )

    def _list_making(self) -> Sequence[Term]:
        experiment = self.journal.experiment
        warm_up, rule = experiment.warm_up, experiment.marking
        order = "random in each round" if experiment.shuffled else "as declared"
        terms = {
            "engine": self.journal.engine,
            "repetitions of each step": str(experiment.repetitions),
            "order": order,
            "windows": f"{experiment.windows} of {experiment.window_seconds:g} s",
            "warm-up": f"{warm_up.seconds:g} s, {warm_up.calls:,} calls of each operator",
            "seed": str(experiment.seed),
            "left out: stolen CPU above": format_share(rule.stolen_share),
            "left out: garbage collection above": format_duration(rule.collection_seconds),
            "left out: reported less than": format_share(rule.coverage),
        }
        return [Term(name, value) for name, value in terms.items()]


def _list_gaps(step: StepTruth) -> Iterator[str]:
    """Figures that a step lacks, or that two clocks make doubtful."""
    if not step.figures:
        yield f"{step.name}: every window is marked, so there are no figures"
        return
    if step.figure(FigureKind.LATENCY, ALL, "p50") and not step.figure(
        FigureKind.LATENCY, ALL, "p99"
    ):
        yield f"{step.name}: no p99, which takes {LEAST_FOR_TAIL:,} tuples"
    every = step.figure(*LATENCY)
    alike = step.figure(FigureKind.LATENCY, ONE_CLOCK, "mean")
    if every is not None and (alike is None or alike.count != every.count):
        yield (
            f"{step.name}: for some tuples, source and sink have two clocks; `{ONE_CLOCK}` leaves"
            " them out"
        )


def _show_figure(figure: Figure) -> str:
    return format_measured(figure.value, figure.spread, figure.unit)


def _show_value(figure: Figure, value: float) -> str:
    """One value in the figure's unit."""
    return format_duration(value) if figure.unit == "s" else format_number(value)


def _describe_figure(name: str, figure: Figure) -> Row:
    observations = None if figure.count is None else f"{figure.count:,}"
    return {
        Column("figure"): name,
        Column("median ± spread"): _show_figure(figure),
        Column("least"): _show_value(figure, figure.least),
        Column("most"): _show_value(figure, figure.most),
        Column("median over"): f"{figure.number} {figure.over}",
        Column("floor"): None if figure.floor is None else format_share(figure.floor),
        Column("observations", page_only=True): observations,
    }


def chart_steps(truth: Truth) -> ChartRow:
    """Latency, throughput, CPU and back-pressure of every step."""
    steps = truth.steps[:MOST_BARS]
    latency = partial(
        draw_bar_chart,
        [_make_latency_bar(step) for step in steps],
        title="Latency from source to sink, since emission",
        x_title="median over windows",
    )
    cores = partial(
        _draw_count_bars,
        [_make_cpu_bar(step) for step in steps],
        title="CPU of the workers",
        x_title="cores",
    )
    return ChartRow(
        charts=[
            Chart(title="latency", draw=latency),
            _chart_figure(steps, THROUGHPUT, "Sources emit", "tuples per second"),
            Chart(title="CPU", draw=cores),
            _chart_figure(steps, HELD, "Executors held back", "mean over time"),
        ]
    )


def chart_courses(truth: Truth) -> ChartRow:
    """Mean latency bucket by bucket, a chart for every step and a line for every repetition."""
    return ChartRow(
        charts=[
            _chart_course(step)
            for step in truth.steps[:MOST_BARS]
            if any(repetition.course.latency_seconds for repetition in step.repetitions)
        ]
    )


def _make_latency_bar(step: StepTruth) -> Bar:
    """A bar up to the highest quantile that is known, cut at the others."""
    parts: dict[str, float] = {}
    reached, label = 0.0, MISSING
    for name in ("p50", "p95", "p99"):
        figure = step.figure(FigureKind.LATENCY, ALL, name)
        if figure is None:
            continue
        parts[f"to {name}"] = max(figure.value - reached, 0.0)
        reached = max(figure.value, reached)
        label = f"{name} {format_duration(figure.value)}"
    return Bar(name=step.name, parts=parts or {"none": math.nan}, label=label)


def _make_cpu_bar(step: StepTruth) -> Bar:
    parts = {
        figure.subject.removeprefix("worker "): figure.value
        for figure in step.figures
        if figure.kind == FigureKind.CPU and figure.subject.startswith("worker ")
    }
    label = f"{format_number(sum(parts.values()))} cores" if parts else MISSING
    if len(parts) > SERIES:
        parts = {"all workers": sum(parts.values())}
    return Bar(name=step.name, parts=parts or {"none": math.nan}, label=label)


def _chart_figure(
    steps: Sequence[StepTruth], key: tuple[FigureKind, str, str], title: str, x_title: str
) -> Chart:
    """A bar for each step."""
    bars = []
    for step in steps:
        figure = step.figure(*key)
        value = math.nan if figure is None else figure.value
        label = MISSING if figure is None else _show_figure(figure)
        bars.append(Bar(name=step.name, parts={title: value}, label=label))
    return Chart(title=title, draw=partial(_draw_count_bars, bars, title=title, x_title=x_title))


def _chart_course(step: StepTruth) -> Chart:
    shown = step.repetitions[:SERIES]
    length = max(len(repetition.course.latency_seconds) for repetition in shown)
    bucket = shown[0].course.bucket_seconds
    lines = [
        Series(name=f"repetition {done.turn.repetition}", values=done.course.latency_seconds)
        for done in shown
    ]
    draw = partial(
        draw_line_chart,
        [(place + 0.5) * bucket for place in range(length)],
        lines,
        title=f"{step.name}: mean latency since emission, logarithmic",
        x_title="seconds from the start of measuring",
        log=True,
        tick_label=format_plain_duration,
    )
    more = len(step.repetitions) - len(shown)
    return Chart(title=step.name, draw=draw, caption=f"Not drawn: {more} more." if more > 0 else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyResult:
    """What a study found.

    Attributes:
        word: What it is about: the first word of the report.
        finding: The rest of the sentence.
    """

    word: str
    finding: str
    table: Table
    document: Mapping[str, Any]


def read_study(experiment: Experiment, truth: Truth) -> StudyResult | None:
    """What the experiment's study found; None where steps are only measured beside each other."""
    match experiment.study:
        case LoadSweep() as study:
            return _read_sweep(truth, study)
        case BottleneckSearch() as study:
            return _read_search(truth, study)
        case Fidelity() as study:
            return _read_fidelity(truth, study)
    return None


def _read_sweep(truth: Truth, study: LoadSweep) -> StudyResult:
    by_step = find_regimes(truth, study)
    regimes = {step: name_regime(repetitions) for step, repetitions in by_step.items()}
    finding = ", ".join(f"{step} {regime}" for step, regime in regimes.items())
    rule = study.rule
    table = tabulate(
        f"Regimes: events from above {rule.enter:g} to below {rule.leave:g} times the"
        f" median latency of {study.baseline}, since due where tuples are due; means over"
        " repetitions",
        [
            {
                Column("step"): step,
                Column("regime", words=True): regimes[step],
                Column("events"): format_number(
                    _average([float(len(regime.events)) for regime in repetitions])
                ),
                Column("each", "mean"): format_duration(_average_of("mean_seconds", repetitions)),
                Column("of the time"): format_share(_average_of("share", repetitions)),
                Column("σ throughput", "tuples/s"): format_number(
                    _average_of("throughput_deviation", repetitions)
                ),
                Column("σ latency"): format_duration(_average_of("latency_deviation", repetitions)),
            }
            for step, repetitions in by_step.items()
        ],
    )
    return StudyResult(
        word="Regimes",
        finding=finding or "not known without the first step, which is the baseline",
        table=table,
        document={
            "kind": study.kind,
            "baseline": study.baseline,
            "steps": {
                step: list(map(_write_regime, repetitions)) for step, repetitions in by_step.items()
            },
        },
    )


def name_regime(repetitions: Sequence[RepetitionRegime]) -> str:
    """The regime of a step: the one that most of its repetitions had, and how many."""
    regimes = [repetition.regime for repetition in repetitions]
    most = max(Regime, key=regimes.count)
    share, total = regimes.count(most), len(regimes)
    return most if share == total else f"{most} ({share}/{total})"


def _write_regime(repetition: RepetitionRegime) -> dict[str, Any]:
    return {
        "regime": str(repetition.regime),
        "events": [asdict(event) for event in repetition.events],
        "total_seconds": repetition.total_seconds,
        "share": repetition.share,
        "throughput_deviation": repetition.throughput_deviation,
        "latency_deviation": repetition.latency_deviation,
    }


def _read_search(truth: Truth, study: BottleneckSearch) -> StudyResult:
    ranked = rank_gains(truth, study)
    table = tabulate(
        "Gains by halving the service time of one operator",
        [
            {
                Column("operator"): gain.operator,
                Column("throughput"): _show_signed(gain.throughput),
                Column("latency shorter by"): _show_signed(gain.latency),
                Column(
                    "floors", "throughput, latency"
                ): f"{format_share(gain.throughput_floor)}, {format_share(gain.latency_floor)}",
                Column("it", words=True): gain.verdict,
            }
            for gain in ranked
        ],
    )
    operators = [{**asdict(gain), "verdict": gain.verdict} for gain in ranked]
    return StudyResult(
        word="Bottleneck",
        finding=_name_bottleneck(ranked),
        table=table,
        document={"kind": study.kind, "base": study.base, "operators": operators},
    )


def _name_bottleneck(ranked: Sequence[Gain]) -> str:
    for gain in ranked:
        if gain.verdict == "limits throughput":
            more = format_share(gain.throughput)
            return f"{gain.operator}, whose halved service time raises throughput by {more}"
    if ranked and ranked[0].verdict == "adds latency":
        first, part = ranked[0].operator, format_share(ranked[0].latency)
        return f"none of throughput; {first} adds most latency: {part} of it"
    return "none was found"


def _read_fidelity(truth: Truth, study: Fidelity) -> StudyResult:
    differences = list(compare_with_reference(truth, study))
    means = [
        difference
        for difference in differences
        if difference.figure in ("throughput", "latency, mean")
    ]
    finding = f"nothing to compare with {study.reference} yet"
    if means:
        worst = max(means, key=lambda difference: abs(difference.part))
        finding = (
            f"within {format_share(abs(worst.part))} of {study.reference} in throughput and mean"
            f" latency (worst: {worst.figure} of {worst.step}, {_show_signed(worst.part)})"
        )
    table = tabulate(
        f"Difference from {study.reference}",
        [
            {
                Column("step"): difference.step,
                Column("figure", words=True): difference.figure,
                Column(study.reference): _show_compared(difference, difference.reference),
                Column("here"): _show_compared(difference, difference.value),
                Column("difference"): _show_signed(difference.part),
                Column("floor"): format_share(difference.floor),
            }
            for difference in differences
        ],
    )
    return StudyResult(
        word="Fidelity",
        finding=finding,
        table=table,
        document={
            "kind": study.kind,
            "reference": study.reference,
            "differences": list(map(asdict, differences)),
        },
    )


def _show_compared(difference: Difference, value: float) -> str:
    return format_number(value) if difference.figure == "throughput" else format_duration(value)


def _show_signed(part: float) -> str:
    text = format_share(abs(part))
    if not text[0].isdigit() or not part:
        return text
    return f"{'+' if part > 0.0 else '−'}{text}"


def _average_of(figure: str, repetitions: Sequence[RepetitionRegime]) -> float:
    return _average([getattr(repetition, figure) for repetition in repetitions])


def _average(values: Sequence[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return math.fsum(known) / len(known) if known else math.nan
