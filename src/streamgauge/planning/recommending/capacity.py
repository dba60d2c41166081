"""Capacity: how few executors of an operator could do its work, wherever they run.

A task's work does not depend on the plan: tuples that come to it per second times the time each
takes with a core to itself. An executor has a contiguous range of tasks and no more than one second
per second, which says how few executors will do if every task gets its part. A shuffle that looks
at queues may divide work better than that, threads that share cores need more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.chained import chain_job
from streamgauge.models.load_limit import fires_on_thread
from streamgauge.models.parameters import find_parameters
from streamgauge.planning.recommending.problem import Problem
from streamgauge.topology.cluster import Cluster
from streamgauge.topology.logical_plan import LogicalPlan, even_sizes
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.tuple_flow import as_slice
from streamgauge.transport.engine import load_engine

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """The work of a job at the rate that it has to carry.

    Attributes:
        by_task: By operator, or chain of operators: seconds per second of each task.
        cores: That all executors together keep busy at least.
    """

    by_task: Mapping[str, Vector]
    cores: float

    def busiest(self, operator: str, executors: int) -> float:
        """Utilisation of the busiest of so many executors, each with a core to itself."""
        work = self.by_task[operator]
        sizes = np.asarray(even_sizes(len(work), executors))
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        return float(np.add.reduceat(work, starts).max())

    def fewest(self, operator: str, most: int) -> int | None:
        """The fewest executors none of which would be overloaded; None if so many would not do."""
        total = float(self.by_task[operator].sum())
        first = min(max(int(total), 1), most + 1)
        return next(
            (count for count in range(first, most + 1) if self.busiest(operator, count) < 1.0),
            None,
        )

    def floor(self, operator: str) -> int:
        """Executors below which the work does not fit, however it is divided among them."""
        return max(1, int(float(self.by_task[operator].sum())))

    def next_useful(self, operator: str, executors: int, most: int) -> int | None:
        """The next larger number whose busiest executor has less to do; None where none has.

        Tasks are whole: of 16 tasks, 9 executors have one with as many as 8 have.
        """
        now = self.busiest(operator, executors) * (1.0 - 1e-9)
        counts = range(executors + 1, most + 1)
        return next((count for count in counts if self.busiest(operator, count) < now), None)


def find_demand(problem: Problem) -> Demand:
    """The work of each task, from a plan with an executor for each and all in one place."""
    job = problem.job
    finest = replace(
        job.configuration,
        executors={one.name: one.tasks for one in job.topology.operators},
        ackers=job.configuration.acker_count,
    )
    order = load_engine(finest.engine).task_order
    logical = LogicalPlan.of(job.topology, finest, task_order=order)
    place = Cluster.uniform(nodes=1)
    plan = PhysicalPlan.from_slots(logical, place, place.slots, [0] * len(logical.executors))
    behaviour = problem.behaviour
    chained = chain_job(behaviour, plan)
    if chained is not None:
        behaviour, plan = chained.behaviour, chained.plan
    parameters = find_parameters(behaviour, plan, problem.required_workload)
    tuples, triggers = parameters.works.tuples, parameters.works.triggers
    fired = np.where(fires_on_thread(parameters.flow), triggers.per_second, 0.0)
    busy = tuples.per_second * (tuples.cpu + tuples.wait)
    busy += fired * (triggers.cpu + triggers.wait)
    cores = tuples.per_second * tuples.cpu + triggers.per_second * triggers.cpu
    return Demand(
        by_task={name: busy[as_slice(span)] for name, span in plan.logical.spans.items()},
        cores=float(cores.sum()),
    )
