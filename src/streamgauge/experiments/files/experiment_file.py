"""The experiment file: a job, its steps, and how they are measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from streamgauge.applications.expansion import make_job
from streamgauge.applications.files.applications import load_application
from streamgauge.applications.files.platforms import load_platform
from streamgauge.engines.runner import WarmUp
from streamgauge.errors import Findings, InvalidInput, did_you_mean
from streamgauge.experiments.experiment import Experiment, ExperimentStep, Marking
from streamgauge.experiments.studies import (
    EventRule,
    Fidelity,
    LoadSweep,
    Study,
    make_halving_steps,
    make_rate_steps,
    make_service_steps,
    scale_service,
    set_rate,
)
from streamgauge.profile.files.jobs import load_job, parse_job
from streamgauge.profile.files.plans import PlanFile, StepFile
from streamgauge.profile.job import Assignment, Job
from streamgauge.topology.cluster import Cluster
from streamgauge.topology.field_checks import format_value
from streamgauge.topology.files.document import Document, dump_json, read_document
from streamgauge.topology.files.file_model import FileModel, build_part, list_keys, validate
from streamgauge.topology.files.sections import ClusterFile

VERSION = 1


class VariantFile(StepFile):
    """A step: what it changes of the job."""

    job: dict[str, Any] | None = None
    rate: float | dict[str, float] | None = None
    service: dict[str, float] = {}
    placement: str | PlanFile | None = None


class ApplicationReference(FileModel):
    """A synthetic application in another file, and the platform that it is made for."""

    application: str
    platform: str | None = None


class WarmUpFile(FileModel):
    """What happens before the first window counts."""

    seconds: float = WarmUp().seconds
    calls: int = WarmUp().calls
    rate_factor: float = WarmUp().rate_factor
    agreement: float = WarmUp().agreement
    most_seconds: float | None = None

    def build(self) -> WarmUp:
        """The warm-up; it may last ten times what it must."""
        given = self.model_dump(exclude={"most_seconds"})
        most = self.most_seconds
        return WarmUp(**given, most_seconds=10.0 * self.seconds if most is None else most)


class MarkingFile(FileModel):
    """Which windows are marked and left out."""

    stolen_share: float = Marking().stolen_share
    collection_seconds: float = Marking().collection_seconds
    coverage: float = Marking().coverage

    def build(self) -> Marking:
        """The rule."""
        return Marking(**self.model_dump())


class EventRuleFile(FileModel):
    """When a latency is a sign of back-pressure."""

    enter: float = EventRule().enter
    leave: float = EventRule().leave
    gap_seconds: float = EventRule().gap_seconds
    least_seconds: float = EventRule().least_seconds
    persistent_share: float = EventRule().persistent_share

    def build(self) -> EventRule:
        """The rule."""
        return EventRule(**self.model_dump())


class SweepFile(FileModel):
    """Rates of all sources together, or factors on the service time of an operator."""

    rates: list[float] = []
    operator: str | None = None
    factors: list[float] = []
    events: EventRuleFile = EventRuleFile()


class HalvingFile(FileModel):
    """Operators whose service time is halved, each in its turn; all but sources by default."""

    operators: list[str] = []


class FidelityFile(FileModel):
    """The step that the others imitate."""

    reference: str


class StudyFile(FileModel):
    """Exactly one of the studies."""

    sweep: SweepFile | None = None
    halving: HalvingFile | None = None
    fidelity: FidelityFile | None = None


class ExperimentFile(FileModel):
    """An experiment."""

    streamgauge: Literal[1]
    experiment: str
    about: str = ""
    job: dict[str, Any]
    base: VariantFile = VariantFile()
    cluster: ClusterFile | None = None
    steps: dict[str, VariantFile | None] = {}
    study: StudyFile | None = None
    warm_up: WarmUpFile = WarmUpFile()
    windows: int = 5
    window_seconds: float = 30.0
    bucket_seconds: float = 1.0
    repetitions: int = 5
    order: Literal["random", "declared"] = "random"
    seed: int = 1
    clean_start: bool = Field(
        default=False, description="an engine of its own for each repetition, with nothing in it"
    )
    cool_down_seconds: float = Field(
        default=0.0, description="how long the load goes on after the last window"
    )
    engine_statistics: bool = Field(
        default=False, description="queues, messages between workers, and memory as figures"
    )
    marks: MarkingFile = MarkingFile()


def load_experiment(path: str | Path) -> Experiment:
    """The experiment that a file describes.

    Raises:
        UnreadableFile: The file, or one that it names, is no document.
        InvalidInput: What it says cannot be; every problem with file, line and key.
    """
    document = read_document(path)
    try:
        return _Reader(document).experiment()
    except InvalidInput as error:
        raise document.locate_error(error) from None


@cache
def _known_keys() -> tuple[str, ...]:
    return tuple(list_keys(ExperimentFile.model_json_schema(by_alias=True)))


class _Reader:
    """Builds an experiment from one document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        version = document.data.get("streamgauge")
        if version != VERSION or "experiment" not in document.data:
            raise InvalidInput.single(
                (),
                seen="a file without `streamgauge: 1` and the experiment's name",
                expected="streamgauge: 1 and experiment: NAME at the top",
            )
        self.file: ExperimentFile = validate(ExperimentFile, document.data, _known_keys)

    def experiment(self) -> Experiment:
        """The experiment."""
        file = self.file
        job = self._job(file.job, "job")
        findings = Findings()
        with findings.at("base"):
            job = self._base(job)
        cluster, study = job.cluster, None
        steps: tuple[ExperimentStep, ...] = ()
        parts: dict[str, Any] = {}
        with findings.at():
            if file.cluster is not None:
                cluster = build_part(file.cluster, "cluster")
        for name in ("warm_up", "marks"):
            with findings.at(name):
                parts[name] = getattr(file, name).build()
        with findings.at():
            steps, study = self._steps(job)
        findings.raise_if_any()
        if cluster is None:
            most = max(step.job.configuration.workers for step in steps)
            cluster = Cluster.uniform(nodes=most)
        return Experiment(
            name=file.experiment,
            about=file.about,
            steps=steps,
            cluster=cluster,
            warm_up=parts["warm_up"],
            marking=parts["marks"],
            windows=file.windows,
            window_seconds=file.window_seconds,
            bucket_seconds=file.bucket_seconds,
            repetitions=file.repetitions,
            shuffled=file.order == "random",
            seed=file.seed,
            clean_start=file.clean_start,
            cool_down_seconds=file.cool_down_seconds,
            engine_statistics=file.engine_statistics,
            study=study,
        )

    def _job(self, data: Mapping[str, Any], *place: str) -> Job:
        """A job that stands here, in the file that is named, or as an application."""
        if "application" in data:
            return self._application(data, *place)
        if set(data) == {"file"}:
            with self._named(*place, "file"):
                return load_job(self._path(data, *place, "file"))
        try:
            return parse_job(dump_json(data))
        except InvalidInput as error:
            inside = [replace(problem, file="", line=None) for problem in error.problems]
            raise InvalidInput(inside).below(*place) from None

    def _application(self, data: Mapping[str, Any], *place: str) -> Job:
        try:
            validate(ApplicationReference, data, _known_keys)
        except InvalidInput as error:
            raise error.below(*place) from None
        platform = None
        if data.get("platform") is not None:
            with self._named(*place, "platform"):
                platform = load_platform(self._path(data, *place, "platform"))
        with self._named(*place, "application"):
            return make_job(load_application(self._path(data, *place, "application")), platform)

    def _path(self, data: Mapping[str, Any], *place: str) -> Path:
        name = data[place[-1]]
        if not isinstance(name, str):
            raise InvalidInput.single(place, seen=format_value(name), expected="the name of a file")
        return (self.document.folder or Path()) / name

    @contextmanager
    def _named(self, *place: str) -> Iterator[None]:
        """Say which line named the file that something is wrong in."""
        try:
            yield
        except InvalidInput as error:
            error.add_note(f"named by {self.document.name}:{self.document.locate(place)}")
            raise

    def _steps(self, job: Job) -> tuple[tuple[ExperimentStep, ...], Study | None]:
        study = self.file.study
        if study is None:
            return self._declared(job), None
        given = [name for name in sorted(study.model_fields_set) if getattr(study, name)]
        if len(given) != 1:
            raise InvalidInput.single(
                ("study",),
                seen=", ".join(given) or "nothing",
                expected="exactly one of sweep, halving, fidelity",
            )
        if study.fidelity is not None:
            return self._imitations(job, study.fidelity.reference)
        if self.file.steps:
            raise InvalidInput.single(
                ("steps",),
                seen="steps together with a study, which makes its own",
                expected="one of the two",
            )
        try:
            jobs, made = _generated(job, study)
        except InvalidInput as error:
            raise error.below("study", given[0]) from None
        return tuple(self._as_based(name, one) for name, one in jobs.items()), made

    def _imitations(
        self, job: Job, reference: str
    ) -> tuple[tuple[ExperimentStep, ...], Study | None]:
        steps = self._declared(job)
        names = [step.name for step in steps]
        if reference not in names or len(names) < 2:
            raise InvalidInput.single(
                ("study", "fidelity", "reference"),
                seen=f"{reference!r} among {', '.join(names) or 'no steps'}",
                expected="one of at least two steps",
                remedy=did_you_mean(reference, names),
            )
        return steps, Fidelity(reference=reference)

    def _declared(self, job: Job) -> tuple[ExperimentStep, ...]:
        """The steps of the file, or else those of the job, or else the job as it is."""
        if not self.file.steps:
            names = list(job.steps)
            made = [self._as_based(name, job.at_step(name)) for name in names]
            return tuple(made) or (self._as_based(job.topology.name, job),)
        findings = Findings()
        steps = []
        for name, given in self.file.steps.items():
            variant = given or VariantFile()
            own: Job | None = None
            with findings.at():
                own = job if variant.job is None else self._job(variant.job, "steps", name, "job")
            if own is not None:
                with findings.at("steps", name):
                    steps.append(self._step(name, variant, own))
        findings.raise_if_any()
        return tuple(steps)

    def _base(self, job: Job) -> Job:
        """The job with what is changed for all steps; their placement is theirs."""
        if self.file.base.job is not None:
            raise InvalidInput.single(
                ("job",), seen="a job in `base`", expected="the job where `base` stands, as `job`"
            )
        changed = self._step("base", self.file.base, job).job
        return replace(changed, steps=job.steps)

    def _as_based(self, name: str, job: Job) -> ExperimentStep:
        """A step that changes nothing more."""
        placement = _placement(self.file.base)
        return ExperimentStep(name=name, job=replace(job, steps={}), placement=placement)

    def _step(self, name: str, variant: VariantFile, job: Job) -> ExperimentStep:
        findings = Findings()
        changed = job
        with findings.at():
            step = variant.build(job.topology)
            configuration = step.apply(job.configuration)
            configuration.check_against(job.topology)
            # A plan by hand is one of the configuration it was made for.
            kept = job.plan if configuration == job.configuration else None
            changed = replace(job, configuration=configuration, plan=kept)
        with findings.at("rate"):
            changed = changed if variant.rate is None else set_rate(changed, variant.rate)
        with findings.at("service"):
            changed = scale_service(changed, variant.service)
        placement: str | Assignment | None = None
        with findings.at("placement"):
            chosen = variant if variant.placement is not None else self.file.base
            placement = _placement(chosen)
        findings.raise_if_any()
        return ExperimentStep(name=name, job=replace(changed, steps={}), placement=placement)


def _placement(variant: VariantFile) -> str | Assignment | None:
    given = variant.placement
    return given.build() if isinstance(given, PlanFile) else given


def _generated(job: Job, study: StudyFile) -> tuple[dict[str, Job], Study]:
    if study.halving is not None:
        try:
            return make_halving_steps(job, study.halving.operators)
        except InvalidInput as error:
            raise error.below("operators") from None
    assert study.sweep is not None
    sweep = study.sweep
    findings = Findings()
    rule = EventRule()
    with findings.at("events"):
        rule = sweep.events.build()
    if bool(sweep.rates) == bool(sweep.factors) or bool(sweep.factors) != bool(sweep.operator):
        findings.add(
            seen=f"keys {', '.join(sorted(sweep.model_fields_set)) or 'none'}",
            expected="either rates, or an operator and factors on its service time",
        )
    findings.raise_if_any()
    if sweep.rates:
        with findings.at("rates"):
            jobs = make_rate_steps(job, sweep.rates)
    else:
        with findings.at("factors"):
            jobs = make_service_steps(job, str(sweep.operator), sweep.factors)
    findings.raise_if_any()
    return jobs, LoadSweep(baseline=next(iter(jobs)), rule=rule)
