"""What a profile says: what was measured, when and where, and how good each figure is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from typing import Any

from streamgauge.drawing.wording import count, format_number, format_period, format_plain_number
from streamgauge.models.measured_capacity import OperatorFit, fit_operators
from streamgauge.profile.figures import Figure
from streamgauge.profile.files.jobs import profile_to_data
from streamgauge.profile.profile import Profile
from streamgauge.profile.quality import Assessment, assess_profile
from streamgauge.profile.quality import Verdict as Quality
from streamgauge.reports import profile_tables as tables
from streamgauge.reports.capacity import (
    document_fits,
    tabulate_curves,
    tabulate_psi,
    tabulate_scaling,
)
from streamgauge.reports.content import (
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
    tabulate_groups,
)
from streamgauge.reports.profile_tables import show_figure
from streamgauge.reports.report import Report, list_figures

JOB = "links and workers"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileReport(Report):
    """What was measured of a job.

    Attributes:
        operator: Whose tasks are shown one by one; all operators in brief when None.
    """

    profile: Profile
    operator: str | None = None

    @property
    def assessments(self) -> list[Assessment]:
        """How good each figure is that models need."""
        return [
            assessment
            for assessment in assess_profile(self.profile)
            if self.operator is None or assessment.operator == self.operator
        ]

    @property
    def title(self) -> str:
        """The job's name."""
        return f"{self.profile.topology.name}, measured"

    @property
    def about(self) -> str:
        """Engine, plan, period and size."""
        profile = self.profile
        plan = "" if profile.plan_id is None else f", plan {profile.plan_id}"
        size = "placement not known"
        if profile.placement:
            workers = count(len(set(profile.placement.values())), "worker")
            size = f"{count(len(profile.placement), 'executor')} in {workers}"
        return (
            f"{profile.topology.name} on {profile.configuration.engine}{plan},"
            f" {self._show_period()}; {size}; {self._show_replicas()}"
        )

    def _show_period(self) -> str:
        period = self.profile.period
        if period is None:
            return "period not known"
        text = f"{period.start} to {period.end}"
        try:
            length = datetime.fromisoformat(period.end) - datetime.fromisoformat(period.start)
        except (ValueError, TypeError):
            return text
        return f"{text} ({format_period(length.total_seconds())})"

    def _show_replicas(self) -> str:
        replicas = self.profile.replicas
        if replicas is None:
            return "no replicas"
        blocks = (
            f"{count(replicas.blocks, 'block')} of {format_plain_number(replicas.block_seconds)} s"
        )
        if replicas.count == 0:
            return f"no replicas, as {blocks} are too few"
        file = f" in {replicas.file}" if replicas.file else ""
        return f"{count(replicas.count, 'replica')} from {blocks}{file}"

    @property
    def verdict(self) -> Verdict:
        """How many figures are well measured."""
        counts = Counter(assessment.verdict for assessment in self.assessments)
        good, thin, missing = (
            counts[quality] for quality in (Quality.GOOD, Quality.THIN, Quality.MISSING)
        )
        return Verdict(
            grade=Grade.WARNING if thin or missing else Grade.FINE,
            word=f"Well measured: {good} of {counts.total()} figures",
            sentence=f". Thin: {thin or 'none'}. Missing: {missing or 'none'}.",
        )

    @property
    def headline(self) -> list[Term]:
        """How much of the input was processed, and how long tuples were held back."""
        profile = self.profile
        terms = []
        if profile.juice is not None:
            parts = profile.juice.operators.items()
            each = ", ".join(f"{name} {format_number(part)}" for name, part in parts)
            name = "juice (part of the sources' input that was processed)"
            juice = show_figure(profile.juice.topology)
            terms.append(Term(name, f"{juice} ({each})" if each else f"{juice}"))
        if profile.backpressure_minutes is not None:
            minutes = format_plain_number(profile.backpressure_minutes)
            terms.append(Term("back-pressure", f"in {minutes} minutes"))
        return terms

    def sections(self) -> list[Section]:
        """Tables of the figures, then how good they are, then notes."""
        if self.operator is None:
            parts = self._tabulate_all()
        else:
            parts = self._tabulate_operator(self.operator)
        return [
            *parts,
            Section("quality", "How good the figures are", self._rate()),
            Section("notes", "Notes", self._notes()),
        ]

    def _tabulate_all(self) -> list[Section]:
        profile = self.profile
        return [
            Section(
                "operators",
                "Operators",
                [
                    tables.tabulate_operators(profile),
                    tables.tabulate_times(profile, tables.list_operators(profile)),
                    tables.tabulate_windows(profile),
                ],
            ),
            Section("latency", "Latency", [tables.tabulate_latencies(profile)]),
            Section(
                "streams",
                "Streams",
                [tables.tabulate_streams(profile, profile.topology.data_streams)],
            ),
            Section(
                "resources",
                "Queues, cores and links",
                [
                    tables.tabulate_queues(profile, list(profile.executors)),
                    tables.tabulate_hosts(profile),
                    tables.tabulate_links(profile),
                ],
            ),
            Section(
                "history",
                "History",
                [tables.tabulate_saturation(profile), tables.tabulate_series(profile)],
            ),
            self._tabulate_capacity(),
        ]

    def fit_throughput(self) -> Mapping[str, OperatorFit]:
        """Throughput curves, exponents and ψ, of all operators or the chosen one."""
        fits = fit_operators(self.profile)
        return {name: fit for name, fit in fits.items() if self.operator in (None, name)}

    def _tabulate_capacity(self) -> Section:
        fits = self.fit_throughput()
        parts = [tabulate_curves(fits), tabulate_scaling(fits), tabulate_psi(fits)]
        return Section("capacity", "Capacity", parts)

    def _tabulate_operator(self, operator: str) -> list[Section]:
        profile = self.profile
        streams = [
            stream
            for stream in profile.topology.data_streams
            if operator in (stream.source, stream.target)
        ]
        executors = [
            label for label in profile.executors if tables.find_operator(label) == operator
        ]
        return [
            Section(
                "operator",
                operator,
                [
                    tables.tabulate_tasks(profile, operator),
                    tables.tabulate_times(profile, [operator]),
                    tables.tabulate_streams(profile, streams),
                    tables.tabulate_queues(profile, executors),
                ],
            ),
            self._tabulate_capacity(),
            Section(
                "ranges",
                "How far tasks differ",
                [Text(list(tables.describe_ranges(profile, operator)))],
            ),
        ]

    def _rate(self) -> list[Table]:
        good: dict[str, dict[str, None]] = {}
        lacking: dict[str, list[Row]] = {Quality.MISSING: [], Quality.THIN: []}
        for assessment in self.assessments:
            if assessment.verdict is Quality.GOOD:
                good.setdefault(assessment.operator or JOB, {})[assessment.what] = None
            else:
                lacking[assessment.verdict].append(_show_assessment(assessment))
        return [
            tabulate_groups(
                "Thin or missing figures",
                {quality: rows for quality, rows in lacking.items() if rows},
            ),
            tabulate(
                "Well measured figures",
                [
                    {Column("operator"): name, Column("figures", words=True): ", ".join(figures)}
                    for name, figures in good.items()
                ],
            ),
        ]

    def _notes(self) -> list[Text]:
        remarks = [
            f"{_name_figure(assessment)}: {assessment.why}"
            for assessment in self.assessments
            if assessment.verdict is Quality.GOOD and assessment.why
        ]
        notes = [*self.profile.notes, *remarks]
        return [Text(notes)] if notes else []

    def document(self) -> dict[str, Any]:
        """The profile as its file holds it, and how good its figures are.

        With an operator, the tasks of all others are left out.
        """
        data = profile_to_data(self.profile)
        if self.operator is not None:
            tasks = data["profile"].get("operators", {})
            data["profile"]["operators"] = {
                name: tasks[name] for name in tasks if name == self.operator
            }
        return {
            "profile": data,
            "quality": [rated.to_dict() for rated in self.assessments],
            "capacities": document_fits(self.fit_throughput()),
        }

    def figures(self) -> Iterator[FigureRow]:
        """Every figure of tasks, executors, workers, nodes, machines and links."""
        profile = self.profile
        for (operator, place), task in profile.tasks.items():
            if self.operator in (None, operator):
                yield from _walk_figures("task", f"{operator}[{place}]", "", task)
        if self.operator is not None:
            return
        for kind in ("executor", "worker", "node", "machine"):
            for name, record in getattr(profile, f"{kind}s").items():
                yield from _walk_figures(kind, name, "", record)
        for link in profile.links:
            name = f"{link.source} → {link.target}"
            yield from _walk_figures("link", name, "latency", link.latency)


def _name_figure(assessment: Assessment) -> str:
    names = (assessment.operator, assessment.subject)
    return " ".join(name for name in names if name) + f": {assessment.what}"


def _show_assessment(assessment: Assessment) -> Row:
    return {
        Column("figure"): _name_figure(assessment),
        Column("why", words=True): assessment.why,
        Column("what to do", words=True): assessment.remedy,
    }


def _walk_figures(subject: str, name: str, path: str, record: object) -> Iterator[FigureRow]:
    """The figures inside a record, each named by the fields that lead to it."""
    if isinstance(record, Figure):
        yield from list_figures(subject, name, {path: record.value})
    elif isinstance(record, Mapping):
        for key, value in record.items():
            yield from _walk_figures(subject, name, f"{path} {key}".strip(), value)
    elif is_dataclass(record):
        for field in fields(record):
            inner = f"{path} {field.name}".strip()
            yield from _walk_figures(subject, name, inner, getattr(record, field.name))
