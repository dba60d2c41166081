"""The nouns: what a streaming job is and how it is laid out on a cluster."""

from streamgauge.topology.cluster import Cluster, Link, Machine, Node, Slot
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.grouping import (
    All,
    Custom,
    Direct,
    Fields,
    Global,
    Grouping,
    LocalOrShuffle,
    PartialKey,
    Shuffle,
)
from streamgauge.topology.logical_plan import Executor, LogicalPlan, TaskOrder
from streamgauge.topology.physical_plan import ConnectionType, PhysicalPlan, Worker
from streamgauge.topology.plan_diff import PlanDiff, diff_plans
from streamgauge.topology.resources import Resources
from streamgauge.topology.topology import (
    ACK_ACK,
    ACK_INIT,
    ACKER,
    Operator,
    OperatorKind,
    Stream,
    StreamKey,
    Topology,
)
from streamgauge.topology.tuple_flow import Connection, ConnectionBlock, Element, TupleFlow
from streamgauge.topology.window import Window
from streamgauge.topology.workload import (
    Burst,
    Emission,
    Modulated,
    Poisson,
    Recorded,
    Regular,
    Sawtooth,
    Seasonal,
    Shape,
    Unlimited,
    Workload,
)

__all__ = [
    "ACKER",
    "ACK_ACK",
    "ACK_INIT",
    "All",
    "Burst",
    "Cluster",
    "Configuration",
    "Connection",
    "ConnectionBlock",
    "ConnectionType",
    "Custom",
    "Direct",
    "Element",
    "Emission",
    "Executor",
    "Fields",
    "FrozenDict",
    "Global",
    "Grouping",
    "Link",
    "LocalOrShuffle",
    "LogicalPlan",
    "Machine",
    "Modulated",
    "Node",
    "Operator",
    "OperatorKind",
    "PartialKey",
    "PhysicalPlan",
    "PlanDiff",
    "Poisson",
    "Recorded",
    "Regular",
    "Resources",
    "Sawtooth",
    "Seasonal",
    "Shape",
    "Shuffle",
    "Slot",
    "Stream",
    "StreamKey",
    "TaskOrder",
    "Topology",
    "TupleFlow",
    "Unlimited",
    "Window",
    "Worker",
    "Workload",
    "diff_plans",
]
