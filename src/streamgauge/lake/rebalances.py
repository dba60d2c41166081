"""How long a topology needed after it was rebalanced until its sources emitted as before."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from statistics import median

import pyarrow.dataset as ds

from streamgauge.errors import NotEnoughData
from streamgauge.lake.records import EventKind
from streamgauge.lake.schemas import EVENTS
from streamgauge.lake.source_rates import SHORT_WINDOW, RateQuestion, source_rates
from streamgauge.lake.tables import Lake

# How long before an event tells what was usual, and how long after it is waited for that.
BEFORE, AFTER = timedelta(minutes=2), timedelta(minutes=15)
# Part of the usual rate from which sources are back, and events that are looked at.
BACK, MOST_EVENTS = 0.9, 10


def rebalance_seconds(lake: Lake, topology: str, cluster: str | None = None) -> list[float]:
    """Seconds of the newest rebalances; nothing where none can be told."""
    times = _list_rebalances(lake, topology, cluster)[-MOST_EVENTS:]
    found = (_recover(lake, topology, cluster, one) for one in times)
    return [one for one in found if one is not None]


def _list_rebalances(lake: Lake, topology: str, cluster: str | None) -> list[datetime]:
    where = (ds.field("topology") == topology) & (ds.field("kind") == EventKind.REBALANCE.value)
    if cluster is not None:
        where &= ds.field("cluster") == cluster
    rows = lake.table(EVENTS.name).read(["happened_at"], where).read_all()
    return sorted(rows.column("happened_at").to_pylist())


def _recover(lake: Lake, topology: str, cluster: str | None, event: datetime) -> float | None:
    """Seconds until sources emit as before; None where they do not, or nothing was measured."""
    question = RateQuestion(
        topology=topology,
        cluster=cluster,
        start=event - BEFORE,
        end=event + AFTER,
        window_seconds=SHORT_WINDOW,
    )
    try:
        rates = source_rates(lake, question)
    except NotEnoughData:
        return None
    totals: dict[datetime, float] = {}
    for one in rates:
        for start, rate in zip(one.starts, one.per_second, strict=True):
            totals[start] = totals.get(start, 0.0) + rate
    return find_recovery(list(totals.items()), event)


def find_recovery(windows: Sequence[tuple[datetime, float]], event: datetime) -> float | None:
    """Seconds from an event until the end of the first window with the usual rate.

    Args:
        windows: Begins and rates, windows being `SHORT_WINDOW` long.
        event: What is usual was so before it; windows that hold it count as after.
    """
    length = timedelta(seconds=SHORT_WINDOW)
    before = [rate for start, rate in windows if start + length <= event]
    if not before:
        return None
    usual, was_away, known_until = median(before), False, event
    for start, rate in sorted(windows):
        if start + length <= event:
            continue
        # A gap is a time in which nobody measured: workers were away.
        was_away |= start > known_until
        known_until = start + length
        is_back = rate >= BACK * usual
        # Workers of the old plan go on for a while.
        if is_back and was_away:
            return (start + length - event).total_seconds()
        was_away |= not is_back
    # A pause shorter than a window, or none at all.
    return None if was_away else SHORT_WINDOW
