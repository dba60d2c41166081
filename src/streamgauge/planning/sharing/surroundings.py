"""What policies are up against: the world differs from what jobs declare, and things happen."""

from __future__ import annotations

from dataclasses import dataclass

from streamgauge.errors import Findings
from streamgauge.planning.sharing.observation import Executors
from streamgauge.topology.field_checks import check_number


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHand:
    """Executors that a person changes at a time, whatever the policy thinks of it."""

    at: float
    executors: Executors


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What policies are up against.

    Attributes:
        step_seconds: Of the world, and the window of what policies see.
        policies_from_seconds: When policies are asked for the first time.
        downtime_seconds: For how long a job stands still whose executors change.
        service_error: Standard deviation of ln(true service time / declared one).
        least_exponent: Executors do more by their number to a power from this one …
        most_exponent: … to this one.
        noise: Standard deviation of ln(seen / true) of every figure that policies see.
        outages: Times (from, to) in seconds in which metrics do not arrive.
        failures: Times (from, to, cores) in which so many cores are missing.
        background: Times (from, to, cores) in which other programs keep so many cores busy.
        changes: What people change.
        admission: Whether new jobs wait while others miss their objectives.
    """

    step_seconds: float = 10.0
    policies_from_seconds: float = 0.0
    downtime_seconds: float = 30.0
    service_error: float = 0.1
    least_exponent: float = 0.7
    most_exponent: float = 1.0
    noise: float = 0.05
    outages: tuple[tuple[float, float], ...] = ()
    failures: tuple[tuple[float, float, float], ...] = ()
    background: tuple[tuple[float, float, float], ...] = ()
    changes: tuple[ByHand, ...] = ()
    admission: bool = False

    def __post_init__(self) -> None:
        findings = Findings()
        check_number(findings, self.step_seconds, "step_seconds", above=0.0)
        check_number(findings, self.policies_from_seconds, "policies_from_seconds")
        check_number(findings, self.downtime_seconds, "downtime_seconds")
        check_number(findings, self.service_error, "service_error", most=1.0)
        check_number(findings, self.least_exponent, "least_exponent", above=0.0, most=1.0)
        check_number(
            findings, self.most_exponent, "most_exponent", least=self.least_exponent, most=1.0
        )
        check_number(findings, self.noise, "noise", most=1.0)
        findings.raise_if_any()
