"""Configurations: executors, workers, ackers, the engine's settings, and declared resources."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from streamgauge.errors import Findings
from streamgauge.topology.field_checks import (
    check_known,
    check_name,
    check_number,
    check_whole,
    format_value,
)
from streamgauge.topology.frozen import FrozenDict, freeze
from streamgauge.topology.topology import MAX_TASKS, Topology

Setting = bool | int | float | str
DEFAULT_ENGINE = "storm-2"
# Settings that begin so are a topology's objective; engines pass them on and ignore them.
OBJECTIVE_PREFIX = "streamgauge.slo."
# Far more than any cluster has: a typing error must not exhaust the memory.
MAX_WORKERS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """What is decided when a topology is deployed.

    Attributes:
        engine: Whose transport moves the tuples: ``storm-1``, ``storm-2``, …
        executors: Executors per operator; an operator not named has one.
        ackers: Acker executors when the topology is acked; None means one per worker.
        settings: The engine's own settings under the engine's own names, such as
            ``topology.max.spout.pending``; what is not named keeps the engine's default.
        resources: What one executor of an operator needs, for schedulers that use it.
    """

    engine: str = DEFAULT_ENGINE
    executors: Mapping[str, int] = field(default_factory=FrozenDict)
    workers: int = 1
    ackers: int | None = None
    settings: Mapping[str, Setting] = field(default_factory=FrozenDict)
    resources: Mapping[str, Resources] = field(default_factory=FrozenDict)

    def __post_init__(self) -> None:
        freeze(self, "executors", "settings", "resources")
        findings = Findings()
        check_name(findings, self.engine, "engine")
        for operator, count in self.executors.items():
            check_whole(findings, count, "executors", operator)
        check_whole(findings, self.workers, "workers", most=MAX_WORKERS)
        if self.ackers is not None:
            check_whole(findings, self.ackers, "ackers", least=0, most=MAX_TASKS)
        for name, value in self.settings.items():
            if isinstance(value, float):
                check_number(findings, value, "settings", name, least=-math.inf)
            elif type(value) not in (bool, int, str):
                expected = "a number, text, true or false"
                findings.add("settings", name, seen=format_value(value), expected=expected)
        findings.raise_if_any()

    @property
    def acker_count(self) -> int:
        """Ackers that an acked topology gets: the configured number, else one per worker."""
        return self.workers if self.ackers is None else self.ackers

    def executors_of(self, operator: str) -> int:
        """Executors of `operator`, one unless said otherwise."""
        return self.executors.get(operator, 1)

    def with_executors(self, executors: Mapping[str, int]) -> Configuration:
        """The same configuration with other parallelism for the operators named."""
        return replace(self, executors={**self.executors, **executors})

    def check_against(self, topology: Topology) -> None:
        """Raise InvalidInput where this cannot configure `topology`."""
        findings = Findings()
        tasks = {operator.name: operator.tasks for operator in topology.operators}
        for part, named in (("executors", self.executors), ("resources", self.resources)):
            for operator in named:
                seen = f"unknown operator {operator!r}"
                expected = f"an operator of topology {topology.name!r}"
                check_known(findings, operator, tasks, part, operator, seen=seen, expected=expected)
        for operator, count in self.executors.items():
            if count > tasks.get(operator, count):
                findings.add(
                    "executors",
                    operator,
                    seen=f"{count} executors for {tasks[operator]} tasks",
                    expected=f"at most {tasks[operator]} executors",
                    remedy="an executor without a task has nothing to run; tasks are fixed "
                    "when the topology is submitted",
                )
        findings.raise_if_any()


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What its author declares that one executor needs; None leaves it to the engine's default.

    Attributes:
        cpu_cores: Cores of its machine (Storm counts 100 to a core).
        memory_bytes: Heap of its worker.
    """

    cpu_cores: float | None = None
    memory_bytes: int | None = None

    def __post_init__(self) -> None:
        with Findings() as findings:
            if self.cpu_cores is not None:
                check_number(findings, self.cpu_cores, "cpu_cores")
            if self.memory_bytes is not None:
                check_whole(findings, self.memory_bytes, "memory_bytes", least=0)
