"""A container whose router every tuple passes, simulated: what measures a router's limit.

The router of a Heron container is one process that serves one tuple after the other. Here it is an
operator with one executor between sources and receivers. Each source emits at its own rate; the
router's queue is bounded, and sources are held back while it is full.
"""

from __future__ import annotations

from dataclasses import dataclass

from streamgauge.planning.packing.router_limit import RouterReading
from streamgauge.profile.behaviour import Behaviour, Service
from streamgauge.profile.distribution import Constant, Fixed
from streamgauge.topology.cluster import Cluster
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.grouping import Shuffle
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import Operator, OperatorKind, Stream, Topology
from streamgauge.topology.workload import Emission, Workload

SOURCE, ROUTER, RECEIVER = "source", "router", "receiver"
# Cores beside the router's, so that nothing else can be the bottleneck.
ROOM = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedRouter:
    """Pairs in one container.

    Attributes:
        router_ms: Time of one tuple in the router.
        source_per_second: What one source emits.
        seconds: Simulated time of a measurement.
    """

    router_ms: float
    source_per_second: float
    seconds: float = 10.0
    seed: int = 1

    def measure(self, pairs: int) -> RouterReading:
        """What so many pairs do."""
        from streamgauge.simulation.topology_run import simulate

        result = simulate(
            self._plan(pairs),
            self._behaviours(),
            Workload(
                emissions=(Emission(source=SOURCE, per_second=pairs * self.source_per_second),)
            ),
            seconds=self.seconds,
            warmup=self.seconds / 5.0,
            seed=self.seed,
        )
        sources, router = result.operators[SOURCE], result.operators[ROUTER]
        return RouterReading(
            per_second=router.executed_per_second,
            queue_full=max(sources.blocked, sources.throttled),
            busy=router.utilisation,
        )

    def _behaviours(self) -> dict[str, Behaviour]:
        return {
            ROUTER: Behaviour(
                service=Service(cpu_ms=Constant(value=self.router_ms)),
                outputs={"default": Fixed(mean=1.0)},
            ),
            RECEIVER: Behaviour(service=Service(cpu_ms=Constant(value=self.router_ms / 100.0))),
        }

    @staticmethod
    def _plan(pairs: int) -> PhysicalPlan:
        topology = Topology(
            name="router",
            operators=(
                Operator(name=SOURCE, kind=OperatorKind.SOURCE, tasks=pairs),
                Operator(name=ROUTER),
                Operator(name=RECEIVER, tasks=pairs),
            ),
            streams=(
                Stream(source=SOURCE, target=ROUTER, grouping=Shuffle()),
                Stream(source=ROUTER, target=RECEIVER, grouping=Shuffle()),
            ),
        )
        configuration = Configuration(executors={SOURCE: pairs, RECEIVER: pairs})
        logical = LogicalPlan.of(topology, configuration)
        cluster = Cluster.uniform(nodes=1, cores=2.0 * pairs + ROOM)
        return PhysicalPlan.from_slots(
            logical, cluster, cluster.slots, [0] * len(logical.executors)
        )
