"""The file of a cluster that jobs share: machines, jobs, their objectives and their traffic."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from streamgauge.errors import Findings, InvalidInput
from streamgauge.planning.sharing.files.slo_file import SloFile, check_length, find_slo, pairs_in
from streamgauge.planning.sharing.offered import Diurnal, Offered, Recorded
from streamgauge.planning.sharing.policy import load_policy
from streamgauge.planning.sharing.shared_cluster import SharedCluster, SharedJob
from streamgauge.planning.sharing.slo import Slo
from streamgauge.planning.sharing.surroundings import ByHand, Surroundings
from streamgauge.profile.files.jobs import load_job, parse_job
from streamgauge.profile.job import Job
from streamgauge.topology.field_checks import check_known, check_number, check_whole
from streamgauge.topology.files.document import Document, dump_json, read_document
from streamgauge.topology.files.file_model import FileModel, list_keys, validate
from streamgauge.topology.frozen import FrozenDict
from streamgauge.traffic.series_files import read_series_file

VERSION = 1


class TrafficFile(FileModel):
    """What comes to a job: a course by numbers, or a recorded one in a CSV file."""

    mean: float | None = None
    swing: float | None = None
    peak_hour: float | None = None
    period_hours: float | None = None
    spikes: list[list[float]] | None = None
    file: str | None = None
    column: str | None = None
    scale: float | None = None
    hasten: float | None = None

    def build(self, folder: Path) -> Offered:
        """The course."""
        given = {name: getattr(self, name) for name in self.model_fields_set}
        if self.file is not None:
            _refuse(given, {"swing", "peak_hour", "period_hours", "spikes"}, "a recorded course")
            rows = read_series_file(folder / self.file, value_column=self.column)
            if len(rows) != 1:
                raise InvalidInput.single(
                    ("file",), seen=f"{len(rows)} series in {self.file}", expected="one"
                )
            numbers = {name: given[name] for name in ("mean", "scale", "hasten") if name in given}
            return Recorded(series=rows[0].make_series(), **numbers)
        _refuse(given, {"column", "scale", "hasten"}, "a course by numbers")
        if self.mean is None:
            raise InvalidInput.single(
                ("mean",), seen="nothing", expected="tuples per second, or a file"
            )
        if self.spikes is not None:
            given["spikes"] = tuple(_triples(self.spikes, "spikes"))
        return Diurnal(**given)


class SharedJobFile(FileModel):
    """One job, or several that are alike."""

    job: dict[str, Any]
    step: str | None = None
    slo: SloFile | None = None
    traffic: TrafficFile
    copies: int = 1
    executors: dict[str, int] = {}
    tasks: dict[str, int] = {}
    from_hour: float = 0.0
    until_hour: float | None = None


class ByHandFile(FileModel):
    """What a person changes at a time."""

    at_seconds: float
    executors: dict[str, dict[str, int]]

    def build(self) -> ByHand:
        """The same as a noun."""
        return ByHand(at=self.at_seconds, executors=self.executors)


class SurroundingsFile(FileModel):
    """What policies are up against."""

    step_seconds: float = Surroundings().step_seconds
    policies_from_seconds: float = Surroundings().policies_from_seconds
    downtime_seconds: float = Surroundings().downtime_seconds
    service_error: float = Surroundings().service_error
    least_exponent: float = Surroundings().least_exponent
    most_exponent: float = Surroundings().most_exponent
    noise: float = Surroundings().noise
    outages: list[list[float]] = []
    failures: list[list[float]] = []
    background: list[list[float]] = []
    changes: list[ByHandFile] = []
    admission: bool = Surroundings().admission

    def build(self) -> Surroundings:
        """The same as a noun."""
        lists = {"outages", "failures", "background", "changes"}
        return Surroundings(
            **self.model_dump(exclude=lists),
            outages=pairs_in(self.outages, "outages"),
            failures=tuple(_triples(self.failures, "failures")),
            background=tuple(_triples(self.background, "background")),
            changes=tuple(one.build() for one in self.changes),
        )


class SharedClusterFile(FileModel):
    """A cluster that jobs share."""

    streamgauge: Literal[1]
    sharing: str
    about: str = ""
    machines: list[float]
    hours: float = 24.0
    policies: list[str] = []
    price_per_executor_hour: float = 0.0
    jobs: dict[str, SharedJobFile]
    surroundings: SurroundingsFile = SurroundingsFile()


def load_shared_cluster(path: str | Path) -> SharedCluster:
    """The cluster that a file describes.

    Raises:
        UnreadableFile: The file, or one that it names, is no document.
        InvalidInput: What it says cannot be; every problem with file, line and key.
    """
    document = read_document(path)
    try:
        return _build(document)
    except InvalidInput as error:
        raise document.locate_error(error) from None


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the file, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "sharing-1.schema.json",
        **SharedClusterFile.model_json_schema(by_alias=True),
    }


@cache
def _known_keys() -> tuple[str, ...]:
    return tuple(list_keys(SharedClusterFile.model_json_schema(by_alias=True)))


def _build(document: Document) -> SharedCluster:
    if document.data.get("streamgauge") != VERSION or "sharing" not in document.data:
        raise InvalidInput.single(
            (),
            seen="a file without `streamgauge: 1` and the name of what is shared",
            expected="streamgauge: 1 and sharing: NAME at the top",
        )
    file: SharedClusterFile = validate(SharedClusterFile, document.data, _known_keys)
    folder = Path(document.folder or ".")
    findings = Findings()
    jobs: list[SharedJob] = []
    surroundings = Surroundings()
    for name, one in file.jobs.items():
        with findings.at("jobs", name):
            jobs += _build_job(name, one, folder)
    with findings.at("surroundings"):
        surroundings = file.surroundings.build()
    if not file.jobs:
        findings.add("jobs", seen="none", expected="at least one job")
    if not file.machines or min(file.machines) <= 0.0:
        findings.add("machines", seen=f"{file.machines}", expected="cores of each, above zero")
    if not 0.0 < file.hours <= 24 * 366:
        findings.add("hours", seen=f"{file.hours:g}", expected="above zero and at most a year")
    check_number(findings, file.price_per_executor_hour, "price_per_executor_hour")
    for index, name in enumerate(file.policies):
        with findings.at("policies", index):
            load_policy(name)
    findings.raise_if_any()
    for index, change in enumerate(surroundings.changes):
        with findings.at("surroundings", "changes", index, "executors"):
            _check_change(change, {one.name: one.job for one in jobs})
    findings.raise_if_any()
    return SharedCluster(
        name=file.sharing,
        about=file.about,
        machines=tuple(file.machines),
        jobs=tuple(jobs),
        hours=file.hours,
        policies=tuple(file.policies),
        price_per_executor_hour=file.price_per_executor_hour,
        surroundings=surroundings,
    )


def _build_job(name: str, file: SharedJobFile, folder: Path) -> list[SharedJob]:
    findings = Findings()
    parts: dict[str, Any] = {}
    with findings.at("job"):
        parts["job"] = _read_job(file.job, file.step, folder)
    with findings.at("slo"):
        parts["slo"] = _choose_slo(file, parts.get("job"))
    with findings.at("traffic"):
        parts["offered"] = file.traffic.build(folder)
    if not 1 <= file.copies <= 1000:
        findings.add("copies", seen=f"{file.copies}", expected="1 to 1000")
    until = math.inf if file.until_hour is None else file.until_hour
    check_number(findings, file.from_hour, "from_hour")
    if until <= file.from_hour:
        findings.add("until_hour", seen=f"{until:g}", expected=f"after hour {file.from_hour:g}")
    for key, executors in (("executors", file.executors), ("tasks", file.tasks)):
        if "job" in parts:
            with findings.at(key):
                _check_executors(parts["job"], executors)
    findings.raise_if_any()
    parts |= {
        "executors": FrozenDict(file.executors),
        "tasks": FrozenDict(file.tasks),
        "hours": (file.from_hour, until),
    }
    if file.copies == 1:
        return [SharedJob(name=name, **parts)]
    return [SharedJob(name=f"{name}-{number + 1}", **parts) for number in range(file.copies)]


def _choose_slo(file: SharedJobFile, job: Job | None) -> Slo | None:
    """The objective that stands here, or else in the job's own configuration."""
    if file.slo is not None:
        return file.slo.build(job.topology if job is not None else None)
    if job is None:
        # What is wrong with the job is told already.
        return None
    slo = find_slo(job.configuration, job.topology)
    if slo is None:
        raise InvalidInput.single(
            (),
            seen="no objective, neither here nor in the job's configuration",
            expected="slo: {latency_ms: …}, or streamgauge.slo.latency_ms among its settings",
        )
    return slo


def _check_change(change: ByHand, jobs: Mapping[str, Job]) -> None:
    """Every job is one of the cluster's."""
    findings = Findings()
    for name, executors in change.executors.items():
        if check_known(
            findings, name, jobs, name, seen=f"job {name!r}", expected="one of the cluster's jobs"
        ):
            with findings.at(name):
                _check_executors(jobs[name], executors)
    findings.raise_if_any()


def _check_executors(job: Job, executors: Mapping[str, int]) -> None:
    """Every operator is one of the job's, and has at least one executor."""
    findings = Findings()
    known = job.topology.operator_names
    for name, number in executors.items():
        if check_known(
            findings, name, known, name, seen=f"operator {name!r}", expected="one of the job's"
        ):
            check_whole(findings, number, name)
    findings.raise_if_any()


def _read_job(data: Mapping[str, Any], step: str | None, folder: Path) -> Job:
    """A job in the file that is named, or one that stands here."""
    if set(data) == {"file"}:
        job = load_job(folder / str(data["file"]))
    else:
        try:
            job = parse_job(dump_json(data))
        except InvalidInput as error:
            inside = [replace(problem, file="", line=None) for problem in error.problems]
            raise InvalidInput(inside) from None
    return job if step is None else job.at_step(step)


def _triples(rows: list[list[float]], place: str) -> list[tuple[float, float, float]]:
    check_length(rows, 3, place)
    return [(first, second, third) for first, second, third in rows]


def _refuse(given: Mapping[str, Any], wrong: set[str], what: str) -> None:
    for name in sorted(wrong & given.keys()):
        raise InvalidInput.single((name,), seen=f"{name} of {what}", expected=f"{what} without it")
