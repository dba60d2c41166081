"""Experiments: run a job on an engine step by step, and read what was measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge.api.simulator import Say, compile_simulator, stay_silent
from streamgauge.errors import NotEnoughData

if TYPE_CHECKING:
    from streamgauge.experiments.controller import ExperimentProgress
    from streamgauge.experiments.experiment import Experiment
    from streamgauge.reports.experiment import ExperimentReport


def name_folder(experiment: Experiment, engine: str) -> Path:
    """Where an experiment's files go if nothing else is said."""
    return Path(f"{experiment.name}-{engine}".replace("/", "-"))


def run_experiment(
    experiment: Experiment,
    engine: str,
    folder: Path,
    *,
    progress: Callable[[ExperimentProgress], None] = lambda _: None,
    say: Say = stay_silent,
) -> ExperimentReport:
    """Run an experiment, or the rest of one that was interrupted.

    Args:
        experiment: Its steps, and how they are measured.
        engine: What runs them, by name.
        folder: Where all that is measured goes.
        progress: Called with each repetition and part of one that is done.
        say: Called with remarks on the way.
    """
    from streamgauge.engines.runner import load_runner
    from streamgauge.experiments import controller
    from streamgauge.experiments.observing import observe_and_keep
    from streamgauge.reports.experiment import ExperimentReport

    runner = load_runner(engine)
    if runner.simulates:
        compile_simulator(say)
    say(f"{experiment.name} on {engine}, into {folder}")
    journal = controller.run_experiment(experiment, runner, folder, progress)
    return ExperimentReport(journal=journal, truth=observe_and_keep(journal, folder))


def read_experiment(folder: Path) -> ExperimentReport:
    """What an experiment has measured so far, from its raw lines.

    Raises:
        InvalidInput: The folder holds no experiment.
        NotEnoughData: No repetition is done yet.
    """
    from streamgauge.experiments.journal import read_journal
    from streamgauge.experiments.observing import observe_and_keep
    from streamgauge.reports.experiment import ExperimentReport

    journal = read_journal(folder)
    if not journal.done:
        raise NotEnoughData(
            f"{folder}: no repetition is done of {len(journal.left)}; expected at least one"
            " (run the experiment again: it continues where it stopped)"
        )
    return ExperimentReport(journal=journal, truth=observe_and_keep(journal, folder))
