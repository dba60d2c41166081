"""N-version planning: the plan that most schedulers propose and most models prefer.

Cooper 2020, section 1.3: a scheduler that errs, or a model, can be outvoted. Plans are the same up
to names of workers that make no difference: slots of one node, and nodes of equal machines that are
equally far from all others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from streamgauge.models.prediction import Prediction
from streamgauge.models.ranking import rank
from streamgauge.topology.cluster import Cluster
from streamgauge.topology.physical_plan import PhysicalPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Consensus:
    """What schedulers and models agree on.

    Attributes:
        versions: Schedulers whose plans are the same, in groups, the largest first.
        votes: By model, the first scheduler of the version that it prefers.
        agreed: The first scheduler of the version with most votes of both; None where no version
            has more than one scheduler or model more than any other.
        share: Part of all votes that it has.
    """

    versions: tuple[tuple[str, ...], ...]
    votes: Mapping[str, str]
    agreed: str | None
    share: float


def find_consensus(
    plans: Mapping[str, PhysicalPlan],
    predictions: Mapping[str, Sequence[Prediction]],
    *,
    by: str,
) -> Consensus:
    """Count the votes.

    Args:
        plans: By scheduler, of the same executors.
        predictions: By scheduler, what each model says, the deciding one first.
        by: What models prefer plans by (`models.ranking`).
    """
    groups: dict[Hashable, list[str]] = {}
    for name, plan in plans.items():
        groups.setdefault(canonical_form(plan), []).append(name)
    versions = sorted(groups.values(), key=lambda names: -len(names))
    heads = [names[0] for names in versions]
    ranking = rank({head: predictions[head] for head in heads}, by=by)
    tally = Counter({names[0]: len(names) for names in versions})
    tally.update(ranking.votes.values())
    most = max(tally.values())
    leaders = [head for head in heads if tally[head] == most]
    return Consensus(
        versions=tuple(map(tuple, versions)),
        votes=dict(ranking.votes),
        agreed=leaders[0] if len(leaders) == 1 and most > 1 else None,
        share=most / sum(tally.values()),
    )


def canonical_form(plan: PhysicalPlan) -> Hashable:
    """What two plans have in common if they differ in names of equal workers only."""
    by_node: dict[str, list[tuple[str, ...]]] = {}
    for worker, executors in plan.executors_by_worker.items():
        labels = tuple(sorted(executor.label for executor in executors))
        by_node.setdefault(worker.node, []).append(labels)
    kinds = classify_nodes(plan.cluster)
    return tuple(sorted((kinds[node], tuple(sorted(workers))) for node, workers in by_node.items()))


def classify_nodes(cluster: Cluster) -> dict[str, str]:
    """A name for each kind of node; nodes that links, racks or machines tell apart are their own.

    Nodes that share a machine, and nodes that a link names, keep their names: they are told apart
    by who else is there.
    """
    shared = Counter(node.machine for node in cluster.nodes)
    linked = {end for link in cluster.links for end in (link.source, link.target)}
    kinds = {}
    for node in cluster.nodes:
        machine = cluster.machine_of(node.name)
        if shared[node.machine] > 1 or node.name in linked:
            kinds[node.name] = f"node {node.name}"
            continue
        size = (machine.cores, machine.memory_bytes, machine.background_cores, machine.balance_ms)
        kinds[node.name] = f"{size} {len(node.ports)} {node.rack}"
    return kinds
