"""Times as people give them: texts with their zone, or datetimes that have one."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

from streamgauge.errors import InvalidInput

TimeLike = str | datetime

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def read_time(value: TimeLike, place: str) -> datetime:
    """The time in UTC; `place` names the argument in messages.

    Raises:
        InvalidInput: It is none, or has no zone.
    """
    time: datetime | None = None
    with suppress(ValueError):
        time = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    if time is None or time.tzinfo is None:
        raise InvalidInput.single(
            (place,), seen=repr(value), expected="a time with its zone: 2026-01-31T12:00:00Z"
        )
    return time.astimezone(UTC)


def microseconds_of(time: datetime) -> int:
    """Whole microseconds since 1970."""
    return (time - _EPOCH) // timedelta(microseconds=1)
