"""What a policy is: it sees the cluster now and then, and says who gets how many executors."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Protocol, runtime_checkable

from streamgauge.errors import Findings, InvalidInput, suggest_name
from streamgauge.planning.sharing.observation import ClusterSeen, Executors, OperatorSeen
from streamgauge.plugins import POLICIES, load_plugin, plugin_names
from streamgauge.topology.field_checks import check_number
from streamgauge.topology.frozen import FrozenDict

PLACE = ("--policies",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to change, and why.

    Attributes:
        rule: Which rule fired, in one word or two: ``reconfiguration``, ``wait`` …
        reason: What was seen, in a sentence.
        executors: By job and operator, how many from now on; what is not named stays as it is.
        refused: What was not done of what the policy wanted, and why; a sentence each.
    """

    rule: str
    reason: str = ""
    executors: Executors = field(default_factory=FrozenDict)
    refused: tuple[str, ...] = ()

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


def load_policy(text: str) -> Policy:
    """A new policy: by its name, or with settings after it, as in ``hpa:target=0.5``.

    A policy has settings where its class names a dataclass of them as `settings`, and takes one.

    Raises:
        InvalidInput: There is no such policy or setting, or it cannot have that value.
    """
    name, *given = text.split(":")
    kind = load_plugin(POLICIES, name, PLACE)
    if not given:
        return _check(kind())
    settings = getattr(kind, "settings", None)
    if settings is None:
        raise InvalidInput.single(
            PLACE, seen=f"{text!r}: {name} has no settings", expected=f"{name} alone"
        )
    known = {one.name: type(one.default) for one in fields(settings)}
    values = dict(_read_setting(one, known) for one in given)
    findings = Findings()
    for setting, value in values.items():
        # What is nothing by default may be nothing; all else is a length of time, a part or a size.
        nothing = not settings.__dataclass_fields__[setting].default
        above = {} if nothing else {"above": 0.0}
        if not isinstance(value, bool | str):
            check_number(findings, value, *PLACE, name, setting, **above)
    findings.raise_if_any()
    try:
        policy = _check(kind(settings(**values)))
    except InvalidInput as error:
        raise error.below(*PLACE, name) from None
    # Results tell one policy with several settings apart by this.
    policy.name = text
    return policy


def _check(policy: object) -> Policy:
    assert isinstance(policy, Policy)
    return policy


def _read_setting(text: str, known: Mapping[str, type]) -> tuple[str, float | int | bool | str]:
    """``target=0.5`` as a value of the setting's type."""
    name, _, value = text.partition("=")
    if name not in known:
        raise InvalidInput.single(
            PLACE,
            seen=f"setting {name!r}",
            expected=f"one of {', '.join(known)}",
            remedy=suggest_name(name, list(known)),
        )
    kind = known[name]
    with suppress(ValueError):
        if kind is not bool:
            return name, kind(value)
        if value in ("true", "false"):
            return name, value == "true"
    expected = {bool: "true or false", int: f"a whole number: {name}=3"}
    if issubclass(kind, Enum):
        expected[kind] = f"one of {', '.join(str(one) for one in kind)}"
    raise InvalidInput.single(
        PLACE, seen=repr(text), expected=expected.get(kind, f"a number: {name}=0.5")
    )
