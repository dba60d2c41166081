"""What deploys a plan that somebody chose: one hook for each platform (Kalim 2020, section 4.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from streamgauge.errors import InvalidInput
from streamgauge.planning.packing.catalogue import MachineType
from streamgauge.planning.packing.choosing import JudgedPlan, Option
from streamgauge.topology.physical_plan import PhysicalPlan


class Platform(Protocol):
    """A cloud or a data centre."""

    def buy(self, machines: Sequence[MachineType]) -> Sequence[str]:
        """A host for each machine, in their order."""
        ...

    def start(self, plan: PhysicalPlan, hosts: Mapping[str, str]) -> None:
        """Run the job; a node of the plan is on the host that is named for it."""
        ...


def choose_option(options: Sequence[Option], sources: int) -> Option:
    """The option that the user chose, by its number of sources."""
    for option in options:
        if option.sources == sources:
            return option
    known = ", ".join(str(option.sources) for option in options)
    raise InvalidInput.single(("sources",), seen=f"{sources}", expected=f"one of {known}")


def deploy(judged: JudgedPlan, platform: Platform) -> Mapping[str, str]:
    """Buy the machines of a plan and start it there; the host of every node."""
    hosts = platform.buy(judged.plan.machines)
    nodes = [node.name for node in judged.physical.cluster.nodes]
    named = dict(zip(nodes, hosts, strict=True))
    platform.start(judged.physical, named)
    return named


@dataclass(slots=True, kw_only=True)
class RecordedPlatform:
    """Buys nothing: remembers what it was asked for.

    Attributes:
        bought: Names of machine types, as they were bought.
        started: The plans that were started, with the hosts of their nodes.
    """

    bought: list[str] = field(default_factory=list)
    started: list[tuple[PhysicalPlan, Mapping[str, str]]] = field(default_factory=list)

    def buy(self, machines: Sequence[MachineType]) -> Sequence[str]:
        """A host named after its type and number."""
        self.bought += [machine.name for machine in machines]
        return [f"{machine.name}-host-{number}" for number, machine in enumerate(machines, 1)]

    def start(self, plan: PhysicalPlan, hosts: Mapping[str, str]) -> None:
        """Remember the plan."""
        self.started.append((plan, hosts))
