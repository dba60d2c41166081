"""What is kept of a judgement in its experiment's folder, so that a killed one goes on.

Truths, profiles and predictions are files of their own, each with the prints of what it was made
from: the raw lines, the experiment, and the code that made it. One whose prints are others now is
made anew.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import streamgauge
from streamgauge.errors import InvalidInput
from streamgauge.experiments.cross_prediction import StepPrediction
from streamgauge.experiments.figures import FigureKind, Figures, Key, Value
from streamgauge.experiments.journal import Journal, Repetition, experiment_to_data
from streamgauge.experiments.predicted_figures import Predicted
from streamgauge.experiments.readings import list_raw_files
from streamgauge.experiments.truth import Course, RepetitionTruth, WindowTruth
from streamgauge.topology.files.document import dump_json, write_whole

FOLDER = "judge"
NAME = "judge.json"
VERSION = 1
# Rooms whose code decides what profiles, truths and predictions say.
PROFILE_ROOMS = ("topology", "profile", "lake", "pipeline")
TRUTH_ROOMS = ("topology", "lake", "experiments")
PREDICTION_ROOMS = (
    *("topology", "profile", "transport", "models", "simulation", "experiments"),
    # Where intervals are put together.
    "api",
)


class JudgeFolder:
    """The folder `judge` of an experiment.

    Raises:
        InvalidInput: It holds judgements of another experiment, or something else.
    """

    def __init__(self, journal: Journal, folder: Path) -> None:
        self._journal, self._experiment = journal, folder
        self._folder = folder / FOLDER
        self._described = experiment_to_data(journal.experiment)
        self._prints: dict[str, str] = {}
        self._open()

    def _open(self) -> None:
        described = {
            "streamgauge_judge": VERSION,
            "experiment": self._journal.experiment.name,
            "engine": self._journal.engine,
            "print": print_data(self._described),
        }
        held = sorted(path.name for path in self._folder.glob("*"))
        if held:
            kept = _read_kept(self._folder / NAME)
            if kept is None:
                raise self._not_ours(f"{held[0]!r} and no {NAME} that can be read")
            if kept != described:
                name = kept.get("experiment")
                raise self._not_ours(f"judgements of {name!r}, which is not the experiment here")
        self._folder.mkdir(parents=True, exist_ok=True)
        write_whole(self._folder / NAME, dump_json(described))

    def _not_ours(self, seen: str) -> InvalidInput:
        return InvalidInput.single(
            (),
            file=str(self._folder),
            seen=seen,
            expected="what `streamgauge experiment judge` keeps of this experiment",
            remedy="remove that folder; everything of ours in it can be made anew",
        )

    def lake(self, step: str) -> Path:
        """Where a step's metrics are ingested into."""
        return self._folder / "lakes" / self._journal.name_step(step)

    def profile(self, step: str) -> Path:
        """The file of a step's profile."""
        return self._folder / "profiles" / f"{self._journal.name_step(step)}.json"

    def has_profile(self, step: str, repetition: Repetition) -> bool:
        """Whether a step's profile is there, made of that repetition's lines by this code."""
        made = {"prints": self._list_profile_prints(step, repetition)}
        return self.profile(step).exists() and _read_kept(self._note(step)) == made

    def begin_profile(self, step: str, repetition: Repetition) -> None:
        """Forget what was made of other lines, or by other code; go on with what was begun."""
        begun = {"prints": self._list_profile_prints(step, repetition), "is_begun": True}
        if _read_kept(self._note(step)) != begun:
            self.profile(step).unlink(missing_ok=True)
            shutil.rmtree(self.lake(step), ignore_errors=True)
            self._note(step).parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._note(step), dump_json(begun))

    def end_profile(self, step: str, repetition: Repetition) -> None:
        """The profile is there."""
        prints = self._list_profile_prints(step, repetition)
        write_whole(self._note(step), dump_json({"prints": prints}))

    def _note(self, step: str) -> Path:
        return self.profile(step).with_suffix(".made.json")

    def _list_profile_prints(self, step: str, repetition: Repetition) -> list[str]:
        return [self._print_step(step), repetition.folder, print_code(PROFILE_ROOMS)]

    def read_truth(self, repetition: Repetition) -> RepetitionTruth | None:
        """What was observed of a repetition, if it was of the same lines and by the same code."""
        found = _read_kept(self._truth(repetition))
        if found is None or found.get("prints") != self._list_truth_prints(repetition):
            return None
        return _read_truth(repetition, found)

    def keep_truth(self, repetition: Repetition, truth: RepetitionTruth) -> None:
        """Keep it, whole or not at all."""
        path = self._truth(repetition)
        path.parent.mkdir(parents=True, exist_ok=True)
        data = {"prints": self._list_truth_prints(repetition), **_write_truth(truth)}
        write_whole(path, dump_json(data))

    def _truth(self, repetition: Repetition) -> Path:
        return self._folder / "truths" / f"{Path(repetition.folder).name}.json"

    def _list_truth_prints(self, repetition: Repetition) -> list[str]:
        return [self._print_step(repetition.turn.step), print_code(TRUTH_ROOMS)]

    def read_prediction(self, source: str, proposed: str, model: str) -> StepPrediction | None:
        """What was kept, if it was made of the same profile, lines and code."""
        found = _read_kept(self._prediction(source, proposed, model))
        if found is None or found.get("prints") != self._list_prints(source, proposed):
            return None
        return StepPrediction(
            figures=tuple(_read_figure(*row) for row in found["figures"]),
            fits=found["fits"],
            refusal=found["refusal"],
            warnings=tuple(found["warnings"]),
        )

    def keep_prediction(
        self, source: str, proposed: str, model: str, prediction: StepPrediction
    ) -> None:
        """Keep it, whole or not at all."""
        path = self._prediction(source, proposed, model)
        path.parent.mkdir(parents=True, exist_ok=True)
        data = {
            "prints": self._list_prints(source, proposed),
            "fits": prediction.fits,
            "refusal": prediction.refusal,
            "warnings": list(prediction.warnings),
            "figures": [_write_figure(figure) for figure in prediction.figures],
        }
        write_whole(path, dump_json(data))

    def _prediction(self, source: str, proposed: str, model: str) -> Path:
        names = [step.name for step in self._journal.experiment.steps]
        places = f"{names.index(source) + 1}-{names.index(proposed) + 1}"
        return self._folder / "predictions" / f"{places}-{model}.json"

    def _list_prints(self, source: str, proposed: str) -> list[str]:
        profile = blake2b(self.profile(source).read_bytes(), digest_size=16).hexdigest()
        return [profile, self._print_step(proposed), print_code(PREDICTION_ROOMS)]

    def _print_step(self, step: str) -> str:
        """Of what was measured: the step's description, its repetitions, and their raw lines."""
        if step not in self._prints:
            done = self._journal.of_step(step)
            files = [
                (repetition.folder, path.name, path.stat().st_size)
                for repetition in done
                for path in list_raw_files(self._experiment / repetition.folder)
            ]
            repetitions = [repetition.to_dict() for repetition in done]
            self._prints[step] = print_data([self._described["steps"][step], repetitions, files])
        return self._prints[step]


def print_data(data: Any) -> str:
    """The print of plain data: a digest of it."""
    text = json.dumps(data, sort_keys=True, default=str)
    return blake2b(text.encode(), digest_size=16).hexdigest()


@cache
def print_code(rooms: Sequence[str]) -> str:
    """The print of all source files of rooms, and of the figures that lie beside them."""
    root = Path(streamgauge.__file__).parent
    digest = blake2b(digest_size=16)
    kinds = ("*.py", "*.json")
    for path in sorted(
        one for room in rooms for kind in kinds for one in (root / room).rglob(kind)
    ):
        digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return digest.hexdigest()


def _read_kept(path: Path) -> dict[str, Any] | None:
    """A file that was kept, if it is there and whole."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _write_truth(truth: RepetitionTruth) -> dict[str, Any]:
    """A repetition's figures; how they went over time is not needed."""
    return {
        "began_at": truth.began_at,
        "windows": [
            [window.start, window.seconds, list(window.marks), _write_values(window.figures)]
            for window in truth.windows
        ],
        "pooled": _write_values(truth.pooled),
        "notes": list(truth.notes),
        "faults": list(truth.faults),
    }


def _read_truth(repetition: Repetition, data: Mapping[str, Any]) -> RepetitionTruth:
    return RepetitionTruth(
        turn=repetition.turn,
        began_at=data["began_at"],
        windows=tuple(
            WindowTruth(
                start=start, seconds=seconds, marks=tuple(marks), figures=_read_values(figures)
            )
            for start, seconds, marks, figures in data["windows"]
        ),
        pooled=_read_values(data["pooled"]),
        course=Course(bucket_seconds=1.0, latency_seconds=(), emitted_per_second=(), held=()),
        notes=tuple(data["notes"]),
        faults=tuple(data["faults"]),
    )


def _write_values(figures: Figures) -> list[list[Any]]:
    return [[*key, *value] for key, value in figures.items()]


def _read_values(rows: Sequence[Sequence[Any]]) -> Figures:
    return {
        Key(FigureKind(kind), subject, quantity): Value(value, observed)
        for kind, subject, quantity, value, observed in rows
    }


def _write_figure(figure: Predicted) -> list[Any]:
    # JSON has no infinity.
    numbers = [figure.value]
    if not (math.isnan(figure.low) or math.isnan(figure.high)):
        numbers += [figure.low, figure.high]
    return [*figure.key, figure.form, *(one if math.isfinite(one) else None for one in numbers)]


def _read_figure(
    kind: str,
    subject: str,
    quantity: str,
    form: str,
    value: float | None,
    low: float | None = math.nan,
    high: float | None = math.nan,
) -> Predicted:
    key = Key(FigureKind(kind), subject, quantity)
    known = [math.inf if one is None else one for one in (value, low, high)]
    return Predicted(key, known[0], form, known[1], known[2])
