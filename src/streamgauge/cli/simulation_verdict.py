"""What a simulation comes to, in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamgauge.drawing.quantities import duration, number, plain_duration, share

if TYPE_CHECKING:
    from streamgauge.profile.job import Job
    from streamgauge.simulation.results import ExecutorFigures, SimulationResult

FINE, WARNING, BAD = "fine", "warning", "bad"
# An executor busier than this has little left for a burst.
NEARLY_FULL = 0.8
FULL = 0.97
# A source that cannot emit for a larger part of the time than this emits less than is due.
HELD_BACK = 0.05
# Part of a rate or a latency, from which on what a source lacks in it is worth saying.
LATE = 0.1
# Fewer tuples than this leave fewer than ten beyond the 99th percentile.
SMALL_SAMPLE = 1_000
FEW_STRETCHES = 10
NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How it went.

    Attributes:
        grade: ``fine``, ``warning`` or ``bad``.
        word: The verdict itself.
        reason: What it rests on; completes the sentence.
        cautions: What to keep in mind when reading the figures.
    """

    grade: str
    word: str
    reason: str
    cautions: tuple[str, ...]


def verdict(job: Job, result: SimulationResult) -> Verdict:
    """The worst that was found gives the word; the reason names everything."""
    found = list(_findings(job, result)) or [_nothing_found(job, result)]
    grade, word, _ = found[0]
    reason = "; ".join(reason for _, _, reason in found)
    return Verdict(grade=grade, word=word, reason=reason, cautions=tuple(_cautions(result)))


def _findings(job: Job, result: SimulationResult) -> Iterator[tuple[str, str, str]]:
    """Grade, word and reason of all that is not as it should be, the worst first."""
    if result.overloaded:
        yield BAD, "Overloaded", _overload(job, result)
    if result.saturated:
        yield BAD, "Saturated", _saturated(result)
    if lost := _lost(result):
        yield BAD, "Loses tuples", lost
    if not result.latency.count and not result.overloaded:
        yield (
            WARNING,
            "Nothing arrived",
            "no tuple came to the end of its way, so simulate a longer time",
        )
    if not result.settled:
        yield (
            WARNING,
            "Not settled",
            f"no steady state was found within a warm-up of {_seconds(result.warmup)}, "
            "so simulate a longer time",
        )
    if held := _held_back(job, result):
        yield WARNING, "Held back", held
    busiest = _busiest(result)
    if busiest.utilisation > NEARLY_FULL and not result.saturated and not _eager(job):
        how = f"executor {busiest.name} is busy {share(busiest.utilisation)} of the time"
        yield WARNING, "Full" if busiest.utilisation > FULL else "Nearly full", how


def _overload(job: Job, result: SimulationResult) -> str:
    """When queues outgrew all bounds, which one is the longest, and what that does to sources."""
    reason = f"queues outgrew all bounds after {_seconds(result.warmup + result.seconds)}"
    emissions = job.workload.emissions if job.workload is not None else ()
    due = sum(one.per_second or 0.0 for one in emissions)
    emitted = sum(result.operators[op.name].emitted_per_second for op in job.topology.sources)
    if emitted < (1.0 - LATE) * due:
        reason += f"; sources emit {number(emitted)} of {number(due)} tuples/s that are due"
    last = {name: float(line[-1]) for name, line in result.timeline.queued.items() if len(line)}
    name = max(last, key=lambda one: last[one], default="")
    if name and last[name] > 0.0:
        reason += f"; {number(last[name])} tuples wait before {name}"
    late = result.since_due.mean - result.latency.mean
    if late > LATE * result.since_due.mean:
        reason += f"; tuples leave their source {duration(late)} after they were due, in the mean"
    return reason


def _seconds(time: float) -> str:
    return plain_duration(time, 4)


def _saturated(result: SimulationResult) -> str:
    ratios = {
        name: _ratio(result.operators[name].arrived_per_second, served)
        for name in result.saturated
        for served in [result.operators[name].executed_per_second]
    }
    worst = sorted(ratios, key=lambda name: -ratios[name])
    told = []
    for name in worst[:NAMED]:
        one = result.operators[name]
        times = f" ({number(ratios[name])} times as many)" if one.executed_per_second else ""
        told.append(
            f"{name} gets {number(one.arrived_per_second)} tuples/s "
            f"and serves {number(one.executed_per_second)} tuples/s{times}"
        )
    more = len(worst) - NAMED
    return ", ".join(told) + (f", and {more} more like these" if more > 0 else "")


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else float("inf")


def _lost(result: SimulationResult) -> str:
    operators = result.operators.values()
    dropped = sum(one.dropped_per_second for one in operators)
    dropped += sum(worker.transfer.dropped_per_second for worker in result.workers)
    failed = sum(one.failed_per_second for one in operators)
    late = sum(one.timed_out_per_second for one in operators)
    again = sum(one.replayed_per_second for one in operators)
    parts = []
    if dropped > 0.0:
        parts.append(f"{number(dropped)} tuples/s are dropped for want of room")
    if failed > 0.0:
        parts.append(
            f"{number(failed)} roots/s fail, {number(late)} of them out of time, "
            f"and {number(again)} roots/s are emitted again"
        )
    return "; ".join(parts)


def _held_back(job: Job, result: SimulationResult) -> str:
    """Sources with a rate that could not keep it."""
    eager = _eager(job)
    told = []
    for source in job.topology.sources:
        one = result.operators[source.name]
        if source.name not in eager and one.blocked + one.throttled > HELD_BACK:
            parts = {"blocked": one.blocked, "throttled": one.throttled}
            how = " and ".join(
                f"{word} {share(part)}" for word, part in parts.items() if part > 0.0
            )
            told.append(f"{source.name} is {how} of the time")
    return ", ".join(told)


def _eager(job: Job) -> set[str]:
    """Sources that emit as much as the job takes."""
    from streamgauge.topology.workload import Unlimited

    emissions = job.workload.emissions if job.workload is not None else ()
    return {one.source for one in emissions if isinstance(one.shape, Unlimited)}


def _busiest(result: SimulationResult) -> ExecutorFigures:
    return max(result.executors, key=lambda one: one.utilisation)


def _nothing_found(job: Job, result: SimulationResult) -> tuple[str, str, str]:
    one = _busiest(result)
    busiest = f"the busiest executor, {one.name}, is busy {share(one.utilisation)} of the time"
    if _eager(job):
        return FINE, "Flat out", f"sources emit as much as the job takes, and {busiest}"
    return FINE, "Fine", busiest


def _cautions(result: SimulationResult) -> Iterator[str]:
    if result.overloaded or result.saturated or not result.settled:
        yield (
            "There is no steady state: latency depends on how long the run lasts. The figures "
            f"are those of these {_seconds(result.seconds)}, and ± only says how they scatter."
        )
    count = result.latency.count
    if 0 < count < SMALL_SAMPLE:
        yield (
            f"A small sample: of {count:,} tuples about {max(count // 100, 1)} "
            "took longer than the 99th percentile."
        )
    runs = result.latency.mean_estimate().runs
    if 0 < runs < FEW_STRETCHES:
        stretches = "one stretch" if runs == 1 else f"{runs} stretches"
        yield f"± rests on {stretches} of time only, where usual are 20."
