"""Small real servers that answer range queries over series in memory, with faults on demand."""

from __future__ import annotations

import gzip
import json
import math
import re
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

LOOK_BACK_SECONDS = 300
MOST_STEPS = 11_000


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What goes wrong with one request; the first that is waiting is used."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None  # in place of the answer
    cut: bool = False  # only half of the bytes that were announced
    hang: bool = False  # no answer at all, until the test is over
    endless: bytes = b""  # again and again, until the client hangs up


@dataclass(frozen=True)
class Reply:
    status: int
    body: bytes
    kind: str = "application/json"


class Server(ThreadingHTTPServer):
    """Answers by its subclass, and remembers what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.faults: deque[Fault] = deque()
        self.asked: list[dict[str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.failures: list[BaseException | None] = []
        self.zipped = True
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def reply(self, path: str, form: dict[str, str]) -> Reply:
        raise NotImplementedError

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients may hang up, which is part of the tests; all else is a fault of the server."""
        error = sys.exception()
        if not isinstance(error, OSError):
            self.failures.append(error)


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        thread.join()
        server.server_close()
    assert not server.failures


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        parts = urlsplit(self.path)
        if "json" in self.headers["Content-Type"]:
            form = {key: str(value) for key, value in json.loads(body).items()}
        else:
            form = _first(body.decode())
        self._answer(parts.path, form | _first(parts.query))

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self._answer(parts.path, _first(parts.query))

    def _answer(self, path: str, form: dict[str, str]) -> None:
        self.server.asked.append(form)
        self.server.headers.append({key.lower(): value for key, value in self.headers.items()})
        fault = self.server.faults.popleft() if self.server.faults else Fault()
        if fault.hang:
            self.server.over.wait()
            self.close_connection = True
            return
        if fault.endless:
            self._drip(fault.endless)
            return
        reply = self.server.reply(path, form)
        if fault.body is not None or fault.status != 200:
            reply = Reply(fault.status, fault.body or b"")
        self._send(reply, fault)

    def _send(self, reply: Reply, fault: Fault) -> None:
        body = reply.body
        self.send_response(reply.status)
        if self.server.zipped and "gzip" in self.headers.get("Accept-Encoding", ""):
            body = gzip.compress(body, mtime=0)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Type", reply.kind)
        self.send_header("Content-Length", str(len(body)))
        for key, value in fault.headers.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if fault.cut else body)
        if fault.cut:
            self.close_connection = True

    def _drip(self, piece: bytes) -> None:
        self.close_connection = True
        self.send_response(200)
        self.end_headers()
        while not self.server.over.wait(0.01):
            self.wfile.write(piece)

    def log_message(self, *args: Any) -> None:
        """Nothing on the terminal."""


def _first(query: str) -> dict[str, str]:
    return {key: values[0] for key, values in parse_qs(query).items()}


Labels = dict[str, str]


@dataclass(frozen=True, kw_only=True)
class PromSeries:
    """Points of a series: seconds and value; NaN ends it, as a stale marker does."""

    labels: Labels
    points: tuple[tuple[float, float], ...]


class PrometheusServer(Server):
    """Evaluates selectors and `sum by` at every step, looking back as Prometheus does."""

    def __init__(self, series: Iterable[PromSeries] = ()) -> None:
        super().__init__()
        self.series = list(series)
        self.warnings: list[str] = []
        self.stale_is_nan = False

    def reply(self, path: str, form: dict[str, str]) -> Reply:
        if path != "/api/v1/query_range":
            return Reply(404, b"404 page not found", "text/plain")
        start, end, step = (Decimal(form[key]) for key in ("start", "end", "step"))
        if end < start:
            return _bad("end timestamp must not be before start time")
        if (end - start) // step > MOST_STEPS:
            return _bad("exceeded maximum resolution of 11,000 points per timeseries.")
        times = [start + step * index for index in range(int((end - start) // step) + 1)]
        try:
            result = self._evaluate(form["query"], times)
        except ValueError as error:
            return _bad(f'invalid parameter "query": {error}')
        document: dict[str, Any] = {
            "status": "success",
            "data": {"resultType": "matrix", "result": result},
        }
        if self.warnings:
            document["warnings"] = self.warnings
        return Reply(200, json.dumps(document).encode())

    def _evaluate(self, query: str, times: list[Decimal]) -> list[dict[str, Any]]:
        summed = re.fullmatch(r"sum by \(([\w, ]*)\) \((.*)\)", query)
        if summed is None:
            found = [(one.labels, self._values(one, times)) for one in self._selected(query)]
        else:
            kept = summed[1].split(", ")
            groups: dict[tuple[tuple[str, str], ...], dict[Decimal, float]] = {}
            for one in self._selected(summed[2]):
                labels = tuple((key, one.labels[key]) for key in kept if key in one.labels)
                total = groups.setdefault(labels, {})
                for at, value in self._values(one, times):
                    total[at] = total.get(at, 0.0) + value
            found = [(dict(key), sorted(total.items())) for key, total in groups.items()]
        return [
            {"metric": labels, "values": [[_number(at), _text(value)] for at, value in values]}
            for labels, values in found
            if values
        ]

    def _selected(self, selector: str) -> list[PromSeries]:
        match = re.fullmatch(r"(\w+)(?:\{(.*)\})?", selector.strip())
        if match is None:
            raise ValueError(f"1:1: parse error: unexpected {selector!r}")
        wanted = dict(re.findall(r'(\w+)="([^"]*)"', match[2] or "")) | {"__name__": match[1]}
        return [one for one in self.series if wanted.items() <= one.labels.items()]

    def _values(self, series: PromSeries, times: list[Decimal]) -> list[tuple[Decimal, float]]:
        found = []
        for at in times:
            seen = [
                value
                for when, value in series.points
                if float(at) - LOOK_BACK_SECONDS < when <= float(at)
            ]
            if seen and (self.stale_is_nan or not math.isnan(seen[-1])):
                found.append((at, seen[-1]))
        return found


def _bad(message: str) -> Reply:
    body = {"status": "error", "errorType": "bad_data", "error": message}
    return Reply(400, json.dumps(body).encode())


def _number(at: Decimal) -> int | float:
    return int(at) if at == int(at) else float(at)


def _text(number: float) -> str:
    value = float(number)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value.is_integer() else repr(value)


@dataclass(frozen=True, kw_only=True)
class InfluxPoint:
    measurement: str
    tags: dict[str, str]
    time_ns: int
    fields: dict[str, Any]


class InfluxServer(Server):
    """Evaluates the InfluxQL and Flux that point-by-point reading needs."""

    def __init__(self, points: Iterable[InfluxPoint] = ()) -> None:
        super().__init__()
        self.points = list(points)
        self.row_limit: int | None = None

    def reply(self, path: str, form: dict[str, str]) -> Reply:
        if path == "/query":
            return self._influxql(form)
        if path == "/api/v2/query":
            return self._flux(form)
        return Reply(404, b'{"error":"not found"}')

    def _influxql(self, form: dict[str, str]) -> Reply:
        match = re.fullmatch(
            r"SELECT (.+) FROM (.+) WHERE (.*)time >= (\d+) AND time < (\d+) GROUP BY \*", form["q"]
        )
        if match is None:
            return Reply(400, json.dumps({"error": f"error parsing query: {form['q']}"}).encode())
        fields = [_unquoted(name) for name in match[1].split(", ")]
        where = {
            _unquoted(tag): _unquoted(text)
            for tag, text in re.findall(r'("[^"]+") = (\'(?:[^\'\\]|\\.)*\')', match[3])
        }
        found = self._matching(match[2], where, int(match[4]), int(match[5]))
        tag_keys = sorted({key for one in found for key in one.tags})
        groups: dict[tuple[str, ...], list[list[Any]]] = {}
        for one in sorted(found, key=lambda point: point.time_ns):
            values = [one.fields.get(name) for name in fields]
            if any(value is not None for value in values):
                key = (one.measurement, *(one.tags.get(tag, "") for tag in tag_keys))
                groups.setdefault(key, []).append([one.time_ns, *values])
        return Reply(
            200, _chunks(groups, tag_keys, fields, int(form["chunk_size"]), self.row_limit)
        )

    def _matching(
        self, measurement: str, where: dict[str, str], start_ns: int, end_ns: int
    ) -> list[InfluxPoint]:
        def fits(name: str) -> bool:
            if measurement.startswith("/"):
                return re.search(measurement[1:-1].replace("\\/", "/"), name) is not None
            return name == _unquoted(measurement)

        return [
            one
            for one in self.points
            if fits(one.measurement)
            and where.items() <= one.tags.items()
            and start_ns <= one.time_ns < end_ns
        ]

    def _flux(self, form: dict[str, str]) -> Reply:
        steps = re.split(r"\n\s*\|> ", form["query"])
        span = re.fullmatch(r"range\(start: (\S+), stop: (\S+)\)", steps[1])
        name = re.fullmatch(r'filter\(fn: \(r\) => r\["_measurement"\] (=~|==) (.+)\)', steps[2])
        if not steps[0].startswith("from(bucket:") or not steps[-1].startswith("pivot("):
            span = None
        if span is None or name is None:
            body = {"code": "invalid", "message": "compilation failed"}
            return Reply(400, json.dumps(body).encode())
        fields = [_unquoted(one) for one in re.findall(r'r\["_field"\] == ("[^"]+")', steps[3])]
        pairs = [re.fullmatch(r"filter\(fn: \(r\) => r\[(.+)\] == (.+)\)", s) for s in steps[4:-1]]
        where = {_unquoted(pair[1]): _unquoted(pair[2]) for pair in pairs if pair}
        found = self._matching(name[2], where, _ns(span[1]), _ns(span[2]))
        return Reply(200, _annotated(found, fields), "text/csv; charset=utf-8")


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])


def _ns(text: str) -> int:
    """Nanoseconds of RFC 3339 text, by arithmetic of its own: days before each year and month."""
    digits = [int(one) for one in re.findall(r"\d+", text)]
    year, month, day, hour, minute, second = digits[:6]
    fraction = re.search(r"\.(\d+)", text)
    leaps = [(year - 1) // 4 - (year - 1) // 100 + (year - 1) // 400 - 477]
    lengths = [31, 29 if year % 4 == 0 and (year % 100 or year % 400 == 0) else 28]
    lengths += [31, 30, 31, 30, 31, 31, 30, 31, 30]
    days = (year - 1970) * 365 + leaps[0] + sum(lengths[: month - 1]) + day - 1
    seconds = ((days * 24 + hour) * 60 + minute) * 60 + second
    return seconds * 10**9 + int((fraction[1] if fraction else "").ljust(9, "0"))


def _chunks(
    groups: dict[tuple[str, ...], list[list[Any]]],
    tag_keys: list[str],
    fields: list[str],
    size: int,
    limit: int | None,
) -> bytes:
    """One document a chunk, as version 1 writes them: a chunk ends with its series, too."""
    chunks: list[dict[str, Any]] = []
    for (name, *tags), rows in groups.items():
        for start in range(0, len(rows), size):
            series: dict[str, Any] = {
                "name": name,
                "tags": dict(zip(tag_keys, tags, strict=True)),
                "columns": ["time", *fields],
                "values": rows[start : start + size][:limit],
            }
            if start + size < len(rows) or (limit is not None and len(rows) > limit):
                series["partial"] = True
            chunks.append({"statement_id": 0, "series": [series]})
    for chunk in chunks[:-1]:
        chunk["partial"] = True
    documents = [{"results": [chunk]} for chunk in chunks or [{"statement_id": 0}]]
    return b"".join(json.dumps(one).encode() + b"\n" for one in documents)


def _annotated(points: list[InfluxPoint], fields: list[str]) -> bytes:
    """Annotated CSV of pivoted points: a table a series, a new header where columns differ."""
    tables: dict[tuple[Any, ...], list[InfluxPoint]] = {}
    for one in points:
        present = tuple(name for name in fields if name in one.fields)
        if present:
            key = (tuple(sorted(one.tags)), one.measurement, tuple(sorted(one.tags.items())))
            tables.setdefault(key, []).append(one)
    lines: list[str] = []
    before: list[str] = []
    for number, ((tags, name, values), rows) in enumerate(tables.items()):
        columns = [one for one in fields if any(one in row.fields for row in rows)]
        header = [
            "",
            "result",
            "table",
            "_start",
            "_stop",
            "_time",
            "_measurement",
            *tags,
            *columns,
        ]
        if header != before:
            lines += [""] if before else []
            lines.append("#datatype,string,long" + ",string" * (len(header) - 3))
            lines.append("#group,false,false" + ",true" * (len(header) - 3))
            lines.append("#default,_result" + "," * (len(header) - 2))
            lines.append(",".join(header))
            before = header
        for row in sorted(rows, key=lambda point: point.time_ns):
            at = f"{_moment(row.time_ns // 10**9)}.{row.time_ns % 10**9:09d}Z"
            cells = ["", "", str(number), "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", at, name]
            cells += [value for _, value in values]
            cells += ["" if (one := row.fields.get(c)) is None else _text(one) for c in columns]
            lines.append(",".join(_cell(cell) for cell in cells))
    return "".join(f"{line}\r\n" for line in lines).encode()


def _cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if re.search(r'[",\r\n]', text) else text


def _moment(seconds: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
