"""The section of a file that holds what was measured; its models follow from the records' fields.

A record's model has the record's own fields, described by the record's docstring. Reading goes from
a validated model to the record; writing leaves out defaults and sorts keys, so that equal records
give equal text.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple

from pydantic import Field, GetJsonSchemaHandler, create_model, model_validator
from pydantic_core import CoreSchema

from streamgauge.errors import Findings, InvalidInput, Place
from streamgauge.profile.figures import Figure, LinkFigures, Shares, TaskId, TaskProfile
from streamgauge.profile.files.keys import KeysFile
from streamgauge.profile.keys import KeyDistribution
from streamgauge.profile.profile import Profile
from streamgauge.topology.field_checks import format_value, natural_key
from streamgauge.topology.files.file_model import FileModel, Name
from streamgauge.topology.topology import StreamKey, Topology

# Records that may be written as nothing but this field.
BARE: Mapping[type, str] = {Figure: "value", Shares: "parts"}
ALIASES: Mapping[type, Mapping[str, str]] = {LinkFigures: {"source": "from", "target": "to"}}
# Fields that hold names, which people write as numbers too.
NAMES = frozenset({"source", "target"})

_REQUIRED: Any = object()
# Fields stand at one depth; what goes on below them stands deeper.
_ATTRIBUTE = re.compile(r" {4}(\w+): (.*)")


class Form(NamedTuple):
    """How values of one type stand in a file.

    Attributes:
        annotation: What pydantic is to take.
        read: From that to the value; problems are placed as seen from the value.
        write: From the value to plain data.
    """

    annotation: Any
    read: Callable[[Any], Any]
    write: Callable[[Any], Any]


class _Part(NamedTuple):
    """One field of a record."""

    name: str
    key: str
    form: Form
    default: Any


class RecordFile(FileModel):
    """A record in a file; made by `record_file`."""

    record_type: ClassVar[Callable[..., Any]]
    record_parts: ClassVar[tuple[_Part, ...]]
    bare_field: ClassVar[str] = ""

    def build(self) -> Any:
        """The record."""
        with Findings() as findings:
            read = read_parts(self, self.record_parts, findings)
        return type(self).record_type(**read)

    @classmethod
    def of(cls, value: Any) -> Any:
        """What to write for a record."""
        return write_parts(value, cls.record_parts)


class BareRecordFile(RecordFile):
    """A record that may be written as one of its fields alone."""

    @model_validator(mode="before")
    @classmethod
    def _from_bare(cls, value: Any) -> Any:
        return value if isinstance(value, Mapping) else {cls.bare_field: value}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        schema = handler.resolve_ref_schema(handler(core_schema))
        alone = {k: v for k, v in schema["properties"][cls.bare_field].items() if k != "title"}
        return {"anyOf": [schema, alone]}

    @classmethod
    def of(cls, value: Any) -> Any:
        """What to write for a record."""
        written = write_parts(value, cls.record_parts)
        return written[cls.bare_field] if len(written) == 1 else written


@functools.cache
def record_file(record: type) -> type[RecordFile]:
    """The file model of a record, which is a dataclass or a named tuple."""
    parts = list_parts(record)
    bare = BARE.get(record)
    base: type[RecordFile] = RecordFile if bare is None else BareRecordFile
    model: type[RecordFile] = create_model(
        f"{record.__name__}File", __base__=base, **model_fields(record, parts)
    )
    model.__doc__ = (record.__doc__ or "").split("\n", 1)[0]
    model.record_type = record
    model.record_parts = parts
    if bare is not None:
        model.bare_field = bare
    return model


def list_parts(record: type, names: tuple[str, ...] | None = None) -> tuple[_Part, ...]:
    """The fields of a record, or those named, with their forms."""
    hints = typing.get_type_hints(record)
    aliases = ALIASES.get(record, {})
    return tuple(
        _Part(
            name,
            aliases.get(name, name),
            _NAME if name in NAMES and hints[name] is str else find_form(hints[name]),
            default,
        )
        for name, default in _defaults(record).items()
        if names is None or name in names
    )


def model_fields(record: type, parts: tuple[_Part, ...]) -> dict[str, Any]:
    """The fields for pydantic's `create_model`."""
    words = _descriptions(record)
    fields: dict[str, Any] = {}
    for part in parts:
        given: dict[str, Any] = {"description": words.get(part.name)}
        if part.key != part.name:
            given["alias"] = part.key
        if part.default is not _REQUIRED:
            given["default"] = part.form.write(part.default)
        fields[part.name] = (part.form.annotation, Field(**given))
    return fields


def read_parts(file: FileModel, parts: tuple[_Part, ...], findings: Findings) -> dict[str, Any]:
    """The values of the fields that the file gives."""
    given = file.model_fields_set
    read: dict[str, Any] = {}
    for part in parts:
        if part.name in given:
            try:
                read[part.name] = part.form.read(getattr(file, part.name))
            except InvalidInput as error:
                findings.absorb(error, part.key)
    return read


def write_parts(value: Any, parts: tuple[_Part, ...]) -> dict[str, Any]:
    """What to write for the fields of a record: those that are no defaults."""
    written: dict[str, Any] = {}
    for part in parts:
        one = getattr(value, part.name)
        if part.default is _REQUIRED or one != part.default:
            written[part.key] = part.form.write(one)
    return written


@functools.cache
def find_form(hint: Any) -> Form:
    """How values of that type stand in a file."""
    if hint in _KNOWN:
        return _KNOWN[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _optional(find_form(next(one for one in arguments if one is not types.NoneType)))
    if origin is tuple:
        return _listed(find_form(arguments[0]))
    if origin is Mapping:
        keyed = {str: _by_name, float: _by_number, StreamKey: _by_stream}[arguments[0]]
        return keyed(find_form(arguments[1]))
    if issubclass(hint, StrEnum):
        return Form(typing.Literal[tuple(map(str, hint))], hint, str)
    model = record_file(hint)
    return Form(model, model.build, model.of)


def _same(value: Any) -> Any:
    return value


def _float(value: float) -> float:
    # Integers become floats and minus zero becomes zero, so that equal values give equal text.
    return float(value) + 0.0


_NAME = Form(Name, _same, _same)
_KNOWN: dict[Any, Form] = {
    float: Form(float, _same, _float),
    int: Form(int, _same, _same),
    bool: Form(bool, _same, _same),
    str: Form(str, _same, _same),
    KeyDistribution: Form(KeysFile, KeysFile.build, KeysFile.dump),
}


def _optional(form: Form) -> Form:
    return Form(
        form.annotation | None,
        lambda value: None if value is None else form.read(value),
        lambda value: None if value is None else form.write(value),
    )


def _listed(form: Form) -> Form:
    def read(values: list[Any]) -> tuple[Any, ...]:
        if form.read is _same:
            return tuple(values)
        return tuple(_read_all(form, [((index,), one) for index, one in enumerate(values)]))

    return Form(
        types.GenericAlias(list, form.annotation),
        read,
        lambda values: [form.write(one) for one in values],
    )


def _by_name(form: Form) -> Form:
    def read(values: dict[str, Any]) -> dict[str, Any]:
        places = [((name,), one) for name, one in values.items()]
        return dict(zip(values, _read_all(form, places), strict=True))

    return Form(
        types.GenericAlias(dict, (str, form.annotation)),
        read,
        lambda values: {name: form.write(values[name]) for name in sorted(values, key=natural_key)},
    )


def _by_number(form: Form) -> Form:
    def read(values: dict[str, Any]) -> dict[float, Any]:
        findings = Findings()
        numbers = {}
        for text, value in values.items():
            with findings.at(text):
                number = _number(text)
                if number in numbers:
                    raise InvalidInput.single((), seen=f"{number:g} twice", expected="each once")
                numbers[number] = form.read(value)
        findings.raise_if_any()
        return numbers

    return Form(
        types.GenericAlias(dict, (str, form.annotation)),
        read,
        lambda values: {repr(_float(one)): form.write(values[one]) for one in sorted(values)},
    )


def _by_stream(form: Form) -> Form:
    def read(values: dict[str, dict[str, Any]]) -> dict[StreamKey, Any]:
        places: list[tuple[Place, Any]] = [
            (StreamKey(source, name), one)
            for source, streams in values.items()
            for name, one in streams.items()
        ]
        keys = [typing.cast(StreamKey, place) for place, _ in places]
        return dict(zip(keys, _read_all(form, places), strict=True))

    def write(values: Mapping[StreamKey, Any]) -> dict[str, dict[str, Any]]:
        written: dict[str, dict[str, Any]] = {}
        for source, name in sorted(
            values, key=lambda key: (natural_key(key[0]), natural_key(key[1]))
        ):
            one = values[StreamKey(source, name)]
            written.setdefault(source, {})[name] = form.write(one)
        return written

    return Form(
        types.GenericAlias(dict, (str, types.GenericAlias(dict, (str, form.annotation)))),
        read,
        write,
    )


def _read_all(form: Form, values: Iterable[tuple[Place, Any]]) -> list[Any]:
    """The values, or every problem at its place."""
    with Findings() as findings:
        read = []
        for place, value in values:
            try:
                read.append(form.read(value))
            except InvalidInput as error:
                findings.absorb(error, *place)
    return read


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput.single(
            (), seen=format_value(text), expected="a number as the key, such as 0.99"
        ) from None


def _defaults(record: type) -> dict[str, Any]:
    if not dataclasses.is_dataclass(record):
        given: Mapping[str, Any] = getattr(record, "_field_defaults", {})
        return {name: given.get(name, _REQUIRED) for name in typing.get_type_hints(record)}
    defaults = {}
    for one in dataclasses.fields(record):
        default = _REQUIRED if one.default is dataclasses.MISSING else one.default
        if one.default_factory is not dataclasses.MISSING:
            default = one.default_factory()
        defaults[one.name] = default
    return defaults


def _descriptions(record: type) -> dict[str, str]:
    """What a record's docstring says of its fields, each in one line."""
    _, _, listed = inspect.cleandoc(record.__doc__ or "").partition("Attributes:\n")
    words: dict[str, str] = {}
    name = ""
    for line in listed.splitlines():
        match = _ATTRIBUTE.fullmatch(line)
        if match:
            name = match[1]
            words[name] = match[2]
        elif name and line.strip():
            words[name] += " " + line.strip()
    return words


EACH_TASK = "each"
MAX_DIGITS = 9

# Sections of their own hold the job; tasks stand under their operators.
_ELSEWHERE = ("topology", "configuration", "cluster", "tasks")
_PARTS = list_parts(Profile, tuple(name for name in Profile.__slots__ if name not in _ELSEWHERE))
_TaskFile = record_file(TaskProfile)


class _FiguresFile(FileModel):
    operators: dict[str, dict[str, _TaskFile]] = Field(  # type: ignore[valid-type]
        default={}, description="by operator, then by task: 0, 1, … or each"
    )

    def build(self, topology: Topology) -> dict[str, Any]:
        """The parts of a `Profile` that were measured, by their names."""
        findings = Findings()
        tasks: dict[TaskId, TaskProfile] = {}
        for operator, by_task in self.operators.items():
            for place, file in by_task.items():
                with findings.at("operators", operator, place):
                    task = file.build()  # type: ignore[attr-defined]
                    for index in _indices(topology, operator, place):
                        tasks[TaskId(operator, index)] = task
        parts = read_parts(self, _PARTS, findings)
        findings.raise_if_any()
        return {"tasks": tasks, **parts}

    @classmethod
    def of(cls, profile: Profile) -> dict[str, Any]:
        """What to write for what was measured."""
        deployed = profile.topology.with_ackers(profile.configuration.acker_count)
        operators: dict[str, dict[str, Any]] = {}
        for name in deployed.operator_names:
            seen = sorted(profile.tasks_of(name).items())
            if seen:
                operators[name] = {str(index): _TaskFile.of(task) for index, task in seen}
        written = write_parts(profile, _PARTS)
        return {"operators": operators, **written} if operators else written


FiguresFile = create_model(
    "FiguresFile",
    __base__=_FiguresFile,
    __doc__="What was measured of a job.",
    **model_fields(Profile, _PARTS),
)


def _indices(topology: Topology, operator: str, place: str) -> range:
    """The tasks a key of the file means: one, or each."""
    if place == EACH_TASK:
        return range(topology.operator(operator).tasks)  # ackers have no fixed number of tasks
    if not (place.isascii() and place.isdecimal() and len(place) <= MAX_DIGITS):
        raise InvalidInput.single(
            (),
            seen=format_value(place),
            expected=f"a task from 0 on, or {EACH_TASK!r} for all of them",
        )
    return range(int(place), int(place) + 1)
