"""Capacities of operators as they were measured, and what follows from them for another plan.

An instance is an executor: its tasks share one thread. Its saturation point is fitted to all
observations of an operator with the same number of executors, its exponent to those with different
numbers. Beside the computed capacity (service time, CPU and contention: `load_limit`) a measured
one says how far to trust it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.capacity_fit import (
    Fitted,
    fit_knee,
    is_free,
    is_pressed,
    mean_of,
    slope_of,
)
from streamgauge.models.observations import OperatorRun, bounded, list_runs
from streamgauge.models.output_cpu import OutputCpu, fit_output_cpu
from streamgauge.models.parallelism_scaling import learn_exponent, scale_by_power, scale_linearly
from streamgauge.profile.figures import Figure
from streamgauge.profile.observed import Scaling
from streamgauge.profile.profile import Profile
from streamgauge.topology.topology import OperatorKind

Vector = NDArray[np.float64]
Flags = NDArray[np.bool_]

ALIKE = "executors taken as alike"


class Basis(StrEnum):
    """What a capacity was told by.

    PRESSURE: Observations in which it held its senders back.
    KNEE: What it processed did not grow any more with what was sent to it.
    UNKNOWN: Neither was ever seen.
    """

    PRESSURE = "back-pressure"
    KNEE = "knee"
    UNKNOWN = "never saturated"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityFit:
    """The throughput curve of an operator's executors, at one number of them.

    Attributes:
        executors: How many there were.
        instance: Saturation point of one: tuples in a second; None where it is not known.
        amplification: Tuples out for each tuple in, all streams.
        at_least: The most that one processed while it held nobody back.
        saturated: Observations of executors that were.
        free: Those that were not.
        basis: What the saturation point was told by.
        plans: On which plans.
        caution: What makes it doubtful; empty where nothing does.
    """

    executors: int
    instance: Fitted | None
    amplification: Fitted
    at_least: float
    saturated: int
    free: int
    basis: Basis
    plans: tuple[str, ...]
    caution: str = ""

    @property
    def operator(self) -> Fitted | None:
        """Of all executors together, evenly dealt to."""
        return None if self.instance is None else self.instance.times(self.executors)

    @property
    def throughput(self) -> float:
        """Saturation throughput of one executor: tuples out a second; NaN where not known."""
        return math.nan if self.instance is None else self.instance.value * self.amplification.value


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorFit:
    """Everything that observations say of an operator.

    Attributes:
        curves: By number of executors, rising.
        scaling: How capacity grows with executors; None where only one number was saturated.
        output_cpu: ψ; None where its executors' CPU was not measured.
    """

    curves: tuple[CapacityFit, ...] = ()
    scaling: Scaling | None = None
    output_cpu: OutputCpu | None = None

    def nearest(self, executors: int) -> CapacityFit | None:
        """The curve with a known capacity that has the nearest number of executors, if any."""
        known = [one for one in self.curves if one.instance is not None]
        return min(known, key=lambda one: abs(math.log(one.executors / executors)), default=None)

    def capacities(self, executors: int) -> Rules | None:
        """Capacity of so many executors, evenly dealt to; None where none was ever saturated."""
        curve = self.nearest(executors)
        if curve is None or curve.operator is None:
            return None
        power = None
        if self.scaling is not None:
            power = scale_by_power(curve.operator, curve.executors, executors, self.scaling)
        return Rules(
            curve=curve,
            linear=scale_linearly(curve.operator, curve.executors, executors),
            power=power,
        )


class Rules(NamedTuple):
    """A capacity by the linear rule and by the learned exponent.

    Attributes:
        curve: What it was scaled from.
        linear: γ times as much.
        power: By the exponent; None where there is none.
    """

    curve: CapacityFit
    linear: Fitted
    power: Fitted | None

    @property
    def best(self) -> Fitted:
        """By the exponent where there is one."""
        return self.linear if self.power is None else self.power


def fit_operators(profile: Profile) -> dict[str, OperatorFit]:
    """What observations say of every operator that has any; the stored exponent, where there is."""
    found = {}
    runs = list_runs(profile)
    for operator in profile.topology.operators:
        mine = runs.get(operator.name, ())
        scaling = profile.scaling.get(operator.name)
        if not mine and scaling is None:
            continue
        curves: tuple[CapacityFit, ...] = ()
        if operator.kind is not OperatorKind.SOURCE:
            curves = fit_curves(mine)
        found[operator.name] = OperatorFit(
            curves=curves,
            scaling=scaling,
            output_cpu=_fit_cpu(mine) or _cpu_of_period(profile, operator.name),
        )
    return found


def learn_scaling(profile: Profile) -> dict[str, Scaling]:
    """The exponents of operators that were saturated with different numbers of executors."""
    found = {}
    for name, runs in list_runs(profile).items():
        if profile.topology.operator(name).kind is not OperatorKind.SOURCE:
            known = {
                one.executors: one.operator for one in fit_curves(runs) if one.operator is not None
            }
            scaling = learn_exponent(known)
            if scaling is not None:
                found[name] = scaling
    return found


def fit_curves(runs: Sequence[OperatorRun]) -> tuple[CapacityFit, ...]:
    """The curves of an operator, one for each number of executors."""
    by_count: dict[int, list[OperatorRun]] = {}
    for run in runs:
        by_count.setdefault(run.executors, []).append(run)
    return tuple(_fit_curve(count, by_count[count]) for count in sorted(by_count))


def _fit_curve(executors: int, runs: Sequence[OperatorRun]) -> CapacityFit:
    # Who is held back by others further on fills up as well, and is not to blame.
    pressed = [is_pressed(run.pressure) & ~run.held[:, None] for run in runs]
    free = [is_free(run.pressure) & ~run.held[:, None] & (run.demand > 0.0) for run in runs]
    demands = [run.demand for run in runs]
    plateau = _picked(demands, pressed)
    below = _picked(demands, free)
    amplification = slope_of(
        np.concatenate([run.demand.ravel() for run in runs]),
        np.concatenate([run.emitted.ravel() for run in runs]),
    )
    instance, basis, caution = None, Basis.UNKNOWN, ""
    if len(plateau):
        instance, basis = _plateau(demands, pressed), Basis.PRESSURE
        if not len(below):
            caution = "no observation below saturation"
        if not all(run.by_executor for run in runs):
            caution = ALIKE
    else:
        instance, caution = _by_knee(runs)
        basis = Basis.UNKNOWN if instance is None else Basis.KNEE
    saturated, unsaturated = len(plateau), len(below)
    if basis is Basis.KNEE and instance is not None:
        # What waits in queues held nobody back, and is no sign of room.
        saturated = instance.observations
        unsaturated = sum(len(run.demand) for run in runs) - saturated
        below = np.minimum(below, instance.value)
    return CapacityFit(
        executors=executors,
        instance=instance,
        amplification=amplification,
        at_least=float(below.max(initial=0.0)),
        saturated=saturated,
        free=unsaturated,
        basis=basis,
        plans=tuple(dict.fromkeys(run.plan_id for run in runs)),
        caution=caution,
    )


def _picked(values: Sequence[NDArray[np.float64]], flags: Sequence[Flags]) -> Vector:
    return np.concatenate([value[flag] for value, flag in zip(values, flags, strict=True)])


def _plateau(demands: Sequence[NDArray[np.float64]], pressed: Sequence[Flags]) -> Fitted:
    """The mean over steps, with an interval no narrower than executors and plans differ.

    What disturbs one executor in a step disturbs its neighbours, too: a step counts once.
    """
    pooled = mean_of(
        [
            demand[step, flags[step]].mean()
            for demand, flags in zip(demands, pressed, strict=True)
            for step in np.flatnonzero(flags.any(axis=1)).tolist()
        ]
    )
    groups = [
        demand[flags[:, place], place]
        for demand, flags in zip(demands, pressed, strict=True)
        for place in range(demand.shape[1])
        if flags[:, place].any()
    ]
    if len(groups) < 2:
        return pooled
    between = mean_of([mean_of(group).value for group in groups])
    return Fitted(
        value=pooled.value,
        half_width=float(np.fmax(pooled.half_width, between.half_width)),
        observations=pooled.observations,
    )


def _by_knee(runs: Sequence[OperatorRun]) -> tuple[Fitted | None, str]:
    """Where nobody is held back, and what is too much waits or is dropped: a bend.

    Of all executors together: which of them gets how much of what was sent is not known.
    """
    told = [run for run in runs if np.isfinite(run.sent).all()]
    if not told:
        return None, ""
    sent = np.concatenate([run.sent for run in told])
    processed = np.concatenate([run.demand.sum(axis=1) for run in told])
    knee = fit_knee(sent, processed)
    # A backlog that is worked off, or rates that hardly differ, look like a plateau.
    if knee.plateau is None or not math.isfinite(knee.point):
        return None, ""
    return knee.plateau.times(1.0 / told[0].executors), ALIKE


def _fit_cpu(runs: Sequence[OperatorRun]) -> OutputCpu | None:
    if not runs:
        return None
    return fit_output_cpu(
        np.concatenate([run.output for run in runs]),
        np.concatenate([run.cores for run in runs]),
        np.concatenate([np.full(len(run.cores), run.executors) for run in runs]),
    )


def _cpu_of_period(profile: Profile, operator: str) -> OutputCpu | None:
    """ψ from the profile's own period alone: one observation."""
    used = [
        float(bounded(one.cores.value))
        for label, one in profile.executors.items()
        if one.cores is not None and label.partition("[")[0] == operator
    ]
    tasks = profile.tasks_of(operator).values()
    out = [one.per_second for task in tasks for one in task.outputs.values()]
    came = [one.per_second for task in tasks for one in task.inputs.values()]
    rate = _total(out) or _total(came)
    executors = profile.configuration.executors_of(operator)
    if len(used) < executors or rate <= 0.0:
        return None
    return fit_output_cpu([rate], [math.fsum(used)], [executors])


def _total(rates: Sequence[Figure | None]) -> float:
    return float(bounded([one.value for one in rates if one is not None]).sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredCurves:
    """What the observations of a profile say of its operators, found when somebody asks."""

    profile: Profile

    @cached_property
    def by_operator(self) -> Mapping[str, OperatorFit]:
        """Of operators that have any."""
        return fit_operators(self.profile)
