"""What the delays of a plan follow from: routing, coefficients, rates, acknowledgements, work.

The chain of Cooper 2020, section 4.14, in the order in which its steps need each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from streamgauge.errors import InvalidInput
from streamgauge.models.acks import roots_per_tuple, with_acks, with_answers
from streamgauge.models.conversion import Conversion, conversion_of
from streamgauge.models.flow import Rates, propagate, source_rates
from streamgauge.models.routing import SCOPES, Routing, route
from streamgauge.models.service import Works, works_of
from streamgauge.models.uncrowding import behaviours_of
from streamgauge.profile.profile import Profile
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import OperatorKind
from streamgauge.topology.tuple_flow import TupleFlow
from streamgauge.topology.workload import Workload
from streamgauge.transport.engine import load_engine
from streamgauge.transport.mechanics import Mechanics

# More names than this say no more.
MANY_NAMES = 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parameters:
    """Everything that a plan's delays follow from.

    Attributes:
        flow: The plan, with predicted shares.
        mechanics: Of its engine.
        routing: How tuples are dealt.
        conversions: What processors make of tuples.
        rates: Of tuples and messages.
        works: What they cost.
        notes: What was assumed.
        rescaled: The same with all sources' rates so many times as high.
    """

    flow: TupleFlow
    mechanics: Mechanics
    routing: Routing
    conversions: Mapping[str, Conversion]
    rates: Rates
    works: Works
    notes: tuple[str, ...]
    rescaled: Callable[[float], Parameters]

    @property
    def is_linear(self) -> bool:
        """Whether all rates grow with those of the sources: nothing happens by the clock."""
        windows = [one.window for one in self.flow.plan.logical.topology.operators]
        return not any(
            one is not None and (one.length_seconds is not None or one.slide_seconds is not None)
            for one in windows
        )


def check_plan(profile: Profile, plan: PhysicalPlan) -> None:
    """Raise InvalidInput where a plan is not of the profile's job, or an operator has no figure."""
    mine, other = profile.topology, plan.logical.topology
    ackers = plan.logical.configuration.acker_count
    if mine.with_ackers(ackers) == other:
        _check_whole(profile)
        return
    unknown = sorted(set(other.operator_names) - set(mine.with_ackers(ackers).operator_names))
    missing = sorted(set(mine.operator_names) - set(other.operator_names))
    differs = []
    if unknown:
        differs.append(f"operators that were not measured: {', '.join(unknown)}")
    if missing:
        differs.append(f"operators that are not in the plan: {', '.join(missing)}")
    raise InvalidInput.single(
        ("plan",),
        seen=f"a plan of topology {other.name!r}, with "
        + ("; ".join(differs) or "other tasks, streams or groupings"),
        expected=f"a plan of the profile's topology {mine.name!r}",
        remedy="predict from a profile of the same topology",
    )


def _check_whole(profile: Profile) -> None:
    profiled = {name for name, _ in profile.tasks}
    processors = (
        one.name for one in profile.topology.operators if one.kind is OperatorKind.PROCESSOR
    )
    missing = [name for name in processors if name not in profiled]
    if missing:
        raise InvalidInput.single(
            ("profile", "operators"),
            seen=f"nothing of {', '.join(missing)}",
            expected="figures of every operator of the topology",
            remedy="measure a period in which all of them run, or write their figures by hand",
        )


def parameters_of(profile: Profile, plan: PhysicalPlan, workload: Workload) -> Parameters:
    """Routing, rates and work of a plan, from what was measured on another."""
    configuration = plan.logical.configuration
    transport = load_engine(configuration.engine)
    mechanics = transport.mechanics(configuration.settings)
    relieved = behaviours_of(profile)
    behaviours = relieved.behaviours
    routing = route(TupleFlow.of(plan, transport.hops), profile, mechanics)
    flow, logical = routing.flow, plan.logical
    conversions = {
        one.name: conversion_of(logical, one.name, profile, behaviours[one.name], mechanics)
        for one in logical.topology.operators
        if one.kind is OperatorKind.PROCESSOR
    }
    rates = propagate(flow, source_rates(logical, workload), conversions)
    if logical.topology.has_ackers:
        rates = with_acks(flow, rates, roots_per_tuple(flow, rates, conversions, mechanics))
        flow = with_answers(flow, rates)
    works = works_of(flow, rates, profile, behaviours, conversions)
    notes = [*relieved.notes, *routing.notes, *works.notes]
    if profile.configuration.engine != configuration.engine:
        notes.append(
            f"measured on {profile.configuration.engine}, predicted for {configuration.engine}"
        )
    if routing.idle:
        more = len(routing.idle) > MANY_NAMES
        named = ", ".join(routing.idle[:MANY_NAMES]) + (" and others" if more else "")
        many = f"{len(routing.idle)} executors" if len(routing.idle) > 1 else "one executor"
        notes.append(f"{many} would get nothing, as tuples stay near: {named}")
    wide = {SCOPES[int(scope.max())] for scope in routing.scopes.values() if len(scope)} - {
        "worker"
    }
    if wide:
        notes.append(f"shuffle would reach beyond the worker: {', '.join(sorted(wide))}")
    return Parameters(
        flow=flow,
        mechanics=mechanics,
        routing=routing,
        conversions=conversions,
        rates=rates,
        works=works,
        notes=tuple(notes),
        rescaled=lambda factor: parameters_of(profile, plan, workload.times(factor)),
    )
