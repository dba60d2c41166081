"""Resources: what one executor of an operator is said to need."""

from __future__ import annotations

from dataclasses import dataclass

from streamgauge.errors import Findings
from streamgauge.topology.field_checks import check_number, check_whole


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
        findings = Findings()
        if self.cpu_cores is not None:
            check_number(findings, self.cpu_cores, "cpu_cores")
        if self.memory_bytes is not None:
            check_whole(findings, self.memory_bytes, "memory_bytes", least=0)
        findings.raise_if_any()
