"""Every failure Streamgauge reports, with its stable code and exit code.

StreamgaugeError
├── InvalidInput         the input is wrong                      exit 2
│   ├── UnreadableFile   the file is not a readable document     exit 2
│   └── CyclicTopology   the topology must not have a cycle      exit 2
├── MissingExtra         a package is not installed              exit 2
├── Infeasible           valid input that nothing satisfies      exit 3
├── SourceUnreachable    a source or service does not answer     exit 4
├── NotEnoughData        too little was measured to answer       exit 5
├── ChangedMeanwhile     another writer committed first          exit 1
├── JobFailed            Spark could not finish a job            exit 1
└── InternalError        a fault in Streamgauge                  exit 1
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import ClassVar, Self

Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong: where, what was seen, what was expected, what to do."""

    place: Place
    seen: str
    expected: str
    remedy: str = ""
    file: str = ""
    line: int | None = None

    @property
    def path(self) -> str:
        """The place as people write it: ``streams[3].target``."""
        text = ""
        for part in self.place:
            if isinstance(part, int):
                text += f"[{part}]"
            else:
                text += f".{part}" if text else part
        return text

    def __str__(self) -> str:
        where = self.file
        if self.line is not None:
            where += f":{self.line}" if where else f"line {self.line}"
        head = ": ".join(part for part in (where, self.path) if part)
        body = f"{self.seen}; expected {self.expected}"
        if self.remedy:
            body += f" ({self.remedy})"
        return f"{head}: {body}" if head else body

    def to_dict(self) -> dict[str, str | int | None]:
        """A flat record for ``--json`` and the REST service."""
        return {
            "file": self.file or None,
            "line": self.line,
            "path": self.path,
            "seen": self.seen,
            "expected": self.expected,
            "remedy": self.remedy or None,
        }


class StreamgaugeError(Exception):
    """Root of everything Streamgauge raises on purpose."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1


class InvalidInput(StreamgaugeError, ValueError):
    """The input is wrong; carries every problem that was found."""

    code = "invalid-input"
    exit_code = 2

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))

    def __reduce__(self) -> tuple[type[InvalidInput], tuple[tuple[Problem, ...]]]:
        # Exceptions are rebuilt from `args`, which holds the text here, not the problems.
        return type(self), (self.problems,)

    @classmethod
    def single(
        cls, place: Place, *, seen: str, expected: str, remedy: str = "", file: str = ""
    ) -> InvalidInput:
        """The error for exactly one problem."""
        return cls([Problem(place=place, seen=seen, expected=expected, remedy=remedy, file=file)])

    def below(self, *prefix: str | int) -> InvalidInput:
        """The same error with `prefix` in front of every place."""
        return type(self)(
            replace(problem, place=(*prefix, *problem.place)) for problem in self.problems
        )


class UnreadableFile(InvalidInput):
    """A file that is missing, too large, or not a document at all."""

    code = "unreadable-file"


class CyclicTopology(InvalidInput):
    """The topology has a cycle, and the question can only be answered without one."""

    code = "cyclic-topology"


class MissingExtra(StreamgaugeError):
    """A package that this feature needs is not installed."""

    code = "missing-extra"
    exit_code = 2

    def __init__(self, package: str, extra: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(
            f"the package {package!r} is not installed; expected the extra {extra!r}"
            f" (pip install 'streamgauge[{extra}]')"
        )

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str]]:
        return type(self), (self.package, self.extra)


class Infeasible(StreamgaugeError):
    """The input is valid, and nothing satisfies it."""

    code = "infeasible"
    exit_code = 3


class SourceUnreachable(StreamgaugeError):
    """A metrics source, cluster or service does not answer."""

    code = "source-unreachable"
    exit_code = 4


class NotEnoughData(StreamgaugeError):
    """Too little was measured to give a useful answer."""

    code = "not-enough-data"
    exit_code = 5


class ChangedMeanwhile(StreamgaugeError):
    """Another writer committed to the same table first."""

    code = "changed-meanwhile"


class JobFailed(StreamgaugeError):
    """Spark could not finish a job: disk full, no executor, an unreadable file."""

    code = "job-failed"


class InternalError(StreamgaugeError):
    """Something that can only be a fault of Streamgauge itself."""

    code = "internal"


class Findings:
    """Collects problems so that the user sees all of them at once, not only the first.

    As a context it raises what was found inside the block at its end.
    """

    def __init__(self) -> None:
        self._problems: list[Problem] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.raise_if_any()

    def add(self, *place: str | int, seen: str, expected: str, remedy: str = "") -> None:
        """Record one problem at `place`."""
        self._problems.append(Problem(place=place, seen=seen, expected=expected, remedy=remedy))

    def absorb(self, error: InvalidInput, *prefix: str | int) -> None:
        """Add the problems of a part, each place prefixed with `prefix`."""
        self._problems.extend(error.below(*prefix).problems)

    @contextmanager
    def at(self, *prefix: str | int) -> Iterator[None]:
        """Add the problems raised inside the block, each place prefixed with `prefix`."""
        try:
            yield
        except InvalidInput as error:
            self.absorb(error, *prefix)

    def __bool__(self) -> bool:
        return bool(self._problems)

    def raise_if_any(self) -> None:
        """Raise InvalidInput when something was found."""
        if self._problems:
            raise InvalidInput(self._problems)


@contextmanager
def in_file(file: str) -> Iterator[None]:
    """Add the file's name to problems that are found only after reading it."""
    try:
        yield
    except InvalidInput as error:
        problems = [p if p.file else replace(p, file=file) for p in error.problems]
        raise type(error)(problems) from None


def suggest_name(name: str, known: Sequence[str]) -> str:
    """A remedy that suggests the most similar known name; empty where none is similar."""
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else ""


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """A remedy that suggests the most similar known name, else lists the known names."""
    suggestion = suggest_name(name, known)
    if suggestion:
        return suggestion
    listed = ", ".join(known[:8]) + (", …" if len(known) > len(known[:8]) else "")
    return f"known: {listed}" if known else ""
