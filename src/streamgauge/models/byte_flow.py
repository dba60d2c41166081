"""Bytes: how much data a plan moves, within workers, between them, and through network cards.

Bedini et al. 2013, section 3.1 (A1 to A6): what is emitted is rate · size, summed over the streams
of all operators; each stream is a tuple type. What is delivered counts every copy: for each
subscriber, and with `all` grouping for each of its tasks. Between workers a tuple has the engine's
frame around it and the ids of its trees with it (`MessageBytes`), and acknowledgements are bytes
too. Messages that a worker has for another when its transfer thread looks are one batch: of
Poisson arrivals at a rate r that thread, which looks every s seconds, finds some with probability
1 − e^(−rs), so that a message has (1 − e^(−rs))/(rs) of a batch's end. Headers of TCP, IP and
Ethernet are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.acks import roots_per_tuple
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.traffic_equations import Traffic
from streamgauge.models.worker_cpu import machine_of_worker
from streamgauge.topology.topology import ACK_INIT, ACKER, Stream, StreamKey, Topology
from streamgauge.topology.tuple_flow import (
    CONNECTION_TYPES,
    ConnectionBlock,
    as_slice,
    locate_nodes,
)
from streamgauge.transport.costs import MessageBytes
from streamgauge.transport.mechanics import Mechanics

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamBytes:
    """The bytes of one subscription.

    Attributes:
        stream: ``SOURCE/NAME → TARGET``.
        key: Its sender and name: the tuple type.
        is_system: Whether the engine sends it, not the job.
        tuple_bytes: Mean size of a serialised tuple; None where it is not known, and the figures
            below are then None as well.
        message_bytes: The same as it crosses workers.
        emitted_bytes_per_second: By the sender, whoever subscribes.
        delivered_bytes_per_second: All copies for this subscriber, wherever they go.
        local_bytes_per_second: Of these, what stays in its worker, never serialised.
        inter_worker_bytes_per_second: Messages between workers of one node.
        remote_bytes_per_second: Messages between nodes.
    """

    stream: str
    key: StreamKey
    is_system: bool
    tuple_bytes: float | None
    message_bytes: float | None = None
    emitted_bytes_per_second: float | None = None
    delivered_bytes_per_second: float | None = None
    local_bytes_per_second: float | None = None
    inter_worker_bytes_per_second: float | None = None
    remote_bytes_per_second: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeBytes:
    """Bytes a second that a worker, a node or a machine sends to others, and gets from others."""

    name: str
    sent_bytes_per_second: float
    received_bytes_per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineBytes(NodeBytes):
    """The same through a network card.

    Attributes:
        network_bytes_per_second: What the card carries each way; None where that is not known.
    """

    network_bytes_per_second: float | None = None

    @property
    def busiest(self) -> float:
        """The busier direction."""
        return max(self.sent_bytes_per_second, self.received_bytes_per_second)

    @property
    def in_use(self) -> float | None:
        """The part of the busier direction that is in use."""
        speed = self.network_bytes_per_second
        return None if speed is None else self.busiest / speed


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteFlow:
    """The bytes of a plan.

    Attributes:
        streams: In the order of the topology, the engine's own last.
        unknown: Streams of the job whose tuples' size is not known: sums are then too low.
    """

    streams: tuple[StreamBytes, ...]
    workers: tuple[NodeBytes, ...]
    nodes: tuple[NodeBytes, ...]
    machines: tuple[MachineBytes, ...]
    unknown: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether the size of any of the job's tuples is known."""
        return any(one.tuple_bytes is not None for one in self.streams if not one.is_system)

    def emitted(self, operators: Iterable[str] | None = None) -> float:
        """T.dataSize (A6): bytes a second that operators emit, each stream once; of all or some."""
        chosen = None if operators is None else set(operators)
        by_key = {one.key: one for one in self.streams if not one.is_system}
        return math.fsum(
            one.emitted_bytes_per_second or 0.0
            for key, one in by_key.items()
            if chosen is None or key.source in chosen
        )

    def total(self, figure: str, *, system: bool = True) -> float:
        """The sum over all subscriptions of a figure, such as ``remote_bytes_per_second``."""
        return math.fsum(
            getattr(one, figure) or 0.0 for one in self.streams if system or not one.is_system
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return asdict(self) | {
            "emitted_bytes_per_second": self.emitted(),
            **{
                name: self.total(name)
                for name in (
                    "delivered_bytes_per_second",
                    "local_bytes_per_second",
                    "inter_worker_bytes_per_second",
                    "remote_bytes_per_second",
                )
            },
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Crossings:
    """Bytes a second by worker, by node and by machine, sent to others and got from others."""

    workers: tuple[Vector, Vector]
    nodes: tuple[Vector, Vector]
    machines: tuple[Vector, Vector]


def message_sizes(traffic: Traffic, behaviour: JobBehaviour) -> dict[StreamKey, float | None]:
    """Bytes of a serialised tuple of every stream, without what the engine adds; None: unknown."""
    topology, own = traffic.flow.plan.logical.topology, traffic.mechanics.message_bytes
    return {stream.key: _size(stream, behaviour, own) for stream in topology.streams}


def system_size(key: StreamKey, own: MessageBytes) -> float:
    """Bytes of one of the engine's own messages, serialised."""
    if key.source == ACKER:
        return own.answer
    return own.init if key.name == ACK_INIT else own.ack


def _size(stream: Stream, behaviour: JobBehaviour, own: MessageBytes) -> float | None:
    if stream.is_system:
        return system_size(stream.key, own)
    operator = behaviour.operators.get(stream.source)
    size = None if operator is None else operator.bytes.get(stream.name)
    return None if size is None else float(size)


def find_crossings(traffic: Traffic, behaviour: JobBehaviour) -> Crossings:
    """What crosses workers, nodes and machines; streams of unknown size count for nothing."""
    plan = traffic.flow.plan
    worker = np.asarray(plan.placement, dtype=np.intp)
    node = locate_nodes(plan)
    machine = machine_of_worker(plan)[worker]
    counts = (len(plan.workers), len(plan.nodes), len(plan.cluster.machines))
    sums = [(np.zeros(count), np.zeros(count)) for count in counts]
    sizes, added, ends = message_sizes(traffic, behaviour), _added(traffic), _batch_ends(traffic)
    for block in traffic.flow.blocks:
        key = block.stream.key
        size = sizes[key]
        if not size:
            continue
        sent = _message_rates(block, traffic) * (size + added[key] + _at(block, ends, worker))
        for place, bytes_at in zip((worker, node, machine), sums, strict=True):
            senders, receivers = place[as_slice(block.sources)], place[as_slice(block.targets)]
            away = np.where(np.not_equal.outer(senders, receivers), sent, 0.0)
            np.add.at(bytes_at[0], senders, away.sum(axis=1))
            np.add.at(bytes_at[1], receivers, away.sum(axis=0))
    workers, nodes, machines = sums
    return Crossings(workers=workers, nodes=nodes, machines=machines)


def _message_rates(block: ConnectionBlock, traffic: Traffic) -> Vector:
    """Tuples a second from each sender of a block to each receiver."""
    return np.asarray(traffic.rates.emitted[block.stream.key][:, np.newaxis] * block.shares)


def _at(block: ConnectionBlock, by_workers: Vector, worker: NDArray[np.intp]) -> Vector:
    """Of each sender and receiver of a block what pairs of workers have."""
    senders, receivers = worker[as_slice(block.sources)], worker[as_slice(block.targets)]
    return by_workers[np.ix_(senders, receivers)]


def _batch_ends(traffic: Traffic) -> Vector:
    """Bytes at the ends of batches for each message, by sending and receiving worker."""
    plan, mechanics = traffic.flow.plan, traffic.mechanics
    worker = np.asarray(plan.placement, dtype=np.intp)
    rates = np.zeros((len(plan.workers), len(plan.workers)))
    for block in traffic.flow.blocks:
        senders, receivers = worker[as_slice(block.sources)], worker[as_slice(block.targets)]
        np.add.at(rates, np.ix_(senders, receivers), _message_rates(block, traffic))
    np.fill_diagonal(rates, 0.0)
    batches = count_batches(rates, mechanics)
    return mechanics.message_bytes.batch * np.divide(
        batches, rates, out=np.ones_like(rates), where=rates > 0.0
    )


def count_batches(messages: Vector, mechanics: Mechanics) -> Vector:
    """Batches a second that so many messages a second from one worker to another are."""
    # What waits for a list to fill or be flushed waits as long as for a thread that sleeps.
    asleep = mechanics.transfer_sleep or mechanics.flush_seconds
    return np.asarray(-np.expm1(-messages * asleep) / asleep)


def _added(traffic: Traffic) -> dict[StreamKey, float]:
    """What the engine adds to a tuple of each stream: its frame, and the ids of its trees."""
    topology, own = traffic.flow.plan.logical.topology, traffic.mechanics.message_bytes
    roots: Mapping[StreamKey, float] = roots_per_tuple(traffic) if topology.has_ackers else {}
    return {
        stream.key: own.frame + own.root * roots.get(stream.key, 0.0) for stream in topology.streams
    }


def find_byte_flow(traffic: Traffic, behaviour: JobBehaviour, crossings: Crossings) -> ByteFlow:
    """The bytes of a plan by stream, worker, node and machine."""
    plan = traffic.flow.plan
    sizes, added, ends = message_sizes(traffic, behaviour), _added(traffic), _batch_ends(traffic)
    worker = np.asarray(plan.placement, dtype=np.intp)
    streams = [
        _describe(
            block,
            traffic.rates.emitted[block.stream.key],
            sizes[block.stream.key],
            added[block.stream.key] + _at(block, ends, worker),
        )
        for block in traffic.flow.blocks
    ]
    names = [str(worker) for worker in plan.workers]
    return ByteFlow(
        streams=tuple(sorted(streams, key=lambda one: one.is_system)),
        workers=tuple(NodeBytes(**one) for one in _name(names, crossings.workers)),
        nodes=tuple(NodeBytes(**one) for one in _name(plan.nodes, crossings.nodes)),
        machines=tuple(
            MachineBytes(
                **one,
                network_bytes_per_second=machine.network_bytes_per_second
                if machine.network_gbit_per_second is not None
                else None,
            )
            for machine, one in zip(
                plan.cluster.machines,
                _name([one.name for one in plan.cluster.machines], crossings.machines),
                strict=True,
            )
        ),
        unknown=tuple(dict.fromkeys(_list_unknown(plan.logical.topology, sizes))),
    )


def _describe(
    block: ConnectionBlock, emitted: Vector, size: float | None, added: Vector
) -> StreamBytes:
    stream = block.stream
    name = f"{stream.key} → {stream.target}"
    if size is None:
        return StreamBytes(stream=name, key=stream.key, is_system=False, tuple_bytes=None)
    by_pair = emitted[:, np.newaxis] * block.shares
    local, near, far = (
        float(by_pair[block.types == kind].sum()) for kind in range(len(CONNECTION_TYPES))
    )
    messages = by_pair * (size + added)
    between, remote = (float(messages[block.types == kind].sum()) for kind in (1, 2))
    apart = near + far
    return StreamBytes(
        stream=name,
        key=stream.key,
        is_system=stream.is_system,
        tuple_bytes=size,
        message_bytes=(between + remote) / apart if apart > 0.0 else size + float(added.mean()),
        emitted_bytes_per_second=float(emitted.sum()) * size,
        delivered_bytes_per_second=(local + near + far) * size,
        local_bytes_per_second=local * size,
        inter_worker_bytes_per_second=between,
        remote_bytes_per_second=remote,
    )


def _name(names: Iterable[str], amounts: tuple[Vector, Vector]) -> Iterator[dict[str, Any]]:
    for name, sent, received in zip(names, *amounts, strict=True):
        yield {
            "name": name,
            "sent_bytes_per_second": float(sent),
            "received_bytes_per_second": float(received),
        }


def _list_unknown(topology: Topology, sizes: Mapping[StreamKey, float | None]) -> Iterator[str]:
    for stream in topology.data_streams:
        if sizes[stream.key] is None:
            yield str(stream.key)
