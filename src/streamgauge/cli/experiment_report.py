"""What an experiment has measured, as text: the verdict, a table a step, then details."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from streamgauge.cli.experiment_studies import study_document, study_lines, study_tables
from streamgauge.cli.output import counted, print_table, warn
from streamgauge.drawing.quantities import (
    duration,
    duration_within,
    number,
    number_within,
    share,
)
from streamgauge.experiments.figures import ALL, LEAST_FOR_TAIL, ONE_CLOCK, QUANTILES

if TYPE_CHECKING:
    from streamgauge.experiments.journal import Journal
    from streamgauge.experiments.truth import Figure, StepTruth, Truth

# What stands first: the name, and the key of the figure.
HEADLINE = (
    ("sources emit", ("throughput", ALL, "emitted_per_second")),
    ("latency, mean", ("latency", ALL, "mean")),
    *((f"latency, {name}", ("latency", ALL, name)) for name in QUANTILES),
    ("complete latency, mean", ("complete", ALL, "mean")),
    ("complete latency, p95", ("complete", ALL, "p95")),
    ("CPU of all workers", ("cpu", ALL, "cores")),
    ("executors held back", ("back-pressure", ALL, "held")),
    ("back-pressure events", ("back-pressure", ALL, "events")),
    ("back-pressure, seconds", ("back-pressure", ALL, "event_seconds")),
)
COLUMNS = ("", "median ± spread", "least", "most", "n", "floor")
# Beside this, a difference of two steps says little.
LARGE_FLOOR = 0.1


def verdict_lines(journal: Journal, truth: Truth) -> list[str]:
    """How much was measured, what was left out, and how well a repetition predicts another."""
    windows = sum(step.windows for step in truth.steps)
    marked = sum(step.marked for step in truth.steps)
    total = len(journal.done) + len(journal.left)
    lines = [
        f"{truth.experiment} on {truth.engine}: {counted(len(truth.steps), 'step')},"
        f" {len(journal.done)} of {counted(total, 'repetition')},"
        f" {counted(windows, 'window')} of {journal.experiment.window_seconds:g} s"
    ]
    lines.append(
        f"{marked} of them marked and left out" if marked else "no window had to be left out"
    )
    floors = [
        (figure.floor, step.name)
        for step in truth.steps
        if (figure := step.figure("latency", ALL, "mean")) and figure.floor is not None
    ]
    if floors:
        worst, where = max(floors)
        lines.append(
            f"floor: one repetition predicts another's mean latency to {share(worst)}"
            + (f" (worst, in {where})" if len(floors) > 1 else "")
        )
        if worst > LARGE_FLOOR:
            lines.append("that is much: longer windows or more repetitions would lower it")
    else:
        lines.append("floor: not known from one repetition")
    return [*lines, *study_lines(journal, truth)]


def cautions(truth: Truth) -> list[str]:
    """What a reader of the figures should know: notes, marks, clocks, tails that are missing."""
    found: dict[str, None] = {}
    if truth.left:
        found[f"{counted(truth.left, 'repetition')} not done yet"] = None
    for step in truth.steps:
        for one in step.repetitions:
            for note in one.notes:
                found[f"{one.turn}: {note}"] = None
            marks = {mark: None for window in one.windows for mark in window.marks}
            for mark in marks:
                found[f"{one.turn}: {mark}"] = None
        if not step.figures:
            found[f"{step.name}: every window is marked: there is no truth"] = None
            continue
        if step.figure("latency", ALL, "p50") and not step.figure("latency", ALL, "p99"):
            found[f"{step.name}: no p99 from less than {LEAST_FOR_TAIL:,} tuples"] = None
        if not _is_on_one_clock(step):
            found[
                f"{step.name}: of some tuples the two ends have two clocks; `{ONE_CLOCK}` is"
                " without them"
            ] = None
    return list(found)


def print_truth(journal: Journal, truth: Truth, *, brief: bool) -> None:
    """The report; without its details where it is to be brief."""
    for line in verdict_lines(journal, truth):
        print(line)
    print()
    _print_overview(truth)
    for table in study_tables(journal, truth):
        print_table(table.title, table.columns, table.rows)
    for step in truth.steps:
        rows = [_row(name, step.figure(*key)) for name, key in HEADLINE]
        print_table(_title(step), COLUMNS, [row for row in rows if row is not None])
    if not brief:
        for step in truth.steps:
            _print_details(step)
    warn(cautions(truth))


def truth_document(journal: Journal, truth: Truth) -> dict[str, Any]:
    """The report as a document."""
    return {
        "truth": truth.to_dict(),
        "study": study_document(journal, truth),
        "verdict": verdict_lines(journal, truth),
        "cautions": cautions(truth),
    }


def told(figure: Figure) -> str:
    """A figure with its spread and unit."""
    if figure.unit == "s":
        return duration_within(figure.value, figure.spread)
    unit = "" if figure.unit == "1" else f" {figure.unit}"
    return f"{number_within(figure.value, figure.spread)}{unit}"


def plain(figure: Figure, value: float) -> str:
    """One value in the figure's unit."""
    return duration(value) if figure.unit == "s" else number(value)


def _title(step: StepTruth) -> str:
    left_out = f", {step.marked} left out" if step.marked else ""
    return (
        f"{step.name}: {counted(len(step.repetitions), 'repetition')},"
        f" {counted(step.windows, 'window')}{left_out}"
    )


def _row(name: str, figure: Figure | None) -> Sequence[str] | None:
    if figure is None:
        return None
    return (
        name,
        told(figure),
        plain(figure, figure.least),
        plain(figure, figure.most),
        f"{figure.number} {figure.over}",
        "–" if figure.floor is None else share(figure.floor),
    )


def _print_overview(truth: Truth) -> None:
    """All steps beside each other."""
    wanted = (
        ("tuples/s", ("throughput", ALL, "emitted_per_second")),
        ("mean", ("latency", ALL, "mean")),
        ("p50", ("latency", ALL, "p50")),
        ("p95", ("latency", ALL, "p95")),
        ("p99", ("latency", ALL, "p99")),
        ("cores", ("cpu", ALL, "cores")),
        ("held back", ("back-pressure", ALL, "held")),
    )
    rows = []
    for step in truth.steps:
        found = [step.figure(*key) for _, key in wanted]
        cells = ["–" if one is None else plain(one, one.value) for one in found]
        rows.append([step.name, *cells, str(step.windows - step.marked)])
    print_table("", ["step", *(name for name, _ in wanted), "windows"], rows)


def _print_details(step: StepTruth) -> None:
    for title, kinds in (
        ("latency from source to sink", ("latency",)),
        ("latency on paths, traced", ("path",)),
        ("complete latency", ("complete",)),
        ("throughput", ("throughput",)),
        ("CPU", ("cpu",)),
        ("back-pressure", ("back-pressure",)),
    ):
        rows = list(_detail_rows(step, kinds))
        if rows:
            print_table(f"{step.name}: {title}", COLUMNS, rows)


def _detail_rows(step: StepTruth, kinds: Iterable[str]) -> Iterable[Sequence[str]]:
    for figure in step.figures:
        if figure.kind in kinds and (figure.kind == "cpu" or figure.subject != ALL):
            row = _row(f"{figure.subject}, {figure.quantity}", figure)
            if row is not None:
                yield row


def _is_on_one_clock(step: StepTruth) -> bool:
    everyone = step.figure("latency", ALL, "mean")
    alike = step.figure("latency", ONE_CLOCK, "mean")
    return everyone is None or (alike is not None and alike.count == everyone.count)
