"""Studies: experiments whose steps follow from a question (NAMB: Pagliari 2021, chapter 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from streamgauge.errors import Findings, InvalidInput
from streamgauge.experiments.variants import scale_service, set_rate
from streamgauge.profile.job import Job
from streamgauge.topology.field_checks import check_number, format_value

AS_IS = "as-is"
HALF = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRule:
    """When a latency is a sign of back-pressure: a threshold to enter and a lower one to leave.

    Attributes:
        enter: An event begins above so many times the baseline.
        leave: It ends below so many.
        gap_seconds: Events with no more than this between them are one.
        least_seconds: What is shorter is no event.
        persistent_share: One event that lasts at least this part of the time is persistent.
    """

    enter: float = 5.0
    leave: float = 2.0
    gap_seconds: float = 0.0
    least_seconds: float = 0.0
    persistent_share: float = 0.5

    def __post_init__(self) -> None:
        findings = Findings()
        check_number(findings, self.leave, "leave", least=1.0)
        if check_number(findings, self.enter, "enter", above=1.0) and self.leave > self.enter:
            findings.add(
                "leave",
                seen=f"{self.leave:g}, above enter, which is {self.enter:g}",
                expected="a lower threshold to leave an event than to enter it",
            )
        check_number(findings, self.gap_seconds, "gap_seconds")
        check_number(findings, self.least_seconds, "least_seconds")
        check_number(findings, self.persistent_share, "persistent_share", most=1.0)
        findings.raise_if_any()


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSweep:
    """The load rises from step to step: when does back-pressure begin, and does it stay?

    Attributes:
        baseline: The step that is known to be without back-pressure.
        rule: How events are found in the others.
    """

    kind: ClassVar[str] = "sweep"

    baseline: str
    rule: EventRule = EventRule()


@dataclass(frozen=True, slots=True, kw_only=True)
class BottleneckSearch:
    """Every operator in its turn is twice as fast: which one was it that mattered?

    Attributes:
        base: The step in which all are as they are.
        halved: The other steps, and the operator that each is about.
    """

    kind: ClassVar[str] = "halving"

    base: str
    halved: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fidelity:
    """How near other steps come to a reference.

    Attributes:
        reference: The step that the others imitate.
    """

    kind: ClassVar[str] = "fidelity"

    reference: str


Study = LoadSweep | BottleneckSearch | Fidelity


def make_rate_steps(job: Job, rates: Sequence[float]) -> dict[str, Job]:
    """A step for every rate of all sources together.

    Raises:
        InvalidInput: A rate that cannot be, or one that is given twice.
    """
    findings = Findings()
    steps: dict[str, Job] = {}
    for place, rate in enumerate(rates):
        with findings.at(place):
            _add_step(steps, f"rate-{rate:g}", set_rate(job, rate))
    findings.raise_if_any()
    return steps


def make_service_steps(job: Job, operator: str, factors: Sequence[float]) -> dict[str, Job]:
    """A step for every factor on the service time of an operator.

    Raises:
        InvalidInput: A factor that cannot be, or one that is given twice.
    """
    findings = Findings()
    steps: dict[str, Job] = {}
    for place, factor in enumerate(factors):
        with findings.at(place):
            _add_step(steps, f"{operator}-x{factor:g}", scale_service(job, {operator: factor}))
    findings.raise_if_any()
    return steps


def make_halving_steps(
    job: Job, operators: Sequence[str]
) -> tuple[dict[str, Job], BottleneckSearch]:
    """The job as it is, and with the service time of each operator halved in its turn.

    Args:
        job: With behaviours.
        operators: Those to halve; all but the sources if empty.

    Raises:
        InvalidInput: An operator without a behaviour.
    """
    sources = {operator.name for operator in job.topology.sources}
    chosen = list(operators) or [name for name in job.behaviours if name not in sources]
    findings = Findings()
    steps = {AS_IS: job}
    halved = []
    for operator in chosen:
        name = f"half-{operator}"
        with findings.at():
            _add_step(steps, name, scale_service(job, {operator: HALF}))
            halved.append((name, operator))
    findings.raise_if_any()
    return steps, BottleneckSearch(base=AS_IS, halved=tuple(halved))


def _add_step(steps: dict[str, Job], name: str, job: Job) -> None:
    if name in steps:
        raise InvalidInput.single(
            (), seen=f"step {format_value(name)} twice", expected="each value once"
        )
    steps[name] = job
