"""The queue in front of a Storm 1.x executor: lists gather in a batch, which a timer flushes.

Cooper 2020, section 2.7 and Appendix B. Tuples arrive in lists. Lists wait in an input batch
until it is full or a flush comes; then they move to the ring, from which one server takes them
tuple by tuple.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from streamgauge.errors import Findings
from streamgauge.topology.field_checks import check_number, check_whole


class Flush(StrEnum):
    """How flushes follow each other.

    PERIODIC: every interval, as the engine's timer does.
    EXPONENTIAL: at random with that mean, as the thesis's simulators assume.
    """

    PERIODIC = "periodic"
    EXPONENTIAL = "exponential"


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchedQueue:
    """A single server behind a flushed input batch, under Poisson lists of tuples.

    Attributes:
        list_size: Mean tuples in a list; a fraction is the probability of one tuple more.
        flush_seconds: Mean time between flushes.
        service_seconds: Mean of the exponential service time of a tuple.
        batch_limit: Lists that fill the input batch.
        ring_limit: Lists the ring can hold; only the full simulator looks at it.
    """

    lists_per_second: float
    list_size: float = 1.0
    flush_seconds: float = 0.001
    service_seconds: float
    batch_limit: int = 100
    ring_limit: int = 1024
    flush: Flush = Flush.PERIODIC

    def __post_init__(self) -> None:
        findings = Findings()
        check_number(findings, self.lists_per_second, "lists_per_second", above=0.0)
        check_number(findings, self.list_size, "list_size", least=1.0)
        check_number(findings, self.flush_seconds, "flush_seconds", above=0.0)
        check_number(findings, self.service_seconds, "service_seconds", above=0.0)
        check_whole(findings, self.batch_limit, "batch_limit")
        check_whole(findings, self.ring_limit, "ring_limit")
        if not findings and self.ring_limit < self.batch_limit:
            findings.add(
                "ring_limit",
                seen=f"a ring of {self.ring_limit} for batches of {self.batch_limit}",
                expected="room for at least one full batch",
            )
        findings.raise_if_any()

    @property
    def utilisation(self) -> float:
        """Offered load of the server; the queue is stable below one."""
        return self.lists_per_second * self.list_size * self.service_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Sojourn:
    """Mean time a tuple spends from arrival to the end of its service, in seconds.

    Attributes:
        batch_seconds: In the input batch.
        rest_seconds: In overflow, ring and service.
    """

    batch_seconds: float
    rest_seconds: float

    @property
    def total_seconds(self) -> float:
        """Both parts."""
        return self.batch_seconds + self.rest_seconds
