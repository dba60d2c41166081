"""Platforms: what an application runs on, as far as it changes the application's behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streamgauge.errors import Findings
from streamgauge.topology.cluster import Cluster
from streamgauge.topology.configuration import DEFAULT_ENGINE, MAX_WORKERS, Setting
from streamgauge.topology.field_checks import check_name, check_number, check_whole
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.topology import MAX_TASKS

# Section 5.3.2: a task keeps up with one tuple per millisecond until a load between 1300 and 1400
# thousand cycles, so we assume 1350 thousand per millisecond.
DEFAULT_CYCLE_NS = 1e6 / 1350e3
# Ours: a source has no load in NAMB, yet making a tuple takes some time everywhere.
DEFAULT_SOURCE_MS = 0.002
# A millisecond per cycle, and a quarter of an hour per tuple: no machine is that slow.
MAX_CYCLE_NS, MAX_SOURCE_MS = 1e6, 1e6
TRACE_SETTING = "streamgauge.trace.every"
PENDING_SETTING = "topology.max.spout.pending"


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """A platform file, with NAMB's defaults.

    Attributes:
        ackers: Ackers of a reliable application; one per worker when not given.
        max_spout_pending: Open tuple trees that an instance of a source may have, where the
            application is reliable.
        debug_frequency: Part of the tuples that are traced.
        source_ms: CPU milliseconds to generate a tuple.
        cluster: Machines and nodes; one node per worker when not given.
    """

    engine: str = DEFAULT_ENGINE
    workers: int = 1
    ackers: int | None = None
    max_spout_pending: int = 5000
    debug_frequency: float = 0.0
    cycle_ns: float = DEFAULT_CYCLE_NS
    source_ms: float = DEFAULT_SOURCE_MS
    settings: Mapping[str, Setting] = field(default_factory=FrozenDict)
    cluster: Cluster | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", FrozenDict(self.settings))
        findings = Findings()
        check_name(findings, self.engine, "engine")
        check_whole(findings, self.workers, "workers", most=MAX_WORKERS)
        if self.ackers is not None:
            check_whole(findings, self.ackers, "ackers", least=0, most=MAX_TASKS)
        check_whole(findings, self.max_spout_pending, "maxSpoutPending")
        check_number(findings, self.debug_frequency, "debugFrequency", most=1.0)
        check_number(findings, self.cycle_ns, "cycle_ns", above=0.0, most=MAX_CYCLE_NS)
        check_number(findings, self.source_ms, "source_ms", above=0.0, most=MAX_SOURCE_MS)
        findings.raise_if_any()

    @property
    def trace_every(self) -> int | None:
        """One in how many tuples is traced; None where none is."""
        if self.debug_frequency == 0.0:
            return None
        # A hair more, or a frequency of 1/49 would give 48.
        return int(1.0 / self.debug_frequency + 1e-9)

    def cpu_ms(self, cycles: float) -> float:
        """CPU milliseconds of `cycles` cycles."""
        return cycles * self.cycle_ns / 1e6
