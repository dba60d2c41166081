"""What files share: data, flows, windows, words with several spellings, former keys.

Keys of earlier versions of NAMB are read under their new names, and reported as written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from streamgauge.applications.datastream import Data, Flow, FlowKind
from streamgauge.errors import Findings, InvalidInput, Place
from streamgauge.topology.field_checks import check_number
from streamgauge.topology.files.file_model import FileModel
from streamgauge.topology.topology import Window

# Engines count windows in milliseconds.
SHORTEST_WINDOW_SECONDS, LONGEST_WINDOW_SECONDS = 0.001, 1e7
# The thesis, the author's Java tool and his generator in C spell these differently.
_FLOWS = {
    "cbr": "uniform",
    "sin": "sinusoidal",
    "revsawtooth": "reverse-sawtooth",
    "reverse sawtooth": "reverse-sawtooth",
    "reverse_sawtooth": "reverse-sawtooth",
}
_DATA = {"non-uniform": "nonuniform", "nonUniform": "nonuniform"}
_WINDOWS = {"thumbling": "tumbling"}


def _accept_synonyms(synonyms: Mapping[str, str]) -> BeforeValidator:
    return BeforeValidator(lambda word: synonyms.get(word, word) if isinstance(word, str) else word)


RoutingWord = Literal["none", "balanced", "hash", "broadcast"]
FlowWord = Literal["uniform", "burst", "sinusoidal", "sawtooth", "reverse-sawtooth"]

# By the section that holds them, ``()`` for the whole file: former key → key.
FormerKeys = Mapping[Place, Mapping[str, str]]


class DataFile(FileModel):
    """What a source emits."""

    size: int = Field(default=8, description="bytes of a tuple")
    values: int = Field(default=100, description="how many different values")
    distribution: Annotated[Literal["uniform", "nonuniform"], _accept_synonyms(_DATA)] = "uniform"

    def build(self) -> Data:
        """The data."""
        return Data(**self.model_dump())


class FlowFile(FileModel):
    """How fast each instance of a source emits."""

    distribution: Annotated[FlowWord, _accept_synonyms(_FLOWS)] = "uniform"
    rate: float = Field(default=1000.0, description="tuples/s, the peak of a curve; 0 is no limit")
    phase: float = Field(default=300.0, description="seconds of a cycle of a curve")
    interval: int = Field(default=300, description="seconds between bursts")
    duration: int = Field(default=120, description="seconds of a burst")
    burst_rate: float | None = Field(default=None, description="tuples/s within a burst")

    def build(self) -> Flow:
        """The flow."""
        return Flow(
            kind=FlowKind(self.distribution),
            rate=float(self.rate),
            phase_seconds=self.phase,
            interval_seconds=self.interval,
            duration_seconds=self.duration,
            burst_rate=self.burst_rate,
        )


class WindowingFile(FileModel):
    """A window by time; enabled where the block is present, unless it says otherwise."""

    enabled: bool = True
    type: Annotated[Literal["tumbling", "sliding"], _accept_synonyms(_WINDOWS)] = "tumbling"
    duration: float = Field(default=30.0, description="seconds of a window")
    interval: float = Field(default=10.0, description="seconds between starts, of sliding ones")

    def build(self) -> Window | None:
        """The window, if it is on."""
        if not self.enabled:
            return None
        findings = Findings()
        bounds = {"least": SHORTEST_WINDOW_SECONDS, "most": LONGEST_WINDOW_SECONDS}
        check_number(findings, self.duration, "duration", **bounds)
        if self.type == "sliding":
            check_number(findings, self.interval, "interval", **bounds)
        findings.raise_if_any()
        slide = self.interval if self.type == "sliding" else None
        return Window(length_seconds=self.duration, slide_seconds=slide)


class KafkaFile(FileModel):
    """An external source of tuples; parsed, but not supported yet."""

    server: str | None = None
    group: str = "namb_default"
    topic: str = "namb_topic"


class ZooKeeperFile(FileModel):
    """What Storm's Kafka source once needed."""

    server: str = "localhost:2181"


def convert_filtering(filtering: float) -> float:
    """The part that is forwarded: a filtering of zero means that there is no filter."""
    return 1.0 if filtering == 0.0 else filtering


def refuse_external(kind: str) -> dict[str, Any]:
    """The message for a kind of source that is not supported."""
    return {
        "seen": f"an external source, {kind}",
        "expected": "synthetic data and flow",
        "remedy": "sources that read from Kafka are not supported yet",
    }


def rename_keys(
    data: Mapping[str, Any], former: FormerKeys
) -> tuple[dict[str, Any], dict[Place, str]]:
    """The data under today's keys, and by place how the file writes them."""
    written: dict[Place, str] = {}

    def walk(part: Mapping[str, Any], place: Place) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in part.items():
            today = former.get(place, {}).get(key, key)
            # Where both are given, the former is left to be refused as unknown.
            name = key if today in part else today
            if name != key:
                written[*place, name] = key
            inner = (*place, name)
            result[name] = (
                walk(value, inner) if inner in former and isinstance(value, dict) else value
            )
        return result

    return walk(data, ()), written


def restore_keys(error: InvalidInput, written: Mapping[Place, str]) -> InvalidInput:
    """The error with places as the file writes them."""
    return type(error)(
        replace(
            problem,
            place=tuple(
                written.get(problem.place[: depth + 1], part)
                for depth, part in enumerate(problem.place)
            ),
        )
        for problem in error.problems
    )
