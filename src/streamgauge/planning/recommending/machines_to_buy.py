"""Machines to buy for a plan's executors, and what the machines that there are would cost.

The executors are those of a plan; where they run follows from the machines. These are packed as
cheaply as can be, judged by the analytic model, and filled less where latency asks for it
(`packing.choosing`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.objectives import Objective
from streamgauge.planning.packing.catalogue import Catalogue, MachineType
from streamgauge.planning.packing.choosing import ENOUGH_EFFORT, JudgedPlan, find_cheapest
from streamgauge.planning.packing.instances import PackingPlan
from streamgauge.planning.packing.sized_job import USUAL_LATENCY_MS, SizedJob, size_plan
from streamgauge.planning.recommending.capacity import find_demand
from streamgauge.planning.recommending.problem import Problem
from streamgauge.planning.recommending.trials import Trial
from streamgauge.planning.scheduling.contract import Schedule
from streamgauge.topology.cluster import Cluster, Machine, Node
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import ACKER

# Executors are looked for on machines that the work would fill to this part.
ROOMY = 0.4


@dataclass(frozen=True, kw_only=True, eq=False)
class Purchase:
    """The cheapest machines that were found for a plan's executors.

    Attributes:
        packed: What runs where, what it costs, and whether it meets the objective.
        trial: The same as a plan of the search.
    """

    packed: JudgedPlan
    trial: Trial

    @property
    def price(self) -> float:
        """Per hour."""
        return self.packed.price


def find_purchase(
    problem: Problem,
    trial: Trial,
    catalogue: Catalogue,
    *,
    objective: Objective | None = None,
    rate_margin: float = 0.0,
    tuple_bytes: float | None = None,
) -> Purchase:
    """The cheapest machines on which the executors of a plan meet the objective.

    Where none do: those that miss it by least.

    Args:
        problem: What is asked for.
        trial: The plan.
        catalogue: What can be bought.
        objective: Instead of the problem's, to aim with some margin,
        rate_margin: and by how much, as a logarithm, more than the load is to be carried.
        tuple_bytes: Size of a tuple of streams of which it is not known.

    Raises:
        Infeasible: An executor is larger than every machine.
        InvalidInput: The network of machines is limited, and sizes of tuples are not known.
    """
    logical = trial.plan.logical
    configuration = replace(
        logical.configuration, workers=1, ackers=len(logical.spans.get(ACKER, ()))
    )
    required = problem.required_workload.times(math.exp(rate_margin))
    cluster = problem.job.cluster

    def size(fill: float) -> SizedJob:
        return size_plan(
            problem.behaviour,
            configuration,
            required,
            fill=fill,
            latency_ms=(cluster.latency_ms if cluster else 0.0) or USUAL_LATENCY_MS,
            tuple_bytes=tuple_bytes,
            needed=frozenset(catalogue.limits),
        )

    judge = _Judge(problem, objective or problem.objective)
    packed, _ = find_cheapest(size, catalogue, judge.judge, effort=ENOUGH_EFFORT)
    return Purchase(packed=packed, trial=_as_trial(trial, packed))


class _Judge:
    """Predicts plans under the load, and under the highest rate that is asked for."""

    def __init__(self, problem: Problem, objective: Objective) -> None:
        self._problem, self._objective = problem, objective
        self._model = AnalyticModel()

    def judge(self, job: SizedJob, plan: PackingPlan) -> JudgedPlan:
        """A plan, predicted on its machines."""
        problem, physical = self._problem, job.place(plan)
        full = self._model.predict(job.behaviour, physical, job.workload)
        prediction = full
        if job.workload != problem.workload:
            prediction = self._model.predict(job.behaviour, physical, problem.workload)
        most = problem.limits.max_workers
        is_refused = (
            bool(full.overloaded)
            or any(one.at_work > problem.limits.utilisation for one in full.machines)
            or (most is not None and len(plan.machines) > most)
        )
        excess = math.inf if is_refused else self._objective.find_excess(prediction)
        return JudgedPlan(
            job=job, plan=plan, physical=physical, prediction=prediction, excess=excess
        )


def _as_trial(trial: Trial, packed: JudgedPlan) -> Trial:
    plan = packed.physical
    return replace(
        trial,
        setup=replace(
            trial.setup, workers=len(plan.workers), scheduler=packed.plan.method, nodes=None
        ),
        configuration=plan.logical.configuration,
        schedule=Schedule(plan=plan),
        prediction=packed.prediction,
        full=packed.prediction,
        miss=packed.excess,
        refused="",
    )


def widen_cluster(problem: Problem, catalogue: Catalogue) -> Problem:
    """The problem on machines like the largest of a catalogue, with ample room for its work.

    How many executors a job needs is looked for there; what they need is bought afterwards.
    """
    largest = catalogue.largest_first[0]
    room = max(largest.cores - largest.reserved_cores, 1e-9)
    many = max(math.ceil(find_demand(problem).cores / (ROOMY * room)), 1)
    latency = problem.cluster.latency_ms or USUAL_LATENCY_MS
    names = [f"{largest.name}-{number}" for number in range(1, many + 1)]
    cluster = Cluster(
        machines=tuple(
            Machine(
                name=name,
                cores=largest.cores,
                memory_bytes=int(largest.memory_bytes),
                background_cores=largest.reserved_cores,
            )
            for name in names
        ),
        nodes=tuple(Node(name=f"node-{name}", machine=name) for name in names),
        latency_ms=latency,
    )
    return replace(problem, job=replace(problem.job, cluster=cluster))


def match_types(plan: PhysicalPlan, catalogue: Catalogue) -> Mapping[str, MachineType | None]:
    """For each machine in use the cheapest type that has as much; None where no type has."""
    used = dict.fromkeys(plan.cluster.machine_of(node).name for node in plan.nodes)
    machines = {machine.name: machine for machine in plan.cluster.machines}
    return {name: _match_type(machines[name], catalogue) for name in used}


def _match_type(machine: Machine, catalogue: Catalogue) -> MachineType | None:
    # A machine of many gigabytes has somewhat less for its user.
    memory = 0.95 * (machine.memory_bytes or 0)
    return next(
        (
            one
            for one in catalogue.cheapest_first
            if one.cores >= machine.cores and one.memory_bytes >= memory
        ),
        None,
    )
