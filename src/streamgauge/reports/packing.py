"""Machines to buy for a job: what runs where, what it costs, and how little it could cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from streamgauge.drawing.charts import Series, draw_line_chart
from streamgauge.drawing.wording import (
    count,
    format_difference,
    format_duration,
    format_estimate,
    format_rate,
    format_share,
)
from streamgauge.planning.packing.catalogue import HOURS_PER_MONTH
from streamgauge.planning.packing.choosing import Choice, JudgedPlan, Option, Rival, fullest
from streamgauge.planning.packing.instances import fragmentation
from streamgauge.planning.packing.prices import fit_price_planes
from streamgauge.profile.files.jobs import job_to_data, save
from streamgauge.profile.job import Assignment, Job
from streamgauge.reports.content import (
    Chart,
    Column,
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
from streamgauge.reports.report import Report, list_figures

P99 = 0.99
OURS = "chosen"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackingReport(Report):
    """What to buy, with the spectrum and the baselines.

    Attributes:
        job: As it was given; the report sizes it anew.
        written: The file that the placed job was written to, where it was.
    """

    choice: Choice
    job: Job
    written: str = ""

    @property
    def title(self) -> str:
        """The job's name."""
        return f"{self.job.topology.name}, machines to buy"

    @property
    def warnings(self) -> Sequence[str]:
        """That prices are invented, where they are."""
        catalogue = self.choice.catalogue
        if not catalogue.is_example:
            return ()
        return (f"catalogue {catalogue.name!r} is an example: its prices are invented",)

    @property
    def verdict(self) -> Verdict:
        """Whether the objective is met, for how much, and how little it could be."""
        best, choice = self.choice.chosen.best, self.choice
        machines = count(len(best.plan.machines), "machine")
        price = self._show_price(best.price)
        latency = f"p99 {_show_latency(best)}"
        if best.meets:
            word, grade = "Buy", Grade.WARNING if best.is_unsteady else Grade.FINE
            sentence = f" {machines} for {price}: {self._show_load()}, {latency}."
        elif best.prediction.overloaded:
            word, grade = "Not feasible", Grade.BAD
            full = ", ".join(list(best.prediction.overloaded)[:3])
            sentence = (
                f": every plan is overloaded; on {machines} for {price} the fullest are {full}."
                f" {self._say_what_would_help()}"
            )
        else:
            word, grade = "Not feasible", Grade.BAD
            sentence = (
                f": no plan meets {choice.objective}. The best that was found, {machines} for"
                f" {price}, has {latency}"
                f"{' on machines too full to count on it' if best.is_unsteady else ''}."
                f" {self._say_what_would_help()}"
            )
        return Verdict(grade=grade, word=word, sentence=sentence)

    @property
    def headline(self) -> Sequence[Term]:
        """Price, latency, bound and what is full."""
        best, choice = self.choice.chosen.best, self.choice
        terms = [
            Term("price", self._show_price(best.price)),
            Term("p99 latency", _show_latency(best)),
            Term(
                "a month (730 hours)",
                f"{best.price * HOURS_PER_MONTH:,.0f} {choice.catalogue.currency}",
            ),
        ]
        if choice.bound is not None:
            gap = best.price / choice.bound - 1.0
            proven = "cannot be less" if gap < 1e-6 else f"at most {format_share(gap)} too dear"
            terms.append(Term("proven lower bound", f"{choice.bound:.3f} an hour, {proven}"))
        binding = fullest(best.plan)
        if binding is not None:
            terms.append(
                Term("binding resource", f"{binding[0]}, {format_share(binding[1])} taken")
            )
        terms.append(Term("executors and cores planned", f"{format_share(best.job.fill)} busy"))
        return terms

    def sections(self) -> Sequence[Section]:
        """Machines, spectrum, baselines, prices and remarks."""
        return [
            Section("machines", "What to buy", [self._machine_table(), self._content_table()]),
            Section("spectrum", "Cost against throughput", [self._chart(), self._spectrum_table()]),
            Section("baselines", "Beside it", [self._rival_table(), Text(self._why_no_rival())]),
            Section("prices", "Prices of the catalogue", [self._price_table()]),
            Section("notes", "What to keep in mind", [Text(self._notes())]),
        ]

    def document(self) -> Mapping[str, Any]:
        """The choice, the spectrum and the baselines."""
        choice = self.choice
        return {
            "packing": {
                "verdict": str(self.verdict),
                "meets": choice.chosen.best.meets,
                "objective": str(choice.objective),
                "currency": choice.catalogue.currency,
                "is_example_catalogue": choice.catalogue.is_example,
                "lower_bound_per_hour": choice.bound,
                "chosen": _describe_plan(choice.chosen.best, placement=True),
                "options": [
                    {
                        "sources": one.sources,
                        "per_second": one.per_second,
                        "dominated": one.is_dominated,
                        **_describe_plan(one.best),
                        "meezan": None if one.meezan is None else _describe_plan(one.meezan),
                    }
                    for one in choice.options
                ],
                "baselines": {
                    rival.name: {"why_not": rival.why_not}
                    if rival.judged is None
                    else _describe_plan(rival.judged)
                    for rival in choice.rivals
                },
                "price_planes": {
                    category.value: {
                        "per_core": plane.per_core,
                        "per_gib": plane.per_gib,
                        "base": plane.base,
                        "r_squared": plane.r_squared,
                    }
                    for category, plane in fit_price_planes(choice.catalogue).items()
                },
                "notes": list(self._notes()),
            }
        }

    def figures(self) -> Iterator[FigureRow]:
        """Price and latency of all options and baselines."""
        for option in self.choice.options:
            name = f"{option.sources} sources"
            yield from list_figures("option", name, {"throughput": option.per_second}, unit="1/s")
            yield from _list_plan("option", name, option.best)
        for rival in self.choice.rivals:
            if rival.judged is not None:
                yield from _list_plan("baseline", rival.name, rival.judged)

    def placed_job(self) -> Job:
        """The job with the machines as its cluster, and its executors on them."""
        best = self.choice.chosen.best
        plan, job = best.physical, self.job
        behaviours = {
            name: replace(one, relative_service=None) for name, one in job.behaviours.items()
        }
        return replace(
            job,
            topology=best.job.behaviour.topology,
            behaviours=behaviours,
            configuration=plan.logical.configuration,
            cluster=plan.cluster,
            workload=best.job.workload,
            plan=Assignment.of(plan),
            steps={},
        )

    def save_job(self, path: str | Path) -> None:
        """Write the job as it would be submitted."""
        save(job_to_data(self.placed_job()), Path(path))

    def _show_price(self, price: float) -> str:
        return f"{price:.3f} {self.choice.catalogue.currency} an hour"

    def _show_load(self) -> str:
        return f"{format_estimate(self.choice.chosen.per_second)} tuples/s"

    def _say_what_would_help(self) -> str:
        """The nearest option of the spectrum that is feasible, or what to change."""
        fine = [one for one in self.choice.options if one.best.meets]
        if fine:
            most = max(fine, key=lambda one: one.per_second)
            return (
                f"Up to {format_estimate(most.per_second)} tuples/s it can be met, for"
                f" {self._show_price(most.best.price)}."
            )
        return "A lower rate, a weaker objective or machines with faster links may make it so."

    def _machine_table(self) -> Table:
        plan = self.choice.chosen.best.plan
        rows: list[Row] = [
            {
                Column("machine type"): machine.name,
                Column("category", words=True): machine.category.value,
                Column("how many"): many,
                Column("cores"): f"{machine.cores:g}",
                Column("price", "an hour"): f"{machine.price_per_hour:.3f}",
                Column("together", "an hour"): f"{many * machine.price_per_hour:.3f}",
                Column(
                    "together", "a month"
                ): f"{many * machine.price_per_hour * HOURS_PER_MONTH:,.0f}",
            }
            for machine, many in plan.bought.items()
        ]
        return tabulate(f"Machines, in {self.choice.catalogue.currency}", rows)

    def _content_table(self) -> Table:
        best = self.choice.chosen.best
        rows: list[Row] = []
        for machine, content, predicted, load, room in zip(
            best.plan.machines,
            best.plan.contents,
            best.prediction.machines,
            best.plan.loads,
            best.plan.rooms,
            strict=True,
        ):
            counted = Counter(best.plan.instances.operators[index] for index in content)
            runs = ", ".join(f"{many} {name}" for name, many in sorted(counted.items()))
            rows.append(
                {
                    Column("machine"): predicted.name,
                    Column("runs", words=True): runs,
                    Column("cores in use", "predicted"): format_share(predicted.in_use),
                    Column("memory taken"): format_share(float(load[1] / room[1])),
                    Column("router load"): format_share(float(load[4] / room[4]))
                    if machine.router_per_second is not None
                    else None,
                }
            )
        return tabulate("What runs where", rows)

    def _chart(self) -> Chart:
        options = self.choice.options
        lines = [Series(name=OURS, values=[one.best.price for one in options])]
        meezan = [math.nan if one.meezan is None else one.meezan.price for one in options]
        lines.append(Series(name="Meezan", values=meezan))
        bounds = [one.best.plan.proven or math.nan for one in options]
        if any(math.isfinite(bound) for bound in bounds):
            lines.append(Series(name="lower bound", values=bounds))
        draw = partial(
            draw_line_chart,
            [one.per_second for one in options],
            lines,
            title=f"Price of machines, {self.choice.catalogue.currency} an hour; p99 at each point",
            x_title="tuples per second of all sources",
            labels=[_show_latency(one.best) for one in options],
        )
        return Chart(title="Cost against throughput", draw=draw)

    def _spectrum_table(self) -> Table:
        return tabulate(
            "Options: executors of the source that has most, and what they carry",
            [self._describe_option(one) for one in self.choice.options],
            note="Lower bound: for the executors of that option. An option is dominated where"
            " another carries as much for no more.",
        )

    def _describe_option(self, option: Option) -> Row:
        best = option.best
        remarks = [] if best.meets else ["misses the objective"]
        remarks += ["dominated"] if option.is_dominated else []
        remarks += ["chosen"] if option.sources == self.choice.chosen.sources else []
        return {
            Column("sources"): option.sources,
            Column("carries", "tuples/s"): format_rate(option.per_second),
            Column("price", "an hour"): f"{best.price:.3f}",
            Column("p99"): _show_latency(best),
            Column("machines", words=True): _list_machines(best),
            Column("executors"): len(best.plan.instances),
            Column("lower bound"): None if best.plan.proven is None else f"{best.plan.proven:.3f}",
            Column("Meezan", "an hour"): None
            if option.meezan is None
            else f"{option.meezan.price:.3f}",
            Column("", words=True): ", ".join(remarks),
        }

    def _rival_table(self) -> Table:
        chosen = self.choice.chosen.best
        rivals = [Rival(name=OURS, judged=chosen), *self.choice.rivals]
        rows = [
            _describe_rival(rival.name, rival.judged, chosen)
            for rival in rivals
            if rival.judged is not None
        ]
        return tabulate(
            "The same load by other planners",
            rows,
            note="Others fill executors and machines to 90 %, as published. Unused: of all that"
            " was bought, and the product over resources. The exact program looks at price alone;"
            " round robin gets as many machines, all of the largest type.",
        )

    def _why_no_rival(self) -> list[str]:
        return [
            f"{rival.name}: {rival.why_not}" for rival in self.choice.rivals if rival.judged is None
        ]

    def _price_table(self) -> Table:
        return tabulate(
            "price = a · cores + b · GiB + c, by least squares",
            [
                {
                    Column("category"): category.value,
                    Column("types"): plane.machines,
                    Column("a", "per core"): f"{plane.per_core:.4f}",
                    Column("b", "per GiB"): f"{plane.per_gib:.4f}",
                    Column("c"): f"{plane.base:.4f}",
                    Column("R²"): f"{plane.r_squared:.4f}",
                }
                for category, plane in fit_price_planes(self.choice.catalogue).items()
            ],
            note="Where all types of a category have as many GiB to a core, a and b cannot be told"
            " apart; their sum is right.",
            page_only=True,
        )

    def _notes(self) -> list[str]:
        best = self.choice.chosen.best
        notes = [
            "memory of an executor is what the configuration declares, or the engine's default",
            "the bound holds for these executors, filled as planned; others could cost less",
        ]
        return [*notes, *dict.fromkeys(best.prediction.notes)]


def _show_latency(judged: JudgedPlan) -> str:
    if judged.prediction.overloaded:
        return "overloaded"
    return format_duration(_p99(judged))


def _p99(judged: JudgedPlan) -> float:
    return judged.prediction.latency.quantiles.get(P99, math.nan)


def _list_machines(judged: JudgedPlan) -> str:
    return ", ".join(f"{many} × {one.name}" for one, many in judged.plan.bought.items())


def _describe_rival(name: str, judged: JudgedPlan, chosen: JudgedPlan) -> Row:
    left = fragmentation(judged.plan)
    difference = judged.price / chosen.price - 1.0
    return {
        Column("planner"): name,
        Column("price", "an hour"): f"{judged.price:.3f}",
        Column("dearer"): None if judged is chosen else format_difference(difference),
        Column("p99"): _show_latency(judged),
        Column("meets"): "yes" if judged.meets else "no",
        Column("between machines", "tuples/s"): format_rate(judged.plan.cross_rate),
        Column("machines", words=True): _list_machines(judged),
        **{
            Column(f"unused {resource}"): format_share(part)
            for resource, part in left.by_resource.items()
            if resource != "disk"
        },
        Column("product"): f"{left.product:.3f}",
        Column("each source", "tuples/s"): format_rate(throughput_per_source(judged)),
    }


def throughput_per_source(judged: JudgedPlan) -> float:
    """What each source executor gets through: all of its load, or what the plan carries of it."""
    logical = judged.physical.logical
    sources = sum(len(logical.spans[one.name]) for one in logical.topology.sources)
    worst = max(judged.prediction.overloaded.values(), default=1.0)
    return judged.job.per_second / max(worst, 1.0) / sources


def _describe_plan(judged: JudgedPlan, *, placement: bool = False) -> dict[str, Any]:
    plan, left = judged.plan, fragmentation(judged.plan)
    described: dict[str, Any] = {
        "method": plan.method,
        "meets": judged.meets,
        "price_per_hour": plan.price_per_hour,
        "price_per_month": plan.price_per_month,
        "p99_seconds": _p99(judged),
        "mean_seconds": judged.prediction.latency.mean,
        "overloaded": dict(judged.prediction.overloaded),
        "planned_fill": judged.job.fill,
        "executors": dict(judged.job.executors()),
        "machines": {machine.name: many for machine, many in plan.bought.items()},
        "between_machines_per_second": plan.cross_rate,
        "unused": {resource.value: part for resource, part in left.by_resource.items()},
        "unused_product": left.product,
        "throughput_per_source": throughput_per_source(judged),
        "lower_bound_per_hour": plan.proven,
    }
    if placement:
        described["placement"] = [
            {"machine": machine.name, "type": kind.name, "executors": list(labels)}
            for machine, kind, labels in zip(
                judged.physical.cluster.machines,
                plan.machines,
                (
                    [executor.label for executor in executors]
                    for executors in judged.physical.executors_by_worker.values()
                ),
                strict=True,
            )
        ]
    return described


def _list_plan(subject: str, name: str, judged: JudgedPlan) -> Iterator[FigureRow]:
    yield from list_figures(subject, name, {"price_per_hour": judged.price}, unit="")
    yield from list_figures(subject, name, {"latency_p99": _p99(judged)}, unit="s")
    yield from list_figures(subject, name, {"machines": len(judged.plan.machines)})
