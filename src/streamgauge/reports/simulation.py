"""What a simulation found: whether the job keeps up, its latency, and all figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from streamgauge.drawing.wording import (
    format_duration,
    format_duration_within,
    format_number,
    format_number_within,
    format_plain_duration,
    format_share,
    name_percentile,
)
from streamgauge.reports.content import (
    Block,
    Column,
    FigureRow,
    Grade,
    Section,
    Table,
    Term,
    Terms,
    Text,
    Verdict,
    tabulate,
)
from streamgauge.reports.report import Report, describe_size, list_figures, list_parts_figures
from streamgauge.reports.simulation_figures import (
    MS_PER_SECOND,
    QUANTILES,
    SHORTFALL,
    SourceRate,
    build_executor_table,
    build_latency_table,
    build_machine_table,
    build_operator_table,
    build_queue_table,
    build_rare_table,
    build_source_table,
    build_worker_table,
    chart_latency,
    chart_time,
    chart_topology,
    list_source_rates,
    name_latencies,
    show_estimate,
    write_result,
)

if TYPE_CHECKING:
    from streamgauge.profile.job import Job
    from streamgauge.simulation.results import ExecutorFigures, SimulationResult
    from streamgauge.topology.physical_plan import PhysicalPlan

# Figures of a sink that are averaged over several runs, and how people call them.
AVERAGED = {
    "executed_per_second": "served, tuples/s",
    "mean_ms": "mean latency",
    "p99_ms": "p99 latency",
}
OVERLOADED = "Overloaded"
# An executor busier than this has little left for a burst.
NEARLY_FULL = 0.8
FULL = 0.97
# Part of the latency, from which on the time that tuples wait before their source is worth saying.
LATE = 0.1
# Fewer tuples than this leave fewer than ten beyond the 99th percentile.
SMALL_SAMPLE = 1_000
FEW_BATCHES = 10
MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationReport(Report):
    """What one or several simulated runs of a job found.

    Attributes:
        job: What was simulated.
        plan: Where its executors ran.
        results: One for each independent run; tables and charts show the first.
        seed: Of the first run's random numbers.
        seconds: Simulated time to measure, as it was asked for.
        warmup: Simulated time to leave out before, as it was asked for; None: found by itself.
        warnings: What happened on the way without making the result useless.
    """

    job: Job
    plan: PhysicalPlan
    results: tuple[SimulationResult, ...]
    seed: int
    seconds: float
    warmup: float | None
    warnings: tuple[str, ...] = ()

    @property
    def result(self) -> SimulationResult:
        """The first run."""
        return self.results[0]

    @property
    def is_overloaded(self) -> bool:
        """Whether the job did not keep up in any of the runs."""
        return any(is_overloaded(self.job, result) for result in self.results)

    @property
    def title(self) -> str:
        """The job's name."""
        return f"{self.job.topology.name}, simulated"

    @property
    def about(self) -> str:
        """What was simulated, and for how long."""
        acked = "acked" if self.job.topology.acked else "not acked"
        return (
            f"{self.job.topology.name}: {self._describe_time()}; "
            f"{self.job.configuration.engine}, {acked}, {describe_size(self.plan)}"
        )

    @property
    def verdict(self) -> Verdict:
        """The worst finding gives the word; the sentence names them all."""
        worst = self._find_worst()
        findings = list_findings(self.job, worst)
        return Verdict(
            grade=findings[0].grade,
            word=findings[0].word,
            sentence=f": {'; '.join(finding.sentence for finding in findings)}.",
            cautions=tuple(list_cautions(self.job, worst)),
        )

    @property
    def headline(self) -> Sequence[Term]:
        """Tail latency first, then what goes in and out."""
        latency = self.result.latency
        tail, median = latency.quantile_estimate(0.99), latency.quantile_estimate(0.5)
        sinks = self.job.topology.sinks
        served = sum(self.result.operators[sink.name].executed_per_second for sink in sinks)
        sample = f"{latency.count:,} tuples in {_show_seconds(self.result.seconds)}"
        return [
            Term("p99 latency since emission", show_estimate(tail)),
            Term(
                "sources emit, of what is asked" if self.is_overloaded else "sources emit",
                self._show_emitted(),
            ),
            Term("median", show_estimate(median)),
            Term("mean", show_estimate(latency.mean_estimate())),
            Term("sinks serve", f"{format_number(served)} tuples/s"),
            Term("sample", sample),
        ]

    def sections(self) -> Sequence[Section]:
        """Latency, the busy topology, how it went over time, all figures."""
        job, result = self.job, self.result
        rates = list_source_rates(job, result)
        is_slow = self.is_overloaded or any(rate.is_held_back for rate in rates)
        latencies = [chart_latency(result.latency), build_latency_table(job, result)]
        full_queues = build_queue_table(result)
        no_queue = "No queue was ever full: none made a thread wait or dropped a tuple."
        return [
            Section(
                "sources", "Asked and delivered", [build_source_table(rates)] if is_slow else []
            ),
            Section("latency", "Latency", latencies),
            Section("topology", "Topology and utilisation", [chart_topology(self.plan, result)]),
            Section("time", "How it went over time", [chart_time(result)]),
            Section(
                "figures",
                "All figures",
                [
                    build_operator_table(job, result),
                    build_rare_table(result),
                    build_executor_table(job, result),
                    Text([no_queue], page_only=True) if full_queues.is_empty else full_queues,
                    build_worker_table(result),
                    build_machine_table(result),
                    self._build_estimate_table(),
                ],
            ),
            Section("made", "How this was made", self._list_making()),
        ]

    def document(self) -> Mapping[str, Any]:
        """Everything that the first run found, and the means over all runs."""
        averages = self._average_sinks()
        return {
            **write_result(self.job, self.result),
            "requested_seconds": self.seconds,
            "seed": self.seed,
            "verdict": {
                "grade": str(self.verdict.grade),
                "word": self.verdict.word,
                "reason": self.verdict.sentence.removeprefix(": ").removesuffix("."),
                "cautions": list(self.verdict.cautions),
            },
            **({"estimates": averages} if averages else {}),
        }

    def figures(self) -> Iterator[FigureRow]:
        """Figures of the first run, as the tables show them."""
        result = self.result
        for name, latencies in name_latencies(self.job, result).items():
            figures = {"mean": latencies.mean}
            figures |= {name_percentile(level): latencies.quantile(level) for level in QUANTILES}
            yield from list_figures("latency", name, figures, unit="s")
        yield from list_parts_figures(result)

    def _find_worst(self) -> SimulationResult:
        """An overloaded run outweighs those that were not."""
        overloaded = (result for result in self.results if is_overloaded(self.job, result))
        return next(overloaded, self.result)

    def _describe_time(self) -> str:
        """How long was simulated, and what of it was left out.

        Without a given warm-up, time for one is simulated in addition; what a steady start makes
        needless of it is measured too.
        """
        result = self.result
        total = _show_seconds(result.warmup + result.seconds)
        if result.overloaded:
            return f"stopped after {total} of simulated time"
        if self.warmup is not None:
            before = f" after a warm-up of {_show_seconds(result.warmup)}" if result.warmup else ""
            return f"{_show_seconds(result.seconds)} simulated{before}"
        extra = _show_seconds(result.warmup + result.seconds - self.seconds)
        left_out = f"{_show_seconds(result.warmup)} of which are left out"
        if not result.warmup:
            left_out = "which was not needed and is measured too"
        elif result.seconds <= self.seconds:
            left_out = "which is left out"
        asked = _show_seconds(self.seconds)
        return f"{total} simulated: {asked}, and {extra} in addition for a warm-up, {left_out}"

    def _show_emitted(self) -> str:
        """What sources emit: beside what was asked for, or with an interval where they keep up."""
        from streamgauge.simulation.figures import BATCHES
        from streamgauge.simulation.replications import estimate

        result = self.result
        rates = list_source_rates(self.job, result)
        total = sum(rate.emitted_per_second for rate in rates)
        if self.is_overloaded:
            asked = [rate.asked_per_second for rate in rates]
            of = "" if None in asked else f" of {format_number(sum(filter(None, asked)))}"
            return f"{format_number(total)}{of} tuples/s"
        line = result.timeline
        measured = line.emitted_per_second[line.ends > result.warmup * (1.0 + 1e-9)]
        if len(measured) < 2:
            return f"{format_number(total)} tuples/s"
        batches = np.array_split(measured, min(BATCHES, len(measured)))
        half_width = estimate([float(batch.mean()) for batch in batches]).half_width
        return f"{format_number_within(total, half_width)} tuples/s"

    def _average_sinks(self) -> dict[str, dict[str, dict[str, float]]]:
        """Throughput and latency of each sink over several runs."""
        from streamgauge.simulation.replications import estimate_of

        averages: dict[str, dict[str, dict[str, float]]] = {}
        for sink in self.job.topology.sinks:
            for figure in AVERAGED:
                average = estimate_of(self.results, partial(_read_sink_figure, sink.name, figure))
                if average.runs > 1:
                    averages.setdefault(sink.name, {})[figure] = {
                        "mean": average.mean,
                        "half_width_95": average.half_width,
                        "runs": average.runs,
                    }
        return averages

    def _build_estimate_table(self) -> Table:
        return tabulate(
            f"Means over {len(self.results)} independent runs",
            [
                {
                    Column("sink"): sink,
                    Column("figure", words=True): AVERAGED[figure],
                    Column("mean ± 95 %"): _show_average(figure, average),
                }
                for sink, averages in self._average_sinks().items()
                for figure, average in averages.items()
            ],
            note="The other tables show the first run.",
        )

    def _list_making(self) -> Sequence[Block]:
        result = self.result
        terms = [
            Term("simulated", format_plain_duration(result.seconds)),
            Term("warm-up, left out before", format_plain_duration(result.warmup)),
            Term("seed", str(self.seed)),
            Term("deliveries simulated after the warm-up", f"{result.hops:,}"),
        ]
        if self.job.topology.acked:
            terms += [
                Term("tuple trees begun, warm-up included", f"{result.roots_emitted:,}"),
                Term("complete", f"{result.roots_acked:,}"),
                Term("failed or timed out", f"{result.roots_failed:,}"),
                Term("open at the end", f"{result.open_roots:,}"),
            ]
        sentence = (
            "The same command with the same seed gives the same figures. What is simulated, "
            "what is assumed and how far it can be trusted: docs/simulator.md."
        )
        return [Terms(terms), Text([sentence], page_only=True)]


def _show_average(figure: str, average: Mapping[str, float]) -> str:
    mean, half_width = average["mean"], average["half_width_95"]
    if figure.endswith("_ms"):
        return format_duration_within(mean / MS_PER_SECOND, half_width / MS_PER_SECOND)
    return format_number_within(mean, half_width)


def _read_sink_figure(sink: str, figure: str, result: SimulationResult) -> float:
    figures = result.operators[sink]
    if figure == "executed_per_second":
        return figures.executed_per_second
    seconds = figures.latency.mean if figure == "mean_ms" else figures.latency.quantile(0.99)
    return MS_PER_SECOND * seconds


def _show_seconds(seconds: float) -> str:
    return format_plain_duration(seconds, 4)


def is_overloaded(job: Job, result: SimulationResult) -> bool:
    """Whether the job does not keep up with what it is asked for."""
    falling_short = any(rate.falls_short for rate in list_source_rates(job, result))
    return result.overloaded or bool(result.saturated) or falling_short


def list_findings(job: Job, result: SimulationResult) -> list[Verdict]:
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


def _find_overload(job: Job, result: SimulationResult) -> Iterator[Verdict]:
    rates = list_source_rates(job, result)
    if result.overloaded:
        yield Verdict(grade=Grade.BAD, word=OVERLOADED, sentence=_explain_stop(rates, result))
    if result.saturated:
        yield Verdict(grade=Grade.BAD, word=OVERLOADED, sentence=_name_saturated(result))
    short = [rate for rate in rates if rate.falls_short]
    if short and not result.overloaded:
        yield Verdict(
            grade=Grade.BAD,
            word=OVERLOADED,
            sentence=f"{_compare(short)}; {_name_held_back(short)}",
        )
    elif held := [rate for rate in rates if rate.is_held_back]:
        yield Verdict(grade=Grade.WARNING, word="Held back", sentence=_name_held_back(held))


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
        reasons.append(f"{format_number(waiting[longest])} tuples wait before {longest}")
    late = result.since_due.mean - result.latency.mean
    if late > LATE * result.since_due.mean:
        reasons.append(
            f"tuples leave their source {format_duration(late)} after they were due on average"
        )
    return "; ".join(reasons)


def _compare(rates: list[SourceRate]) -> str:
    """What sources emit beside what they are asked for."""
    emitted = sum(rate.emitted_per_second for rate in rates)
    asked = sum(rate.asked_per_second or 0.0 for rate in rates)
    return f"sources emit {format_number(emitted)} of the {format_number(asked)} tuples/s asked for"


def _name_saturated(result: SimulationResult) -> str:
    operators = {name: result.operators[name] for name in result.saturated}
    ratios = {
        name: operator.arrived_per_second / operator.executed_per_second
        if operator.executed_per_second > 0.0
        else math.inf
        for name, operator in operators.items()
    }
    worst = sorted(ratios, key=lambda name: -ratios[name])
    sentences = []
    for name in worst[:MOST_NAMED]:
        operator = operators[name]
        times = (
            f" ({format_number(ratios[name])} times as many)"
            if operator.executed_per_second
            else ""
        )
        sentences.append(
            f"{name} receives {format_number(operator.arrived_per_second)} tuples/s "
            f"and serves {format_number(operator.executed_per_second)} tuples/s{times}"
        )
    more = len(worst) - MOST_NAMED
    return ", ".join(sentences) + (f", and {more} more like these" if more > 0 else "")


def _name_held_back(rates: list[SourceRate]) -> str:
    sentences = []
    for rate in rates:
        parts = {"blocked": rate.blocked, "throttled": rate.throttled}
        how = " and ".join(
            f"{word} {format_share(part)}" for word, part in parts.items() if part > 0.0
        )
        sentences.append(f"{rate.name} is {how} of the time")
    return ", ".join(sentences)


def _find_losses(result: SimulationResult) -> Iterator[Verdict]:
    dropped, failed, late, again = (
        sum(getattr(operator, f"{lost}_per_second") for operator in result.operators.values())
        for lost in ("dropped", "failed", "timed_out", "replayed")
    )
    dropped += sum(worker.transfer.dropped_per_second for worker in result.workers)
    reasons = []
    if dropped > 0.0:
        reasons.append(f"{format_number(dropped)} tuples/s are dropped because queues are full")
    if failed > 0.0:
        reasons.append(
            f"{format_number(failed)} tuple trees/s fail, {format_number(late)} of them by"
            f" time-out, and {format_number(again)} per second are emitted again"
        )
    if reasons:
        # Operators may fail tuples on purpose; full queues and time-outs are too much load.
        grade = Grade.BAD if dropped > 0.0 or late > 0.0 else Grade.WARNING
        yield Verdict(grade=grade, word="Loses tuples", sentence="; ".join(reasons))


def _find_missing_figures(job: Job, result: SimulationResult) -> Iterator[Verdict]:
    """Figures that a longer run would give; under overload none would."""
    if is_overloaded(job, result):
        return
    longer = "so simulate a longer time"
    if not result.latency.count:
        reason = f"no tuple reached a sink, {longer}"
        yield Verdict(grade=Grade.WARNING, word="Nothing arrived", sentence=reason)
    if not result.settled:
        warmup = _show_seconds(result.warmup)
        reason = f"no steady state was found within a warm-up of {warmup}, {longer}"
        yield Verdict(grade=Grade.WARNING, word="Not settled", sentence=reason)


def _find_tightness(job: Job, result: SimulationResult) -> Iterator[Verdict]:
    busiest = _find_busiest(result)
    if busiest.utilisation > NEARLY_FULL and not result.saturated and not _has_unlimited(job):
        yield Verdict(
            grade=Grade.WARNING,
            word="Full" if busiest.utilisation > FULL else "Nearly full",
            sentence=f"executor {busiest.name} is busy"
            f" {format_share(busiest.utilisation)} of the time",
        )


def _describe_fine(job: Job, result: SimulationResult) -> Verdict:
    executor = _find_busiest(result)
    busy = format_share(executor.utilisation)
    reason = f"the busiest executor, {executor.name}, is busy {busy} of the time"
    if _has_unlimited(job):
        reason = f"sources emit as much as the job takes, and {reason}"
        return Verdict(grade=Grade.FINE, word="Flat out", sentence=reason)
    return Verdict(grade=Grade.FINE, word="Fine", sentence=reason)


def _has_unlimited(job: Job) -> bool:
    """Whether a source emits as much as the job takes."""
    from streamgauge.topology.workload import Unlimited

    emissions = job.workload.emissions if job.workload is not None else ()
    return any(isinstance(emission.shape, Unlimited) for emission in emissions)


def _find_busiest(result: SimulationResult) -> ExecutorFigures:
    return max(result.executors, key=lambda executor: executor.utilisation)
