"""Isolated queue: on every node in use one worker with ackers and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

from streamgauge.planning.scheduling.acker_aware import AckersApart
from streamgauge.planning.scheduling.packing import MAX_NAMED, Packing
from streamgauge.topology.logical_plan import Executor


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolatedQueueScheduler(AckersApart):
    """IQ (Pagliari 2021, Algorithm 4): queues of ackers do not share a heap with others.

    It needs a free slot on every node in use. The thesis does not say what happens without one:
    here the node's ackers are dealt over its other workers, with a warning, so that acks still
    stay on the node.
    """

    name: str = "isolated-queue"

    def describe(self) -> str:
        """The rule in a sentence."""
        return (
            "packs the job's own executors as resource-aware does, then deals ackers round-robin "
            "over the nodes these use, into one worker of their own on each"
        )

    def deal(self, packing: Packing, ackers: tuple[Executor, ...]) -> tuple[str, ...]:
        """Ackers round-robin over nodes, on each into its first slot that is still free."""
        used: dict[str, list[int]] = {}
        for slot in packing.workers:
            used.setdefault(packing.slots[slot].node, []).append(slot)
        free: dict[str, int] = {}
        for slot in sorted(set(range(len(packing.slots))) - set(packing.workers)):
            free.setdefault(packing.slots[slot].node, slot)
        homes = {
            node: cycle([free[node]] if node in free else used[node])
            for node in list(used)[: len(ackers)]
        }
        for acker, node in zip(ackers, cycle(homes), strict=False):
            packing.placed[acker] = next(homes[node])
        full = [node for node in homes if node not in free]
        return (_no_slot_left(full, len(homes)),) if full else ()


def _no_slot_left(full: Sequence[str], nodes: int) -> str:
    named = ", ".join(full[:MAX_NAMED]) + (", …" if len(full) > MAX_NAMED else "")
    return (
        f"{len(full)} of {nodes} nodes have no slot left for a worker of ackers alone ({named}): "
        "their ackers share workers with the job's own executors; add a slot to these nodes"
    )
