"""How long rebalances took: from the event until sources emit as before."""

import pytest

from streamgauge.lake.rebalances import find_recovery, rebalance_seconds
from tests.lake.small_lakes import RECEIPT, after, lake_of, put, sample


def windows(*rates, gap=()):
    return [(after(10.0 * at), rate) for at, rate in enumerate(rates) if at not in gap]


@pytest.mark.parametrize(
    ("rates", "gap", "seconds"),
    [
        # The event is after 30 s; the window that ends at 70 s is the first as before.
        ((20, 20, 20, 0, 0, 5, 20, 20), (), 40.0),
        # Workers of the old plan go on for a window.
        ((20, 20, 20, 20, 0, 20), (), 30.0),
        # Nobody measured while workers were away.
        ((20, 20, 20, 0, 0, 20, 20), (3, 4), 30.0),
        ((20, 20, 20, 19, 20, 20), (), 10.0),
        ((20, 20, 20, 0, 0, 0), (), None),
    ],
)
def test_sources_are_back_at_nine_tenths_of_the_usual_rate(rates, gap, seconds):
    assert find_recovery(windows(*rates, gap=gap), after(30)) == seconds


def test_without_a_past_nothing_is_usual():
    assert find_recovery(windows(20, 20), after(0)) is None


def test_events_of_the_topology_are_looked_up_in_the_lake(tmp_path):
    named = {"component": "sentences", "stream": "default", "source_component": None}
    rates = [200] * 6 + [0] * 3 + [200] * 6
    lake = lake_of(
        tmp_path, *(sample("emitted", 10 * at, rate, **named) for at, rate in enumerate(rates))
    )
    events = [
        RECEIPT | {"topology": topology, "happened_at": after(60), "kind": kind}
        for topology, kind in (("words", "rebalance"), ("words", "start"), ("other", "rebalance"))
    ]
    put(lake.table("events"), events)
    assert rebalance_seconds(lake, "words") == [40.0]
    assert rebalance_seconds(lake, "none") == []
