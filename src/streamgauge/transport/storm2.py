"""Storm 2.x: the sender's own thread puts a tuple into the receiver's or transfer queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from streamgauge.topology.configuration import Setting
from streamgauge.topology.logical_plan import TaskOrder
from streamgauge.topology.physical_plan import ConnectionType
from streamgauge.topology.tuple_flow import Element, Hops
from streamgauge.transport.mechanics import (
    NO_LIMIT,
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
    ConnectionType.LOCAL: (Element.QUEUE,),
    ConnectionType.INTER_LOCAL: (Element.TRANSFER, Element.RECEIVE, Element.QUEUE),
    ConnectionType.REMOTE: (
        Element.TRANSFER,
        Element.NETWORK,
        Element.RECEIVE,
        Element.QUEUE,
    ),
}

# An idle bolt parks 1,000 times, each for about 75 µs (measured), before it sleeps.
PARK_SECONDS = 75e-6
DEFAULTS = Mechanics(
    receive_limit=1 << 15,
    transfer_limit=1 << 10,
    bolt_spin=1000 * PARK_SECONDS,
    bolt_sleep=sleep_milliseconds(1),
    source_sleep=sleep_milliseconds(1),
    transfer_sleep=sleep_milliseconds(1),
    sleep_jitter=SLEEP_JITTER,
    # One polling thread used 0.3 of a core, 16 used 1.0, 64 two (measured on two cores).
    poll_cores=0.3,
    poll_growth=0.434,
    load_aware=True,
)

SETTINGS: Mapping[str, Reader] = {
    "topology.producer.batch.size": ("batch", whole),
    "topology.batch.flush.interval.millis": ("flush_seconds", milliseconds),
    "topology.executor.receive.buffer.size": ("receive_limit", power_of_two),
    "topology.transfer.buffer.size": ("transfer_limit", power_of_two),
    "topology.executor.overflow.limit": (
        "overflow_limit",
        lambda tuples: whole(tuples) if tuples else NO_LIMIT,
    ),
    "topology.bolt.wait.progressive.level2.count": (
        "bolt_spin",
        lambda parks: parks * PARK_SECONDS,
    ),
    "topology.bolt.wait.progressive.level3.sleep.millis": ("bolt_sleep", sleep_milliseconds),
    "topology.spout.wait.progressive.level3.sleep.millis": ("source_sleep", sleep_milliseconds),
    "topology.disable.loadaware.messaging": ("load_aware", lambda off: not off),
    "topology.localityaware.higher.bound": ("widen_load", float),
    "topology.localityaware.lower.bound": ("narrow_load", float),
    "topology.backpressure.check.millis": ("pressure_seconds", milliseconds),
    "topology.max.spout.pending": ("max_pending", whole),
    "topology.message.timeout.secs": ("time_out_seconds", float),
}


def mechanics(settings: Mapping[str, Setting]) -> Mechanics:
    """Storm 2.x under those settings."""
    configured = configure_mechanics(DEFAULTS, SETTINGS, settings)
    # Flush tuples arrive before a bolt's polling ends, so it never sleeps.
    return replace(configured, bolt_sleep=0.0) if configured.batch > 1 else configured


TRANSPORT = Transport(
    hops=HOPS, task_order=TaskOrder.ALPHABETICAL, mechanics=mechanics, settings=tuple(SETTINGS)
)
