"""What a metric declares about itself: kind, unit, level, keys, and what its values may be."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum


class Kind(StrEnum):
    """How the values of one series relate to time.

    DELTA: What was added during the bucket.
    CUMULATIVE: Everything since the process started; it falls when the process starts anew.
    GAUGE: A level; the mean of `count` readings in the bucket.
    MEAN: The mean of `count` observations in the bucket, where the engine gives no sums.
    HISTOGRAM_BIN: Observations during the bucket that lay in one bin (see `histogram`).
    """

    DELTA = "delta"
    CUMULATIVE = "cumulative"
    GAUGE = "gauge"
    MEAN = "mean"
    HISTOGRAM_BIN = "histogram bin"


class Unit(StrEnum):
    """What a value is counted in."""

    TUPLES = "tuples"
    LISTS = "lists"
    ROOTS = "roots"
    TRIGGERS = "triggers"
    OBSERVATIONS = "observations"
    ATTEMPTS = "attempts"
    MESSAGES = "messages"
    HEARTBEATS = "heartbeats"
    RUNS = "runs"
    NANOSECONDS = "ns"
    SQUARE_NANOSECONDS = "ns²"
    MILLISECONDS = "ms"
    SECONDS = "s"
    PER_SECOND = "tuples/s"
    PER_LIST = "tuples/list"
    BYTES = "bytes"
    CORES = "cores"
    THREADS = "threads"
    RATIO = "1"

    @property
    def counts_observations(self) -> bool:
        """Whether every observation adds at least one to a sum in this unit."""
        return self in _OBSERVATION_UNITS


_OBSERVATION_UNITS = frozenset(
    {
        Unit.TUPLES,
        Unit.LISTS,
        Unit.ROOTS,
        Unit.TRIGGERS,
        Unit.OBSERVATIONS,
        Unit.ATTEMPTS,
        Unit.MESSAGES,
        Unit.HEARTBEATS,
        Unit.RUNS,
    }
)


class Level(Enum):
    """What a sample is about, with the columns that name it and those that may be added."""

    TASK = ("task", ("topology", "component", "task"), ("plan_id", "executor", "worker", "node"))
    EXECUTOR = ("executor", ("topology", "component", "executor"), ("plan_id", "worker", "node"))
    QUEUE = ("queue", ("topology", "queue"), ("plan_id", "node"))
    WORKER = ("worker", ("topology", "worker"), ("plan_id", "node"))
    NODE = ("node", ("node",), ("machine",))
    MACHINE = ("machine", ("machine",), ())

    def __init__(self, label: str, required: tuple[str, ...], optional: tuple[str, ...]) -> None:
        self.label = label
        self.required = frozenset(required)
        self.optional = frozenset(optional)


class Queue(Enum):
    """Which queue a sample of level QUEUE is about, and the columns that name its owner."""

    RECEIVE = ("receive", ("component", "executor"), ("worker",))
    SEND = ("send", ("component", "executor"), ("worker",))
    TRANSFER = ("transfer", ("worker",), ())
    NETWORK = ("network", ("worker",), ())

    def __init__(self, label: str, required: tuple[str, ...], optional: tuple[str, ...]) -> None:
        self.label = label
        self.required = frozenset(required)
        self.optional = frozenset(optional)


QUEUES = {queue.label: queue for queue in Queue}

# The key columns by what they stand for. All named ones are given, and no others.
INPUT = ("stream", "source_component")
OUTPUT = ("stream",)
TRANSFER = ("stream", "source_component", "source_task")
ORIGIN = ("source_component",)


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """What one metric is; two definitions are never equal, so no metric aliases another.

    Attributes:
        kind: How its values relate to time.
        keys: Key columns that a sample gives, all of them.
        whole: Whether a value is a whole number, so that sums do not depend on their order.
        may_be_negative: Whether a value below zero makes sense.
    """

    kind: Kind
    unit: Unit
    level: Level
    keys: tuple[str, ...]
    meaning: str
    whole: bool = True
    may_be_negative: bool = False


def counted(
    level: Level, keys: tuple[str, ...], meaning: str, unit: Unit = Unit.TUPLES
) -> Definition:
    """Something counted during the bucket."""
    return Definition(Kind.DELTA, unit, level, keys, meaning)


def total(
    level: Level, keys: tuple[str, ...], meaning: str, unit: Unit = Unit.TUPLES
) -> Definition:
    """Something counted since the process started, as engines keep it."""
    return Definition(Kind.CUMULATIVE, unit, level, keys, meaning)


def summed(
    level: Level,
    keys: tuple[str, ...],
    meaning: str,
    unit: Unit = Unit.NANOSECONDS,
    *,
    may_be_negative: bool = False,
) -> Definition:
    """A sum over the observations of the bucket, in whole units."""
    return Definition(Kind.DELTA, unit, level, keys, meaning, may_be_negative=may_be_negative)


def squares(level: Level, keys: tuple[str, ...], meaning: str) -> Definition:
    """A sum of squared times over the observations of the bucket."""
    return summed(level, keys, meaning, Unit.SQUARE_NANOSECONDS)


def binned(level: Level, keys: tuple[str, ...], meaning: str) -> Definition:
    """Observations in one bin of a histogram."""
    return Definition(Kind.HISTOGRAM_BIN, Unit.OBSERVATIONS, level, (*keys, "bin"), meaning)


def averaged(
    level: Level, keys: tuple[str, ...], meaning: str, unit: Unit = Unit.MILLISECONDS
) -> Definition:
    """A mean that the engine took itself."""
    return Definition(Kind.MEAN, unit, level, keys, meaning, whole=False)


def gauge(level: Level, unit: Unit, meaning: str) -> Definition:
    """A level that was read."""
    return Definition(Kind.GAUGE, unit, level, (), meaning, whole=False)
