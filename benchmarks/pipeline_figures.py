"""The main figures of profiles under the names that the pandas version gives them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.pipeline_fleet import Task
from benchmarks.pipeline_pandas import Figures
from streamgauge.profile.figures import Figure, InputFigures, OutputFigures
from streamgauge.profile.profile import Profile

Named = Iterator[tuple[tuple[Any, ...], Figure | None]]


def figures_of(profile: Profile) -> Figures:
    """The figures of one profile, by name, topology and subject."""
    return {key: figure.value for key, figure in _figures(profile) if figure is not None}


def _figures(profile: Profile) -> Named:
    name = profile.topology.name
    for (operator, place), task in profile.tasks.items():
        subject = (name, operator, _task_number(operator, place))
        for received in task.inputs.values():
            yield from _input_figures(subject, received)
        for emitted in task.outputs.values():
            yield from _output_figures(subject, emitted)
    for label, executor in profile.executors.items():
        yield ("executor cores", name, label), executor.cores
    for label, worker in profile.workers.items():
        yield ("worker cores", name, label), worker.cores


def _task_number(operator: str, place: int) -> int:
    return Task(int(operator.partition("-")[2]), place).number


def _input_figures(subject: tuple[str, str, int], received: InputFigures) -> Named:
    topology, operator, number = subject
    yield ("input rate", *subject), received.per_second
    yield ("input share", *subject), received.share
    yield ("dispersion", *subject), received.dispersion
    if received.wall is not None:
        yield ("service mean", *subject), received.wall.mean_ms
        yield ("service scv", *subject), received.wall.scv
        for probability, value in received.wall.quantiles_ms.items():
            yield (f"service q{probability:g}", *subject), Figure(value=value)
    if received.cpu is not None:
        yield ("cpu mean", topology, operator, f"{operator}[{number}]"), received.cpu.mean_ms


def _output_figures(subject: tuple[str, str, int], emitted: OutputFigures) -> Named:
    yield ("output rate", *subject), emitted.per_second
    yield ("output share", *subject), emitted.share
    for coefficient in emitted.coefficients.values():
        yield ("coefficient", *subject), coefficient
    for subscriber, shares in emitted.shares.items():
        for place, part in enumerate(shares.parts):
            yield ("routing", *subject, _task_number(subscriber, place)), Figure(value=part)
