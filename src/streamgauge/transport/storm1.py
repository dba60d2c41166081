"""Storm 1.x: every executor has a send thread, every worker a transfer thread.

Cooper 2020, section 4.1.2 (tuple flow plan).
"""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.topology.configuration import Setting
from streamgauge.topology.logical_plan import TaskOrder
from streamgauge.topology.physical_plan import ConnectionType
from streamgauge.topology.tuple_flow import Element, Hops
from streamgauge.transport import storm2
from streamgauge.transport.mechanics import (
    SLEEP_JITTER,
    Mechanics,
    Reader,
    Transport,
    configure_mechanics,
    milliseconds,
    power_of_two,
    sleep_milliseconds,
    whole,
)

HOPS: Hops = {
    ConnectionType.LOCAL: (Element.SEND, Element.QUEUE),
    ConnectionType.INTER_LOCAL: (
        Element.SEND,
        Element.TRANSFER,
        Element.RECEIVE,
        Element.QUEUE,
    ),
    ConnectionType.REMOTE: (
        Element.SEND,
        Element.TRANSFER,
        Element.NETWORK,
        Element.RECEIVE,
        Element.QUEUE,
    ),
}

# Blocking queues wake their consumer at once; only a source sleeps.
DEFAULTS = Mechanics(
    send_threads=True,
    batch=100,
    receive_limit=1024,
    send_limit=1024,
    transfer_limit=1024,
    source_sleep=sleep_milliseconds(1),
    sleep_jitter=SLEEP_JITTER,
    wake_seconds=storm2.DEFAULTS.wake_seconds,
    wake_growth=storm2.DEFAULTS.wake_growth,
    # Not measured: those of Storm 2.x, of which one is half as sure.
    costs=storm2.COSTS.less_sure(2.0),
    message_bytes=storm2.MESSAGE_BYTES,
)

SETTINGS: Mapping[str, Reader] = {
    "topology.disruptor.batch.size": ("batch", whole),
    "topology.disruptor.batch.timeout.millis": ("flush_seconds", milliseconds),
    "topology.executor.receive.buffer.size": ("receive_limit", power_of_two),
    "topology.executor.send.buffer.size": ("send_limit", power_of_two),
    "topology.transfer.buffer.size": ("transfer_limit", power_of_two),
    "topology.sleep.spout.wait.strategy.time.ms": ("source_sleep", sleep_milliseconds),
    "topology.max.spout.pending": ("max_pending", whole),
    "topology.message.timeout.secs": ("time_out_seconds", float),
    "topology.backpressure.enable": ("watermarks", lambda on: (0.9, 0.4) if on else None),
}


def mechanics(settings: Mapping[str, Setting]) -> Mechanics:
    """Storm 1.x under those settings."""
    return configure_mechanics(DEFAULTS, SETTINGS, settings)


TRANSPORT = Transport(
    hops=HOPS, task_order=TaskOrder.DECLARED, mechanics=mechanics, settings=tuple(SETTINGS)
)
