"""What a policy is: it sees the cluster now and then, and says who gets how many executors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from streamgauge.planning.sharing.observation import ClusterSeen, Executors, OperatorSeen
from streamgauge.plugins import POLICIES, load_plugin, plugin_names
from streamgauge.topology.frozen import FrozenDict


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to change, and why.

    Attributes:
        rule: Which rule fired, in one word or two: ``reconfiguration``, ``wait`` …
        reason: What was seen, in a sentence.
        executors: By job and operator, how many from now on; what is not named stays as it is.
    """

    rule: str
    reason: str = ""
    executors: Executors = field(default_factory=FrozenDict)

    @property
    def acts(self) -> bool:
        """Whether anything changes."""
        return bool(self.executors)

    @classmethod
    def of(
        cls, rule: str, seen: ClusterSeen, wanted: Mapping[str, Mapping[str, int]], reason: str = ""
    ) -> Decision:
        """What differs from now, within one executor and one for each task."""
        changes: dict[str, Mapping[str, int]] = {}
        for job, operators in wanted.items():
            now = seen.jobs[job].operators
            new = {name: clamp(count, now[name]) for name, count in operators.items()}
            new = {name: count for name, count in new.items() if count != now[name].executors}
            if new:
                changes[job] = FrozenDict(new)
        return cls(rule=rule, reason=reason, executors=FrozenDict(changes))


def clamp(count: int, operator: OperatorSeen) -> int:
    """As many executors as the operator may have."""
    return max(1, min(count, operator.tasks))


@runtime_checkable
class Policy(Protocol):
    """Decides again and again; what it remembers is its own.

    A policy has no clock: the time is in what it sees. It is made without arguments.
    """

    name: str
    period_seconds: float

    def describe(self) -> str:
        """What it does, in one sentence."""
        ...

    def decide(self, seen: ClusterSeen) -> Decision:
        """What is to change now."""
        ...


def policy_names() -> tuple[str, ...]:
    """All policies that are installed."""
    return plugin_names(POLICIES)


def load_policy(name: str) -> Policy:
    """A new policy of that name.

    Raises:
        InvalidInput: There is none.
    """
    policy = load_plugin(POLICIES, name, ("--policies",))()
    assert isinstance(policy, Policy)
    return policy
