"""Series in CSV files: columns of times and values, and one of names where there are several.

Columns are found by their names: ``time``, ``date`` or ``timestamp``; ``value``, or the only other
column of numbers; ``series``. Times are ISO 8601 and UTC where they have no zone, or seconds since
1970. A column ``masked`` (1, true or yes) marks rows in which the job held its sources back.
"""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np

from streamgauge.errors import Findings, InvalidInput, NotEnoughData, UnreadableFile, in_file
from streamgauge.overwrite_guard import remember_input
from streamgauge.traffic.series import MICROSECONDS, SeriesRows

TIME_NAMES = ("time", "date", "timestamp", "datetime", "ds")
VALUE_NAMES = ("value", "rate", "y", "messages", "per_second")
SERIES_NAMES = ("series", "unique_id")
MASK_NAME = "masked"
_TRUE = ("1", "true", "yes")
_MISSING = ("", "nan", "na", "null", "none")
MOST_FINDINGS = 20


class _Columns(NamedTuple):
    time: int
    value: int
    series: int | None
    masked: int | None


class _Rows(NamedTuple):
    """Seventeen bytes a row: lists of Python's numbers would take five times as much."""

    times_us: array[int]
    values: array[float]
    masked: bytearray


def read_series_file(path: str | Path, *, value_column: str | None = None) -> list[SeriesRows]:
    """The rows of all series of a file, in the order in which they begin.

    Args:
        path: A CSV file with a line of column names.
        value_column: Which column to forecast.

    Raises:
        UnreadableFile: There is no such file, or it is no text.
        InvalidInput: Columns are missing, or a cell is no time or number.
        NotEnoughData: There are no rows.
    """
    file = Path(path)
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream, in_file(str(file)):
            remember_input(file)
            found = _read(stream, file.stem, value_column)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UnreadableFile.single(
            (), file=str(file), seen=str(reason), expected="a CSV file with times and values"
        ) from None
    if not found:
        raise NotEnoughData(f"{file}: no rows")
    return [
        SeriesRows(
            name,
            np.frombuffer(rows.times_us, dtype=np.int64),
            np.frombuffer(rows.values, dtype=np.float64),
            np.frombuffer(rows.masked, dtype=bool),
        )
        for name, rows in found.items()
    ]


def _read(stream: TextIO, name: str, value_column: str | None) -> dict[str, _Rows]:
    lines = csv.reader(stream)
    header = next(lines, None)
    if header is None:
        raise NotEnoughData(f"{name}: the file is empty")
    columns = _find_columns([cell.strip() for cell in header], value_column)
    found: dict[str, _Rows] = {}
    findings, wrong = Findings(), 0
    for number, line in enumerate(lines, start=2):
        if not any(cell.strip() for cell in line):
            continue
        try:
            key, time_us, value, masked = _read_line(line, columns, name)
        except (ValueError, IndexError) as error:
            wrong += 1
            if wrong <= MOST_FINDINGS:
                findings.add(
                    f"line {number}",
                    seen=str(error) or "too few cells",
                    expected="a time, a number",
                )
            continue
        rows = found.get(key)
        if rows is None:
            rows = found[key] = _Rows(array("q"), array("d"), bytearray())
        rows.times_us.append(time_us)
        rows.values.append(value)
        rows.masked.append(masked)
    findings.raise_if_any()
    return found


def _read_line(line: Sequence[str], columns: _Columns, name: str) -> tuple[str, int, float, bool]:
    text = line[columns.value].strip()
    value = float("nan") if text.lower() in _MISSING else float(text)
    key = name if columns.series is None else line[columns.series].strip()
    masked = columns.masked is not None and line[columns.masked].strip().lower() in _TRUE
    return key, read_time_us(line[columns.time].strip()), value, masked


def read_time_us(text: str) -> int:
    """Microseconds since 1970 of an ISO time, UTC where it has no zone, or of seconds.

    Raises:
        ValueError: It is no time.
    """
    try:
        return round(float(text) * MICROSECONDS)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r}, which is no time") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * MICROSECONDS)


def _find_columns(header: Sequence[str], value_column: str | None) -> _Columns:
    names = [name.lower() for name in header]
    time = next(_places(names, TIME_NAMES), None)
    series = next(_places(names, SERIES_NAMES), None)
    masked = next(_places(names, (MASK_NAME,)), None)
    if value_column is not None:
        value = header.index(value_column) if value_column in header else None
    else:
        value = next(_places(names, VALUE_NAMES), None)
        others = [at for at in range(len(names)) if at not in (time, series, masked)]
        if value is None and len(others) == 1:
            value = others[0]
    if time is None or value is None:
        lacking = "a column of times" if time is None else "a column of values"
        raise InvalidInput.single(
            ("columns",),
            seen=", ".join(header) or "no columns",
            expected=f"{lacking}: {', '.join(TIME_NAMES if time is None else VALUE_NAMES)}",
            remedy="name it in the first line, or choose the values with --column",
        )
    return _Columns(time, value, series, masked)


def _places(names: Sequence[str], wanted: Sequence[str]) -> Iterator[int]:
    return (names.index(name) for name in wanted if name in names)
