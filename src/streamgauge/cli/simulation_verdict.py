"""What a simulation comes to, in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamgauge.cli.output import counted
from streamgauge.drawing.quantities import duration, number, share

if TYPE_CHECKING:
    from streamgauge.profile.job import Job
    from streamgauge.simulation.results import SimulationResult

FINE, WARNING, BAD = "fine", "warning", "bad"
# An executor busier than this has little left for a burst.
NEARLY_FULL = 0.8
# A source that cannot emit for a larger part of the time than this emits less than is due.
HELD_BACK = 0.05
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
    found = list(_findings(job, result))
    if not found:
        found = [(FINE, "Fine", _at_most(result))]
    grade, word, _ = found[0]
    reason = "; ".join(reason for _, _, reason in found)
    return Verdict(grade=grade, word=word, reason=reason, cautions=tuple(_cautions(result)))


def _findings(job: Job, result: SimulationResult) -> Iterator[tuple[str, str, str]]:
    """Grade, word and reason of all that is not as it should be, the worst first."""
    if result.overloaded:
        after = duration(result.warmup + result.seconds)
        yield BAD, "Overloaded", f"queues outgrew all bounds after {after}{_longest(result)}"
    if result.saturated:
        yield BAD, "Saturated", _saturated(result)
    if lost := _lost(result):
        yield BAD, "Loses tuples", lost
    if not result.latency.count and not result.overloaded:
        yield WARNING, "Nothing arrived", "no tuple came to the end of its way"
    if not result.settled:
        yield (
            WARNING,
            "Not settled",
            f"no steady state was found within a warm-up of {duration(result.warmup)}, "
            "so simulate a longer time",
        )
    if held := _held_back(job, result):
        yield WARNING, "Held back", held
    name, busiest = _busiest(result)
    if busiest > NEARLY_FULL and not result.saturated:
        yield WARNING, "Nearly full", f"an executor of {name} is busy {share(busiest)} of the time"


def _longest(result: SimulationResult) -> str:
    """Where most tuples waited at the end."""
    last = {name: float(line[-1]) for name, line in result.timeline.queued.items() if len(line)}
    name = max(last, key=lambda one: last[one], default="")
    return f", most of them before {name} ({number(last[name])} tuples)" if name else ""


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
    from streamgauge.topology.workload import Unlimited

    emissions = job.workload.emissions if job.workload is not None else ()
    eager = {one.source for one in emissions if isinstance(one.shape, Unlimited)}
    told = []
    for source in job.topology.sources:
        one = result.operators[source.name]
        if source.name not in eager and one.blocked + one.throttled > HELD_BACK:
            told.append(
                f"{source.name} is blocked {share(one.blocked)} and throttled "
                f"{share(one.throttled)} of the time"
            )
    return ", ".join(told)


def _busiest(result: SimulationResult) -> tuple[str, float]:
    busiest = {name: one.busiest for name, one in result.operators.items()}
    name = max(busiest, key=lambda one: busiest[one], default="")
    return name, busiest.get(name, 0.0)


def _at_most(result: SimulationResult) -> str:
    name, busiest = _busiest(result)
    return f"the busiest executor, one of {name}, is busy {share(busiest)} of the time"


def _cautions(result: SimulationResult) -> Iterator[str]:
    if result.overloaded or result.saturated or not result.settled:
        yield (
            "There is no steady state: latency depends on how long the run lasts. The figures "
            f"are those of these {duration(result.seconds)}, and ± only says how they scatter."
        )
    count = result.latency.count
    if 0 < count < SMALL_SAMPLE:
        yield (
            f"A small sample: of {counted(count, 'tuple')} about {max(count // 100, 1)} "
            "took longer than the 99th percentile."
        )
    runs = result.latency.mean_estimate().runs
    if 0 < runs < FEW_STRETCHES:
        stretches = "one stretch" if runs == 1 else f"{runs} stretches"
        yield f"± rests on {stretches} of time only, where usual are 20."
