"""What the file models share: strictness, one-of sections, and readable error messages."""

from __future__ import annotations

import dataclasses
import functools
import operator
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ValidationError,
    WithJsonSchema,
    create_model,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError

from streamgauge.errors import InvalidInput, Problem, suggest_name
from streamgauge.topology.field_checks import format_value


def _accept_number(value: object) -> object:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if whole else value


# A name in a file; jobs exist whose operators are called 1, 2 and 3.
Name = Annotated[
    str,
    BeforeValidator(_accept_number),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
]


class FileModel(BaseModel):
    """A part of a file: types as written, no unknown keys."""

    # Pydantic builds what validates when it is first used: a file has few of all sections.
    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        frozen=True,
        populate_by_name=True,
        defer_build=True,
    )

    @classmethod
    def mirror(cls, noun: object, **others: Any) -> Self:
        """The part whose fields are those of a noun, but for the `others`."""
        same = {name: getattr(noun, name) for name in cls.model_fields if name not in others}
        return cls(**same, **others)


class OneOf(FileModel):
    """A mapping with exactly one key, which says what its value is.

    Made by `one_of`; `shorthand` names the key that a bare value stands for.
    """

    shorthand: ClassVar[str | None] = None
    variants: ClassVar[Mapping[str, type]] = {}

    @model_validator(mode="before")
    @classmethod
    def _normalise(cls, value: Any) -> Any:
        if isinstance(value, str) and value in cls.variants:
            return {value: {}}
        if cls.shorthand and isinstance(value, int | float) and not isinstance(value, bool):
            return {cls.shorthand: {_bare_field(cls.variants[cls.shorthand]): value}}
        kinds = ", ".join(cls.variants)
        if not isinstance(value, Mapping) or len(value) != 1:
            raise PydanticCustomError("one_of", "exactly one of {kinds}", {"kinds": kinds})
        kind, content = next(iter(value.items()))
        if kind not in cls.variants:
            raise PydanticCustomError("one_of", "one of {kinds}", {"kinds": kinds})
        if content is None:
            return {kind: {}}
        if not isinstance(content, Mapping):
            name = _bare_field(cls.variants[kind])
            if name:
                return {kind: {name: content}}
        return {kind: content}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        schema = handler.resolve_ref_schema(handler(core_schema))
        for kind, part in schema["properties"].items():
            content = next(one for one in part["anyOf"] if one.get("type") != "null")
            name = _bare_field(cls.variants[kind])
            if name:
                bare = handler.resolve_ref_schema(content)["properties"][name]
                content = {"anyOf": [content, bare]}
            schema["properties"][kind] = content
        options = [{**schema, "minProperties": 1, "maxProperties": 1}]
        if bare_kinds := [kind for kind, one in cls.variants.items() if _needs_nothing(one)]:
            options.append({"enum": bare_kinds})
        if cls.shorthand:
            options.append({"type": "number"})
        return {"anyOf": options, "title": schema.get("title", cls.__name__)}

    def build(self) -> Any:
        """The value of the chosen kind."""
        for kind, made in self.variants.items():
            content = getattr(self, kind.replace("-", "_"))
            if content is None:
                continue
            try:
                return made(**{name: getattr(content, name) for name in type(content).model_fields})
            except InvalidInput as error:
                raise error.below(kind) from None
        raise AssertionError("a validated one-of has one kind")

    @classmethod
    def dump(cls, value: Any) -> Any:
        """What `build` makes `value` of, in the shortest form."""
        content = {
            field.name: to_plain(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if not _is_default(field, getattr(value, field.name))
        }
        if value.kind == cls.shorthand:
            return next(iter(content.values()))
        if not content and _needs_nothing(type(value)):
            return value.kind
        name = _bare_field(type(value))
        if name and set(content) == {name} and not isinstance(content[name], Mapping):
            return {value.kind: content[name]}
        return {value.kind: content}


def one_of(name: str, variants: Sequence[type], *, shorthand: str | None = None) -> type[OneOf]:
    """A file model for a family of dataclasses that carry their `kind`.

    Args:
        name: Of the model, as the JSON Schema shows it.
        variants: The dataclasses; their fields become the keys.
        shorthand: The kind that a bare number stands for.
    """
    fields: dict[str, Any] = {}
    for variant in variants:
        content = create_model(
            f"{name}_{variant.__name__}", __base__=FileModel, **_model_fields(variant)
        )
        content.__doc__ = (variant.__doc__ or "").split("\n", 1)[0]
        kind = variant.kind  # type: ignore[attr-defined]  # every variant has one
        fields[kind.replace("-", "_")] = (
            content | None,
            Field(default=None, alias=kind, description=content.__doc__),
        )
    model = create_model(name, __base__=OneOf, **fields)
    model.shorthand = shorthand
    model.variants = {variant.kind: variant for variant in variants}  # type: ignore[attr-defined]
    return model


def build_part(part: Any, *place: str | int) -> Any:
    """What `part` builds; the places of its problems are prefixed with `place`."""
    try:
        return part.build()
    except InvalidInput as error:
        raise error.below(*place) from None


def validate(
    model: type[BaseModel], data: object, known_keys: Callable[[], Sequence[str]] = tuple
) -> Any:
    """`data` as `model`, or InvalidInput with readable messages.

    `known_keys` lists the keys of all sections, to suggest one for a misspelt key. It is called for
    wrong data only: the list takes longer than reading a file.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        keys = known_keys()
        raise InvalidInput(_describe_problem(detail, keys) for detail in error.errors()) from None


def to_plain(value: Any) -> Any:
    """Tuples and frozen mappings as the lists and dictionaries that files hold."""
    if isinstance(value, Mapping):
        return {str(key): to_plain(one) for key, one in value.items()}
    if isinstance(value, tuple):
        return [to_plain(one) for one in value]
    return value


def list_keys(schema: object) -> list[str]:
    """Every key that a JSON Schema knows, to suggest one for a misspelt key."""
    found: dict[str, None] = {}

    def walk(part: object) -> None:
        if isinstance(part, dict):
            properties = part.get("properties")
            if isinstance(properties, dict):
                found.update(dict.fromkeys(properties))
            for one in part.values():
                walk(one)
        elif isinstance(part, list):
            for one in part:
                walk(one)

    walk(schema)
    return list(found)


def _model_fields(variant: type) -> dict[str, Any]:
    hints = typing.get_type_hints(variant)
    return {
        field.name: (
            _use_lists(hints[field.name]),
            ... if field.default is dataclasses.MISSING else field.default,
        )
        for field in dataclasses.fields(variant)
    }


def _use_lists(annotation: Any) -> Any:
    """The type with lists for tuples: files hold lists, and the nouns make tuples of them."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is tuple:
        return types.GenericAlias(list, _use_lists(arguments[0]))
    if origin in (types.UnionType, typing.Union):
        return functools.reduce(operator.or_, map(_use_lists, arguments))
    return annotation


def _bare_field(variant: type) -> str | None:
    """The field that a bare value is for: the only one that must be given."""
    needed = [f.name for f in dataclasses.fields(variant) if f.default is dataclasses.MISSING]
    return needed[0] if len(needed) == 1 else None


def _needs_nothing(variant: type) -> bool:
    return all(field.default is not dataclasses.MISSING for field in dataclasses.fields(variant))


def _is_default(field: dataclasses.Field[Any], value: object) -> bool:
    return field.default is not dataclasses.MISSING and field.default == value


# pydantic's messages name Python types and our classes; people who write files know neither.
_EXPECTED = {
    "model_type": "a mapping of keys to values",
    "model_attributes_type": "a mapping of keys to values",
    "dict_type": "a mapping of names to values",
    "list_type": "a list",
    "string_type": "text",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
}


# Parts of a place that are no keys of the file: tags of alternatives, and that a key is wrong.
TAG = "\0"
_KEY_ITSELF = "[key]"
_OWN_WORDS = "own_words"


def refusal(seen: str, expected: str, remedy: str = "") -> PydanticCustomError:
    """What a validator raises to have a problem said in exactly these words."""
    words = {"seen": seen, "expected": expected, "remedy": remedy}
    return PydanticCustomError(_OWN_WORDS, "{expected}", words)


def _describe_problem(detail: Any, known_keys: Sequence[str]) -> Problem:
    place = tuple(
        part
        for part in detail["loc"]
        if part != _KEY_ITSELF and not (isinstance(part, str) and part.startswith(TAG))
    )
    if detail["type"] == _OWN_WORDS:
        return Problem(place=place, **detail["ctx"])
    message = detail["msg"]
    expected = _EXPECTED.get(detail["type"], message.removeprefix("Input should be "))
    remedy = ""
    seen = format_value(detail["input"])
    if detail["type"] == "missing":
        place, seen, expected = place[:-1], f"no {place[-1]!r}", f"the key {place[-1]!r}"
    elif detail["type"] == "extra_forbidden":
        key = str(place[-1])
        seen, expected = f"unknown key {key!r}", "a key of this section"
        remedy = "it belongs to another section"
        if key not in known_keys:
            remedy = suggest_name(key, list(known_keys))
    elif detail["type"] == "literal_error":
        remedy = suggest_name(
            str(detail["input"]), re.findall("'(.*?)'", detail["ctx"]["expected"])
        )
    return Problem(place=place, seen=seen, expected=expected, remedy=remedy)
