"""Taking values out of a parsed document, each with its place and its problems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from streamgauge.errors import Findings, Place, did_you_mean, guess
from streamgauge.topology.validation import shown


class Section:
    """A part of a document that must be a mapping; remembers which keys were asked for.

    A key that is missing or wrong is recorded, and something harmless is given in its place, so
    that one reading finds every problem.
    """

    def __init__(self, data: object, findings: Findings, *place: str | int) -> None:
        self.findings = findings
        self.place: Place = place
        self._data: Mapping[str, Any] = data if isinstance(data, dict) else {}
        self._asked: list[str] = []
        if not isinstance(data, dict):
            self.problem(seen=shown(data), expected="a mapping")
            self._whole = False
        else:
            self._whole = True

    def problem(self, *keys: str | int, seen: str, expected: str, remedy: str = "") -> None:
        """Record a problem of this section or of a place in it."""
        self.findings.add(*self.place, *keys, seen=seen, expected=expected, remedy=remedy)

    def __contains__(self, key: str) -> bool:
        return self._data.get(key) is not None

    def take(self, key: str, expected: str = "") -> Any:
        """The value of a key as it stands; a problem where it is missing and `expected`."""
        self._asked.append(key)
        value = self._data.get(key)
        if value is None and expected and self._whole:
            self.problem(key, seen="nothing", expected=expected)
        return value

    def text(self, key: str, expected: str = "") -> str:
        """A text that is not empty; an empty one where there is none."""
        value = self.take(key, expected)
        if value is None:
            return ""
        if isinstance(value, str) and value:
            return value
        self.problem(key, seen=shown(value), expected=expected or "a text")
        return ""

    def texts(self, key: str) -> tuple[str, ...] | None:
        """A list of texts, each once; nothing where there is none."""
        value = self.take(key)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            self.problem(key, seen=shown(value), expected="a list of texts")
            return ()
        twice = sorted({one for one in value if value.count(one) > 1})
        if twice:
            self.problem(key, seen=f"{twice[0]!r} twice", expected="each once")
        return tuple(dict.fromkeys(value))

    def flag(self, key: str) -> bool:
        """Yes or no; no where it is missing."""
        value = self.take(key)
        if value is None or isinstance(value, bool):
            return bool(value)
        self.problem(key, seen=shown(value), expected="true or false")
        return False

    def word(self, key: str, known: Sequence[str], default: str = "") -> str:
        """One of the known words; required where there is no default."""
        value = self.take(key, "" if default else f"one of {', '.join(known)}")
        if value in known:
            return str(value)
        if value is not None:
            expected = f"one of {', '.join(known)}"
            remedy = guess(value, known) if isinstance(value, str) else ""
            self.problem(key, seen=shown(value), expected=expected, remedy=remedy)
        return default or known[0]

    def number(self, key: str, default: Decimal, *, most: Decimal | None = None) -> Decimal:
        """A number above zero."""
        value = self.take(key)
        return default if value is None else self.positive(value, key, most=most) or default

    def positive(
        self, value: object, *keys: str | int, most: Decimal | None = None
    ) -> Decimal | None:
        """`value` as an exact number above zero; nothing, and a problem, where it is not."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            # The digits as they were written, not the nearest double's.
            exact = Decimal(repr(value))
            if exact.is_finite() and exact > 0 and (most is None or exact <= most):
                return exact
        bound = "a number above 0" + (f" and at most {most:,}" if most is not None else "")
        self.problem(*keys, seen=shown(value), expected=bound)
        return None

    def section(self, key: str, expected: str = "") -> Section:
        """The mapping under a key; an empty one where there is none."""
        value = self.take(key, expected)
        inner = Section({} if value is None else value, self.findings, *self.place, key)
        inner._whole = inner._whole and value is not None
        return inner

    def sections(self, key: str, expected: str) -> list[Section]:
        """The mappings in the list under a key; at least one."""
        value = self.take(key, expected)
        if value is None:
            return []
        if not isinstance(value, list) or not value:
            self.problem(key, seen=shown(value), expected=expected)
            return []
        return [
            Section(one, self.findings, *self.place, key, index) for index, one in enumerate(value)
        ]

    def names(self) -> Iterable[str]:
        """All keys there are, for a section whose keys are names."""
        return tuple(self._data)

    def finish(self) -> None:
        """Record every key that nobody asked for."""
        for key in self._data:
            if key not in self._asked:
                known = sorted(set(self._asked))
                remedy = did_you_mean(key, known)
                self.problem(
                    key, seen=f"unknown key {key!r}", expected="a known one", remedy=remedy
                )
