"""What a reader of a profile should know: what is missing, left out, or not as it seems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from streamgauge.pipeline.estimation.catalogue import FigureName
from streamgauge.pipeline.estimation.linearity import BLOCKS_TO_JUDGE
from streamgauge.pipeline.estimation.measured import Measured, Row, Subject
from streamgauge.pipeline.estimation.roster import Roster
from streamgauge.pipeline.estimation.standard_errors import LEAST_RESAMPLED
from streamgauge.profile.figures import TaskId, TaskProfile
from streamgauge.topology.topology import ACKER, SYSTEM_PREFIX, StreamKey

_INPUTS = (FigureName.ARRIVAL_RATE, FigureName.SERVICE_WALL, FigureName.SERVICE_CPU)
_OUTPUTS = (FigureName.EMISSION_RATE, FigureName.TRANSFER)
_MOST_NAMED = 10


def notes_on(
    measured: Measured, roster: Roster, tasks: Mapping[TaskId, TaskProfile]
) -> tuple[str, ...]:
    """Notes on one topology.

    Args:
        measured: All figures.
        roster: Who there should be.
        tasks: What was made of them.
    """
    return (
        *_strangers(measured, roster),
        *_missing(roster, tasks),
        *_streams(measured, roster),
        *_blocks(measured),
        *_outputs(measured, roster),
        *_negative(measured, roster),
    )


def _listed(names: Iterable[object]) -> str:
    """Names in order, a long list cut short."""
    known = [str(name) for name in names]
    more = len(known) - _MOST_NAMED
    return ", ".join(known[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _strangers(measured: Measured, roster: Roster) -> Iterator[str]:
    if measured.left_out:
        yield f"{measured.left_out} figures of other plans were left out"
    if roster.unplaced:
        yield f"in the plan but not in the topology: {_listed(roster.unplaced)}"
    unknown = [
        f"{subject.name} {subject.task}"
        for subject in measured.subjects("task")
        if roster.place_of(subject.name, subject.task) is None
    ]
    unknown += [
        subject.name
        for subject in measured.subjects("executor")
        if subject.name not in roster.placement
    ]
    unknown += [
        subject.name
        for subject in measured.subjects("worker")
        if subject.name not in set(roster.placement.values())
    ]
    if unknown:
        yield f"not in the plan and left out: {_listed(unknown)}"


def _missing(roster: Roster, tasks: Mapping[TaskId, TaskProfile]) -> Iterator[str]:
    for name in roster.topology.operator_names:
        count = roster.task_count(name)
        silent = [place for place in range(count) if TaskId(name, place) not in tasks]
        if not silent or (name == ACKER and len(silent) == count):
            # Few engines say anything of their own ackers.
            continue
        heard = {roster.executor_of[task] for task in tasks if task.operator == name}
        idle = [place for place in silent if roster.executor_of.get(TaskId(name, place)) in heard]
        unheard = [place for place in silent if place not in idle]
        if unheard:
            places = _listed(unheard)
            yield f"no metrics arrived from {len(unheard)} of {count} tasks of {name}: {places}"
        if idle:
            places = _listed(idle)
            yield (
                f"{len(idle)} of {count} tasks of {name} did nothing while others of their"
                f" executors worked: {places}"
            )


def _streams(measured: Measured, roster: Roster) -> Iterator[str]:
    """Streams that tasks report and the topology does not have, the engine's own left out."""
    unknown = set()
    for task, number in roster.tasks.items():
        subject = Subject("task", task.operator, number)
        for row in _rows(measured, subject, _INPUTS):
            key = StreamKey(row.source, row.stream)
            if not roster.receives(task.operator, key) and not _is_system(key):
                unknown.add(f"{key} into {task.operator}")
        for row in _rows(measured, subject, _OUTPUTS):
            key = StreamKey(task.operator, row.stream)
            if row.stream not in roster.outputs(task.operator) and not _is_system(key):
                unknown.add(str(key))
    if unknown:
        yield f"streams that the topology does not have were left out: {_listed(sorted(unknown))}"


def _is_system(key: StreamKey) -> bool:
    return key.name.startswith(SYSTEM_PREFIX) or key.source.startswith(SYSTEM_PREFIX)


def _rows(measured: Measured, subject: Subject, names: tuple[FigureName, ...]) -> Iterator[Row]:
    for name in names:
        yield from measured.rows(subject, name)


def _blocks(measured: Measured) -> Iterator[str]:
    blocks, seconds = measured.blocks, measured.block_seconds
    if not measured.replicas:
        yield (
            f"no replicas, and errors of shares, capacities and juice are not known: {blocks} "
            f"blocks of {seconds:g} s, {LEAST_RESAMPLED} are needed"
        )
    if blocks < BLOCKS_TO_JUDGE:
        yield (
            f"whether outputs are linear in inputs cannot be decided: {blocks} blocks of "
            f"{seconds:g} s, {BLOCKS_TO_JUDGE} are needed"
        )


def _outputs(measured: Measured, roster: Roster) -> Iterator[str]:
    """Outputs that do not follow from inputs, or not from each input alone."""
    bent: dict[StreamKey, int] = {}
    shared: set[StreamKey] = set()
    for task, number in roster.tasks.items():
        subject = Subject("task", task.operator, number)
        for row in measured.rows(subject, FigureName.LINEAR):
            if row.mean.value < 0.5:
                key = StreamKey(task.operator, row.stream)
                bent[key] = bent.get(key, 0) + 1
        for row in measured.rows(subject, FigureName.COEFFICIENT):
            if "ridge" in row.flags:
                shared.add(StreamKey(task.operator, row.stream))
    for key, tasks in bent.items():
        count = roster.task_count(key.source)
        yield f"{key} is not linear in its inputs, seen in {tasks} of {count} tasks"
    if shared:
        yield (
            "inputs that always come together cannot be told apart, and share their outputs "
            f"evenly: {_listed(sorted(map(str, shared)))}"
        )


def _negative(measured: Measured, roster: Roster) -> Iterator[str]:
    clocks = sorted(
        {
            f"{row.source} to {task.operator}"
            for task, number in roster.tasks.items()
            for row in measured.rows(Subject("task", task.operator, number), FigureName.END_TO_END)
            if row.mean.value < 0.0
        }
    )
    if clocks:
        yield f"end-to-end latency below zero was left out, clocks differ: {_listed(clocks)}"
