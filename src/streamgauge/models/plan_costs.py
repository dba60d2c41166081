"""Costs of many plans at once: bytes, CPU by phase, transport, management, and what fits.

Bedini et al. 2013: CPU of sources, bolts and topology (E1 to G1), transport (D1 to D3), bandwidth
(K1), and what follows: fewest executors, the highest rate, the floor of latency. Everything but
management is proportional to the load, so a plan is evaluated once for all rates. Nothing queues
here, and no thread disturbs another: from more threads on a node than it has cores the paper's own
measurements did not follow it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.cost_job import TO_ONE, ByDistance, CostJob, Edge
from streamgauge.models.dealt_plans import Counts, Slots, deal_all
from streamgauge.models.slot_flow import Fractions, Reach, carry, pair_fractions
from streamgauge.topology.topology import StreamKey

Vector = NDArray[np.float64]


class Phase(StrEnum):
    """What an executor does with a tuple (section 4.1, figure 3)."""

    READ = "read"
    DESERIALISE = "deserialise"
    WORK = "work"
    GROUPING = "grouping"
    SERIALISE = "serialise"


PHASES = tuple(Phase)


class Serialising(StrEnum):
    """Which executors serialise what they emit.

    FLAG: All of it, if any receiver is in another worker (E4 and F2 as printed).
    FRACTION: The part that is expected to leave.
    COPIES: The same, and each copy that leaves for itself, as Storm 2.x does it.
    """

    FLAG = "flag"
    FRACTION = "fraction"
    COPIES = "copies"


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What plans run on.

    Attributes:
        cores: Of a node.
        network_bytes_per_second: Of its network card, each way; infinite where not known.
    """

    cores: float = np.inf
    network_bytes_per_second: float = np.inf


ROUNDING = 1e-12
LIMITS = ("executor", "cores", "network")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanCosts:
    """Of plans, at the job's own load; the first axis is the plan's.

    Attributes:
        pairs: α by pairs of executors (C1 to C3, C4').
        tuples: α by tuples.
        edges: α of each edge by tuples, plans × edges; NaN where an edge carries nothing.
        emitted_bytes: T.dataSize (A6), bytes a second.
        delivered_bytes: The same with every copy.
        remote_bytes: Between nodes (K2), with what the engine adds.
        external_bytes: That sources read over the network.
        management_bytes: J2, or its bound.
        requests: To ZooKeeper a second (H1); zero where not known.
        network_bytes: The busier direction of the busiest node's card.
        cpu: Seconds on a core per second, plans × operators × phases, in the order of `PHASES`.
        transport: The same for moving tuples (D3).
        executors: Plans × operators.
        busy: Of the busiest executor of each operator, on a core or waiting, plans × operators.
        fewest: Executors that each operator needs if it divides its work evenly.
        node_cores: Cores that the busiest node needs.
        floor_seconds: The lowest latency from source to sink.
        threads: Executors on the node with most.
        unstable: Whether these are more than it has cores.
        factor: How many times the load fits.
        full: What is full then, as a place in `LIMITS`.
        active_workers: Workers that have anything to run.
    """

    pairs: Fractions
    tuples: Fractions
    edges: Fractions
    emitted_bytes: Vector
    delivered_bytes: Vector
    remote_bytes: Vector
    external_bytes: Vector
    management_bytes: Vector
    requests: Vector
    network_bytes: Vector
    cpu: Vector
    transport: Vector
    executors: Counts
    busy: Vector
    fewest: Counts
    node_cores: Vector
    floor_seconds: Vector
    threads: Counts
    unstable: NDArray[np.bool_]
    factor: Vector
    full: NDArray[np.int8]
    active_workers: Counts

    @property
    def bandwidth(self) -> Vector:
        """Bytes a second of everything (K1)."""
        return np.asarray(self.external_bytes + self.management_bytes + self.remote_bytes)

    @property
    def cores(self) -> Vector:
        """Cores that the topology needs: G1 and D3."""
        return np.asarray(self.cpu.sum(axis=(1, 2)) + self.transport)


def cost_plans(
    job: CostJob,
    slots: Slots,
    site: Site | None = None,
    *,
    serialising: Serialising = Serialising.FRACTION,
    utilisation: float = 1.0,
) -> PlanCosts:
    """The costs of plans on the same slots.

    Args:
        job: With its load.
        slots: Plans with their operators as `CostJob.operators` has them.
        site: Nodes, all alike; without limits where not given.
        serialising: Which tuples count as serialised.
        utilisation: Part of its time that an executor may be busy, for the fewest executors.
    """
    return _Evaluation(job, slots, site or Site(), serialising).evaluate(utilisation)


def cost_configurations(
    job: CostJob,
    nodes: Counts,
    executors: Counts,
    workers: Counts,
    site: Site | None = None,
    *,
    restart: bool = False,
    order: Sequence[int] | None = None,
    serialising: Serialising = Serialising.FRACTION,
) -> PlanCosts:
    """The costs of dealt configurations, in their order.

    Args:
        job: With its load.
        nodes: Of each configuration.
        executors: Configurations × operators, in the order of the topology.
        workers: On each node.
        site: Nodes, all alike.
        restart: Whether every operator is dealt from the first slot on.
        order: Operators, by their places in the topology, in the order in which they are dealt;
            that of the topology where none is given.
        serialising: Which tuples count as serialised.
    """
    dealt = np.arange(len(job.declared)) if order is None else np.asarray(order)
    # From the order of dealing to that of the topology, and to that of evaluation.
    wanted = np.argsort(dealt)[np.argsort(job.declared)]
    found, parts = [], []
    for places, slots in deal_all(nodes, executors[:, dealt], workers, restart=restart):
        sorted_slots = Slots(
            counts=slots.counts[:, wanted], first=slots.first[:, wanted], node=slots.node
        )
        found.append(places)
        parts.append(cost_plans(job, sorted_slots, site, serialising=serialising))
    return _join(parts, np.argsort(np.concatenate(found)))


def _join(parts: Sequence[PlanCosts], order: NDArray[np.intp]) -> PlanCosts:
    def join(values: list[Any]) -> Any:
        if isinstance(values[0], Fractions):
            return Fractions(*(join(list(each)) for each in zip(*values, strict=True)))
        return np.concatenate(values)[order]

    return PlanCosts(
        **{one.name: join([getattr(part, one.name) for part in parts]) for one in fields(PlanCosts)}
    )


class _Evaluation:
    """Follows the tuples of all plans from sources to sinks, and adds up what they cost."""

    def __init__(self, job: CostJob, slots: Slots, site: Site, serialising: Serialising) -> None:
        self.job, self.slots, self.site, self.serialising = job, slots, site, serialising
        shape = slots.counts.shape
        self.emitted: dict[StreamKey, Vector] = {}
        self.reach: dict[int, Reach] = {}
        self.cpu = np.zeros((shape[0], shape[1], len(PHASES)))
        self.busy = np.zeros(shape)
        # Of these, what the first executor of an operator has alone.
        self.first_busy = np.zeros(shape[:2])
        self.load = np.zeros((shape[0], shape[2]))
        self.sent_bytes, self.received_bytes = np.zeros((2, shape[0], shape[2]))
        self.external_bytes, self.transport = np.zeros((2, shape[0]))

    def evaluate(self, utilisation: float) -> PlanCosts:
        """All figures of all plans."""
        for place, name in enumerate(self.job.operators):
            self._emit(place, name)
            self._send(place, name)
        busy = self._find_busiest()
        node_cores = self.slots.sum_by_node(self.load).max(axis=1)
        network = np.maximum(
            self.slots.sum_by_node(self.sent_bytes).max(axis=1),
            self.slots.sum_by_node(self.received_bytes).max(axis=1),
        )
        factors = self._factors(busy, node_cores, network)
        threads = self.slots.most_threads
        requests, management = self._manage()
        tuples, edges = self._distances()
        return PlanCosts(
            pairs=pair_fractions(self.slots, [(e.source, e.target) for e in self.job.edges]),
            tuples=tuples,
            edges=edges,
            emitted_bytes=self._add_types(),
            delivered_bytes=self._add_edges(lambda edge, reach: reach.arrived, framed=False),
            remote_bytes=self._add_edges(lambda edge, reach: reach.from_nodes, framed=True),
            external_bytes=self.external_bytes,
            management_bytes=management,
            requests=requests,
            network_bytes=network,
            cpu=self.cpu,
            transport=self.transport,
            executors=self.slots.executors,
            busy=busy,
            fewest=np.maximum(np.ceil(self.busy.sum(axis=2) / utilisation - 1e-9), 1.0).astype(
                np.int64
            ),
            node_cores=node_cores,
            floor_seconds=self._floor(),
            threads=threads,
            unstable=threads > self.site.cores,
            factor=factors.min(axis=0),
            full=factors.argmin(axis=0).astype(np.int8),
            active_workers=self.slots.active_workers,
        )

    def _find_busiest(self) -> Vector:
        """By operator: executors of a slot are alike, but for the first of `global` grouping."""
        rows, operators = np.indices(self.first_busy.shape)
        shared = self.busy.copy()
        shared[rows, operators, self.slots.first] -= self.first_busy
        each = np.divide(
            shared, self.slots.counts, out=np.zeros_like(shared), where=self.slots.counts > 0
        )
        of_first = each[rows, operators, self.slots.first] + self.first_busy
        return np.asarray(np.maximum(each.max(axis=2), of_first))

    def _edges_into(self, place: int) -> list[tuple[int, Edge]]:
        return [(at, edge) for at, edge in enumerate(self.job.edges) if edge.target == place]

    def _edges_of(self, key: StreamKey) -> list[tuple[int, Edge]]:
        return [(at, edge) for at, edge in enumerate(self.job.edges) if edge.type == key]

    def _emit(self, place: int, name: str) -> None:
        """What an operator emits, and what its code costs."""
        types = self.job.types_of(name)
        counts = self.slots.counts[:, place].astype(np.float64)
        share = counts / counts.sum(axis=1, keepdims=True)
        if name in self.job.sources:
            for key in types:
                self.emitted[key] = self.job.emitted.get(key, 0.0) * share
                self._work(place, name, key, self.emitted[key])
                self._read_raw(name, key)
            return
        for key in types:
            self.emitted[key] = np.zeros_like(counts)
        for at, edge in self._edges_into(place):
            reach = self.reach[at]
            alone = edge.division == TO_ONE
            self._work(place, name, edge.type, reach.arrived, alone=alone)
            away = reach.from_away
            if self.serialising is Serialising.FLAG:
                away = np.where(away > 0.0, reach.arrived, 0.0)
            seconds = self.job.type_costs(edge.type).deserialise
            self._spend(place, Phase.DESERIALISE, seconds * away, alone=alone)
            for key, factor in self.job.selectivity[name, edge.type].items():
                if key in self.emitted:
                    self.emitted[key] = self.emitted[key] + factor * reach.arrived

    def _send(self, place: int, name: str) -> None:
        """Where it goes, and what sending costs."""
        into = self._edges_into(place)
        alone = bool(into) and all(edge.division == TO_ONE for _, edge in into)
        for key in self.job.types_of(name):
            sent = self.emitted[key]
            stays, copies = np.ones_like(sent), np.zeros_like(sent)
            for at, edge in self._edges_of(key):
                reach = carry(sent, self.slots, edge.source, edge.target, edge.division)
                self.reach[at] = reach
                leaves = reach.leaves
                if self.serialising is Serialising.FLAG:
                    leaves = (leaves > 0.0).astype(np.float64)
                stays = stays * (1.0 - leaves)
                copies = copies + reach.node + reach.remote
                seconds = self.job.constants.groupings.get(edge.grouping, 0.0)
                self._spend(place, Phase.GROUPING, seconds * sent, alone=alone)
                self._move(edge, reach, sent)
            serialise = self.job.type_costs(key).serialise
            times = copies if self.serialising is Serialising.COPIES else 1.0 - stays
            self._spend(place, Phase.SERIALISE, serialise * sent * times, alone=alone)

    def _work(
        self, place: int, name: str, key: StreamKey, tuples: Vector, *, alone: bool = False
    ) -> None:
        spent = self.job.spent[name, key]
        self._spend(place, Phase.READ, self.job.type_costs(key).read * tuples, alone=alone)
        self._spend(place, Phase.WORK, spent.cpu * tuples, alone=alone)
        self._keep_busy(place, spent.wait * tuples, alone=alone)

    def _spend(self, place: int, phase: Phase, seconds: Vector, *, alone: bool) -> None:
        """Seconds on a core of an operator's executors in each slot, or of its first alone."""
        self.cpu[:, place, PHASES.index(phase)] += seconds.sum(axis=1)
        self.load += seconds
        self._keep_busy(place, seconds, alone=alone)

    def _keep_busy(self, place: int, seconds: Vector, *, alone: bool) -> None:
        self.busy[:, place] += seconds
        if alone:
            self.first_busy[:, place] += seconds.sum(axis=1)

    def _read_raw(self, name: str, key: StreamKey) -> None:
        """Raw events cross the network once, to the node of the source's executor."""
        raw = self.job.constants.raw_bytes.get(name, 0.0) * self.emitted[key]
        self.external_bytes += raw.sum(axis=1)
        self.received_bytes += raw

    def _move(self, edge: Edge, reach: Reach, sent: Vector) -> None:
        """Transport of an edge's tuples, counted where they are sent (D1), and their bytes."""
        gamma = self.job.constants.transport
        moving = sent * (
            gamma.local * reach.local + gamma.node * reach.node + gamma.remote * reach.remote
        )
        self.load += moving
        self.transport += moving.sum(axis=1)
        size = self._message_bytes(edge.type)
        self.sent_bytes += size * sent * reach.remote
        self.received_bytes += size * reach.from_nodes

    def _message_bytes(self, key: StreamKey) -> float:
        size = self.job.tuple_bytes.get(key)
        return 0.0 if size is None else size + self.job.added_bytes[key]

    def _add_types(self) -> Vector:
        zero = np.zeros(len(self.slots.counts))
        return sum(
            (self.job.tuple_bytes.get(key, 0.0) * n.sum(axis=1) for key, n in self.emitted.items()),
            start=zero,
        )

    def _add_edges(self, pick: Any, *, framed: bool) -> Vector:
        total = np.zeros(len(self.slots.counts))
        for at, edge in enumerate(self.job.edges):
            size = (
                self._message_bytes(edge.type)
                if framed
                else self.job.tuple_bytes.get(edge.type, 0.0)
            )
            total += size * pick(edge, self.reach[at]).sum(axis=1)
        return total

    def _distances(self) -> tuple[Fractions, Fractions]:
        """α by tuples, of all edges together and of each."""
        far, near, all_of_it = (np.zeros((len(self.slots.counts), len(self.reach))) for _ in "123")
        for at in range(len(self.job.edges)):
            reach = self.reach[at]
            all_of_it[:, at] = reach.arrived.sum(axis=1)
            far[:, at] = reach.from_nodes.sum(axis=1)
            near[:, at] = reach.from_away.sum(axis=1) - far[:, at]
        return (
            _divide(near.sum(axis=1), far.sum(axis=1), all_of_it.sum(axis=1)),
            _divide(near, far, all_of_it),
        )

    def _factors(self, busy: Vector, node_cores: Vector, network: Vector) -> Vector:
        """By `LIMITS`, how many times the load each has room for."""
        with np.errstate(divide="ignore"):
            return np.stack(
                [
                    1.0 / busy.max(axis=1),
                    np.where(node_cores > 0.0, self.site.cores / node_cores, np.inf),
                    np.where(network > 0.0, self.site.network_bytes_per_second / network, np.inf),
                ]
            )

    def _manage(self) -> tuple[Vector, Vector]:
        constants, slots = self.job.constants, self.slots
        nodes = np.full(len(slots.counts), slots.nodes)
        workers, tasks = slots.active_workers, slots.executors.sum(axis=1)
        requests, management = np.zeros(len(nodes)), np.full(len(nodes), constants.management_bound)
        if constants.requests is not None:
            requests = constants.requests.per_second(nodes, workers)
        if constants.management is not None:
            management = constants.management.per_second(nodes, workers, tasks)
        return requests, management

    def _floor(self) -> Vector:
        """Longest way to a sink of the least that each step takes (section 6.3.1, in words).

        Grouping and serialising where a tuple is sent, transport by distance, then deserialising,
        reading and executing where it comes to.
        """
        job, latency = self.job, self.job.constants.latency
        until = np.zeros((len(self.slots.counts), len(job.operators)))
        for at, edge in enumerate(job.edges):
            reach, costs = self.reach[at], job.type_costs(edge.type)
            arrived = reach.arrived.sum(axis=1)
            parts = _divide(
                (reach.from_away - reach.from_nodes).sum(axis=1),
                reach.from_nodes.sum(axis=1),
                arrived,
            )
            away = np.nan_to_num(1.0 - parts.local)
            groupings = math.fsum(
                job.constants.groupings.get(other.grouping, 0.0)
                for _, other in self._edges_of(edge.type)
            )
            spent = job.spent[job.operators[edge.target], edge.type]
            step = (
                groupings
                + away * (costs.serialise + costs.deserialise)
                + np.nan_to_num(transfer_cost(parts, latency))
                + costs.read
                + spent.cpu
                + spent.wait
            )
            # Edges of a sender come before those of its receivers.
            until[:, edge.target] = np.maximum(until[:, edge.target], until[:, edge.source] + step)
        return np.asarray(until.max(axis=1))


def _divide(near: Vector, far: Vector, total: Vector) -> Fractions:
    def part(amount: Vector) -> Vector:
        return np.divide(amount, total, out=np.full_like(total, np.nan), where=total > 0.0)

    node, remote = part(near), part(far)
    local = 1.0 - node - remote
    # What is left of one can miss zero by a rounding.
    return Fractions(np.where(np.abs(local) < ROUNDING, 0.0, local), node, remote)


def transfer_cost(fractions: Fractions, gamma: ByDistance) -> Vector:
    """IOTransfer, the cost of moving one tuple (D1)."""
    return np.asarray(
        fractions.local * gamma.local
        + fractions.node * gamma.node
        + fractions.remote * gamma.remote
    )


def transfer_costs(
    tuples: Mapping[StreamKey, float],
    fractions: Fractions,
    gammas: Mapping[StreamKey, ByDistance],
) -> Vector:
    """IOCost of several tuple types, each with a Γ of its own (D2, D3)."""
    return np.asarray(sum(n * transfer_cost(fractions, gammas[key]) for key, n in tuples.items()))


def correlate_ranks(first: Vector, second: Vector) -> float:
    """Spearman's rank correlation, such as of α_node with measured latencies; ties share ranks."""
    one, other = (_rank(values) - (len(values) + 1) / 2.0 for values in (first, second))
    return float(one @ other / math.sqrt(float(one @ one) * float(other @ other)))


def _rank(values: Vector) -> Vector:
    _, place, times = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(times) - (times - 1) / 2.0)[place.reshape(-1)])
