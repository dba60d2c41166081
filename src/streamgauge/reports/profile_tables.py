"""A profile's tables; ± is always one standard error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import TYPE_CHECKING

from streamgauge.drawing.wording import (
    format_number,
    format_number_within,
    format_plain_number,
    format_share,
)
from streamgauge.errors import InvalidInput
from streamgauge.profile.figures import Figure, TimeFigures
from streamgauge.profile.pooling import pool_mean, pool_times, pool_total
from streamgauge.reports.content import Cell, Column, Row, Table, tabulate
from streamgauge.topology.field_checks import natural_key
from streamgauge.topology.logical_plan import Executor
from streamgauge.topology.topology import DEFAULT_STREAM, OperatorKind

if TYPE_CHECKING:
    from streamgauge.profile.figures import (
        InputFigures,
        OutputFigures,
        QueueFigures,
        TaskProfile,
    )
    from streamgauge.profile.profile import Profile
    from streamgauge.topology.topology import Stream, StreamKey, Topology

# No rate or time is as large as this; a number that is would break every table.
HUGE = 1e9
# A standard error below this part of a figure is not worth its digits.
SURE = 1e-4
PER_SECOND = "tuples/s"
# With more tasks than this the ones with the most tuples come first.
MANY_TASKS = 40
SLOWEST = "± one standard error; percentiles are those of the slowest task."
MILLION = 1e-6


def shorten_number(value: float) -> str:
    """A number of a dozen characters at most."""
    return f"{value:.3g}" if value >= HUGE else format_number(value)


def show_figure(figure: Figure | None) -> str | None:
    """A figure ± its standard error, where that is large enough to be seen."""
    if figure is None:
        return None
    error = figure.standard_error
    if error is None or figure.value >= HUGE or error < SURE * figure.value:
        return shorten_number(figure.value)
    return format_number_within(figure.value, error)


def show_mean_time(times: TimeFigures | None) -> str | None:
    """A mean time ± its standard error, in milliseconds."""
    return None if times is None else show_figure(times.mean_ms)


def show_value(figure: Figure | None, scale: float = 1.0) -> str | None:
    """A figure without its error, where there is no room for it."""
    return None if figure is None else shorten_number(figure.value * scale)


def show_level(figure: Figure | None) -> str | None:
    """A figure that is mostly a whole number, such as threads or places in a queue."""
    return None if figure is None else f"{figure.value:,g}"


def show_part(figure: Figure | None) -> str | None:
    """A figure in per cent."""
    return None if figure is None else format_share(figure.value)


def show_quantile(times: TimeFigures | None, probability: float) -> str | None:
    """A quantile in milliseconds, where it is known."""
    if times is None or probability not in times.quantiles_ms:
        return None
    return shorten_number(times.quantiles_ms[probability])


def show_samples(times: TimeFigures | None) -> str | None:
    """How many observations a time rests on; None for a time that was written by hand."""
    return f"{times.mean_ms.samples:,}" if times is not None and times.mean_ms.samples else None


def find_operator(label: str) -> str:
    """The operator of an executor, or nothing where the label is no label."""
    try:
        return Executor.parse(label).operator
    except InvalidInput:
        return ""


def name_stream(key: StreamKey) -> str:
    """A stream by its source, and by its own name where it has one."""
    return key.source if key.name == DEFAULT_STREAM else str(key)


def deploy(profile: Profile) -> Topology:
    """The topology as it ran, with its ackers."""
    return profile.topology.with_ackers(profile.configuration.acker_count)


def list_operators(profile: Profile) -> list[str]:
    """All operators; ackers where they were measured."""
    return [
        operator.name
        for operator in deploy(profile).operators
        if operator.kind is not OperatorKind.ACKER or profile.tasks_of(operator.name)
    ]


def tabulate_operators(profile: Profile) -> Table:
    """Rates, capacities and back-pressure of operators."""
    deployed = deploy(profile)
    rows: list[Row] = []
    for name in list_operators(profile):
        tasks = list(profile.tasks_of(name).values())
        capacities = [
            executor.capacity
            for label, executor in profile.executors.items()
            if find_operator(label) == name and executor.capacity is not None
        ]
        total = deployed.operator(name).tasks
        rows.append(
            {
                Column("operator"): name,
                Column("tasks"): str(total) if len(tasks) == total else f"{len(tasks)} of {total}",
                Column("in", PER_SECOND): show_value(_add_arrivals(deployed, name, tasks)),
                Column("out", PER_SECOND): show_value(_add_emissions(deployed, name, tasks)),
                Column("busy", "mean"): show_part(pool_mean(capacities)),
                Column("busiest", "executor"): show_part(_find_largest(capacities)),
                Column("dispersion"): show_value(pool_mean(_list_inputs("dispersion", tasks))),
                Column("failed"): show_part(pool_mean(_list_inputs("failed_share", tasks))),
                Column("back-pressure"): show_part(
                    _find_largest([task.backpressure for task in tasks])
                ),
            }
        )
    return tabulate(
        "Operators",
        rows,
        note="Rates without acknowledgements. Dispersion: of arrivals, one for a Poisson stream."
        " Back-pressure: of the worst task.",
    )


def tabulate_tasks(profile: Profile, operator: str) -> Table:
    """The tasks of one operator."""
    deployed = deploy(profile)
    rows: list[Row] = []
    for place, task in _sort_tasks(profile, deployed, operator):
        wall, cpu = map(pool_times, _split_times(list(task.inputs.values())))
        rows.append(
            {
                Column("task"): str(place),
                Column("in", PER_SECOND): show_value(_add_arrivals(deployed, operator, [task])),
                Column("out", PER_SECOND): show_value(_add_emissions(deployed, operator, [task])),
                Column("service", "ms"): show_mean_time(wall),
                Column("scv"): show_value(None if wall is None else wall.scv),
                Column("p99", "ms"): show_quantile(wall, 0.99),
                Column("CPU", "ms"): show_mean_time(cpu),
                Column("back-pressure"): show_part(task.backpressure),
                Column("samples"): show_samples(wall),
            }
        )
    more = "; the ones with the most tuples first" if len(rows) > MANY_TASKS else ""
    return tabulate(
        f"{operator}: {len(rows)} of {deployed.operator(operator).tasks} tasks seen{more}",
        rows,
        note="Scv: squared coefficient of variation of the service time.",
    )


def _sort_tasks(
    profile: Profile, deployed: Topology, operator: str
) -> list[tuple[int, TaskProfile]]:
    """Tasks by their places, or by their tuples where they are too many to show."""
    tasks = sorted(profile.tasks_of(operator).items())
    if len(tasks) <= MANY_TASKS:
        return tasks

    def count_tuples(item: tuple[int, TaskProfile]) -> float:
        case = (deployed, operator, [item[1]])
        rate = _add_arrivals(*case) or _add_emissions(*case)
        return 0.0 if rate is None else rate.value

    return sorted(tasks, key=count_tuples, reverse=True)


def describe_ranges(profile: Profile, operator: str) -> Iterator[str]:
    """How far an operator's tasks differ, and how arrivals scatter over longer stretches."""
    deployed = deploy(profile)
    tasks = list(profile.tasks_of(operator).values())
    rates = [_add_arrivals(deployed, operator, [task]) for task in tasks]
    times = [figures.wall for task in tasks for figures in task.inputs.values()]
    ranges = {
        f"in, {PER_SECOND}": [rate.value for rate in rates if rate is not None],
        "service, ms": [time.mean_ms.value for time in times if time is not None],
    }
    for name, values in ranges.items():
        if values:
            lowest, highest = format_number(min(values)), format_number(max(values))
            yield f"{name}: {lowest} to {highest}, median {format_number(median(values))}"
    spans: dict[float, list[Figure]] = {}
    for task in tasks:
        for figures in task.inputs.values():
            for seconds, figure in figures.dispersions.items():
                spans.setdefault(seconds, []).append(figure)
    if spans:
        each = (
            f"{show_value(pool_mean(spans[seconds]))} over {format_plain_number(seconds)} s"
            for seconds in sorted(spans)
        )
        yield f"dispersion of arrivals: {', '.join(each)}"


def tabulate_times(profile: Profile, names: Sequence[str]) -> Table:
    """Service times of operators by input stream, window and output stream."""
    deployed = deploy(profile)
    rows: list[Row] = []
    for name in names:
        tasks = list(profile.tasks_of(name).values())
        for key in dict.fromkeys(stream.key for stream in deployed.streams_into(name)):
            figures = [task.inputs[key] for task in tasks if key in task.inputs]
            rows += _show_times(f"{name} ← {name_stream(key)}", *_split_times(figures))
        walls = [task.window for task in tasks if task.window is not None]
        cpus = [task.window_cpu for task in tasks if task.window_cpu is not None]
        rows += _show_times(f"{name}, a window", walls, cpus)
        for stream in dict.fromkeys(stream.name for stream in deployed.streams_from(name)):
            emitted = [task.outputs[stream] for task in tasks if stream in task.outputs]
            rows += _show_times(f"{name} emits {stream}", *_split_times(emitted))
    note = f"{SLOWEST} Scv: squared coefficient of variation."
    return tabulate("Service times", rows, note=note)


def _split_times(
    figures: Sequence[InputFigures] | Sequence[OutputFigures],
) -> tuple[list[TimeFigures], list[TimeFigures]]:
    walls = [stream.wall for stream in figures if stream.wall is not None]
    return walls, [stream.cpu for stream in figures if stream.cpu is not None]


def _show_times(
    name: str, walls: Sequence[TimeFigures], cpus: Sequence[TimeFigures]
) -> Iterator[Row]:
    """A row, where there is any time to show."""
    wall, cpu = pool_times(walls), pool_times(cpus)
    shown = wall if wall is not None else cpu
    if shown is not None:
        yield {
            Column("operator"): name,
            Column("wall clock", "ms"): show_mean_time(wall),
            Column("scv"): show_value(shown.scv),
            Column("p99", "ms"): show_quantile(wall, 0.99),
            Column("CPU", "ms"): show_mean_time(cpu),
            Column("samples"): show_samples(shown),
            Column("buckets"): str(shown.mean_ms.buckets),
        }


def tabulate_windows(profile: Profile) -> Table:
    """How often windows fired, and how many tuples were in one."""
    rows: list[Row] = []
    for operator in profile.topology.operators:
        if operator.window is None:
            continue
        tasks = profile.tasks_of(operator.name).values()
        fired = _drop_missing(task.triggers_per_second for task in tasks)
        held = _drop_missing(task.window_tuples for task in tasks)
        rows.append(
            {
                Column("operator"): operator.name,
                Column("window", words=True): operator.window.describe(),
                Column("fired", "per second"): show_figure(pool_total(fired)),
                Column("size", "tuples"): show_figure(pool_mean(held)),
            }
        )
    return tabulate("Windows", rows)


def tabulate_latencies(profile: Profile) -> Table:
    """Latency from sources to sinks, and of whole trees."""
    by_path: dict[str, list[TimeFigures]] = {}
    for (operator, _), task in profile.tasks.items():
        for source, times in task.end_to_end.items():
            by_path.setdefault(f"{source} → {operator}", []).append(times)
        for stream, output in task.outputs.items():
            for kind, measured in (("complete", output.complete), ("acked", output.root)):
                if measured is not None:
                    by_path.setdefault(f"{operator}/{stream}, {kind}", []).append(measured)
    pooled = {path: pool_times(times) for path, times in by_path.items()}
    return tabulate(
        "Latency",
        [
            {
                Column("from → to"): path,
                Column("mean", "ms"): show_mean_time(times),
                Column("median", "ms"): show_quantile(times, 0.5),
                Column("p99", "ms"): show_quantile(times, 0.99),
                Column("samples"): show_samples(times),
            }
            for path, times in pooled.items()
        ],
        note=SLOWEST,
    )


def tabulate_streams(profile: Profile, streams: Sequence[Stream]) -> Table:
    """Rates, tuples out per tuple in, sizes and routing shares of streams."""
    rows: list[Row] = []
    for stream in streams:
        tasks = profile.tasks_of(stream.source).values()
        figures = [task.outputs[stream.name] for task in tasks if stream.name in task.outputs]
        keys = dict.fromkeys(other.key for other in profile.topology.streams_into(stream.source))
        coefficients = {
            key: pool_mean(
                [output.coefficients[key] for output in figures if key in output.coefficients]
            )
            for key in keys
        }
        target = stream.target
        shares = [output.shares[target].parts for output in figures if target in output.shares]
        triggers, rates, sizes = (
            _drop_missing(getattr(output, figure) for output in figures)
            for figure in ("per_trigger", "per_second", "bytes")
        )
        first = next(iter(coefficients.values()), None)
        rows.append(
            {
                Column("from → to"): f"{name_stream(stream.key)} → {stream.target}",
                Column("grouping", words=True): stream.grouping.describe(),
                Column("rate", PER_SECOND): show_value(pool_total(rates)),
                Column("out per in"): show_figure(pool_mean(triggers) if triggers else first),
                Column("size", "bytes"): show_value(pool_mean(sizes)),
                Column("a task's share"): _show_share_range(shares),
            }
        )
        # The coefficients of further inputs stand below the first.
        for key in list(coefficients)[1:]:
            cells: dict[Column, Cell] = dict.fromkeys(rows[-1], "")
            cells[Column("from → to")] = f"  per {name_stream(key)}"
            cells[Column("out per in")] = show_figure(coefficients[key])
            rows.append(cells)
    return tabulate(
        "Streams",
        rows,
        note="± one standard error. Out per in: tuples for each tuple, or for each window.",
    )


def _show_share_range(rows: Sequence[Sequence[float]]) -> Cell:
    parts = [part for row in rows for part in row]
    return f"{100 * min(parts):.3g}–{100 * max(parts):.3g} %" if parts else None


def _add_arrivals(deployed: Topology, name: str, tasks: Iterable[TaskProfile]) -> Figure | None:
    if deployed.operator(name).kind is OperatorKind.SOURCE:
        return None
    keys = {stream.key for stream in deployed.streams_into(name)}
    return pool_total(
        _drop_missing(
            figures.per_second
            for task in tasks
            for key, figures in task.inputs.items()
            if key in keys
        )
    )


def _add_emissions(deployed: Topology, name: str, tasks: Iterable[TaskProfile]) -> Figure | None:
    streams = {stream.name for stream in deployed.streams_from(name) if not stream.is_system}
    return pool_total(
        _drop_missing(
            figures.per_second
            for task in tasks
            for stream, figures in task.outputs.items()
            if stream in streams
        )
    )


def _list_inputs(name: str, tasks: Iterable[TaskProfile]) -> list[Figure]:
    return _drop_missing(
        getattr(figures, name) for task in tasks for figures in task.inputs.values()
    )


def _drop_missing(figures: Iterable[Figure | None]) -> list[Figure]:
    return [figure for figure in figures if figure is not None]


def _find_largest(figures: Iterable[Figure | None]) -> Figure | None:
    return max(_drop_missing(figures), key=lambda figure: figure.value, default=None)


def tabulate_queues(profile: Profile, labels: Sequence[str]) -> Table:
    """The receive queues of those executors, the longest first."""
    executors = [(label, profile.executors[label]) for label in sorted(labels, key=natural_key)]
    known = [(*item, item[1].receive) for item in executors if item[1].receive is not None]
    known.sort(key=lambda row: -_measure_length(row[2]))
    return tabulate(
        "Receive queues, the longest first",
        [
            {
                Column("executor"): label,
                Column("busy"): show_part(executor.capacity),
                Column("idle"): show_part(executor.idle),
                Column("held back"): show_part(executor.held),
                Column("slowed down", "times"): show_value(executor.slowdown),
                Column("waiting", "tuples"): show_figure(queue.length),
                Column("limit", "tuples"): show_level(queue.limit),
                Column("overflow", "tuples"): show_value(queue.overflow),
                Column("batch", "tuples"): show_value(queue.tuples_per_list),
                Column("wait", "ms"): show_mean_time(queue.sojourn),
            }
            for label, executor, queue in known
        ],
    )


def _measure_length(queue: QueueFigures) -> float:
    return sum(figure.value for figure in _drop_missing((queue.length, queue.overflow)))


def tabulate_hosts(profile: Profile) -> Table:
    """Workers, nodes and machines."""
    rows: list[Row] = [
        {
            Column("worker or host"): name,
            Column("cores"): show_figure(worker.cores),
            Column("of"): None,
            Column("threads"): show_level(worker.threads),
            Column("transfer", "cores"): show_value(worker.transfer_cores),
            Column("network", "cores"): show_value(worker.network_cores),
            Column("gc", "cores"): show_value(worker.gc_cores),
            Column("windows", "cores", page_only=True): show_value(worker.window_cores),
            Column("timers", "cores", page_only=True): show_value(worker.timer_cores),
            Column("compiler", "cores", page_only=True): show_value(worker.jit_cores),
            Column("agent", "cores", page_only=True): show_value(worker.agent_cores),
            Column("heap", "MB"): show_value(worker.heap_bytes, MILLION),
            Column("memory", "MB", page_only=True): show_value(worker.memory_bytes, MILLION),
            Column("sent", "MB/s"): show_value(worker.bytes_per_second, MILLION),
        }
        for name, worker in sorted(profile.workers.items(), key=lambda item: natural_key(item[0]))
    ]
    for kind, hosts in (("node", profile.nodes), ("machine", profile.machines)):
        rows += [
            {
                Column("worker or host"): f"{kind} {name}",
                Column("cores"): show_figure(host.cores),
                Column("of"): show_level(host.available),
                Column("threads"): show_level(host.threads),
            }
            for name, host in sorted(hosts.items(), key=lambda item: natural_key(item[0]))
        ]
    return tabulate("Cores in use", rows, note="Threads: those of executors.")


def tabulate_links(profile: Profile) -> Table:
    """Latency between nodes."""
    return tabulate(
        "Latency between nodes, one way",
        [
            {
                Column("from → to"): f"{link.source} → {link.target}",
                Column("mean", "ms"): show_mean_time(link.latency),
                Column("median", "ms"): show_quantile(link.latency, 0.5),
                Column("p99", "ms"): show_quantile(link.latency, 0.99),
                Column("probes"): show_samples(link.latency),
            }
            for link in profile.links
        ],
    )


def tabulate_saturation(profile: Profile) -> Table:
    """Between which rates operators began to hold their senders back."""
    rows: list[Row] = []
    for name, stretches in profile.saturation.items():
        rates = [(stretch.input_per_second, stretch.backpressure) for stretch in stretches]
        free = [rate for rate, backpressure in rates if backpressure == 0.0]
        held = [rate for rate, backpressure in rates if backpressure > 0.0]
        rows.append(
            {
                Column("operator"): name,
                Column("stretches of time"): len(stretches),
                Column("plans"): len({stretch.plan_id for stretch in stretches}),
                Column("highest rate without", "tuples/s"): format_number(max(free))
                if free
                else None,
                Column("lowest rate with", "tuples/s"): format_number(min(held)) if held else None,
            }
        )
    return tabulate("Back-pressure in all that was ever measured", rows)


def tabulate_series(profile: Profile) -> Table:
    """What sources emitted over time."""
    rows: list[Row] = []
    for key, series in sorted(profile.sources.items()):
        known = [rate for rate in series.per_second if rate is not None]
        rows.append(
            {
                Column("source"): name_stream(key),
                Column("from", words=True): series.start,
                Column("step", "s"): format_plain_number(series.step_seconds),
                Column("steps"): f"{len(series.per_second):,}",
                Column("missing"): f"{len(series.per_second) - len(known):,}",
                Column("lowest", "tuples/s"): format_number(min(known)) if known else None,
                Column("highest", "tuples/s"): format_number(max(known)) if known else None,
            }
        )
    return tabulate("Rates over time, for forecasts", rows)
