"""What a step of an experiment is good for: whether it has a truth, and whether it kept up."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from streamgauge.experiments.figures import ALL, FigureKind
from streamgauge.experiments.journal import Repetition
from streamgauge.experiments.readings import list_raw_files
from streamgauge.experiments.stages import SERVED
from streamgauge.experiments.steadiness import keep_steady
from streamgauge.experiments.truth import Figure, StepTruth

# Standard deviations of a count beyond which a shortfall is no chance.
CHANCE = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedStep:
    """A step, and what it is good for.

    Attributes:
        no_truth: Why nothing can be held against it; empty where something can.
        no_source: Why nothing is predicted from it; the same.
        overloads: What was overloaded, and how much of its work it did.
        carried_per_second: Of all sources together.
        left_out: Repetitions that were not steady, and why.
    """

    name: str
    no_truth: str = ""
    no_source: str = ""
    overloads: tuple[str, ...] = ()
    carried_per_second: float = math.nan
    left_out: tuple[str, ...] = ()


def find_overloads(figures: Sequence[Figure]) -> tuple[str, ...]:
    """What did not keep up, by the measured shares of what was due or came."""
    found = []
    for figure in figures:
        chance = CHANCE / math.sqrt(max(figure.count or 1, 1))
        if figure.kind is not FigureKind.LOAD or figure.unit != "1":
            continue
        if figure.value < SERVED and 1.0 - figure.value > chance:
            part = f"{100.0 * figure.value:.3g} %"
            emitted = figure.quantity == "emitted_share"
            found.append(
                f"sources emit {part} of what is due"
                if emitted
                else f"{figure.subject} serves {part} of what comes"
            )
    return tuple(found)


def judge_step(
    name: str, done: Sequence[Repetition], truth: StepTruth | None, folder: Path
) -> tuple[JudgedStep, StepTruth | None]:
    """What a step is good for as a truth, and that truth: of steady repetitions, or overloaded."""
    reason = next(_list_faults(done, truth, folder), "")
    if reason or truth is None:
        return JudgedStep(name=name, no_truth=reason), None
    overloads = find_overloads(truth.figures)
    left_out: tuple[str, ...] = ()
    if not overloads:
        steady, left_out = keep_steady(truth)
        if steady is None:
            return JudgedStep(name=name, no_truth=left_out[0]), None
        truth = steady
    carried = truth.figure(FigureKind.LOAD, ALL, "carried_per_second")
    judged = JudgedStep(
        name=name,
        overloads=overloads,
        carried_per_second=math.nan if carried is None else carried.value,
        left_out=left_out,
    )
    return judged, truth


def _list_faults(
    done: Sequence[Repetition], truth: StepTruth | None, folder: Path
) -> Iterator[str]:
    """Why a step has no usable truth; nothing where it has one."""
    if not done or truth is None:
        yield "no repetition is done"
        return
    for repetition in done:
        if not list_raw_files(folder / repetition.folder):
            yield f"there are no raw lines in {repetition.folder}"
    for one in truth.repetitions:
        for fault in one.faults:
            yield f"{one.turn}: {fault}"
    if len({repetition.executors for repetition in done}) > 1:
        yield "its repetitions ran on different plans"
    if truth.marked == truth.windows:
        marks = [mark for one in truth.repetitions for w in one.windows for mark in w.marks]
        yield f"every window is marked: {marks[0]}"
    if truth.figure(FigureKind.LATENCY, ALL, "mean") is None:
        yield "no tuple reached a sink"
