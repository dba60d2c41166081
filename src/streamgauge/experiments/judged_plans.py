"""The plans of an experiment's steps as they ran, ready to be predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamgauge.experiments.experiment import ExperimentStep
from streamgauge.experiments.windows import Placement
from streamgauge.lake.records import PlacedExecutor
from streamgauge.models.measured_plan import place_as_measured
from streamgauge.topology.cluster import Cluster, Machine, Node
from streamgauge.topology.logical_plan import Executor
from streamgauge.topology.physical_plan import PhysicalPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlan:
    """A step's plan.

    Attributes:
        labels: What the engine called each executor of the plan.
        warnings: What was assumed of machines.
    """

    plan: PhysicalPlan
    labels: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def plan_step(
    step: ExperimentStep, executors: Sequence[PlacedExecutor], known: Sequence[Cluster]
) -> StepPlan:
    """The plan of a step, whose executors ran there.

    Args:
        step: Its job is what ran.
        executors: As read back from the engine.
        known: Descriptions of machines, the ones to trust first: of a profile, of the experiment.

    Raises:
        InvalidInput: The placement is none.
        NotEnoughData: Executors are missing.
    """
    placement = Placement.of(step.job.topology, executors)
    workers = {
        label: one.worker for one, label in zip(executors, placement.executor_labels, strict=True)
    }
    cluster, warnings = _describe_cluster(executors, known)
    plan = place_as_measured(step.job.topology, step.job.configuration, workers, cluster)
    theirs: dict[str, list[Executor]] = {}
    for label in workers:
        executor = Executor.parse(label)
        theirs.setdefault(executor.operator, []).append(executor)
    labels = [each.label for name in plan.logical.spans for each in sorted(theirs[name])]
    return StepPlan(plan=plan, labels=tuple(labels), warnings=tuple(warnings))


def _describe_cluster(
    executors: Sequence[PlacedExecutor], known: Sequence[Cluster]
) -> tuple[Cluster, list[str]]:
    """The first known cluster that has all slots, or one of the known machines and these nodes."""
    machine_of = {one.node: one.machine or one.node for one in executors}
    slots = {(one.node, int(one.worker.rpartition(":")[2])) for one in executors}
    for cluster in known:
        machines = {node.name: node.machine for node in cluster.nodes}
        if slots <= set(cluster.slots) and all(
            machines[node] == machine for node, machine in machine_of.items()
        ):
            return cluster, []
    described = {machine.name: machine for one in reversed(known) for machine in one.machines}
    guessed = []
    for name in dict.fromkeys(machine_of.values()):
        if name not in described:
            workers = {one.worker for one in executors if machine_of[one.node] == name}
            described[name] = Machine(name=name, cores=float(len(workers)))
            guessed.append(name)
    nodes = tuple(
        Node(
            name=node,
            machine=machine,
            ports=tuple(sorted(port for name, port in slots if name == node)),
        )
        for node, machine in machine_of.items()
    )
    used = dict.fromkeys(machine_of.values())
    built = Cluster(machines=tuple(described[name] for name in used), nodes=nodes)
    listed = ", ".join(guessed)
    warnings = [f"nothing describes {listed}: assuming a core for each worker"] if guessed else []
    return built, warnings
