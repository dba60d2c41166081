"""Plans applied to running topologies: written, rebalanced, and read back until they are true."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from streamgauge.engines.storm.bridge import Bridge
from streamgauge.engines.storm.plan_files import (
    ACTIVE,
    FoundAssignment,
    as_storm_numbers,
    scheduler_says,
    write_plan,
)
from streamgauge.errors import Findings, Infeasible, InvalidInput
from streamgauge.profile.job import Job
from streamgauge.topology.cluster import Cluster
from streamgauge.topology.physical_plan import PhysicalPlan, check_slots
from streamgauge.topology.topology import ACKER

APPLY_SECONDS = 60.0
_POLL_SECONDS = 0.2
_MANY_LINES = 12


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


def apply_plan(
    bridge: Bridge,
    plans: Path,
    topology: str,
    plan: PhysicalPlan,
    *,
    patience_seconds: float = APPLY_SECONDS,
) -> PhysicalPlan:
    """Bring a running topology into a plan; the plan with Storm's numbers, as it is then in place.

    Args:
        bridge: To nimbus.
        plans: The folder of plan files that nimbus's scheduler reads.
        topology: As nimbus knows it.
        plan: Where its executors shall run.
        patience_seconds: How long nimbus may take.

    Raises:
        Infeasible: Something else is in place after that time; the message says what.
        InvalidInput: Nimbus does not know the topology, or refuses.
    """
    wanted = as_storm_numbers(plan)
    found = read_assignment(bridge, topology)
    if found.status == ACTIVE and not found.differences(wanted):
        write_plan(plans, wanted, topology)
        return wanted
    write_plan(plans, wanted, topology)
    executors = {name: len(span) for name, span in wanted.logical.spans.items() if name != ACKER}
    bridge.ask(
        "rebalance",
        topology=topology,
        workers=len(wanted.workers),
        executors=executors,
        wait_seconds=0,
    )
    await_plan(bridge, plans, topology, wanted, patience_seconds=patience_seconds)
    return wanted


def await_plan(
    bridge: Bridge,
    plans: Path,
    topology: str,
    wanted: PhysicalPlan,
    *,
    patience_seconds: float = APPLY_SECONDS,
    idle: Callable[[float], None] = time.sleep,
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
        idle(_POLL_SECONDS)
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
