"""An experiment as plain data: kept beside what was measured, compared when it goes on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from streamgauge.engines.runner import WarmUp
from streamgauge.experiments.experiment import Experiment, ExperimentStep, Marking
from streamgauge.experiments.studies import (
    BottleneckSearch,
    EventRule,
    Fidelity,
    LoadSweep,
    Study,
)
from streamgauge.profile.files.jobs import PlanFile, job_to_data, parse_job
from streamgauge.profile.job import Assignment
from streamgauge.topology.field_checks import format_value
from streamgauge.topology.files.document import dump_json
from streamgauge.topology.files.schema import to_plain
from streamgauge.topology.files.sections import ClusterFile

_PLAIN = (
    "name",
    "about",
    "windows",
    "window_seconds",
    "bucket_seconds",
    "repetitions",
    "shuffled",
    "seed",
)
MOST_CHANGES = 10


def experiment_to_data(experiment: Experiment) -> dict[str, Any]:
    """Everything that an experiment says, its jobs written out."""
    return {
        **{name: getattr(experiment, name) for name in _PLAIN},
        "cluster": ClusterFile.of(experiment.cluster),
        "warm_up": asdict(experiment.warm_up),
        "marking": asdict(experiment.marking),
        "study": None if experiment.study is None else _study_to_data(experiment.study),
        "steps": {step.name: _step_to_data(step) for step in experiment.steps},
    }


def experiment_from_data(data: Mapping[str, Any]) -> Experiment:
    """The inverse of `experiment_to_data`."""
    study = data["study"]
    return Experiment(
        **{name: data[name] for name in _PLAIN},
        cluster=ClusterFile.model_validate(data["cluster"]).build(),
        warm_up=WarmUp(**data["warm_up"]),
        marking=Marking(**data["marking"]),
        study=None if study is None else _study_from_data(study),
        steps=tuple(_step_from_data(name, step) for name, step in data["steps"].items()),
    )


def list_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs between two descriptions, a line each; what it is for may change."""
    old, new = (dict(_flatten({**one, "about": ""})) for one in (before, now))
    lines = []
    for path in sorted({*old, *new}):
        if path not in new:
            lines.append(f"{path}: gone, was {format_value(old[path])}")
        elif path not in old:
            lines.append(f"{path}: {format_value(new[path])}, was not there")
        elif old[path] != new[path]:
            lines.append(f"{path}: {format_value(new[path])}, was {format_value(old[path])}")
    more = len(lines) - MOST_CHANGES
    return [*lines[:MOST_CHANGES], f"and {more} more"] if more > 0 else lines


def _flatten(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flatten(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value:
        for place, inner in enumerate(value):
            yield from _flatten(inner, f"{path}[{place}]")
    else:
        yield path, value


def _step_to_data(step: ExperimentStep) -> dict[str, Any]:
    placement = step.placement
    written = PlanFile.of(placement) if isinstance(placement, Assignment) else placement
    return {"job": job_to_data(step.job), "placement": written}


def _step_from_data(name: str, data: Mapping[str, Any]) -> ExperimentStep:
    placement = data["placement"]
    if isinstance(placement, Mapping):
        placement = PlanFile.model_validate(placement).build()
    return ExperimentStep(name=name, job=parse_job(dump_json(data["job"])), placement=placement)


def _study_to_data(study: Study) -> dict[str, Any]:
    return {"kind": study.kind, **{key: to_plain(one) for key, one in asdict(study).items()}}


def _study_from_data(data: Mapping[str, Any]) -> Study:
    given = {key: value for key, value in data.items() if key != "kind"}
    if data["kind"] == LoadSweep.kind:
        return LoadSweep(baseline=given["baseline"], rule=EventRule(**given["rule"]))
    if data["kind"] == BottleneckSearch.kind:
        halved = tuple((step, operator) for step, operator in given["halved"])
        return BottleneckSearch(base=given["base"], halved=halved)
    return Fidelity(**given)
