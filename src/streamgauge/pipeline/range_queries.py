"""What queries over a range of time have in common: the request, its slices, and what they give.

A range is half open: `start_us` belongs to it, `end_us` does not. It is about the times that the
source gives its points, so neighbouring ranges share no point and lose none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from streamgauge.errors import Findings, InvalidInput
from streamgauge.lake.field_rules import MOST_WHOLE
from streamgauge.lake.files.mapping_file import parse_mapping
from streamgauge.lake.http import NO_CREDENTIALS, USUAL_PATIENCE, Credentials, Patience, server_url
from streamgauge.lake.mapping import InfluxMapping, PrometheusMapping, SourceMapping
from streamgauge.lake.row_mapping import RejectedRow, rfc3339_microseconds
from streamgauge.lake.schemas import TIMESTAMP
from streamgauge.topology.field_checks import format_value

DEFAULT_SLICE_SECONDS = 3_600
MOST_SLICES = 100_000
BATCH_ROWS = 4_096
_MICROSECONDS = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# What a source gives: a raw line, or what could not become one with the reason; in both cases by
# which query it came, and when.
ANSWERS = pa.schema(
    [
        pa.field("line", pa.binary()),
        pa.field("raw", pa.binary()),
        pa.field("reason", pa.string()),
        pa.field("detail", pa.string()),
        pa.field("file", pa.string(), nullable=False),
        pa.field("received_at", TIMESTAMP, nullable=False),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange:
    """The times from `start_us` up to, but without, `end_us`."""

    start_us: int
    end_us: int

    def slices(self, slice_us: int) -> tuple[TimeRange, ...]:
        """The range cut at whole multiples of `slice_us`, wherever it begins."""
        cuts = [self.start_us]
        cuts += range(self.start_us // slice_us * slice_us + slice_us, self.end_us, slice_us)
        ends = [*cuts[1:], self.end_us]
        pairs = zip(cuts, ends, strict=True)
        return tuple(TimeRange(start_us=a, end_us=b) for a, b in pairs if a < b)

    def halves(self) -> tuple[TimeRange, TimeRange]:
        """Two ranges that make up this one."""
        middle = (self.start_us + self.end_us) // 2
        return (
            TimeRange(start_us=self.start_us, end_us=middle),
            TimeRange(start_us=middle, end_us=self.end_us),
        )

    def __contains__(self, time_us: int) -> bool:
        return self.start_us <= time_us < self.end_us


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeRequest:
    """Everything there is to say about reading a database; a secret is only named.

    Attributes:
        url: Address of the server.
        period: From when to when.
        received_at_us: When the rows count as received: the clock when the reading began.
            Points after it are not asked for, since nobody can have measured them.
        mapping: The text of the mapping file.
        slice_seconds: How much time a partition covers.
        patience: How long to wait for answers.
        credentials: The names of environment variables with secrets.
        bucket_seconds: The step of Prometheus' queries, where it is not the mapping's.
    """

    url: str
    period: TimeRange
    received_at_us: int
    mapping: str
    slice_seconds: int = DEFAULT_SLICE_SECONDS
    patience: Patience = USUAL_PATIENCE
    credentials: Credentials = NO_CREDENTIALS
    bucket_seconds: Decimal | None = None

    def __post_init__(self) -> None:
        findings = Findings()
        if self.period.start_us >= self.period.end_us:
            seen = f"{moment(self.period.start_us)} to {moment(self.period.end_us)}"
            findings.add("from", seen=seen, expected="a time before `to`")
        if self.slice_seconds < 1:
            findings.add("slice_seconds", seen=str(self.slice_seconds), expected="at least 1")
        elif self._seconds / self.slice_seconds > MOST_SLICES:
            findings.add(
                "slice_seconds",
                seen=f"{self._seconds:,.0f} s in slices of {self.slice_seconds} s",
                expected=f"at most {MOST_SLICES:,} slices",
                remedy="take longer slices",
            )
        if self.patience.timeout_seconds <= 0 or self.patience.attempts < 1:
            seen = f"{self.patience.attempts} tries of {self.patience.timeout_seconds:g} s"
            findings.add("timeout_seconds", seen=seen, expected="at least one of more than 0 s")
        if self.bucket_seconds is not None and self.bucket_seconds % Decimal("0.001"):
            seen = str(self.bucket_seconds)
            findings.add("bucket_seconds", seen=seen, expected="whole milliseconds")
        with findings.at():
            server_url(self.url)
        findings.raise_if_any()

    @property
    def _seconds(self) -> float:
        return (self.period.end_us - self.period.start_us) / _MICROSECONDS

    @property
    def server(self) -> str:
        """The address, checked, without a slash at its end."""
        return server_url(self.url)

    def slices(self) -> tuple[TimeRange, ...]:
        """The partitions: what was measured before the receipt, cut in slices."""
        end_us = min(self.period.end_us, self.received_at_us)
        period = TimeRange(start_us=self.period.start_us, end_us=end_us)
        return period.slices(self.slice_seconds * _MICROSECONDS)

    def options(self) -> dict[str, str]:
        """The options of the Spark source that says the same."""
        return {
            "url": self.url,
            "from": str(self.period.start_us),
            "to": str(self.period.end_us),
            "received_at": str(self.received_at_us),
            "mapping": self.mapping,
            "slice_seconds": str(self.slice_seconds),
            "timeout_seconds": repr(self.patience.timeout_seconds),
            "attempts": str(self.patience.attempts),
            "token_env": self.credentials.token,
            "user_env": self.credentials.user,
            "password_env": self.credentials.password,
            "bucket_seconds": "" if self.bucket_seconds is None else str(self.bucket_seconds),
        }

    @classmethod
    def of_options(cls, options: Mapping[str, str]) -> RangeRequest:
        """The request that options of a Spark source say.

        Raises:
            InvalidInput: One is missing or wrong.
        """
        findings = Findings()
        times = {
            key: _time(findings, key, options.get(key)) for key in ("from", "to", "received_at")
        }
        for key in ("url", "mapping"):
            if not options.get(key):
                findings.add(key, seen="nothing", expected=f"the option {key}")
        patience = Patience(
            timeout_seconds=_number(findings, options, "timeout_seconds", 60.0),
            attempts=int(_number(findings, options, "attempts", 4)),
        )
        slice_seconds = int(_number(findings, options, "slice_seconds", DEFAULT_SLICE_SECONDS))
        step = None
        if options.get("bucket_seconds"):
            # The shortest digits of a number are those that it was written with.
            step = Decimal(repr(_number(findings, options, "bucket_seconds", 1.0)))
        findings.raise_if_any()
        return cls(
            url=options["url"],
            period=TimeRange(start_us=times["from"], end_us=times["to"]),
            received_at_us=times["received_at"],
            mapping=options["mapping"],
            slice_seconds=slice_seconds,
            patience=patience,
            credentials=Credentials(
                token=options.get("token_env") or "",
                user=options.get("user_env") or "",
                password=options.get("password_env") or "",
            ),
            bucket_seconds=step,
        )

    def parsed_mapping(self) -> SourceMapping:
        """The mapping itself."""
        return parse_mapping(self.mapping)

    def prometheus_mapping(self) -> PrometheusMapping:
        """The mapping, which must be one for Prometheus."""
        found = self.parsed_mapping()
        if isinstance(found, PrometheusMapping):
            step = self.bucket_seconds
            return found if step is None else found.with_bucket(step)
        raise _other_source("prometheus")

    def influx_mapping(self) -> InfluxMapping:
        """The mapping, which must be one for InfluxDB."""
        found = self.parsed_mapping()
        if isinstance(found, InfluxMapping):
            return found
        raise _other_source("influxdb")


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What a first, small question found: how many series, and what the server warned of."""

    series: int
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """A raw line, or a point that gave none, and the query it came by."""

    outcome: bytes | RejectedRow
    file: str


def answer_batches(answers: Iterable[Answer], received_at_us: int) -> Iterator[pa.RecordBatch]:
    """Answers as batches of the schema that Spark reads."""
    rows: list[Answer] = []
    for answer in answers:
        rows.append(answer)
        if len(rows) >= BATCH_ROWS:
            yield _batch(rows, received_at_us)
            rows = []
    if rows:
        yield _batch(rows, received_at_us)


def _batch(rows: list[Answer], received_at_us: int) -> pa.RecordBatch:
    columns: list[list[Any]] = [[], [], [], []]
    for row in rows:
        one = row.outcome
        cells = (
            (None, one.raw, str(one.reason), one.detail)
            if isinstance(one, RejectedRow)
            else (one, None, None, None)
        )
        for column, cell in zip(columns, cells, strict=True):
            column.append(cell)
    columns.append([row.file for row in rows])
    columns.append([received_at_us] * len(rows))
    arrays = [pa.array(one, kind) for one, kind in zip(columns, ANSWERS.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=ANSWERS)


def moment(time_us: int) -> str:
    """A time as RFC 3339 writes it, to the microsecond where it has one."""
    text = (_EPOCH + timedelta(microseconds=time_us)).isoformat()
    return text.replace("+00:00", "Z")


def parse_time(text: str) -> int | None:
    """Microseconds since 1970 of RFC 3339 text, or of a number of microseconds; else nothing."""
    plain = text.strip()
    if plain.isascii() and plain.isdecimal() and len(plain) < 20:
        found: int | None = int(plain)
    else:
        found = rfc3339_microseconds(plain)
    return found if found is not None and 0 <= found <= MOST_WHOLE else None


def _time(findings: Findings, key: str, text: str | None) -> int:
    found = parse_time(text or "")
    if found is None:
        expected = "a time such as 2026-01-01T00:00:00Z, or microseconds since 1970"
        findings.add(key, seen=format_value(text), expected=expected)
    return found or 0


def _number(findings: Findings, options: Mapping[str, str], key: str, default: float) -> float:
    text = options.get(key)
    if text is None:
        return default
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if 0 < found < 1e9:
        return found
    findings.add(key, seen=format_value(text), expected="a number above 0")
    return default


def _other_source(wanted: str) -> InvalidInput:
    return InvalidInput.single(
        ("mapping", "source"), seen="a mapping for another source", expected=wanted
    )
