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
from streamgauge.models.crowding import PROBABILITIES as PROBABILITIES_OF_LEVELS
from streamgauge.models.crowding import level_factors
from streamgauge.models.delays import DelayFormulas, DelayLevels, Delays
from streamgauge.models.end_to_end_latency import PROBABILITIES
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.load_limit import (
    Limit,
    Loaded,
    find_limit,
    fires_on_thread,
    load,
    machine_of_executor,
)
from streamgauge.models.machine_threads import Vector
from streamgauge.models.measured_plan import measured_parameters
from streamgauge.models.network import MEDIAN, find_network
from streamgauge.models.parameters import Parameters, find_parameters
from streamgauge.models.plan_check import check_case
from streamgauge.models.prediction import Prediction, assemble
from streamgauge.models.regimes import find_regimes
from streamgauge.models.service import ServiceTimes
from streamgauge.models.tuple_trees import TupleTrees
from streamgauge.profile.profile import Profile
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.workload import Workload
from streamgauge.transport.engine import engine_names, load_engine

# Quantiles that plans are ranked by.
BRIEF = (0.99,)
# Crowds make no executor busier than this that is not so already.
NEARLY_FULL = 0.98


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
            levels = find_levels(parameters, loaded)
            return self._assembled(
                parameters, loaded, levels, Limit.unknown(), BRIEF, is_brief=True
            )
        return self._whole(parameters, loaded, find_limit(parameters, workload, loaded))

    def as_measured(self, profile: Profile) -> Prediction:
        """The profile's own plan with measured shares, rates and service times.

        What then differs from the measured latency is not the fault of predicted parameters.
        """
        parameters, loaded = measured_parameters(profile)
        return self._whole(parameters, loaded, Limit.unknown())

    def _whole(self, parameters: Parameters, loaded: Loaded, limit: Limit) -> Prediction:
        levels = find_levels(parameters, loaded)
        found = self._assembled(parameters, loaded, levels, limit, PROBABILITIES)
        if loaded.overloaded:
            regimes = find_regimes(parameters, loaded)
            found = replace(found, notes=(*found.notes, *regimes.notes()))
        plan = parameters.flow.plan
        if not plan.logical.topology.has_ackers:
            return found
        network = self._network(plan, parameters.behaviour)
        complete, seen = TupleTrees(parameters, levels, network, loaded.service).latencies()
        return replace(found, complete=complete, seen_by_source=seen)


def find_levels(parameters: Parameters, loaded: Loaded) -> DelayLevels:
    """The delays in a plan's elements under its load, at the levels of its machine's crowd.

    With several crowded machines, levels are mixed in each element: two elements of a path are on
    one machine by chance.
    """
    variation = loaded.variation()
    if not variation.any():
        return DelayLevels.single(find_delays(parameters, loaded.service))
    machine, most = machine_of_executor(parameters.flow.plan), _most_crowd(parameters, loaded)
    levels = DelayLevels(
        probabilities=tuple(PROBABILITIES_OF_LEVELS.tolist()),
        delays=tuple(
            find_delays(parameters, loaded.at_crowd(np.minimum(factor[machine], most)))
            for factor in level_factors(variation)
        ),
    )
    if np.count_nonzero(variation) > 1:
        return DelayLevels.single(levels.mix_elements())
    return levels


def _most_crowd(parameters: Parameters, loaded: Loaded) -> Vector:
    """The factor at which each executor is nearly full; one where it is full already."""
    tuples, triggers = parameters.works.tuples, parameters.works.triggers
    fired = np.where(fires_on_thread(parameters.flow), triggers.per_second, 0.0)
    waits = tuples.per_second * tuples.wait + fired * triggers.wait
    on_core = loaded.utilisation - waits
    room = np.divide(
        NEARLY_FULL - waits, on_core, out=np.full_like(waits, np.inf), where=on_core > 0.0
    )
    return np.where(np.isfinite(loaded.utilisation), np.maximum(room, 1.0), 1.0)


def find_delays(parameters: Parameters, service: ServiceTimes) -> Delays:
    """The delays in a plan's elements, by wall-clock service times."""
    formulas = _formulas_of(parameters.flow.plan.logical.configuration.engine)
    rate = parameters.works.tuples.per_second
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
