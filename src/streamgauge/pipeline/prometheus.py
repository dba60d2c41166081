"""Range queries to a Prometheus server, or to one that answers like it.

Expressions are evaluated at whole multiples of the bucket's length, whatever the range. So the same
bucket has the same time in every run, and a slice never asks for a point of its neighbour, although
the server counts the end of a range in.
"""

from __future__ import annotations

import json
import logging
import time
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from streamgauge.errors import InvalidInput
from streamgauge.lake.definition import Kind
from streamgauge.lake.field_rules import Reason
from streamgauge.lake.http import TooLarge, unreachable
from streamgauge.lake.mapping import (
    TIME_COLUMN,
    VALUE_COLUMN,
    BucketEdge,
    PrometheusMapping,
    PrometheusQuery,
    TimeRule,
    TimeUnit,
)
from streamgauge.lake.row_mapping import (
    RejectedRow,
    RowMapper,
    Unmapped,
    exact_number,
    microseconds,
)
from streamgauge.pipeline.http_queries import Query, read_json
from streamgauge.pipeline.range_queries import Answer, Probe, RangeRequest, TimeRange
from streamgauge.topology.files.document import parse_document

# A server refuses more than 11,000 steps; that is one point more.
MOST_POINTS = 11_000
PATH = "/api/v1/query_range"

_TIME = TimeRule(column=TIME_COLUMN, unit=TimeUnit.SECONDS, marks=BucketEdge.END)
_Sleep = Callable[[float], None]
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Steps:
    """The steps from `first` to `last`, both of them included, at multiples of `step_us`."""

    first: int
    last: int
    step_us: int

    @classmethod
    def within(cls, part: TimeRange, step_us: int) -> _Steps:
        """All steps whose times lie in a range."""
        return cls(
            first=-(-part.start_us // step_us), last=(part.end_us - 1) // step_us, step_us=step_us
        )

    @property
    def number(self) -> int:
        return self.last - self.first + 1

    def portions(self, most: int) -> Iterator[_Steps]:
        """The same steps in portions of at most so many."""
        for first in range(self.first, self.last + 1, most):
            last = min(first + most - 1, self.last)
            yield _Steps(first=first, last=last, step_us=self.step_us)

    def __contains__(self, time_us: int) -> bool:
        return self.first * self.step_us <= time_us <= self.last * self.step_us


@dataclass(frozen=True, slots=True)
class _Point:
    """A value at a time, which is kept as it was written, too."""

    time_us: int
    time: str
    value: Any

    @classmethod
    def of(cls, time_text: str, value: Any) -> _Point:
        return cls(microseconds(_TIME, time_text), time_text, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Series:
    """One series of an answer."""

    labels: dict[str, str]
    points: list[_Point]
    histograms: list[_Point]


def read_slice(
    request: RangeRequest,
    mapping: PrometheusMapping,
    part: TimeRange,
    sleep: _Sleep = time.sleep,
) -> Iterator[Answer]:
    """Everything that the queries of a mapping give in one slice of time.

    Raises:
        SourceUnreachable: The server does not answer, or not as one would.
        InvalidInput: It does not understand a query.
    """
    for index, query in enumerate(mapping.queries):
        step_us = int(mapping.bucket_seconds * 1_000_000)
        steps = _Steps.within(part, step_us)
        if not steps.number > 0:
            continue
        lead = 1 if _takes_differences(query) else 0
        file = f"{request.server}{PATH}?{_form(query.text, steps, 0)}"
        points = _Points(query)
        for portion in steps.portions(MOST_POINTS - lead):
            asked = _Asked(request=request, index=index, text=query.text, lead=lead, sleep=sleep)
            for one, series in asked.series(portion):
                for outcome in points.outcomes(series, one):
                    yield Answer(outcome, file)


def check(request: RangeRequest, name: str = "mapping", sleep: _Sleep = time.sleep) -> Probe:
    """Ask every query for its last point, so that what is wrong shows before Spark starts.

    Raises:
        SourceUnreachable: The server does not answer, or not as one would.
        InvalidInput: A query that it does not understand, or labels without a rule.
    """
    mapping = request.prometheus_mapping()
    step_us = int(mapping.bucket_seconds * 1_000_000)
    end_us = min(request.period.end_us, request.received_at_us)
    last = max(end_us - 1, 0) // step_us
    steps = _Steps(first=last, last=last, step_us=step_us)
    found = 0
    warnings: list[str] = []
    try:
        for index, query in enumerate(mapping.queries):
            asked = _Asked(
                request=request, index=index, text=query.text, sleep=sleep, warn=warnings.append
            )
            for _, series in asked.series(steps):
                found += 1
                _check_labels(query, series.labels, index)
    except InvalidInput as error:
        raise parse_document(request.mapping, name).locate_error(error) from None
    return Probe(series=found, warnings=tuple(dict.fromkeys(warnings)))


def _check_labels(query: PrometheusQuery, labels: dict[str, str], index: int) -> None:
    unmapped = query.rows.unmapped(labels)
    if unmapped:
        raise InvalidInput.single(
            ("queries", index, "query"),
            seen=f"series with label {', '.join(unmapped)}, which has no rule",
            expected="a rule for every label",
            remedy="map it, list it under ignore, or leave it out with `sum by`",
        )


def _takes_differences(query: PrometheusQuery) -> bool:
    """Whether a bucket's value is what a counter gained since the point one step before."""
    return query.counter and query.rule.metric.kind is not Kind.CUMULATIVE


class _Points:
    """Turns the points of series into lines."""

    def __init__(self, query: PrometheusQuery) -> None:
        self._query = query
        self._mapper = RowMapper(query.rows)
        self._differences = _takes_differences(query)

    def outcomes(self, series: _Series, steps: _Steps) -> Iterator[bytes | RejectedRow]:
        """The lines of all points at `steps`; points before them only serve differences."""
        unmapped = self._query.rows.unmapped(series.labels)
        before: tuple[int, Decimal] | None = None
        for point in series.points:
            value = point.value
            if self._differences:
                number = _finite(value)
                gained = _gained(number, before, point.time_us - steps.step_us)
                before = None if number is None else (point.time_us, number)
                if number is not None and gained is None:
                    continue
                value = value if gained is None else str(gained)
            if point.time_us not in steps:
                continue
            if unmapped:
                detail = f"label {', '.join(unmapped)} without a rule"
                yield self._rejected(series, point, Reason.UNKNOWN_KEY, detail)
                continue
            row = series.labels | {TIME_COLUMN: point.time, VALUE_COLUMN: value}
            mapped = self._mapper.map(row)
            yield from mapped.lines
            if mapped.fault is not None:
                yield self._rejected(series, point, mapped.fault.reason, mapped.fault.detail)
        for point in series.histograms:
            if point.time_us in steps:
                detail = "a native histogram; expected a number, such as histogram_count gives"
                yield self._rejected(series, point, Reason.WRONG_TYPE, detail)

    def _rejected(self, series: _Series, point: _Point, reason: Reason, detail: str) -> RejectedRow:
        kept = {
            "query": self._query.text,
            "metric": series.labels,
            "value": [point.time, point.value],
        }
        raw = json.dumps(kept, separators=(",", ":")).encode()
        return RejectedRow(raw=raw, reason=reason, detail=detail)


def _finite(text: str) -> Decimal | None:
    try:
        return exact_number(VALUE_COLUMN, text)
    except Unmapped:
        return None


def _gained(
    number: Decimal | None, before: tuple[int, Decimal] | None, wanted_us: int
) -> Decimal | None:
    """What a counter gained since the point one step before; nothing where there is none.

    A counter that fell has started anew, from zero.
    """
    if number is None or before is None or before[0] != wanted_us:
        return None
    return number if number < before[1] else number - before[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """One query of a mapping, put to a server.

    Attributes:
        request: Where, and with how much patience.
        index: Which of the queries it is.
        text: The expression.
        lead: How many steps before the first are asked for, too.
        sleep: How to wait.
        warn: Takes what the server warns of.
    """

    request: RangeRequest
    index: int
    text: str
    lead: int = 0
    sleep: _Sleep = time.sleep
    warn: Callable[[str], None] = _log.warning

    def series(self, steps: _Steps) -> Iterator[tuple[_Steps, _Series]]:
        """The series of all steps, asked for in as many parts as the answers' size needs."""
        try:
            document = self._document(steps)
        except TooLarge:
            if steps.number == 1:
                what = f"more than {self.request.patience.most_bytes:,} bytes for a single step"
                remedy = "select fewer series in the mapping's queries"
                raise unreachable(self.request.server, what, remedy) from None
            for half in steps.portions(-(-steps.number // 2)):
                yield from self.series(half)
            return
        warnings = document.get("warnings")
        for warning in warnings if isinstance(warnings, list) else ():
            self.warn(f"{self.request.server}: {warning}")
        for series in _series(document, self.request.server):
            yield steps, series

    def _document(self, steps: _Steps) -> dict[str, Any]:
        server = self.request.server
        query = Query(
            url=server + PATH,
            body=_form(self.text, steps, self.lead).encode(),
            headers={
                "Content-Type": "application/x-www-form-urlencoded",
                **self.request.credentials.header("Bearer"),
            },
            place=("queries", self.index, "query"),
            explain=_explain,
        )
        with query.ask(self.request.patience, self.sleep) as answer:
            document = read_json(answer, server)
        if document.get("status") != "success":
            what = f"{document.get('errorType')}: {document.get('error')}"
            raise unreachable(server, what, "correct the query, or look at the server's log")
        if document.get("isPartial") is True:
            raise unreachable(server, "a part of the answer only", "try when all of it is up")
        return document


def _explain(body: bytes) -> str:
    try:
        document = json.loads(body)
        return f"{document['errorType']}: {document['error']}"
    except (ValueError, KeyError, TypeError, RecursionError):
        return body[:200].decode("utf-8", "replace").strip()


def _form(text: str, steps: _Steps, lead: int) -> str:
    first = max(steps.first - lead, 0)
    return urllib.parse.urlencode(
        {
            "query": text,
            "start": _seconds(first * steps.step_us),
            "end": _seconds(steps.last * steps.step_us),
            "step": _seconds(steps.step_us),
        }
    )


def _seconds(time_us: int) -> str:
    whole, rest = divmod(time_us, 1_000_000)
    return f"{whole}.{rest // 1_000:03d}" if rest else str(whole)


def _series(document: dict[str, Any], server: str) -> Iterator[_Series]:
    """The series of an answer, each checked to be one."""
    try:
        data = document["data"]
        if data["resultType"] != "matrix":
            raise TypeError
        for one in data["result"]:
            points = [_Point.of(*pair) for pair in one.get("values", ())]
            if not all(isinstance(point.value, str) for point in points):
                raise TypeError
            yield _Series(
                labels={str(key): str(value) for key, value in one["metric"].items()},
                points=points,
                histograms=[_Point.of(*pair) for pair in one.get("histograms", ())],
            )
    except (TypeError, KeyError, ValueError, AttributeError, Unmapped):
        what = "an answer that is no matrix of series"
        remedy = "check that this is the address of a Prometheus server"
        raise unreachable(server, what, remedy) from None
