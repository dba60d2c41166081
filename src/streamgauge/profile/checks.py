"""Checks that measured figures belong to the profile's topology and plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamgauge.errors import Findings, InvalidInput, did_you_mean
from streamgauge.profile.figures import OutputFigures, Saturation, TaskProfile
from streamgauge.topology.field_checks import check_number, check_whole
from streamgauge.topology.logical_plan import Executor
from streamgauge.topology.topology import OperatorKind, StreamKey, Topology

if TYPE_CHECKING:
    from streamgauge.profile.profile import Profile

Place = tuple[str, ...]


def check_profile(findings: Findings, profile: Profile) -> None:
    """Report every figure of something that the job does not have."""
    # Ackers are measured like any other operator, although they are not declared.
    deployed = profile.topology.with_ackers(profile.configuration.acker_count)
    _check_tasks(findings, deployed, profile)
    _check_executors(findings, deployed, profile)
    _check_workers(findings, profile)
    _check_streams(findings, profile)
    for operator, rows in profile.saturation.items():
        if _is_known(findings, deployed, operator, "saturation", operator):
            _check_saturation(findings, rows, operator)
    for operator in profile.juice.operators if profile.juice is not None else ():
        _is_known(findings, deployed, operator, "juice", "operators", operator)
    if profile.backpressure_minutes is not None:
        check_number(findings, profile.backpressure_minutes, "backpressure_minutes")


def _is_known(findings: Findings, topology: Topology, operator: str, *place: str) -> bool:
    known = topology.operator_names
    if operator in known:
        return True
    findings.add(
        *place,
        seen=f"unknown operator {operator!r}",
        expected=f"an operator of topology {topology.name!r}",
        remedy=did_you_mean(operator, known),
    )
    return False


def _check_tasks(findings: Findings, topology: Topology, profile: Profile) -> None:
    for (operator, index), task in profile.tasks.items():
        if not _is_known(findings, topology, operator, "operators", operator):
            continue
        tasks = topology.operator(operator).tasks
        if 0 <= index < tasks:
            _check_task(findings, topology, operator, index, task)
        else:
            findings.add(
                "operators",
                operator,
                str(index),
                seen=f"task {index}",
                expected=f"0 to {tasks - 1}",
            )


def _check_task(
    findings: Findings, topology: Topology, operator: str, index: int, task: TaskProfile
) -> None:
    place = ("operators", operator, str(index))
    received = {stream.key for stream in topology.streams_into(operator)}
    for key in task.inputs:
        if key not in received:
            findings.add(
                *place,
                "inputs",
                *key,
                seen=f"input stream {key}",
                expected=f"a stream into {operator!r}",
                remedy=did_you_mean(str(key), [str(one) for one in sorted(received)]),
            )
    for name, output in task.outputs.items():
        _check_output(findings, topology, StreamKey(operator, name), output, place)
    sources = [source.name for source in topology.sources]
    for source in task.end_to_end:
        if source not in sources:
            findings.add(
                *place,
                "end_to_end",
                source,
                seen=f"{source!r}, which is not a source",
                expected="the source that emitted the root tuples",
                remedy=did_you_mean(source, sources),
            )


def _check_output(
    findings: Findings, topology: Topology, stream: StreamKey, output: OutputFigures, task: Place
) -> None:
    operator, name = stream
    place = (*task, "outputs", name)
    received = {one.key for one in topology.streams_into(operator)}
    emitted = topology.streams_from(operator)
    targets = {one.target for one in emitted if one.name == name}
    if not targets:
        findings.add(
            *place,
            seen=f"stream {name!r}",
            expected=f"a stream of {operator!r}",
            remedy=did_you_mean(name, sorted({one.name for one in emitted})),
        )
    for key in set(output.coefficients) - received:
        findings.add(
            *place,
            "coefficients",
            *key,
            seen=f"input stream {key}",
            expected=f"a stream into {operator!r}",
        )
    for target, row in output.shares.items():
        if target not in targets:
            findings.add(
                *place,
                "shares",
                target,
                seen=f"{target!r}, which does not subscribe",
                expected=f"a subscriber of {operator}/{name}",
                remedy=did_you_mean(target, sorted(targets)),
            )
        elif len(row.parts) != topology.operator(target).tasks:
            findings.add(
                *place,
                "shares",
                target,
                seen=f"{len(row.parts)} shares",
                expected=f"{topology.operator(target).tasks}, one per task",
            )


def _check_executors(findings: Findings, topology: Topology, profile: Profile) -> None:
    """Executors are those of the plan; without one, at least of operators that exist."""
    for label in profile.executors:
        if profile.placement:
            if label not in profile.placement:
                findings.add(
                    "executors",
                    label,
                    seen=f"executor {label!r}",
                    expected="an executor of the placement",
                    remedy=did_you_mean(label, list(profile.placement)),
                )
            continue
        try:
            executor = Executor.parse(label)
        except InvalidInput as error:
            findings.absorb(error, "executors", label)
        else:
            _is_known(findings, topology, executor.operator, "executors", label)


def _check_workers(findings: Findings, profile: Profile) -> None:
    placed = sorted(set(profile.placement.values()))
    for worker in profile.workers if placed else ():
        if worker not in placed:
            findings.add(
                "workers",
                worker,
                seen=f"worker {worker!r}",
                expected="a worker of the placement",
                remedy=did_you_mean(worker, placed),
            )


def _check_streams(findings: Findings, profile: Profile) -> None:
    topology = profile.topology
    known = {stream.key for stream in topology.streams}
    for key in profile.keys:
        if key not in known:
            findings.add(
                "keys",
                *key,
                seen=f"stream {key}",
                expected=f"a stream of topology {topology.name!r}",
                remedy=did_you_mean(str(key), [str(one) for one in sorted(known)]),
            )
    emitted = {key for key in known if topology.operator(key.source).kind is OperatorKind.SOURCE}
    for key in profile.sources:
        if key not in emitted:
            findings.add(
                "sources",
                *key,
                seen=f"stream {key}",
                expected="a stream of a source",
                remedy=did_you_mean(str(key), [str(one) for one in sorted(emitted)]),
            )


def _check_saturation(findings: Findings, rows: tuple[Saturation, ...], operator: str) -> None:
    for index, row in enumerate(rows):
        place = ("saturation", operator, index)
        check_whole(findings, row.executors, *place, "executors", least=0)
        for name in ("minutes", "input_per_second", "output_per_second", "backpressure"):
            check_number(findings, getattr(row, name), *place, name)
