"""Storm 2.x: the sender's own thread puts a tuple into the receiver's or transfer queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from streamgauge.topology.configuration import Setting
from streamgauge.topology.logical_plan import TaskOrder
from streamgauge.topology.physical_plan import ConnectionType
from streamgauge.topology.tuple_flow import Element, Hops
from streamgauge.transport.costs import Cost, EngineCosts
from streamgauge.transport.mechanics import (
    NO_LIMIT,
    Mechanics,
    Reader,
    Transport,
    configure_mechanics,
    milliseconds,
    power_of_two,
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

# Three workers of Storm 2.8.3 with a few hundred messages a second, in the first minute (recorded
# in tests/engines/storm/data/agent-lines.jsonl.gz): transfer threads 0.0073 cores and 4.7 µs a
# message, network threads 0.0165, all else 0.033 to 0.044, the collector 0.1 µs a tuple. What a
# message costs its receiver was not measured there; what handling a tuple costs is taken for none,
# as CPU time of executors mostly contains it. `python -m benchmarks --only engine_costs` measures.
COSTS = EngineCosts(
    network_cores=Cost(0.024, 0.008),
    worker_cores=Cost(0.035, 0.015),
    sent_seconds=Cost(5e-6, 3e-6),
    received_seconds=Cost(3e-6, 3e-6),
    executed_seconds=Cost(0.1e-6, 0.1e-6),
    handled_seconds=Cost(0.0, 5e-6),
    polling=Cost(1.0, 0.3),
    waking=Cost(1.0, 0.3),
)
# An idle bolt parks 1,000 times, each for about 55 µs (measured), before it sleeps.
PARK_SECONDS = 55e-6
DEFAULTS = Mechanics(
    receive_limit=1 << 15,
    transfer_limit=1 << 10,
    bolt_spin=1000 * PARK_SECONDS,
    bolt_sleep=0.001,
    source_sleep=0.001,
    transfer_sleep=0.001,
    # One polling thread used 0.3 of a core, 16 used 1.0, 64 two (measured on two cores).
    poll_cores=0.3,
    poll_growth=0.434,
    # 64 threads that sleep a millisecond at a time used 0.44 cores (measured).
    wake_seconds=6.9e-6,
    load_aware=True,
    costs=COSTS,
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
    "topology.bolt.wait.progressive.level3.sleep.millis": ("bolt_sleep", milliseconds),
    "topology.spout.wait.progressive.level3.sleep.millis": ("source_sleep", milliseconds),
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
