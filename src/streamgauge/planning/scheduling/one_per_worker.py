"""One-per-worker: ackers dealt over the workers that the job's own executors fill."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle

from streamgauge.planning.scheduling.acker_aware import AckersApart
from streamgauge.planning.scheduling.packing import Packing
from streamgauge.topology.logical_plan import Executor


@dataclass(frozen=True, slots=True, kw_only=True)
class OnePerWorkerScheduler(AckersApart):
    """OPW (Pagliari 2021, Algorithm 3): spreads acking and starts no worker for it.

    An acker may come into a worker whose heap is full by what its executors declare: the
    diagnostics name such workers.
    """

    name: str = "one-per-worker"

    def describe(self) -> str:
        """The rule in a sentence."""
        return (
            "packs the job's own executors as resource-aware does, then deals ackers round-robin "
            "over the workers these fill"
        )

    def deal(self, packing: Packing, ackers: tuple[Executor, ...]) -> tuple[str, ...]:
        """Ackers round-robin over the workers in the order of their use."""
        packing.placed.update(zip(ackers, cycle(packing.workers), strict=False))
        return ()
