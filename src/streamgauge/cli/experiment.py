"""``streamgauge experiment``: run a job on an engine step by step, and say what was measured."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli.output import counted, print_document, say, terminal_width, write_text
from streamgauge.cli.spark import BYTES_PER_ROW, Conf, Config, Master, spark_session
from streamgauge.errors import NotEnoughData, StreamgaugeError

if TYPE_CHECKING:
    from types import FrameType

    from streamgauge.experiments.controller import Reached
    from streamgauge.experiments.experiment import Experiment
    from streamgauge.experiments.journal import Journal
    from streamgauge.experiments.truth import Truth

BAR = 30
# A bar that moves more often than this is only slower.
SECONDS_BETWEEN = 0.1
MINUTE = 60.0

app = typer.Typer(
    help="Measure a job step by step on an engine, and keep the truth.", no_args_is_help=True
)


@app.command()
def run(
    file: Annotated[Path, typer.Argument(help="An experiment in YAML (docs/experiments.md).")],
    engine: Annotated[str, typer.Option(help="Runner: emulator, or that of an installed engine.")],
    output: Annotated[
        Path | None,
        typer.Option(help="Folder for all that is measured; NAME-ENGINE when not given."),
    ] = None,
    lake: Annotated[
        str | None, typer.Option(help="Take the raw metrics into this lake at the end.")
    ] = None,
    master: Master = None,
    conf: Conf = None,
    config: Config = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Run an experiment; the same command goes on where an earlier one was interrupted."""
    from streamgauge.experiments.files.experiment_file import load_experiment

    journal, folder = run_on(load_experiment(file), engine, output)
    truth = observed(journal, folder)
    if lake is not None:
        _ingest(journal, folder, lake, master, conf, config)
    tell(journal, truth, folder, as_json=as_json)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="The folder of an experiment.")],
    html: Annotated[
        Path | None, typer.Option(help="Write a page with pictures to this file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Say what an experiment has measured so far, from its raw lines."""
    from streamgauge.cli.experiment_report import print_truth, truth_document
    from streamgauge.experiments.journal import read_journal

    journal = read_journal(folder)
    if not journal.done:
        raise NotEnoughData(
            f"{folder}: no repetition is done of {len(journal.left)}; expected at least one"
            " (run the experiment again: it goes on where it was)"
        )
    truth = observed(journal, folder)
    if as_json:
        print_document(truth_document(journal, truth))
    else:
        print_truth(journal, truth, brief=False)
    if html is not None:
        from streamgauge.cli.experiment_page import experiment_page

        write_text(html, experiment_page(journal, truth))


def run_on(experiment: Experiment, engine: str, output: Path | None) -> tuple[Journal, Path]:
    """Run an experiment on the engine of that name; its journal, and the folder it lies in."""
    from streamgauge.engines.registry import load_runner
    from streamgauge.experiments.controller import run_experiment

    runner = load_runner(engine)
    folder = output or Path(f"{experiment.name}-{engine}".replace("/", "-"))
    if runner.simulates:
        from streamgauge.api.simulator import compile_simulator

        compile_simulator(say)
    say(f"{experiment.name} on {engine}, into {folder}")
    with _kept(folder), _interruptible():
        return run_experiment(experiment, runner, folder, _watcher()), folder


def tell(journal: Journal, truth: Truth, folder: Path, *, as_json: bool) -> None:
    """What was measured, in short or as a document."""
    from streamgauge.cli.experiment_report import print_truth, truth_document

    if as_json:
        print_document(truth_document(journal, truth))
    else:
        print_truth(journal, truth, brief=True)
        say(f"all figures: streamgauge experiment report {folder}")


def observed(journal: Journal, folder: Path) -> Truth:
    """What its raw lines come to, which is kept beside them."""
    from streamgauge.experiments.observing import observe, write_truth

    truth = observe(journal, folder)
    write_truth(truth, folder)
    return truth


def _ingest(
    journal: Journal,
    folder: Path,
    lake: str,
    master: str | None,
    conf: list[str] | None,
    config: Path | None,
) -> None:
    """One Spark session takes all repetitions; what the lake has already is not read again."""
    from streamgauge.cli.ingest import summary
    from streamgauge.lake.tables import Lake
    from streamgauge.pipeline.ingest.listing import find_files

    files = find_files([str(folder / one.folder) for one in journal.done])
    rows = sum(file.bytes for file in files) // BYTES_PER_ROW
    with spark_session("experiment", master, conf, config, input_rows=rows) as spark:
        from streamgauge.pipeline.ingest.job import ingest_files

        say(summary(ingest_files(spark, Lake(lake), files, say=say)))


@contextmanager
def _kept(folder: Path) -> Iterator[None]:
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
        kept = f"{len(journal.done)} of {counted(total, 'repetition')} are kept in {folder}"
        say(f"{kept}; the same command goes on from there")
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


def _watcher() -> Callable[[Reached], None]:
    """A bar with the time left on a terminal, else a line for every repetition."""
    return _Bar() if sys.stderr.isatty() else _line


def _line(reached: Reached) -> None:
    if reached.is_end:
        say(f"{reached.done} of {reached.total}: {reached.turn}")


class _Bar:
    """The whole experiment as one line; what an earlier run has done takes no time."""

    def __init__(self) -> None:
        self._began = self._shown = time.monotonic()
        self._first: float | None = None

    def __call__(self, reached: Reached) -> None:
        now = time.monotonic()
        at = reached.done + reached.part
        if self._first is None:
            self._first = at
        is_end = at >= reached.total
        if not is_end and now < self._shown + SECONDS_BETWEEN:
            return
        self._shown = now
        part = at / reached.total
        done = at - self._first
        left = (now - self._began) / done * (reached.total - at) if done > 0.0 else None
        told = f"{reached.turn}: {reached.doing}"
        bar = f"{'█' * round(BAR * part):<{BAR}} {100 * part:3.0f} %"
        # What is longer than a line of the terminal could not be written over.
        width = terminal_width() - 1
        line = f"{bar}  {_time(left):<14}{told}"[:width]
        # The bar makes room for the answer.
        end = f"\r{' ' * width}\r" if is_end else ""
        print(f"\r{line:<{width}}", end=end, file=sys.stderr, flush=True)


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds:.0f} s left" if seconds < 2 * MINUTE else f"{seconds / MINUTE:.0f} min left"
