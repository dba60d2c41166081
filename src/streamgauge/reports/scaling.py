"""Scalings side by side: which operators get more executors, and what that brings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from streamgauge.drawing.charts import Series, draw_line_chart
from streamgauge.drawing.side_by_side import Panel, draw_side_by_side
from streamgauge.drawing.topology_picture import OperatorMark
from streamgauge.drawing.wording import (
    count,
    format_change,
    format_difference,
    format_estimate,
    format_number,
    format_rate,
    format_share,
    printable,
)
from streamgauge.errors import InvalidInput
from streamgauge.planning.scaling.files.scale_out_file import ScaleOut, scale_out_to_data
from streamgauge.planning.scaling.graph import Allocation, Component
from streamgauge.planning.scaling.measured import Accuracy, MeasuredRates
from streamgauge.planning.scaling.ranking import Proposal, RankedScalings
from streamgauge.planning.scaling.rates import ComponentRates, GraphRates
from streamgauge.planning.scaling.sweep import Bottleneck
from streamgauge.planning.scaling.translation import Unit
from streamgauge.profile.files.jobs import job_to_data, save
from streamgauge.reports.content import (
    Block,
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
from streamgauge.reports.placement_ranking import PLAN_FILE, join_commands
from streamgauge.reports.prediction_verdict import judge_prediction, show_headroom
from streamgauge.reports.report import Report, list_figures
from streamgauge.topology.grouping import Shuffle
from streamgauge.topology.topology import Operator, OperatorKind, Stream, Topology
from streamgauge.transport.engine import load_engine

if TYPE_CHECKING:
    from streamgauge.models.intervals import Intervals
    from streamgauge.models.prediction import Prediction

# More lines say no more at a glance; --json has them all.
MOST_REASONS = 12
MOST_SWEEP_ROWS = 20
Item = TypeVar("Item")
# More components than this cannot be read in a picture.
MANY_COMPONENTS = 200
# A load above this is too much; what is less above one comes from rounding declared times.
FULL = 1.0005


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingRanking(Report):
    """What scalers propose for a job or for components, the best first.

    Attributes:
        ranking: All proposals.
        written: The file that the scaled job was written to, where it was.
        accuracy: Rates of a run against those of the graph, where a run was given.
        measured: The rates of that run.
        intervals: Of the prediction; None where there is none.
    """

    ranking: RankedScalings
    written: str = ""
    accuracy: Accuracy | None = None
    measured: Mapping[str, MeasuredRates] = field(default_factory=dict)
    intervals: Intervals | None = None

    @property
    def title(self) -> str:
        """The job's name."""
        return f"{self.ranking.problem.graph.name}, scaled out"

    @property
    def verdict(self) -> Verdict:
        """What holds on the job's own cluster where it has one; else what the graph says."""
        prediction = self.ranking.prediction
        return self._judge_graph() if prediction is None else self._judge_on_cluster(prediction)

    @property
    def headline(self) -> Sequence[Term]:
        """What is delivered, and how much more would fit."""
        ranking = self.ranking
        prediction = ranking.prediction
        terms = []
        if prediction is not None:
            terms.append(Term("headroom", self._show_headroom(prediction)))
        if prediction is None or not prediction.overloaded:
            terms.append(Term("delivered by the sinks", self._show_gain()))
        used = f"{ranking.best.scaling.units} of {ranking.problem.units}"
        return [*terms, Term("units used", used)]

    def _show_headroom(self, prediction: Prediction) -> str:
        """With how sure it is, where that is known."""
        interval = self.intervals and self.intervals.of("job", "", "headroom")
        shown = show_headroom(prediction.limit.factor)
        return f"{shown} (± {format_share(find_reach(interval))})" if interval else shown

    def sections(self) -> Sequence[Section]:
        """The picture, tables, the curve, remarks and commands."""
        best = self.ranking.best
        refused = [
            f"{name}: {reason.splitlines()[0]}" for name, reason in self.ranking.refused.items()
        ]
        return [
            Section(
                "growth",
                "Who gets how many",
                [self._growth_chart(), self._planner_table(), self._component_table()],
            ),
            Section("curve", "What fewer units bring", self._curve_blocks()),
            Section(
                "accuracy",
                "Measured against estimated",
                [] if self.accuracy is None else [_build_accuracy_table(self.accuracy)],
            ),
            Section("reasons", "Why", [Text(_shorten(best.scaling.reasons))]),
            Section("refused", "No proposal", [Text(refused)]),
            Section("notes", "What to keep in mind", [Text(_shorten(self.ranking.problem.notes))]),
            Section("commands", "To apply it", [Commands(self.commands)]),
        ]

    def document(self) -> Mapping[str, Any]:
        """All proposals with what would flow."""
        ranking = self.ranking
        prediction = ranking.prediction
        return {
            "scaling": {
                "chosen": ranking.best.scaling.scaler,
                "units": ranking.problem.units,
                "unit": ranking.problem.unit.value,
                "verdict": str(self.verdict),
                "on_cluster": None if prediction is None else str(judge_prediction(prediction)),
                "before": ranking.before.to_dict(),
                "planners": {
                    name: _build_proposal_document(proposal)
                    for name, proposal in ranking.proposals.items()
                },
                "prediction": None if prediction is None else prediction.to_dict(),
                "refused": dict(ranking.refused),
                "sweep": [row.to_dict() for row in ranking.sweep],
                "accuracy": None if self.accuracy is None else self.accuracy.to_dict(),
                "notes": list(ranking.problem.notes),
                "commands": list(self.commands),
                **document_intervals(self.intervals),
            }
        }

    def figures(self) -> Iterator[FigureRow]:
        """Throughput by planner, and rates of components with the best proposal."""
        for name, proposal in self.ranking.proposals.items():
            scaling = proposal.scaling
            rates = {"throughput_before": scaling.throughput, "throughput": scaling.expected}
            yield from list_figures("planner", name, {"units": scaling.units})
            yield from list_figures("planner", name, rates, unit="1/s")
        for name, component in self.ranking.best.rates.components.items():
            rates = {rate: getattr(component, rate) for rate in ("input", "capacity", "output")}
            yield from list_figures("component", name, {"units": component.units})
            yield from list_figures("component", name, rates, unit="1/s")

    @property
    def commands(self) -> tuple[str, ...]:
        """What to tell a running topology; nothing where it stays as it is.

        A job that was written is placed by one of our schedulers, and applying that plan changes
        executors too.
        """
        translation = self.ranking.best.translation
        if translation is None or not translation.executors:
            return ()
        if not self.written:
            return (translation.shell,) if translation.command else ()
        place = ["streamgauge", "plan", "place", self.written]
        if self.ranking.problem.unit is Unit.ISOLATED_WORKER:
            place += ["--scheduler", "isolation"]
        apply = load_engine(translation.configuration.engine).apply_command(PLAN_FILE)
        return join_commands([*place, "-o", PLAN_FILE], apply)

    def save_components(self, path: str | Path) -> None:
        """Write the graph in the published form of components, with the rates of a run if given."""
        problem = self.ranking.problem
        components = ScaleOut(graph=problem.graph, free_units=problem.units)
        save(scale_out_to_data(components, self.measured), Path(path))

    def save_job(self, path: str | Path) -> None:
        """Write the job as it would be with the best proposal.

        Raises:
            InvalidInput: Components were scaled, which are no job.
        """
        job = self.ranking.best.job
        if job is None:
            raise InvalidInput.single(
                ("--output",), seen="a file of components", expected="a job file to write anew"
            )
        save(job_to_data(job), Path(path))

    def _judge_on_cluster(self, prediction: Prediction) -> Verdict:
        ranking = self.ranking
        judged = judge_prediction(prediction)
        is_isolated = ranking.problem.unit is Unit.ISOLATED_WORKER
        where = f"placed {'in isolation' if is_isolated else 'evenly'} on its own cluster"
        is_overloaded = judged.grade is Grade.BAD
        sentence = judged.sentence
        if ranking.best.scaling.allocation:
            how = f"{'even ' if is_overloaded else ''}with {self._describe_allocation()}"
        else:
            how = "as it is"
            sentence = sentence if is_overloaded else f": no unit is needed{sentence}"
        ideal = "With a core for every executor and without back-pressure the sinks would deliver"
        return Verdict(
            grade=judged.grade,
            word=judged.word,
            sentence=f" {how}, {where}{sentence}",
            cautions=(f"{ideal} {self._show_gain()}.",) if is_overloaded else (),
        )

    def _judge_graph(self) -> Verdict:
        ranking = self.ranking
        busiest = ranking.best.bottleneck
        has_units = bool(ranking.best.scaling.allocation)
        if busiest is not None and _is_full(busiest):
            grade, word = Grade.BAD, "Still congested"
            times = f"{format_number(busiest.utilisation)} times what it can do"
            load = f"{busiest.component} gets {times}"
            sentence = f"{f' with {self._describe_allocation()}' if has_units else ''}: {load}."
        elif has_units:
            grade, word = Grade.FINE, "Enough"
            sentence = f": {self._describe_allocation()}."
            sentence += f" Busiest then: {_show_load(busiest)}." if busiest is not None else ""
        else:
            grade, word, sentence = Grade.FINE, "No unit is needed", ": nothing is congested."
        why = f"No prediction on the job's own cluster: {ranking.unpredicted}"
        return Verdict(
            grade=grade,
            word=word,
            sentence=sentence,
            cautions=(why,) if ranking.unpredicted else (),
        )

    def _describe_allocation(self) -> str:
        """``work +3, out +1 (combined, 4 units)``."""
        scaling = self.ranking.best.scaling
        used, available = scaling.units, self.ranking.problem.units
        units = count(used, "unit") if used == available else f"{used} of {available} units"
        return f"{show_allocation(scaling.allocation)} ({scaling.scaler}, {units})"

    def _show_gain(self) -> str:
        """``900 → 1,600 tuples/s (+77.8 %)``."""
        scaling = self.ranking.best.scaling
        before = self.ranking.before.throughput
        amount = f"{format_change(before, scaling.expected, format_estimate)} tuples/s"
        if before > 0.0 and scaling.allocation:
            amount += f" ({format_difference(scaling.increase / before)})"
        return f"{amount}, weighted" if self.ranking.options.sink_weights else amount

    def _growth_chart(self) -> Chart:
        components = len(self.ranking.problem.graph.components)
        too_many = f"{components} components are too many to draw; the table lists them."
        return Chart(
            title="Components before and after",
            draw=partial(draw_growth, self.ranking),
            caption="Gauges: what a component gets, as a part of what its units can do.",
            instead=too_many if components > MANY_COMPONENTS else "",
            wide=True,
        )

    def _planner_table(self) -> Table:
        """Planners, where there are several."""
        ranking = self.ranking
        before = ranking.before.throughput
        rows = [
            _describe_proposal(name, proposal, before)
            for name, proposal in ranking.proposals.items()
        ]
        return tabulate(
            "Planners, the best first",
            rows if len(rows) + len(ranking.refused) > 1 else [],
            note="Delivered: tuples that the sinks emit or, in a job, process. At most: no"
            " allocation of as many units delivers more.",
        )

    def _component_table(self) -> Table:
        ranking = self.ranking
        return tabulate(
            "Components, before → after; more than 100 % busy is congested",
            [
                _describe_component(
                    component,
                    ranking.before[component.name],
                    ranking.best.rates[component.name],
                    unit="units" if ranking.problem.job is None else "executors",
                )
                for component in ranking.problem.graph.components
            ],
        )

    def _curve_blocks(self) -> list[Block]:
        ranking = self.ranking
        if not ranking.sweep:
            return []
        draw = partial(
            draw_line_chart,
            [float(units) for units in range(ranking.problem.units + 1)],
            [Series(name=name, values=ranking.curve(name)) for name in ranking.proposals],
            title="Delivered by the sinks, tuples per second",
            x_title="units more",
        )
        return [Chart(title="Delivered by units", draw=draw), self._sweep_table()]

    def _sweep_table(self) -> Table:
        ranking = self.ranking
        caption = "What fewer units would bring"
        if len(ranking.proposals) == 1:
            return tabulate(
                caption,
                [
                    {
                        Column("units"): row.units,
                        Column("delivered", "/s"): format_estimate(row.throughput),
                        Column("who gets how many", words=True): show_allocation(row.allocation),
                        Column("busiest then", words=True): _show_load(row.bottleneck),
                    }
                    for row in _thin_out(ranking.sweep)
                ],
            )
        curves = {name: ranking.curve(name) for name in ranking.proposals}
        return tabulate(
            f"{caption}, delivered in tuples/s",
            [
                {
                    Column("units"): units,
                    **{
                        Column(name): format_estimate(curve[units])
                        for name, curve in curves.items()
                    },
                }
                for units in _thin_out(range(ranking.problem.units + 1))
            ],
        )


def show_allocation(allocation: Allocation) -> str:
    """``work +3, out +1``."""
    return ", ".join(f"{name} +{units}" for name, units in allocation.items()) or "nobody"


def _build_proposal_document(proposal: Proposal) -> dict[str, Any]:
    scaling, translation = proposal.scaling, proposal.translation
    return {
        "allocation": dict(scaling.allocation),
        "throughput": scaling.throughput,
        "expected": scaling.expected,
        "bound": scaling.bound,
        "reasons": list(scaling.reasons),
        "candidates": [candidate.to_dict() for candidate in scaling.candidates],
        "bottleneck": None if proposal.bottleneck is None else asdict(proposal.bottleneck),
        "after": proposal.rates.to_dict(),
        "command": None if translation is None else translation.shell or None,
    }


def _describe_proposal(name: str, proposal: Proposal, before: float) -> Row:
    scaling = proposal.scaling
    return {
        Column("planner"): name,
        Column("who gets how many", words=True): show_allocation(scaling.allocation),
        Column("delivered", "/s"): format_estimate(scaling.expected),
        Column("more"): format_difference(scaling.increase / before) if before > 0.0 else None,
        Column("at most", "/s"): None if scaling.bound is None else format_estimate(scaling.bound),
        Column("busiest then", words=True): _show_load(proposal.bottleneck),
    }


def _build_accuracy_table(accuracy: Accuracy) -> Table:
    pairs = dict(accuracy.components)
    if accuracy.throughput is not None:
        pairs["all sinks"] = accuracy.throughput
    missing = f" Not measured: {', '.join(accuracy.missing)}." if accuracy.missing else ""
    return tabulate(
        "Tuples per second that components process, measured and estimated",
        [
            {
                Column("component"): name,
                Column("measured", "/s"): format_rate(pair.measured),
                Column("estimated", "/s"): format_rate(pair.estimated),
                Column("error"): format_difference(pair.relative_error),
                Column(f"within {format_share(accuracy.band)}"): "yes"
                if accuracy.is_within(pair)
                else "no",
            }
            for name, pair in pairs.items()
        ],
        note=f"Estimated for the executors and the sources' rates of the run.{missing}",
    )


def _describe_component(
    component: Component, before: ComponentRates, after: ComponentRates, *, unit: str
) -> Row:
    received: Row = {
        Column("gets", "/s"): format_change(before.input, after.input, format_rate),
        Column("can do", "/s"): format_change(before.capacity, after.capacity, format_rate),
        Column("busy"): format_change(compute_load(before), compute_load(after), format_share),
    }
    return {
        Column("component"): component.name,
        Column(unit): str(after.units)
        if before.units == after.units
        else f"{before.units} → {after.units}",
        **(dict.fromkeys(received) if component.source else received),
        Column("emits", "/s"): format_change(before.output, after.output, format_rate),
    }


def _is_full(bottleneck: Bottleneck) -> bool:
    return bottleneck.congested and bottleneck.utilisation > FULL


def _show_load(bottleneck: Bottleneck | None) -> str | None:
    if bottleneck is None:
        return None
    return f"{bottleneck.component}, {format_share(bottleneck.utilisation)}"


def _shorten(sentences: Sequence[str]) -> list[str]:
    more = len(sentences) - MOST_REASONS
    shown = list(sentences[:MOST_REASONS])
    return [*shown, f"and {more} more; --json lists them all"] if more > 0 else shown


def _thin_out(rows: Sequence[Item]) -> list[Item]:
    """At most so many rows as can be read, at equal distances, and the last one."""
    stride = -(-len(rows) // MOST_SWEEP_ROWS)
    return list(dict.fromkeys((*rows[::stride], rows[-1])))


def draw_growth(ranking: RankedScalings, *, embedded: bool = False) -> str:
    """Components as they are and as the best proposal would have them, as an SVG."""
    scaling = ranking.best.scaling
    panels = [
        _draw_panel(ranking, "before", ranking.before),
        _draw_panel(
            ranking,
            f"after: {scaling.scaler} with {count(scaling.units, 'unit')} more",
            ranking.best.rates,
        ),
    ]
    name = ranking.problem.graph.name
    return draw_side_by_side(
        panels,
        title=printable(f"components of {name} before and after scaling out"),
        embedded=embedded,
        gauge="component",
        alarm="congested",
        flag="gets more",
    )


def compute_load(rates: ComponentRates) -> float:
    """What a component gets, as a part of what it can do."""
    return rates.input / rates.capacity if rates.capacity > 0.0 else 0.0


def _draw_panel(ranking: RankedScalings, title: str, rates: GraphRates) -> Panel:
    components = ranking.problem.graph.components
    return Panel(
        title=printable(title),
        lines=[f"{format_estimate(rates.throughput)} tuples/s are delivered by the sinks"],
        topology=_build_topology(ranking),
        executors={component.name: rates[component.name].units for component in components},
        marks={
            component.name: _mark_component(
                ranking.before[component.name], rates[component.name], is_source=component.source
            )
            for component in components
        },
    )


def _build_topology(ranking: RankedScalings) -> Topology:
    """The job's own topology, or one that looks like the graph."""
    problem = ranking.problem
    if problem.job is not None:
        return problem.job.topology
    return Topology(
        name=problem.graph.name,
        operators=tuple(
            Operator(
                name=component.name,
                kind=OperatorKind.SOURCE if component.source else OperatorKind.PROCESSOR,
                tasks=max(1, ranking.best.rates[component.name].units),
            )
            for component in problem.graph.components
        ),
        streams=tuple(
            Stream(source=edge.source, target=edge.target, name=edge.target, grouping=Shuffle())
            for edge in problem.graph.edges
        ),
    )


def _mark_component(
    before: ComponentRates, after: ComponentRates, *, is_source: bool
) -> OperatorMark:
    units = count(after.units, "unit")
    if before.units != after.units:
        units = f"{before.units} → {units}"
    if is_source:
        emitted = format_change(before.output, after.output, format_rate)
        return OperatorMark(parallelism=units, line=f"emits {emitted} tuples/s")
    load = compute_load(after)
    capacity = format_change(before.capacity, after.capacity, format_rate)
    return OperatorMark(
        level=min(load, 1.0),
        level_text=format_share(load),
        flag=f"{after.units - before.units} more" if after.units > before.units else "",
        parallelism=units,
        line=f"gets {format_change(before.input, after.input, format_rate)} tuples/s",
        more=(f"can do {capacity} tuples/s",),
        alarm="congested" if load > FULL else "",
    )
