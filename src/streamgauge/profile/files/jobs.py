"""The combined file: a whole job, or a profile, in one document or several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from streamgauge.errors import InvalidInput, Problem, suggest_name
from streamgauge.plugins import resolve
from streamgauge.profile.job import Job, Step
from streamgauge.profile.profile import Profile
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.field_checks import format_value
from streamgauge.topology.files.document import (
    Document,
    dump_yaml,
    lay_out_json,
    parse_document,
    read_document,
    read_file,
    write_whole,
)
from streamgauge.topology.files.file_model import build_part, list_keys, validate
from streamgauge.topology.topology import Topology

VERSION = 1
MAX_REFERENCES = 8


# Models of sections, imported when a file has the section: each takes longer than reading it.
SECTIONS: Mapping[str, str] = {
    "topology": "streamgauge.topology.files.sections:TopologyFile",
    "behaviours": "streamgauge.profile.files.behaviours:BehavioursFile",
    "configuration": "streamgauge.topology.files.sections:ConfigurationFile",
    "cluster": "streamgauge.topology.files.sections:ClusterFile",
    "workload": "streamgauge.topology.files.workloads:WorkloadFile",
    "plan": "streamgauge.profile.files.plans:PlanFile",
    "steps": "streamgauge.profile.files.plans:StepFile",
    "profile": "streamgauge.profile.files.figures:FiguresFile",
}
HEAD = ("streamgauge", "about")


@dataclass(frozen=True, slots=True)
class _Section:
    """Raw data of a section and the document it stands in."""

    data: Any
    document: Document


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the combined file, for editors."""
    from streamgauge.profile.files.description import describe_file

    return describe_file()


def load_job(path: str | Path) -> Job:
    """The job that a file describes, following its references.

    Raises:
        UnreadableFile: The file is not a readable document.
        InvalidInput: The content is wrong; every problem with file, line and path.
    """
    return build_job(read_document(path))


def parse_job(text: str | bytes, name: str = "") -> Job:
    """The job that a text describes; it may not refer to files."""
    return build_job(parse_document(text, name))


def load_profile(path: str | Path) -> Profile:
    """The profile in a file."""
    return build_profile(read_document(path))


def parse_profile(text: str | bytes, name: str = "") -> Profile:
    """The profile in a text; it may not refer to files."""
    return build_profile(parse_document(text, name))


def job_to_data(job: Job) -> dict[str, Any]:
    """The job as a file holds it."""
    written: dict[str, Any] = {
        "streamgauge": VERSION,
        "about": job.about,
        "topology": _write("topology", job.topology),
        "behaviours": _write("behaviours", job.behaviours),
        "configuration": _write("configuration", job.configuration),
        "cluster": _write("cluster", job.cluster),
        "workload": _write("workload", job.workload),
        "plan": _write("plan", job.plan),
        "steps": {name: _write("steps", step) for name, step in job.steps.items()},
    }
    empty_workload = job.workload is not None and not job.workload.emissions
    kept = {key: part for key, part in written.items() if part not in ("", None, {}, [])}
    return {**kept, **({"workload": []} if empty_workload else {})}


def profile_to_data(profile: Profile) -> dict[str, Any]:
    """The profile as a file holds it; the same for equal profiles, the order of keys included."""
    configuration = _write("configuration", profile.configuration)
    for name in ("executors", "settings", "resources"):
        if name in configuration:
            configuration[name] = dict(sorted(configuration[name].items()))
    written: dict[str, Any] = {
        "streamgauge": VERSION,
        "topology": _write("topology", profile.topology),
        "configuration": configuration,
    }
    if profile.cluster is not None:
        written["cluster"] = _write("cluster", profile.cluster)
    return {**written, "profile": _write("profile", profile)}


def _write(section: str, noun: object) -> Any:
    """What a section holds for a noun; None for None."""
    return None if noun is None else resolve(SECTIONS[section]).of(noun)


def profile_to_json(profile: Profile) -> str:
    """The profile's file as JSON text: the same text for equal profiles."""
    return lay_out_json(profile_to_data(profile))


def save(data: Mapping[str, Any], path: str | Path) -> None:
    """Write a document whole or not at all: JSON where the name ends so, else YAML."""
    target = Path(path)
    text = lay_out_json(dict(data)) if target.suffix == ".json" else dump_yaml(dict(data))
    write_whole(target, text)


@cache
def _known_keys() -> tuple[str, ...]:
    return tuple(list_keys(json_schema()))


def _read_sections(document: Document) -> dict[str, _Section]:
    _check_head(document)
    sections = {}
    for name, data in document.data.items():
        if name not in HEAD and data is not None:
            sections[name] = _resolve_reference(name, _Section(data, document), [document.name])
        elif name == "about":
            sections[name] = _Section(data, document)
    return sections


def _check_head(document: Document) -> None:
    version = document.data.get("streamgauge")
    problems = []
    if version != VERSION or isinstance(version, bool):
        problems.append(
            Problem(
                place=("streamgauge",),
                seen="no format version" if version is None else f"format version {version!r}",
                expected=f"streamgauge: {VERSION}",
                remedy="add that line at the top"
                if version is None
                else "newer formats need a newer Streamgauge",
            )
        )
    known = [*HEAD, *SECTIONS]
    for key in document.data:
        if key not in known:
            problems.append(
                Problem(
                    place=(key,),
                    seen=f"unknown section {key!r}",
                    expected=f"one of {', '.join(known)}",
                    remedy=suggest_name(key, known),
                )
            )
    about = document.data.get("about")
    if about is not None and not isinstance(about, str):
        problems.append(Problem(place=("about",), seen=format_value(about), expected="text"))
    if problems:
        raise document.locate_error(InvalidInput(problems))


def _resolve_reference(name: str, section: _Section, trail: list[str]) -> _Section:
    data, document = section.data, section.document
    if not (isinstance(data, dict) and set(data) == {"file"} and isinstance(data["file"], str)):
        return section
    problem: dict[str, str] | None = None
    if document.folder is None:
        problem = {
            "seen": f"a reference to the file {data['file']!r}",
            "expected": "the section itself: a job given as text cannot refer to files",
        }
    elif len(trail) > MAX_REFERENCES or str(document.folder / data["file"]) in trail:
        problem = {
            "seen": f"references in a cycle: {' → '.join([*trail, data['file']])}",
            "expected": "a file that holds the section itself",
        }
    if problem is not None:
        raise document.locate_error(InvalidInput.single((name, "file"), **problem))
    assert document.folder is not None
    with _note_reference(document, name):
        other = read_file(document.folder / data["file"])
        _check_head(other)
    if name not in other.data:
        raise document.locate_error(
            InvalidInput.single(
                (name, "file"),
                seen=f"no section {name!r} in {other.name}",
                expected="a file with that section",
            )
        )
    return _resolve_reference(name, _Section(other.data[name], other), [*trail, other.name])


@contextmanager
def _note_reference(document: Document, name: str) -> Iterator[None]:
    """Say which file referred to the one that cannot be read."""
    try:
        yield
    except InvalidInput as error:
        line = document.locate((name, "file"))
        error.add_note(f"referred to by {document.name}:{line}")
        raise


def _build(sections: Mapping[str, _Section], name: str) -> Any:
    """The noun a section describes, or None where there is no such section."""
    section = sections.get(name)
    if section is None:
        return None
    with _add_locations(sections):
        try:
            file = validate(resolve(SECTIONS[name]), section.data, _known_keys)
        except InvalidInput as error:
            raise error.below(name) from None
        return file if name == "profile" else build_part(file, name)


@contextmanager
def _add_locations(sections: Mapping[str, _Section]) -> Iterator[None]:
    """Give every problem the file and line that its section stands in."""
    try:
        yield
    except InvalidInput as error:
        by_section: dict[str, list[Problem]] = {}
        for problem in error.problems:
            by_section.setdefault(str(problem.place[0]) if problem.place else "", []).append(
                problem
            )
        problems: list[Problem] = []
        for name, found in by_section.items():
            section = sections.get(name)
            if section is None or found[0].file:
                problems += found
            else:
                problems += section.document.locate_error(InvalidInput(found)).problems
        raise type(error)(problems) from None


def _require(sections: Mapping[str, _Section], name: str, what: str, document: Document) -> None:
    if name in sections:
        return
    raise InvalidInput.single(
        (),
        file=document.name,
        seen=f"no section {name!r}",
        expected=f"a file that describes {what}",
        remedy=f"add {name!r}, or refer to a file that has it",
    )


def build_job(document: Document) -> Job:
    """The job that a document describes that was read already."""
    sections = _read_sections(document)
    _require(sections, "topology", "a job", document)
    about = sections["about"].data if "about" in sections else ""
    names = ("topology", "behaviours", "configuration", "cluster", "workload", "plan")
    problems: list[Problem] = []
    parts: dict[str, Any] = {}
    for name in names:
        try:
            built = _build(sections, name)
        except InvalidInput as error:
            problems += error.problems
        else:
            if built is not None:
                parts[name] = built
    if problems:
        raise InvalidInput(problems)
    with _add_locations(sections):
        steps = _build_steps(sections, parts["topology"])
        return Job(**parts, steps=steps, about=str(about or ""))


def _build_steps(sections: Mapping[str, _Section], topology: Topology) -> dict[str, Step]:
    section = sections.get("steps")
    if section is None:
        return {}
    if not isinstance(section.data, dict):
        raise InvalidInput.single(
            ("steps",), seen=format_value(section.data), expected="a mapping of names to steps"
        )
    steps = {}
    for name, data in section.data.items():
        try:
            file = validate(resolve(SECTIONS["steps"]), {} if data is None else data, _known_keys)
            steps[name] = file.build(topology)
        except InvalidInput as error:
            raise error.below("steps", name) from None
    return steps


def find_profile(document: Document) -> Profile | None:
    """The profile that a document holds in addition to its job; None where it holds none."""
    return build_profile(document) if "profile" in _read_sections(document) else None


def build_profile(document: Document) -> Profile:
    """The profile in a document that was read already."""
    sections = _read_sections(document)
    _require(sections, "topology", "a profile", document)
    _require(sections, "profile", "what was measured", document)
    topology = _build(sections, "topology")
    configuration = _build(sections, "configuration") or Configuration()
    cluster = _build(sections, "cluster")
    file = _build(sections, "profile")
    with _add_locations(sections):
        try:
            configuration.check_against(topology)
        except InvalidInput as error:
            raise error.below("configuration") from None
        try:
            return Profile(
                topology=topology,
                configuration=configuration,
                cluster=cluster,
                **file.build(topology),
            )
        except InvalidInput as error:
            raise error.below("profile") from None
