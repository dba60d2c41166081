"""``streamgauge topology``: look at jobs and their plans."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streamgauge.cli.output import (
    counted,
    in_file,
    print_document,
    print_table,
    printable,
    terminal_width,
    warn,
    write_text,
)

if TYPE_CHECKING:
    from streamgauge.planning.scheduling.contract import Schedule
    from streamgauge.profile.job import Job
    from streamgauge.topology.tuple_flow import TupleFlow

app = typer.Typer(help="Look at jobs and their plans.", no_args_is_help=True)

File = Annotated[str, typer.Argument(help="A job in YAML or JSON; - reads standard input.")]
Step = Annotated[str | None, typer.Option(help="Configure the job as in this step of its file.")]
SchedulerName = Annotated[
    str | None, typer.Option(help="Place by this scheduler, also where the file has a plan.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
# More rows than this are for machines: `--json` has them all.
MANY_WORKERS = 24


@app.command()
def show(
    file: File,
    step: Step = None,
    scheduler: SchedulerName = None,
    svg: Annotated[Path | None, typer.Option(help="Write the picture to this file.")] = None,
    physical: Annotated[
        bool, typer.Option("--physical", help="Draw workers and nodes, not only operators.")
    ] = False,
    ackers: Annotated[
        bool, typer.Option("--ackers", help="Draw ackers and their streams too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show a job: its graph, its parallelism, and which worker runs what."""
    job, schedule, flow = _load(file, step, scheduler)
    warn(schedule.warnings)
    if svg is not None:
        write_text(svg, picture(flow, physical=physical, ackers=ackers))
    if as_json:
        print_document({**plan_document(job, flow), "warnings": list(schedule.warnings)})
    elif svg is None:
        print_job(job, flow, physical=physical, ackers=ackers)


@app.command()
def check(file: File, as_json: AsJson = False) -> None:
    """Check a job's file: every problem with its place; every step is placed."""
    from streamgauge.profile.files.jobs import load_job

    job = load_job(file)
    with in_file(file):
        warnings = [*_check_placement(job), *_remarks(job)]
    warn(warnings)
    if as_json:
        print_document({"file": file, "valid": True, "warnings": warnings})
    else:
        sections = [
            name
            for name in ("behaviours", "cluster", "workload", "plan", "steps")
            if getattr(job, name)
        ]
        parts = [
            counted(len(job.topology.operators), "operator"),
            counted(len(job.topology.streams), "stream"),
            *sections,
        ]
        print(f"{printable(file)}: fine: {', '.join(parts)}")


@app.command()
def diff(
    before: Annotated[str, typer.Argument(help="The job as it runs.")],
    after: Annotated[str, typer.Argument(help="The job as it would run.")],
    before_step: Step = None,
    after_step: Step = None,
    as_json: AsJson = False,
) -> None:
    """Show what moves between two plans: the same file twice, with steps, or two files."""
    from streamgauge.topology.plan_diff import diff_plans

    _, old, _ = _load(before, before_step, None)
    _, new, _ = _load(after, after_step, None)
    warn((*old.warnings, *new.warnings))
    change = diff_plans(old.plan, new.plan)
    if as_json:
        print_document(change.to_dict())
        return
    if change.is_empty:
        print("the plans are the same")
        return
    rows: list[tuple[object, ...]] = [
        ("moves", move.executor.label, str(move.source), str(move.target)) for move in change.moved
    ]
    rows += [("goes", executor.label, str(worker), None) for executor, worker in change.removed]
    rows += [("comes", executor.label, None, str(worker)) for executor, worker in change.added]
    print_table("Executors", ("", "executor", "from", "to"), rows)
    print(
        f"{len(change.moved)} move, {len(change.added)} come, {len(change.removed)} go, "
        f"{change.kept} stay; {change.tasks_moved} tasks change worker; "
        f"workers +{len(change.workers_added)} −{len(change.workers_removed)}"
    )


@app.command()
def schema() -> None:
    """Print the JSON Schema of job files, for editors."""
    import json

    from streamgauge.profile.files.jobs import json_schema

    print(json.dumps(json_schema(), indent=2, ensure_ascii=False))


def print_job(job: Job, flow: TupleFlow, *, physical: bool = True, ackers: bool = False) -> None:
    """The job in tables and a drawn graph."""
    from streamgauge.drawing.text_picture import draw_text

    logical = flow.plan.logical
    drawn = logical.topology if ackers else job.topology
    executors = {name: len(span) for name, span in logical.spans.items()}
    print(f"{job.topology.name}: {_headline(job, flow)}")
    if job.about:
        about = printable(" ".join(job.about.split()))
        print(textwrap.fill(about, min(terminal_width(), 100)))
    print()
    print(draw_text(drawn, executors, width=terminal_width(), ascii_only=is_ascii_only()))
    print()
    _print_operators(job, executors)
    _print_streams(flow, ackers=ackers)
    if physical or len(flow.plan.workers) <= MANY_WORKERS:
        _print_workers(flow)
    print(_summary(flow))


def is_ascii_only() -> bool:
    """Whether standard output cannot take the signs that pictures are drawn with."""
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    try:
        "┌─▶×".encode(encoding)
    except UnicodeEncodeError:
        return True
    return False


def picture(flow: TupleFlow, *, physical: bool, ackers: bool) -> str:
    """The SVG of the topology, or of the plan when `physical`."""
    from streamgauge.drawing.plan_picture import draw_plan
    from streamgauge.drawing.topology_picture import draw_topology

    if physical:
        return draw_plan(flow, ackers=ackers)
    logical = flow.plan.logical
    executors = {name: len(span) for name, span in logical.spans.items()}
    return draw_topology(logical.topology if ackers else without_ackers(flow), executors)


def without_ackers(flow: TupleFlow) -> Any:
    """The topology as its user declared it."""
    from dataclasses import replace

    from streamgauge.topology.topology import OperatorKind

    topology = flow.plan.logical.topology
    return replace(
        topology,
        operators=tuple(op for op in topology.operators if op.kind is not OperatorKind.ACKER),
        streams=topology.data_streams,
    )


def load_plan(file: str, step: str | None = None) -> tuple[Job, TupleFlow]:
    """A job and its tuple flow, with the scheduler's warnings said."""
    job, schedule, flow = _load(file, step, None)
    warn(schedule.warnings)
    return job, flow


def plan_job(job: Job) -> TupleFlow:
    """A job's tuple flow, with the scheduler's warnings said."""
    schedule, flow = _placed(job, None)
    warn(schedule.warnings)
    return flow


def _load(file: str, step: str | None, scheduler: str | None) -> tuple[Job, Schedule, TupleFlow]:
    from streamgauge.profile.files.jobs import load_job

    job = load_job(file)
    with in_file(file):
        if step is not None:
            job = job.at_step(step)
        return job, *_placed(job, scheduler)


def _placed(job: Job, scheduler: str | None) -> tuple[Schedule, TupleFlow]:
    from streamgauge.planning.scheduling.deploy import place_job
    from streamgauge.topology.tuple_flow import TupleFlow
    from streamgauge.transport.engine import load_engine

    hops = load_engine(job.configuration.engine).hops
    schedule = place_job(job, scheduler)
    return schedule, TupleFlow.of(schedule.plan, hops)


def _check_placement(job: Job) -> list[str]:
    """Place the job as configured and at each step; what the scheduler warns of."""
    from streamgauge.planning.scheduling.deploy import place_job
    from streamgauge.topology.tuple_flow import check_size

    warnings = []
    variants = {"": job, **{f"{name}: ": job.at_step(name) for name in job.steps}}
    for prefix, variant in variants.items():
        schedule = place_job(variant)
        check_size(schedule.plan.logical)
        warnings += [prefix + warning for warning in schedule.warnings]
    return warnings


def _remarks(job: Job) -> list[str]:
    """What is not wrong, and yet worth a look."""
    remarks = []
    cycle = job.topology.cycle()
    if cycle is not None:
        remarks.append(f"the topology has a cycle: {' → '.join(cycle)}")
    undescribed = [op.name for op in job.topology.operators if op.name not in job.behaviours]
    if job.behaviours and undescribed:
        remarks.append(f"no behaviour for {', '.join(undescribed)}")
    if job.workload is not None:
        emitting = {emission.source for emission in job.workload.emissions}
        silent = [op.name for op in job.topology.sources if op.name not in emitting]
        if silent:
            remarks.append(f"the workload has nothing for {', '.join(silent)}")
    return remarks


def _headline(job: Job, flow: TupleFlow) -> str:
    plan = flow.plan
    acked = "acked" if job.topology.acked else "not acked"
    return (
        f"{job.configuration.engine}, {acked}, "
        f"{counted(len(plan.logical.executors), 'executor')} in "
        f"{counted(len(plan.workers), 'worker')} on {counted(len(plan.nodes), 'node')}"
    )


def _print_operators(job: Job, executors: dict[str, int]) -> None:
    rows = []
    for operator in job.topology.operators:
        behaviour = job.behaviours.get(operator.name)
        rows.append(
            (
                operator.name,
                str(operator.kind),
                executors[operator.name],
                operator.tasks,
                operator.window.describe() if operator.window else None,
                behaviour.service.mean_ms if behaviour else None,
            )
        )
    columns = ("operator", "kind", "executors", "tasks", "window", "service ms")
    print_table("Operators", columns, rows)


def _print_streams(flow: TupleFlow, *, ackers: bool) -> None:
    from streamgauge.topology.tuple_flow import TYPES

    rows = []
    for block in flow.blocks if ackers else flow.data_blocks:
        stream = block.stream
        types = block.types[block.exists]
        counts = [int((types == code).sum()) for code in range(len(TYPES))]
        rows.append(
            (stream.source, stream.name, stream.target, stream.grouping.describe(), *counts)
        )
    columns = ("from", "stream", "to", "grouping", *(str(kind) for kind in TYPES))
    print_table("Streams, and their connections between executors", columns, rows)


def _print_workers(flow: TupleFlow) -> None:
    rows = [
        (worker.node, worker.port, len(executors), " ".join(one.label for one in executors))
        for worker, executors in flow.plan.executors_by_worker.items()
    ]
    print_table("Workers", ("node", "port", "executors", ""), rows)


def _summary(flow: TupleFlow) -> str:
    counts = flow.count_types()
    parts = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    return f"{sum(counts.values())} connections on data streams ({parts}); {_paths(flow)}"


def _paths(flow: TupleFlow) -> str:
    from streamgauge.errors import CyclicTopology
    from streamgauge.topology.paths import count_paths

    try:
        total = sum(count_paths(flow).values())
    except CyclicTopology:
        return "paths without end, as the topology has a cycle"
    return f"{total:,} paths from source to sink" if total < 10**12 else f"{total:.2e} paths"


def plan_document(job: Job, flow: TupleFlow) -> dict[str, Any]:
    """The job, its plan and its connections, for ``--json``."""
    from streamgauge.errors import CyclicTopology
    from streamgauge.profile.files.jobs import PlanFile, job_to_data
    from streamgauge.profile.job import Assignment
    from streamgauge.topology.paths import count_paths

    try:
        paths: int | None = sum(count_paths(flow).values())
    except CyclicTopology:
        paths = None
    return {
        "job": job_to_data(job),
        "plan": PlanFile.of(Assignment.of(flow.plan)),
        "connections": {str(kind): count for kind, count in flow.count_types().items()},
        "connections_by_stream": [
            {
                "from": block.stream.source,
                "stream": block.stream.name,
                "to": block.stream.target,
                "grouping": block.stream.grouping.describe(),
                "connections": int(block.exists.sum()),
            }
            for block in flow.blocks
        ],
        "paths": paths,
    }
