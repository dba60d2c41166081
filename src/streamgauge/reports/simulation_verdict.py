"""What a simulation comes to: whether the job keeps up, and what is not as it should be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamgauge.drawing.quantities import duration, number, plain_duration, share
from streamgauge.reports.content import Grade

if TYPE_CHECKING:
    from streamgauge.profile.job import Job
    from streamgauge.simulation.results import ExecutorFigures, SimulationResult

OVERLOADED = "Overloaded"
# An executor busier than this has little left for a burst.
NEARLY_FULL = 0.8
FULL = 0.97
# A source that cannot emit for a larger part of the time than this is held back.
HELD_BACK = 0.05
# A source that emits so much less than it is asked for, as a part of it, cannot keep up.
SHORTFALL = 0.1
# Part of the latency, from which on the time that tuples wait before their source is worth saying.
LATE = 0.1
# Fewer tuples than this leave fewer than ten beyond the 99th percentile.
SMALL_SAMPLE = 1_000
FEW_BATCHES = 10
MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that was seen, how bad it is, and the word for it."""

    grade: Grade
    word: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRate:
    """What a source was asked for and what it delivered.

    Attributes:
        name: Of the source.
        asked_per_second: Tuples that it should emit; None where it emits as many as it can.
        emitted_per_second: Tuples that it emitted.
        blocked: Part of the time that it waited for room in a queue.
        throttled: Part of the time that it had a tuple due and was not allowed to emit it.
    """

    name: str
    asked_per_second: float | None
    emitted_per_second: float
    blocked: float
    throttled: float

    @property
    def is_held_back(self) -> bool:
        """Whether a source with a rate of its own often could not emit."""
        return self.asked_per_second is not None and self.blocked + self.throttled > HELD_BACK

    @property
    def falls_short(self) -> bool:
        """Whether it is held back so much that it emits visibly less than it should."""
        asked = self.asked_per_second
        return (
            asked is not None
            and self.is_held_back
            and self.emitted_per_second < (1.0 - SHORTFALL) * asked
        )


def list_source_rates(job: Job, result: SimulationResult) -> list[SourceRate]:
    """Asked and delivered rates of all sources."""
    emissions = job.workload.emissions if job.workload is not None else ()
    rates = []
    for source in job.topology.sources:
        asked = [emission.per_second for emission in emissions if emission.source == source.name]
        operator = result.operators[source.name]
        rates.append(
            SourceRate(
                name=source.name,
                asked_per_second=None if None in asked else sum(rate or 0.0 for rate in asked),
                emitted_per_second=operator.emitted_per_second,
                blocked=operator.blocked,
                throttled=operator.throttled,
            )
        )
    return rates


def is_overloaded(job: Job, result: SimulationResult) -> bool:
    """Whether the job does not keep up with what it is asked for."""
    falling_short = any(rate.falls_short for rate in list_source_rates(job, result))
    return result.overloaded or bool(result.saturated) or falling_short


def list_findings(job: Job, result: SimulationResult) -> list[Finding]:
    """All that is not as it should be, the worst first; one that is fine where there is none."""
    findings = [
        *_find_overload(job, result),
        *_find_losses(result),
        *_find_missing_figures(job, result),
        *_find_tightness(job, result),
    ]
    return findings or [_describe_fine(job, result)]


def list_cautions(job: Job, result: SimulationResult) -> Iterator[str]:
    """What to keep in mind when reading the figures."""
    if is_overloaded(job, result) or not result.settled:
        yield (
            "There is no steady state: latency depends on how long the run lasts. The figures "
            f"are those of these {_show_seconds(result.seconds)}, and ± only says how they scatter."
        )
    count = result.latency.count
    if 0 < count < SMALL_SAMPLE:
        yield (
            f"A small sample: of {count:,} tuples about {max(count // 100, 1)} "
            "took longer than the 99th percentile."
        )
    batches = result.latency.mean_estimate().runs
    if 0 < batches < FEW_BATCHES:
        stretches = "one stretch" if batches == 1 else f"{batches} stretches"
        yield f"± rests on {stretches} of time only, where usual are 20."


def _find_overload(job: Job, result: SimulationResult) -> Iterator[Finding]:
    rates = list_source_rates(job, result)
    if result.overloaded:
        yield Finding(grade=Grade.BAD, word=OVERLOADED, reason=_explain_stop(rates, result))
    if result.saturated:
        yield Finding(grade=Grade.BAD, word=OVERLOADED, reason=_name_saturated(result))
    short = [rate for rate in rates if rate.falls_short]
    if short and not result.overloaded:
        yield Finding(
            grade=Grade.BAD, word=OVERLOADED, reason=f"{_compare(short)}; {_name_held_back(short)}"
        )
    elif held := [rate for rate in rates if rate.is_held_back]:
        yield Finding(grade=Grade.WARNING, word="Held back", reason=_name_held_back(held))


def _explain_stop(rates: list[SourceRate], result: SimulationResult) -> str:
    """When the run was stopped, which queue is the longest, and what that does to sources."""
    stopped = _show_seconds(result.warmup + result.seconds)
    reasons = [f"queues grew without bound, and the run was stopped after {stopped}"]
    with_rate = [rate for rate in rates if rate.asked_per_second is not None]
    asked = sum(rate.asked_per_second or 0.0 for rate in with_rate)
    if sum(rate.emitted_per_second for rate in with_rate) < (1.0 - SHORTFALL) * asked:
        reasons.append(_compare(with_rate))
    waiting = {name: float(line[-1]) for name, line in result.timeline.queued.items() if len(line)}
    longest = max(waiting, key=lambda name: waiting[name], default="")
    if longest and waiting[longest] > 0.0:
        reasons.append(f"{number(waiting[longest])} tuples wait before {longest}")
    late = result.since_due.mean - result.latency.mean
    if late > LATE * result.since_due.mean:
        reasons.append(f"tuples leave their source {duration(late)} after they were due on average")
    return "; ".join(reasons)


def _compare(rates: list[SourceRate]) -> str:
    """What sources emit beside what they are asked for."""
    emitted = sum(rate.emitted_per_second for rate in rates)
    asked = sum(rate.asked_per_second or 0.0 for rate in rates)
    return f"sources emit {number(emitted)} of the {number(asked)} tuples/s asked for"


def _name_saturated(result: SimulationResult) -> str:
    operators = {name: result.operators[name] for name in result.saturated}
    ratios = {
        name: operator.arrived_per_second / operator.executed_per_second
        if operator.executed_per_second > 0.0
        else float("inf")
        for name, operator in operators.items()
    }
    worst = sorted(ratios, key=lambda name: -ratios[name])
    sentences = []
    for name in worst[:MOST_NAMED]:
        operator = operators[name]
        times = f" ({number(ratios[name])} times as many)" if operator.executed_per_second else ""
        sentences.append(
            f"{name} receives {number(operator.arrived_per_second)} tuples/s "
            f"and serves {number(operator.executed_per_second)} tuples/s{times}"
        )
    more = len(worst) - MOST_NAMED
    return ", ".join(sentences) + (f", and {more} more like these" if more > 0 else "")


def _name_held_back(rates: list[SourceRate]) -> str:
    sentences = []
    for rate in rates:
        parts = {"blocked": rate.blocked, "throttled": rate.throttled}
        how = " and ".join(f"{word} {share(part)}" for word, part in parts.items() if part > 0.0)
        sentences.append(f"{rate.name} is {how} of the time")
    return ", ".join(sentences)


def _find_losses(result: SimulationResult) -> Iterator[Finding]:
    operators = result.operators.values()
    dropped = sum(operator.dropped_per_second for operator in operators)
    dropped += sum(worker.transfer.dropped_per_second for worker in result.workers)
    failed = sum(operator.failed_per_second for operator in operators)
    late = sum(operator.timed_out_per_second for operator in operators)
    again = sum(operator.replayed_per_second for operator in operators)
    reasons = []
    if dropped > 0.0:
        reasons.append(f"{number(dropped)} tuples/s are dropped because queues are full")
    if failed > 0.0:
        reasons.append(
            f"{number(failed)} tuple trees/s fail, {number(late)} of them by time-out, "
            f"and {number(again)} per second are emitted again"
        )
    if reasons:
        # Operators may fail tuples on purpose; full queues and time-outs are too much load.
        grade = Grade.BAD if dropped > 0.0 or late > 0.0 else Grade.WARNING
        yield Finding(grade=grade, word="Loses tuples", reason="; ".join(reasons))


def _find_missing_figures(job: Job, result: SimulationResult) -> Iterator[Finding]:
    """Figures that a longer run would give; under overload none would."""
    if is_overloaded(job, result):
        return
    if not result.latency.count:
        yield Finding(
            grade=Grade.WARNING,
            word="Nothing arrived",
            reason="no tuple reached a sink, so simulate a longer time",
        )
    if not result.settled:
        yield Finding(
            grade=Grade.WARNING,
            word="Not settled",
            reason=f"no steady state was found within a warm-up of {_show_seconds(result.warmup)}, "
            "so simulate a longer time",
        )


def _find_tightness(job: Job, result: SimulationResult) -> Iterator[Finding]:
    busiest = _find_busiest(result)
    if busiest.utilisation > NEARLY_FULL and not result.saturated and not _has_unlimited(job):
        yield Finding(
            grade=Grade.WARNING,
            word="Full" if busiest.utilisation > FULL else "Nearly full",
            reason=f"executor {busiest.name} is busy {share(busiest.utilisation)} of the time",
        )


def _describe_fine(job: Job, result: SimulationResult) -> Finding:
    executor = _find_busiest(result)
    busy = share(executor.utilisation)
    reason = f"the busiest executor, {executor.name}, is busy {busy} of the time"
    if _has_unlimited(job):
        reason = f"sources emit as much as the job takes, and {reason}"
        return Finding(grade=Grade.FINE, word="Flat out", reason=reason)
    return Finding(grade=Grade.FINE, word="Fine", reason=reason)


def _has_unlimited(job: Job) -> bool:
    """Whether a source emits as much as the job takes."""
    from streamgauge.topology.workload import Unlimited

    emissions = job.workload.emissions if job.workload is not None else ()
    return any(isinstance(emission.shape, Unlimited) for emission in emissions)


def _find_busiest(result: SimulationResult) -> ExecutorFigures:
    return max(result.executors, key=lambda executor: executor.utilisation)


def _show_seconds(time: float) -> str:
    return plain_duration(time, 4)
