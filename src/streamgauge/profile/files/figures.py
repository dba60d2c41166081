"""The section of a file that holds what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from streamgauge.errors import Findings, InvalidInput
from streamgauge.profile.files.behaviours import KeysFile
from streamgauge.profile.profile import (
    Figure,
    InputFigures,
    LinkFigures,
    OutputFigures,
    Period,
    Profile,
    TaskId,
    TaskProfile,
    TimeFigures,
)
from streamgauge.topology.files.schema import FileModel, Name, build_part
from streamgauge.topology.topology import StreamKey, Topology
from streamgauge.topology.validation import shown

EACH_TASK = "each"
MAX_DIGITS = 9


class FigureFile(FileModel):
    """A measured number; a bare number where nothing more is known."""

    value: float
    samples: int = 0
    buckets: int = 0
    standard_error: float | None = None

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, value: Any) -> Any:
        return {"value": value} if isinstance(value, int | float) else value

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"anyOf": [handler.resolve_ref_schema(handler(core_schema)), {"type": "number"}]}

    def build(self) -> Figure:
        """The figure."""
        return Figure(**self.model_dump())

    @classmethod
    def of(cls, figure: Figure) -> Any:
        """What to write for it."""
        written = {
            "value": figure.value,
            "samples": figure.samples,
            "buckets": figure.buckets,
            "standard_error": figure.standard_error,
        }
        kept = {k: v for k, v in written.items() if k == "value" or v not in (0, None)}
        if figure.standard_error == 0.0 and figure.standard_error is not None:
            kept["standard_error"] = figure.standard_error
        return figure.value if set(kept) == {"value"} else kept


class TimesFile(FileModel):
    """A measured time in milliseconds; quantiles by probability (``0.99: 12.5``)."""

    mean_ms: FigureFile
    scv: FigureFile | None = None
    quantiles_ms: dict[str, float] = {}

    def build(self) -> TimeFigures:
        """The figures."""
        quantiles: dict[float, float] = {}
        for text, value in self.quantiles_ms.items():
            try:
                probability = float(text)
            except ValueError:
                raise InvalidInput.single(
                    ("quantiles_ms", text), seen=shown(text), expected="a probability such as 0.99"
                ) from None
            if probability in quantiles:
                raise InvalidInput.single(
                    ("quantiles_ms", text), seen=f"{probability:g} twice", expected="each once"
                )
            quantiles[probability] = value
        return TimeFigures(
            mean_ms=build_part(self.mean_ms, "mean_ms"),
            scv=None if self.scv is None else build_part(self.scv, "scv"),
            quantiles_ms=quantiles,
        )

    @classmethod
    def of(cls, times: TimeFigures) -> dict[str, Any]:
        """What to write for them."""
        written: dict[str, Any] = {"mean_ms": FigureFile.of(times.mean_ms)}
        if times.scv is not None:
            written["scv"] = FigureFile.of(times.scv)
        if times.quantiles_ms:
            written["quantiles_ms"] = {repr(float(p)): v for p, v in times.quantiles_ms.items()}
        return written


class InputFiguresFile(FileModel):
    """What a task did with one input stream."""

    per_second: FigureFile | None = None
    dispersion: FigureFile | None = None
    wall: TimesFile | None = None
    cpu: TimesFile | None = None

    def build(self) -> InputFigures:
        """The figures."""
        return InputFigures(**_built_parts(self))


class OutputFiguresFile(FileModel):
    """What a task emitted on one stream; times are for each tuple that a source emits."""

    per_second: FigureFile | None = None
    wall: TimesFile | None = None
    cpu: TimesFile | None = None
    coefficients: dict[str, dict[str, FigureFile]] = Field(
        default={}, description="tuples out per tuple in: source operator, then stream"
    )
    bytes: FigureFile | None = None
    shares: dict[str, list[float]] = Field(
        default={}, description="by subscriber: the part that went to each of its tasks"
    )

    def build(self) -> OutputFigures:
        """The figures."""
        coefficients = {
            StreamKey(source, stream): build_part(figure, "coefficients", source, stream)
            for source, streams in self.coefficients.items()
            for stream, figure in streams.items()
        }
        parts = {
            name: build_part(part, name)
            for name in ("per_second", "wall", "cpu", "bytes")
            if (part := getattr(self, name)) is not None
        }
        shares = {name: tuple(row) for name, row in self.shares.items()}
        return OutputFigures(coefficients=coefficients, shares=shares, **parts)


class TaskFile(FileModel):
    """What was seen of one task."""

    inputs: dict[str, dict[str, InputFiguresFile]] = {}
    outputs: dict[str, OutputFiguresFile] = {}
    window: TimesFile | None = None

    def build(self) -> TaskProfile:
        """The task's profile."""
        return TaskProfile(
            inputs={
                StreamKey(source, stream): build_part(part, "inputs", source, stream)
                for source, streams in self.inputs.items()
                for stream, part in streams.items()
            },
            outputs={
                name: build_part(part, "outputs", name) for name, part in self.outputs.items()
            },
            window=None if self.window is None else build_part(self.window, "window"),
        )


class LinkFiguresFile(FileModel):
    """Measured one-way latency between two nodes."""

    source: Name = Field(alias="from")
    target: Name = Field(alias="to")
    latency: TimesFile


class PeriodFile(FileModel):
    """When the figures were taken."""

    start: str
    end: str


class FiguresFile(FileModel):
    """What was measured of a job: by operator, then by task (0, 1, … or `each`)."""

    operators: dict[str, dict[str, TaskFile]] = {}
    links: list[LinkFiguresFile] = []
    worker_cores: dict[str, FigureFile] = {}
    keys: dict[str, dict[str, KeysFile]] = {}  # type: ignore[valid-type]
    placement: dict[str, str] = Field(default={}, description="executor → worker")
    period: PeriodFile | None = None
    notes: list[str] = []

    def build(self, topology: Topology) -> dict[str, Any]:
        """The parts of a `Profile` that were measured, by their names."""
        findings = Findings()
        tasks: dict[TaskId, TaskProfile] = {}
        for operator, by_task in self.operators.items():
            for place, file in by_task.items():
                with findings.at("operators", operator, place):
                    task = file.build()
                    for index in _indices(topology, operator, place):
                        tasks[TaskId(operator, index)] = task
        keys = {}
        for source, streams in self.keys.items():
            for stream, part in streams.items():
                with findings.at("keys", source, stream):
                    keys[StreamKey(source, stream)] = part.build()  # type: ignore[attr-defined]
        links = []
        for index, link in enumerate(self.links):
            with findings.at("links", index):
                latency = build_part(link.latency, "latency")
                links.append(LinkFigures(source=link.source, target=link.target, latency=latency))
        worker_cores = {}
        for worker, figure in self.worker_cores.items():
            with findings.at("worker_cores", worker):
                worker_cores[worker] = figure.build()
        findings.raise_if_any()
        return {
            "tasks": tasks,
            "links": tuple(links),
            "worker_cores": worker_cores,
            "keys": keys,
            "placement": self.placement,
            "period": None if self.period is None else Period(**self.period.model_dump()),
            "notes": tuple(self.notes),
        }

    @classmethod
    def of(cls, profile: Profile) -> dict[str, Any]:
        """What to write for what was measured."""
        operators: dict[str, dict[str, Any]] = {}
        for (operator, index), task in profile.tasks.items():
            operators.setdefault(operator, {})[str(index)] = _task(task)
        keys: dict[str, dict[str, Any]] = {}
        for (source, stream), distribution in profile.keys.items():
            keys.setdefault(source, {})[stream] = KeysFile.dump(distribution)
        period = profile.period
        written: dict[str, Any] = {
            "operators": operators,
            "links": [
                {"from": link.source, "to": link.target, "latency": TimesFile.of(link.latency)}
                for link in profile.links
            ],
            "worker_cores": {
                worker: FigureFile.of(figure) for worker, figure in profile.worker_cores.items()
            },
            "keys": keys,
            "placement": dict(profile.placement),
            "period": None if period is None else {"start": period.start, "end": period.end},
            "notes": list(profile.notes),
        }
        return {name: part for name, part in written.items() if part}


def _built_parts(file: FileModel) -> dict[str, Any]:
    return {
        name: build_part(part, name)
        for name in type(file).model_fields
        if (part := getattr(file, name)) is not None
    }


def _indices(topology: Topology, operator: str, place: str) -> range:
    """The tasks a key of the file means: one, or each."""
    if place == EACH_TASK:
        return range(topology.operator(operator).tasks)  # ackers have no fixed number of tasks
    if not (place.isascii() and place.isdecimal() and len(place) <= MAX_DIGITS):
        raise InvalidInput.single(
            (), seen=shown(place), expected=f"a task from 0 on, or {EACH_TASK!r} for all of them"
        )
    return range(int(place), int(place) + 1)


def _nested(by_key: Mapping[StreamKey, Any]) -> dict[str, dict[str, Any]]:
    nested: dict[str, dict[str, Any]] = {}
    for (source, stream), value in by_key.items():
        nested.setdefault(source, {})[stream] = value
    return nested


def _task(task: TaskProfile) -> dict[str, Any]:
    written = {
        "inputs": _nested({key: _input(one) for key, one in task.inputs.items()}),
        "outputs": {name: _output(one) for name, one in task.outputs.items()},
        "window": None if task.window is None else TimesFile.of(task.window),
    }
    return {name: part for name, part in written.items() if part}


def _input(figures: InputFigures) -> dict[str, Any]:
    written: dict[str, Any] = {}
    for name in ("per_second", "dispersion"):
        if (figure := getattr(figures, name)) is not None:
            written[name] = FigureFile.of(figure)
    for name in ("wall", "cpu"):
        if (times := getattr(figures, name)) is not None:
            written[name] = TimesFile.of(times)
    return written


_OUTPUT_FORMS: dict[str, Any] = {
    "per_second": FigureFile,
    "wall": TimesFile,
    "cpu": TimesFile,
    "bytes": FigureFile,
}


def _output(figures: OutputFigures) -> dict[str, Any]:
    written = {
        name: form.of(figure)
        for name, form in _OUTPUT_FORMS.items()
        if (figure := getattr(figures, name)) is not None
    }
    if figures.coefficients:
        written["coefficients"] = _nested(
            {key: FigureFile.of(figure) for key, figure in figures.coefficients.items()}
        )
    if figures.shares:
        written["shares"] = {name: list(row) for name, row in figures.shares.items()}
    return written
