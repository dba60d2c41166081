"""What policies see: one window of all jobs and machines of a cluster."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from streamgauge.planning.sharing.slo import Quality, Slo, add_utilities
from streamgauge.topology.frozen import FrozenDict

# An operator with a higher capacity is congested (Henge, section 2.6.1).
CONGESTED = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSeen:
    """One operator over a window.

    Attributes:
        executors: How many it has.
        tasks: How many it can have at most.
        is_source: Whether tuples begin here.
        executed: Tuples per second by parent; nothing for a source.
        sent_per_second: Tuples to all of its children together.
        capacity: Executed tuples × time each / time, of its busiest executor (eq. 2.3): the part of
            the time that it is busy.
        cores: Cores that it uses.
        queue: Tuples that wait in front of it.
        queue_per_second: By how many that grows.
        held_back: Part of the time for which it held its senders back.
        arrived_per_second: Tuples that were sent to it; None where that is not known.
    """

    executors: int
    tasks: int
    is_source: bool = False
    executed: Mapping[str, float] = field(default_factory=FrozenDict)
    sent_per_second: float = 0.0
    capacity: float = 0.0
    cores: float = 0.0
    queue: float = 0.0
    queue_per_second: float = 0.0
    held_back: float = 0.0
    arrived_per_second: float | None = None

    @property
    def input_per_second(self) -> float:
        """Tuples that it executed; of a source those that it emitted."""
        return self.sent_per_second if self.is_source else sum(self.executed.values())

    @property
    def per_executor(self) -> float:
        """Tuples per second that one executor could do, if the others did as well as the busiest.

        Infinite where it did nothing, also while it was busy: what it could do is not known.
        """
        busy = self.capacity * self.executors
        is_known = busy > 0.0 and self.input_per_second > 0.0
        return self.input_per_second / busy if is_known else math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSeen:
    """One job over a window.

    Attributes:
        operators: In topological order.
        offered_per_second: Tuples that were due at its sources.
        lag: Tuples that are due and not emitted.
        lag_per_second: By how many that grows.
        quality: Latency and juice.
        doubt: Why its figures are not to be acted upon, where that is so.
    """

    slo: Slo
    operators: Mapping[str, OperatorSeen]
    offered_per_second: float
    lag: float = 0.0
    lag_per_second: float = 0.0
    quality: Quality = field(default_factory=Quality)
    doubt: str = ""

    @property
    def utility(self) -> float | None:
        """What it is worth now; None where that is not known."""
        return self.slo.find_utility(self.quality)

    @property
    def meets_slo(self) -> bool | None:
        """Whether it meets its objective."""
        return self.slo.is_met(self.quality)

    @property
    def executors(self) -> dict[str, int]:
        """Executors by operator."""
        return {name: one.executors for name, one in self.operators.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineSeen:
    """One machine: threads that run or could, and its cores."""

    load: float
    cores: float

    @property
    def is_congested(self) -> bool:
        """More threads than cores; as many are not too many."""
        return self.load > self.cores


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSeen:
    """Everything at one moment.

    Attributes:
        at: Seconds since some begin.
        jobs: By name.
        machines: All of them.
        stale: Whether metrics have not arrived.
    """

    at: float
    jobs: Mapping[str, JobSeen]
    machines: tuple[MachineSeen, ...] = ()
    stale: bool = False

    @property
    def utility(self) -> float:
        """Of the whole system."""
        return add_utilities(job.utility for job in self.jobs.values())

    @property
    def max_utility(self) -> float:
        """Where every job meets its objective."""
        return sum(job.slo.max_utility for job in self.jobs.values())

    @property
    def is_congested(self) -> bool:
        """Whether a majority of the machines is; half of them is none."""
        return 2 * sum(one.is_congested for one in self.machines) > len(self.machines)

    @property
    def executors(self) -> Executors:
        """Of all jobs."""
        return FrozenDict({name: FrozenDict(job.executors) for name, job in self.jobs.items()})


# By job and operator.
Executors = Mapping[str, Mapping[str, int]]
