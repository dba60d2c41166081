"""An objective in a file, and in a topology's own configuration; both have the same schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Literal

from streamgauge.errors import Findings, InvalidInput, Problem
from streamgauge.planning.sharing.slo import Slo, Statistic
from streamgauge.planning.sharing.utility import (
    Custom,
    Knee,
    Linear,
    Lognormal,
    Piecewise,
    Shape,
    Step,
)
from streamgauge.topology.configuration import OBJECTIVE_PREFIX, Configuration
from streamgauge.topology.field_checks import check_known
from streamgauge.topology.files.document import parse_document
from streamgauge.topology.files.file_model import FileModel, list_keys, validate
from streamgauge.topology.topology import Topology

SHAPES = ("knee", "linear", "piecewise", "step", "lognormal", "custom")


class UtilityFile(FileModel):
    """What remains of the utility where the objective is missed; exactly one shape."""

    knee: bool = False
    linear: float | None = None
    piecewise: list[list[float]] | None = None
    step: list[list[float]] | None = None
    lognormal: list[float] | None = None
    custom: str | None = None

    def build(self) -> Shape:
        """The shape."""
        given = [name for name in SHAPES if name in self.model_fields_set]
        if len(given) != 1:
            raise InvalidInput.single(
                (), seen=", ".join(given) or "nothing", expected=f"one of {', '.join(SHAPES)}"
            )
        if self.linear is not None:
            return Linear(zero_at=self.linear)
        if self.piecewise is not None:
            return Piecewise(points=pairs_in(self.piecewise, "piecewise"))
        if self.step is not None:
            return Step(steps=pairs_in(self.step, "step"))
        if self.lognormal is not None:
            (median, sigma) = pairs_in([self.lognormal], "lognormal")[0]
            return Lognormal(median=median, sigma=sigma)
        return Knee() if self.custom is None else Custom(function=self.custom)


class SloFile(FileModel):
    """What a job is to reach."""

    latency_ms: float | None = None
    statistic: Literal["mean", "p50", "p95", "p99"] = "mean"
    juice: float | None = None
    max_utility: float = 1.0
    utility: UtilityFile | Literal["knee", "step"] = "knee"
    sink_weights: dict[str, float] = {}

    def build(self, topology: Topology | None = None) -> Slo:
        """The objective; of a topology, whose sinks are then known."""
        _check_sinks(self.sink_weights, topology)
        if isinstance(self.utility, UtilityFile):
            findings = Findings()
            shape: Shape = Knee()
            with findings.at("utility"):
                shape = self.utility.build()
            findings.raise_if_any()
        else:
            shape = Knee() if self.utility == "knee" else Step()
        return Slo(
            latency_seconds=None if self.latency_ms is None else self.latency_ms / 1e3,
            statistic=Statistic(self.statistic),
            juice=self.juice,
            max_utility=self.max_utility,
            shape=shape,
            sink_weights=self.sink_weights,
        )


def find_slo(configuration: Configuration, topology: Topology | None = None) -> Slo | None:
    """The objective that a topology's own configuration has; nothing where it has none.

    Every setting ``streamgauge.slo.KEY`` is what KEY is in a file. Values that are no single number
    or word are YAML: ``streamgauge.slo.utility: "{linear: 2}"``.

    Raises:
        InvalidInput: It is no objective; the place is that of the setting.
    """
    given = {
        name.removeprefix(OBJECTIVE_PREFIX): value
        for name, value in configuration.settings.items()
        if name.startswith(OBJECTIVE_PREFIX)
    }
    if not given:
        return None
    try:
        data = {name: _read_setting(name, value) for name, value in given.items()}
        file: SloFile = validate(SloFile, data, _known_keys)
        return file.build(topology)
    except InvalidInput as error:
        raise InvalidInput([_as_setting(one) for one in error.problems]) from None


def _read_setting(name: str, value: object) -> object:
    """A setting's value, which the engine keeps as text where it has parts."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return parse_document(f"value: {value}").data["value"]
    except InvalidInput as error:
        problem = error.problems[0]
        raise InvalidInput.single(
            (name,), seen=f"{value!r}: {problem.seen}", expected="YAML, such as {linear: 2}"
        ) from None


def _as_setting(problem: Problem) -> Problem:
    """A problem of a key as one of its setting."""
    first, *others = problem.place or ("",)
    # Figures of an objective have other names than their keys.
    key = {"latency": "latency_ms"}.get(str(first), str(first))
    place = ("settings", f"{OBJECTIVE_PREFIX}{key}".rstrip("."), *others)
    return replace(problem, place=place, file="", line=None)


def pairs_in(rows: list[list[float]], place: str) -> tuple[tuple[float, float], ...]:
    """Rows of two numbers each."""
    check_length(rows, 2, place)
    return tuple((first, second) for first, second in rows)


def check_length(rows: list[list[float]], length: int, place: str) -> None:
    """Refuse a row of another length."""
    for index, row in enumerate(rows):
        if len(row) != length:
            raise InvalidInput.single(
                (place, index), seen=f"{len(row)} numbers", expected=f"{length}"
            )


def _check_sinks(weights: Mapping[str, float], topology: Topology | None) -> None:
    if topology is None:
        return
    findings = Findings()
    sinks = [one.name for one in topology.sinks]
    for name in weights:
        seen = f"{name!r}, which is no sink of {topology.name!r}"
        check_known(findings, name, sinks, "sink_weights", name, seen=seen, expected="a sink")
    findings.raise_if_any()


@cache
def _known_keys() -> tuple[str, ...]:
    return tuple(list_keys(SloFile.model_json_schema(by_alias=True)))
