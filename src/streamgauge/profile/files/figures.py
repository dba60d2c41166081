"""The section of a file that holds what was measured."""

from __future__ import annotations

from typing import Any

from pydantic import Field, create_model

from streamgauge.errors import Findings, InvalidInput
from streamgauge.profile.figures import TaskId, TaskProfile
from streamgauge.profile.files.records import (
    list_parts,
    model_fields,
    read_parts,
    record_file,
    write_parts,
)
from streamgauge.profile.profile import Profile
from streamgauge.topology.field_checks import format_value
from streamgauge.topology.files.schema import FileModel
from streamgauge.topology.topology import Topology

EACH_TASK = "each"
MAX_DIGITS = 9

# Sections of their own hold the job; tasks stand under their operators.
_ELSEWHERE = ("topology", "configuration", "cluster", "tasks")
_PARTS = list_parts(Profile, tuple(name for name in Profile.__slots__ if name not in _ELSEWHERE))
_TaskFile = record_file(TaskProfile)


class _FiguresFile(FileModel):
    operators: dict[str, dict[str, _TaskFile]] = Field(  # type: ignore[valid-type]
        default={}, description="by operator, then by task: 0, 1, … or each"
    )

    def build(self, topology: Topology) -> dict[str, Any]:
        """The parts of a `Profile` that were measured, by their names."""
        findings = Findings()
        tasks: dict[TaskId, TaskProfile] = {}
        for operator, by_task in self.operators.items():
            for place, file in by_task.items():
                with findings.at("operators", operator, place):
                    task = file.build()  # type: ignore[attr-defined]
                    for index in _indices(topology, operator, place):
                        tasks[TaskId(operator, index)] = task
        parts = read_parts(self, _PARTS, findings)
        findings.raise_if_any()
        return {"tasks": tasks, **parts}

    @classmethod
    def of(cls, profile: Profile) -> dict[str, Any]:
        """What to write for what was measured."""
        deployed = profile.topology.with_ackers(profile.configuration.acker_count)
        operators: dict[str, dict[str, Any]] = {}
        for name in deployed.operator_names:
            seen = sorted(profile.tasks_of(name).items())
            if seen:
                operators[name] = {str(index): _TaskFile.of(task) for index, task in seen}
        written = write_parts(profile, _PARTS)
        return {"operators": operators, **written} if operators else written


FiguresFile = create_model(
    "FiguresFile",
    __base__=_FiguresFile,
    __doc__="What was measured of a job.",
    **model_fields(Profile, _PARTS),
)


def _indices(topology: Topology, operator: str, place: str) -> range:
    """The tasks a key of the file means: one, or each."""
    if place == EACH_TASK:
        return range(topology.operator(operator).tasks)  # ackers have no fixed number of tasks
    if not (place.isascii() and place.isdecimal() and len(place) <= MAX_DIGITS):
        raise InvalidInput.single(
            (),
            seen=format_value(place),
            expected=f"a task from 0 on, or {EACH_TASK!r} for all of them",
        )
    return range(int(place), int(place) + 1)
