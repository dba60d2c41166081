"""What executors need and what a worker can hold, by declaration or by Storm's defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from streamgauge.errors import Findings
from streamgauge.topology.configuration import Configuration, Resources
from streamgauge.topology.field_checks import check_number, format_value
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.topology import ACKER, Topology

UNITS_PER_CORE = 100.0
MEBIBYTE = 2**20

COMPONENT_CPU = "topology.component.cpu.pcore.percent"
COMPONENT_MEMORY = "topology.component.resources.onheap.memory.mb"
ACKER_CPU = "topology.acker.cpu.pcore.percent"
ACKER_MEMORY = "topology.acker.resources.onheap.memory.mb"
WORKER_HEAP = "topology.worker.max.heap.size.mb"
# Storm 2.8.3's own (defaults.yaml). Ackers have none there: they need what a component does,
# which is what Pagliari 2021, section 3.3.2, gives for them.
DEFAULTS: Mapping[str, float] = {COMPONENT_CPU: 10.0, COMPONENT_MEMORY: 128.0, WORKER_HEAP: 768.0}


class Needs(NamedTuple):
    """What one executor takes up: cores of its machine, bytes of its machine and its worker."""

    cores: float
    memory_bytes: float

    def __str__(self) -> str:
        return f"{self.cores:g} cores and {mebibytes(self.memory_bytes)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """Of a configured topology.

    Attributes:
        needs: Of one executor of each operator, ackers included.
        heap_bytes: What the executors of one worker may need together.
    """

    needs: Mapping[str, Needs]
    heap_bytes: float

    @classmethod
    def of(cls, topology: Topology, configuration: Configuration) -> Requirements:
        """As declared; else Storm's settings; else Storm's defaults.

        Raises:
            InvalidInput: A setting is no number.
        """
        settings = _numbers(configuration)
        usual = Needs(
            settings[COMPONENT_CPU] / UNITS_PER_CORE, settings[COMPONENT_MEMORY] * MEBIBYTE
        )
        needs = {
            operator.name: _filled(configuration.resources.get(operator.name), usual)
            for operator in topology.operators
        }
        needs[ACKER] = Needs(
            settings.get(ACKER_CPU, settings[COMPONENT_CPU]) / UNITS_PER_CORE,
            settings.get(ACKER_MEMORY, settings[COMPONENT_MEMORY]) * MEBIBYTE,
        )
        return cls(needs=FrozenDict(needs), heap_bytes=settings[WORKER_HEAP] * MEBIBYTE)

    def check(self, operators: Iterable[str]) -> None:
        """Raise InvalidInput where an executor needs more than any worker may have.

        No cluster could run it, and Storm refuses such a topology too.
        """
        findings = Findings()
        for operator in operators:
            needs = self.needs[operator]
            if needs.memory_bytes > self.heap_bytes:
                findings.add(
                    "configuration",
                    "resources",
                    operator,
                    seen=f"an executor that needs {mebibytes(needs.memory_bytes)}",
                    expected=f"at most a worker's heap, {mebibytes(self.heap_bytes)}",
                    remedy=f"raise {WORKER_HEAP}, or declare smaller needs",
                )
        findings.raise_if_any()


def mebibytes(size: float) -> str:
    """Bytes as Storm counts them."""
    return f"{size / MEBIBYTE:g} MB"


def _filled(resources: Resources | None, usual: Needs) -> Needs:
    if resources is None:
        return usual
    cores, memory = resources.cpu_cores, resources.memory_bytes
    return Needs(
        usual.cores if cores is None else float(cores),
        usual.memory_bytes if memory is None else float(memory),
    )


def _numbers(configuration: Configuration) -> dict[str, float]:
    """Storm's figures by their own names; those without a default only where they are set."""
    findings = Findings()
    found = dict(DEFAULTS)
    for name in (*DEFAULTS, ACKER_CPU, ACKER_MEMORY):
        value = configuration.settings.get(name)
        if value is None:
            continue
        if isinstance(value, bool | str):
            findings.add(
                "configuration", "settings", name, seen=format_value(value), expected="a number"
            )
        elif check_number(findings, value, "configuration", "settings", name):
            found[name] = float(value)
    findings.raise_if_any()
    return found
