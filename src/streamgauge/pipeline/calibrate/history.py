"""What a topology did in all its time, under all its plans: saturation, source rates, pressure.

Steps of time are a minute, or a minute doubled until it holds five buckets and there are few enough
of them. Tasks sum what they read by step; a bucket counts in the step that it begins in. What they
found comes together where the topology's profile is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamgauge.pipeline.calibrate.lake_parts import (
    EMITTED,
    EXECUTED,
    EXECUTOR_CPU,
    HEARTBEATS,
    PRESSED,
    numbered,
    run_starts,
)
from streamgauge.pipeline.calibrate.periods import moment
from streamgauge.pipeline.calibrate.readings import Readings, Scope, at_places, reordered, table_of
from streamgauge.pipeline.calibrate.task_steps import COLUMNS, Layout, observed_plans
from streamgauge.pipeline.estimation.blocks import BUCKETS_PER_BLOCK, MICROSECONDS
from streamgauge.pipeline.estimation.schemas import Kind, Whole
from streamgauge.profile.figures import RateSeries, Saturation
from streamgauge.profile.observed import ObservedPlan
from streamgauge.topology.topology import SYSTEM_PREFIX, StreamKey

MINUTE_US = 60 * MICROSECONDS
# Observations of an operator, and values of a source's rate, that are worth keeping.
MOST_OBSERVATIONS = 500
MOST_RATES = 2000

KINDS = (Kind.HISTORY, Kind.TASKS, Kind.PRESSED, Kind.MINUTES)

_NANOSECONDS_PER_MICROSECOND = 1000
# Who is known by heartbeats: a worker, else the task or executor of an operator.
_WHO = ("worker", "task", "executor")
_NOBODY = -2
Name = tuple[Any, ...]
_NAMES = ("cluster", "plan_id", "component", "stream", "metric")


def history_rows(
    readings: Readings, inside: Readings, scopes: Sequence[Scope]
) -> Iterator[pa.Table]:
    """What history needs of readings; of back-pressure also what is needed of the period.

    Args:
        readings: Of all times; of counters what was added.
        inside: Those in the period.
        scopes: Whose they are.
    """
    beats = readings.labelled([HEARTBEATS])
    told = beats | readings.labelled(EXECUTED | EMITTED)
    if told.any():
        steps = np.asarray([step_us(one, MOST_RATES) for one in scopes])
        chosen, beats = readings.where(told), beats[told]
        who = [np.where(beats, chosen.code(name), _NOBODY) for name in _WHO]
        step = chosen.start_us - chosen.start_us % steps[chosen.job]
        named = [*(chosen.code(name) for name in _NAMES), *who, chosen.job]
        yield _summed(chosen, scopes, named, step, Kind.HISTORY)
    by_task = readings.where(readings.labelled(EXECUTED | EMITTED | {EXECUTOR_CPU}))
    if len(by_task.row):
        steps = np.asarray([step_us(one, MOST_OBSERVATIONS) for one in scopes])
        step = by_task.start_us - by_task.start_us % steps[by_task.job]
        named = [*(by_task.code(name) for name in COLUMNS), by_task.job]
        yield _summed(by_task, scopes, named, step, Kind.TASKS)
    pressed = readings.where(readings.labelled([PRESSED]))
    if len(pressed.row):
        minute = pressed.start_us - pressed.start_us % MINUTE_US
        named = [pressed.code(name) for name in pressed.samples.codes]
        yield _summed(pressed, scopes, [*named, pressed.job], minute, Kind.PRESSED)
    pressing = inside.where(inside.labelled([PRESSED]) & (inside.value > 0))
    if len(pressing.row):
        minute = pressing.start_us - pressing.start_us % MINUTE_US
        yield _summed(pressing, scopes, [pressing.job], minute, Kind.MINUTES)


def _summed(
    readings: Readings,
    scopes: Sequence[Scope],
    named: Sequence[np.ndarray],
    time_us: Whole,
    kind: Kind,
) -> pa.Table:
    """Totals and spans by whatever has the same names, and by time; of minutes the longest span."""
    number, _ = numbered(named, len(readings.row))
    order = np.lexsort((time_us, number))
    readings, number, time_us = reordered(readings, order), number[order], time_us[order]
    first = run_starts([number, time_us], len(number))
    heads = np.searchsorted(number, np.arange(int(number[-1]) + 1))
    spans = np.maximum if kind is Kind.MINUTES else np.add
    owner = number[first]
    arrays = {
        "start": (owner, time_us[first]),
        "span_us": (owner, spans.reduceat(readings.bucket_us, first)),
        # Counts and nanoseconds: whole numbers, whose sums do not depend on their order.
        "total_low": (owner, np.add.reduceat(readings.amount.astype(np.int64), first)),
    }
    columns: tuple[str, ...] = (*_NAMES, *_WHO)
    if kind is not Kind.HISTORY:
        columns = COLUMNS if kind is Kind.TASKS else tuple(readings.samples.codes)
    return table_of(
        readings.where(at_places(heads, len(number))),
        scopes,
        kind,
        arrays,
        columns=columns,
        own_plan=True,
    )


class Past(NamedTuple):
    """The history of a topology.

    Attributes:
        sources: Rates of its source streams.
        saturation: What came to each operator and left it, step by step and plan by plan.
        observed: What came to each task and left it, step by step and plan by plan.
        pressed_us: For how long of the period any task held its senders back, in whole minutes.
    """

    sources: dict[StreamKey, RateSeries]
    saturation: dict[str, tuple[Saturation, ...]]
    observed: tuple[ObservedPlan, ...]
    pressed_us: int


class _Steps:
    """Numbers by name and step."""

    def __init__(self) -> None:
        self._found: dict[Name, dict[int, int]] = {}

    def add(self, name: Name, starts: Sequence[int], values: Sequence[int]) -> None:
        """Add to what a name has."""
        steps = self._found.setdefault(name, {})
        for start, value in zip(starts, values, strict=True):
            steps[start] = steps.get(start, 0) + value

    def items(self) -> Iterator[tuple[Name, dict[int, int]]]:
        """All names with their steps."""
        yield from self._found.items()


def past_of(rows: pa.Table, layout: Layout, scope: Scope) -> Past:
    """The history of one topology.

    Args:
        rows: Its rows of `KINDS`, in any order.
        layout: Who there was under each plan.
        scope: Its own.
    """
    is_task = pc.equal(rows["kind"], Kind.TASKS.value)
    by_task, rows = rows.filter(is_task), rows.filter(pc.invert(is_task))
    totals, alive, pressed = _Steps(), _Steps(), _Steps()
    minutes: dict[int, int] = {}
    names = {name: rows[name].to_pylist() for name in ("kind", *_NAMES, *_WHO)}
    others = _other_names(rows)
    lists = {name: rows[name].to_pylist() for name in ("start", "span_us", "total_low")}
    for place, kind in enumerate(names["kind"]):
        named = {name: column[place] for name, column in names.items()}
        start, span, total = (lists[name][place] for name in lists)
        plan, component = named["plan_id"], named["component"]
        if kind == Kind.MINUTES:
            for at, longest in zip(start, span, strict=True):
                minutes[at] = max(minutes.get(at, 0), longest)
        elif kind == Kind.PRESSED:
            pressed.add((plan, component, named["stream"], others[place], "total"), start, total)
            pressed.add((plan, component, named["stream"], others[place], "span"), start, span)
        elif named["metric"] == HEARTBEATS:
            who = (component, *(named[name] for name in _WHO))
            alive.add((plan, *who), start, span)
        else:
            metric = "executed" if named["metric"] in EXECUTED else "emitted"
            totals.add((plan, component, named["stream"], metric), start, total)
    step = step_us(scope, MOST_OBSERVATIONS)
    return Past(
        sources=_source_rates(totals, alive, step_us(scope, MOST_RATES)),
        saturation=_saturation(totals, alive, _longest(pressed), layout.executors, step),
        observed=observed_plans(
            by_task, _pressed_tasks(pressed, layout, step), _known(alive, step), layout, step
        ),
        pressed_us=sum(max(longest, MINUTE_US) for longest in minutes.values()),
    )


def step_us(scope: Scope, most: int) -> int:
    """How long steps of a topology's history are, of which there are at most so many."""
    step = MINUTE_US
    while (
        step < BUCKETS_PER_BLOCK * scope.period.bucket_us
        or -(-scope.last_us // step) - scope.first_us // step > most
    ):
        step *= 2
    return step


def _other_names(rows: pa.Table) -> list[Name]:
    """What else names a series: tasks hold their senders back each for itself."""
    columns = ("task", "executor", "queue", "worker", "node")
    return list(zip(*(rows[name].to_pylist() for name in columns), strict=True))


def _longest(pressed: _Steps) -> dict[Name, dict[int, int]]:
    """By plan, operator and stream, in each minute the time of whoever pressed for longest."""
    found = dict(pressed.items())
    longest: dict[Name, dict[int, int]] = {}
    for (*name, other, what), totals in found.items():
        if what != "total":
            continue
        spans = found[*name, other, "span"]
        minutes = longest.setdefault(tuple(name), {})
        for start, total in totals.items():
            # Nobody holds others back for longer than time goes on.
            time_ns = min(total, spans[start] * _NANOSECONDS_PER_MICROSECOND)
            minutes[start] = max(minutes.get(start, 0), time_ns)
    return longest


def _pressed_tasks(
    pressed: _Steps, layout: Layout, step: int
) -> dict[tuple[str, str, int], dict[int, int]]:
    """By plan, operator and place of a task, for how long it pressed in each step."""
    found: dict[tuple[str, str, int], dict[int, int]] = {}
    for (named, component, _, other, what), totals in pressed.items():
        task, plan = other[0], layout.plan_of(named)
        if what != "total" or plan is None or task is None:
            continue
        first = layout.first_tasks.get((plan, component))
        if first is None:
            continue
        steps = found.setdefault((plan, component, task - first), {})
        for start, total in totals.items():
            at = start - start % step
            steps[at] = steps.get(at, 0) + total
    return found


def _known(alive: _Steps, step: int) -> dict[tuple[str | None, int], int]:
    """By plan and step for how long workers were known: of the workers, the longest."""
    by_who: dict[Name, int] = {}
    for (plan, *who), spans in alive.items():
        for start, span in spans.items():
            key = (plan, start - start % step, *who)
            by_who[key] = by_who.get(key, 0) + span
    longest: dict[tuple[str | None, int], int] = {}
    for (plan, start, *_), span in by_who.items():
        longest[plan, start] = max(longest.get((plan, start), 0), span)
    return longest


def _source_rates(totals: _Steps, alive: _Steps, step: int) -> dict[StreamKey, RateSeries]:
    """What each source stream emitted, step by step; nothing where nothing was known.

    A source is who emits and executes nothing but the engine's own streams.
    """
    executing, emitted = set(), _Steps()
    for (_, component, stream, metric), steps in totals.items():
        if stream is None or stream.startswith(SYSTEM_PREFIX):
            continue
        if metric == "executed":
            executing.add(component)
        else:
            emitted.add((component, stream), list(steps), list(steps.values()))
    known: dict[int, int] = {}
    for (_, start), span in _known(alive, step).items():
        known[start] = known.get(start, 0) + span
    known = {start: span for start, span in known.items() if span > 0}
    if not known:
        return {}
    steps_of_all = range(min(known), max(known) + 1, step)
    return {
        StreamKey(component, stream): RateSeries(
            start=moment(min(known)),
            step_seconds=step / MICROSECONDS,
            per_second=tuple(
                steps.get(at, 0) * 1e6 / known[at] if at in known else None for at in steps_of_all
            ),
        )
        for (component, stream), steps in sorted(emitted.items(), key=lambda item: item[0])
        if component not in executing
    }


def _saturation(
    totals: _Steps,
    alive: _Steps,
    pressed: Mapping[Name, Mapping[int, int]],
    executors: Mapping[tuple[str, str], int],
    step: int,
) -> dict[str, tuple[Saturation, ...]]:
    """What came to each operator and left it; the engine's own streams are left out."""
    points: dict[tuple[str | None, str, int], dict[str, int]] = {}
    series = [*totals.items(), *(((*name, "pressed"), found) for name, found in pressed.items())]
    for (plan, component, stream, what), steps in series:
        if component is None or (stream or "").startswith(SYSTEM_PREFIX):
            continue
        for start, value in steps.items():
            point = points.setdefault((plan, component, start - start % step), {})
            point[what] = point.get(what, 0) + value
    known = _known(alive, step)
    operators: dict[str, list[tuple[int, Saturation]]] = {}
    for (plan, component, start), point in points.items():
        # Heartbeats may come from writers that do not know the plan.
        alive_us = known.get((plan, start), 0)
        if plan is not None:
            alive_us += known.get((None, start), 0)
        if alive_us <= 0:
            continue
        pressed_us = point.get("pressed", 0) / _NANOSECONDS_PER_MICROSECOND
        saturation = Saturation(
            plan_id=plan or "",
            executors=executors.get((plan or "", component), 0),
            minutes=alive_us / 1e6 / 60.0,
            input_per_second=point.get("executed", 0) * 1e6 / alive_us,
            output_per_second=point.get("emitted", 0) * 1e6 / alive_us,
            backpressure=min(1.0, pressed_us / alive_us),
        )
        operators.setdefault(component, []).append((start, saturation))
    return {
        name: tuple(point for _, point in sorted(found))
        for name, found in sorted(operators.items())
    }
