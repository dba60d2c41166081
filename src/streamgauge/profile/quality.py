"""Which figures of a profile are well measured, thin or missing.

Figures of an operator's tasks are judged together, as behaviours are derived from them together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product
from typing import NamedTuple

from streamgauge.errors import InvalidInput
from streamgauge.profile.figures import Figure, OutputFigures, Shares, TaskProfile, TimeFigures
from streamgauge.profile.pooling import pool_mean, pool_slowdown, pool_times, pool_total
from streamgauge.profile.profile import Profile
from streamgauge.topology.field_checks import natural_key
from streamgauge.topology.grouping import Direct, Fields, PartialKey
from streamgauge.topology.logical_plan import Executor, even_sizes
from streamgauge.topology.topology import (
    DEFAULT_STREAM,
    Operator,
    OperatorKind,
    Stream,
    StreamKey,
)

# A figure is thin when its standard error is above this part of it,
LARGEST_RELATIVE_ERROR = 0.10
# when it comes from fewer periods of time than this,
FEWEST_BUCKETS = 8
# or from fewer observations.
FEWEST_SAMPLES = 100
# Times that vary less than this count as constant: the error of their variability does not matter.
CONSTANT_SCV = 0.01
# With these groupings the data decides which task gets a tuple, so no model can know it.
MEASURED_GROUPINGS = (Fields, PartialKey, Direct)
# The most names that a message lists.
MANY_NAMES = 8
# The most figures that a message lists.
MANY_CAUTIONS = 3

_SQUARES = "record squares or bins of the times; until then they are assumed to be exponential"


class Verdict(StrEnum):
    """How reliable a figure is."""

    GOOD = "good"
    THIN = "thin"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """The quality of one figure.

    Attributes:
        operator: Whose it is; empty for links and workers.
        subject: Which stream, link or worker of it; empty where there is but one.
        samples: Observations it rests on.
        buckets: Periods of time they came from.
        relative_standard_error: Its standard error as a part of it, where known.
    """

    operator: str
    subject: str = ""
    what: str
    verdict: Verdict
    samples: int = 0
    buckets: int = 0
    relative_standard_error: float | None = None
    why: str = ""
    remedy: str = ""

    @property
    def name(self) -> str:
        """Whose figure it is, and which."""
        whose = " ".join(part for part in (self.operator, self.subject) if part)
        return f"{whose}: {self.what}"

    def to_dict(self) -> dict[str, str | int | float | None]:
        """A flat record for ``--json`` and tables."""
        return {
            "operator": self.operator or None,
            "subject": self.subject or None,
            "what": self.what,
            "verdict": str(self.verdict),
            "samples": self.samples,
            "buckets": self.buckets,
            "relative_standard_error": self.relative_standard_error,
            "why": self.why or None,
            "remedy": self.remedy or None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileQuality:
    """How far the figures of a profile carry, in short.

    Attributes:
        thin: Names of those that rest on too little.
        missing: Names of those that are not known.
    """

    good: int
    thin: tuple[str, ...]
    missing: tuple[str, ...]

    @classmethod
    def of(cls, assessments: Sequence[Assessment]) -> ProfileQuality:
        """The quality of a profile whose figures were assessed."""
        by_verdict = {
            verdict: tuple(one.name for one in assessments if one.verdict is verdict)
            for verdict in Verdict
        }
        return cls(
            good=len(by_verdict[Verdict.GOOD]),
            thin=by_verdict[Verdict.THIN],
            missing=by_verdict[Verdict.MISSING],
        )

    @property
    def is_good(self) -> bool:
        """Whether every figure is well measured."""
        return not self.thin and not self.missing

    def __str__(self) -> str:
        total = self.good + len(self.thin) + len(self.missing)
        text = f"{self.good} of {total} figures are well measured"
        text += f", {len(self.thin)} thin" if self.thin else ""
        return text + (f", {len(self.missing)} missing" if self.missing else "")

    @property
    def cautions(self) -> Iterator[str]:
        """What is thin or missing, by name."""
        for word, names in (("missing", self.missing), ("thin", self.thin)):
            if names:
                yield f"{word}: {join_names(names, '; ', MANY_CAUTIONS)}"

    def to_dict(self) -> dict[str, object]:
        """A record for programs."""
        return {"good": self.good, "thin": list(self.thin), "missing": list(self.missing)}


def assess_profile(profile: Profile) -> tuple[Assessment, ...]:
    """Every figure that models need, judged; operators in their order, then links and workers."""
    found: list[Assessment] = []
    for operator in profile.topology.operators:
        tasks = profile.tasks_of(operator.name)
        found += _assess_tasks(profile, operator, tasks)
        if operator.kind is not OperatorKind.SOURCE:
            found += _assess_inputs(profile, operator, tasks)
        if operator.window is not None:
            found += _assess_window(operator, tasks)
        found += _assess_outputs(profile, operator, tasks)
    found += _assess_links(profile)
    found += _assess_slowdown(profile)
    found += _assess_workers(profile)
    return tuple(found)


def relative_error(figure: Figure) -> float | None:
    """The standard error as a part of the figure, where both are known."""
    if figure.standard_error is None or figure.value <= 0.0:
        return None
    return figure.standard_error / figure.value


def explain_thin(figure: Figure) -> list[str]:
    """Why a figure is thin; empty where it is not."""
    if figure.samples == 0 and figure.buckets == 0:
        return ["written by hand: the number of observations is unknown"]
    reasons = []
    error = relative_error(figure)
    if error is not None and error > LARGEST_RELATIVE_ERROR:
        reasons.append(f"standard error of {error:.0%}, over {LARGEST_RELATIVE_ERROR:.0%}")
    if figure.buckets < FEWEST_BUCKETS:
        reasons.append(f"{figure.buckets} buckets, under {FEWEST_BUCKETS}")
    if figure.samples < FEWEST_SAMPLES:
        reasons.append(f"{figure.samples} observations, under {FEWEST_SAMPLES}")
    return reasons


class _Need(NamedTuple):
    """A figure that models need: of which operator, which figure, and how to measure it."""

    operator: str
    subject: str
    what: str
    remedy: str = ""

    def judge(self, figure: Figure | None, note: str = "") -> Assessment:
        """An assessment of the figure; None means that it is missing."""
        if figure is None:
            return self.missing("not measured")
        reasons = explain_thin(figure)
        advice = "measure for longer" if figure.samples or figure.buckets else "measure it"
        return Assessment(
            operator=self.operator,
            subject=self.subject,
            what=self.what,
            verdict=Verdict.THIN if reasons else Verdict.GOOD,
            samples=figure.samples,
            buckets=figure.buckets,
            relative_standard_error=relative_error(figure),
            why="; ".join([*reasons, *([note] if note else [])]),
            remedy=advice if reasons else "",
        )

    def missing(self, why: str) -> Assessment:
        """An assessment that the figure is missing, and why."""
        return Assessment(
            operator=self.operator,
            subject=self.subject,
            what=self.what,
            verdict=Verdict.MISSING,
            why=why,
            remedy=self.remedy,
        )


def _assess_tasks(
    profile: Profile, operator: Operator, tasks: Mapping[int, TaskProfile]
) -> Iterator[Assessment]:
    """Report executors of which no task has metrics; a task next to a measured one is idle."""
    unseen: list[str] = []
    first = 0
    for size in even_sizes(operator.tasks, profile.configuration.executors_of(operator.name)):
        places = range(first, first + size)
        if not any(place in tasks for place in places):
            unseen += [str(place) for place in places]
        first += size
    if not unseen:
        return
    all_of_them = len(unseen) == operator.tasks
    need = _Need(operator.name, "", "tasks", "check that every worker's metrics arrive")
    yield need.missing(
        f"no metrics from any of its {operator.tasks} tasks"
        if all_of_them
        else f"no metrics from these of its {operator.tasks} tasks: {join_names(unseen)}"
    )


def _assess_inputs(
    profile: Profile, operator: Operator, tasks: Mapping[int, TaskProfile]
) -> Iterator[Assessment]:
    name = operator.name
    for key in dict.fromkeys(stream.key for stream in profile.topology.streams_into(name)):
        figures = {place: task.inputs[key] for place, task in tasks.items() if key in task.inputs}
        walls = {p: one.wall for p, one in figures.items() if one.wall is not None}
        cpus = {p: one.cpu for p, one in figures.items() if one.cpu is not None}
        times = walls or cpus
        subject = f"from {_format_stream(key)}"
        rates = [one.per_second for one in figures.values()]
        yield _Need(name, subject, "arrival rate", "record executed or received").judge(
            _pool_rates(rates)
        )
        remedy = "record execute_latency_sum or execute_cpu_sum, or write it by hand"
        yield _Need(name, subject, "service time", remedy).judge(
            _pool_means(times), _describe_tasks(times, tasks)
        )
        yield _Need(name, subject, "variability of service", _SQUARES).judge(
            _pool_variability(times)
        )
        if walls and cpus:
            yield _Need(name, subject, "service time on a core").judge(_pool_means(cpus))


def _assess_window(operator: Operator, tasks: Mapping[int, TaskProfile]) -> Iterator[Assessment]:
    walls = {place: task.window for place, task in tasks.items() if task.window is not None}
    cpus = {place: task.window_cpu for place, task in tasks.items() if task.window_cpu is not None}
    times = walls or cpus
    remedy = "record window_latency_sum and window_triggers"
    yield _Need(operator.name, "", "service time of a window", remedy).judge(
        _pool_means(times), _describe_tasks(times, tasks)
    )
    yield _Need(operator.name, "", "variability of a window", _SQUARES).judge(
        _pool_variability(times)
    )


def _assess_outputs(
    profile: Profile, operator: Operator, tasks: Mapping[int, TaskProfile]
) -> Iterator[Assessment]:
    streams = profile.topology.streams_from(operator.name)
    for name in dict.fromkeys(stream.name for stream in streams):
        figures = [task.outputs[name] for task in tasks.values() if name in task.outputs]
        rate = _pool_rates([one.per_second for one in figures])
        subject = f"on {name}"
        yield _Need(operator.name, subject, "emission rate", "record emitted").judge(rate)
        if operator.window is not None:
            yield _assess_per_trigger(operator.name, subject, figures, rate)
        elif operator.kind is not OperatorKind.SOURCE:
            yield from _assess_coefficients(profile, operator.name, name, figures)
        for stream in streams:
            if stream.name == name:
                yield from _assess_shares(profile, stream, figures)


def _assess_per_trigger(
    operator: str, subject: str, figures: Sequence[OutputFigures], rate: Figure | None
) -> Assessment:
    remedy = "record window_triggers and emitted"
    need = _Need(operator, subject, "tuples out per window", remedy)
    counted = [one.per_trigger for one in figures if one.per_trigger is not None]
    if counted:
        return need.judge(pool_mean(counted))
    return need.judge(rate, "from rates, as windows were not counted")


def _assess_coefficients(
    profile: Profile, operator: str, name: str, figures: Sequence[OutputFigures]
) -> Iterator[Assessment]:
    remedy = "record emitted and executed of the same buckets"
    for key in dict.fromkeys(stream.key for stream in profile.topology.streams_into(operator)):
        subject = f"on {name} from {_format_stream(key)}"
        known = [one.coefficients[key] for one in figures if key in one.coefficients]
        yield _Need(operator, subject, "tuples out per tuple in", remedy).judge(pool_mean(known))
    bent = sum(one.linear is False for one in figures)
    if bent:
        yield Assessment(
            operator=operator,
            subject=f"on {name}",
            what="linearity",
            verdict=Verdict.THIN,
            why="tuples out are not a linear function of tuples in, at "
            f"{bent} of {len(figures)} tasks",
            remedy="trust predictions near the measured rates only",
        )


def _assess_shares(
    profile: Profile, stream: Stream, figures: Sequence[OutputFigures]
) -> Iterator[Assessment]:
    """How tuples were divided over tasks, where that was measured or should have been."""
    subject = f"on {stream.name} to {stream.target}"
    remedy = "record transferred, or received by source task"
    need = _Need(stream.source, subject, "routing shares", remedy)
    known = [one.shares[stream.target] for one in figures if stream.target in one.shares]
    divided = profile.topology.operator(stream.target).tasks > 1
    # Known keys tell which task gets a tuple.
    in_the_data = isinstance(stream.grouping, MEASURED_GROUPINGS) and stream.key not in profile.keys
    if known:
        yield need.judge(_find_largest_share(known))
    elif divided and in_the_data:
        yield need.missing(f"not measured, and with {stream.grouping.describe()} the data decides")


def _find_largest_share(known: Sequence[Shares]) -> Figure:
    """The largest share of one task, with its error if tuples are routed independently."""
    weights = [one.samples or 1 for one in known]
    largest = max(
        math.fsum(weight * part for weight, part in zip(weights, column, strict=True))
        for column in zip(*(one.parts for one in known), strict=True)
    ) / sum(weights)
    samples = sum(one.samples for one in known)
    spread = max(0.0, largest * (1.0 - largest))
    return Figure(
        value=largest,
        samples=samples,
        buckets=max(one.buckets for one in known),
        standard_error=math.sqrt(spread / samples) if samples else None,
    )


def _assess_links(profile: Profile) -> Iterator[Assessment]:
    """Links that were measured, and pairs of nodes that send to each other and were not."""
    measured = set()
    for link in profile.links:
        measured |= {(link.source, link.target), (link.target, link.source)}
        subject = f"{link.source} → {link.target}"
        yield _Need("", subject, "latency").judge(link.latency.mean_ms)
    pairs = [pair for pair in _find_node_pairs(profile) if pair not in measured]
    if pairs:
        subject = join_names([f"{one} – {other}" for one, other in pairs])
        remedy = "probe the nodes; until then the latency that the cluster declares is used"
        yield _Need("", subject, "latency", remedy).missing(
            "not measured, and tuples are sent between these nodes"
        )


def _find_node_pairs(profile: Profile) -> list[tuple[str, str]]:
    """Pairs of nodes between which a stream of the job goes, by the placement."""
    nodes: dict[str, set[str]] = {}
    for label, worker in profile.placement.items():
        try:
            operator = Executor.parse(label).operator
        except InvalidInput:
            continue
        nodes.setdefault(operator, set()).add(parse_node(worker))
    pairs = {
        (min(one, other), max(one, other))
        for stream in profile.topology.streams
        for one, other in product(nodes.get(stream.source, ()), nodes.get(stream.target, ()))
        if one != other
    }
    return sorted(pairs, key=lambda pair: (natural_key(pair[0]), natural_key(pair[1])))


def parse_node(worker: str) -> str:
    """The node of a worker, which is named NODE:PORT."""
    return worker.rpartition(":")[0] or worker


def _assess_slowdown(profile: Profile) -> Iterator[Assessment]:
    """Only where it was measured: without it, models compute it."""
    for name, figure in sorted(pool_slowdown(profile.executors).items()):
        yield _Need(name, "", "slowdown by crowded cores").judge(figure)


def _assess_workers(profile: Profile) -> Iterator[Assessment]:
    what, remedy = "cores in use", "record worker_cpu"
    names = sorted({*profile.workers, *profile.placement.values()}, key=natural_key)
    unknown = []
    for name in names:
        worker = profile.workers.get(name)
        if worker is None or worker.cores is None:
            unknown.append(name)
        else:
            yield _Need("", name, what, remedy).judge(worker.cores)
    if unknown or not names:
        subject = join_names(unknown) or "any worker"
        yield _Need("", subject, what, remedy).missing("not measured")


def _pool_rates(rates: Sequence[Figure | None]) -> Figure | None:
    return pool_total([rate for rate in rates if rate is not None])


def _pool_means(times: Mapping[int, TimeFigures]) -> Figure | None:
    pooled = pool_times(list(times.values()))
    return None if pooled is None else pooled.mean_ms


def _pool_variability(times: Mapping[int, TimeFigures]) -> Figure | None:
    """The squared coefficient of variation; without its error where times are nearly constant."""
    pooled = pool_times([one for one in times.values() if one.scv is not None])
    scv = None if pooled is None else pooled.scv
    if scv is None or scv.standard_error is None:
        return scv
    is_constant = scv.value + 2.0 * scv.standard_error < CONSTANT_SCV
    return replace(scv, standard_error=None) if is_constant else scv


def _describe_tasks(times: Mapping[int, TimeFigures], tasks: Mapping[int, TaskProfile]) -> str:
    """Which tasks are thin or unknown by themselves, although the pooled figure is neither."""
    if not times:
        return ""
    unknown = [str(place) for place in sorted(tasks) if place not in times]
    thin = [str(place) for place, one in sorted(times.items()) if explain_thin(one.mean_ms)]
    notes = []
    if unknown:
        notes.append(f"unknown for tasks {join_names(unknown)}")
    if thin and len(thin) < len(times):
        notes.append(f"thin for tasks {join_names(thin)} by themselves")
    return "; ".join(notes)


def _format_stream(key: StreamKey) -> str:
    return key.source if key.name == DEFAULT_STREAM else str(key)


def join_names(names: Sequence[str], separator: str = ", ", most: int = MANY_NAMES) -> str:
    """``a, b and 4 more``."""
    more = len(names) - most
    return separator.join(names[:most]) + (f" and {more} more" if more > 0 else "")
