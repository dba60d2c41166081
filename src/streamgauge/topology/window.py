"""Windows: how many tuples, or how long, an operator gathers before it acts."""

from __future__ import annotations

from dataclasses import dataclass

from streamgauge.errors import Findings
from streamgauge.topology.field_checks import check_number, check_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A window by count or by time, tumbling or sliding; length and slide may differ in kind.

    Give length and slide each in tuples or in seconds. Without a slide the window tumbles: the
    slide equals the length. Every task has its own windows.

    Attributes:
        length_tuples: Tuples in a window, or None where the length is a time.
        length_seconds: Seconds in a window, or None where the length is a count.
        slide_tuples: Tuples between triggers, or None where the slide is a time.
        slide_seconds: Seconds between triggers, or None where the slide is a count.
        event_time: Whether time is the tuples' own (needs watermarks) or the wall clock.
    """

    length_tuples: int | None = None
    length_seconds: float | None = None
    slide_tuples: int | None = None
    slide_seconds: float | None = None
    event_time: bool = False

    def __post_init__(self) -> None:
        findings = Findings()
        self._check_extent(findings, "length", self.length_tuples, self.length_seconds)
        if self.slide_tuples is None and self.slide_seconds is None:
            object.__setattr__(self, "slide_tuples", self.length_tuples)
            object.__setattr__(self, "slide_seconds", self.length_seconds)
        else:
            self._check_extent(findings, "slide", self.slide_tuples, self.slide_seconds)
        findings.raise_if_any()

    @staticmethod
    def _check_extent(
        findings: Findings, what: str, tuples: int | None, seconds: float | None
    ) -> None:
        if (tuples is None) == (seconds is None):
            findings.add(
                f"{what}_tuples",
                seen="neither tuples nor seconds" if tuples is None else "both tuples and seconds",
                expected=f"either {what}_tuples or {what}_seconds",
            )
        elif tuples is not None:
            check_whole(findings, tuples, f"{what}_tuples")
        else:
            check_number(findings, seconds, f"{what}_seconds", above=0.0)

    @property
    def is_tumbling(self) -> bool:
        """Whether every tuple is in exactly one window."""
        return (self.length_tuples, self.length_seconds) == (self.slide_tuples, self.slide_seconds)

    def describe(self) -> str:
        """In words: ``10 tuples`` or ``10 s every 5 s``."""
        length = _extent(self.length_tuples, self.length_seconds)
        if self.is_tumbling:
            return length
        return f"{length} every {_extent(self.slide_tuples, self.slide_seconds)}"


def _extent(tuples: int | None, seconds: float | None) -> str:
    return f"{tuples} tuples" if tuples is not None else f"{seconds:g} s"
