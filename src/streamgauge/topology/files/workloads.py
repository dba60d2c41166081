"""The section of a file that says what sources emit."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, RootModel

from streamgauge.errors import Findings
from streamgauge.topology.field_checks import check_number
from streamgauge.topology.files.file_model import FileModel, Name, build_part, one_of
from streamgauge.topology.topology import DEFAULT_STREAM
from streamgauge.topology.workload import (
    MOST_PER_SECOND,
    Burst,
    Emission,
    Modulated,
    Poisson,
    Recorded,
    Regular,
    Sawtooth,
    Seasonal,
    Unlimited,
    Workload,
)

ShapeFile = one_of(
    "Shape", [Poisson, Regular, Unlimited, Burst, Modulated, Seasonal, Sawtooth, Recorded]
)


class EmissionFile(FileModel):
    """What one source emits on one stream."""

    source: Name
    stream: Name = DEFAULT_STREAM
    per_second: Annotated[float | None, Field(description="mean over all its executors")] = None
    shape: ShapeFile | None = None  # type: ignore[valid-type]  # made at import
    shares: list[float] | None = Field(default=None, description="per task; even if not given")

    def build(self) -> Emission:
        """The emission."""
        if self.per_second is not None:
            with Findings() as findings:
                check_number(findings, self.per_second, "per_second", most=MOST_PER_SECOND)
        shape = Poisson() if self.shape is None else build_part(self.shape, "shape")
        return Emission(
            source=self.source,
            stream=self.stream,
            per_second=self.per_second,
            shape=shape,
            shares=None if self.shares is None else tuple(self.shares),
        )


class WorkloadFile(RootModel[list[EmissionFile]]):
    """What every source emits."""

    def build(self) -> Workload:
        """The workload."""
        with Findings() as findings:
            emissions = []
            for index, emission in enumerate(self.root):
                with findings.at(index):
                    emissions.append(emission.build())
        return Workload(emissions=tuple(emissions))

    @classmethod
    def of(cls, workload: Workload) -> list[dict[str, Any]]:
        """What to write for it."""
        return [_emission(emission) for emission in workload.emissions]


def _emission(emission: Emission) -> dict[str, Any]:
    result: dict[str, Any] = {"source": emission.source}
    if emission.stream != DEFAULT_STREAM:
        result["stream"] = emission.stream
    if emission.per_second is not None:
        result["per_second"] = emission.per_second
    if emission.shape != Poisson():
        result["shape"] = ShapeFile.dump(emission.shape)
    if emission.shares is not None:
        result["shares"] = list(emission.shares)
    return result
