"""What is said of a lake: its contents, its upkeep, and answers to questions."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from streamgauge.drawing.text_picture import BARS, draw_sparkline
from streamgauge.drawing.wording import MISSING, count, format_duration, format_number
from streamgauge.reports.content import Column, Row, Table, tabulate

if TYPE_CHECKING:
    from streamgauge.lake.contents import SourceContents, TableContents, TopologyContents
    from streamgauge.lake.leftovers import Leftover
    from streamgauge.lake.questions import Answer, Series
    from streamgauge.lake.repair import Repair
    from streamgauge.lake.upkeep import Change, Compaction
    from streamgauge.pipeline.ingest.tally import Tally

Counts = Sequence[tuple[tuple[str, ...], int]]

# Times are shown in the unit that fits, and times over time without one.
NANOSECONDS, BUSY = "ns", "ns/s"
_HEADS: Final = {NANOSECONDS: "time", BUSY: "s/s"}
# Bars of a course alone on its line, and beside its figures.
_WIDE, _NARROW = 60, 30
_SIZES: Final = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_SMALL, _HUGE = 0.001, 1e9
_MANY_SOURCES = 10
# More rows than this are for machines: `--json` has them all.
MOST_ANSWERS = 200


def show_size(amount: int) -> str:
    """Bytes in the unit that fits: ``1.5 MiB``."""
    for scale, unit in _SIZES:
        if amount >= scale:
            return f"{amount / scale:,.1f} {unit}"
    return f"{amount} B"


def show_figure(value: float | None, unit: str) -> str:
    """A value with as many digits as one reads; nanoseconds in the unit that fits."""
    if value is None:
        return MISSING
    if unit == NANOSECONDS:
        return f"−{format_duration(-value * 1e-9)}" if value < 0 else format_duration(value * 1e-9)
    if unit == BUSY:
        return show_figure(value * 1e-9, "")
    if 0 < abs(value) < _SMALL or abs(value) >= _HUGE:
        return f"{value:.3g}"
    return format_number(value)


def _second(moment: datetime | None) -> str:
    return MISSING if moment is None else moment.strftime("%Y-%m-%d %H:%M:%S")


def _minute(moment: datetime | None) -> str:
    return MISSING if moment is None else moment.strftime("%Y-%m-%d %H:%M")


def tabulate_tally(tally: Tally) -> Table:
    """Where the lines of an ingest went."""
    places = {**tally.taken, "quarantine": tally.quarantined, "duplicates": tally.duplicates}
    rows = [
        {Column("went to"): name, Column("rows"): f"{lines:,}"} for name, lines in places.items()
    ]
    return tabulate("", rows)


def tabulate_tables(tables: Sequence[TableContents]) -> Table:
    """The tables of a lake in figures."""
    return tabulate(
        "Tables; times in UTC",
        [
            {
                Column("table"): table.name,
                Column("rows"): f"{table.rows:,}",
                Column("files"): f"{table.files:,}",
                Column("size"): show_size(table.bytes),
                Column("versions"): f"{table.version + 1:,}",
                Column("days"): f"{table.days:,}",
                Column("first"): _minute(table.first),
                Column("last"): _minute(table.last),
            }
            for table in tables
            if table.version is not None
        ],
    )


def tabulate_topologies(total: int, listed: Sequence[TopologyContents]) -> Table:
    """The topologies of a lake, or those with the most samples."""
    which = f"; the {len(listed)} with the most samples" if len(listed) < total else ""
    return tabulate(
        "1 topology" if total == 1 else f"{total:,} topologies{which}",
        [
            {
                Column("topology"): topology.topology,
                Column("cluster", words=True): topology.cluster or "",
                Column("samples"): f"{topology.samples:,}",
                Column("plans"): f"{topology.plans:,}",
                Column("first"): _minute(topology.first),
                Column("last"): _minute(topology.last),
            }
            for topology in listed
        ],
    )


def tabulate_reasons(counts: Mapping[str, int], caption: str) -> Table:
    """Lines that were not taken, by reason."""
    rows = [
        {Column("reason"): reason, Column("lines"): f"{lines:,}"}
        for reason, lines in counts.items()
    ]
    return tabulate(caption, rows)


def tabulate_files(files: Counts) -> Table:
    """Lines that were not taken, by file."""
    rows = [
        {Column("file"): file, Column("reason", words=True): reason, Column("lines"): f"{lines:,}"}
        for (file, reason), lines in files
    ]
    return tabulate("Lines by file", rows)


def describe_sources(sources: SourceContents) -> str:
    """What came into a lake, in one line."""
    faults = f"; {sources.faults} read only in part" if sources.faults else ""
    return (
        f"Sources: {count(sources.files, 'file')} of {sources.lines:,} lines,"
        f" {show_size(sources.bytes)}{faults}"
    )


def tabulate_compaction(done: Sequence[Compaction]) -> Table:
    """What compaction made of tables."""
    return tabulate(
        "Compaction",
        [
            {
                Column("table"): table.table,
                Column("files before"): f"{table.files_before:,}",
                Column("files after"): f"{table.files_after:,}",
                Column("size before"): show_size(table.bytes_before),
                Column("size after"): show_size(table.bytes_after),
                Column("rows written anew"): f"{table.rows:,}",
            }
            for table in done
            if table.version is not None
        ],
    )


def tabulate_leftovers(leftovers: Sequence[Leftover], *, dry_run: bool) -> Table:
    """What a vacuum removed, or would."""
    return tabulate(
        "Would go" if dry_run else "Removed",
        [
            {
                Column("from"): place,
                Column("files"): f"{sum(file.place == place for file in leftovers):,}",
                Column("size"): show_size(
                    sum(file.bytes for file in leftovers if file.place == place)
                ),
            }
            for place in sorted({file.place for file in leftovers})
        ],
    )


def tabulate_damage(done: Repair, *, dry_run: bool) -> Table:
    """What a repair took out of tables, or would."""
    return tabulate(
        "Damaged; nothing was changed" if dry_run else "Damaged, and taken out",
        [
            {
                Column("table"): damage.table,
                Column("file", words=True): damage.path,
                Column("fault", words=True): damage.fault,
                Column("rows"): None if damage.rows is None else f"{damage.rows:,}",
            }
            for damage in done.damage
        ],
    )


def advise_after_repair(uri: str, done: Repair, *, dry_run: bool) -> Iterator[str]:
    """What to do about what a repair found, line by line."""
    place = shlex.quote(uri)
    if dry_run:
        yield f"`streamgauge lake repair --lake {place}` takes them out of their tables"
    if not done.sources:
        return
    there = [source for source in done.sources if source not in done.gone]
    names = count(len(done.sources), "source")
    yield f"rows of {names} may be missing; take them again, rows that are there come once only:"
    for source in there[:_MANY_SOURCES]:
        yield f"  streamgauge ingest {shlex.quote(source)} --lake {place}"
    if len(there) > _MANY_SOURCES:
        yield f"  and {len(there) - _MANY_SOURCES:,} more; --json lists them all"


def tabulate_history(changes: Sequence[tuple[str, Change]]) -> Table:
    """Versions of tables, the newest first."""
    return tabulate(
        "Versions; times in UTC",
        [
            {
                Column("table"): name,
                Column("operation", words=True): change.operation,
                Column("note", words=True): change.note,
                Column("version"): change.version,
                Column("time"): _second(change.time),
                Column("rows"): _show_change(change.rows_added, change.rows_removed),
                Column("files"): _show_change(change.files_added, change.files_removed),
            }
            for name, change in changes
        ],
    )


def _show_change(added: int | None, removed: int | None) -> str:
    if added is None or removed is None:
        return MISSING
    parts = [f"+{added:,}"] if added else []
    parts += [f"−{removed:,}"] if removed else []
    return " ".join(parts) or "0"


def describe_answer(answer: Answer) -> list[str]:
    """What was asked for, in which unit, and what the answer rests on."""
    question = answer.question
    what = str(question.measure)
    if question.probability is not None:
        what = f"{question.probability:g} {what}"
    windows = ""
    if answer.window_seconds is not None:
        windows = f", windows of {answer.window_seconds:g} s"
    return [
        f"{question.metric}: {question.metric.meaning}",
        f"{what} in {question.unit}{windows}; {answer.samples:,} samples,"
        f" {answer.observations:,} observations",
        f"{_second(answer.first)} to {_second(answer.last)} UTC, version {answer.version}",
    ]


def tabulate_windows(answer: Answer) -> Table:
    """A figure for each window of each series."""
    question = answer.question
    value = Column(_HEADS.get(question.unit, question.unit))
    return tabulate(
        "",
        [
            {
                **_name_series(series, question.by),
                Column("from", words=True): _second(window.start),
                value: show_figure(window.value, question.unit),
                Column("total"): show_figure(window.total, str(question.metric.unit)),
                Column("seconds"): MISSING
                if window.seconds is None
                else format_number(window.seconds),
                Column("observations"): f"{window.observations:,}",
                Column("samples"): f"{window.samples:,}",
            }
            for series in answer.series
            for window in series.windows
        ],
    )


def tabulate_series(answer: Answer, bars: str = BARS) -> Table:
    """The course of each series, with its least, most and last value."""
    question = answer.question
    rows: list[Row] = []
    for series in answer.series:
        least, most, last = _ends_of(series, question.unit)
        rows.append(
            {
                **_name_series(series, question.by),
                Column("course"): draw_course(answer, series, _NARROW, bars),
                Column("least"): least,
                Column("most"): most,
                Column("last"): last,
                Column("samples"): f"{sum(window.samples for window in series.windows):,}",
            }
        )
    return tabulate("", rows)


def describe_series(answer: Answer, bars: str = BARS) -> list[str]:
    """The course of the only series, and its least, most and last value."""
    (series,) = answer.series
    least, most, last = _ends_of(series, answer.question.unit)
    course = draw_course(answer, series, _WIDE, bars)
    return [course, f"least {least}, most {most}, last {last}"]


def _name_series(series: Series, names: Sequence[str]) -> Row:
    """What tells a series from others."""
    values = {name: series.by[name] for name in names}
    return {
        Column(name, words=True): "" if value is None else str(value)
        for name, value in values.items()
    }


def _ends_of(series: Series, unit: str) -> tuple[str, str, str]:
    known = [window.value for window in series.windows if window.value is not None]
    values = (min(known, default=None), max(known, default=None), series.windows[-1].value)
    least, most, last = (show_figure(value, unit) for value in values)
    return least, most, last


def draw_course(answer: Answer, series: Series, most: int, bars: str = BARS) -> str:
    """A bar for each window of the whole period; a blank where nothing is known."""
    if answer.window_seconds is None:
        return ""
    begin = min(window.start for course in answer.series for window in course.windows)
    end = max(window.start for course in answer.series for window in course.windows)
    length = answer.window_seconds
    heights: list[float | None] = [None] * (round((end - begin).total_seconds() / length) + 1)
    for window in series.windows:
        heights[round((window.start - begin).total_seconds() / length)] = window.value
    return draw_sparkline(heights, most, bars)
