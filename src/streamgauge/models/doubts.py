"""When not to rely on an answer: how a profile was taken, and how far from it the question is.

A doubt has a stable code for programs, a sentence for people, and what to do about it. Doubts never
change a figure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from streamgauge.models.capacity_check import CheckedCapacity
from streamgauge.models.changed_tasks import find_changed_tasks
from streamgauge.models.measured_behaviour import find_unexercised
from streamgauge.models.prediction import FULL, Prediction
from streamgauge.profile.figures import PeriodState
from streamgauge.profile.profile import Profile
from streamgauge.profile.quality import Assessment, Verdict, assess_profile, join_names
from streamgauge.topology.topology import Topology
from streamgauge.topology.workload import Workload

# Executors this busy, or blocked by full queues in this part of the time, were saturated.
SATURATED, PRESSED = 0.97, 0.05
# Less of the sources' input was processed than this, beyond three standard errors.
LEAST_JUICE = 0.98
# An operator with this part of the mean latency, or this busy, matters to the answer.
MATTERING_DELAY, MATTERING_UTILISATION = 0.1, 0.3
# A source that emits this many times as much as was ever measured,
FAR_RATE = 3.0
# or an executor that is this busy, and this many times as busy as any was, is far away.
FAR_UTILISATION, FAR_TIMES = 0.8, 2.0


class DoubtCode(StrEnum):
    """Why an answer may be wrong."""

    SATURATED = "saturated-period"
    DRAINING = "draining-period"
    FILLING = "filling-period"
    DRIFTING = "drifting-period"
    UNEXERCISED = "operator-not-exercised"
    THIN = "thin-figures"
    FAR_RATE = "rate-far-beyond"
    FAR_UTILISATION = "utilisation-far-beyond"
    FULL_MACHINE = "machine-nearly-full"
    CAPACITY = "capacity-below-computed"
    TASKS_CHANGED = "tasks-changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """One reason not to rely on an answer.

    Attributes:
        code: For programs.
        sentence: What was seen.
        remedy: What to do.
    """

    code: DoubtCode
    sentence: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.sentence} {self.remedy} [{self.code}]"

    def to_dict(self) -> dict[str, str]:
        """A flat record for ``--json``."""
        return asdict(self)


def find_doubts(
    profile: Profile,
    planned: Topology,
    workload: Workload,
    prediction: Prediction,
    capacities: Sequence[CheckedCapacity] = (),
) -> tuple[Doubt, ...]:
    """All doubts about a prediction: of the time that was measured, of figures, of the distance.

    Args:
        profile: What the prediction rests on.
        planned: The topology of the plan.
        workload: The load that was asked for.
        prediction: The answer.
        capacities: Measured beside computed, where both are known.
    """
    return (
        *_doubt_period(profile),
        *_doubt_figures(profile, prediction),
        *_doubt_tasks(profile, planned),
        *_doubt_rates(profile, workload),
        *_doubt_utilisation(profile, prediction),
        *_doubt_machines(prediction),
        *_doubt_capacities(prediction, capacities),
    )


_AGAIN = "Calibrate from a time in which the job kept up with a steady load."
_STATES = {
    PeriodState.DRAINING: (
        DoubtCode.DRAINING,
        "The profile was taken while a backlog drained: its rates are too high, and its waiting"
        " times too long.",
    ),
    PeriodState.FILLING: (
        DoubtCode.FILLING,
        "The profile was taken while a backlog grew: waiting times depend on when one looks.",
    ),
    PeriodState.DRIFTING: (
        DoubtCode.DRIFTING,
        "The load changed while the profile was taken: its figures mix several loads.",
    ),
}


def _doubt_period(profile: Profile) -> Iterator[Doubt]:
    state = None if profile.period is None else profile.period.state
    if state in _STATES:
        code, sentence = _STATES[state]
        yield Doubt(code=code, sentence=sentence, remedy=_AGAIN)
    signs = list(_saturation_signs(profile))
    if signs:
        yield Doubt(
            code=DoubtCode.SATURATED,
            sentence=f"The job was saturated while it was measured: {join_names(signs)}.",
            remedy=_AGAIN,
        )


def _saturation_signs(profile: Profile) -> Iterator[str]:
    for label, executor in profile.executors.items():
        busy = executor.capacity
        if busy is not None and busy.value >= SATURATED:
            yield f"{label} was {busy.value:.0%} busy"
    for (operator, index), task in profile.tasks.items():
        pressed = task.backpressure
        if pressed is not None and pressed.value >= PRESSED:
            yield f"task {index} of {operator} blocked its senders {pressed.value:.0%} of the time"
    juice = None if profile.juice is None else profile.juice.topology
    if juice is not None:
        error = juice.standard_error or 0.0
        if juice.value < LEAST_JUICE - 3.0 * error:
            yield f"only {juice.value:.1%} of what sources emitted was processed"


def _doubt_figures(profile: Profile, prediction: Prediction) -> Iterator[Doubt]:
    """Operators that were never exercised, and thin figures of those that matter."""
    unused = find_unexercised(profile)
    if unused:
        yield Doubt(
            code=DoubtCode.UNEXERCISED,
            sentence=f"No tuple came to {join_names(unused)} while the job was measured: the answer"
            " assumes that none will.",
            remedy="Calibrate from a time in which tuples come.",
        )
    mattering = {name for name in prediction.operators if _matters(prediction, name)} - {*unused}
    # What is missing of streams to operators that got nothing is just that.
    senders = {one.source for name in unused for one in profile.topology.streams_into(name)}
    thin = [
        one
        for one in assess_profile(profile)
        if one.operator in mattering
        and _is_weak(one)
        and not (one.verdict is Verdict.MISSING and one.operator in senders)
    ]
    if thin:
        yield Doubt(
            code=DoubtCode.THIN,
            sentence="Figures that matter rest on too little:"
            f" {join_names([_say_thin(one) for one in thin])}.",
            remedy="Calibrate from a longer time, or measure what is missing.",
        )


def _is_weak(one: Assessment) -> bool:
    # Second moments and slowdowns are thin in most profiles of a few minutes; what that does to
    # latency is in its interval. What a person wrote down rests on no samples.
    written = one.verdict is Verdict.THIN and one.samples == 0
    second = one.what.startswith(("variability", "slowdown", "linearity"))
    return one.verdict is not Verdict.GOOD and not second and not written


def _matters(prediction: Prediction, name: str) -> bool:
    operator = prediction.operators[name]
    part = operator.delay_seconds / prediction.latency.mean if prediction.latency.mean else 0.0
    return part >= MATTERING_DELAY or operator.busiest >= MATTERING_UTILISATION


def _say_thin(one: Assessment) -> str:
    return f"{one.name} ({one.why})" if one.why else one.name


def _doubt_tasks(profile: Profile, planned: Topology) -> Iterator[Doubt]:
    changed = find_changed_tasks(profile.topology, planned)
    if changed:
        counts = [
            f"{name} {after} ({before} measured)" for name, (before, after) in changed.items()
        ]
        yield Doubt(
            code=DoubtCode.TASKS_CHANGED,
            sentence="Operators have another number of tasks than was measured:"
            f" {join_names(counts)}. Which task gets which keys, and how they differ, is not known:"
            " they count as alike.",
            remedy="Measure the job with these tasks, or keep those that it has.",
        )


def _doubt_rates(profile: Profile, workload: Workload) -> Iterator[Doubt]:
    measured = _highest_measured(profile)
    for emission in workload.emissions:
        highest = measured.get(emission.source, 0.0)
        rate = emission.per_second
        if rate is not None and highest > 0.0 and rate > FAR_RATE * highest:
            yield Doubt(
                code=DoubtCode.FAR_RATE,
                sentence=f"{emission.source} is to emit {_show(rate)} tuples/s,"
                f" {_show(rate / highest)} times as many as were ever measured.",
                remedy="Treat figures beyond the measured rates as a direction, or measure at a"
                " higher load.",
            )


def _show(number: float) -> str:
    return f"{number:,.0f}" if number >= 100.0 else f"{number:.3g}"


def _highest_measured(profile: Profile) -> dict[str, float]:
    """By source, the highest rate: of the period, or of any time that the history knows."""
    highest: dict[str, float] = {}
    for source in profile.topology.sources:
        rates = [
            output.per_second.value
            for task in profile.tasks_of(source.name).values()
            for output in task.outputs.values()
            if output.per_second is not None
        ]
        highest[source.name] = sum(rates)
    for key, series in profile.sources.items():
        known = [rate for rate in series.per_second if rate is not None]
        highest[key.source] = max(highest.get(key.source, 0.0), max(known, default=0.0))
    return highest


def _doubt_utilisation(profile: Profile, prediction: Prediction) -> Iterator[Doubt]:
    measured = _busiest_measured(profile)
    far = [
        f"{name} {operator.busiest:.0%} ({measured[name]:.0%} measured)"
        for name, operator in prediction.operators.items()
        if name in measured
        and FAR_UTILISATION <= operator.busiest < 1.0
        and operator.busiest > FAR_TIMES * measured[name]
    ]
    if far:
        yield Doubt(
            code=DoubtCode.FAR_UTILISATION,
            sentence=f"Executors would be far busier than any was: {join_names(far)}.",
            remedy="Near saturation small errors of service times become large ones of latency.",
        )


def _busiest_measured(profile: Profile) -> Mapping[str, float]:
    busiest: dict[str, float] = {}
    for label, executor in profile.executors.items():
        operator = label.partition("[")[0]
        if executor.capacity is not None:
            busiest[operator] = max(busiest.get(operator, 0.0), executor.capacity.value)
    return busiest


def _doubt_machines(prediction: Prediction) -> Iterator[Doubt]:
    full = [
        f"{machine.name} {machine.in_use:.0%}"
        for machine in prediction.machines
        if machine.in_use >= FULL and not machine.overloaded
    ]
    if full:
        yield Doubt(
            code=DoubtCode.FULL_MACHINE,
            sentence=f"Machines would be nearly full: {join_names(full)} of their cores in use."
            " Beyond 80 % measured latencies no longer repeat.",
            remedy="Leave more cores free, or expect latency to be longer than predicted.",
        )


def _doubt_capacities(
    prediction: Prediction, capacities: Sequence[CheckedCapacity]
) -> Iterator[Doubt]:
    """Operators that took less than computed, and would be full before the limit."""
    low = [
        f"{one.operator} at {_show(one.measured.value)} tuples/s, {_show(one.headroom)} times the"
        f" load ({_show(one.computed)} computed)"
        for one in capacities
        if one.measured is not None
        and one.differs
        and one.difference < 0.0
        and not one.headroom >= prediction.limit.factor
    ]
    if low:
        yield Doubt(
            code=DoubtCode.CAPACITY,
            sentence=f"By what was measured, operators would be full earlier: {join_names(low)}.",
            remedy="Plan for the lower of the two: the measured one is from other plans, the"
            " computed one leaves out what service times do not show.",
        )
