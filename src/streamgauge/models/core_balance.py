"""How often a machine evens out its cores, learned from how slow threads were for want of one.

Formulas place a machine between joint cores and a core for each thread by τ, the time between two
looks at whether cores are uneven (`cpu_contention`). Of all executors of a machine, weighted by the
CPU time w of their work, one number says how far a τ is from what the agent measured:

    d(τ) = Σ w·(ln slowdown measured − ln slowdown predicted with τ) / Σ w

By Bayes' rule over a grid of τ: d is normal around zero with the errors of the measurement and of
the formulas, and ln τ beforehand normal around the usual value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from streamgauge.models.measured_plan import SeenThreads, see_threads
from streamgauge.profile.profile import Profile
from streamgauge.topology.cluster import USUAL_BALANCE_MS, Cluster

Vector = NDArray[np.float64]

# Standard deviation of ln τ between machines, before anything is known of one: a factor of three.
SPREAD = np.log(3.0)
# Of the formulas, where τ is right: their slowdowns lie within 14 % (docs/contention.md).
FORMULA_ERROR = 0.1
# A machine whose τ is known hardly better than before keeps the usual one.
INFORMATIVE = 0.9
# Two and a half deviations each way.
GRID = np.exp(np.linspace(-2.5, 2.5, 11) * SPREAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreBalance:
    """What is known of τ of a machine: its logarithm is normal.

    Attributes:
        deviation: Standard deviation of the logarithm.
    """

    milliseconds: float
    deviation: float


def learn_balance(profile: Profile) -> Cluster | None:
    """The profile's cluster, with machines whose τ was not given and could be learned."""
    if profile.cluster is None or not any(one.slowdown for one in profile.executors.values()):
        return profile.cluster
    seen = see_threads(profile)
    if seen is None:
        return profile.cluster
    found = fit_balance(seen)
    return replace(
        profile.cluster,
        machines=tuple(
            replace(machine, balance_ms=float(f"{found[machine.name].milliseconds:.3g}"))
            if machine.balance_ms is None and machine.name in found
            else machine
            for machine in profile.cluster.machines
        ),
    )


def fit_balance(seen: SeenThreads) -> dict[str, CoreBalance]:
    """τ of the machines, by name, that measured slowdowns say something of."""
    tried = USUAL_BALANCE_MS * GRID
    count = len(seen.machines.cores)
    distances = [_distances(seen, np.full(count, one / 1e3)) for one in tried]
    found = {}
    for index, machine in enumerate(seen.plan.cluster.machines):
        mine = np.asarray([distance[index] for distance, _ in distances])
        errors = np.asarray([error[index] for _, error in distances])
        if np.isnan(mine).any():
            continue
        surprise = (mine / np.hypot(errors, FORMULA_ERROR)) ** 2 + (np.log(GRID) / SPREAD) ** 2
        odds = np.exp(-(surprise - surprise.min()) / 2.0)
        odds /= odds.sum()
        mean = float(odds @ np.log(tried))
        deviation = float(np.sqrt(odds @ (np.log(tried) - mean) ** 2))
        if deviation < INFORMATIVE * SPREAD:
            found[machine.name] = CoreBalance(milliseconds=float(np.exp(mean)), deviation=deviation)
    return found


def _distances(seen: SeenThreads, balance_seconds: Vector) -> tuple[Vector, Vector]:
    """By machine, d and its error of measurement; NaN where nothing was measured."""
    stretch, _ = seen.stretch(balance_seconds)
    threads = seen.threads
    known = (
        np.isfinite(stretch)
        & (seen.slowdown >= 1.0)
        & np.isfinite(seen.slowdown_error)
        & (threads.rate > 0.0)
        & (threads.cpu_seconds > 0.0)
    )
    machine = threads.machine[known]
    weight = (threads.rate * threads.cpu_seconds)[known]
    apart = np.log(seen.slowdown[known] / stretch[known])
    error = seen.slowdown_error[known] / seen.slowdown[known]
    count = len(seen.machines.cores)

    def total(values: Vector) -> Vector:
        return np.bincount(machine, values, minlength=count).astype(np.float64)

    work = total(weight)
    some = work > 0.0
    safe = np.where(some, work, 1.0)
    distance = np.where(some, total(weight * apart) / safe, np.nan)
    return distance, np.sqrt(total((weight * error) ** 2)) / safe
