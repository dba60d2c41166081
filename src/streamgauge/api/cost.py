"""`sg.cost`: what a plan moves and takes by the cost models of an engine, and others beside it.

These count and do not queue. For latency, shared cores and limits ask `sg.predict`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from streamgauge.api.loading import JobLike, ProfileLike, describe_job
from streamgauge.api.rates import Rates
from streamgauge.errors import InvalidInput, NotEnoughData, in_file
from streamgauge.models.byte_flow import find_byte_flow
from streamgauge.models.cost_job import CostConstants, CostJob
from streamgauge.models.dealt_plans import DealtPlan, Slots
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.parameters import find_parameters
from streamgauge.models.plan_costs import Serialising, Site, cost_configurations, cost_plans
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.reports.cost import OWN, CostedConfiguration, CostReport
from streamgauge.topology.cluster import Cluster
from streamgauge.topology.topology import Topology

MS_PER_SECOND = 1e3


def cost(
    job: JobLike,
    profile: ProfileLike | None = None,
    *,
    rate: Rates = None,
    step: str | None = None,
    constants: str | Path | CostConstants | None = None,
    configurations: Sequence[str] = (),
    restart: bool = False,
    serialising: str = Serialising.FRACTION,
    utilisation: float = 1.0,
) -> CostReport:
    """Bytes, distances, CPU by phase and management of a job's plan and of others.

    Args:
        job: A job's file, or a job; a profile's file is a job too.
        profile: What was measured of it; by default what it declares.
        rate: Tuples per second of all sources together, or by source.
        step: Configure the job as in this step of its file.
        constants: What has to be measured: a file, or the constants; without them only the job's
            own code costs anything.
        configurations: Others to cost, such as ``<2,4,4,2>``: nodes, executors of each operator in
            their order, workers a node. ``<2,4,4,2>=5.1`` was measured to have a latency of 5.1 ms.
        restart: Deal every operator of these from the first worker on.
        serialising: ``fraction`` counts what is expected to leave its worker, ``copies`` each copy
            of that, ``flag`` everything where anything does.
        utilisation: Part of its time that an executor may be busy, for the fewest executors.

    Raises:
        InvalidInput: A file is wrong, or what it says cannot be.
        NotEnoughData: No load is known.
        Infeasible: The job cannot be placed.
    """
    if not 0.0 < utilisation <= 1.0:
        raise InvalidInput.single(
            ("--utilisation",), seen=f"{utilisation:g}", expected="a part of one, above zero"
        )
    kinds = tuple(Serialising)
    if serialising not in kinds:
        raise InvalidInput.single(
            ("--serialising",), seen=repr(serialising), expected=f"one of {', '.join(kinds)}"
        )
    described = describe_job(job, profile, rate=rate, step=step)
    known = _load_constants(constants, described.job.topology)
    with in_file(described.file):
        schedule = place_job(described.job)
        workload = described.job.workload
        if workload is None:
            raise NotEnoughData("no load is known: give --rate, or a workload in the job's file")
        behaviour = (
            JobBehaviour.from_job(described.job)
            if described.profile is None
            else JobBehaviour.from_profile(described.profile)
        )
        counted = CostJob.of(behaviour, workload, known)
        parameters = find_parameters(behaviour, schedule.plan, workload)
    how = Serialising(serialising)
    own = cost_plans(
        counted,
        Slots.of(schedule.plan, counted.operators),
        find_site(schedule.plan.cluster),
        serialising=how,
        utilisation=utilisation,
    )
    return CostReport(
        plan=schedule.plan,
        job=counted,
        flow=find_byte_flow(parameters, behaviour, parameters.crossings),
        own=CostedConfiguration(name=OWN, costs=own, place=0),
        others=_cost_others(
            counted, configurations, find_site(schedule.plan.cluster), how, restart=restart
        ),
        per_second=sum(one.per_second or 0.0 for one in workload.emissions),
        origin=str(behaviour.origin),
        notes=(*schedule.warnings, *behaviour.notes),
    )


def find_site(cluster: Cluster) -> Site:
    """A cluster's smallest node, as the cost models take all nodes to be alike."""
    alone = [machine.cores - machine.background_cores for machine in cluster.machines]
    nodes = [sum(node.machine == one.name for node in cluster.nodes) for one in cluster.machines]
    used = [index for index, count in enumerate(nodes) if count]
    return Site(
        cores=min(alone[index] / nodes[index] for index in used),
        network_bytes_per_second=min(
            cluster.machines[index].network_bytes_per_second for index in used
        ),
    )


def _load_constants(
    constants: str | Path | CostConstants | None, topology: Topology
) -> CostConstants:
    if isinstance(constants, CostConstants):
        return constants
    if constants is None:
        return CostConstants()
    from streamgauge.models.files.cost_file import load_constants

    return load_constants(constants, topology)


def _cost_others(
    job: CostJob, texts: Sequence[str], site: Site, how: Serialising, *, restart: bool
) -> tuple[CostedConfiguration, ...]:
    if not texts:
        return ()
    pairs = [_read_configuration(text, len(job.operators)) for text in texts]
    plans = [plan for plan, _ in pairs]
    costs = cost_configurations(
        job,
        np.asarray([plan.nodes for plan in plans]),
        np.asarray([plan.executors for plan in plans]),
        np.asarray([plan.workers for plan in plans]),
        site,
        restart=restart,
        serialising=how,
    )
    return tuple(
        CostedConfiguration(name=str(plan), costs=costs, place=place, measured_seconds=measured)
        for place, (plan, measured) in enumerate(pairs)
    )


def _read_configuration(text: str, operators: int) -> tuple[DealtPlan, float | None]:
    """A configuration, and the latency in seconds that was measured of it where one is given."""
    written, _, latency = text.partition("=")
    plan = DealtPlan.parse(written)
    if len(plan.executors) != operators:
        raise InvalidInput.single(
            ("--configuration",),
            seen=f"{plan}, with executors of {len(plan.executors)} operators",
            expected=f"executors of each of the {operators} operators, in their order",
        )
    if not latency:
        return plan, None
    try:
        measured = float(latency)
    except ValueError:
        measured = 0.0
    if not 0.0 < measured < float("inf"):
        raise InvalidInput.single(
            ("--configuration",), seen=repr(text), expected="a latency in milliseconds after ="
        )
    return plan, measured / MS_PER_SECOND
