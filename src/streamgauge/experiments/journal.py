"""The journal of an experiment: what it is, and which repetitions are done.

One document in the experiment's folder, written whole after every repetition: whatever ends the
controller, what was done before is known, and what was under way is done anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from streamgauge.engines.runner import StepRecord
from streamgauge.errors import InvalidInput
from streamgauge.experiments.description import (
    experiment_from_data,
    experiment_to_data,
    list_changes,
)
from streamgauge.experiments.experiment import Experiment, Turn
from streamgauge.lake.records import PlacedExecutor
from streamgauge.topology.files.document import dump_json, write_whole
from streamgauge.topology.physical_plan import PhysicalPlan

VERSION = 1
NAME = "experiment.json"
RAW = "raw"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """A repetition that is done.

    Attributes:
        turn: Which one.
        folder: Where its raw lines lie, seen from the experiment's folder.
        began_at: When its plan was in place.
        measured_from: Start of the first window.
        measured_to: End of the last.
        executors: Who ran where, as read back while it was measured.
        notes: What a reader of its figures should know.
    """

    turn: Turn
    folder: str
    began_at: datetime
    measured_from: datetime
    measured_to: datetime
    executors: tuple[PlacedExecutor, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, turn: Turn, folder: str, record: StepRecord, notes: Sequence[str]) -> Repetition:
        """What an engine has handed back."""
        return cls(
            turn=turn,
            folder=folder,
            began_at=record.began_at,
            measured_from=record.measured_from,
            measured_to=record.measured_to,
            executors=list_placed_executors(record.plan),
            notes=(*record.notes, *notes),
        )

    def to_dict(self) -> dict[str, Any]:
        """As the journal holds it."""
        return {
            "step": self.turn.step,
            "repetition": self.turn.repetition,
            "folder": self.folder,
            "began_at": self.began_at.isoformat(),
            "measured_from": self.measured_from.isoformat(),
            "measured_to": self.measured_to.isoformat(),
            "executors": [asdict(one) for one in self.executors],
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Repetition:
        """The inverse of `to_dict`."""
        times = ("began_at", "measured_from", "measured_to")
        return cls(
            turn=Turn(data["step"], data["repetition"]),
            folder=data["folder"],
            **{name: datetime.fromisoformat(data[name]).astimezone(UTC) for name in times},
            executors=tuple(PlacedExecutor(**one) for one in data["executors"]),
            notes=tuple(data["notes"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """An experiment on an engine, and what of it is done.

    Attributes:
        experiment: What is done.
        engine: On what.
        done: Repetitions in the order in which they were run.
    """

    experiment: Experiment
    engine: str
    done: tuple[Repetition, ...] = field(default=())

    @property
    def left(self) -> list[Turn]:
        """Repetitions that are not done, in their order."""
        done = {one.turn for one in self.done}
        return [turn for turn in self.experiment.turns() if turn not in done]

    def of_step(self, name: str) -> list[Repetition]:
        """What is done of a step, in the order of its repetitions."""
        mine = [one for one in self.done if one.turn.step == name]
        return sorted(mine, key=lambda one: one.turn.repetition)

    def folder_of(self, turn: Turn) -> str:
        """Where the raw lines of a repetition go; no two share one, whatever their names."""
        place = [step.name for step in self.experiment.steps].index(turn.step) + 1
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", turn.step)[:60]
        return f"{RAW}/{place}-{plain}-{turn.repetition}"

    def with_done(self, repetition: Repetition) -> Journal:
        """One more is done."""
        return replace(self, done=(*self.done, repetition))

    def write(self, folder: Path) -> None:
        """Put it into its folder, whole or not at all."""
        data = {
            "streamgauge_experiment": VERSION,
            "engine": self.engine,
            "done": [one.to_dict() for one in self.done],
            "experiment": experiment_to_data(self.experiment),
        }
        write_whole(folder / NAME, dump_json(data))


def read_journal(folder: Path) -> Journal:
    """The journal in a folder.

    Raises:
        InvalidInput: There is none, or it is not one of ours.
    """
    try:
        data = json.loads((folder / NAME).read_text(encoding="utf-8"))
        if data["streamgauge_experiment"] != VERSION:
            raise ValueError(f"version {data['streamgauge_experiment']}")
        return Journal(
            experiment=experiment_from_data(data["experiment"]),
            engine=data["engine"],
            done=tuple(Repetition.from_dict(one) for one in data["done"]),
        )
    except FileNotFoundError:
        seen = f"no {NAME} in it" if folder.is_dir() else "no such folder"
    except (OSError, ValueError, KeyError, TypeError) as error:
        seen = f"{NAME}: {type(error).__name__}: {error}"
    raise InvalidInput.single(
        (),
        file=str(folder),
        seen=seen,
        expected="a folder that `streamgauge experiment run` wrote to",
    )


def open_journal(experiment: Experiment, engine: str, folder: Path) -> Journal:
    """The journal of this experiment in a folder, new or to go on with.

    Raises:
        InvalidInput: The folder holds another experiment, an older form of this one, or something
            else.
    """
    if not folder.is_dir() or not (folder / NAME).exists():
        _check_empty(folder)
        return Journal(experiment=experiment, engine=engine)
    kept = read_journal(folder)
    found = list_changes(experiment_to_data(kept.experiment), experiment_to_data(experiment))
    if kept.engine != engine:
        found.insert(0, f"engine: {engine!r}, was {kept.engine!r}")
    if found:
        raise InvalidInput.single(
            (),
            file=str(folder),
            seen="an experiment that has changed since it was begun: " + "; ".join(found),
            expected="the experiment that was begun there",
            remedy="undo the change, or name another folder with --output",
        )
    return kept


def list_placed_executors(plan: PhysicalPlan) -> tuple[PlacedExecutor, ...]:
    """Who runs where, in the plan's order."""
    found = []
    for executor, place in zip(plan.logical.executors, plan.placement, strict=True):
        worker = plan.workers[place]
        found.append(
            PlacedExecutor(
                component=executor.operator,
                first_task=executor.first_task,
                last_task=executor.last_task,
                worker=str(worker),
                node=worker.node,
                machine=plan.cluster.machine_of(worker.node).name,
            )
        )
    return tuple(found)


def _check_empty(folder: Path) -> None:
    if not folder.exists():
        return
    # The lock of a run that had not begun its first repetition may lie there.
    held = sorted(one.name for one in folder.iterdir()) if folder.is_dir() else [folder.name]
    foreign = [name for name in held if not name.startswith(".")]
    if foreign or not folder.is_dir():
        raise InvalidInput.single(
            (),
            file=str(folder),
            seen=f"a folder that holds {foreign[0]!r}" if folder.is_dir() else "a file",
            expected="a new folder, an empty one, or one of this experiment",
            remedy="name another folder with --output",
        )
