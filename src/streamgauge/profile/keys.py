"""Keys: which values a stream's key takes, and how often each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice, product
from string import ascii_lowercase
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from streamgauge.errors import Findings
from streamgauge.profile.distribution import invert_cumulative
from streamgauge.topology.field_checks import check_number, check_whole
from streamgauge.topology.frozen import freeze

MAX_KEYS = 10_000_000
MAX_LETTERS = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyDistribution(ABC):
    """How often each key occurs; see the subclasses."""

    kind: ClassVar[str] = ""

    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The keys themselves, in the order of `shares`."""

    @abstractmethod
    def shares(self) -> NDArray[np.float64]:
        """Part of the tuples that carry each key; sums to one."""

    def sample(self, generator: np.random.Generator, size: int) -> NDArray[np.intp]:
        """Indices of `size` keys drawn independently."""
        return invert_cumulative(self.shares(), generator.random(size))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Numbered(KeyDistribution):
    """`count` keys named prefix + number, zero-padded to one width (``word007``)."""

    count: int
    prefix: str = "key"

    def __post_init__(self) -> None:
        with Findings() as findings:
            if check_whole(findings, self.count, "count") and self.count > MAX_KEYS:
                findings.add("count", seen=str(self.count), expected=f"at most {MAX_KEYS}")
            self._check_more(findings)

    def _check_more(self, findings: Findings) -> None:
        del findings

    def names(self) -> tuple[str, ...]:
        """prefix0 … prefix(count − 1), padded to equal length."""
        width = len(str(self.count - 1))
        return tuple(f"{self.prefix}{number:0{width}d}" for number in range(self.count))


@dataclass(frozen=True, slots=True, kw_only=True)
class UniformKeys(_Numbered):
    """All keys equally often."""

    kind = "uniform"

    def shares(self) -> NDArray[np.float64]:
        """1/count each."""
        return np.full(self.count, 1.0 / self.count)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZipfKeys(_Numbered):
    """The n-th key in proportion to 1/nˢ."""

    kind = "zipf"
    exponent: float = 1.0

    def _check_more(self, findings: Findings) -> None:
        check_number(findings, self.exponent, "exponent", most=50.0)

    def shares(self) -> NDArray[np.float64]:
        """n⁻ˢ, normalised."""
        raw = np.arange(1, self.count + 1, dtype=np.float64) ** -self.exponent
        return np.asarray(raw / raw.sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterKeys(KeyDistribution):
    """Keys by counting in letters, the last letter fastest: aaa, aab, and so on to aaz, aba.

    Attributes:
        count: How many keys.
        length: Letters in each; there must be as many different keys.
        deviation: In keys: those in the middle are the most frequent, as in a normal distribution
            about ``count / 2``. All are equally frequent when not given.
    """

    kind = "letters"
    count: int
    length: int
    deviation: float | None = None

    def __post_init__(self) -> None:
        findings = Findings()
        whole = check_whole(findings, self.count, "count", most=MAX_KEYS)
        whole = check_whole(findings, self.length, "length", most=MAX_LETTERS) and whole
        if whole and self.count > count_letter_keys(self.length):
            findings.add(
                "count",
                seen=f"{self.count} keys of {self.length} letters",
                expected=f"at most {count_letter_keys(self.length)}",
            )
        elif whole and self.count * self.length > MAX_LETTERS:
            findings.add(
                "length",
                seen=f"{self.count} keys of {self.length} letters",
                expected=f"at most {MAX_LETTERS} letters in total",
            )
        if self.deviation is not None:
            check_number(findings, self.deviation, "deviation", above=0.0)
        findings.raise_if_any()

    def names(self) -> tuple[str, ...]:
        """The first `count` numerals to base 26."""
        counting = min(self.length, _letters_for(self.count))
        padding = ascii_lowercase[0] * (self.length - counting)
        numerals = product(ascii_lowercase, repeat=counting)
        return tuple(padding + "".join(one) for one in islice(numerals, self.count))

    def shares(self) -> NDArray[np.float64]:
        """1/count each, or the normal's part of each key's half-unit interval, normalised."""
        from scipy import special

        if self.deviation is None:
            return np.full(self.count, 1.0 / self.count)
        borders = (np.arange(self.count + 1) - 0.5 - self.count / 2.0) / self.deviation
        raw = np.diff(special.ndtr(borders))
        return np.asarray(raw / raw.sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenKeys(KeyDistribution):
    """Keys by name with their weights."""

    kind = "given"
    weights: Mapping[str, float]

    def __post_init__(self) -> None:
        freeze(self, "weights")
        with Findings() as findings:
            if not self.weights:
                findings.add("weights", seen="no keys", expected="at least one key")
            for name, weight in self.weights.items():
                check_number(findings, weight, "weights", name)
            if not findings and not any(self.weights.values()):
                findings.add("weights", seen="only zeros", expected="at least one above zero")

    def names(self) -> tuple[str, ...]:
        """As given."""
        return tuple(self.weights)

    def shares(self) -> NDArray[np.float64]:
        """Weights over their sum."""
        raw = np.asarray(list(self.weights.values()), dtype=np.float64)
        return np.asarray(raw / raw.sum())


def count_letter_keys(length: int) -> int:
    """How many different keys have `length` letters; not exact above `MAX_KEYS`."""
    most: int = 26 ** min(length, _letters_for(MAX_KEYS) + 1)
    return most


def _letters_for(count: int) -> int:
    """The fewest letters that tell `count` keys apart."""
    letters = 1
    while 26**letters < count:
        letters += 1
    return letters
