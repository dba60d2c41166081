"""What models say of the cases of a block: a column a figure. Pure; Spark only carries it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import CyclicTopology, Infeasible, InvalidInput, NotEnoughData
from streamgauge.models.contract import Model, load_model
from streamgauge.models.cost_job import CostJob
from streamgauge.models.dealt_plans import DealtPlan
from streamgauge.models.plan_costs import LIMITS, PlanCosts, Site, cost_configurations
from streamgauge.models.prediction import Prediction
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.planning.sweeping.sweep import COST, Block, Sweep, SweptPlans
from streamgauge.topology.cluster import BYTES_OF_GBIT, Cluster
from streamgauge.topology.logical_plan import TaskOrder
from streamgauge.topology.workload import Workload
from streamgauge.transport.engine import load_engine

Columns = dict[str, NDArray[Any]]

# Figures of a case, all of them numbers; NaN where a model does not say.
FIGURES = (
    "cost",
    "saturation",
    "limit",
    "mean",
    "p50",
    "p99",
    "floor",
    "cores",
    "busy",
    "remote_bytes",
    "card_bytes",
    "bandwidth",
    "management_bytes",
    "requests",
    "local",
    "node",
    "remote",
    "threads",
)
# The larger the better; of all others the smaller.
MORE_IS_BETTER = frozenset({"limit", "local"})


def evaluate(sweep: Sweep, block: Block) -> Columns:
    """All cases of a block; what is wrong with a case is in its `error`."""
    places = np.arange(block.start, block.stop)
    rate, plan = np.divmod(places, len(sweep.plans))
    plans = sweep.plans.take(plan)
    rates = np.asarray(sweep.rates)[rate]
    figures, extra = (
        _evaluate_costs(sweep, block.replica, plan, rates)
        if block.model == COST
        else _evaluate_each(sweep, block, plans, rates)
    )
    cost = plans.nodes * (sweep.node.price + plans.workers * sweep.node.worker_price)
    count = len(places)
    nothing = np.full(count, np.nan)
    return {
        "block": np.full(count, block.number),
        "model": np.full(count, block.model, dtype=object),
        "replica": np.full(count, block.replica),
        "nodes": plans.nodes,
        "executors": plans.executors,
        "workers": plans.workers,
        "rate": rates,
        **{name: figures.get(name, nothing) for name in FIGURES},
        "cost": cost.astype(np.float64),
        **extra,
    }


def _evaluate_costs(
    sweep: Sweep, replica: int, plan: NDArray[np.intp], rates: NDArray[np.float64]
) -> tuple[Columns, Columns]:
    """The cost and throughput model: each plan once for all of its rates."""
    job, base = _cost_job(sweep, replica)
    used, which = np.unique(plan, return_inverse=True)
    which = which.reshape(-1)
    plans = sweep.plans.take(used)
    speed = sweep.node.network_gbit_per_second
    costs: PlanCosts = cost_configurations(
        job,
        plans.nodes,
        plans.executors,
        plans.workers,
        Site(
            cores=sweep.node.cores,
            network_bytes_per_second=np.inf if speed is None else speed * BYTES_OF_GBIT,
        ),
        order=deal_order(sweep),
    )
    factor = rates / base
    limit = base * costs.factor[which]
    saturation = rates / limit
    figures: Columns = {
        "saturation": saturation,
        "limit": limit,
        "floor": costs.floor_seconds[which],
        "cores": costs.cores[which] * factor,
        "busy": costs.busy.max(axis=1)[which] * factor,
        "remote_bytes": costs.remote_bytes[which] * factor,
        "card_bytes": costs.network_bytes[which] * factor,
        "bandwidth": (costs.external_bytes + costs.remote_bytes)[which] * factor
        + costs.management_bytes[which],
        "management_bytes": costs.management_bytes[which],
        "requests": costs.requests[which],
        "local": costs.tuples.local[which],
        "node": costs.tuples.node[which],
        "remote": costs.tuples.remote[which],
        "threads": costs.threads[which].astype(np.float64),
    }
    words = np.asarray([*LIMITS, ""], dtype=object)
    full = np.where(np.isfinite(costs.factor), costs.full, len(LIMITS))[which]
    return figures, {
        "fits": saturation < 1.0,
        "full": words[full],
        "error": np.full(len(plan), None, dtype=object),
    }


@lru_cache(maxsize=16)
def _cost_job(sweep: Sweep, replica: int) -> tuple[CostJob, float]:
    """The job under its own load, and what that is in tuples per second."""
    workload = require_workload(sweep)
    behaviour = sweep.behaviours[replica]
    base = sum(one.per_second or 0.0 for one in workload.emissions)
    return CostJob.of(behaviour, workload, sweep.constants), base


def require_workload(sweep: Sweep) -> Workload:
    """How sources share a rate.

    Raises:
        NotEnoughData: Nothing says so.
    """
    workload = sweep.job.workload
    if workload is None:
        raise NotEnoughData("the job does not say what its sources emit: add a workload to it")
    return workload


def deal_order(sweep: Sweep) -> tuple[int, ...]:
    """In which order its engine numbers, and deals, the executors of operators.

    Ackers do not matter: as many as workers, they take every slot once.
    """
    names = [operator.name for operator in sweep.job.topology.operators]
    order = load_engine(sweep.job.configuration.engine).task_order
    if order is TaskOrder.ALPHABETICAL:
        return tuple(sorted(range(len(names)), key=lambda place: names[place]))
    return tuple(range(len(names)))


def _evaluate_each(
    sweep: Sweep, block: Block, plans: SweptPlans, rates: NDArray[np.float64]
) -> tuple[Columns, Columns]:
    """One case after the other, by a model that predicts a single plan."""
    model, behaviour = _model(block.model), sweep.behaviours[block.replica]
    count = len(rates)
    figures = {name: np.full(count, np.nan) for name in FIGURES}
    fits = np.zeros(count, dtype=np.bool_)
    full, errors = (np.full(count, None, dtype=object) for _ in "12")
    for case in range(count):
        try:
            found = model.predict(
                behaviour,
                place_configuration(sweep, plans.plan(case)),
                _load(sweep, float(rates[case])),
            )
        except (InvalidInput, NotEnoughData, Infeasible, CyclicTopology) as error:
            errors[case] = str(error)
            continue
        for name, value in _figures(found, float(rates[case])).items():
            figures[name][case] = value
        fits[case] = not found.overloaded
        full[case] = found.limit.by
    return dict(figures), {"fits": fits, "full": full, "error": errors}


@cache
def _model(name: str) -> Model:
    # Models remember what plans of one job have in common.
    return load_model(name)


def _load(sweep: Sweep, rate: float) -> Workload:
    workload = require_workload(sweep)
    base = sum(one.per_second or 0.0 for one in workload.emissions)
    return workload.times(rate / base)


def place_configuration(sweep: Sweep, plan: DealtPlan) -> Any:
    """The plan that its engine's even scheduler makes of a configuration."""
    node, job = sweep.node, sweep.job
    names = [operator.name for operator in job.topology.operators]
    cluster = Cluster.uniform(
        nodes=plan.nodes,
        slots=plan.workers,
        cores=node.cores,
        latency_ms=node.latency_ms,
        network_gbit_per_second=node.network_gbit_per_second,
    )
    configuration = replace(
        job.configuration,
        executors=dict(zip(names, plan.executors, strict=True)),
        workers=plan.nodes * plan.workers,
    )
    configured = replace(job, configuration=configuration, cluster=cluster, plan=None, steps={})
    return place_job(configured, "even").plan


def _figures(found: Prediction, rate: float) -> dict[str, float]:
    limit = found.limit.per_second
    moved = found.bytes
    known = moved is not None and moved.is_known
    return {
        "saturation": rate / limit if limit > 0.0 else np.inf,
        "limit": limit,
        "mean": found.latency.mean,
        "p50": found.latency.quantiles.get(0.5, np.nan),
        "p99": found.latency.quantiles.get(0.99, np.nan),
        "cores": sum(one.cores for one in found.workers),
        "busy": max((one.utilisation for one in found.executors), default=np.nan),
        "remote_bytes": moved.total("remote_bytes_per_second", system=False)
        if moved is not None and known
        else np.nan,
        "card_bytes": max((one.busiest for one in moved.machines), default=np.nan)
        if moved is not None and known
        else np.nan,
    }
