"""What the demonstration shows: two steps of a job that were recorded on a real Storm cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from streamgauge.experiments.figures import FigureKind, Key
from streamgauge.experiments.journal import Journal, Repetition, read_journal
from streamgauge.experiments.judged_plans import plan_step
from streamgauge.experiments.observing import observe
from streamgauge.experiments.predicted_figures import list_model_figures

if TYPE_CHECKING:
    from streamgauge.experiments.truth import StepTruth
    from streamgauge.models.intervals import Interval
    from streamgauge.profile.job import Job
    from streamgauge.profile.profile import Profile
    from streamgauge.reports.prediction import PredictionReport
    from streamgauge.topology.physical_plan import PhysicalPlan

# Of whole jobs, what people ask for first; by the words of tables.
_COMPARED = {
    (FigureKind.LATENCY, "mean"): "latency, mean",
    (FigureKind.LATENCY, "p50"): "latency, p50",
    (FigureKind.LATENCY, "p95"): "latency, p95",
    (FigureKind.LATENCY, "p99"): "latency, p99",
    (FigureKind.COMPLETE, "mean"): "complete latency, mean",
    (FigureKind.CPU, "cores"): "CPU of",
}


class Compared(NamedTuple):
    """A figure as predicted and as it was then measured.

    Attributes:
        key: What it is of.
        name: The same in words.
        predicted: The prediction.
        interval: Where it was expected to lie; None where that is not known.
        measured: What was measured.
    """

    key: Key
    name: str
    predicted: float
    interval: Interval | None
    measured: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRun:
    """Steps of a job as they ran, their raw metrics and what these say.

    Attributes:
        folder: Of the experiment.
        journal: What was run, when and where.
    """

    folder: Path
    journal: Journal

    @classmethod
    def load(cls, folder: Path) -> RecordedRun:
        """The run that a folder holds.

        Raises:
            InvalidInput: It holds none.
        """
        return cls(folder=folder, journal=read_journal(folder))

    def job(self, step: str) -> Job:
        """The job as a step configured it, with its load."""
        return self.journal.experiment.step(step).job

    def per_second(self, step: str) -> float:
        """Tuples that all sources were to emit in a step."""
        workload = self.job(step).workload
        assert workload is not None, "every step of an experiment has one"
        return sum(emission.per_second or 0.0 for emission in workload.emissions)

    def repetition(self, step: str) -> Repetition:
        """A run of a step: where its metrics lie, and from when to when they count."""
        return self.journal.of_step(step)[0]

    def plan(self, step: str, profile: Profile) -> PhysicalPlan:
        """Where the executors of a step ran, on the machines that a profile knows."""
        described = (profile.cluster, self.journal.experiment.cluster)
        known = [cluster for cluster in described if cluster is not None]
        ran = self.repetition(step).executors
        return plan_step(self.journal.experiment.step(step), ran, known).plan

    def truth(self, step: str) -> StepTruth:
        """What was measured of a step."""
        found = observe(self.journal, self.folder).step(step)
        assert found is not None, f"step {step} was recorded"
        return found


def compare_with_truth(report: PredictionReport, truth: StepTruth) -> Iterator[Compared]:
    """What was predicted of a whole job beside what was then measured, where both are known.

    Of CPU only workers': ticks, by which a machine's is counted, miss threads that run for
    microseconds.
    """
    for predicted in list_model_figures(report.prediction):
        key = predicted.key
        name = _COMPARED.get((key.kind, key.quantity))
        measured = truth.figure(*key)
        if name is None or measured is None or key.subject.startswith("machine "):
            continue
        if key.kind is FigureKind.CPU:
            name = f"{name} {key.subject}"
        yield Compared(key, name, predicted.value, _find_interval(report, key), measured.value)


def _find_interval(report: PredictionReport, key: Key) -> Interval | None:
    if report.intervals is None:
        return None
    if key.kind is FigureKind.CPU:
        return report.intervals.of("worker", key.subject.removeprefix("worker "), key.quantity)
    # The recorded job has one source: what comes from it is all.
    name = "complete (engine)" if key.kind is FigureKind.COMPLETE else "source to sink"
    return report.intervals.of("latency", name, key.quantity)
