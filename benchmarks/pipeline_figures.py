"""The main figures of profiles under the names that the pandas version gives them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks.pipeline_fleet import task_number
from benchmarks.pipeline_pandas import QUANTILES, Figures
from streamgauge.profile.figures import Figure, InputFigures, OutputFigures
from streamgauge.profile.profile import Profile

NAMES = (
    "input rate",
    "input share",
    "output rate",
    "output share",
    "dispersion",
    "service mean",
    "service scv",
    *(f"service q{probability:g}" for probability in QUANTILES),
    "routing",
    "coefficient",
    "cpu mean",
    "executor cores",
    "worker cores",
)
Found = Iterator[tuple[tuple[str | int, ...], float]]


def figures_of(profile: Profile) -> Figures:
    """The figures of one profile, by name, topology and subject."""
    name = profile.topology.name
    found: Figures = {}
    for (operator, place), task in profile.tasks.items():
        number = task_number(int(operator.partition("-")[2]), place)
        who = (name, operator, number)
        for seen in task.inputs.values():
            found.update(_input(who, seen))
        for out in task.outputs.values():
            found.update(_output(who, out))
    for label, executor in profile.executors.items():
        found.update(_known("executor cores", (name, label), executor.cores))
    for label, worker in profile.workers.items():
        found.update(_known("worker cores", (name, label), worker.cores))
    return found


def _known(figure: str, who: tuple[str | int, ...], value: Figure | None) -> Found:
    if value is not None:
        yield (figure, *who), value.value


def _input(who: tuple[str, str, int], seen: InputFigures) -> Found:
    yield from _known("input rate", who, seen.per_second)
    yield from _known("input share", who, seen.share)
    yield from _known("dispersion", who, seen.dispersion)
    if seen.wall is not None:
        yield from _known("service mean", who, seen.wall.mean_ms)
        yield from _known("service scv", who, seen.wall.scv)
        for probability, value in seen.wall.quantiles_ms.items():
            yield (f"service q{probability:g}", *who), value
    if seen.cpu is not None:
        topology, operator, number = who
        label = f"{operator}[{number}]"
        yield from _known("cpu mean", (topology, operator, label), seen.cpu.mean_ms)


def _output(who: tuple[str, str, int], out: OutputFigures) -> Found:
    yield from _known("output rate", who, out.per_second)
    yield from _known("output share", who, out.share)
    for coefficient in out.coefficients.values():
        yield from _known("coefficient", who, coefficient)
    for subscriber, shares in out.shares.items():
        for place, part in enumerate(shares.parts):
            target = task_number(int(subscriber.partition("-")[2]), place)
            yield ("routing", *who, target), part


def write_figures(path: Path, figures: Figures) -> None:
    """Figures as one JSON document."""
    path.write_text(json.dumps([[*key, value] for key, value in figures.items()]))


def read_figures(path: Path) -> Figures:
    """What `write_figures` wrote; numbers of tasks are the same whoever wrote them."""
    return {tuple(row[:-1]): row[-1] for row in json.loads(path.read_text())}
