"""Objectives: what a plan is to reach, as people write it, and how far a prediction is from it.

``p99<50ms``, ``mean<=2s``, ``complete p95<1s`` and ``due p99<80ms`` are about latency,
``rate>=5000`` (tuples per second of all sources together) and ``share>=95%`` (of what sources are
to emit) about throughput. Several are written with commas between them, and all of them are meant.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from streamgauge.errors import Findings
from streamgauge.models.end_to_end_latency import PROBABILITIES, Latency
from streamgauge.models.intervals import Key
from streamgauge.models.prediction import Prediction
from streamgauge.topology.workload import MOST_PER_SECOND

OPTION = "--objective"
MEAN = "mean"
FIGURES = (MEAN, *(f"p{100 * level:g}" for level in PROBABILITIES))
EXPECTED = (
    "p99<50ms, mean<2s, 'complete p95<1s', 'due p99<80ms', rate>=5000 or share>=95%, several with"
    " commas between them"
)
# Longer is no objective but a slip.
MOST_SECONDS = 366 * 86_400.0

_UNITS = {"us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_GOAL = re.compile(
    r"(?:(?P<scope>[a-z]+)[ .:-])?\s*(?P<figure>[a-z]+[0-9.]*)\s*(?P<sign><=|>=|<|>|≤|≥)\s*"
    r"(?P<number>[0-9][0-9_]*\.?[0-9]*(?:e[+-]?[0-9]+)?|\.[0-9]+)\s*(?P<unit>[a-zµμ%/]*)"
)
_AT_MOST, _AT_LEAST = ("<", "<=", "≤"), (">", ">=", "≥")


class Scope(StrEnum):
    """From when to when a latency is.

    EMISSION: From emission to the end of service at a sink.
    DUE: The same, from when a tuple was due.
    COMPLETE: Of whole tuple trees, as the engine reports it.
    """

    EMISSION = "emission"
    DUE = "due"
    COMPLETE = "complete"

    @property
    def name_in_reports(self) -> str:
        """What figures of this latency are called in intervals and long tables."""
        return _REPORTED[self]

    def of(self, prediction: Prediction) -> Latency | None:
        """This latency of a prediction; None where the model does not say, or nothing is acked."""
        if self is Scope.EMISSION:
            return prediction.latency
        return prediction.since_due if self is Scope.DUE else prediction.complete


_REPORTED = {
    Scope.EMISSION: "source to sink",
    Scope.DUE: "since due",
    Scope.COMPLETE: "complete (engine)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyGoal:
    """A latency that is not to be exceeded.

    Attributes:
        figure: ``mean`` or a percentile, such as ``p99``.
        most_seconds: What it is to be at most.
    """

    figure: str
    most_seconds: float
    scope: Scope = Scope.EMISSION

    def __str__(self) -> str:
        shown = f"{self.figure}<{_show_seconds(self.most_seconds)}"
        return shown if self.scope is Scope.EMISSION else f"{self.scope} {shown}"

    @property
    def key(self) -> Key:
        """What its interval is found by."""
        return Key("latency", self.scope.name_in_reports, self.figure)

    @property
    def level(self) -> float | None:
        """The probability of its percentile; None for the mean."""
        return None if self.figure == MEAN else PROBABILITIES[FIGURES.index(self.figure) - 1]

    def measure(self, prediction: Prediction) -> float:
        """The figure in seconds; infinite for an overloaded plan, NaN where it is not known."""
        if prediction.overloaded:
            return math.inf
        latency = self.scope.of(prediction)
        if latency is None:
            return math.nan
        level = self.level
        return latency.mean if level is None else latency.quantiles.get(level, math.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class RateGoal:
    """A throughput that is to be reached: one of both is given.

    Attributes:
        per_second: Tuples per second of all sources together.
        share: Part of what sources are to emit.
    """

    per_second: float | None = None
    share: float | None = None

    def __str__(self) -> str:
        if self.share is not None:
            return f"share>={100 * self.share:g}%"
        return f"rate>={self.per_second:g}"

    def find_least(self, offered_per_second: float) -> float:
        """Tuples per second that are to get through, where so many are to be emitted."""
        if self.per_second is not None:
            return self.per_second
        assert self.share is not None
        return self.share * offered_per_second


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """What a plan is to reach: all of it. Nothing: that it carries its load.

    Attributes:
        latencies: None of which may be exceeded.
        rates: All of which are to be reached.
    """

    latencies: tuple[LatencyGoal, ...] = ()
    rates: tuple[RateGoal, ...] = ()

    def __str__(self) -> str:
        return ", ".join(map(str, (*self.latencies, *self.rates))) or "fits"

    def find_least_rate(self, offered_per_second: float) -> float:
        """The highest rate that a plan has to carry, where so much is to be emitted.

        Latencies are finite only where all of it gets through.
        """
        least = [goal.find_least(offered_per_second) for goal in self.rates]
        if self.latencies or not least:
            least.append(offered_per_second)
        return max(least)

    def find_excess(self, prediction: Prediction) -> float:
        """ln(figure / goal) of the latency goal that is missed by most, or met by least.

        Above zero: missed. −∞ where there is no such goal, ∞ where a figure is not known.
        """
        excesses = [
            _log_ratio(goal.measure(prediction), goal.most_seconds) for goal in self.latencies
        ]
        return max(excesses, default=-math.inf)

    def tighten(self, parts: Sequence[float]) -> Objective:
        """With latency goals e⁻ᵖ times as high, for a part p of each: to aim with some margin."""
        return Objective(
            latencies=tuple(
                LatencyGoal(
                    figure=goal.figure,
                    scope=goal.scope,
                    most_seconds=goal.most_seconds * math.exp(-part),
                )
                for goal, part in zip(self.latencies, parts, strict=True)
            ),
            rates=self.rates,
        )


def parse_objective(texts: str | Iterable[str] | None) -> Objective:
    """The objective that one text or several say.

    Raises:
        InvalidInput: A part is not understood, or contradicts another; all such parts are named.
    """
    if texts is None:
        return Objective()
    parts = [
        part.strip()
        for text in ([texts] if isinstance(texts, str) else texts)
        for part in text.split(",")
    ]
    findings = Findings()
    latencies: list[LatencyGoal] = []
    rates: list[RateGoal] = []
    for part in parts:
        for goal in _parse_goal(findings, part):
            if isinstance(goal, LatencyGoal):
                latencies.append(goal)
            else:
                rates.append(goal)
    findings.raise_if_any()
    return Objective(latencies=tuple(latencies), rates=tuple(rates))


def _parse_goal(findings: Findings, text: str) -> Iterator[LatencyGoal | RateGoal]:
    """The goal in a text; none, and a finding, where it is not understood."""
    match = _GOAL.fullmatch(text)
    if match is None:
        findings.add(OPTION, seen=repr(text), expected=EXPECTED)
        return
    figure, sign = match["figure"], match["sign"]
    value = float(match["number"].replace("_", ""))
    if figure in ("rate", "share") and not match["scope"]:
        yield from _parse_rate(findings, text, figure, sign, value, match["unit"])
        return
    scope = match["scope"] or Scope.EMISSION
    if scope not in list(Scope):
        expected = f"one of {', '.join(Scope)} before the figure"
        findings.add(OPTION, seen=f"{text!r}: {scope!r}", expected=expected)
    elif figure not in FIGURES:
        expected = f"one of {', '.join(FIGURES)}, rate or share"
        findings.add(OPTION, seen=f"{text!r}: {figure!r}", expected=expected)
    elif sign not in _AT_MOST:
        findings.add(OPTION, seen=repr(text), expected=f"a latency at most: {figure}<50ms")
    elif match["unit"] not in _UNITS:
        expected = f"a time with its unit, such as {value:g}ms"
        findings.add(OPTION, seen=repr(text), expected=expected)
    elif not 0.0 < value * _UNITS[match["unit"]] <= MOST_SECONDS:
        findings.add(OPTION, seen=repr(text), expected="a time above zero and at most a year")
    else:
        seconds = value * _UNITS[match["unit"]]
        yield LatencyGoal(figure=figure, most_seconds=seconds, scope=Scope(scope))


def _parse_rate(
    findings: Findings, text: str, figure: str, sign: str, value: float, unit: str
) -> Iterator[RateGoal]:
    if sign not in _AT_LEAST:
        findings.add(OPTION, seen=repr(text), expected=f"a throughput at least: {figure}>=…")
    elif figure == "rate":
        if unit not in ("", "/s", "tuples/s") or not 0.0 < value <= MOST_PER_SECOND:
            expected = "tuples per second above zero, such as rate>=5000"
            findings.add(OPTION, seen=repr(text), expected=expected)
        else:
            yield RateGoal(per_second=value)
    else:
        share = value / 100.0 if unit == "%" else value
        if unit not in ("", "%") or not 0.0 < share <= 1.0:
            expected = "a part of the input above zero and at most all of it, such as share>=95%"
            findings.add(OPTION, seen=repr(text), expected=expected)
        else:
            yield RateGoal(share=share)


def _log_ratio(value: float, goal: float) -> float:
    if math.isnan(value) or math.isinf(value):
        return math.inf
    return math.log(value / goal) if value > 0.0 else -math.inf


def _show_seconds(seconds: float) -> str:
    """``50ms``: as it can be read again."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:g}{unit}"
    return f"{seconds / 1e-6:g}us"
