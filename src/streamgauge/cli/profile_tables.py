"""A profile as tables on a terminal; ± is always one standard error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from statistics import median
from typing import TYPE_CHECKING

from streamgauge.cli.figure_tables import (
    MANY,
    measured,
    part,
    plain,
    print_figures,
    print_lines,
    quantile,
    size,
)
from streamgauge.cli.output import counted, printable
from streamgauge.cli.profile_quality import print_quality
from streamgauge.cli.profile_resources import print_hosts, print_links, print_queues
from streamgauge.drawing.quantities import MISSING, number, plain_number
from streamgauge.errors import InvalidInput
from streamgauge.profile.figures import Figure, TimeFigures
from streamgauge.profile.pooling import mean_of, pool_times, total_of
from streamgauge.topology.logical_plan import Executor
from streamgauge.topology.topology import DEFAULT_STREAM, OperatorKind

if TYPE_CHECKING:
    from streamgauge.profile.figures import InputFigures, OutputFigures, TaskProfile
    from streamgauge.profile.profile import Profile
    from streamgauge.profile.quality import Assessment
    from streamgauge.topology.topology import Stream, StreamKey, Topology


def print_profile(profile: Profile, assessments: Sequence[Assessment]) -> None:
    """The whole profile, operator by operator."""
    _print_head(profile)
    deployed = profile.topology.with_ackers(profile.configuration.acker_count)
    names = [
        operator.name
        for operator in deployed.operators
        if operator.kind is not OperatorKind.ACKER or profile.tasks_of(operator.name)
    ]
    _print_operators(profile, deployed, names)
    _print_times(profile, deployed, names)
    _print_windows(profile)
    _print_latencies(profile)
    _print_streams(profile, profile.topology.data_streams)
    print_queues(profile, list(profile.executors))
    print_hosts(profile)
    print_links(profile)
    _print_saturation(profile)
    _print_series(profile)
    print_quality(assessments, profile.notes)


def print_operator(profile: Profile, operator: str, assessments: Sequence[Assessment]) -> None:
    """One operator, task by task."""
    _print_head(profile)
    deployed = profile.topology.with_ackers(profile.configuration.acker_count)
    _print_tasks(profile, deployed, operator)
    _print_times(profile, deployed, [operator])
    streams = [s for s in profile.topology.data_streams if operator in (s.source, s.target)]
    _print_streams(profile, streams)
    print_queues(profile, [one for one in profile.executors if operator_of(one) == operator])
    print_quality(assessments, profile.notes)


def operator_of(label: str) -> str:
    """The operator of an executor, or nothing where the label is no label."""
    try:
        return Executor.parse(label).operator
    except InvalidInput:
        return ""


def _print_head(profile: Profile) -> None:
    plan = "" if profile.plan_id is None else f", plan {profile.plan_id}"
    lines = [f"{profile.topology.name} on {profile.configuration.engine}{plan}{_period(profile)}"]
    if profile.placement:
        workers = len(set(profile.placement.values()))
        executors = counted(len(profile.placement), "executor")
        lines.append(f"{executors} in {counted(workers, 'worker')}; {_replicas(profile)}")
    else:
        lines.append(f"placement not known; {_replicas(profile)}")
    last = []
    if profile.juice is not None:
        parts = (f"{name} {number(one)}" for name, one in profile.juice.operators.items())
        each = ", ".join(parts)
        last.append(f"juice {measured(profile.juice.topology)}" + (f" ({each})" if each else ""))
    if profile.backpressure_minutes is not None:
        last.append(f"back-pressure in {plain_number(profile.backpressure_minutes)} minutes")
    print_lines([*lines, "; ".join(last)] if last else lines)
    print()


def _period(profile: Profile) -> str:
    if profile.period is None:
        return ", period not known"
    start, end = profile.period.start, profile.period.end
    try:
        seconds = (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except (ValueError, TypeError):
        return f", {start} to {end}"
    return f", {start} to {end} ({plain_number(seconds / 60.0)} min)"


def _replicas(profile: Profile) -> str:
    one = profile.replicas
    if one is None:
        return "no replicas"
    blocks = f"{counted(one.blocks, 'block')} of {plain_number(one.block_seconds)} s"
    if one.count == 0:
        return f"no replicas, as {blocks} are too few"
    return f"{counted(one.count, 'replica')} from {blocks}" + (
        f" in {one.file}" if one.file else ""
    )


def _print_operators(profile: Profile, deployed: Topology, names: Sequence[str]) -> None:
    rows = []
    for name in names:
        tasks = list(profile.tasks_of(name).values())
        capacities = [
            one.capacity
            for label, one in profile.executors.items()
            if operator_of(label) == name and one.capacity is not None
        ]
        total = deployed.operator(name).tasks
        rows.append(
            (
                name,
                str(total) if len(tasks) == total else f"{len(tasks)} of {total}",
                plain(_arrivals(deployed, name, tasks)),
                plain(_emissions(deployed, name, tasks)),
                part(mean_of(capacities)),
                part(_largest(capacities)),
                plain(mean_of(_inputs("dispersion", tasks))),
                part(mean_of(_inputs("failed_share", tasks))),
                part(_largest([one.backpressure for one in tasks])),
            )
        )
    columns = (
        "operator",
        "tasks",
        "in /s",
        "out /s",
        "busy",
        "busiest",
        "dispersion",
        "failed",
        "back-pressure",
    )
    title = "Operators: tuples, capacity of executors, back-pressure of the worst task"
    print_figures(title, columns, rows)


def _print_tasks(profile: Profile, deployed: Topology, operator: str) -> None:
    rows = []
    for place, task in _busiest(profile, deployed, operator):
        wall = pool_times([one.wall for one in task.inputs.values() if one.wall is not None])
        cpu = pool_times([one.cpu for one in task.inputs.values() if one.cpu is not None])
        rows.append(
            (
                str(place),
                plain(_arrivals(deployed, operator, [task])),
                plain(_emissions(deployed, operator, [task])),
                measured(None if wall is None else wall.mean_ms),
                plain(None if wall is None else wall.scv),
                quantile(wall, 0.99),
                measured(None if cpu is None else cpu.mean_ms),
                part(task.backpressure),
                size(None if wall is None else wall.mean_ms),
            )
        )
    columns = (
        "task",
        "in /s",
        "out /s",
        "service ms",
        "scv",
        "p99 ms",
        "CPU ms",
        "back-pr.",
        "samples",
    )
    title = f"{operator}: {len(rows)} of {deployed.operator(operator).tasks} tasks seen"
    more = f"; the {MANY} with the most tuples" if len(rows) > MANY else ""
    print_figures(title + more, columns, rows[:MANY])
    _print_ranges(profile, deployed, operator)


def _busiest(profile: Profile, deployed: Topology, operator: str) -> list[tuple[int, TaskProfile]]:
    """Tasks by their places, or by their tuples where they are too many to show."""
    tasks = sorted(profile.tasks_of(operator).items())
    if len(tasks) <= MANY:
        return tasks

    def tuples(task: TaskProfile) -> float:
        found = _arrivals(deployed, operator, [task]) or _emissions(deployed, operator, [task])
        return 0.0 if found is None else found.value

    return sorted(tasks, key=lambda item: -tuples(item[1]))


def _print_ranges(profile: Profile, deployed: Topology, operator: str) -> None:
    """How far tasks differ, and how arrivals scatter over longer stretches."""
    tasks = list(profile.tasks_of(operator).values())
    rates = [_arrivals(deployed, operator, [task]) for task in tasks]
    times = [one.wall for task in tasks for one in task.inputs.values()]
    said = {
        "in /s": [rate.value for rate in rates if rate is not None],
        "service ms": [one.mean_ms.value for one in times if one is not None],
    }
    lines = [
        f"{name} of tasks: {number(min(values))} to {number(max(values))}, "
        f"median {number(median(values))}"
        for name, values in said.items()
        if values
    ]
    spans: dict[float, list[Figure]] = {}
    for task in tasks:
        for one in task.inputs.values():
            for seconds, figure in one.dispersions.items():
                spans.setdefault(seconds, []).append(figure)
    if spans:
        each = (f"{plain(mean_of(spans[one]))} over {plain_number(one)} s" for one in sorted(spans))
        lines.append(f"dispersion of arrivals: {', '.join(each)}")
    print_lines(lines)


def _print_times(profile: Profile, deployed: Topology, names: Sequence[str]) -> None:
    rows = []
    for name in names:
        tasks = list(profile.tasks_of(name).values())
        for key in dict.fromkeys(stream.key for stream in deployed.streams_into(name)):
            figures = [task.inputs[key] for task in tasks if key in task.inputs]
            rows.append((f"{name} ← {_short(key)}", *_times(*_walls_and_cpus(figures))))
        walls = [task.window for task in tasks if task.window is not None]
        cpus = [task.window_cpu for task in tasks if task.window_cpu is not None]
        rows.append((f"{name}, a window", *_times(walls, cpus)))
        for stream in dict.fromkeys(stream.name for stream in deployed.streams_from(name)):
            emitted = [task.outputs[stream] for task in tasks if stream in task.outputs]
            rows.append((f"{name} emits {stream}", *_times(*_walls_and_cpus(emitted))))
    columns = ("operator", "wall ms", "scv", "p99 ms", "CPU ms", "samples", "buckets")
    known = [row for row in rows if set(row[1:]) != {MISSING}]
    print_figures("Service times, ± standard error; p99 of the worst task", columns, known)


def _walls_and_cpus(
    figures: Sequence[InputFigures] | Sequence[OutputFigures],
) -> tuple[list[TimeFigures], list[TimeFigures]]:
    walls = [one.wall for one in figures if one.wall is not None]
    return walls, [one.cpu for one in figures if one.cpu is not None]


def _times(walls: Sequence[TimeFigures], cpus: Sequence[TimeFigures]) -> tuple[str, ...]:
    wall, cpu = pool_times(walls), pool_times(cpus)
    shown = wall if wall is not None else cpu
    return (
        measured(None if wall is None else wall.mean_ms),
        plain(None if shown is None else shown.scv),
        quantile(wall, 0.99),
        measured(None if cpu is None else cpu.mean_ms),
        size(None if shown is None else shown.mean_ms),
        MISSING if shown is None else str(shown.mean_ms.buckets),
    )


def _print_windows(profile: Profile) -> None:
    rows = []
    for operator in profile.topology.operators:
        if operator.window is not None:
            tasks = profile.tasks_of(operator.name).values()
            fired = [one.triggers_per_second for one in tasks]
            held = [one.window_tuples for one in tasks]
            rows.append(
                (
                    operator.name,
                    operator.window.describe(),
                    measured(total_of([one for one in fired if one is not None])),
                    measured(mean_of([one for one in held if one is not None])),
                )
            )
    print_figures("Windows", ("operator", "window", "fired /s", "tuples in one"), rows, texts=2)


def _print_latencies(profile: Profile) -> None:
    rows = []
    named: dict[str, list[TimeFigures]] = {}
    for (operator, _), task in profile.tasks.items():
        for source, one in task.end_to_end.items():
            named.setdefault(f"{source} → {operator}", []).append(one)
        for stream, output in task.outputs.items():
            for kind, times in (("complete", output.complete), ("acked", output.root)):
                if times is not None:
                    named.setdefault(f"{operator}/{stream}, {kind}", []).append(times)
    for name, known in named.items():
        pooled = pool_times(known)
        assert pooled is not None
        rows.append(
            (
                name,
                measured(pooled.mean_ms),
                quantile(pooled, 0.5),
                quantile(pooled, 0.99),
                size(pooled.mean_ms),
            )
        )
    columns = ("from → to", "mean ms", "median ms", "p99 ms", "samples")
    print_figures("Latency; median and p99 of the worst task", columns, rows)


def _print_streams(profile: Profile, streams: Sequence[Stream]) -> None:
    rows = []
    for stream in streams:
        tasks = profile.tasks_of(stream.source).values()
        figures = [task.outputs[stream.name] for task in tasks if stream.name in task.outputs]
        keys = dict.fromkeys(one.key for one in profile.topology.streams_into(stream.source))
        coefficients = {
            key: mean_of([one.coefficients[key] for one in figures if key in one.coefficients])
            for key in keys
        }
        shares = [one.shares[stream.target] for one in figures if stream.target in one.shares]
        triggers = [one.per_trigger for one in figures if one.per_trigger is not None]
        first = next(iter(coefficients.values()), None)
        rows.append(
            (
                f"{_short(stream.key)} → {stream.target}",
                stream.grouping.describe(),
                plain(total_of([one.per_second for one in figures if one.per_second is not None])),
                measured(mean_of(triggers) if triggers else first),
                plain(mean_of([one.bytes for one in figures if one.bytes is not None])),
                _share_range([one.parts for one in shares]),
            )
        )
        # The coefficients of further inputs stand below the first.
        for key in list(coefficients)[1:]:
            rows.append((f"  per {_short(key)}", "", "", measured(coefficients[key]), "", ""))
    columns = ("from → to", "grouping", "tuples/s", "out per in", "bytes", "task's share")
    print_figures("Streams, ± standard error; windows: out per window", columns, rows, texts=2)


def _share_range(rows: Sequence[Sequence[float]]) -> str:
    parts = [one for row in rows for one in row]
    if not parts:
        return MISSING
    return f"{100 * min(parts):.3g}–{100 * max(parts):.3g} %"


def _print_saturation(profile: Profile) -> None:
    rows = []
    for name, seen in profile.saturation.items():
        free = [one.input_per_second for one in seen if one.backpressure == 0.0]
        held = [one.input_per_second for one in seen if one.backpressure > 0.0]
        rows.append(
            (
                name,
                str(len(seen)),
                str(len({one.plan_id for one in seen})),
                number(max(free)) if free else MISSING,
                number(min(held)) if held else MISSING,
            )
        )
    columns = ("operator", "stretches", "plans", "most in /s without", "least in /s with")
    print_figures("Back-pressure over all the history", columns, rows)


def _print_series(profile: Profile) -> None:
    rows = []
    for key, series in sorted(profile.sources.items()):
        known = [rate for rate in series.per_second if rate is not None]
        rows.append(
            (
                _short(key),
                series.start,
                plain_number(series.step_seconds),
                f"{len(series.per_second):,}",
                f"{len(series.per_second) - len(known):,}",
                number(min(known)) if known else MISSING,
                number(max(known)) if known else MISSING,
            )
        )
    columns = ("source", "from", "step s", "steps", "missing", "least /s", "most /s")
    print_figures("Rates over time, for forecasts", columns, rows, texts=2)


def _arrivals(deployed: Topology, name: str, tasks: Iterable[TaskProfile]) -> Figure | None:
    keys = {stream.key for stream in deployed.streams_into(name)}
    if deployed.operator(name).kind is OperatorKind.SOURCE:
        return None
    figures = [one.per_second for t in tasks for key, one in t.inputs.items() if key in keys]
    return total_of([one for one in figures if one is not None])


def _emissions(deployed: Topology, name: str, tasks: Iterable[TaskProfile]) -> Figure | None:
    own = {stream.name for stream in deployed.streams_from(name) if not stream.is_system}
    figures = [one.per_second for t in tasks for stream, one in t.outputs.items() if stream in own]
    return total_of([one for one in figures if one is not None])


def _inputs(name: str, tasks: Iterable[TaskProfile]) -> list[Figure]:
    figures = [getattr(one, name) for task in tasks for one in task.inputs.values()]
    return [one for one in figures if one is not None]


def _largest(figures: Iterable[Figure | None]) -> Figure | None:
    known = [one for one in figures if one is not None]
    return max(known, key=lambda one: one.value, default=None)


def _short(key: StreamKey) -> str:
    return printable(key.source if key.name == DEFAULT_STREAM else str(key))
