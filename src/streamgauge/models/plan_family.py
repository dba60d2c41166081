"""Plan families: what all plans of one job with the same executors have in common.

Planners predict many placements of the same executors. What follows from the job and its executors
alone, wherever these run, is found once for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.routing import KEYED, keyed_shares
from streamgauge.models.traffic_equations import Conversion, find_conversion
from streamgauge.models.worker_cpu import scale_polling
from streamgauge.topology.grouping import LocalOrShuffle
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import OperatorKind, Subscription
from streamgauge.topology.tuple_flow import Hops, Matrix, TupleFlow, check_size, derive_shares
from streamgauge.transport.engine import load_engine
from streamgauge.transport.mechanics import Mechanics


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanFamily:
    """All plans of a logical plan's executors.

    Attributes:
        hops: What lies on a connection of each type.
        mechanics: Of the engine, with idle threads that use as much as was learned.
        conversions: What processors make of tuples.
        shares: Of streams that are divided in the same way wherever executors run.
        keyed: Of streams whose keys decide; None where these are not known.
    """

    behaviour: JobBehaviour
    logical: LogicalPlan
    hops: Hops
    mechanics: Mechanics
    conversions: Mapping[str, Conversion]
    shares: Mapping[Subscription, Matrix]
    keyed: Mapping[Subscription, Matrix | None]

    @classmethod
    def of(
        cls, behaviour: JobBehaviour, logical: LogicalPlan, known: PlanFamily | None = None
    ) -> PlanFamily:
        """The family of a job's plans with these executors: `known`, if it is that one."""
        if known is not None and known.behaviour is behaviour and known.logical == logical:
            return known
        check_size(logical)
        configuration, topology = logical.configuration, logical.topology
        engine = load_engine(configuration.engine)
        mechanics = scale_polling(engine.mechanics(configuration.settings), behaviour.costs)
        return cls(
            behaviour=behaviour,
            logical=logical,
            hops=engine.hops,
            mechanics=mechanics,
            conversions={
                one.name: find_conversion(logical, one.name, behaviour, mechanics)
                for one in topology.operators
                if one.kind is OperatorKind.PROCESSOR
            },
            shares={
                stream.subscription: derive_shares(logical, stream)
                for stream in topology.streams
                if not isinstance(stream.grouping, LocalOrShuffle)
            },
            keyed={
                stream.subscription: keyed_shares(logical, stream, behaviour)
                for stream in topology.data_streams
                if isinstance(stream.grouping, KEYED)
            },
        )

    def connect(self, plan: PhysicalPlan) -> TupleFlow:
        """The connections of one of the plans."""
        return TupleFlow.of(plan, self.hops, self.shares)
