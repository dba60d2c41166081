"""JobBehaviour: what the operators of a job do, whatever plan they run on.

The one noun that models take. `JobBehaviour.from_profile` builds it from what was measured, with
the slowdown of crowded machines taken off; `JobBehaviour.from_job` builds it from what a job file
declares. Every number is an `Estimate`: an array with a standard error and an origin.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamgauge.profile.distribution import Distribution, compute_scv
from streamgauge.profile.keys import KeyDistribution
from streamgauge.topology.configuration import Configuration
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.grouping import Fields
from streamgauge.topology.topology import Stream, StreamKey, Subscription, Topology
from streamgauge.transport.engine import load_engine

if TYPE_CHECKING:
    from streamgauge.models.measured_capacity import MeasuredCurves
    from streamgauge.profile.job import Job
    from streamgauge.profile.profile import Profile

Array = NDArray[np.float64]

# What varies less than this is constant: the rest is rounding.
SMALLEST_SCV = 1e-6


class Origin(StrEnum):
    """Where a figure comes from.

    MEASURED: A profile has it.
    DECLARED: A job file says so.
    ASSUMED: Neither; a default, or another figure that stands in for it.
    """

    MEASURED = "measured"
    DECLARED = "declared"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimate:
    """A number, or one number a task, with what is known of its error.

    Attributes:
        value: The numbers. Replicas (the same numbers from resampled metrics), where there are
            any, lie along a leading axis.
        standard_error: Of the numbers, without the axis of replicas; NaN where it is not known.
        origin: Where the numbers come from.
    """

    value: Array
    standard_error: Array
    origin: Origin

    def __post_init__(self) -> None:
        ndim = self.standard_error.ndim
        if self.value.shape[self.value.ndim - ndim :] != self.standard_error.shape:
            raise ValueError(f"{self.value.shape} numbers, {self.standard_error.shape} errors")

    @classmethod
    def of(
        cls, value: ArrayLike, origin: Origin, standard_error: ArrayLike | None = None
    ) -> Estimate:
        """Numbers without replicas; their error is not known unless given."""
        numbers = np.asarray(value, dtype=np.float64)
        error = math.nan if standard_error is None else standard_error
        errors = np.broadcast_to(np.asarray(error, dtype=np.float64), numbers.shape)
        return cls(value=numbers, standard_error=errors, origin=origin)

    @property
    def replicas(self) -> int:
        """How many replicas there are; zero without their axis."""
        return len(self.value) if self.value.ndim > self.standard_error.ndim else 0

    def replica(self, index: int) -> Estimate:
        """The numbers of one replica; the same for all where there are none."""
        return replace(self, value=np.asarray(self.value[index])) if self.replicas else self

    def __float__(self) -> float:
        return float(self.value)

    @property
    def error(self) -> float:
        """The standard error of a single number; NaN where it is not known."""
        return float(self.standard_error)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TimeMoments:
    """A random time, in milliseconds.

    Attributes:
        variance: Its variance, in squared milliseconds.
        shape: A distribution with these moments, where quantiles were measured.
        probabilities: Of the quantiles, rising; none where none were measured.
        quantiles_ms: The quantiles, of a time that is needed at a percentile.
    """

    mean_ms: Estimate
    variance: Estimate
    shape: Distribution | None = None
    probabilities: tuple[float, ...] = ()
    quantiles_ms: Estimate | None = None

    @classmethod
    def of(
        cls,
        mean_ms: float,
        variance: float,
        origin: Origin,
        *,
        mean_error: float = math.nan,
        variance_error: float = math.nan,
        variance_origin: Origin | None = None,
    ) -> TimeMoments:
        """A time of such moments; by default of unknown error. What hardly varies is constant."""
        constant = mean_ms <= 0.0 or compute_scv(mean_ms, variance) < SMALLEST_SCV
        return cls(
            mean_ms=Estimate.of(max(mean_ms, 0.0), origin, mean_error),
            variance=Estimate.of(
                0.0 if constant else variance, variance_origin or origin, variance_error
            ),
        )


NONE = Estimate.of(0.0, Origin.ASSUMED)
NO_TIME = TimeMoments(mean_ms=NONE, variance=NONE)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ServiceTime:
    """Time for which one tuple or trigger holds its executor.

    Attributes:
        cpu: On a core; threads that share the core stretch this part.
        wait: Off the cores (sleep, disk, network); sharing leaves this part as it is.
    """

    cpu: TimeMoments = NO_TIME
    wait: TimeMoments = NO_TIME

    @property
    def mean_ms(self) -> float:
        """Mean time with cores to spare."""
        return float(self.cpu.mean_ms) + float(self.wait.mean_ms)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Coefficient:
    """Tuples out on one stream per tuple in of another.

    Attributes:
        mean: Over the tasks, each weighted by what it handled.
        by_task: Of each task; the mean where a task has none of its own.
    """

    mean: Estimate
    by_task: Estimate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InputBehaviour:
    """What an operator does with the tuples of one input stream.

    Attributes:
        service: Time of a tuple, over all tasks.
        outputs: Tuples out per tuple in, by output stream.
        task_weights: What is proportional to the part of this stream that each task gets; zeros
            where that is not known.
    """

    service: ServiceTime
    outputs: Mapping[str, Coefficient] = field(default_factory=FrozenDict)
    task_weights: Estimate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WindowBehaviour:
    """What happens when a window fires.

    Attributes:
        service: Time of one trigger.
        per_tuple_ms: Milliseconds on a core more for each tuple in the window.
        outputs: Tuples out per trigger, by stream.
    """

    service: ServiceTime
    per_tuple_ms: Estimate
    outputs: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OperatorBehaviour:
    """What one operator does.

    Attributes:
        inputs: By input stream.
        emit: Time of a tuple that a source emits.
        window: What a trigger does; None without a window.
        relative_service: Service time of each task relative to all tasks; None: all alike.
        task_weights: What is proportional to the part of all input that each task gets; zeros
            where that is not known.
        bytes: Size of a tuple, by output stream.
        failed_share: Part of the tuples in that it fails.
    """

    inputs: Mapping[StreamKey, InputBehaviour] = field(default_factory=FrozenDict)
    emit: ServiceTime = ServiceTime()
    window: WindowBehaviour | None = None
    relative_service: Estimate | None = None
    task_weights: Estimate
    bytes: Mapping[str, Estimate] = field(default_factory=FrozenDict)
    failed_share: Estimate = NONE

    def service_of(self, stream: StreamKey) -> ServiceTime:
        """Time of a tuple of that input stream; none where nothing is known of it."""
        return self.inputs[stream].service if stream in self.inputs else ServiceTime()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskShares:
    """How the tasks of a sender deal the tuples of a stream to the tasks of one subscriber.

    Attributes:
        parts: Sending × receiving tasks: rows sum to one, and are NaN of tasks that sent nothing.
        weights: How much each sending task counts among all: as its tuples do.
        output_shares: The part of its operator's output that each sending task has, or what is
            proportional to it.
    """

    parts: Estimate
    weights: Estimate
    output_shares: Estimate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CostEstimates:
    """What the engine itself costs, beside the work of the job's own code.

    Attributes:
        names: Of the costs: fields of `transport.costs.EngineCosts`, and `handling` of operators.
        values: A number for each, in the field's unit.
        covariance: Of their errors: one load says what costs are together rather than each.
    """

    names: tuple[str, ...] = ()
    values: Estimate = field(default_factory=lambda: Estimate.of((), Origin.ASSUMED))
    covariance: Array = field(default_factory=lambda: np.zeros((0, 0)))

    def value(self, name: str) -> float:
        """The cost of that name."""
        return float(self.values.value[self.names.index(name)])

    def name_handling(self, operator: str) -> str:
        """The name of what handling a tuple costs an operator: its own, or that of all others."""
        own = handling(operator)
        return own if own in self.names else HANDLING


HANDLING = "handled_seconds"


def handling(operator: str) -> str:
    """The name of what handling a tuple costs one operator."""
    return f"{HANDLING} of {operator}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JobBehaviour:
    """What the operators of a job do, with cores to spare.

    Attributes:
        configuration: What it was measured under, or is declared to run with.
        origin: Whether it was measured or declared; single figures may be assumed.
        operators: By name; ackers too, where something is known of them.
        shares: By subscription, from task to task, where that was measured.
        keys: Key frequencies by stream, where known.
        links: Latency from node to node, where it was probed.
        balance_ms: Of machines by name, where it was learned (`core_balance`).
        stretch: By operator, how many times as long its time on a core took where it was measured;
            taken off the service times.
        costs: What the engine itself costs; none: nothing.
        curves: Throughput curves by the profile's observations; None where nothing was measured.
        notes: What was assumed, corrected or left out.
        provenance: Which plan and period the figures come from.
    """

    topology: Topology
    configuration: Configuration
    origin: Origin
    operators: Mapping[str, OperatorBehaviour]
    shares: Mapping[Subscription, TaskShares] = field(default_factory=FrozenDict)
    keys: Mapping[StreamKey, KeyDistribution] = field(default_factory=FrozenDict)
    links: Mapping[tuple[str, str], TimeMoments] = field(default_factory=FrozenDict)
    balance_ms: Mapping[str, float] = field(default_factory=FrozenDict)
    stretch: Mapping[str, Estimate] = field(default_factory=FrozenDict)
    costs: CostEstimates = CostEstimates()
    curves: MeasuredCurves | None = None
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, str] = field(default_factory=FrozenDict)
    _key_shares: dict[tuple[str, Subscription], Array] = field(
        default_factory=dict, init=False, repr=False
    )

    @classmethod
    def from_profile(cls, profile: Profile) -> JobBehaviour:
        """The behaviour that reproduces what was measured, crowding taken off.

        Raises:
            InvalidInput: Nothing at all was measured of a processor.
            NotEnoughData: A processor has no measured service time.
        """
        from streamgauge.models.measured_behaviour import describe_profile

        return describe_profile(profile)

    @classmethod
    def from_job(cls, job: Job) -> JobBehaviour:
        """The behaviour that a job file declares.

        Raises:
            InvalidInput: A processor has no behaviour.
        """
        from streamgauge.models.declared_behaviour import describe_job

        return describe_job(job)

    def share_by_hash(self, engine: str, stream: Stream) -> Array | None:
        """The part of a stream that each receiving task gets, by where an engine hashes its keys.

        Remembered, as many plans are predicted from one behaviour. None where keys are not known,
        or do not go by their hash alone.
        """
        keys = self.keys.get(stream.key)
        if keys is None or not isinstance(stream.grouping, Fields):
            return None
        place = (engine, stream.subscription)
        if place not in self._key_shares:
            count = self.topology.operator(stream.target).tasks
            transport = load_engine(engine).load_transport()
            tasks = [transport.task_of_key([name], count) for name in keys.names()]
            shares = np.bincount(tasks, weights=keys.shares(), minlength=count)
            self._key_shares[place] = np.asarray(shares, dtype=np.float64)
        return self._key_shares[place]

    def replica(self, index: int) -> JobBehaviour:
        """The same with the numbers of one replica, where there are replicas."""
        chosen: JobBehaviour = _replica(self, index)
        return chosen


def _replica(part: Any, index: int) -> Any:
    """Part of a behaviour with the numbers of one replica."""
    if isinstance(part, Estimate):
        return part.replica(index)
    if isinstance(part, Mapping):
        return {key: _replica(value, index) for key, value in part.items()}
    if is_dataclass(part) and not isinstance(part, type) and type(part).__module__ == __name__:
        values = {
            one.name: _replica(getattr(part, one.name), index) for one in fields(part) if one.init
        }
        return replace(part, **values)
    return part
