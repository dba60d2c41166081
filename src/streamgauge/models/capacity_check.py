"""Measured capacities beside computed ones, for the plan of a prediction.

The limit of a prediction rests on computed capacities: service time, cores and contention on *that*
plan. A measured capacity was that of another plan, with that one's crowding and neighbours; the
utilisation and latency of the same answer would contradict it. So it changes no figure. Where it is
lower, beyond its error, it is a reason not to rely on the limit, and says which rate would fit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from streamgauge.errors import InvalidInput
from streamgauge.models.capacity_fit import Fitted
from streamgauge.models.chained import chain_job
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.load_limit import find_polling, load
from streamgauge.models.measured_capacity import OperatorFit, Rules
from streamgauge.models.parameters import find_parameters
from streamgauge.models.prediction import Prediction
from streamgauge.models.worker_cpu import find_handling_cores
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import OperatorKind
from streamgauge.topology.tuple_flow import as_slice
from streamgauge.topology.workload import Workload

# A capacity differs from another where it does by more than its interval and this part: by as much
# computed limits were wrong on real Storm.
TOLERANCE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedCapacity:
    """An operator's capacity on a plan, in tuples a second that come to the whole operator.

    Attributes:
        arriving: What comes at the load that was asked for.
        computed: At which its busiest executor would be full, by service time on crowded cores;
            NaN where nothing comes or its machine is overloaded.
        unevenness: What the busiest executor gets, over the mean of all.
        rules: Measured, evenly dealt to, by both rules; None where it was never saturated.
        at_least: The most that all processed without holding anybody back; zero where not known.
        cores: That its executors' threads use, by the CPU model; NaN of a model without one.
        psi_cores: The same by ψ; NaN where that is not known.
    """

    operator: str
    executors: int
    arriving: float
    computed: float
    unevenness: float
    rules: Rules | None
    at_least: float
    cores: float
    psi_cores: float

    @property
    def measured(self) -> Fitted | None:
        """What was measured, by the learned exponent if any, as tuples are dealt on this plan."""
        return None if self.rules is None else self.rules.best.times(1.0 / self.unevenness)

    @property
    def linear(self) -> Fitted | None:
        """The same by the linear rule."""
        return None if self.rules is None else self.rules.linear.times(1.0 / self.unevenness)

    @property
    def headroom(self) -> float:
        """By how much the load may grow by what was measured; NaN where that is not known."""
        measured = self.measured
        if measured is None or self.arriving <= 0.0:
            return math.nan
        return measured.value / self.arriving

    @property
    def difference(self) -> float:
        """Measured over computed, less one; NaN where either is not known."""
        measured = self.measured
        if measured is None or not math.isfinite(self.computed) or self.computed <= 0.0:
            return math.nan
        return measured.value / self.computed - 1.0

    @property
    def differs(self) -> bool:
        """Whether that is more than the error of either can explain."""
        measured = self.measured
        if measured is None or math.isnan(self.difference):
            return False
        width = 0.0 if math.isnan(measured.half_width) else measured.half_width / self.computed
        return abs(self.difference) > TOLERANCE + width


def check_capacities(
    behaviour: JobBehaviour, plan: PhysicalPlan, workload: Workload, prediction: Prediction
) -> tuple[CheckedCapacity, ...]:
    """Every operator's capacity by service time and by observations; none of a declared job."""
    curves = behaviour.curves
    if curves is None:
        return ()
    cores = _thread_cores(behaviour, plan, workload)
    found = []
    for operator in plan.logical.topology.operators:
        fit = curves.by_operator.get(operator.name, OperatorFit())
        if operator.kind is OperatorKind.ACKER:
            continue
        found.append(_check(operator.name, fit, prediction, cores, operator.kind))
    return tuple(found)


def _check(
    name: str,
    fit: OperatorFit,
    prediction: Prediction,
    cores: Mapping[str, float],
    kind: OperatorKind,
) -> CheckedCapacity:
    operator = prediction.operators[name]
    came = [one.arrived_per_second for one in prediction.executors if one.operator == name]
    arriving = 0.0 if kind is OperatorKind.SOURCE else operator.arrived_per_second
    computed = math.nan
    if arriving > 0.0 and 0.0 < operator.busiest < math.inf:
        computed = arriving / operator.busiest
    output = operator.tuples_out_per_second or arriving
    psi = fit.output_cpu
    return CheckedCapacity(
        operator=name,
        executors=operator.executors,
        arriving=arriving,
        computed=computed,
        unevenness=max(came) * len(came) / arriving if arriving > 0.0 else 1.0,
        rules=None if kind is OperatorKind.SOURCE else fit.capacities(operator.executors),
        at_least=max((one.at_least * one.executors for one in fit.curves), default=0.0),
        cores=cores.get(name, math.nan),
        psi_cores=math.nan if psi is None else psi.cores(output, operator.executors),
    )


def _thread_cores(
    behaviour: JobBehaviour, plan: PhysicalPlan, workload: Workload
) -> dict[str, float]:
    """Cores of the threads of each operator's executors, polling included, by the CPU model.

    Nothing where operators share threads, or formulas have no answer: cycles, sources without a
    rate.
    """
    if chain_job(behaviour, plan) is not None:
        return {}
    try:
        parameters = find_parameters(behaviour, plan, workload)
    except InvalidInput:
        return {}
    loaded = load(parameters)
    each = (
        loaded.cores
        + loaded.waking
        + find_polling(parameters, loaded)
        + find_handling_cores(parameters, behaviour.costs)
    )
    return {name: float(np.sum(each[as_slice(span)])) for name, span in plan.logical.spans.items()}


def find_tightest(checked: Sequence[CheckedCapacity]) -> CheckedCapacity | None:
    """The operator that is full first by what was measured; None where nothing was."""
    known = [one for one in checked if not math.isnan(one.headroom)]
    return min(known, key=lambda one: one.headroom, default=None)
