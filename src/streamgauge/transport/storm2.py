"""Storm 2.x: the sender's own thread puts a tuple into the receiver's or transfer queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from streamgauge.topology.configuration import Setting
from streamgauge.topology.logical_plan import TaskOrder
from streamgauge.topology.physical_plan import ConnectionType
from streamgauge.topology.tuple_flow import Element, Hops
from streamgauge.transport.costs import Cost, EngineCosts, MessageBytes
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

# Workers of Storm 2.8 on two cores that were otherwise idle: network threads 0.031 cores, transfer
# thread 0.017, timers 0.005, agent 0.005, compiler 0.008. For a message, three workers with a few
# hundred a second, in their first minute (tests/engines/storm/data/agent-lines.jsonl.gz): transfer
# threads 4.7 µs; the collector 0.1 µs a tuple. In that minute network and transfer threads used
# half as much and all else twice as much, so deviations are large. What a message costs its
# receiver was not measured; what handling a tuple costs is taken for none, as CPU time of executors
# mostly contains it. `python -m benchmarks --only engine_costs` measures (docs/worker-cpu.md).
COSTS = EngineCosts(
    network_cores=Cost(0.048, 0.016),
    worker_cores=Cost(0.018, 0.012),
    sent_seconds=Cost(5e-6, 3e-6),
    received_seconds=Cost(3e-6, 3e-6),
    executed_seconds=Cost(0.1e-6, 0.1e-6),
    handled_seconds=Cost(0.0, 5e-6),
    polling=Cost(1.0, 0.3),
    waking=Cost(1.0, 0.3),
)
# Storm 2.8.3's own serializer, of tuples with random ids as ackers get them; the frame is a number
# of two bytes for the task and one of four for the length, and a batch ends with a number of two.
MESSAGE_BYTES = MessageBytes(frame=6.0, batch=2.0, root=16.0, init=27.0, ack=24.0, answer=16.0)
# An idle bolt parks 1,000 times, each for about 75 µs (measured), before it sleeps.
PARK_SECONDS = 75e-6
DEFAULTS = Mechanics(
    batch=1,
    flush_seconds=0.001,
    receive_limit=1 << 15,
    transfer_limit=1 << 10,
    bolt_spin=1000 * PARK_SECONDS,
    bolt_sleep=sleep_milliseconds(1),
    source_sleep=sleep_milliseconds(1),
    transfer_sleep=sleep_milliseconds(1),
    sleep_jitter=SLEEP_JITTER,
    # Of 1, 4, 16 and 64 threads that park all the time: 0.235, 0.59, 1.05 and 2.0 cores (measured).
    poll_cores=0.235,
    poll_growth=0.56,
    # The same of threads that sleep a millisecond at a time: 0.020, 0.055, 0.138, 0.35 to 0.44.
    wake_seconds=0.020 * sleep_milliseconds(1),
    wake_growth=0.7,
    load_aware=True,
    widen_load=0.8,
    narrow_load=0.2,
    costs=COSTS,
    message_bytes=MESSAGE_BYTES,
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
