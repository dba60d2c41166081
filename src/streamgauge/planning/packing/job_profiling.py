"""The job profiler: rounds until no instance is short of anything (Kalim 2020, section 4.3.1).

A resource in use above 90 % is doubled. Where that changed nothing, the instance itself is as fast
as it can be: the resource is given back and the number of instances doubled, from then on in each
round. All operators change in the same round. A round is measured by whoever runs the job: an
emulated one, or a real cluster. Pure: the next round follows from what was measured before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from streamgauge.topology.frozen import FrozenDict

THRESHOLD = 0.9
# Utilisation that fell by less did not change; the source gives no number.
CLEAR = 0.05
MOST_ROUNDS = 8
ROUND_SECONDS = 300.0


class Grown(StrEnum):
    """What is doubled of an instance."""

    CORES = "cores"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Allotment:
    """What an operator runs with.

    Attributes:
        amounts: What one instance has, in any unit, by resource.
        doubled: What was given more of in this round, which the next measurement judges.
        is_saturated: Whether more of a resource had no effect, so that only instances help.
    """

    amounts: Mapping[Grown, float]
    instances: int = 1
    doubled: frozenset[Grown] = frozenset()
    is_saturated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was measured of an operator, the mean over its instances.

    Attributes:
        used: Part of what it has that it uses, by resource.
        per_second: Tuples that one instance processed.
    """

    used: Mapping[Grown, float]
    per_second: float = 0.0

    def short_of(self, threshold: float) -> frozenset[Grown]:
        """Resources in use above the threshold."""
        return frozenset(one for one, part in self.used.items() if part > threshold)


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round: what ran, and what was measured."""

    allotments: Mapping[str, Allotment]
    readings: Mapping[str, Reading]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProfiling:
    """All rounds.

    Attributes:
        is_settled: Whether nothing is short of anything in the last one.
    """

    rounds: tuple[Round, ...] = ()
    is_settled: bool = False

    @property
    def last(self) -> Round:
        """Where the job's figures are taken from."""
        return self.rounds[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilingRule:
    """When more is given, and of what.

    Attributes:
        threshold: Part in use above which a resource is short.
        clear: How much the part in use must fall for the last doubling to have had an effect.
        seconds: How long a round is measured, for those who run it.
    """

    threshold: float = THRESHOLD
    clear: float = CLEAR
    most_rounds: int = MOST_ROUNDS
    seconds: float = ROUND_SECONDS

    def start(self, amounts: Mapping[str, Mapping[Grown, float]]) -> Mapping[str, Allotment]:
        """One instance of every operator, sources included."""
        return FrozenDict(
            {name: Allotment(amounts=FrozenDict(one)) for name, one in amounts.items()}
        )

    def next(
        self, before: Mapping[str, Reading] | None, now: Round
    ) -> Mapping[str, Allotment] | None:
        """What runs in the next round; None where nothing is short.

        Args:
            before: Of the round before, to see whether doubling had an effect.
            now: What has just been measured.
        """
        changed = {
            name: self._change(
                allotment, None if before is None else before[name], now.readings[name]
            )
            for name, allotment in now.allotments.items()
        }
        is_short = any(one.short_of(self.threshold) for one in now.readings.values())
        return FrozenDict(changed) if is_short else None

    def _had_effect(self, before: Reading, now: Reading, resource: Grown) -> bool:
        """Less in use or, where an instance is still short, more processed with it."""
        fell = before.used[resource] - now.used[resource] >= self.clear
        return fell or now.per_second > before.per_second * (1.0 + self.clear)

    def _change(self, has: Allotment, before: Reading | None, now: Reading) -> Allotment:
        short = now.short_of(self.threshold)
        useless = frozenset(
            one
            for one in has.doubled & short
            if before is not None and not self._had_effect(before, now, one)
        )
        kept = replace(has, doubled=frozenset())
        if useless:
            halved = {
                one: amount / 2.0 if one in useless else amount
                for one, amount in has.amounts.items()
            }
            return replace(
                kept,
                amounts=FrozenDict(halved),
                instances=2 * has.instances,
                is_saturated=True,
            )
        if not short:
            return kept
        if has.is_saturated:
            return replace(kept, instances=2 * has.instances)
        more = {
            one: amount * 2.0 if one in short else amount for one, amount in has.amounts.items()
        }
        return replace(kept, amounts=FrozenDict(more), doubled=short)


def profile_job(
    amounts: Mapping[str, Mapping[Grown, float]],
    measure: Callable[[Mapping[str, Allotment]], Mapping[str, Reading]],
    rule: ProfilingRule | None = None,
) -> JobProfiling:
    """Rounds until nothing is short, or there were enough of them.

    Args:
        amounts: What one instance of each operator begins with.
        measure: Runs the job with what is allotted, and says what was used.
        rule: When to give more.
    """
    rule = rule or ProfilingRule()
    rounds: list[Round] = []
    allotments: Mapping[str, Allotment] | None = rule.start(amounts)
    while allotments is not None and len(rounds) < rule.most_rounds:
        now = Round(allotments=allotments, readings=FrozenDict(measure(allotments)))
        before = rounds[-1].readings if rounds else None
        rounds.append(now)
        allotments = rule.next(before, now)
    return JobProfiling(rounds=tuple(rounds), is_settled=allotments is None)
