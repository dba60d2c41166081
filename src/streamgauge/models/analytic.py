"""The analytic model: from a profile and a plan to latency, utilisation and the highest rate.

Parameters, then contention, delays, network and ways: arithmetic on means, variances and
transforms; nothing is simulated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from streamgauge.models.chained import split_chains
from streamgauge.models.closed_network import Admission
from streamgauge.models.crowd_levels import find_levels
from streamgauge.models.end_to_end_latency import PROBABILITIES
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.lateness import wait_for_roots
from streamgauge.models.load_limit import Limit, Loaded, find_limit, load
from streamgauge.models.measured_plan import measured_parameters
from streamgauge.models.network import MEDIAN, find_network
from streamgauge.models.parameters import Parameters, find_parameters
from streamgauge.models.pending_limit import hold_back, is_limited
from streamgauge.models.plan_check import check_case
from streamgauge.models.plan_family import PlanFamily
from streamgauge.models.prediction import Prediction, assemble, limit_roots
from streamgauge.models.regimes import find_regimes
from streamgauge.models.tuple_trees import TupleTrees
from streamgauge.profile.profile import Profile
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.workload import Workload

# Quantiles that plans are ranked by.
BRIEF = (0.99,)


class AnalyticModel:
    """Queueing theory on the means and variabilities of a profile.

    Args:
        brief: Whether to leave out the highest rate that fits, whole tuple trees, latency since
            tuples were due and all quantiles but the 99th percentile, which take most of the
            time: for ranking many plans.
        link_percentile: Which latency between nodes counts: the median is typical, a higher one
            is for worst cases.
        levels: In brief, which quantiles are kept.
        keeps_due: In brief, whether latency since tuples were due is kept.
        keeps_trees: In brief, whether latency of whole tuple trees is kept.
    """

    name = "analytic"

    def __init__(
        self,
        *,
        brief: bool = False,
        link_percentile: float = MEDIAN,
        levels: Sequence[float] = BRIEF,
        keeps_due: bool = False,
        keeps_trees: bool = False,
    ) -> None:
        self.brief = brief
        self._levels = tuple(levels) if brief else PROBABILITIES
        self._has_due, self._has_trees = keeps_due or not brief, keeps_trees or not brief
        # Of the plan before: planners ask for one after the other of the same job.
        self._family: PlanFamily | None = None
        self._assembled = partial(assemble, self.name, link_percentile=link_percentile)
        self._network = partial(find_network, percentile=link_percentile)

    def describe(self) -> str:
        """One sentence on what it looks at."""
        return "queues, batches, sleeping threads and shared cores, by formulas"

    @split_chains
    def predict(
        self, behaviour: JobBehaviour, plan: PhysicalPlan, workload: Workload
    ) -> Prediction:
        """How the job would behave on `plan` under `workload`."""
        check_case(behaviour, plan, workload)
        parameters = find_parameters(behaviour, plan, workload, self._family)
        self._family = parameters.family
        loaded = load(parameters)
        limit = Limit.unknown() if self.brief else find_limit(parameters, workload, loaded)
        notes = () if self.brief else _describe_regimes(parameters, loaded)
        if not is_limited(parameters):
            return self._predict(parameters, loaded, limit, notes)
        network = self._network(plan, behaviour)
        held = hold_back(parameters, workload, loaded, limit, network)
        found = self._predict(held.parameters, held.loaded, held.limit, notes, held.waits)
        return limit_roots(found, held.pending)

    def as_measured(self, profile: Profile) -> Prediction:
        """The profile's own plan with measured shares, rates and service times.

        What then differs from the measured latency is not the fault of predicted parameters.
        """
        parameters, loaded = measured_parameters(profile)
        notes = _describe_regimes(parameters, loaded)
        return self._predict(parameters, loaded, Limit.unknown(), notes)

    def _predict(
        self,
        parameters: Parameters,
        loaded: Loaded,
        limit: Limit,
        notes: tuple[str, ...],
        waits: Mapping[int, Admission] | None = None,
    ) -> Prediction:
        levels = find_levels(parameters, loaded)
        if waits:
            levels = levels.change_lateness(lambda late: wait_for_roots(late, waits))
        found = self._assembled(
            parameters, loaded, levels, limit, self._levels, is_brief=not self._has_due
        )
        found = replace(found, notes=(*found.notes, *notes))
        plan = parameters.flow.plan
        if not (self._has_trees and plan.logical.topology.has_ackers):
            return found
        network = self._network(plan, parameters.behaviour)
        trees = TupleTrees(parameters, levels, network, loaded.service)
        complete, seen = trees.latencies(self._levels)
        return replace(found, complete=complete, seen_by_source=seen)


def _describe_regimes(parameters: Parameters, loaded: Loaded) -> tuple[str, ...]:
    return tuple(find_regimes(parameters, loaded).notes()) if loaded.overloaded else ()
