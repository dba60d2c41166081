"""The engines Storm 1.x and Storm 2.x, by their parts."""

from __future__ import annotations

from streamgauge.transport.engine import Engine

_COLLECTORS = {"storm": "streamgauge.cli.storm_collect:collect_storm"}

STORM_1 = Engine(
    name="storm-1",
    transport="streamgauge.transport.storm1:TRANSPORT",
    delays="streamgauge.models.storm_delays:storm1_delays",
    rebalance="streamgauge.engines.storm.applying:rebalance_command",
    apply="streamgauge.engines.storm.applying:apply_command",
    busy_waits="streamgauge.engines.storm.busy_wait:time_busy_waits",
    collectors=_COLLECTORS,
)

STORM_2 = Engine(
    name="storm-2",
    transport="streamgauge.transport.storm2:TRANSPORT",
    delays="streamgauge.models.storm_delays:storm2_delays",
    rebalance="streamgauge.engines.storm.applying:rebalance_command",
    apply="streamgauge.engines.storm.applying:apply_command",
    busy_waits="streamgauge.engines.storm.busy_wait:time_busy_waits",
    runners={"storm": "streamgauge.engines.storm.session:StormRunner"},
    collectors=_COLLECTORS,
    commands={"storm": "streamgauge.cli.storm:app"},
)
