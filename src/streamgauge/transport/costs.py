"""What the threads and steps of an engine itself cost, before anything was measured.

An engine's record has a guess of each cost and how sure one can be of it. Metrics of a job say
better (`models.measured_engine`), as far as one load can tell the costs apart; where it cannot,
these stay.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from streamgauge.errors import Findings
from streamgauge.topology.field_checks import check_number


@dataclass(frozen=True, slots=True)
class Cost:
    """A cost that is not known exactly: its mean and its standard deviation."""

    mean: float = 0.0
    deviation: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineCosts:
    """CPU time beside the work that a job's own code does.

    Attributes:
        network_cores: Cores of a worker's transfer and network threads while nothing is sent.
        worker_cores: Cores of all else in a worker that does not depend on load: timers,
            heartbeats, compiler, metrics.
        sent_seconds: For a message to another worker, in the threads that send; serialising is
            done by the executor that emits, and belongs to its work.
        received_seconds: For a message from another worker, in the threads that receive.
        executed_seconds: For a tuple or message that an executor executes, in other threads: of
            the garbage collector.
        handled_seconds: For the same, in the executor's thread around the job's own code. Of a
            source: for a tuple that it emits, with what becomes of it.
        polling: How many times as much threads that poll use as the engine's mechanics say.
        waking: The same of threads that wake up from short sleeps and find nothing to do.
    """

    network_cores: Cost = Cost()
    worker_cores: Cost = Cost()
    sent_seconds: Cost = Cost()
    received_seconds: Cost = Cost()
    executed_seconds: Cost = Cost()
    handled_seconds: Cost = Cost()
    polling: Cost = Cost(mean=1.0)
    waking: Cost = Cost(mean=1.0)

    def __post_init__(self) -> None:
        with Findings() as findings:
            for field in fields(self):
                cost = getattr(self, field.name)
                check_number(findings, cost.mean, field.name, "mean")
                check_number(findings, cost.deviation, field.name, "deviation")

    def less_sure(self, times: float) -> EngineCosts:
        """The same with so many times the deviations: for an engine that is only alike."""
        each = {field.name: getattr(self, field.name) for field in fields(self)}
        return EngineCosts(
            **{name: Cost(one.mean, times * one.deviation) for name, one in each.items()}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageBytes:
    """What an engine adds to a tuple on its way to another worker.

    Attributes:
        frame: Of the message around a serialised tuple.
        batch: At the end of a batch of messages.
        root: For each tuple tree that the tuple belongs to, where trees are tracked.
        init: Of the message that announces a tree to an acker, serialised.
        ack: Of an acknowledgement, serialised.
        answer: Of an acker's answer to the source, serialised.
    """

    frame: float = 0.0
    batch: float = 0.0
    root: float = 0.0
    init: float = 0.0
    ack: float = 0.0
    answer: float = 0.0

    def __post_init__(self) -> None:
        with Findings() as findings:
            for field in fields(self):
                check_number(findings, getattr(self, field.name), field.name)


NO_COSTS = EngineCosts()
NO_BYTES = MessageBytes()
