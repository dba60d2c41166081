"""The file of a platform, with NAMB's keys and ours."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from streamgauge.applications.files.parts import FormerKeys, rename_keys, restore_keys
from streamgauge.applications.platform import DEFAULT_CYCLE_NS, DEFAULT_SOURCE_MS, Platform
from streamgauge.errors import Findings, InvalidInput
from streamgauge.plugins import ENGINES, check_plugin
from streamgauge.topology.configuration import DEFAULT_ENGINE, Setting
from streamgauge.topology.files.document import Document, dump_yaml, parse_document, read_document
from streamgauge.topology.files.file_model import FileModel, list_keys, validate
from streamgauge.topology.files.sections import ClusterFile

# The thesis's name of the frequency.
FORMER_KEYS: FormerKeys = {(): {"debug": "debugFrequency"}}
# The first versions had a flag there.
_NO_FLAG = BeforeValidator(lambda value: 0.0 if value is False else value)


class PlatformFile(FileModel):
    """What an application runs on."""

    workers: int = 1
    max_spout_pending: int = Field(default=5000, alias="maxSpoutPending")
    debug_frequency: Annotated[float, _NO_FLAG] = Field(
        default=0.0, alias="debugFrequency", description="part of the tuples that are traced"
    )
    deployment: Literal["local", "cluster"] = Field(
        default="local", description="for NAMB's tool; ignored here, the command says where"
    )
    engine: str = Field(default=DEFAULT_ENGINE, examples=["storm-1", "storm-2"])
    ackers: int | None = Field(default=None, description="one per worker if not given")
    cycle_ns: float = Field(default=DEFAULT_CYCLE_NS, description="nanoseconds of an empty cycle")
    source_ms: float = Field(default=DEFAULT_SOURCE_MS, description="CPU ms to make a tuple")
    settings: dict[str, Setting] = Field(default={}, description="the engine's own settings")
    cluster: ClusterFile | None = None

    def build(self) -> Platform:
        """The platform."""
        findings = Findings()
        cluster = None
        if self.cluster is not None:
            with findings.at("cluster"):
                cluster = self.cluster.build()
        with findings.at():
            check_plugin(ENGINES, self.engine, ("engine",))
        findings.raise_if_any()
        return Platform(**self.model_dump(exclude={"deployment", "cluster"}), cluster=cluster)


def load_platform(path: str | Path) -> Platform:
    """The platform that a file describes.

    Raises:
        UnreadableFile: The file is not a readable document.
        InvalidInput: The content is wrong; every problem with file, line and key.
    """
    return _build_platform(read_document(path))


def parse_platform(text: str | bytes, name: str = "") -> Platform:
    """The platform that a text describes."""
    return _build_platform(parse_document(text, name))


def write_cycle_ns(path: str | Path | None, cycle_ns: float) -> str:
    """The text of a platform file with `cycle_ns` replaced and everything else unchanged."""
    data = {} if path is None else dict(read_document(path).data)
    return dump_yaml({**data, "cycle_ns": cycle_ns})


def _build_platform(document: Document) -> Platform:
    data, written = rename_keys(document.data, FORMER_KEYS)
    try:
        platform: Platform = validate(PlatformFile, data, _known_keys).build()
    except InvalidInput as error:
        raise document.locate_error(restore_keys(error, written)) from None
    return platform


@cache
def _known_keys() -> tuple[str, ...]:
    return tuple(list_keys(PlatformFile.model_json_schema(by_alias=True)))
