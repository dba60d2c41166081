"""The analytic model: from a profile and a plan to latency, utilisation and the highest rate.

Parameters, then contention, delays, network and ways: arithmetic on means, variances and
transforms; nothing is simulated.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from streamgauge.errors import InvalidInput
from streamgauge.models.chained import split_chains
from streamgauge.models.delays import DelayFormulas, Delays
from streamgauge.models.end_to_end_latency import PROBABILITIES
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.load_limit import Limit, Loaded, find_limit, load
from streamgauge.models.measured_plan import measured_parameters
from streamgauge.models.network import MEDIAN, find_network
from streamgauge.models.parameters import Parameters, find_parameters
from streamgauge.models.plan_check import check_case
from streamgauge.models.prediction import Prediction, assemble
from streamgauge.models.regimes import find_regimes
from streamgauge.models.tuple_trees import TupleTrees
from streamgauge.profile.profile import Profile
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.workload import Workload
from streamgauge.transport.engine import engine_names, load_engine

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
    """

    name = "analytic"

    def __init__(self, *, brief: bool = False, link_percentile: float = MEDIAN) -> None:
        self.brief = brief
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
        parameters = find_parameters(behaviour, plan, workload)
        loaded = load(parameters)
        if self.brief:
            delays = find_delays(parameters, loaded)
            return self._assembled(
                parameters, loaded, delays, Limit.unknown(), BRIEF, is_brief=True
            )
        return self._whole(parameters, loaded, find_limit(parameters, workload, loaded))

    def as_measured(self, profile: Profile) -> Prediction:
        """The profile's own plan with measured shares, rates and service times.

        What then differs from the measured latency is not the fault of predicted parameters.
        """
        parameters, loaded = measured_parameters(profile)
        return self._whole(parameters, loaded, Limit.unknown())

    def _whole(self, parameters: Parameters, loaded: Loaded, limit: Limit) -> Prediction:
        delays = find_delays(parameters, loaded)
        found = self._assembled(parameters, loaded, delays, limit, PROBABILITIES)
        if loaded.overloaded:
            regimes = find_regimes(parameters, loaded)
            found = replace(found, notes=(*found.notes, *regimes.notes()))
        plan = parameters.flow.plan
        if not plan.logical.topology.has_ackers:
            return found
        network = self._network(plan, parameters.behaviour)
        complete, seen = TupleTrees(parameters, delays, network, loaded.service).latencies()
        return replace(found, complete=complete, seen_by_source=seen)


def find_delays(parameters: Parameters, loaded: Loaded) -> Delays:
    """The delays in a plan's elements under its load."""
    formulas = _formulas_of(parameters.flow.plan.logical.configuration.engine)
    service, rate = loaded.service, parameters.works.tuples.per_second
    infinite = ~np.isfinite(service.mean) | ~np.isfinite(service.trigger_mean)
    # Threads that an overloaded machine slows down without bound are overloaded: their load is two.
    overloaded_mean = np.divide(2.0, rate, out=np.ones_like(rate), where=rate > 0.0)
    finite = replace(
        service,
        mean=np.where(infinite, overloaded_mean, service.mean),
        variance=np.where(infinite, 0.0, service.variance),
        trigger_mean=np.where(infinite, 0.0, service.trigger_mean),
        trigger_variance=np.where(infinite, 0.0, service.trigger_variance),
    )
    return formulas(parameters, finite)


def _formulas_of(engine: str) -> DelayFormulas:
    formulas: DelayFormulas | None = load_engine(engine).load("delays")
    if formulas is None:
        having = [name for name in engine_names() if load_engine(name).delays]
        raise InvalidInput.single(
            ("configuration", "engine"),
            seen=f"engine {engine!r}",
            expected=f"an engine whose queues have formulas: {', '.join(having)}",
            remedy="use the model 'simulation'",
        )
    return formulas
