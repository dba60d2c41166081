"""Observations of tasks, step by step under each plan: what throughput curves are fitted to.

History is kept by operator; these are the same times by task, with the CPU of executors. Of plans
and steps no more are kept than a profile can hold: the plans that ran for longest, and of each the
steps that are spread evenly over its loads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from streamgauge.pipeline.estimation.schemas import Floats, flattened
from streamgauge.profile.observed import ObservedPlan, TaskSteps
from streamgauge.topology.topology import SYSTEM_PREFIX, StreamKey

# What a row of `Kind.TASKS` is named by.
COLUMNS = (
    "cluster",
    "plan_id",
    "component",
    "stream",
    "metric",
    "source_component",
    "task",
    "executor",
)
MOST_PLANS = 20
MOST_STEPS, FEWEST_STEPS = 120, 20
# Numbers of one plan that are worth their place in a file.
MOST_NUMBERS = 40_000
# Steps in which workers were known for a smaller part than this are cut off at an end.
LEAST_KNOWN = 0.5
DIGITS = 6

# By plan, operator and task: for how long it held senders back in each step, in nanoseconds.
Pressed = Mapping[tuple[str, str, int], Mapping[int, int]]
# By plan and step, for how long it was known, in microseconds.
Known = Mapping[tuple[str | None, int], int]


class Layout(NamedTuple):
    """Who there was under each plan.

    Attributes:
        executors: By plan and operator how many.
        first_tasks: By plan and operator the lowest of the engine's numbers of its tasks.
    """

    executors: Mapping[tuple[str, str], int]
    first_tasks: Mapping[tuple[str, str], int]

    def plan_of(self, named: str | None) -> str | None:
        """The plan of a sample that names none, where there is but one."""
        plans = {plan for plan, _ in self.executors}
        return next(iter(plans)) if named is None and len(plans) == 1 else named


class _Totals:
    """Sums by task of one plan, and CPU by operator; each with the steps that it has."""

    def __init__(self) -> None:
        self.inputs: dict[tuple[str, int, StreamKey], Floats] = {}
        self.outputs: dict[tuple[str, int, str], Floats] = {}
        self.cores: dict[str, Floats] = {}

    @property
    def series(self) -> int:
        """Rows of numbers."""
        return len(self.inputs) + len(self.outputs) + len(self.cores)


def observed_plans(
    rows: pa.Table, pressed: Pressed, known: Known, layout: Layout, step_us: int
) -> tuple[ObservedPlan, ...]:
    """The observations of one topology.

    Args:
        rows: Its rows of `Kind.TASKS`, in any order.
        pressed: Who held senders back.
        known: When its workers were known.
        layout: Who there was.
        step_us: How long a step is.
    """
    by_plan = {
        plan: np.asarray(sorted(starts))
        for plan, starts in _whole_steps(known, layout, step_us).items()
    }
    longest = sorted(by_plan, key=lambda plan: (-len(by_plan[plan]), plan))[:MOST_PLANS]
    totals = {plan: _Totals() for plan in longest}
    for named, starts, amounts in _listed(rows):
        plan = layout.plan_of(named["plan_id"])
        if plan in totals:
            at = _placed(starts, amounts, by_plan[plan])
            _add(totals[plan], named, at, layout.first_tasks.get((plan, named["component"])))
    found = []
    for plan in sorted(longest, key=lambda one: (int(by_plan[one][0]), one)):
        alive_us = np.asarray(
            [known.get((plan, at), 0) + known.get((None, at), 0) for at in by_plan[plan].tolist()]
        )
        observed = _observed(plan, totals[plan], pressed, by_plan[plan], alive_us, layout)
        if observed is not None:
            found.append(observed)
    return tuple(found)


def _whole_steps(known: Known, layout: Layout, step_us: int) -> dict[str, list[int]]:
    """By plan the steps that are known for most of their length."""
    plans = {plan for plan, _ in layout.executors}
    found: dict[str, list[int]] = {}
    for plan, start in known:
        mine = layout.plan_of(plan)
        alive = known.get((mine, start), 0) + known.get((None, start), 0)
        if mine in plans and mine is not None and alive >= LEAST_KNOWN * step_us:
            found.setdefault(mine, []).append(start)
    return {plan: list(dict.fromkeys(starts)) for plan, starts in found.items()}


def _listed(rows: pa.Table) -> Iterator[tuple[dict[str, Any], np.ndarray, np.ndarray]]:
    """Each row's names, with its steps and sums."""
    names = {name: rows[name].to_pylist() for name in COLUMNS}
    lengths, starts = flattened(rows["start"])
    _, totals = flattened(rows["total_low"])
    ends = np.cumsum(lengths)
    for place, (length, end) in enumerate(zip(lengths.tolist(), ends.tolist(), strict=True)):
        named = {name: column[place] for name, column in names.items()}
        yield named, starts[end - length : end], totals[end - length : end]


def _placed(starts: np.ndarray, amounts: np.ndarray, steps: np.ndarray) -> Floats:
    """Sums by step of a plan."""
    found = np.zeros(len(steps))
    place = np.minimum(np.searchsorted(steps, starts), len(steps) - 1)
    mine = steps[place] == starts
    np.add.at(found, place[mine], amounts[mine])
    return found


def _add(totals: _Totals, named: Mapping[str, Any], at: Floats, first: int | None) -> None:
    component, stream, metric = named["component"], named["stream"], named["metric"]
    if component is None or (stream or "").startswith(SYSTEM_PREFIX):
        return
    if metric.startswith("executor_cpu"):
        totals.cores[component] = totals.cores.get(component, 0.0) + at
        return
    if named["task"] is None or first is None or stream is None:
        return
    place = named["task"] - first
    if metric.startswith("emitted"):
        output = (component, place, stream)
        totals.outputs[output] = totals.outputs.get(output, 0.0) + at
    elif named["source_component"] is not None:
        entered = (component, place, StreamKey(named["source_component"], stream))
        totals.inputs[entered] = totals.inputs.get(entered, 0.0) + at


def _observed(
    plan: str,
    totals: _Totals,
    pressed: Pressed,
    starts: np.ndarray,
    alive_us: np.ndarray,
    layout: Layout,
) -> ObservedPlan | None:
    """A plan's steps; none where nothing was counted by task."""
    if not totals.inputs and not totals.outputs:
        return None
    load = np.sum([*totals.inputs.values(), *totals.outputs.values()], axis=0) / alive_us
    kept = _chosen(load, totals.series)
    seconds = alive_us[kept] / 1e6

    def rates(amounts: Floats, unit: float = 1.0) -> tuple[float, ...]:
        return tuple(_rounded(one) for one in (amounts[kept] / unit / seconds).tolist())

    inputs, outputs = _by_task(totals.inputs), _by_task(totals.outputs)
    operators = sorted({*inputs, *outputs})
    return ObservedPlan(
        plan_id=plan,
        executors={
            name: layout.executors[plan, name]
            for name in operators
            if (plan, name) in layout.executors
        },
        minutes=tuple(_rounded(one / 60.0) for one in seconds.tolist()),
        tasks={
            name: {
                str(place): TaskSteps(
                    inputs=_rates(inputs, name, place, rates),
                    outputs=_rates(outputs, name, place, rates),
                    backpressure=_pressure(
                        pressed.get((plan, name, place), {}), starts[kept], seconds
                    ),
                )
                for place in sorted({*inputs.get(name, ()), *outputs.get(name, ())})
            }
            for name in operators
        },
        cores={name: rates(at, 1e9) for name, at in sorted(totals.cores.items())},
    )


def _chosen(load: Floats, series: int) -> np.ndarray:
    """The places of steps that are kept, in order of time: evenly over the loads."""
    most = max(FEWEST_STEPS, min(MOST_STEPS, MOST_NUMBERS // max(series, 1)))
    if len(load) <= most:
        return np.arange(len(load))
    ranks = np.unique(np.rint(np.linspace(0, len(load) - 1, most)).astype(np.int64))
    return np.sort(np.argsort(load, kind="stable")[ranks])


def _rates(
    series: Mapping[str, Mapping[int, Mapping[Any, Floats]]],
    name: str,
    place: int,
    rates: Callable[[Floats], tuple[float, ...]],
) -> dict[Any, tuple[float, ...]]:
    return {key: rates(at) for key, at in series.get(name, {}).get(place, {}).items()}


def _by_task(series: Mapping[Any, Floats]) -> dict[str, dict[int, dict[Any, Floats]]]:
    """Rows by operator, place and stream, each in order."""
    found: dict[str, dict[int, dict[Any, Floats]]] = {}
    for (component, place, key), at in sorted(series.items()):
        found.setdefault(component, {}).setdefault(place, {})[key] = at
    return found


def _pressure(steps: Mapping[int, int], starts: np.ndarray, seconds: Floats) -> tuple[float, ...]:
    """Part of each step; nothing where there never was any."""
    held = np.asarray([steps.get(at, 0) / 1e9 for at in starts.tolist()])
    if not held.any():
        return ()
    return tuple(_rounded(one) for one in np.minimum(held / seconds, 1.0).tolist())


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
