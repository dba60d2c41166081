"""Reading a YAML or JSON document safely, and finding the line of a place in it.

YAML is read by the core schema of YAML 1.2 (``no`` is a text, ``1e3`` a number), mapping keys
are always texts, and keys may not repeat. Size, depth and what aliases expand to are bounded
before anything is built.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import yaml

from streamgauge.errors import InvalidInput, Place, Problem, UnreadableFile
from streamgauge.overwrite_guard import check_not_input, remember_input

MAX_BYTES = 10_000_000
MAX_NODES = 1_000_000
MAX_DEPTH = 64
STANDARD_INPUT = "-"

_BaseLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_JSON = re.compile(r"\s*\{\s*[\"}]")
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)$")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$")


class _Loader(_BaseLoader):  # type: ignore[misc]  # the C loader has no type information
    """YAML 1.2's core schema, texts as keys, no key twice."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[str, Any]:
        """A dictionary whose keys are the texts as written."""
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(
                    None, None, "a key that is not text", key_node.start_mark
                )
            if key_node.value in result:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key_node.value!r} twice", key_node.start_mark
                )
            result[key_node.value] = self.construct_object(value_node, deep=True)
        return result


_BOOL = re.compile(r"(?:true|True|TRUE|false|False|FALSE)$")
_NULL = re.compile(r"(?:null|Null|NULL|~|)$")
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", _BOOL, list("tTfF"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", _NULL, ["n", "N", "~", ""])
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", _INT, "-+0123456789")
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, "-+.0123456789")
_Loader.add_constructor(
    "tag:yaml.org,2002:map", lambda loader, node: loader.construct_mapping(node)
)
_Loader.add_constructor(
    "tag:yaml.org,2002:float", lambda loader, node: float(loader.construct_scalar(node))
)


class _Dumper(yaml.SafeDumper):
    """Quotes every text that some YAML reader, old or new, would take for something else."""

    def ignore_aliases(self, data: object) -> bool:
        """Write repeated values out: anchors help no person."""
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # These break lines in YAML, and only double quotes keep them as they are.
    style = '"' if re.search("[\x85\u2028\u2029]", text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


# numpy's numbers are floats too, and would write their type's name.
_Dumper.add_multi_representer(float, lambda dumper, value: dumper.represent_float(float(value)))
_Dumper.add_representer(str, _represent_text)
_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+.0123456789"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A parsed document with its text, so that problems can be given a line."""

    name: str
    text: str
    data: dict[str, Any]
    folder: Path | None = None

    def locate(self, place: Place) -> int | None:
        """The line of the deepest part of `place` that the document has."""
        return _line_of(self._nodes(), place)

    def locate_error(self, error: InvalidInput) -> InvalidInput:
        """The same error with this document's name and lines; other files' problems have theirs."""
        nodes = self._nodes()
        located = type(error)(
            problem
            if problem.file
            else replace(problem, file=self.name, line=_line_of(nodes, problem.place))
            for problem in error.problems
        )
        for note in getattr(error, "__notes__", ()):
            located.add_note(note)
        return located

    def _nodes(self) -> yaml.Node | None:
        try:
            nodes: yaml.Node | None = yaml.compose(self.text, Loader=_Loader)
        except (yaml.YAMLError, ValueError):
            # JSON that is not YAML (tabs, unpaired surrogates): problems then have no line.
            return None
        return nodes


def read_document(path: str | Path) -> Document:
    """The document in a file, or on standard input for ``-``.

    Raises:
        UnreadableFile: Missing, over 10 MB, not text, not YAML or JSON, not a mapping, or one
            whose aliases or nesting exceed the limits.
    """
    if str(path) == STANDARD_INPUT:
        return parse_document(_read_bounded(sys.stdin.buffer, "standard input"), "standard input")
    return read_file(Path(path))


def read_file(file: Path) -> Document:
    """The document in a file, whatever its name."""
    name = str(file)
    try:
        if file.is_dir():
            raise _unreadable(name, "a folder", "a YAML or JSON file", "name a file inside it")
        with file.open("rb") as stream:
            remember_input(file)
            raw = _read_bounded(stream, name)
    except FileNotFoundError:
        raise _unreadable(name, "no such file", "a file that exists", "check the path") from None
    except (OSError, ValueError) as error:
        if isinstance(error, UnreadableFile):
            raise
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise _unreadable(name, reason.lower(), "a file that can be read") from None
    return parse_document(raw, name, folder=file.parent)


def parse_document(raw: bytes | str, name: str = "", folder: Path | None = None) -> Document:
    """The document that a text holds: JSON when it begins with a brace, else YAML."""
    text = raw if isinstance(raw, str) else _decode(raw, name)
    if len(text) > MAX_BYTES:
        raise _too_large(name)
    data = _parse(text, name)
    if not isinstance(data, dict):
        raise _unreadable(
            name,
            f"a document that is {_describe(data)}",
            "a mapping of sections such as topology and configuration",
        )
    return Document(name=name, text=text, data=data, folder=folder)


def _parse(text: str, name: str) -> object:
    """JSON where the name or a brace and a quote say so, else YAML."""
    if name.endswith(".json") or _JSON.match(text):
        return _parse_json(text, name)
    return _parse_yaml(text, name)


def dump_yaml(data: object) -> str:
    """`data` as YAML that reads back to the same."""
    text = _dump(data, inner_braces=True)
    # A document that is all in braces could be taken for JSON.
    return _dump(data, inner_braces=False) if text.startswith("{") else text


def _dump(data: object, *, inner_braces: bool) -> str:
    return yaml.dump(
        data,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=None if inner_braces else False,
        width=100,
    )


def dump_json(data: object) -> str:
    """`data` as JSON that reads back to the same."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def check_writable(path: Path) -> None:
    """Refuse a file that could not be written, before anything is computed for it.

    Raises:
        UnreadableFile: Its folder is missing or may not be written to, or it is a folder itself.
    """
    if str(path) == STANDARD_INPUT:
        return
    reason = 0
    if path.is_dir():
        reason = errno.EISDIR
    elif not path.parent.is_dir():
        reason = errno.ENOENT
    elif not os.access(path if path.exists() else path.parent, os.W_OK):
        reason = errno.EACCES
    if reason:
        raise _unreadable(str(path), os.strerror(reason).lower(), "a file that can be written")


def make_folder(folder: Path) -> None:
    """Create a folder to write into, or say why not.

    Raises:
        UnreadableFile: It cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise _unreadable(str(folder), reason, "a folder that can be made") from None


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all: a full disk or a kill leaves what was there.

    Raises:
        InvalidInput: It is an input of the same command.
        UnreadableFile: It cannot be written.
    """
    check_not_input(path)
    try:
        data = content.encode("utf-8") if isinstance(content, str) else content
        if path.is_dir() or not path.name:
            raise IsADirectoryError(errno.EISDIR, "a folder")
        if path.exists() and not path.is_file():
            # A device or pipe is written into; a rename would put a file in its place.
            path.write_bytes(data)
            return
        # Through a link, what it points to is replaced, not the link.
        path = path.resolve()
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            temporary.write_bytes(data)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise _unreadable(str(path), reason.lower(), "a file that can be written") from None


def _read_bounded(stream: IO[bytes], name: str) -> bytes:
    raw = stream.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise _too_large(name)
    return raw


def _decode(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise _unreadable(
            name, "bytes that are not UTF-8 text", "YAML or JSON in UTF-8", line=line
        ) from None


def _parse_json(text: str, name: str) -> object:
    try:
        data = json.loads(text, object_pairs_hook=_unique_pairs, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise _unreadable(
            name, f"invalid JSON: {error.msg.lower()}", "a JSON document", line=error.lineno
        ) from None
    except _BadJson as error:
        raise _unreadable(name, str(error), "a JSON document with each key once") from None
    except RecursionError:
        raise _too_deep(name) from None
    except ValueError as error:
        raise _unreadable(name, f"a value that cannot be read: {error}", "plain values") from None
    # Plain letters without escapes hold no half of a pair.
    _check_values(data, name, texts=not text.isascii() or "\\u" in text)
    return data


def _check_values(data: object, name: str, *, texts: bool) -> None:
    """Nesting as for YAML; and of `texts`, where wanted, that they can be written again."""
    pending = [(data, 1)]
    while pending:
        value, depth = pending.pop()
        if isinstance(value, str):
            try:
                value.encode("utf-8")
            except UnicodeEncodeError:
                raise _unreadable(name, "an unpaired surrogate", "text in UTF-8") from None
            continue
        if depth > MAX_DEPTH:
            raise _too_deep(name)
        inner: Iterable[object] = ()
        if isinstance(value, dict):
            inner = value.values()
            if texts:
                pending += [(key, depth) for key in value]
        elif isinstance(value, list):
            inner = value
        kinds = (dict, list, str) if texts else (dict, list)
        pending += [(child, depth + 1) for child in inner if isinstance(child, kinds)]


class _BadJson(ValueError):
    """JSON that the parser takes and we do not."""


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for index, key in enumerate(names) if key in names[:index])
        raise _BadJson(f"the key {twice!r} twice")
    return result


def _refuse_constant(constant: str) -> float:
    raise _BadJson(f"the number {constant}")


def _parse_yaml(text: str, name: str) -> object:
    try:
        _check_expansion(text, name)
        return yaml.load(text, Loader=_Loader)
    except UnreadableFile:
        raise
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else None
        seen = getattr(error, "problem", None) or str(error)
        if isinstance(error, yaml.constructor.ConstructorError):
            expected = "a mapping whose keys are text, each used once"
            raise _unreadable(name, seen, expected, "rename or remove one", line) from None
        raise _unreadable(name, f"invalid YAML: {seen}", "a YAML document", line=line) from None
    except ValueError as error:
        # Numbers of thousands of digits, dates that do not exist: YAML's own message.
        raise _unreadable(name, f"a value that cannot be read: {error}", "plain values") from None


def _check_expansion(text: str, name: str) -> None:
    """Refuse nesting and aliases that would grow without bound, by events alone."""
    sizes: dict[str, int] = {}
    open_nodes: list[tuple[str | None, int]] = []
    total = 0
    for event in yaml.parse(text, Loader=_Loader):
        if getattr(event, "tag", None) not in (None, "!", "tag:yaml.org,2002:str"):
            raise _unreadable(
                name, f"the tag {event.tag}", "plain values", "leave the tag out", _line(event)
            )
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in sizes:
                raise _unreadable(
                    name,
                    f"alias *{event.anchor} before the end of its anchor",
                    "aliases only of values that are complete before the alias",
                    line=_line(event),
                )
            total += sizes[event.anchor]
        elif isinstance(event, yaml.CollectionStartEvent):
            open_nodes.append((event.anchor, total))
            total += 1
            if len(open_nodes) > MAX_DEPTH:
                raise _too_deep(name, _line(event))
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_nodes.pop()
            if anchor is not None:
                sizes[anchor] = total - before
        elif isinstance(event, yaml.ScalarEvent):
            total += 1
            if event.anchor is not None:
                sizes[event.anchor] = 1
        if total > MAX_NODES:
            raise _unreadable(
                name,
                f"aliases or lists that expand to more than {MAX_NODES:,} values",
                f"at most {MAX_NODES:,} values",
                "use fewer values",
                line=_line(event),
            )


def _line_of(node: yaml.Node | None, place: Place) -> int | None:
    line: int | None = None
    for part in place:
        child = _child(node, part)
        if child is None:
            break
        line, node = child
    return line


def _line(event: yaml.Event) -> int | None:
    return None if event.start_mark is None else event.start_mark.line + 1


def _child(node: yaml.Node | None, part: str | int) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(part):
                return key.start_mark.line + 1, value
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part].start_mark.line + 1, node.value[part]
    return None


def _describe(data: object) -> str:
    if data is None:
        return "empty"
    if isinstance(data, list):
        return "a list"
    return "text" if isinstance(data, str) else f"a {type(data).__name__}"


def _too_large(name: str) -> UnreadableFile:
    return _unreadable(
        name,
        "a file over 10 MB",
        "a description of at most 10 MB",
        "use streamgauge ingest for metrics",
    )


def _too_deep(name: str, line: int | None = None) -> UnreadableFile:
    return _unreadable(name, "nesting too deep", f"at most {MAX_DEPTH} levels", line=line)


def _unreadable(
    name: str, seen: str, expected: str, remedy: str = "", line: int | None = None
) -> UnreadableFile:
    return UnreadableFile(
        [Problem(place=(), seen=seen, expected=expected, remedy=remedy, file=name, line=line)]
    )


WIDTH = 100
INDENT = 2
# A mapping of so few plain values is one line, however long: a figure with all its digits.
FEW = 6
_PLAIN = frozenset({int, float, str, bool, type(None)})

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def lay_out_json(data: dict[str, Any]) -> str:
    """`data` as JSON that reads back to the same, with the keys in the order they have."""
    return _lay_out(data, "", 0) + "\n"


def _lay_out(value: Any, before: str, depth: int) -> str:
    """The value behind `before`, on one line where that is short enough.

    What does not fit a line of its own does not fit that of what holds it, so every value is laid
    out once, the inner ones first.
    """
    if isinstance(value, dict):
        if len(value) <= FEW and _PLAIN.issuperset(map(type, value.values())):
            return before + _few_form(tuple(value)) % tuple(map(_plain, value.values()))
        opening, closing = "{}"
        parts = [_lay_out(one, f"{_text(name)}: ", depth + 1) for name, one in value.items()]
        flat = _is_flat(value.values())
    elif isinstance(value, list):
        opening, closing = "[]"
        parts = [_lay_out(one, "", depth + 1) for one in value]
        flat = _is_flat(value)
    else:
        return before + _plain(value)
    # Between two parts is a comma and a space; the comma behind the last needs room too.
    length = depth * INDENT + len(before) + sum(map(len, parts)) + 2 * max(len(parts), 1)
    if length < WIDTH or (isinstance(value, dict) and flat and len(parts) <= FEW):
        return f"{before}{opening}{', '.join(parts)}{closing}"
    lines = _fill_lines(parts, depth + 1) if flat and isinstance(value, list) else parts
    margin = " " * (INDENT * (depth + 1))
    body = f",\n{margin}".join(lines)
    return f"{before}{opening}\n{margin}{body}\n{' ' * (INDENT * depth)}{closing}"


@lru_cache(maxsize=1000)
def _few_form(names: tuple[str, ...]) -> str:
    """What a few values of these names are put into: figures, most of a profile, are alike."""
    parts = (_text(name).replace("%", "%%") + ": %s" for name in names)
    return f"{{{', '.join(parts)}}}"


def _fill_lines(parts: list[str], depth: int) -> list[str]:
    """Lines of as many parts as each takes."""
    lines: list[str] = []
    for part in parts:
        if lines and depth * INDENT + len(lines[-1]) + len(part) + 3 < WIDTH:
            lines[-1] += f", {part}"
        else:
            lines.append(part)
    return lines


def _plain(value: Any) -> str:
    """A number, text or nothing; numbers are most of a profile, so they take the short way."""
    kind = type(value)
    if kind is int or (kind is float and math.isfinite(value)):
        return repr(value)
    return _text(value) if kind is str else _ENCODER.encode(value)


@lru_cache(maxsize=10_000)
def _text(value: str) -> str:
    return _ENCODER.encode(value)


def _is_flat(values: Iterable[Any]) -> bool:
    return not any(isinstance(one, dict | list) for one in values)
