"""What is true of known jobs, and how often the intervals of their profiles hold it.

The truth is what the job declares: moments of its distributions, means of its counts, weights of
its keys by the engine's hash. Nothing of the estimation is used to find it.

* **Random figures** have an interval: value ± 1.96 standard errors, as the profile states them.
  Routing shares state none; theirs is made of the replicas as for every other share of a profile:
  Student's quantile for the number of blocks, times the deviation of the replicas.
* **Exact figures** are no estimates: constant times, whole numbers of outputs, copies to all, and
  tasks that get all keys or none. They must equal the truth to 1e-9, or to the nanosecond that
  sums of times are written in.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.pipeline.calibrate.job import Calibrated
from streamgauge.pipeline.estimation.measured import path_of
from streamgauge.pipeline.estimation.standard_errors import interval, stated_error
from streamgauge.profile.behaviour import Service
from streamgauge.profile.distribution import Constant, Fixed
from streamgauge.profile.figures import Figure, TaskId, TimeFigures
from streamgauge.profile.files.jobs import parse_profile
from streamgauge.profile.job import Job
from streamgauge.profile.profile import Profile
from streamgauge.topology.grouping import All, Fields
from streamgauge.topology.topology import OperatorKind, Stream
from streamgauge.transport.hashing import task_index
from tests.pipeline.known_jobs import STREAM, Known

ROUTING, COEFFICIENT = "routing", "coefficient"
WALL, CPU, VARIABILITY = "service mean, clock", "service mean, core", "service variability"
KINDS = (ROUTING, COEFFICIENT, WALL, CPU, VARIABILITY)

EXACTNESS = 1e-9
NANOSECOND_MS = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A figure beside its truth.

    Attributes:
        topology: Whose.
        place: Which.
        kind: One of `KINDS`.
        about: What makes it vary: the grouping, or the kind of its distribution.
        exact: Whether it is no estimate.
        truth: What is true.
        value: What the profile says.
        low: Where its interval begins.
        high: Where it ends.
        tolerance: How far an exact value may be off, since times are written in nanoseconds.
    """

    topology: str
    place: str
    kind: str
    about: str
    exact: bool
    truth: float
    value: float
    low: float
    high: float
    tolerance: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether the truth is in the interval; of exact figures, whether it is the value."""
        if self.exact:
            return abs(self.value - self.truth) <= EXACTNESS * abs(self.truth) + self.tolerance
        return self.low <= self.truth <= self.high


def cases_of(known: Known, calibrated: Calibrated) -> list[Case]:
    """All figures of a job beside their truth."""
    assert calibrated.profile is not None, calibrated.fault
    assert calibrated.replicas is not None, "too few blocks"
    table = pq.read_table(io.BytesIO(calibrated.replicas[1]))
    return cases_of_profile(known, parse_profile(calibrated.profile), table)


def cases_of_profile(known: Known, profile: Profile, table: pa.Table) -> list[Case]:
    """The same of a profile and the table of its replicas; a figure that is missing is an error."""
    replicas = dict(zip(table["path"].to_pylist(), table["values"].to_pylist(), strict=True))
    return [
        *_services(known, profile),
        *_coefficients(known, profile),
        *_routing(known, profile, replicas),
    ]


def _services(known: Known, profile: Profile) -> Iterator[Case]:
    """Times of sources for a tuple they emit, and of processors for a tuple they execute."""
    topology, behaviours = known.job.topology, known.job.behaviours
    for operator in topology.operators:
        behaviour = behaviours[operator.name]
        for place in range(operator.tasks):
            if not is_reached(known.job, operator.name, place):
                continue
            seen = profile.tasks[TaskId(operator.name, place)]
            where = f"{operator.name}/{place}"
            if operator.kind is OperatorKind.SOURCE:
                out = seen.outputs[STREAM]
                yield from _times(known, f"{where}/out", behaviour.service, out.wall, out.cpu)
                continue
            for stream in streams_to(known.job, operator.name, place):
                figures = seen.inputs[stream.key]
                service = behaviour.service_of(stream.key)
                yield from _times(
                    known, f"{where}/{stream.source}", service, figures.wall, figures.cpu
                )


def _times(
    known: Known,
    place: str,
    service: Service,
    wall: TimeFigures | None,
    cpu: TimeFigures | None,
) -> Iterator[Case]:
    parts = [part for part in (service.cpu_ms, service.wait_ms) if part.mean > 0.0]
    constant = all(isinstance(part, Constant) for part in parts)
    about = "+".join(sorted(part.kind for part in parts))
    own = service.cpu_ms
    for kind, figures, mean, scv, exact, name in (
        (WALL, wall, service.mean_ms, service.scv, constant, about),
        (CPU, cpu, own.mean, own.scv, isinstance(own, Constant), own.kind),
    ):
        assert figures is not None, place
        where, taken = f"{place}/{kind}", figures.mean_ms
        yield _case(known, where, kind, name, mean, taken, exact, NANOSECOND_MS)
        # Without waiting, both are one and the same.
        if mean > 0.0 and (kind == WALL or service.wait_ms.mean > 0.0):
            assert figures.scv is not None, place
            # The sum of all times is a nanosecond off at the most, and counts twice: n·Σx²/(Σx)².
            rounding = 2.0 * NANOSECOND_MS / (taken.samples * taken.value)
            off = EXACTNESS + rounding
            yield _case(known, where, VARIABILITY, name, scv, figures.scv, exact, off)


def _coefficients(known: Known, profile: Profile) -> Iterator[Case]:
    """Tuples out per tuple in."""
    for operator in known.job.topology.operators:
        behaviour = known.job.behaviours[operator.name]
        for place in range(operator.tasks if behaviour.outputs else 0):
            inputs = [stream.key for stream in streams_to(known.job, operator.name, place)]
            counts = [behaviour.outputs_of(key)[STREAM] for key in inputs]
            # What one input adds at random blurs what the other does.
            exact = all(isinstance(one, Fixed) and one.mean.is_integer() for one in counts)
            for key, one in zip(inputs, counts, strict=True):
                seen = profile.tasks[TaskId(operator.name, place)].outputs[STREAM].coefficients
                about = one.kind if len(inputs) == 1 else "two inputs"
                where = f"{operator.name}/{place}/{key.source}"
                yield _case(known, where, COEFFICIENT, about, one.mean, seen[key], exact)


def _case(
    known: Known,
    place: str,
    kind: str,
    about: str,
    truth: float,
    figure: Figure,
    exact: bool,
    tolerance: float = 0.0,
) -> Case:
    # Without an error the interval would be endless, and hold anything.
    assert figure.standard_error is not None, place
    low, high = interval(figure)
    return Case(
        topology=known.name,
        place=place,
        kind=kind,
        about=about,
        exact=exact,
        truth=truth,
        value=figure.value,
        low=low,
        high=high,
        tolerance=tolerance,
    )


def _routing(
    known: Known, profile: Profile, replicas: Mapping[str, Sequence[float]]
) -> Iterator[Case]:
    """Shares of all tasks but the last, whose share is what the others leave."""
    assert profile.replicas is not None
    topology = known.job.topology
    for stream in topology.data_streams:
        truths = true_shares(known.job, stream)
        for sender in range(topology.operator(stream.source).tasks):
            if not is_reached(known.job, stream.source, sender):
                continue
            seen = (
                profile.tasks[TaskId(stream.source, sender)].outputs[STREAM].shares[stream.target]
            )
            for place, truth in enumerate(truths[:-1]):
                names = ("tasks", stream.source, sender, "outputs", STREAM, "shares", stream.target)
                path, value = path_of(*names, place), seen.parts[place]
                # The interval that the profile's other shares are stated with.
                deviation = float(np.std(replicas[path], ddof=1))
                figure = Figure(
                    value=value, standard_error=stated_error(deviation, profile.replicas.blocks)
                )
                exact = isinstance(stream.grouping, All) or truth in (0.0, 1.0)
                about = stream.grouping.kind
                yield _case(known, path, ROUTING, about, truth, figure, exact)


def streams_to(job: Job, operator: str, place: int) -> list[Stream]:
    """The streams of which a task gets tuples; a task may have none of the keys."""
    streams = job.topology.streams_into(operator)
    return [stream for stream in streams if true_shares(job, stream)[place] > 0.0]


def is_reached(job: Job, operator: str, place: int) -> bool:
    """Whether a task has anything to do."""
    return not job.topology.streams_into(operator) or bool(streams_to(job, operator, place))


def true_shares(job: Job, stream: Stream) -> list[float]:
    """The part of a stream's tuples that each task of its subscriber gets."""
    tasks = job.topology.operator(stream.target).tasks
    if not isinstance(stream.grouping, Fields):
        return [1.0 / tasks] * tasks
    keys = job.behaviours[stream.source].keys[stream.name]
    shares = [0.0] * tasks
    for name, share in zip(keys.names(), keys.shares().tolist(), strict=True):
        shares[task_index([name], tasks)] += share
    # A task that gets every key has all but a rounding error.
    return [
        1.0 if sum(other > 0.0 for other in shares) == 1 and share else share for share in shares
    ]


def coverage_table(cases: Iterable[Case]) -> str:
    """How many figures there are of each kind, and of how many the interval holds the truth."""
    counts: dict[tuple[str, str, str], list[bool]] = {}
    for case in cases:
        group = "exact" if case.exact else "estimated"
        for about in ("", case.about):
            counts.setdefault((group, case.kind, about), []).append(case.holds)
    lines = [f"{'':10} {'figure':20} {'varies by':22} {'cases':>6} {'held':>6} {'share':>7}"]
    for (group, kind, about), holds in sorted(counts.items()):
        share = f"{sum(holds) / len(holds):7.1%}"
        lines.append(f"{group:10} {kind:20} {about:22} {len(holds):6} {sum(holds):6} {share}")
    return "\n".join(lines)
