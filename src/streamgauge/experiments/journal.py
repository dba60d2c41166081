"""The journal of an experiment: what it is, and which repetitions are done.

One document in the experiment's folder, written whole after every repetition: whatever ends the
controller, what was done before is known, and what was under way is done anew. It holds the
experiment as plain data, which is compared when the experiment goes on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from streamgauge.engines.runner import StepRecord, WarmUp
from streamgauge.errors import InvalidInput
from streamgauge.experiments.experiment import Experiment, ExperimentStep, Marking, Turn
from streamgauge.experiments.studies import BottleneckSearch, EventRule, Fidelity, LoadSweep, Study
from streamgauge.lake.records import PlacedExecutor
from streamgauge.overwrite_guard import remember_input
from streamgauge.profile.files.jobs import job_to_data, parse_job
from streamgauge.profile.files.plans import PlanFile
from streamgauge.profile.job import Assignment
from streamgauge.topology.field_checks import format_value
from streamgauge.topology.files.document import dump_json, write_whole
from streamgauge.topology.files.file_model import to_plain
from streamgauge.topology.files.sections import ClusterFile
from streamgauge.topology.physical_plan import PhysicalPlan

# Version 2: engines write latency to sinks since emission and since due. Before, Storm wrote only
# the latter, and under the name of the former; the emulator only the former.
VERSION = 2
OLDEST_VERSION = 1
NAME = "experiment.json"
RAW = "raw"
# Fields of an experiment that are plain data already.
_PLAIN = (
    "name",
    "about",
    "windows",
    "window_seconds",
    "bucket_seconds",
    "repetitions",
    "shuffled",
    "seed",
    "clean_start",
    "cool_down_seconds",
    "engine_statistics",
)
# Changes that are listed where a folder holds another form of an experiment.
MOST_CHANGES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """A repetition that is done.

    Attributes:
        folder: Where its raw lines lie, seen from the experiment's folder.
        began_at: When its plan was in place.
        executors: Who ran where, as read back while it was measured.
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
            "executors": [asdict(executor) for executor in self.executors],
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
            executors=tuple(PlacedExecutor(**executor) for executor in data["executors"]),
            notes=tuple(data["notes"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """An experiment on an engine, and what of it is done.

    Attributes:
        version: Of what wrote its raw lines.
    """

    experiment: Experiment
    engine: str
    done: tuple[Repetition, ...] = field(default=())
    version: int = VERSION

    @property
    def left(self) -> list[Turn]:
        """Repetitions that are not done, in their order."""
        done = {repetition.turn for repetition in self.done}
        return [turn for turn in self.experiment.turns() if turn not in done]

    def of_step(self, name: str) -> list[Repetition]:
        """What is done of a step, in the order of its repetitions."""
        mine = [repetition for repetition in self.done if repetition.turn.step == name]
        return sorted(mine, key=lambda repetition: repetition.turn.repetition)

    def folder_of(self, turn: Turn) -> str:
        """Where the raw lines of a repetition go; no two share one, whatever their names."""
        return f"{RAW}/{self.name_step(turn.step)}-{turn.repetition}"

    def name_step(self, name: str) -> str:
        """What files of a step are called; no two steps alike, whatever their names."""
        place = [step.name for step in self.experiment.steps].index(name) + 1
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:60]
        return f"{place}-{plain}"

    def with_done(self, repetition: Repetition) -> Journal:
        """One more is done."""
        return replace(self, done=(*self.done, repetition))

    def write(self, folder: Path) -> None:
        """Put it into its folder, whole or not at all."""
        data = {
            "streamgauge_experiment": self.version,
            "engine": self.engine,
            "done": [repetition.to_dict() for repetition in self.done],
            "experiment": experiment_to_data(self.experiment),
        }
        write_whole(folder / NAME, dump_json(data))


def read_journal(folder: Path) -> Journal:
    """The journal in a folder, which the same command then cannot write over.

    Raises:
        InvalidInput: There is none, or it is not one of ours.
    """
    remember_input(folder / NAME)
    return _read(folder)


def _read(folder: Path) -> Journal:
    try:
        data = json.loads((folder / NAME).read_text(encoding="utf-8"))
        version = data["streamgauge_experiment"]
        if version not in range(OLDEST_VERSION, VERSION + 1):
            raise ValueError(f"version {version}")
        return Journal(
            experiment=experiment_from_data(data["experiment"]),
            engine=data["engine"],
            done=tuple(Repetition.from_dict(repetition) for repetition in data["done"]),
            version=version,
        )
    except NotADirectoryError:
        seen = "a file"
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
    kept = _read(folder)
    changes = list_changes(experiment_to_data(kept.experiment), experiment_to_data(experiment))
    if kept.engine != engine:
        changes.insert(0, f"engine: {engine!r}, was {kept.engine!r}")
    if kept.left and kept.version < VERSION:
        raise InvalidInput.single(
            (),
            file=str(folder),
            seen="an experiment that an earlier version of Streamgauge began, whose latencies count"
            " otherwise",
            expected="one whose repetitions are all measured alike",
            remedy="begin anew in another folder with --output",
        )
    if changes:
        raise InvalidInput.single(
            (),
            file=str(folder),
            seen="an experiment that has changed since it was begun: " + "; ".join(changes),
            expected="the experiment that was begun there",
            remedy="undo the change, or name another folder with --output",
        )
    return kept


def list_placed_executors(plan: PhysicalPlan) -> tuple[PlacedExecutor, ...]:
    """Who runs where, in the plan's order."""
    placed = []
    for executor, place in zip(plan.logical.executors, plan.placement, strict=True):
        worker = plan.workers[place]
        placed.append(
            PlacedExecutor(
                component=executor.operator,
                first_task=executor.first_task,
                last_task=executor.last_task,
                worker=str(worker),
                node=worker.node,
                machine=plan.cluster.machine_of(worker.node).name,
            )
        )
    return tuple(placed)


def _check_empty(folder: Path) -> None:
    if not folder.exists():
        return
    # The lock of a run that had not begun its first repetition may lie there.
    held = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else [folder.name]
    foreign = [name for name in held if not name.startswith(".")]
    if foreign or not folder.is_dir():
        raise InvalidInput.single(
            (),
            file=str(folder),
            seen=f"a folder that holds {foreign[0]!r}" if folder.is_dir() else "a file",
            expected="a new folder, an empty one, or one of this experiment",
            remedy="name another folder with --output",
        )


def experiment_to_data(experiment: Experiment) -> dict[str, Any]:
    """Everything that an experiment says, its jobs written out."""
    return {
        **{name: getattr(experiment, name) for name in _PLAIN},
        "cluster": ClusterFile.of(experiment.cluster),
        "warm_up": asdict(experiment.warm_up),
        "marking": asdict(experiment.marking),
        "study": None if experiment.study is None else _study_to_data(experiment.study),
        "steps": {step.name: _step_to_data(step) for step in experiment.steps},
    }


def experiment_from_data(data: Mapping[str, Any]) -> Experiment:
    """The inverse of `experiment_to_data`."""
    study = data["study"]
    return Experiment(
        # Journals of earlier versions lack what they could not say.
        **{name: data[name] for name in _PLAIN if name in data},
        cluster=ClusterFile.model_validate(data["cluster"]).build(),
        warm_up=WarmUp(**data["warm_up"]),
        marking=Marking(**data["marking"]),
        study=None if study is None else _study_from_data(study),
        steps=tuple(_step_from_data(name, step) for name, step in data["steps"].items()),
    )


def list_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs between two descriptions, a line each; what it is for may change."""
    old, new = (dict(_flatten({**described, "about": ""})) for described in (before, now))
    lines = []
    for path in sorted({*old, *new}):
        if path not in new:
            lines.append(f"{path}: gone, was {format_value(old[path])}")
        elif path not in old:
            lines.append(f"{path}: {format_value(new[path])}, was not there")
        elif old[path] != new[path]:
            lines.append(f"{path}: {format_value(new[path])}, was {format_value(old[path])}")
    more = len(lines) - MOST_CHANGES
    return [*lines[:MOST_CHANGES], f"and {more} more"] if more > 0 else lines


def _flatten(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flatten(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value:
        for place, inner in enumerate(value):
            yield from _flatten(inner, f"{path}[{place}]")
    else:
        yield path, value


def _step_to_data(step: ExperimentStep) -> dict[str, Any]:
    placement = step.placement
    written = PlanFile.of(placement) if isinstance(placement, Assignment) else placement
    return {"job": job_to_data(step.job), "placement": written}


def _step_from_data(name: str, data: Mapping[str, Any]) -> ExperimentStep:
    placement = data["placement"]
    if isinstance(placement, Mapping):
        placement = PlanFile.model_validate(placement).build()
    return ExperimentStep(name=name, job=parse_job(dump_json(data["job"])), placement=placement)


def _study_to_data(study: Study) -> dict[str, Any]:
    return {"kind": study.kind, **{key: to_plain(value) for key, value in asdict(study).items()}}


def _study_from_data(data: Mapping[str, Any]) -> Study:
    given = {key: value for key, value in data.items() if key != "kind"}
    if data["kind"] == LoadSweep.kind:
        return LoadSweep(baseline=given["baseline"], rule=EventRule(**given["rule"]))
    if data["kind"] == BottleneckSearch.kind:
        halved = tuple((step, operator) for step, operator in given["halved"])
        return BottleneckSearch(base=given["base"], halved=halved)
    return Fidelity(**given)
