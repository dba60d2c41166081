"""``streamgauge experiment``: run a job on an engine step by step, and say what was measured."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli.options import AsJson, Conf, Config, Html, Master
from streamgauge.cli.output import check_outputs, present, say
from streamgauge.cli.progress import ProgressBar
from streamgauge.cli.spark import spark_options
from streamgauge.drawing.wording import count
from streamgauge.errors import StreamgaugeError

if TYPE_CHECKING:
    from types import FrameType

    from streamgauge.experiments.controller import ExperimentProgress
    from streamgauge.experiments.experiment import Experiment
    from streamgauge.experiments.journal import Journal

app = typer.Typer(
    help="Measure a job step by step on an engine, and keep the figures.", no_args_is_help=True
)

Engine = Annotated[str, typer.Option(help="What it runs on: emulator, storm, …")]
Output = Annotated[
    Path | None,
    typer.Option(help="Folder for all that is measured; NAME-ENGINE when not given."),
]


@app.command()
def run(
    file: Annotated[Path, typer.Argument(help="An experiment in YAML (docs/experiments.md).")],
    engine: Engine,
    output: Output = None,
    lake: Annotated[
        str | None, typer.Option(help="Ingest the raw metrics into this lake at the end.")
    ] = None,
    master: Master = None,
    conf: Conf = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Run an experiment; the same command goes on where an earlier one was interrupted."""
    from streamgauge.experiments.files.experiment_file import load_experiment

    def ingest(journal: Journal, folder: Path) -> None:
        if lake is not None:
            _ingest(journal, folder, lake, master, conf, config)

    run_on(load_experiment(file), engine, output, as_json=as_json, then=ingest)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="The folder of an experiment.")],
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Say what an experiment has measured so far, from its raw lines."""
    from streamgauge.api.experiments import read_experiment

    check_outputs(html)
    present(read_experiment(folder), as_json=as_json, html=html)


@app.command()
def judge(
    folder: Annotated[Path, typer.Argument(help="The folder of an experiment that has run.")],
    model: Annotated[
        list[str] | None,
        typer.Option(help="A model by name; may be repeated. `all` asks every model."),
    ] = None,
    residuals: Annotated[
        Path | None,
        typer.Option(
            help="Write the errors of the analytic model for `predict --residuals`, for intervals"
            " of other jobs."
        ),
    ] = None,
    html: Html = None,
    master: Master = None,
    conf: Conf = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Predict every step from every step's metrics, and say how near predictions come.

    What is done is kept in the folder; the same command goes on where an earlier one stopped.
    """
    from streamgauge.api.judge import judge as judge_experiment
    from streamgauge.api.models import DEFAULT

    check_outputs(html, residuals)
    with spark_options(master, conf, config) as options, _interruptible():
        report = judge_experiment(folder, model=model or DEFAULT, spark=options, say=say)
    if residuals is not None:
        from streamgauge.experiments.residuals import list_residuals
        from streamgauge.models.model_error import write_errors
        from streamgauge.topology.files.document import write_whole

        write_whole(residuals, write_errors(list_residuals(report.judgement)))
    present(report, as_json=as_json, html=html)


@app.command()
def costs(
    folder: Annotated[Path, typer.Argument(help="The folder of an experiment that has run.")],
    output: Annotated[
        Path | None,
        typer.Option(help="Write the constants to this file, for `cost --constants`."),
    ] = None,
    html: Html = None,
    as_json: AsJson = False,
) -> None:
    """Fit what reading, grouping, serialising, sending and deserialising a tuple cost the engine.

    Steps must differ in workers, rates, groupings and sizes of tuples (docs/costs.md).
    """
    from streamgauge.api.fit_costs import fit_costs

    check_outputs(html, output)
    present(fit_costs(folder, output=output, say=say), as_json=as_json, html=html)


def run_on(
    experiment: Experiment,
    engine: str,
    output: Path | None,
    *,
    as_json: bool,
    then: Callable[[Journal, Path], None] = lambda journal, folder: None,
) -> None:
    """Run an experiment on the engine of that name, and show what was measured in short.

    Args:
        experiment: What to run.
        engine: What runs it.
        output: Its folder.
        as_json: Whether to print a document.
        then: What to do with the raw metrics before.
    """
    from streamgauge.api.experiments import name_folder, run_experiment

    folder = output or name_folder(experiment, engine)
    with _keep_done(folder), _interruptible():
        measured = run_experiment(experiment, engine, folder, progress=_watch(), say=say)
    then(measured.journal, folder)
    present(replace(measured, is_brief=True), as_json=as_json)
    if not as_json:
        say(f"all figures: streamgauge experiment report {folder}")


def _ingest(
    journal: Journal,
    folder: Path,
    lake: str,
    master: str | None,
    conf: list[str] | None,
    config: Path | None,
) -> None:
    """One Spark session takes all repetitions; what the lake has already is not read again."""
    from streamgauge.api.ingest import ingest
    from streamgauge.cli.ingest import summary

    folders = [folder / repetition.folder for repetition in journal.done]
    with spark_options(master, conf, config) as options:
        say(summary(ingest(folders, lake, spark=options, say=say)))


@contextmanager
def _keep_done(folder: Path) -> Iterator[None]:
    """Whatever ends a run: say what there is, and how to go on."""
    try:
        yield
    except (StreamgaugeError, KeyboardInterrupt) as error:
        from streamgauge.experiments.journal import read_journal

        try:
            journal = read_journal(folder)
        except StreamgaugeError:
            raise error from None
        if sys.stderr.isatty():
            print(file=sys.stderr)
        total = len(journal.done) + len(journal.left)
        kept = f"{len(journal.done)} of {count(total, 'repetition')} are kept in {folder}"
        say(f"{kept}; run the same command to continue")
        raise


@contextmanager
def _interruptible() -> Iterator[None]:
    """A request to end is an interrupt, so that engines are cleaned up in either case."""

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _watch() -> Callable[[ExperimentProgress], None]:
    """A bar with the time left on a terminal, else a line for every repetition."""
    if not sys.stderr.isatty():
        return _say_repetition
    bar = ProgressBar()
    return lambda reached: bar.show(
        (reached.done + reached.part) / reached.total, f"{reached.turn}: {reached.doing}"
    )


def _say_repetition(reached: ExperimentProgress) -> None:
    if reached.is_end:
        say(f"{reached.done} of {reached.total}: {reached.turn}")
