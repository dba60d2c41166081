"""Turning rows of other systems into raw lines, by the rules of a mapping.

Numbers are taken as the decimals they are written as, scaled exactly, and only then become doubles:
0.0123 s is 12,300,000 ns, not 12,300,000.000000002.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any, Final

from streamgauge.errors import Findings, InvalidInput, did_you_mean
from streamgauge.lake.definition import QUEUES, Level
from streamgauge.lake.field_rules import Reason, Rejected, reject
from streamgauge.lake.mapping import (
    WHOLE_KEYS,
    BucketEdge,
    Count,
    MetricRule,
    Reading,
    RowRules,
    TimeRule,
    TimeUnit,
)
from streamgauge.lake.raw import encode
from streamgauge.lake.record_types import SHAPES, keys_of
from streamgauge.lake.records import Sample

Row = Mapping[str, str | None]

_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4})?", re.ASCII)
_NO_NUMBER = re.compile(r"[-+]?(?:nan|inf|infinity)", re.IGNORECASE | re.ASCII)
_MOST_DIGITS: Final = 400
# Enough for two doubles multiplied, digit by digit; nothing is trapped, since a value too large
# for a double is reported as such.
_EXACT = Context(prec=60, rounding=ROUND_HALF_EVEN, Emax=99_999, Emin=-99_999, traps=[])
_TO_MICROSECONDS = {
    TimeUnit.NANOSECONDS: Decimal("0.001"),
    TimeUnit.MICROSECONDS: Decimal(1),
    TimeUnit.MILLISECONDS: Decimal(1_000),
    TimeUnit.SECONDS: Decimal(1_000_000),
}
_RFC3339 = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]+))?"
    r"(?:[Zz]|([-+])([0-9]{2}):([0-9]{2}))",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SAMPLE = SHAPES[Sample.type]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapped:
    """What a row became: its lines, and what is wrong with the part that gave none."""

    lines: tuple[bytes, ...]
    fault: Rejected | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedRow:
    """A row that gave no line, or not all of them: as it came, the reason, and what was seen."""

    raw: bytes
    reason: Reason
    detail: str


def check_columns(rules: RowRules, columns: Sequence[str], findings: Findings) -> None:
    """Record which columns of a file lack a rule, come twice, or are missing."""
    for column in dict.fromkeys(columns):
        if columns.count(column) > 1:
            findings.add(column, seen="a column twice", expected="each column once")
    for column in sorted(rules.columns - set(columns)):
        findings.add(
            seen=f"no column {column!r}",
            expected="every column that the mapping names",
            remedy=did_you_mean(column, columns),
        )
    for column in rules.unmapped(dict.fromkeys(columns)):
        findings.add(
            column,
            seen="a column without a rule",
            expected="a rule for every column",
            remedy="map it, or list it under ignore",
        )


def raise_for(findings: Findings, file: str) -> None:
    """Raise InvalidInput that names the file, where something was found."""
    try:
        findings.raise_if_any()
    except InvalidInput as error:
        raise InvalidInput(replace(problem, file=file) for problem in error.problems) from None


class Unmapped(Exception):
    """Ends the mapping of a value that cannot become part of a sample."""

    def __init__(self, rejected: Rejected) -> None:
        super().__init__(str(rejected))
        self.rejected = rejected


class RowMapper:
    """Applies the rules of a mapping to rows."""

    def __init__(self, rules: RowRules) -> None:
        self._rules = rules
        self._makers = {name: _SampleMaker(rule) for name, rule in rules.metrics.items()}

    def map(self, row: Row) -> Mapped:
        """The lines of a row; what is wrong with it stands beside them, for the row as a whole."""
        try:
            chosen = self._chosen(row)
            if not chosen:
                return Mapped(lines=())
            start_us, seconds = self._bucket(row)
        except Unmapped as unmapped:
            return Mapped(lines=(), fault=unmapped.rejected)
        lines: list[bytes] = []
        faults: list[Rejected] = []
        for column, maker, text in chosen:
            try:
                value = self._value(column, text)
                if value is not None:
                    lines.append(maker.line(row, value, start_us, seconds))
            except Unmapped as unmapped:
                faults.append(unmapped.rejected)
        if not faults:
            return Mapped(lines=tuple(lines))
        # One row is kept once, whatever the number of its faults.
        detail = "; ".join(dict.fromkeys(fault.detail for fault in faults))
        return Mapped(lines=tuple(lines), fault=Rejected(faults[0].reason, detail))

    def _chosen(self, row: Row) -> list[tuple[str, _SampleMaker, str]]:
        """The values of a row: column, maker and text of each."""
        rules = self._rules
        if rules.name is not None and rules.value is not None:
            name = row.get(rules.name)
            maker = self._makers.get(name or "")
            if maker is None:
                if rules.ignore_all_names or name in rules.ignored_names:
                    return []
                raise Unmapped(
                    reject(Reason.UNKNOWN_METRIC, rules.name, name, "a name under metrics")
                )
            text = row.get(rules.value)
            found = [(rules.value, maker, text)] if text else []
            columns = rules.value
        else:
            found = [
                (column, maker, text)
                for column, maker in self._makers.items()
                if (text := row.get(column))
            ]
            columns = ", ".join(self._makers)
        if not found and not rules.skip_empty:
            raise Unmapped(Rejected(Reason.MISSING_KEY, f"no value in {columns}"))
        return found

    def _value(self, column: str, text: str) -> Decimal | None:
        if _NO_NUMBER.fullmatch(text.strip()):
            if self._rules.skip_nan:
                return None
            raise Unmapped(reject(Reason.NOT_FINITE, column, text, "a finite number"))
        return exact_number(column, text)

    def _bucket(self, row: Row) -> tuple[int, Decimal]:
        rules = self._rules
        seconds = rules.bucket_seconds
        if seconds is None:
            column = rules.bucket_column or ""
            seconds = exact_number(column, _given(row, column))
        start_us = microseconds(rules.time, _given(row, rules.time.column))
        if rules.time.marks is BucketEdge.END:
            start_us -= int(_EXACT.multiply(seconds, Decimal(1_000_000)))
        return start_us, seconds


class _SampleMaker:
    """Makes the line of one metric."""

    def __init__(self, rule: MetricRule) -> None:
        self._rule = rule
        self._label = rule.label
        self._fixed = {key: one for key, one in rule.keys.items() if not isinstance(one, Reading)}
        self._read = [
            (key, _reader(key, one)) for key, one in rule.keys.items() if isinstance(one, Reading)
        ]
        self._allowed = (
            {label: keys_of(rule.metric, queue)[1] for label, queue in QUEUES.items()}
            if rule.metric.level is Level.QUEUE
            else {}
        )

    def line(self, row: Row, number: Decimal, start_us: int, seconds: Decimal) -> bytes:
        """The raw line of a value.

        Raises:
            Unmapped: There is none.
        """
        fields: dict[str, Any] = dict(self._fixed)
        for key, read in self._read:
            value = read(row)
            if value is not None:
                fields[key] = value
        allowed = self._allowed.get(fields.get("queue", ""))
        if allowed is not None:
            fields = {key: value for key, value in fields.items() if key in allowed}
        scaled = _EXACT.multiply(number, self._rule.scale)
        if self._rule.rounded and scaled.is_finite():
            scaled = scaled.to_integral_value(ROUND_HALF_EVEN)
        fields |= {
            "metric": self._label,
            "bucket_start_us": start_us,
            "bucket_seconds": float(seconds),
            # Minus zero is zero.
            "value": float(scaled) + 0.0,
            "count": _counted(self._rule.count, scaled, row),
        }
        try:
            return encode(Sample(**fields)).encode()
        except InvalidInput:
            fault = _SAMPLE.fault(fields)
            if fault is None:
                raise
            raise Unmapped(fault) from None


def _reader(key: str, reading: Reading) -> Callable[[Row], str | int | None]:
    """What reads the value of a key off a row; nothing where a column it needs is empty."""
    pattern = re.compile(reading.match) if reading.match else None
    words = dict(reading.words)
    whole = key in WHOLE_KEYS

    def read(row: Row) -> str | int | None:
        text = ""
        for literal, column in reading.parts:
            text += literal
            if column is not None:
                found = row.get(column)
                if not found:
                    return None
                text += found
        if pattern is not None:
            match = pattern.fullmatch(text)
            if match is None or not match[1]:
                raise Unmapped(reject(Reason.BAD_NAME, key, text, f"what {reading.match} matches"))
            text = match[1]
        if words:
            if text not in words:
                raise Unmapped(reject(Reason.UNKNOWN_WORD, key, text, "a word of the mapping"))
            text = words[text]
        return whole_number(key, text) if whole else text

    return read


def _counted(count: Count, value: Decimal, row: Row) -> int:
    if count.constant is not None:
        return count.constant
    if count.column is not None:
        return whole_number(count.column, _given(row, count.column))
    if not value.is_finite() or value.adjusted() > 30:
        raise Unmapped(reject(Reason.OUT_OF_RANGE, "value", str(value), "a count"))
    share = _EXACT.multiply(value, count.share or Decimal(1))
    # What was counted at all was seen at least once; a negative value is for the checks to find.
    return max(int(share.to_integral_value(ROUND_HALF_EVEN)), 1 if value > 0 else 0)


def _given(row: Row, column: str) -> str:
    text = row.get(column)
    if not text:
        raise Unmapped(Rejected(Reason.MISSING_KEY, f"no {column}"))
    return text


def exact_number(key: str, text: str) -> Decimal:
    """The number that a text holds, with all its digits.

    Raises:
        Unmapped: It holds none.
    """
    plain = text.strip()
    if len(plain) <= _MOST_DIGITS and _NUMBER.fullmatch(plain):
        return _EXACT.create_decimal(plain)
    reason = Reason.NOT_FINITE if _NO_NUMBER.fullmatch(plain) else Reason.WRONG_TYPE
    raise Unmapped(reject(reason, key, text, "a number"))


def whole_number(key: str, text: str) -> int:
    """The whole number that a text holds; ``3.0`` holds one, too.

    Raises:
        Unmapped: It holds none.
    """
    number = exact_number(key, text)
    # The size is looked at first, for 1e9999 has as many digits as it says.
    if number.adjusted() <= 20 and number == number.to_integral_value():
        return int(number)
    raise Unmapped(reject(Reason.WRONG_TYPE, key, text, "a whole number"))


def microseconds(rule: TimeRule, text: str) -> int:
    """The time that a text holds, in whole microseconds since 1970; what is finer is cut off.

    Raises:
        Unmapped: It holds none.
    """
    if rule.unit is TimeUnit.RFC3339:
        found = rfc3339_microseconds(text.strip())
        if found is not None:
            return found
        expected = "a time with its zone, such as 2026-01-01T00:00:00Z"
        raise Unmapped(reject(Reason.BAD_TIME, rule.column, text, expected))
    expected = f"a number of {rule.unit} since 1970"
    try:
        number = exact_number(rule.column, text)
    except Unmapped:
        raise Unmapped(reject(Reason.BAD_TIME, rule.column, text, expected)) from None
    if number.adjusted() > 30:
        raise Unmapped(reject(Reason.BAD_TIME, rule.column, text, expected))
    scaled = _EXACT.multiply(number, _TO_MICROSECONDS[rule.unit])
    return int(scaled.to_integral_value(ROUND_FLOOR))


def rfc3339_microseconds(text: str) -> int | None:
    """Microseconds since 1970 of a time as RFC 3339 writes it; nothing where it is none."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        return None
    day, clock, fraction, sign, hours, minutes = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=UTC)
    except ValueError:
        return None
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    if offset >= timedelta(days=1):
        return None
    since = (moment - _EPOCH) - (-offset if sign == "-" else offset)
    whole = since // timedelta(microseconds=1)
    return whole + int((fraction or "")[:6].ljust(6, "0"))
