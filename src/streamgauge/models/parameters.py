"""What the delays of a plan follow from: routing, coefficients, rates, acknowledgements, work.

The chain of Cooper 2020, section 4.14, in the order in which its steps need each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import InvalidInput
from streamgauge.models.acks import roots_per_tuple, with_acks
from streamgauge.models.byte_flow import Crossings, find_crossings
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.load_aware_shuffle import SCOPES
from streamgauge.models.plan_family import PlanFamily
from streamgauge.models.routing import Routing, route
from streamgauge.models.service import Works, find_work
from streamgauge.models.traffic_equations import Traffic, propagate, source_rates
from streamgauge.models.worker_cpu import EngineLoad, find_engine_load
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.workload import Workload

Vector = NDArray[np.float64]

# Larger numbers are slips, and products of far larger ones are no numbers any more.
MOST_LOAD = 1e30
# More names than this say no more.
MANY_NAMES = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class Parameters(Traffic):
    """Everything that a plan's delays follow from.

    Attributes:
        family: The plans that have the same executors.
        engine: What the engine itself has to do.
        rescaled: The same with all sources' rates so many times as high.
    """

    behaviour: JobBehaviour
    family: PlanFamily
    routing: Routing
    works: Works
    engine: EngineLoad
    notes: tuple[str, ...]
    rescaled: Callable[[float], Parameters]

    @cached_property
    def crossings(self) -> Crossings:
        """Bytes between workers, nodes and machines."""
        return find_crossings(self, self.behaviour)

    def network_load(self) -> Vector:
        """Part of what each machine's network card carries, in its busier direction."""
        machines = self.flow.plan.cluster.machines
        if all(machine.network_gbit_per_second is None for machine in machines):
            return super().network_load()
        speeds = np.asarray([machine.network_bytes_per_second for machine in machines])
        return np.asarray(np.maximum(*self.crossings.machines) / speeds)

    @property
    def is_linear(self) -> bool:
        """Whether all rates grow with those of the sources: nothing happens by time."""
        windows = [one.window for one in self.flow.plan.logical.topology.operators]
        return not any(
            one is not None and (one.length_seconds is not None or one.slide_seconds is not None)
            for one in windows
        )


def _check_magnitude(logical: LogicalPlan, works: Works) -> None:
    """Raise InvalidInput, with the operator, where numbers are too large to compute with."""
    load, square = np.zeros(len(logical.executors)), np.zeros(len(logical.executors))
    for work in (works.tuples, works.triggers):
        with np.errstate(over="ignore", invalid="ignore"):
            load += work.per_second * (work.cpu + work.wait)
            square += work.cpu_variance + work.wait_variance
    # Written so that NaN, from infinite times nothing, is refused as well.
    wrong = np.flatnonzero(~((load <= MOST_LOAD) & (square <= MOST_LOAD**2)))
    if len(wrong):
        first = wrong[0]
        raise InvalidInput.single(
            (logical.executors[first].operator,),
            seen=f"an executor with {load[first]:.3g} seconds of work per second; times have a"
            f" variance of {square[first]:.3g} s²",
            expected=f"at most {MOST_LOAD:g} and {MOST_LOAD**2:g}",
            remedy="check rates, tuples out per tuple in and service times on the way to it",
        )


def find_parameters(
    behaviour: JobBehaviour,
    plan: PhysicalPlan,
    workload: Workload,
    known: PlanFamily | None = None,
) -> Parameters:
    """Routing, rates and work of a plan that has never run.

    `known` is the family of another plan: where it is of the same one, that is not found anew.
    """
    family = PlanFamily.of(behaviour, plan.logical, known)
    mechanics, conversions = family.mechanics, family.conversions
    routing = route(family.connect(plan), behaviour, mechanics, family.keyed)
    flow, logical = routing.flow, plan.logical
    configuration = logical.configuration
    rates = propagate(flow, source_rates(logical, workload), conversions)
    traffic = Traffic(flow=flow, rates=rates, conversions=conversions, mechanics=mechanics)
    if logical.topology.has_ackers:
        traffic = with_acks(traffic, roots_per_tuple(traffic))
    works = find_work(traffic, behaviour)
    _check_magnitude(logical, works)
    notes = [*behaviour.notes, *routing.notes, *works.notes]
    if behaviour.topology.name != logical.topology.name:
        notes.append(
            f"the plan is of topology {logical.topology.name!r}, which has the same operators and"
            f" streams as {behaviour.topology.name!r}"
        )
    if behaviour.configuration.engine != configuration.engine:
        notes.append(
            f"measured on {behaviour.configuration.engine}, predicted for {configuration.engine}"
        )
    if routing.idle:
        more = len(routing.idle) > MANY_NAMES
        named = ", ".join(routing.idle[:MANY_NAMES]) + (" and others" if more else "")
        many = f"{len(routing.idle)} executors" if len(routing.idle) > 1 else "one executor"
        notes.append(f"{many} would get no tuples, as shuffle keeps to nearer ones: {named}")
    wide = {SCOPES[int(scope.max())] for scope in routing.scopes.values() if len(scope)} - {
        "worker"
    }
    if wide:
        notes.append(f"shuffle would send outside the sender's worker: {', '.join(sorted(wide))}")
    return Parameters(
        behaviour=behaviour,
        family=family,
        flow=traffic.flow,
        rates=traffic.rates,
        conversions=conversions,
        mechanics=mechanics,
        routing=routing,
        works=works,
        engine=find_engine_load(traffic, behaviour.costs),
        notes=tuple(notes),
        rescaled=lambda factor: find_parameters(behaviour, plan, workload.times(factor), family),
    )
