"""Raw lines: records as JSON, one a line, in a form that never changes by itself.

Times are whole microseconds since 1970 in UTC: a number cannot lack its zone, is exact in every
language, and needs no rules for parsing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Final, NoReturn

from streamgauge.errors import InvalidInput
from streamgauge.lake.field_rules import MOST_WHOLE, Reason, Rejected
from streamgauge.lake.record_types import HOP, LISTS, PLACED_EXECUTOR, SHAPES, samples_in
from streamgauge.lake.records import (
    Event,
    Hop,
    Link,
    PlacedExecutor,
    Plan,
    Record,
    Sample,
    SampleGroup,
    Trace,
)
from streamgauge.topology.field_checks import format_value

__all__ = [
    "VERSION",
    "Event",
    "Hop",
    "Link",
    "PlacedExecutor",
    "Plan",
    "Reason",
    "Record",
    "Rejected",
    "Sample",
    "Trace",
    "decode",
    "encode",
]

VERSION: Final = 1
# By type, the version that brought its form, where that was not the first.
_LATER_VERSIONS: Final = {"samples": 2, "histogram": 2}
MOST_LINE_LENGTH: Final = 16 * 2**20
# What our writers spend on traces for each second of a bucket; further ones are left out.
TRACE_BYTES_PER_SECOND: Final = 256 * 2**10


def encode(record: Record) -> str:
    """The line of a record, without its end; ASCII only, keys in the order of the fields.

    What is not known is left out. Two equal records have the same line.

    Raises:
        InvalidInput: A receiver would reject it.
    """
    kind = record.type
    if isinstance(record, SampleGroup):
        fields = _plain_group(record)
    else:
        fields = _plain(record, _FIELDS[kind])
    fault = SHAPES[kind].fault(fields)
    if fault is not None:
        raise InvalidInput.single((kind,), seen=str(fault), expected="a record that receivers take")
    return f'{{"type":"{kind}","v":{version_of(kind)},{_ENCODER.encode(fields)[1:]}'


def version_of(kind: str) -> int:
    """The version that lines of a type have."""
    return _LATER_VERSIONS.get(kind, VERSION)


def decode(line: str | bytes) -> Record | Rejected:
    """The record of a line, or why there is none; never raises."""
    try:
        found = _parse(line)
    except _Unfit as unfit:
        return unfit.rejected
    version = found.pop("v", None)
    kind = found.pop("type", None)
    expected = version_of(kind) if isinstance(kind, str) else VERSION
    if type(version) is not int or version != expected:
        detail = f"v: {format_value(version)}; expected {expected}"
        reason = Reason.MISSING_KEY if version is None else Reason.UNKNOWN_VERSION
        return Rejected(reason, detail)
    if not isinstance(kind, str) or kind not in SHAPES:
        detail = f"type: {format_value(kind)}; expected {', '.join(SHAPES)}"
        return Rejected(Reason.UNKNOWN_TYPE, detail)
    fault = SHAPES[kind].fault(found)
    return build(kind, found) if fault is None else fault


def build(kind: str, found: dict[str, Any]) -> Record:
    """The record of a type from its keys, which are right and hold no nulls."""
    return _BUILDERS[kind](found)


class _Unfit(Exception):
    """Ends the parsing of a line that cannot become a record."""

    def __init__(self, reason: Reason, detail: str) -> None:
        self.rejected = Rejected(reason, detail)


def _parse(line: str | bytes) -> dict[str, Any]:
    if len(line) > MOST_LINE_LENGTH:
        raise _Unfit(Reason.TOO_LONG, f"{len(line)} long; expected at most {MOST_LINE_LENGTH}")
    try:
        found = _DECODER.decode(line.decode() if isinstance(line, bytes) else line)
    except UnicodeDecodeError as error:
        raise _Unfit(Reason.NOT_UTF8, f"byte {error.start}: {error.reason}") from None
    except json.JSONDecodeError as error:
        raise _Unfit(Reason.NOT_JSON, f"character {error.pos}: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        # Numbers of thousands of digits, and brackets in brackets without end.
        raise _Unfit(Reason.NOT_JSON, str(error)) from None
    if not isinstance(found, dict):
        raise _Unfit(Reason.NOT_AN_OBJECT, f"{format_value(found)}; expected one object")
    return found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object without its nulls: they say no more than a key that is left out."""
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [key for key, _ in pairs]
        double = next(key for key in found if names.count(key) > 1)
        raise _Unfit(Reason.DUPLICATE_KEY, f"{format_value(double)} stands twice")
    if None in found.values():
        return {key: value for key, value in pairs if value is not None}
    return found


def _no_constant(constant: str) -> NoReturn:
    raise _Unfit(Reason.NOT_FINITE, f"{constant}; expected a finite number")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant)
_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False)

_Getter = Callable[[Any], tuple[Any, ...]]


def _fields(keys: Mapping[str, object]) -> tuple[tuple[str, ...], _Getter]:
    return tuple(keys), attrgetter(*keys)


_FIELDS = {kind: _fields(shape.checks) for kind, shape in SHAPES.items()}
_PARTS = {PlacedExecutor: _fields(PLACED_EXECUTOR.checks), Hop: _fields(HOP.checks)}


def _plain(record: object, fields: tuple[tuple[str, ...], _Getter]) -> dict[str, Any]:
    """What is known of a record, as JSON has it."""
    names, values_of = fields
    plain: dict[str, Any] = {}
    for name, value in zip(names, values_of(record), strict=True):
        if value is None:
            continue
        if isinstance(value, float):
            plain[name] = _number(value)
        elif isinstance(value, tuple):
            plain[name] = [_plain(part, _PARTS[type(part)]) for part in value]
        else:
            plain[name] = value
    return plain


def _number(value: float) -> float:
    """Whole values without a point."""
    return int(value) if value.is_integer() and abs(value) < MOST_WHOLE else value


def _plain_group(group: SampleGroup) -> dict[str, Any]:
    """What is known of several samples, as JSON has it; exact counts are left out."""
    first = group.samples[0]
    plain: dict[str, Any] = {}
    for name in SHAPES[group.type].checks:
        if name in LISTS:
            plain[name] = [getattr(one, LISTS[name]) for one in group.samples]
        elif getattr(first, name) is not None:
            plain[name] = getattr(first, name)
    plain["bucket_seconds"] = _number(plain["bucket_seconds"])
    if plain["counts"] == plain["values"]:
        del plain["counts"]
    plain["values"] = [_number(value) for value in plain["values"]]
    return plain


def _sample(found: dict[str, Any]) -> Sample:
    # Adding zero turns minus zero into zero, so that equal records have equal lines.
    found["value"] = float(found["value"]) + 0.0
    found["bucket_seconds"] = float(found["bucket_seconds"])
    return Sample(**found)


def _group(found: dict[str, Any]) -> SampleGroup:
    return SampleGroup(tuple(_sample(one) for one in samples_in(found)))


def _plan(found: dict[str, Any]) -> Plan:
    found["executors"] = tuple(PlacedExecutor(**one) for one in found["executors"])
    return Plan(**found)


def _trace(found: dict[str, Any]) -> Trace:
    found["hops"] = tuple(Hop(**one) for one in found["hops"])
    return Trace(**found)


_BUILDERS: dict[str, Callable[[dict[str, Any]], Record]] = {
    Sample.type: _sample,
    "samples": _group,
    "histogram": _group,
    Plan.type: _plan,
    Trace.type: _trace,
    Link.type: lambda found: Link(**found),
    Event.type: lambda found: Event(**found),
}
