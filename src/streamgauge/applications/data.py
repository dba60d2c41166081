"""Data: the values that synthetic sources emit."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from streamgauge.errors import Findings
from streamgauge.profile.keys import MAX_KEYS, MAX_LETTERS, LetterKeys, count_letter_keys
from streamgauge.topology.field_checks import check_whole

# NAMB's own generator draws values by number from a normal distribution a fifth of them wide.
NONUNIFORM_DEVIATION = 1.0 / 5.0


class DataDistribution(StrEnum):
    """How often each value occurs."""

    UNIFORM = "uniform"
    NONUNIFORM = "nonuniform"


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """Texts of one size from a set of different ones, numbered by counting in letters.

    Attributes:
        size: Bytes, which are letters, of a value.
        values: How many different values there are.
        distribution: Whether all are equally frequent, or those in the middle more than others.
    """

    size: int = 8
    values: int = 100
    distribution: DataDistribution = DataDistribution.UNIFORM

    def __post_init__(self) -> None:
        object.__setattr__(self, "distribution", DataDistribution(self.distribution))
        findings = Findings()
        fine = check_whole(findings, self.size, "size", most=MAX_LETTERS)
        fine = check_whole(findings, self.values, "values", most=MAX_KEYS) and fine
        if fine and self.values > count_letter_keys(self.size):
            most = count_letter_keys(self.size)
            findings.add(
                "values",
                seen=f"{self.values} values of size {self.size}",
                expected=f"at most 26^{self.size} = {most}, as values are made of letters",
                remedy="use a larger size, or fewer values",
            )
        elif fine and self.values * self.size > MAX_LETTERS:
            findings.add(
                "values",
                seen=f"{self.values} values of size {self.size}",
                expected=f"at most {MAX_LETTERS} bytes in total",
            )
        findings.raise_if_any()

    @property
    def keys(self) -> LetterKeys:
        """The values as keys, with how often each occurs."""
        even = self.distribution is DataDistribution.UNIFORM
        deviation = None if even else self.values * NONUNIFORM_DEVIATION
        return LetterKeys(count=self.values, length=self.size, deviation=deviation)
