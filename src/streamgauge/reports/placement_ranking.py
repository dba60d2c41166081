"""Placements side by side: which plan is best, what each costs, and how to apply it."""

from __future__ import annotations

import math
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from streamgauge.drawing.bar_charts import Bar, draw_bar_chart
from streamgauge.drawing.plan_picture import PlanPanel, draw_plans
from streamgauge.drawing.wording import (
    count,
    format_bytes_rate,
    format_change,
    format_difference,
    format_duration,
    format_estimate,
    format_number,
    format_plain_number,
    format_rate,
    format_share,
    format_utilisation,
    list_names,
    printable,
)
from streamgauge.models.intervals import Intervals
from streamgauge.models.ranking import CRITERIA
from streamgauge.planning.scheduling.diagnostics import BY_CORES, Diagnostics
from streamgauge.planning.scheduling.ranking import (
    EVEN,
    OWN_PLAN,
    Placement,
    RankedPlacements,
)
from streamgauge.profile.files.jobs import job_to_data, save
from streamgauge.profile.files.plans import PlanFile
from streamgauge.profile.job import Assignment
from streamgauge.reports.bytes import FULL_CARD
from streamgauge.reports.content import (
    Chart,
    Column,
    Commands,
    FigureRow,
    Grade,
    Row,
    Section,
    Table,
    Term,
    Text,
    Verdict,
    tabulate,
)
from streamgauge.reports.intervals import document_intervals, find_reach
from streamgauge.reports.latency import chart_latencies, get_quantile, show_mean
from streamgauge.reports.prediction_verdict import judge_prediction, show_headroom
from streamgauge.reports.report import Report, list_figures
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import ACKER
from streamgauge.topology.tuple_flow import TupleFlow
from streamgauge.transport.engine import load_engine

P99 = 0.99
PLAN_FILE = "plan.yaml"
# More executors than this cannot be told apart in a picture.
MANY_EXECUTORS = 400
# A reason why a scheduler found no plan may name hundreds of executors.
LONGEST_REASON = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementRanking(Report):
    """What schedulers make of a job, the best plan first.

    Attributes:
        ranking: All plans.
        file: The job's; empty where it did not come from one.
        options: Of the command that makes the same plans again.
        written: The file that the best plan was written to, where it was.
        ackers: Whether pictures show ackers and their streams.
        intervals: Of the best plan's figures.
        load_notes: Where the load comes from, where it was found.
    """

    ranking: RankedPlacements
    file: str = ""
    options: tuple[str, ...] = ()
    written: str = ""
    ackers: bool = False
    intervals: Intervals | None = None
    load_notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The job's name."""
        return f"{self.ranking.job.topology.name}, placed"

    @property
    def verdict(self) -> Verdict:
        """Which plan is best, and whether it carries the load."""
        ranking, best = self.ranking, self.ranking.best
        cautions = [f"{reason[:1].upper()}{reason[1:]}." for reason in ranking.unpredicted]
        if risky := best.diagnostics.heap_risks:
            workers = count(len(risky), "worker")
            cautions.append(f"Heap is too small in {workers} for what executors declare.")
        plans = len(ranking.placements)
        choice = f"the best of {plans} plans by {self._criterion}" if plans > 1 else "the plan"
        if best.prediction is None:
            grade, word, sentence = Grade.FINE, best.name, f" is {choice}."
        else:
            judged = judge_prediction(best.prediction)
            grade, word, sentence = judged.grade, best.name, f" is {choice}. {judged}"
            if best.is_overloaded:
                word = judged.word
                sentence = f" under {choice}, {best.name}{judged.sentence}"
        return Verdict(grade=grade, word=word, sentence=sentence, cautions=tuple(cautions))

    @property
    def headline(self) -> Sequence[Term]:
        """The best plan's p99 and headroom first, against the baseline where that differs."""
        ranking, best, baseline = self.ranking, self.ranking.best, self.ranking.baseline
        is_baseline = baseline is None or baseline.name == best.name
        remote = self._show_remote(best)
        change = ranking.compare_remote(best)
        if not is_baseline and baseline is not None and change is not None:
            remote += f", {format_difference(change)} against {baseline.name}"
        terms = []
        if best.prediction is not None:
            terms = [
                Term(
                    "p99 latency since emission",
                    self._show_p99(best) + self._show_reach("latency", "source to sink", "p99"),
                ),
                Term(
                    "headroom",
                    show_headroom(best.prediction.limit.factor)
                    + self._show_reach("job", "", "headroom"),
                ),
            ]
        size = f"{count(len(best.plan.workers), 'worker')} on {count(len(best.plan.nodes), 'node')}"
        return [*terms, Term("between nodes", remote), Term("size", size)]

    def sections(self) -> Sequence[Section]:
        """Pictures, charts, tables, remarks and commands."""
        ranking = self.ranking
        latencies = {
            name: placement.prediction.latency
            for name, placement in ranking.placements.items()
            if placement.prediction is not None
        }
        return [
            Section("plans", "Where executors run", [self._plans_chart()]),
            Section("traffic", "How far tuples go", [self._traffic_chart()]),
            Section("latency", "Latency", list(chart_latencies(latencies)) if latencies else []),
            Section("figures", "All figures", [self._plan_table(), self._risk_table()]),
            Section("bounds", "Proven bounds", [Text(self._bounds())]),
            Section("refused", "No plan found", [Text(self._refusals())]),
            Section("notes", "What to keep in mind", [Text(self._notes())]),
            Section("commands", "To apply it", [Commands(self.commands)]),
        ]

    def document(self) -> Mapping[str, Any]:
        """All plans with their figures, and the best one whole."""
        ranking = self.ranking
        baseline = ranking.baseline
        return {
            "placement": {
                "chosen": ranking.best.name,
                "by": ranking.by,
                "verdict": str(self.verdict),
                "before": None if baseline is None else baseline.name,
                "placements": [
                    self._placement_document(placement) for placement in ranking.placements.values()
                ],
                "refused": dict(ranking.refused),
                "plan": PlanFile.of(Assignment.of(ranking.best.plan)),
                "commands": list(self.commands),
                "notes": self._notes(),
                **document_intervals(self.intervals),
            }
        }

    def figures(self) -> Iterator[FigureRow]:
        """Size, traffic, latency and limit of every plan."""
        for name, placement in self.ranking.placements.items():
            sizes = {
                "workers": len(placement.plan.workers),
                "nodes": len(placement.plan.nodes),
                "remote_share": placement.remote_share,
                "busiest_node_load": placement.diagnostics.busiest_load,
            }
            yield from list_figures("placement", name, sizes)
            if not self.ranking.rates_assumed:
                remote = placement.traffic.remote
                yield from list_figures("placement", name, {"remote": remote}, unit="1/s")
            moved = placement.diagnostics.remote_bytes_per_second
            if moved is not None:
                figures = {"remote_bytes_per_second": moved}
                yield from list_figures("placement", name, figures)
            if placement.prediction is not None:
                latency = placement.prediction.latency
                times = {"latency_mean": latency.mean, "latency_p99": get_quantile(latency, P99)}
                yield from list_figures("placement", name, times, unit="s")
                limit = placement.prediction.limit.per_second
                yield from list_figures("placement", name, {"limit": limit}, unit="1/s")

    @property
    def commands(self) -> tuple[str, ...]:
        """What to type to bring a running topology into the best plan."""
        best = self.ranking.best
        logical = best.plan.logical
        engine = load_engine(logical.configuration.engine)
        if best.name == EVEN:
            # The engine's own scheduler makes the same plan.
            rebalance = engine.rebalance_command(
                logical.topology.name,
                workers=logical.configuration.workers,
                executors={
                    name: len(span) for name, span in logical.spans.items() if name != ACKER
                },
            )
            return join_commands(rebalance)
        apply = engine.apply_command(self.written or PLAN_FILE)
        if self.written:
            return join_commands(apply)
        if not self.file:
            return ()
        scheduler = () if best.name == OWN_PLAN else ("--scheduler", best.name)
        place = ("streamgauge", "plan", "place", self.file, *scheduler, *self.options)
        return join_commands((*place, "-o", PLAN_FILE), apply)

    @property
    def plan(self) -> PhysicalPlan:
        """The best plan."""
        return self.ranking.best.plan

    def save_job(self, path: str | Path) -> None:
        """Write the job with the best plan, as `streamgauge storm apply` takes it."""
        save(job_to_data(self.ranking.placed_job), Path(path))

    def _placement_document(self, placement: Placement) -> dict[str, Any]:
        prediction = placement.prediction
        return {
            "scheduler": placement.name,
            "workers": len(placement.plan.workers),
            "nodes": len(placement.plan.nodes),
            "remote_per_second": None if self.ranking.rates_assumed else placement.traffic.remote,
            "remote_share": placement.remote_share,
            "against_before": self.ranking.compare_remote(placement),
            "evenly_dealt_remote_per_second": placement.even_remote,
            "least_remote_per_second": placement.schedule.least_remote,
            "diagnostics": placement.diagnostics.to_dict(),
            "prediction": None if prediction is None else prediction.to_dict(),
            "warnings": list(placement.schedule.warnings),
        }

    @property
    def _criterion(self) -> str:
        by = self.ranking.by
        return by if by in CRITERIA else "tuples between nodes"

    def _show_reach(self, *figure: str) -> str:
        """How sure a figure of the best plan is; nothing where that is not known."""
        subject, name, quantity = figure
        interval = self.intervals and self.intervals.of(subject, name, quantity)
        return f" (± {format_share(find_reach(interval))})" if interval else ""

    def _show_p99(self, placement: Placement) -> str:
        """With the baseline's, where that is another plan."""
        assert placement.prediction is not None
        after = get_quantile(placement.prediction.latency, P99)
        baseline = self.ranking.baseline
        if baseline is None or baseline.prediction is None:
            return format_duration(after)
        return format_change(get_quantile(baseline.prediction.latency, P99), after, format_duration)

    def _show_remote(self, placement: Placement) -> str:
        part = format_share(placement.remote_share)
        if self.ranking.rates_assumed:
            return f"{part} of the tuples"
        moved = _show_bytes(placement.diagnostics)
        more = "" if moved is None else f", {moved}"
        return f"{format_estimate(placement.traffic.remote)} tuples/s ({part}){more}"

    def _plans_chart(self) -> Chart:
        best, baseline = self.ranking.best, self.ranking.baseline
        panels = []
        if baseline is not None and baseline.name != best.name:
            panels.append(self._panel("before: ", baseline))
        panels.append(self._panel("after: " if panels else "", best))
        name = best.plan.logical.topology.name
        title = printable(f"plans of {name}: " + " and ".join(panel.title for panel in panels))
        return chart_plans("Plans", panels, title, ackers=self.ackers)

    def _panel(self, when: str, placement: Placement) -> PlanPanel:
        plan = placement.plan
        parts = [
            list_sizes(plan),
            f"{format_share(placement.remote_share)} of tuples between nodes",
        ]
        if placement.prediction is not None:
            p99 = get_quantile(placement.prediction.latency, P99)
            parts.append(f"p99 {format_duration(p99)}")
        hops = load_engine(plan.logical.configuration.engine).hops
        return PlanPanel(
            title=printable(f"{when}{placement.name}"),
            about=" · ".join(parts),
            flow=TupleFlow.of(plan, hops),
        )

    def _traffic_chart(self) -> Chart:
        bars = [
            Bar(
                name=name,
                parts={
                    "local": placement.traffic.local,
                    "inter-worker": placement.traffic.inter_worker,
                    "remote": placement.traffic.remote,
                },
                label=f"{format_share(placement.remote_share)} remote",
            )
            for name, placement in self.ranking.placements.items()
        ]
        title = "Tuples and acks by how far they go"
        x_title = "every stream alike" if self.ranking.rates_assumed else "per second"
        draw = partial(
            draw_bar_chart,
            bars,
            title=title,
            x_title=x_title,
            tick_label=format_plain_number,
            part_label=format_rate,
        )
        ways = "Local: inside a worker. Inter-worker: between workers of a node."
        return Chart(title=title, draw=draw, caption=f"{ways} Remote: between nodes.")

    def _plan_table(self) -> Table:
        return tabulate(
            f"Placements, the best first by {self._criterion}",
            [self._describe_placement(placement) for placement in self.ranking.placements.values()],
            note="p99: of latency since emission. Up to: the highest rate of all sources together"
            " that fits.",
        )

    def _describe_placement(self, placement: Placement) -> Row:
        ranking = self.ranking
        baseline = "" if ranking.baseline is None else ranking.baseline.name
        remote = None if ranking.rates_assumed else format_rate(placement.traffic.remote)
        change = ranking.compare_remote(placement)
        moved = placement.diagnostics.remote_bytes_per_second
        sizes: Row = {
            Column("scheduler"): placement.name,
            Column("workers"): len(placement.plan.workers),
            # A terminal has no room for it, and where nothing goes between nodes there is one.
            Column("nodes", page_only=moved is not None): len(placement.plan.nodes),
            Column("between nodes", "/s"): remote,
            Column("between nodes", "bytes/s"): None if moved is None else format_rate(moved),
            Column("part", page_only=not ranking.rates_assumed): format_share(
                placement.remote_share
            ),
            Column(f"against {baseline}"): None if change is None else format_difference(change),
            Column("busiest node"): _show_busiest_load(placement),
            Column("which one", page_only=True): placement.diagnostics.busiest_node,
        }
        prediction = placement.prediction
        if prediction is None:
            return sizes
        return {
            **sizes,
            Column("mean", page_only=ranking.by != "mean"): show_mean(prediction.latency),
            Column("p99"): format_duration(get_quantile(prediction.latency, P99)),
            Column("up to", "/s"): _show_up_to(prediction.limit.per_second),
            Column("verdict", page_only=True): judge_prediction(prediction).word,
        }

    def _risk_table(self) -> Table:
        rows = [_describe_risks(placement) for placement in self.ranking.placements.values()]
        return tabulate(
            "Ackers and risks",
            # The first cell is the scheduler's name.
            [row for row in rows if any(cell is not None for cell in list(row.values())[1:])],
        )

    def _bounds(self) -> list[str]:
        """How far plans are from what was proven to be the least."""
        return [
            f"{name} sends {format_rate(placement.even_remote)} tuples/s between nodes if every"
            " stream is divided evenly; no plan within its limits sends fewer than"
            f" {format_rate(placement.schedule.least_remote)}"
            for name, placement in self.ranking.placements.items()
            if placement.schedule.least_remote is not None
        ]

    def _refusals(self) -> list[str]:
        return [
            textwrap.shorten(f"{name}: {reason}", LONGEST_REASON, placeholder=" …")
            for name, reason in self.ranking.refused.items()
        ]

    def _notes(self) -> list[str]:
        """Warnings about the best plan, and what predictions rest on."""
        best = self.ranking.best
        notes = [*self.load_notes, *best.schedule.warnings]
        if self.ranking.rates_assumed:
            notes.append("no rates are known: every stream counts as if it carried as much")
        if best.prediction is not None:
            notes += best.prediction.notes
        if best.name == OWN_PLAN:
            notes.append(f"{OWN_PLAN}: as in the job's file")
        return list(dict.fromkeys(notes))


def chart_plans(name: str, panels: Sequence[PlanPanel], title: str, *, ackers: bool) -> Chart:
    """Plans beside each other, or why a page does not show them."""
    return Chart(
        title=name,
        draw=partial(draw_plans, panels, title=title, ackers=ackers),
        instead=next(filter(None, (refuse_to_draw(panel.flow.plan) for panel in panels)), ""),
        wide=True,
    )


def list_sizes(plan: PhysicalPlan) -> str:
    """``8 executors · 2 workers · 1 node``."""
    sizes = {"executor": plan.logical.executors, "worker": plan.workers, "node": plan.nodes}
    return " · ".join(count(len(parts), noun) for noun, parts in sizes.items())


def refuse_to_draw(plan: PhysicalPlan) -> str:
    """Why a page does not show a plan; empty where it does."""
    executors = len(plan.logical.executors)
    return f"{executors} executors are too many to draw." if executors > MANY_EXECUTORS else ""


def join_commands(*commands: Sequence[str]) -> tuple[str, ...]:
    """Commands as one types them; those that an engine does not have are left out."""
    return tuple(shlex.join(words) for words in commands if words)


def _show_up_to(per_second: float) -> str | None:
    if math.isnan(per_second):
        return None
    return "no limit" if math.isinf(per_second) else format_rate(per_second)


def _show_bytes(diagnostics: Diagnostics) -> str | None:
    moved = diagnostics.remote_bytes_per_second
    return None if moved is None else format_bytes_rate(moved)


def _show_busiest_load(placement: Placement) -> str:
    load = placement.diagnostics.busiest_load
    if placement.diagnostics.load_by == BY_CORES:
        return format_utilisation(load)
    return f"{format_number(load)} a core"


def _describe_risks(placement: Placement) -> Row:
    diagnostics = placement.diagnostics
    acks = {
        "acks inside workers": diagnostics.acks_local,
        "between workers": diagnostics.acks_inter_worker,
        "between nodes": diagnostics.acks_remote,
    }
    loads = {name: load for name, load in diagnostics.network_loads.items() if load >= FULL_CARD}
    acker_workers = list_names(list(diagnostics.acker_only_workers))
    return {
        Column("scheduler"): placement.name,
        Column("ackers"): diagnostics.ackers or None,
        Column("workers of ackers only", words=True): acker_workers or None,
        **{
            Column(name): None if part is None else format_share(part)
            for name, part in acks.items()
        },
        Column("network cards", words=True): list_names(
            [f"{name} {format_utilisation(load)}" for name, load in loads.items()]
        )
        or None,
        Column("hot nodes", words=True): list_names(list(diagnostics.hot_nodes)) or None,
        Column("heap too small", words=True): list_names(list(diagnostics.heap_risks)) or None,
    }
