"""Range queries to an InfluxDB server: version 1 in InfluxQL, version 2 in Flux.

Both give every point whose time lies in the half-open range, series by series, with all its tags:
a tag without a rule would otherwise put two series together unseen.
"""

from __future__ import annotations

import csv
import json
import re
import time
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from streamgauge.errors import InvalidInput
from streamgauge.lake.field_rules import Reason
from streamgauge.lake.http import TooLarge, unreachable
from streamgauge.lake.mapping import (
    MEASUREMENT_COLUMN,
    TIME_COLUMN,
    InfluxMapping,
    InfluxQuery,
)
from streamgauge.lake.row_mapping import RejectedRow, RowMapper
from streamgauge.pipeline.http_queries import Query, read_json
from streamgauge.pipeline.range_queries import Answer, Probe, RangeRequest, TimeRange, moment
from streamgauge.topology.files.document import parse_document

CHUNK_ROWS = 5_000
PROBE_SECONDS = 60

_Sleep = Callable[[float], None]
# What Flux adds to a point that says nothing about it.
_FLUX_OWN = frozenset({"", "result", "table", "_start", "_stop", "_field"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Point:
    """A point: everything it has by name, and those of its tags that have no rule."""

    row: dict[str, str | None]
    unmapped: tuple[str, ...]


def read_slice(
    request: RangeRequest, mapping: InfluxMapping, part: TimeRange, sleep: _Sleep = time.sleep
) -> Iterator[Answer]:
    """Everything that the queries of a mapping give in one slice of time.

    Raises:
        SourceUnreachable: The server does not answer, or not as one would.
        InvalidInput: It does not understand a query.
    """
    for index, query in enumerate(mapping.queries):
        asked = _Asked(request, mapping, query, index)
        mapper = RowMapper(query.rows)
        file = asked.file(part)
        for point in asked.points(part, sleep):
            for outcome in _outcomes(point, mapper):
                yield Answer(outcome, file)


def check(request: RangeRequest, name: str = "mapping", sleep: _Sleep = time.sleep) -> Probe:
    """Ask every query for its last minute, so that what is wrong shows before Spark starts.

    Raises:
        SourceUnreachable: The server does not answer, or not as one would.
        InvalidInput: A query that it does not understand, or tags without a rule.
    """
    mapping = request.influx_mapping()
    end_us = min(request.period.end_us, request.received_at_us)
    start_us = max(request.period.start_us, end_us - PROBE_SECONDS * 1_000_000)
    part = TimeRange(start_us=min(start_us, end_us), end_us=end_us)
    series: set[tuple[int, str]] = set()
    try:
        for index, query in enumerate(mapping.queries):
            for point in _Asked(request, mapping, query, index).points(part, sleep):
                if point.unmapped:
                    raise InvalidInput.single(
                        ("queries", index),
                        seen=f"points with {', '.join(point.unmapped)}, which has no rule",
                        expected="a rule for every tag",
                        remedy="map it, or list it under ignore",
                    )
                series.add((index, _identity(point, query)))
    except InvalidInput as error:
        raise parse_document(request.mapping, name).locate_error(error) from None
    return Probe(series=len(series))


def _identity(point: _Point, query: InfluxQuery) -> str:
    own = {*query.fields, TIME_COLUMN}
    return json.dumps({key: one for key, one in point.row.items() if key not in own})


def _outcomes(point: _Point, mapper: RowMapper) -> Iterator[bytes | RejectedRow]:
    if point.unmapped:
        detail = f"tag {', '.join(point.unmapped)} without a rule"
        yield _rejected(point, Reason.UNKNOWN_KEY, detail)
        return
    mapped = mapper.map(point.row)
    yield from mapped.lines
    if mapped.fault is not None:
        yield _rejected(point, mapped.fault.reason, mapped.fault.detail)


def _rejected(point: _Point, reason: Reason, detail: str) -> RejectedRow:
    known = {key: text for key, text in point.row.items() if text is not None}
    raw = json.dumps(known, separators=(",", ":")).encode()
    return RejectedRow(raw=raw, reason=reason, detail=detail)


class _Asked:
    """One query of a mapping, put to a server."""

    def __init__(
        self, request: RangeRequest, mapping: InfluxMapping, query: InfluxQuery, index: int
    ) -> None:
        self._request = request
        self._mapping = mapping
        self._query = query
        self._index = index

    def file(self, part: TimeRange) -> str:
        """A URI that names the query and its range."""
        if self._mapping.version == 1:
            form = {"db": self._mapping.database, "q": influxql(self._query, part)}
            return f"{self._request.server}/query?{urllib.parse.urlencode(form)}"
        text = flux(self._mapping, self._query, part)
        form = {"org": self._mapping.org, "query": text}
        return f"{self._request.server}/api/v2/query?{urllib.parse.urlencode(form)}"

    def points(self, part: TimeRange, sleep: _Sleep) -> Iterator[_Point]:
        """The points of a range, asked for in as many parts as the size of the answers needs."""
        if part.start_us >= part.end_us:
            return
        first = self._mapping.version == 1
        query = self._influxql(part) if first else self._flux(part)
        try:
            answer = query.ask(self._request.patience, sleep)
        except TooLarge:
            if part.end_us - part.start_us == 1:
                what = f"more than {self._request.patience.most_bytes:,} bytes at a single time"
                remedy = "select fewer series in the mapping's queries"
                raise unreachable(self._request.server, what, remedy) from None
            for half in part.halves():
                yield from self.points(half, sleep)
            return
        with answer:
            rows = self._series_rows(answer) if first else self._table_rows(answer)
            unmapped = _Unmapped(self._query)
            for tags, row in rows:
                yield _Point(row=row, unmapped=unmapped.of(tags, row))

    def _influxql(self, part: TimeRange) -> Query:
        form = {
            "db": self._mapping.database,
            "q": influxql(self._query, part),
            "epoch": "ns",
            "chunked": "true",
            "chunk_size": str(CHUNK_ROWS),
        }
        if self._mapping.retention_policy:
            form["rp"] = self._mapping.retention_policy
        return Query(
            url=f"{self._request.server}/query",
            body=urllib.parse.urlencode(form).encode(),
            headers={
                "Content-Type": "application/x-www-form-urlencoded",
                **self._request.credentials.header("Token"),
            },
            place=("queries", self._index),
            explain=_explain,
        )

    def _flux(self, part: TimeRange) -> Query:
        body = {
            "type": "flux",
            "query": flux(self._mapping, self._query, part),
            "dialect": {"annotations": ["datatype", "group", "default"], "header": True},
        }
        org = urllib.parse.urlencode({"org": self._mapping.org})
        return Query(
            url=f"{self._request.server}/api/v2/query?{org}",
            body=json.dumps(body).encode(),
            headers={
                "Content-Type": "application/json",
                "Accept": "application/csv",
                **self._request.credentials.header("Token"),
            },
            place=("queries", self._index),
            explain=_explain,
        )

    def _series_rows(
        self, answer: IO[bytes]
    ) -> Iterator[tuple[tuple[str, ...], dict[str, str | None]]]:
        """Tags and rows of an answer of version 1: one document a line, each with some series."""
        more = False
        for line in answer:
            if not line.strip():
                continue
            document = read_json(line, self._request.server)
            self._refuse(document.get("error"))
            try:
                results = document.get("results", [])
                for result in results:
                    self._refuse(result.get("error"))
                    for series in result.get("series", ()):
                        yield from _rows_of(series)
                # Every chunk but the last says that more will come.
                more = any(_continues(result) for result in results)
            except (TypeError, KeyError, ValueError, AttributeError):
                what = "an answer that is no list of series"
                remedy = "check that this is the address of an InfluxDB server"
                raise unreachable(self._request.server, what, remedy) from None
        if more:
            remedy = "look at the server's limits and log"
            raise unreachable(self._request.server, "an answer that stops half-way", remedy)

    def _table_rows(
        self, answer: IO[bytes]
    ) -> Iterator[tuple[tuple[str, ...], dict[str, str | None]]]:
        """Tags and rows of an answer of version 2: tables in CSV, with annotations before each."""
        header: list[str] = []
        defaults: list[str] = []
        own = {*_FLUX_OWN, *self._query.fields, TIME_COLUMN, MEASUREMENT_COLUMN}
        lines = (line.decode() for line in answer)
        try:
            for cells in csv.reader(lines, strict=True):
                if not cells:
                    header, defaults = [], []
                elif cells[0].startswith("#"):
                    defaults = cells if cells[0] == "#default" else defaults
                    header = []
                elif not header:
                    header = cells
                    tags = tuple(name for name in header if name not in own)
                else:
                    filled = _filled(cells, defaults)
                    row = dict(zip(header, filled, strict=True))
                    if "error" in header and "reference" in header:
                        self._refuse(row["error"] or "an error without words")
                    yield tags, {key: row[key] for key in header if key not in _FLUX_OWN}
        except (csv.Error, ValueError):
            remedy = "check that this is the address of an InfluxDB server"
            raise unreachable(self._request.server, "an answer that is no CSV", remedy) from None

    def _refuse(self, error: object) -> None:
        if error is not None:
            remedy = "correct the query in the mapping, or ask for smaller slices of time"
            raise unreachable(self._request.server, str(error), remedy)


class _Unmapped:
    """Finds the tags of a point that have no rule; those that it lacks need none."""

    def __init__(self, query: InfluxQuery) -> None:
        self._query = query
        self._known: dict[tuple[str, ...], tuple[str, ...]] = {}

    def of(self, tags: tuple[str, ...], row: dict[str, str | None]) -> tuple[str, ...]:
        suspects = self._known.get(tags)
        if suspects is None:
            found = self._query.rows.unmapped(tags)
            suspects = tuple(name for name in found if name not in self._query.where)
            self._known[tags] = suspects
        return tuple(name for name in suspects if row.get(name)) if suspects else ()


def _rows_of(
    series: dict[str, Any],
) -> Iterator[tuple[tuple[str, ...], dict[str, str | None]]]:
    tags: dict[str, str] = series.get("tags", {})
    fixed = {**tags, MEASUREMENT_COLUMN: series["name"]}
    names = [TIME_COLUMN if name == "time" else name for name in series["columns"]]
    for values in series.get("values", ()):
        texts = (_text(value) for value in values)
        yield tuple(tags), {**fixed, **dict(zip(names, texts, strict=True))}


def _continues(result: dict[str, Any]) -> bool:
    return result.get("partial") is True or any(
        series.get("partial") is True for series in result.get("series", ())
    )


def _filled(cells: list[str], defaults: list[str]) -> list[str | None]:
    """Cells with the table's defaults where they are empty; nothing where both are."""
    if not defaults:
        return [cell or None for cell in cells]
    pairs = zip(cells, ["", *defaults[1:]], strict=True)
    return [cell or default or None for cell, default in pairs]


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    raise TypeError


def _explain(body: bytes) -> str:
    try:
        document = json.loads(body)
        return str(document.get("error") or document["message"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return body[:200].decode("utf-8", "replace").strip()


def influxql(query: InfluxQuery, part: TimeRange) -> str:
    """The statement that asks version 1 for the points of a range."""
    fields = ", ".join(_ql_name(name) for name in query.fields)
    source = _pattern(query.measurement) if query.pattern else _ql_name(query.measurement)
    tags = [f"{_ql_name(tag)} = {_ql_text(text)}" for tag, text in query.where.items()]
    span = [f"time >= {part.start_us * 1000}", f"time < {part.end_us * 1000}"]
    return f"SELECT {fields} FROM {source} WHERE {' AND '.join([*tags, *span])} GROUP BY *"


def flux(mapping: InfluxMapping, query: InfluxQuery, part: TimeRange) -> str:
    """The script that asks version 2 for the points of a range, one row for all fields of each."""
    name = f"=~ {_pattern(query.measurement)}" if query.pattern else _equals(query.measurement)
    fields = " or ".join(f'r["_field"] {_equals(field)}' for field in query.fields)
    steps = [
        f"from(bucket: {_flux_text(mapping.bucket)})",
        f"range(start: {moment(part.start_us)}, stop: {moment(part.end_us)})",
        f'filter(fn: (r) => r["_measurement"] {name})',
        f"filter(fn: (r) => {fields})",
        *(
            f"filter(fn: (r) => r[{_flux_text(tag)}] {_equals(text)})"
            for tag, text in query.where.items()
        ),
        'pivot(rowKey: ["_time"], columnKey: ["_field"], valueColumn: "_value")',
    ]
    return "\n  |> ".join(steps)


def _ql_name(name: str) -> str:
    return '"' + _escaped(name).replace('"', '\\"') + '"'


def _ql_text(text: str) -> str:
    return "'" + _escaped(text).replace("'", "\\'") + "'"


def _flux_text(text: str) -> str:
    # An unescaped ${…} would be replaced by the value of what is in it.
    return '"' + _escaped(text).replace('"', '\\"').replace("${", "\\${") + '"'


def _equals(text: str) -> str:
    return f"== {_flux_text(text)}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _pattern(text: str) -> str:
    """A regular expression between slashes, so that its own need a backslash."""
    return "/" + re.sub(r"(?<!\\)/", r"\\/", text) + "/"
