"""Plans applied to running topologies: written, rebalanced, and read back until they are true.

Storm numbers tasks by the names of their operators. A plan that numbers them otherwise is numbered
anew before anything else happens to it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.errors import Findings, Infeasible, InvalidInput
from streamgauge.profile.job import Job
from streamgauge.topology.cluster import Cluster, Slot
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.files.document import write_whole
from streamgauge.topology.logical_plan import Executor, LogicalPlan, TaskOrder
from streamgauge.topology.physical_plan import PhysicalPlan, Worker, check_slots
from streamgauge.topology.topology import ACKER, Topology

if TYPE_CHECKING:
    from streamgauge.engines.storm.bridge import Bridge

ACTIVE = "ACTIVE"
APPLY_SECONDS = 60.0
_POLL_SECONDS = 0.2
_MANY_LINES = 12


def rebalance_command(
    topology: str, *, executors: Mapping[str, int], workers: int | None = None
) -> tuple[str, ...]:
    """The command of Storm that gives a running topology other workers and executors."""
    words = ["storm", "rebalance", topology]
    if workers is not None:
        words += ["-n", str(workers)]
    for name, count in executors.items():
        words += ["-e", f"{name}={count}"]
    return tuple(words)


def apply_command(plan_file: str) -> tuple[str, ...]:
    """Our command that applies a plan's file to the running topology."""
    return ("streamgauge", "storm", "apply", plan_file)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundAssignment:
    """What nimbus says of a topology: `status` is ``ACTIVE`` unless it is changed or paused."""

    status: str
    slots: Mapping[Executor, Slot]

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> FoundAssignment:
        """From the bridge's answer."""
        slots = {
            Executor(one["first_task"], one["last_task"], one["component"]): Slot(
                one["node"], one["port"]
            )
            for one in answer["executors"]
        }
        return cls(status=answer["status"], slots=dict(sorted(slots.items())))

    def differences(self, wanted: PhysicalPlan) -> list[str]:
        """What is not as wanted, a line each; nothing where the plan is in place."""
        lines = []
        for executor in wanted.logical.executors:
            place, found = wanted.worker_of(executor), self.slots.get(executor)
            if found is None:
                lines.append(f"{executor}: planned on {place}, does not run")
            elif found != place:
                lines.append(f"{executor}: planned on {place}, runs on {found}")
        others = set(self.slots) - set(wanted.logical.executors)
        return lines + [f"{one}: not planned, runs on {self.slots[one]}" for one in sorted(others)]

    def changed_workers(self, wanted: PhysicalPlan) -> list[Worker]:
        """Workers of a plan that do not run just its executors yet, and so will start anew."""
        return [
            worker
            for worker, executors in wanted.executors_by_worker.items()
            if [one for one, slot in self.slots.items() if slot == worker] != list(executors)
        ]

    def plan(
        self, topology: Topology, configuration: Configuration, cluster: Cluster
    ) -> PhysicalPlan:
        """The assignment as a plan of a topology as its user declared it.

        Executors and workers of the configuration are those that were found.

        Raises:
            Infeasible: Executors are missing or on slots that the cluster does not have.
        """
        executors = tuple(self.slots)
        counts = {
            name: sum(one.operator == name for one in executors) for name in topology.operator_names
        }
        ackers = sum(len(one.tasks) for one in executors if one.operator == ACKER)
        workers = tuple(dict.fromkeys(self.slots.values()))
        found = replace(
            configuration,
            executors={name: count for name, count in counts.items() if count},
            workers=len(workers) or 1,
            ackers=ackers if topology.acked else configuration.ackers,
        )
        try:
            logical = LogicalPlan(
                topology=topology.with_ackers(ackers), configuration=found, executors=executors
            )
            placement = tuple(workers.index(slot) for slot in self.slots.values())
            return PhysicalPlan(
                logical=logical, cluster=cluster, workers=workers, placement=placement
            )
        except ValueError as error:
            raise Infeasible(f"what runs of {topology.name!r} is no plan of it: {error}") from None


def as_storm_numbers(plan: PhysicalPlan) -> PhysicalPlan:
    """The same placement with tasks numbered as Storm does."""
    logical = plan.logical
    order = TaskOrder.ALPHABETICAL.arrange(logical.topology)
    if tuple(logical.spans) == order:
        return plan
    executors: list[Executor] = []
    placement: list[int] = []
    next_task = 1
    for name in order:
        span = logical.spans[name]
        shift = next_task - logical.executors[span.start].first_task
        for index in span:
            one = logical.executors[index]
            executors.append(Executor(one.first_task + shift, one.last_task + shift, name))
            placement.append(plan.placement[index])
        next_task = executors[-1].last_task + 1
    numbered = replace(logical, executors=tuple(executors))
    return replace(plan, logical=numbered, placement=tuple(placement))


def plan_document(plan: PhysicalPlan, topology: str) -> dict[str, Any]:
    """A plan as its file has it."""
    workers = [
        {
            "node": worker.node,
            "port": worker.port,
            "executors": [[one.first_task, one.last_task] for one in executors],
        }
        for worker, executors in plan.executors_by_worker.items()
    ]
    return {"topology": topology, "workers": workers}


def write_plan(folder: Path, plan: PhysicalPlan, topology: str) -> None:
    """Leave a plan where nimbus's scheduler finds it, whole."""
    text = json.dumps(plan_document(plan, topology), indent=1) + "\n"
    write_whole(folder / f"{topology}.json", text)


def remove_plan(folder: Path, topology: str) -> None:
    """Leave a topology to Storm's own scheduler."""
    for ending in ("json", "status"):
        (folder / f"{topology}.{ending}").unlink(missing_ok=True)


def scheduler_says(folder: Path, topology: str) -> str:
    """Why the scheduler could not follow a plan; empty where it could or has not tried."""
    try:
        status = json.loads((folder / f"{topology}.status").read_text(encoding="utf-8"))
        return str(status["trouble"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def find_plan(job: Job) -> PhysicalPlan:
    """The plan that a job file gives.

    Raises:
        InvalidInput: It gives none.
    """
    plan = job.explicit_plan()
    if plan is None:
        raise InvalidInput.single(
            (),
            seen="no section 'plan'",
            expected="a placement of every executor",
            remedy="`streamgauge plan place JOB -o FILE` writes one",
        )
    return plan


def check_plan(plan: PhysicalPlan, cluster: Cluster) -> None:
    """Raise InvalidInput where the cluster lacks slots of the plan."""
    findings = Findings()
    check_slots(findings, cluster, plan.workers)
    findings.raise_if_any()


def apply_plan(bridge: Bridge, plans: Path, topology: str, plan: PhysicalPlan) -> PhysicalPlan:
    """Bring a running topology into a plan; the plan with Storm's numbers, as it is then in place.

    `plans` is the folder of plan files that nimbus's scheduler reads.

    Raises:
        Infeasible: Something else is in place after a minute; the message says what.
        InvalidInput: Nimbus does not know the topology, or refuses.
    """
    wanted = as_storm_numbers(plan)
    found = read_assignment(bridge, topology)
    write_plan(plans, wanted, topology)
    if found.status == ACTIVE and not found.differences(wanted):
        return wanted
    executors = {name: len(span) for name, span in wanted.logical.spans.items() if name != ACKER}
    bridge.ask(
        "rebalance",
        topology=topology,
        workers=len(wanted.workers),
        executors=executors,
        wait_seconds=0,
    )
    await_plan(bridge, plans, topology, wanted)
    return wanted


def await_plan(
    bridge: Bridge,
    plans: Path,
    topology: str,
    wanted: PhysicalPlan,
    *,
    patience_seconds: float = APPLY_SECONDS,
) -> None:
    """Wait until what nimbus says is the plan.

    Raises:
        Infeasible: It is something else after that time.
    """
    deadline = time.monotonic() + patience_seconds
    while True:
        found = read_assignment(bridge, topology)
        lines = found.differences(wanted)
        if not lines and found.status == ACTIVE:
            return
        if time.monotonic() > deadline:
            break
        time.sleep(_POLL_SECONDS)
    lines = lines or [f"its status is {found.status}, not {ACTIVE}"]
    shown = "".join(f"\n  {line}" for line in lines[:_MANY_LINES])
    more = f"\n  and {len(lines) - _MANY_LINES} more" if len(lines) > _MANY_LINES else ""
    reason = scheduler_says(plans, topology)
    because = f" ({reason})" if reason else ""
    raise Infeasible(
        f"the plan of {topology!r} is not in place after {patience_seconds:g} s{because}:"
        f"{shown}{more}"
    )


def read_assignment(bridge: Bridge, topology: str) -> FoundAssignment:
    """Where the executors of a topology run, as nimbus says."""
    return FoundAssignment.of(bridge.ask("assignment", topology=topology))
