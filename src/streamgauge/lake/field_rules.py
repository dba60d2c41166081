"""What a record must satisfy to be taken, and the reasons why one is not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from streamgauge.topology.field_checks import MAX_NAME_LENGTH, format_value

# Whole numbers up to here survive every JSON reader, also those that know doubles only. As
# microseconds this is the year 2255.
MOST_WHOLE = 2**53
MOST_INT32 = 2**31 - 1


class Reason(StrEnum):
    """Why a line was not taken; the words stand in the quarantine table and never change."""

    TOO_LONG = "too-long"
    NOT_UTF8 = "not-utf8"
    NOT_JSON = "not-json"
    NOT_AN_OBJECT = "not-an-object"
    DUPLICATE_KEY = "duplicate-key"
    UNKNOWN_VERSION = "unknown-version"
    UNKNOWN_TYPE = "unknown-type"
    UNKNOWN_KEY = "unknown-key"
    MISSING_KEY = "missing-key"
    MISPLACED_KEY = "misplaced-key"
    WRONG_TYPE = "wrong-type"
    BAD_NAME = "bad-name"
    BAD_TIME = "bad-time"
    NOT_FINITE = "not-finite"
    NEGATIVE = "negative"
    OUT_OF_RANGE = "out-of-range"
    UNKNOWN_METRIC = "unknown-metric"
    UNKNOWN_WORD = "unknown-word"
    INCONSISTENT = "inconsistent"
    AFTER_RECEIPT = "after-receipt"
    SUPERSEDED = "superseded"

    @property
    def meaning(self) -> str:
        """One sentence for people."""
        return _MEANINGS[self]


_MEANINGS = {
    Reason.TOO_LONG: "The line is longer than 16 MiB.",
    Reason.NOT_UTF8: "The bytes are not UTF-8.",
    Reason.NOT_JSON: "The text is not JSON, or is nested too deeply.",
    Reason.NOT_AN_OBJECT: "The line holds something else than one JSON object.",
    Reason.DUPLICATE_KEY: "A key appears twice in one object.",
    Reason.UNKNOWN_VERSION: "`v` is not a version this receiver knows.",
    Reason.UNKNOWN_TYPE: "`type` is none of the record types.",
    Reason.UNKNOWN_KEY: "A key that this record type does not have.",
    Reason.MISSING_KEY: "A key that this record type, metric or kind needs.",
    Reason.MISPLACED_KEY: "A key that records of this type have, but not for this metric.",
    Reason.WRONG_TYPE: "A value of another JSON type than the key's.",
    Reason.BAD_NAME: "A name that is empty, too long, or not plainly printable.",
    Reason.BAD_TIME: "A time that is not whole microseconds since 1970 in UTC.",
    Reason.NOT_FINITE: "A number that is infinite or not a number.",
    Reason.NEGATIVE: "A number below zero where none can be.",
    Reason.OUT_OF_RANGE: "A number larger, or smaller, than it can be.",
    Reason.UNKNOWN_METRIC: "`metric` is none of the metrics.",
    Reason.UNKNOWN_WORD: "A word that is none of those the key allows.",
    Reason.INCONSISTENT: "Values that cannot be true together.",
    Reason.AFTER_RECEIPT: "A time later than the receipt of the file; found by the receiver.",
    Reason.SUPERSEDED: "A later receipt gave the same key other values; found by the receiver.",
}


def reasons_table() -> str:
    """The Markdown table of all reasons, for the page on the raw format."""
    rows = [f"| `{reason}` | {reason.meaning} |" for reason in Reason]
    return "\n".join(["| reason | means |", "|---|---|", *rows]) + "\n"


@dataclass(frozen=True, slots=True)
class Rejected:
    """A line that was not taken: the reason, and what was seen."""

    reason: Reason
    detail: str

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"


Fault = Rejected | None
Check = Callable[[str, Any], Fault]


def reject(reason: Reason, key: str, value: object, expected: str) -> Rejected:
    """A rejection that says what was seen and what was expected."""
    return Rejected(reason, f"{key}: {format_value(value)}; expected {expected}")


def name(key: str, value: object) -> Fault:
    """A name: printable, without blanks at its ends, as everywhere in job files."""
    if not isinstance(value, str):
        return reject(Reason.WRONG_TYPE, key, value, "text")
    if _is_name(value):
        return None
    expected = f"1 to {MAX_NAME_LENGTH} printable characters without blanks at the ends"
    return reject(Reason.BAD_NAME, key, value, expected)


@lru_cache(maxsize=65_536)
def _is_name(value: str) -> bool:
    # Cached, since the same few names stand on every line.
    return 0 < len(value) <= MAX_NAME_LENGTH and value.isprintable() and value == value.strip()


def text(key: str, value: object) -> Fault:
    """Any text that UTF-8 can hold."""
    if not isinstance(value, str):
        return reject(Reason.WRONG_TYPE, key, value, "text")
    try:
        value.encode()
    except UnicodeEncodeError:
        return reject(Reason.NOT_UTF8, key, value, "text without lone surrogates")
    return None


def time(key: str, value: object) -> Fault:
    """Whole microseconds since 1970 in UTC."""
    if type(value) is int and 0 <= value <= MOST_WHOLE:
        return None
    expected = "whole microseconds since 1970-01-01T00:00:00Z, at most 2^53"
    return reject(Reason.BAD_TIME, key, value, expected)


def whole(least: int = 0, most: int = MOST_WHOLE) -> Check:
    """A whole number from `least` to `most`."""

    def check(key: str, value: object) -> Fault:
        if type(value) is not int:
            return reject(Reason.WRONG_TYPE, key, value, "a whole number")
        if least <= value <= most:
            return None
        reason = Reason.NEGATIVE if value < 0 <= least else Reason.OUT_OF_RANGE
        return reject(reason, key, value, f"a whole number from {least} to {most}")

    return check


def finite(key: str, value: object) -> Fault:
    """A number that a double can hold."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return reject(Reason.WRONG_TYPE, key, value, "a number")
    if -sys.float_info.max <= value <= sys.float_info.max:
        return None
    return reject(Reason.NOT_FINITE, key, value, "a finite number")


def duration(most: float) -> Check:
    """A number above zero and at most `most`."""

    def check(key: str, value: Any) -> Fault:
        fault = finite(key, value)
        if fault is not None or 0 < value <= most:
            return fault
        reason = Reason.NEGATIVE if value < 0 else Reason.OUT_OF_RANGE
        return reject(reason, key, value, f"a number above 0 and at most {most:g}")

    return check


def word(known: Mapping[str, object], reason: Reason = Reason.UNKNOWN_WORD) -> Check:
    """One of the known words."""
    listed = ", ".join(known) if len(known) <= 10 else "a known one"

    def check(key: str, value: object) -> Fault:
        if not isinstance(value, str):
            return reject(Reason.WRONG_TYPE, key, value, "text")
        return None if value in known else reject(reason, key, value, listed)

    return check


def _nothing_more(record: Mapping[str, Any]) -> Fault:
    del record
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The keys of an object, what each may hold, and what must hold between them.

    Attributes:
        checks: For every key, in the order in which it is written, its check.
        required: The keys that must be there.
        agreement: The check of the whole, once every key is fine by itself.
    """

    checks: Mapping[str, Check]
    required: frozenset[str]
    agreement: Callable[[Mapping[str, Any]], Fault] = _nothing_more

    def fault(self, record: Mapping[str, Any]) -> Fault:
        """The first thing wrong with `record`, which holds no nulls."""
        checks = self.checks
        for key, value in record.items():
            check = checks.get(key)
            if check is None:
                return Rejected(Reason.UNKNOWN_KEY, f"{format_value(key)} is no key of this record")
            fault = check(key, value)
            if fault is not None:
                return fault
        if not self.required <= record.keys():
            missing = ", ".join(sorted(self.required - record.keys()))
            return Rejected(Reason.MISSING_KEY, f"no {missing}")
        return self.agreement(record)


def each(shape: Shape) -> Check:
    """A list of at least one object of that shape."""

    def check(key: str, value: object) -> Fault:
        if not isinstance(value, list) or not value:
            return reject(Reason.WRONG_TYPE, key, value, "a list of at least one object")
        for index, item in enumerate(value):
            if not isinstance(item, dict):
                return reject(Reason.WRONG_TYPE, f"{key}[{index}]", item, "an object")
            fault = shape.fault(item)
            if fault is not None:
                return Rejected(fault.reason, f"{key}[{index}].{fault.detail}")
        return None

    return check


def each_value(check: Check) -> Check:
    """A list of at least one value that `check` takes."""

    def check_all(key: str, value: object) -> Fault:
        if not isinstance(value, list) or not value:
            return reject(Reason.WRONG_TYPE, key, value, "a list of at least one value")
        for index, item in enumerate(value):
            fault = check(f"{key}[{index}]", item)
            if fault is not None:
                return fault
        return None

    return check_all
