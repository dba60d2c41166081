"""Which metrics are summed, and how."""

from streamgauge.lake.metrics import METRICS
from streamgauge.pipeline.calibrate.lake_parts import (
    COUNTERS,
    GAUGES,
    HEARTBEATS,
    MEANS,
    SQUARED,
    STAND_INS,
    WANTED,
)


def test_what_is_wanted_is_summed_in_one_way():
    assert HEARTBEATS in WANTED
    assert METRICS.keys() >= WANTED
    assert not GAUGES & MEANS
    assert not SQUARED & (GAUGES | MEANS)
    # Bins are counts too, but nobody asks how they vary.
    assert "execute_latency_bin" in WANTED - SQUARED
    assert "executed_total" in COUNTERS & SQUARED


def test_stand_ins_and_what_they_stand_in_for_are_wanted_and_differ():
    for metric, exact in STAND_INS.items():
        assert metric.label in WANTED
        assert all(one.label in WANTED and one not in STAND_INS for one in exact)
        assert metric.level is exact[0].level
