"""What a simulation found: whether the job keeps up, its latency, and all figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from streamgauge.drawing.quantities import duration_within, number, number_within, plain_duration
from streamgauge.reports.content import (
    Block,
    Column,
    FigureRow,
    Section,
    Table,
    Term,
    Terms,
    Text,
    Verdict,
    tabulate,
)
from streamgauge.reports.long_table import list_figures
from streamgauge.reports.report import Report
from streamgauge.reports.simulation_charts import chart_latency, chart_time, chart_topology
from streamgauge.reports.simulation_document import MS_PER_SECOND, write_result
from streamgauge.reports.simulation_tables import (
    QUANTILES,
    build_executor_table,
    build_latency_table,
    build_machine_table,
    build_operator_table,
    build_queue_table,
    build_rare_table,
    build_source_table,
    build_worker_table,
    name_latencies,
)
from streamgauge.reports.simulation_verdict import (
    is_overloaded,
    list_cautions,
    list_findings,
    list_source_rates,
)
from streamgauge.reports.wording import count, name_percentile

if TYPE_CHECKING:
    from streamgauge.profile.job import Job
    from streamgauge.simulation.results import SimulationResult
    from streamgauge.topology.physical_plan import PhysicalPlan

# Figures of a sink that are averaged over several runs.
AVERAGED = ("executed_per_second", "mean_ms", "p99_ms")


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
        plan = self.plan
        acked = "acked" if self.job.topology.acked else "not acked"
        return (
            f"{self.job.topology.name}: {self._describe_time()}; "
            f"{self.job.configuration.engine}, {acked}, "
            f"{count(len(plan.logical.executors), 'executor')} in "
            f"{count(len(plan.workers), 'worker')} on {count(len(plan.nodes), 'node')}"
        )

    @property
    def verdict(self) -> Verdict:
        """The worst finding gives the word; the sentence names them all."""
        worst = self._find_worst()
        findings = list_findings(self.job, worst)
        return Verdict(
            grade=findings[0].grade,
            word=findings[0].word,
            sentence=f": {'; '.join(finding.reason for finding in findings)}.",
            cautions=tuple(list_cautions(self.job, worst)),
        )

    @property
    def headline(self) -> Sequence[Term]:
        """Tail latency first, then what goes in and out."""
        latency = self.result.latency
        mean, median, tail = (
            latency.mean_estimate(),
            latency.quantile_estimate(0.5),
            latency.quantile_estimate(0.99),
        )
        sinks = self.job.topology.sinks
        served = sum(self.result.operators[sink.name].executed_per_second for sink in sinks)
        sample = f"{latency.count:,} tuples in {_show_seconds(self.result.seconds)}"
        return [
            Term("p99 latency", duration_within(tail.mean, tail.half_width)),
            Term(
                "sources emit, of what is asked" if self.is_overloaded else "sources emit",
                self._show_emitted(),
            ),
            Term("median latency", duration_within(median.mean, median.half_width)),
            Term("mean latency", duration_within(mean.mean, mean.half_width)),
            Term("sinks serve", f"{number(served)} tuples/s"),
            Term("sample", sample),
        ]

    def sections(self) -> Sequence[Section]:
        """Latency, the busy topology, how it went over time, all figures."""
        job, result = self.job, self.result
        rates = list_source_rates(job, result)
        full_queues = build_queue_table(result)
        no_queue = "No queue was ever full: none made a thread wait or dropped a tuple."
        return [
            Section(
                "sources",
                "Asked and delivered",
                [build_source_table(rates)]
                if self.is_overloaded or any(rate.is_held_back for rate in rates)
                else [],
            ),
            Section(
                "latency",
                "Latency",
                [chart_latency(result.latency), build_latency_table(job, result)],
            ),
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
        for name, operator in result.operators.items():
            yield from list_figures("operator", name, operator)
        for executor in result.executors:
            yield from list_figures("executor", executor.name, executor)
        for worker in result.workers:
            yield from list_figures("worker", worker.name, worker)
        for machine in result.machines:
            yield from list_figures("machine", machine.name, machine)

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
            if None in asked:
                return f"{number(total)} tuples/s"
            due = sum(rate or 0.0 for rate in asked)
            return f"{number(total)} of {number(due)} tuples/s"
        line = result.timeline
        measured = line.emitted_per_second[line.ends > result.warmup * (1.0 + 1e-9)]
        if len(measured) < 2:
            return f"{number(total)} tuples/s"
        batches = np.array_split(measured, min(BATCHES, len(measured)))
        half_width = estimate([float(batch.mean()) for batch in batches]).half_width
        return f"{number_within(total, half_width)} tuples/s"

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
        names = {
            "executed_per_second": "served, tuples/s",
            "mean_ms": "mean latency",
            "p99_ms": "p99 latency",
        }
        return tabulate(
            f"Means over {len(self.results)} independent runs",
            [
                {
                    Column("sink"): sink,
                    Column("figure", words=True): names[figure],
                    Column("mean ± 95 %"): duration_within(
                        average["mean"] / MS_PER_SECOND, average["half_width_95"] / MS_PER_SECOND
                    )
                    if figure.endswith("_ms")
                    else number_within(average["mean"], average["half_width_95"]),
                }
                for sink, averages in self._average_sinks().items()
                for figure, average in averages.items()
            ],
            note="The other tables show the first run.",
        )

    def _list_making(self) -> Sequence[Block]:
        result = self.result
        terms = [
            Term("simulated", plain_duration(result.seconds)),
            Term("warm-up, left out before", plain_duration(result.warmup)),
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


def _read_sink_figure(sink: str, figure: str, result: SimulationResult) -> float:
    figures = result.operators[sink]
    if figure == "executed_per_second":
        return figures.executed_per_second
    seconds = figures.latency.mean if figure == "mean_ms" else figures.latency.quantile(0.99)
    return MS_PER_SECOND * seconds


def _show_seconds(seconds: float) -> str:
    return plain_duration(seconds, 4)
