"""The controller: every repetition of every step on an engine, one after the other."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from streamgauge.engines.runner import Runner, RunnerSession, StepOrder
from streamgauge.errors import InvalidInput
from streamgauge.experiments.experiment import Experiment, Turn
from streamgauge.experiments.journal import Journal, Repetition, list_placed_executors, open_journal
from streamgauge.lake.raw import encode
from streamgauge.lake.records import Event, EventKind, PlacedExecutor
from streamgauge.topology.files.document import write_whole
from streamgauge.topology.physical_plan import PhysicalPlan

# Beside what the engine wrote, so that it goes into the lake with it.
EVENTS = "experiment-events.jsonl"
ENGINE = "engine"
INTERRUPTED = "interrupted"
_LOCK = ".lock"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentProgress:
    """How far an experiment has come.

    Attributes:
        turn: The repetition under way, or the last one.
        part: Of the one under way, from 0 to 1.
        is_end: Whether the repetition has just ended, and is one of those that are done.
    """

    turn: Turn
    done: int
    total: int
    part: float
    doing: str
    is_end: bool = False


Watch = Callable[[ExperimentProgress], None]


def run_experiment(experiment: Experiment, runner: Runner, folder: Path, watch: Watch) -> Journal:
    """Run what is not done yet; the journal is true at every moment.

    The folder is new, empty, or of this experiment, which then goes on; `watch` is told how far.

    Raises:
        InvalidInput: The folder holds something else; or another process works on it.
        SourceUnreachable: The engine went away; what was done before stays done.
        Infeasible: The engine could not place a step as it should be.
    """
    open_journal(experiment, runner.name, folder)
    folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder):
        # Read again: another process may have been at it until now.
        journal = open_journal(experiment, runner.name, folder)
        journal.write(folder)
        if journal.left:
            left = journal.left
            rounds = [[turn] for turn in left] if experiment.clean_start else [left]
            for turns in rounds:
                home = _engine_home(experiment, folder)
                with runner.session(experiment.cluster, home) as session:
                    for turn in turns:
                        journal = journal.with_done(
                            _run_repetition(journal, turn, session, folder, watch)
                        )
                        journal.write(folder)
                        watch(_report_end(journal, turn))
    return journal


def _engine_home(experiment: Experiment, folder: Path) -> Path:
    """Where the engine keeps its data; for a clean start without that of the run before.

    Engines keep data in folders. A file may be a clock of simulated time, which must not go back.
    """
    home = folder / ENGINE
    if experiment.clean_start and home.is_dir():
        for path in home.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
    return home


def _report_end(journal: Journal, turn: Turn) -> ExperimentProgress:
    done, left = len(journal.done), len(journal.left)
    return ExperimentProgress(
        turn=turn, done=done, total=done + left, part=0.0, doing="done", is_end=True
    )


def _run_repetition(
    journal: Journal, turn: Turn, session: RunnerSession, folder: Path, watch: Watch
) -> Repetition:
    experiment = journal.experiment
    total = len(journal.done) + len(journal.left)
    step = experiment.step(turn.step)
    schedule = step.schedule(experiment.cluster, session.cluster)
    name = journal.folder_of(turn)
    _put_aside(folder, name)
    order = StepOrder(
        name=step.name,
        repetition=turn.repetition,
        job=replace(step.job, cluster=session.cluster, plan=None),
        plan=schedule.plan,
        warm_up=experiment.warm_up,
        windows=experiment.windows_run,
        window_seconds=experiment.window_seconds,
        bucket_seconds=experiment.bucket_seconds,
        folder=folder / name,
        seed=experiment.seed_of(turn),
    )

    def report(part: float, doing: str) -> None:
        watch(
            ExperimentProgress(
                turn=turn, done=len(journal.done), total=total, part=part, doing=doing
            )
        )

    report(0.0, "beginning")
    record = session.run_step(order, report)
    counted = timedelta(seconds=experiment.windows * experiment.window_seconds)
    record = replace(record, measured_to=min(record.measured_to, record.measured_from + counted))
    notes = [*schedule.warnings, *describe_moves(schedule.plan, list_placed_executors(record.plan))]
    repetition = Repetition.of(turn, name, record, notes)
    _write_events(folder / name, order, repetition)
    return repetition


def describe_moves(wanted: PhysicalPlan, placed: Sequence[PlacedExecutor]) -> list[str]:
    """Where the plan that was read back is not the one that was ordered; a line, or none.

    Executors are compared by their places among those of their operator: an engine numbers tasks
    in its own way.
    """
    ordered, there = _group_by_operator(list_placed_executors(wanted)), _group_by_operator(placed)
    moved = [
        f"{operator} on {_list_workers(there.get(operator, []))}, not on {_list_workers(places)}"
        for operator, places in ordered.items()
        if there.get(operator) != places
    ]
    more = f"; and {len(moved) - 1} more" if len(moved) > 1 else ""
    return [f"the plan read back is not the one ordered: {moved[0]}{more}"] if moved else []


def _group_by_operator(executors: Sequence[PlacedExecutor]) -> dict[str, list[tuple[int, str]]]:
    """Tasks and worker of every executor of an operator, in their order."""
    by_operator: dict[str, list[tuple[int, str]]] = {}
    for executor in sorted(executors, key=lambda executor: executor.first_task):
        tasks = executor.last_task - executor.first_task + 1
        by_operator.setdefault(executor.component, []).append((tasks, executor.worker))
    return by_operator


def _list_workers(places: Sequence[tuple[int, str]]) -> str:
    return ", ".join(worker for _, worker in places) or "no worker"


def _write_events(folder: Path, order: StepOrder, repetition: Repetition) -> None:
    """Begin and end of measuring, for the lake."""
    moments = {
        EventKind.STEP_BEGIN: repetition.measured_from,
        EventKind.STEP_END: repetition.measured_to,
    }
    lines = [
        encode(
            Event(
                topology=order.job.topology.name,
                happened_at_us=(moment - _EPOCH) // timedelta(microseconds=1),
                kind=kind.value,
                name=order.name,
                detail=f"repetition {order.repetition}",
            )
        )
        for kind, moment in moments.items()
    ]
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / EVENTS, "\n".join(lines) + "\n")


def _put_aside(folder: Path, name: str) -> None:
    """What an interrupted repetition left is kept, out of the way of the one that is run anew."""
    left = folder / name
    if not left.exists():
        return
    if not any(left.iterdir()):
        left.rmdir()
        return
    (folder / INTERRUPTED).mkdir(exist_ok=True)
    number = 1
    while (folder / INTERRUPTED / f"{left.name}-{number}").exists():
        number += 1
    left.rename(folder / INTERRUPTED / f"{left.name}-{number}")


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Keep others who would write out of an experiment's folder."""
    with (folder / _LOCK).open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InvalidInput.single(
                (),
                file=str(folder),
                seen="another process that runs or judges this experiment",
                expected="one at a time",
                remedy="wait for it, or take another folder",
            ) from None
        yield
