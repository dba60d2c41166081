"""What ``streamgauge lake`` prints for people."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from streamgauge.cli.figure_tables import print_figures, print_lines, short_number
from streamgauge.cli.output import counted, print_table, say, warn
from streamgauge.drawing.quantities import MISSING, duration

if TYPE_CHECKING:
    from streamgauge.lake.contents import SourceContents, TableContents, TopologyContents
    from streamgauge.lake.leftovers import Leftover
    from streamgauge.lake.questions import Answer, Series
    from streamgauge.lake.repair import Repair
    from streamgauge.lake.upkeep import Change, Compaction

# More rows than this are for machines: `--json` has them all.
MANY_ROWS = 200
MANY_SOURCES = 10
# Bars of a course alone on its line, and beside its figures.
WIDE, NARROW = 60, 30
# Times are shown in the unit that fits, and times over time without one.
NANOSECONDS, BUSY = "ns", "ns/s"
_HEADS = {NANOSECONDS: "time", BUSY: "s/s"}
_SIZES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_BARS = "▁▂▃▄▅▆▇█"
_PLAIN_BARS = "_.:-=+*#"
_SMALL = 0.001


def size(number: int) -> str:
    """Bytes in the unit that fits: ``1.5 MiB``."""
    for scale, unit in _SIZES:
        if number >= scale:
            return f"{number / scale:,.1f} {unit}"
    return f"{number} B"


def time(moment: datetime | None) -> str:
    """A time to the second."""
    return MISSING if moment is None else moment.strftime("%Y-%m-%d %H:%M:%S")


def _minute(moment: datetime | None) -> str:
    return MISSING if moment is None else moment.strftime("%Y-%m-%d %H:%M")


def figure(value: float | None, unit: str) -> str:
    """A value with as many digits as one reads; nanoseconds in the unit that fits."""
    if value is None:
        return MISSING
    if unit == NANOSECONDS:
        return f"−{duration(-value * 1e-9)}" if value < 0 else duration(value * 1e-9)
    if unit == BUSY:
        return figure(value * 1e-9, "")
    if 0 < abs(value) < _SMALL:
        return f"{value:.3g}"
    return short_number(value)


def print_contents(
    uri: str,
    tables: Sequence[TableContents],
    topologies: tuple[int, Sequence[TopologyContents]],
    reasons: Mapping[str, int],
    sources: SourceContents,
) -> None:
    """What ``lake info`` says."""
    print_lines([uri])
    columns = ("table", "rows", "files", "size", "versions", "days", "first", "last")
    rows = [
        (
            one.name,
            f"{one.rows:,}",
            f"{one.files:,}",
            size(one.bytes),
            f"{one.version + 1:,}",
            f"{one.days:,}",
            _minute(one.first),
            _minute(one.last),
        )
        for one in tables
        if one.version is not None
    ]
    print_figures("Tables; times in UTC", columns, rows)
    count, listed = topologies
    which = f"; the {len(listed)} with the most samples" if len(listed) < count else ""
    print_figures(
        f"{count:,} topologies{which}" if count != 1 else "1 topology",
        ("topology", "cluster", "samples", "plans", "first", "last"),
        [
            (
                one.topology,
                one.cluster or "",
                f"{one.samples:,}",
                f"{one.plans:,}",
                _minute(one.first),
                _minute(one.last),
            )
            for one in listed
        ],
        texts=2,
    )
    if reasons:
        print_table("Quarantine", ("reason", "lines"), reasons.items())
    faults = f"; {sources.faults} read only in part" if sources.faults else ""
    print_lines(
        [
            f"Sources: {counted(sources.files, 'file')} of {sources.lines:,} lines,"
            f" {size(sources.bytes)}{faults}"
        ]
    )
    warn(
        f"{one.name}: {one.spare_files:,} of {one.files:,} files are small and could be merged:"
        f" `streamgauge lake compact --table {one.name} --lake {uri}`"
        for one in tables
        if one.is_scattered
    )


def print_compaction(done: Sequence[Compaction]) -> None:
    """What ``lake compact`` did."""
    rows = [
        (
            one.table,
            f"{one.files_before:,}",
            f"{one.files_after:,}",
            size(one.bytes_before),
            size(one.bytes_after),
            f"{one.rows:,}",
        )
        for one in done
        if one.version is not None
    ]
    columns = ("table", "files before", "after", "size before", "after", "rows written anew")
    print_figures("Compaction", columns, rows)
    if any(one.rows for one in done):
        say("old files stay until `streamgauge lake vacuum` removes them")


def print_leftovers(found: Sequence[Leftover], folders: int, *, dry_run: bool) -> None:
    """What ``lake vacuum`` removed, or would."""
    places = sorted({one.place for one in found})
    rows = [
        (
            place,
            f"{sum(one.place == place for one in found):,}",
            size(sum(one.bytes for one in found if one.place == place)),
        )
        for place in places
    ]
    print_figures("Would go" if dry_run else "Removed", ("from", "files", "size"), rows)
    if not found:
        print("nothing to remove")
    if folders:
        say(f"{counted(folders, 'empty folder')} removed")


def print_repair(uri: str, done: Repair, *, dry_run: bool) -> None:
    """What ``lake repair`` took out, or would, and what to do then."""
    if not done.damage:
        print("no damaged files")
        return
    print_figures(
        "Damaged; nothing was changed" if dry_run else "Damaged, and taken out",
        ("table", "file", "fault", "rows"),
        [
            (one.table, one.path, one.fault, MISSING if one.rows is None else f"{one.rows:,}")
            for one in done.damage
        ],
        texts=3,
    )
    if dry_run:
        say(f"`streamgauge lake repair --lake {uri}` takes them out of their tables")
    if not done.sources:
        return
    there = [source for source in done.sources if source not in done.gone]
    names = counted(len(done.sources), "source")
    say(f"rows of {names} may be missing; take them again, rows that are there come once only:")
    for source in there[:MANY_SOURCES]:
        say(f"  streamgauge ingest {shlex.quote(source)} --lake {shlex.quote(uri)}")
    if len(there) > MANY_SOURCES:
        say(f"  and {len(there) - MANY_SOURCES:,} more; --json lists them all")
    warn(f"{source}: no such file; what only it had is lost" for source in done.gone)


def print_history(changes: Sequence[tuple[str, Change]]) -> None:
    """Versions, the newest first."""
    columns = ("table", "operation", "note", "version", "time", "rows", "files")
    rows = [
        (
            name,
            one.operation,
            one.note,
            str(one.version),
            time(one.time),
            _change(one.rows_added, one.rows_removed),
            _change(one.files_added, one.files_removed),
        )
        for name, one in changes
    ]
    print_figures("Versions; times in UTC", columns, rows, texts=3)


def _change(added: int | None, removed: int | None) -> str:
    if added is None or removed is None:
        return MISSING
    parts = [f"+{added:,}"] if added else []
    parts += [f"−{removed:,}"] if removed else []
    return " ".join(parts) or "0"


def print_answer(answer: Answer) -> None:
    """What ``lake query`` found: unit and sample size first."""
    question = answer.question
    print_lines([f"{question.metric}: {question.metric.meaning}"])
    what = str(question.measure)
    if question.probability is not None:
        what = f"{question.probability:g} {what}"
    windows = ""
    if answer.window_seconds is not None:
        windows = f", windows of {answer.window_seconds:g} s"
    print_lines(
        [
            f"{what} in {question.unit}{windows}; {answer.samples:,} samples,"
            f" {answer.observations:,} observations",
            f"{time(answer.first)} to {time(answer.last)} UTC, version {answer.version}",
        ]
    )
    print_series(answer) if question.is_series else _print_windows(answer)


def _print_windows(answer: Answer) -> None:
    question = answer.question
    names = list(question.by)
    rows = [
        (
            *(str(one.by[name] if one.by[name] is not None else "") for name in names),
            time(window.start),
            figure(window.value, question.unit),
            figure(window.total, str(question.metric.unit)),
            MISSING if window.seconds is None else short_number(window.seconds),
            f"{window.observations:,}",
            f"{window.samples:,}",
        )
        for one in answer.series
        for window in one.windows
    ]
    head = _HEADS.get(question.unit, question.unit)
    columns = (*names, "from", head, "total", "seconds", "observations", "samples")
    print_figures("", columns, rows[:MANY_ROWS], texts=len(names) + 1)
    if len(rows) > MANY_ROWS:
        say(f"and {len(rows) - MANY_ROWS:,} more; --json has them all")


def print_series(answer: Answer) -> None:
    """The course of each series, with its least, most and last value."""
    names, unit = list(answer.question.by), answer.question.unit
    if not names:
        (one,) = answer.series
        least, most, last = _ends(one, unit)
        print(course(answer, one, WIDE))
        print_lines([f"least {least}, most {most}, last {last}"])
        return
    rows = [
        (
            *(str(one.by[name] if one.by[name] is not None else "") for name in names),
            course(answer, one, NARROW),
            *_ends(one, unit),
            f"{sum(window.samples for window in one.windows):,}",
        )
        for one in answer.series
    ]
    columns = (*names, "course", "least", "most", "last", "samples")
    print_figures("", columns, rows[:MANY_ROWS], texts=len(names))
    if len(rows) > MANY_ROWS:
        say(f"and {len(rows) - MANY_ROWS:,} more; --json has them all")


def _ends(series: Series, unit: str) -> tuple[str, str, str]:
    known = [window.value for window in series.windows if window.value is not None]
    last = series.windows[-1].value
    values = (min(known, default=None), max(known, default=None), last)
    return (figure(values[0], unit), figure(values[1], unit), figure(values[2], unit))


def course(answer: Answer, series: Series, most: int) -> str:
    """A bar for each window of the whole period; a blank where nothing is known."""
    if answer.window_seconds is None:
        return ""
    begin = min(window.start for one in answer.series for window in one.windows)
    end = max(window.start for one in answer.series for window in one.windows)
    places = round((end - begin).total_seconds() / answer.window_seconds) + 1
    heights: list[float | None] = [None] * places
    for window in series.windows:
        heights[round((window.start - begin).total_seconds() / answer.window_seconds)] = (
            window.value
        )
    return bars(heights, most)


def bars(values: Sequence[float | None], most: int) -> str:
    """Values as bars of eight heights, the least one lowest; several share one beyond `most`."""
    step = math.ceil(len(values) / most)
    if step > 1:
        values = [_mean_of(values[at : at + step]) for at in range(0, len(values), step)]
    known = [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    signs = _BARS if _can_print(_BARS) else _PLAIN_BARS
    top = len(signs) - 1
    return "".join(
        " "
        if value is None
        else signs[round(top * (value - low) / (high - low)) if high > low else top // 2]
        for value in values
    )


def _mean_of(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _can_print(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
