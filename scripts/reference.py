"""Writes pages from docstrings: docs/reference.md, the public names, and docs/policies.md."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import streamgauge
from streamgauge.planning.sharing.policy import load_policy, policy_names

PAGE = Path(__file__).parents[1] / "docs" / "reference.md"
INTRODUCTION = """\
# Reference: the Python package

`import streamgauge as sg` offers these names, and only these are public. Importing is cheap: a
name's module is loaded when the name is first used. Wherever a job or a profile is asked for, a
path or an object will do. Errors are those of [the errors page](errors.md):
`sg.predict("nothing.json")` raises what `streamgauge predict` prints.

Made from the docstrings by `make reference`; a test compares the two.
"""
POLICIES = PAGE.with_name("policies.md")
POLICIES_INTRODUCTION = """\
# Policies and their settings

`streamgauge replay` compares these on [jobs that share a cluster](replay.md). A setting stands
after the name: `--policies henge,hpa:target=0.5,hpa:target=0.9` compares one policy under two
settings.

Made from the docstrings by `make reference`; a test compares the two.
"""
LINE, INDENT = 80, 4
ITEM = re.compile(r"^( +)(\w+): ")


def render_reference() -> str:
    """The page."""
    functions, types, errors = [], [], []
    for name in sorted(streamgauge.__all__):
        value = getattr(streamgauge, name)
        if isinstance(value, type) and issubclass(value, Exception):
            errors.append((name, value))
        elif isinstance(value, type):
            types.append((name, value))
        elif callable(value):
            functions.append((name, value))
    lines = [INTRODUCTION]
    for heading, entries in (("Functions", functions), ("Types", types), ("Errors", errors)):
        if entries:
            lines.append(f"## {heading}\n")
            for name, value in entries:
                lines += _render_entry(name, value)
    return "\n".join(lines).rstrip() + "\n"


def _render_entry(name: str, value: Any) -> Iterator[str]:
    yield f"### `{name}`\n"
    if not isinstance(value, type):
        yield f"```text\nsg.{name}{_signature(value)}\n```\n"
    yield from _render_docstring(inspect.getdoc(value) or "")
    if isinstance(value, type) and not issubclass(value, Exception):
        for method_name, method in _public_methods(value):
            summary = (inspect.getdoc(method) or "").partition("\n")[0]
            shown = method_name if isinstance(method, property) else f"{method_name}()"
            yield f"* `{shown}`: {summary}"
        yield ""


def _signature(function: Any) -> str:
    """The signature, one argument in each line where it is long."""
    signature = inspect.signature(function)
    parts = []
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        parts.append(_parameter(parameter))
    text = f"({', '.join(parts)}) -> {signature.return_annotation}"
    if len(text) <= LINE:
        return text
    arguments = "".join(f"    {part},\n" for part in parts)
    return f"(\n{arguments}) -> {signature.return_annotation}"


def _parameter(parameter: inspect.Parameter) -> str:
    text = f"{parameter.name}: {parameter.annotation}"
    default = parameter.default
    if default is parameter.empty:
        return text
    shown = default.__name__ if inspect.isfunction(default) else repr(default)
    return f"{text} = {shown}"


def _render_docstring(text: str) -> Iterator[str]:
    """A Google-style docstring as Markdown: sections become lists."""
    for line in text.splitlines():
        if line in ("Args:", "Attributes:", "Raises:", "Returns:"):
            yield f"**{line[:-1].replace('Args', 'Arguments')}**\n"
        else:
            yield ITEM.sub(r"* `\2`: ", line) if ITEM.match(line) else line.strip()
    yield ""


def _public_methods(kind: type) -> Iterator[tuple[str, Any]]:
    for name, value in inspect.getmembers(kind):
        if name.startswith("_") or not (inspect.isfunction(value) or isinstance(value, property)):
            continue
        if inspect.getdoc(value):
            yield name, value


def render_policies() -> str:
    """The page of policies and their settings."""
    lines = [POLICIES_INTRODUCTION]
    for name in policy_names():
        policy = load_policy(name)
        lines.append(f"## `{name}`\n")
        lines.append(
            f"{policy.describe().capitalize()}. A round every {policy.period_seconds:g} s.\n"
        )
        settings = getattr(policy, "settings", None)
        if settings is None:
            lines.append("No settings.\n")
            continue
        lines += ["| setting | default | what it is |", "|---|---|---|"]
        meanings = _read_attributes(inspect.getdoc(settings) or "")
        for one in fields(settings):
            default = (
                f"{one.default:g}" if one.type in ("int", "float") else str(one.default).lower()
            )
            lines.append(f"| `{one.name}` | {default} | {meanings[one.name]} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _read_attributes(text: str) -> dict[str, str]:
    """What a docstring says of each attribute, in one line."""
    found: dict[str, str] = {}
    name = ""
    for line in text.partition("Attributes:\n")[2].splitlines():
        start = ITEM.match(line)
        if start is not None and len(start[1]) == INDENT:
            name = start[2]
            found[name] = line[start.end() :].strip()
        elif name:
            found[name] += f" {line.strip()}"
    return found


if __name__ == "__main__":
    for path, text in ((PAGE, render_reference()), (POLICIES, render_policies())):
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}", file=sys.stderr)
