"""What a scheduler is, and which ones are installed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol, Self, runtime_checkable

from streamgauge.errors import Findings
from streamgauge.plugins import SCHEDULERS, load_plugin, plugin_names
from streamgauge.topology.cluster import Cluster, Slot
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.field_checks import check_number
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.logical_plan import LogicalPlan, TaskOrder
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import StreamKey, Subscription, Topology
from streamgauge.transport.engine import load_engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a job is expected to do, for schedulers that look at it.

    Attributes:
        rates: Tuples per second that an operator emits on a stream, all executors together.
        cores: Cores that all executors of an operator keep busy together; may lack operators.
        task_shares: Part of a subscription's tuples that each receiving task gets, where keys
            decide and are known.
    """

    rates: Mapping[StreamKey, float] = field(default_factory=FrozenDict)
    cores: Mapping[str, float] = field(default_factory=FrozenDict)
    task_shares: Mapping[Subscription, tuple[float, ...]] = field(default_factory=FrozenDict)

    def __post_init__(self) -> None:
        for name in ("rates", "cores", "task_shares"):
            object.__setattr__(self, name, FrozenDict(getattr(self, name)))

    @classmethod
    def of_equal_rates(cls, topology: Topology) -> Expected:
        """A tuple a second on every stream, where no rate is known."""
        return cls(rates={stream.key: 1.0 for stream in topology.data_streams})


@dataclass(frozen=True, slots=True)
class PlacementRequest:
    """What a scheduler is asked to place, and where.

    Attributes:
        topology: As declared; ackers are added from the configuration.
        configuration: How many executors, workers and ackers.
        cluster: Where there are slots.
        expected: Rates and load, for schedulers that look at them; None where they are unknown.
        taken: Slots that other jobs use.
    """

    topology: Topology
    configuration: Configuration
    cluster: Cluster
    expected: Expected | None = field(default=None, kw_only=True)
    taken: Collection[Slot] = field(default=(), kw_only=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A plan, and what its reader should know of how it came about.

    Attributes:
        plan: Every executor in one worker.
        warnings: What was not as asked for, or is a risk.
        least_remote: Tuples per second between nodes that no plan within the same limits goes
            below, where that was proven; with streams dealt evenly (`traffic.even_traffic`).
    """

    plan: PhysicalPlan
    warnings: tuple[str, ...] = ()
    least_remote: float | None = None


class Scheduler(Protocol):
    """Places the executors of a configured topology on a cluster."""

    name: str

    def describe(self) -> str:
        """One sentence on the rule it follows."""
        ...

    def schedule(self, request: PlacementRequest) -> Schedule:
        """A plan in which every executor is in exactly one worker, and none in a taken slot.

        Raises:
            Infeasible: There is no such plan.
        """
        ...


@runtime_checkable
class FillingScheduler(Scheduler, Protocol):
    """A scheduler that fills machines up to a limit that users can set."""

    def fill_up_to(self, utilisation: float) -> Self:
        """The scheduler with another limit: the part of a machine's free cores to plan with."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskNumbering:
    """What the schedulers here have in common: tasks are numbered as an engine does it."""

    task_order: TaskOrder = TaskOrder.ALPHABETICAL

    @classmethod
    def for_engine(cls, engine: str) -> Self:
        """With tasks numbered as that engine does."""
        return cls(task_order=load_engine(engine).task_order)

    def number_tasks(self, request: PlacementRequest) -> LogicalPlan:
        """The executors to place, ackers included."""
        return LogicalPlan.of(request.topology, request.configuration, task_order=self.task_order)


def scheduler_names() -> tuple[str, ...]:
    """The names of all installed schedulers."""
    return plugin_names(SCHEDULERS)


def load_scheduler(
    name: str, configuration: Configuration, *, utilisation: float | None = None
) -> Scheduler:
    """The scheduler of that name, set as the configuration's engine sets it.

    Entry points name a class with a `for_engine(engine)` constructor. Machines are filled up to the
    part `utilisation` of their cores by schedulers that look at that.

    Raises:
        InvalidInput: There is no such scheduler, or the utilisation is no part of one.
    """
    findings = Findings()
    if utilisation is not None:
        check_number(findings, utilisation, "--utilisation", above=0.0, most=1.0)
    findings.raise_if_any()
    scheduler: Scheduler = load_plugin(SCHEDULERS, name).for_engine(configuration.engine)
    if utilisation is not None and isinstance(scheduler, FillingScheduler):
        return scheduler.fill_up_to(utilisation)
    return scheduler
