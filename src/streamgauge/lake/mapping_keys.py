"""Reading how the keys of a sample are given: fixed for all rows, or read off each."""

from __future__ import annotations

import re
from string import Formatter

from streamgauge.errors import did_you_mean
from streamgauge.lake.definition import QUEUES, Level
from streamgauge.lake.mapping import MAPPED_KEYS, Reading
from streamgauge.lake.mapping_sections import Section
from streamgauge.lake.metrics import Metric
from streamgauge.lake.shapes import SHAPES, keys_of
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.validation import shown

KeyRule = str | int | Reading
Keys = dict[str, KeyRule]

_SAMPLE_CHECKS = SHAPES["sample"].checks


def read_keys(section: Section) -> Keys:
    """What `set` and `columns` of a section say; it wins over what stands further out."""
    fixed, read = section.section("set"), section.section("columns")
    found: Keys = {}
    for inner, value_of in ((fixed, _fixed), (read, _reading)):
        for key in inner.names():
            if key not in MAPPED_KEYS:
                inner.take(key)
                inner.problem(
                    key,
                    seen=f"unknown key {key!r}",
                    expected="a key that a sample may have",
                    remedy=did_you_mean(key, MAPPED_KEYS),
                )
            elif key in found:
                inner.problem(key, seen=f"{key} under set, too", expected="one of them")
            else:
                found[key] = value_of(inner, key)
    return found


def _fixed(section: Section, key: str) -> str | int:
    value: str | int = section.take(key)
    fault = _SAMPLE_CHECKS[key](key, value)
    if fault is not None:
        section.problem(key, seen=shown(value), expected=fault.detail.partition("expected ")[2])
    return value


def _reading(section: Section, key: str) -> Reading:
    value = section.take(key)
    if isinstance(value, str) and value:
        return Reading(parts=(("", value),))
    if not isinstance(value, dict):
        expected = "a column, or column or template with match and words"
        section.problem(key, seen=shown(value), expected=expected)
        return Reading(parts=())
    inner = section.section(key)
    template = inner.text("template")
    column = inner.text("column", "" if template else "a column")
    if template and column:
        inner.problem(seen="column and template", expected="one of them")
    match = inner.text("match")
    if match:
        check_pattern(inner, "match", match, groups=1)
    words = texts_by_name(inner.section("words"))
    inner.finish()
    parts = _template(inner, template) if template else (("", column),)
    return Reading(parts=parts, match=match or None, words=words)


def _template(section: Section, template: str) -> tuple[tuple[str, str | None], ...]:
    try:
        parsed = list(Formatter().parse(template))
    except ValueError as error:
        section.problem("template", seen=f"{shown(template)}: {error}", expected="{column} in text")
        return ()
    if any(spec or conversion or name == "" for _, name, spec, conversion in parsed):
        section.problem("template", seen=shown(template), expected="names of columns in braces")
    if all(name is None for _, name, _, _ in parsed):
        section.problem("template", seen=shown(template), expected="at least one {column}")
    return tuple((text, name) for text, name, _, _ in parsed)


def check_pattern(section: Section, key: str, pattern: str, *, groups: int | None) -> None:
    """Record a problem where `pattern` is none, or has not exactly so many groups."""
    try:
        found = re.compile(pattern).groups
    except re.error as error:
        section.problem(key, seen=f"{shown(pattern)}: {error}", expected="a regular expression")
        return
    if groups is not None and found != groups:
        section.problem(key, seen=f"{found} groups", expected=f"exactly {groups} in brackets")


def texts_by_name(section: Section) -> FrozenDict[str, str]:
    """All of a section, whose values must be texts."""
    return FrozenDict({name: section.text(name, "a text") for name in section.names()})


def fitting_keys(section: Section, metric: Metric, keys: Keys) -> FrozenDict[str, KeyRule]:
    """Those of the keys that samples of `metric` can have; a problem where one is lacking."""
    queue = keys.get("queue")
    if metric.level is Level.QUEUE and isinstance(queue, Reading):
        # Which queue it is shows only in the row.
        choices = [keys_of(metric, one) for one in QUEUES.values()]
    else:
        choices = [keys_of(metric, QUEUES.get(queue) if isinstance(queue, str) else None)]
    required = frozenset.intersection(*(needed for needed, _ in choices))
    allowed = frozenset.union(*(fit for _, fit in choices))
    missing = sorted((required & frozenset(MAPPED_KEYS)) - keys.keys())
    if missing:
        section.problem(
            seen=f"no {', '.join(missing)}",
            expected=f"all keys that {metric} needs",
            remedy="give them under columns or set",
        )
    return FrozenDict({key: value for key, value in keys.items() if key in allowed})
