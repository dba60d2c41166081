"""Studies: experiments whose steps follow from a question (NAMB: Pagliari 2021, chapter 5).

Steps are variants of a job: another rate, other service times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from streamgauge.errors import Findings, InvalidInput, did_you_mean
from streamgauge.profile.behaviour import Behaviour, Service
from streamgauge.profile.job import Job
from streamgauge.topology.field_checks import check_number, format_value

AS_IS = "as-is"
HALF = 0.5

Rate = float | Mapping[str, float]


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
    """How near other steps come to a reference."""

    kind: ClassVar[str] = "fidelity"

    reference: str


Study = LoadSweep | BottleneckSearch | Fidelity


def make_rate_steps(job: Job, rates: Sequence[float]) -> dict[str, Job]:
    """A step for every rate of all sources together.

    Raises:
        InvalidInput: A rate that cannot be, or one that is given twice.
    """
    return _make_steps(rates, "rate-", lambda rate: set_rate(job, rate))


def make_service_steps(job: Job, operator: str, factors: Sequence[float]) -> dict[str, Job]:
    """A step for every factor on the service time of an operator.

    Raises:
        InvalidInput: A factor that cannot be, or one that is given twice.
    """
    return _make_steps(
        factors, f"{operator}-x", lambda factor: scale_service(job, {operator: factor})
    )


def _make_steps(
    values: Sequence[float], prefix: str, make: Callable[[float], Job]
) -> dict[str, Job]:
    findings = Findings()
    steps: dict[str, Job] = {}
    for place, value in enumerate(values):
        with findings.at(place):
            _add_step(steps, f"{prefix}{value:g}", make(value))
    findings.raise_if_any()
    return steps


def make_halving_steps(
    job: Job, operators: Sequence[str]
) -> tuple[dict[str, Job], BottleneckSearch]:
    """The job as it is, and with the service time of each operator halved in its turn.

    If no operators are named, all but the sources are halved.

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


def set_rate(job: Job, rate: Rate) -> Job:
    """The job under another load, in tuples per second.

    The rate is that of all sources together, in the proportions they had, or one by source.

    Raises:
        InvalidInput: A rate is no number above zero, or is for what does not emit.
    """
    if job.workload is None:
        raise InvalidInput.single(
            (), seen="a rate for a job without a workload", expected="what its sources emit"
        )
    if not isinstance(rate, Mapping):
        return replace(job, workload=job.workload.at_rate(rate))
    findings = Findings()
    workload = job.workload
    sources = list(dict.fromkeys(emission.source for emission in workload.emissions))
    for name, value in rate.items():
        streams = [emission.key for emission in workload.emissions if emission.source == name]
        if not streams:
            findings.add(
                name,
                seen=f"a rate for {name!r}",
                expected="a source that emits",
                remedy=did_you_mean(name, sources),
            )
            continue
        with findings.at(name):
            workload = workload.at_rate(value, streams)
    findings.raise_if_any()
    return replace(job, workload=workload)


def scale_service(job: Job, factors: Mapping[str, float]) -> Job:
    """The job with the service times of some operators so many times as long.

    Raises:
        InvalidInput: A factor is no number above zero, or is for what has no behaviour.
    """
    findings = Findings()
    behaviours = dict(job.behaviours)
    for name, factor in factors.items():
        if name not in behaviours:
            findings.add(
                name,
                seen=f"a factor for {name!r}",
                expected="an operator with a behaviour",
                remedy=did_you_mean(name, list(behaviours)),
            )
        elif check_number(findings, factor, name, above=0.0):
            behaviours[name] = _stretch(behaviours[name], factor)
    findings.raise_if_any()
    return replace(job, behaviours=behaviours)


def _stretch(behaviour: Behaviour, factor: float) -> Behaviour:
    def scale(service: Service) -> Service:
        return Service(cpu_ms=service.cpu_ms.scale(factor), wait_ms=service.wait_ms.scale(factor))

    inputs = {
        key: replace(given, service=scale(given.service)) if given.service else given
        for key, given in behaviour.inputs.items()
    }
    window = behaviour.window
    if window is not None:
        per_tuple_ms = window.per_tuple_ms * factor
        window = replace(window, service=scale(window.service), per_tuple_ms=per_tuple_ms)
    return replace(behaviour, service=scale(behaviour.service), inputs=inputs, window=window)
