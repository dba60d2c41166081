"""The page behind ``streamgauge experiment report --html``: the verdict, pictures, then figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from streamgauge.cli import html_page as html
from streamgauge.cli.experiment_report import HEADLINE, cautions, plain, told, verdict_lines
from streamgauge.cli.experiment_studies import study_tables
from streamgauge.drawing.bar_charts import Bar, bar_chart
from streamgauge.drawing.charts import Series, line_chart
from streamgauge.drawing.quantities import duration, number, plain_duration, plain_number, share
from streamgauge.drawing.themes import SERIES
from streamgauge.experiments.figures import ALL

if TYPE_CHECKING:
    from streamgauge.experiments.journal import Journal
    from streamgauge.experiments.truth import Figure, StepTruth, Truth

ANCHORS = {
    "steps": "Steps",
    "time": "How it went over time",
    "study": "What it was about",
    "figures": "All figures",
    "made": "How this was made",
}
# More bars are no picture any more; tables have the rest.
MOST_BARS = 30
COLUMNS = (
    html.Column(name="figure"),
    html.Column(name="median ± spread"),
    html.Column(name="least"),
    html.Column(name="most"),
    html.Column(name="n"),
    html.Column(name="floor"),
    html.Column(name="observations"),
)


def experiment_page(journal: Journal, truth: Truth) -> str:
    """One self-contained HTML document; the same experiment gives the same page."""
    first, *rest = verdict_lines(journal, truth)
    warnings = cautions(truth)
    grade = "warning" if warnings else "fine"
    links = "".join(f'<a href="#{anchor}">{name}</a>' for anchor, name in ANCHORS.items())
    about = journal.experiment.about
    study = [_study_table(journal, truth)] if journal.experiment.study else []
    return html.page(
        f"{truth.experiment} on {truth.engine}",
        f"<h1>{html.text(truth.experiment)} on {html.text(truth.engine)}</h1>",
        f'<p class="about">{html.text(about)}</p>' if about else "",
        f'<div class="verdict {grade}">',
        f"<p>{html.text(first)}</p>",
        *(f"<p>{html.text(line)}</p>" for line in rest),
        *(html.paragraph(caution) for caution in warnings),
        "</div>",
        f'<nav aria-label="Parts of this page">{links}</nav>',
        _section("steps", _pictures(truth)),
        _section("time", _courses(truth)),
        _section("study", *(study or [html.paragraph("No study: steps beside each other.")])),
        _section("figures", *_tables(truth)),
        _section("made", *_made(journal)),
    )


def _section(anchor: str, *parts: str) -> str:
    return html.section(anchor, ANCHORS[anchor], *parts)


def _pictures(truth: Truth) -> str:
    charts = [
        bar_chart(
            list(_latency_bars(truth)),
            title="Latency from source to sink",
            x_title="median over windows",
            embedded=True,
        ),
        _plain_bars(
            truth, ("throughput", ALL, "emitted_per_second"), "Sources emit", "tuples per second"
        ),
        bar_chart(
            list(_cpu_bars(truth)),
            title="CPU of the workers",
            x_title="cores",
            tick_label=plain_number,
            told=number,
            embedded=True,
        ),
        _plain_bars(
            truth, ("back-pressure", ALL, "held"), "Executors held back", "on the mean over time"
        ),
    ]
    return f'<div class="charts">{"".join(html.figure(chart) for chart in charts)}</div>'


def _latency_bars(truth: Truth) -> Iterator[Bar]:
    """Each bar up to the highest quantile that is known, cut at the others."""
    for step in truth.steps[:MOST_BARS]:
        parts: dict[str, float] = {}
        reached, label = 0.0, "–"
        for name in ("p50", "p95", "p99"):
            figure = step.figure("latency", ALL, name)
            if figure is None:
                continue
            parts[f"to {name}"] = max(figure.value - reached, 0.0)
            reached = max(figure.value, reached)
            label = f"{name} {duration(figure.value)}"
        yield Bar(name=step.name, parts=parts or {"none": float("nan")}, label=label)


def _cpu_bars(truth: Truth) -> Iterator[Bar]:
    for step in truth.steps[:MOST_BARS]:
        workers = [
            figure
            for figure in step.figures
            if figure.kind == "cpu" and figure.subject.startswith("worker ")
        ]
        parts = {figure.subject.removeprefix("worker "): figure.value for figure in workers}
        label = f"{number(sum(parts.values()))} cores" if parts else "–"
        if len(parts) > SERIES:
            parts = {"all workers": sum(parts.values())}
        yield Bar(name=step.name, parts=parts or {"none": float("nan")}, label=label)


def _plain_bars(truth: Truth, key: tuple[str, str, str], title: str, x_title: str) -> str:
    bars = []
    for step in truth.steps[:MOST_BARS]:
        figure = step.figure(*key)
        value = float("nan") if figure is None else figure.value
        label = "–" if figure is None else told(figure)
        bars.append(Bar(name=step.name, parts={title: value}, label=label))
    return bar_chart(
        bars, title=title, x_title=x_title, tick_label=plain_number, told=number, embedded=True
    )


def _courses(truth: Truth) -> str:
    """Mean latency bucket by bucket, a chart for every step and a line for every repetition."""
    charts = []
    for step in truth.steps[:MOST_BARS]:
        shown = step.repetitions[:SERIES]
        length = max((len(one.course.latency_seconds) for one in shown), default=0)
        if not length:
            continue
        bucket = shown[0].course.bucket_seconds
        chart = line_chart(
            [(place + 0.5) * bucket for place in range(length)],
            [
                Series(name=f"repetition {one.turn.repetition}", values=one.course.latency_seconds)
                for one in shown
            ],
            title=f"{step.name}: mean latency, logarithmic",
            x_title="seconds from the start of measuring",
            log=True,
            tick_label=plain_duration,
            embedded=True,
        )
        more = len(step.repetitions) - len(shown)
        charts.append(html.figure(chart, f"Not drawn: {more} more." if more > 0 else ""))
    return f'<div class="charts">{"".join(charts)}</div>'


def _study_table(journal: Journal, truth: Truth) -> str:
    return "".join(
        html.table(
            table.title,
            [html.Column(name=name) for name in table.columns],
            [html.Rows(rows=table.rows)],
        )
        for table in study_tables(journal, truth)
    )


def _tables(truth: Truth) -> Iterator[str]:
    for step in truth.steps:
        groups = [html.Rows(heading="in all", rows=list(_headline(step)))]
        for kind in dict.fromkeys(figure.kind for figure in step.figures):
            rows = [
                _row(f"{figure.subject}, {figure.quantity}", figure)
                for figure in step.figures
                if figure.kind == kind and figure.subject != ALL
            ]
            if rows:
                groups.append(html.Rows(heading=kind, rows=rows))
        note = "n: over how many windows or repetitions the median is taken."
        yield html.table(step.name, COLUMNS, groups, note)


def _headline(step: StepTruth) -> Iterator[Sequence[str]]:
    for name, key in HEADLINE:
        figure = step.figure(*key)
        if figure is not None:
            yield _row(name, figure)


def _row(name: str, figure: Figure) -> Sequence[str]:
    return (
        name,
        told(figure),
        plain(figure, figure.least),
        plain(figure, figure.most),
        f"{figure.number} {figure.over}",
        "–" if figure.floor is None else share(figure.floor),
        "–" if figure.count is None else f"{figure.count:,}",
    )


def _made(journal: Journal) -> list[str]:
    experiment = journal.experiment
    warm_up, rule = experiment.warm_up, experiment.marking
    pairs = [
        ("engine", journal.engine),
        ("repetitions of each step", str(experiment.repetitions)),
        ("order", "random in each round" if experiment.shuffled else "as declared"),
        ("windows", f"{experiment.windows} of {experiment.window_seconds:g} s"),
        ("warm-up", f"{warm_up.seconds:g} s, {warm_up.calls:,} calls of each operator"),
        ("seed", str(experiment.seed)),
        ("left out: stolen above", share(rule.stolen_share)),
        ("left out: collections above", duration(rule.collection_seconds)),
        ("left out: reported less than", share(rule.coverage)),
    ]
    return [
        html.terms(pairs, kind="made"),
        html.paragraph(
            "Truth is the median over windows that are not marked; spread is half of the distance"
            " between the quartiles; floor is the median error of predicting a repetition by"
            " another. How: docs/experiments.md."
        ),
    ]
