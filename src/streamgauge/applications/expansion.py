"""From an application to a job: topology, behaviours, configuration and workload.

The simulator and the engines' deployers take the job as it is. What flows through the application
(how many tuples per second, of which values and sizes) is traced from its sources on.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from streamgauge.applications.application import Application, Routing, Task
from streamgauge.applications.datastream import Data
from streamgauge.applications.platform import PENDING_SETTING, TRACE_SETTING, Platform
from streamgauge.profile.behaviour import Behaviour, Service, WindowFunction
from streamgauge.profile.counts import Fixed
from streamgauge.profile.distribution import Constant, Distribution, Empirical
from streamgauge.profile.job import Job
from streamgauge.profile.keys import GivenKeys, KeyDistribution, count_letter_keys
from streamgauge.topology.configuration import Configuration, Setting
from streamgauge.topology.grouping import All, Fields, Grouping, Shuffle
from streamgauge.topology.topology import DEFAULT_STREAM, Operator, OperatorKind, Stream, Topology
from streamgauge.topology.window import Window
from streamgauge.topology.workload import Emission, Workload

# Storm does not start a window that keeps tuples longer than the message timeout.
TIMEOUT_SETTING = "topology.message.timeout.secs"
DEFAULT_TIMEOUT_SECONDS = 30
# The field of a tuple that holds its value.
KEY = "value"
GROUPINGS: dict[Routing, Grouping] = {
    # Storm has no direct connection of instances; shuffle is what it does by default.
    Routing.NONE: Shuffle(),
    Routing.BALANCED: Shuffle(),
    Routing.HASH: Fields(keys=(KEY,)),
    Routing.BROADCAST: All(),
}
# Long chains of filters or copies would underflow or overflow; only the shares matter.
LEAST_RATE, MOST_RATE = 1e-100, 1e100


def make_job(application: Application, platform: Platform | None = None) -> Job:
    """The job that runs an application on a platform; without one, on NAMB's defaults."""
    platform = platform or Platform()
    contents = trace_contents(application)
    return Job(
        topology=_make_topology(application),
        behaviours={
            task.name: _make_behaviour(application, task, contents[task.name], platform)
            for task in application.tasks
        },
        configuration=_make_configuration(application, platform),
        cluster=platform.cluster,
        workload=_make_workload(application),
        about=application.about,
    )


def list_remarks(application: Application, platform: Platform | None = None) -> tuple[str, ...]:
    """Which parts of a description differ from NAMB's meaning, or have no effect."""
    contents = trace_contents(application)
    remarks = [
        remark
        for task in application.tasks
        for remark in _list_task_remarks(application, task, contents[task.name])
    ]
    held = _find_held_seconds(application) if application.reliable else 0.0
    pending = (platform or Platform()).max_spout_pending
    for task in application.sources:
        mean = task.flow.mean_per_second if task.flow is not None else None
        if mean is not None and mean * held > pending:
            remarks.append(
                f"{task.name}: windows keep tuples for up to {held:g} s, and at most {pending} "
                f"tuples may be open per instance, so an instance may not reach its {mean:g} "
                "tuples/s; raise maxSpoutPending, or set reliability to false"
            )
    return tuple(remarks)


def _list_task_remarks(application: Application, task: Task, content: Content) -> Iterator[str]:
    if task.flow is not None and task.flow.assumes_burst_rate:
        yield (
            f"{task.name}: no burst_rate given, so bursts are assumed to run at "
            f"{task.flow.rate_in_bursts:g} tuples/s, ten times the rate between bursts"
        )
    if task.filtering < 1.0 and not application.children[task.name]:
        yield f"{task.name}: filtering has no effect, as no task receives its output"
    if task.resized_bytes is not None and not content.was_larger(task.resized_bytes):
        yield (
            f"{task.name}: resizeddata has no effect, as no tuple that it receives has more than "
            f"{task.resized_bytes} bytes"
        )


def _make_topology(application: Application) -> Topology:
    operators = tuple(
        Operator(
            name=task.name,
            kind=OperatorKind.SOURCE if task.is_source else OperatorKind.PROCESSOR,
            tasks=task.parallelism,
            window=task.window,
        )
        for task in application.tasks
    )
    streams = tuple(
        Stream(source=parent.name, target=child.name, grouping=GROUPINGS[child.routing])
        for parent, child in application.edges
    )
    return Topology(
        name=application.name, operators=operators, streams=streams, acked=application.reliable
    )


def _make_behaviour(
    application: Application, task: Task, content: Content, platform: Platform
) -> Behaviour:
    children = application.children[task.name]
    keyed = any(child.routing is Routing.HASH for child in children)
    load = platform.cpu_ms(task.cycles)
    outputs = {DEFAULT_STREAM: Fixed(mean=task.filtering)} if children else {}
    origin = f"{task.cycles} cycles of {platform.cycle_ns:.4g} ns"
    service, window = Service(cpu_ms=Constant(value=load)), None
    if task.is_source:
        service, outputs = Service(cpu_ms=Constant(value=platform.source_ms)), {}
        origin = "the platform's time to make a tuple"
    elif task.window is not None:
        # Tuples are only stored on arrival; the trigger processes all tuples of its window.
        window = WindowFunction(per_tuple_ms=load, outputs=outputs)
        service, outputs = Service(), {}
    return Behaviour(
        service=service,
        outputs=outputs,
        window=window,
        bytes={DEFAULT_STREAM: content.sizes} if children else {},
        keys={DEFAULT_STREAM: content.keys} if keyed else {},
        origin=origin,
    )


def _make_configuration(application: Application, platform: Platform) -> Configuration:
    settings: dict[str, Setting] = {}
    if application.reliable:
        settings[PENDING_SETTING] = platform.max_spout_pending
        held = _find_held_seconds(application)
        if held > DEFAULT_TIMEOUT_SECONDS:
            settings[TIMEOUT_SETTING] = math.ceil(held) + DEFAULT_TIMEOUT_SECONDS
    if platform.trace_every is not None:
        settings[TRACE_SETTING] = platform.trace_every
    return Configuration(
        engine=platform.engine,
        executors={task.name: task.parallelism for task in application.tasks},
        workers=platform.workers,
        ackers=platform.ackers,
        settings={**settings, **platform.settings},
    )


def _find_held_seconds(application: Application) -> float:
    """The longest time a window may keep a tuple, which is acked when it leaves the window."""
    windows = [task.window for task in application.tasks if task.window is not None]
    held = [(window.length_seconds or 0.0) + (window.slide_seconds or 0.0) for window in windows]
    return max(held, default=0.0)


def _make_workload(application: Application) -> Workload:
    emissions = []
    for task in application.sources:
        assert task.flow is not None
        mean = task.flow.mean_per_second
        emissions.append(
            Emission(
                source=task.name,
                per_second=None if mean is None else mean * task.parallelism,
                shape=task.flow.shape,
            )
        )
    return Workload(emissions=tuple(emissions))


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Tuples of one kind: a source's data, cut to a size.

    Attributes:
        size: Bytes that are left of it.
        per_second: How many; relative to each other where a source has no limit.
    """

    data: Data
    size: int
    per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The kinds of tuples that a task receives, and that it emits to each subscriber."""

    received: tuple[Part, ...]
    emitted: tuple[Part, ...]

    @property
    def sizes(self) -> Distribution:
        """Bytes of what is emitted."""
        weights: dict[int, float] = defaultdict(float)
        for part in self.emitted:
            weights[part.size] += part.per_second
        if len(weights) == 1:
            return Constant(value=float(next(iter(weights))))
        sizes = tuple(float(size) for size in weights)
        return Empirical(values=sizes, weights=tuple(weights.values()))

    @property
    def keys(self) -> KeyDistribution:
        """Values of what is emitted; cutting keeps the letters that tell them apart."""
        if len(self.emitted) == 1:
            (only,) = self.emitted
            if only.data.values <= count_letter_keys(only.size):
                return Data(
                    size=only.size, values=only.data.values, distribution=only.data.distribution
                ).keys
        total = sum(part.per_second for part in self.emitted)
        weights: dict[str, float] = defaultdict(float)
        for part in self.emitted:
            keys = part.data.keys
            for name, share in zip(keys.names(), keys.shares().tolist(), strict=True):
                weights[name[-part.size :]] += share * part.per_second / total
        return GivenKeys(weights=weights)

    def was_larger(self, size: int) -> bool:
        """Whether any received tuple has more bytes."""
        return any(part.size > size for part in self.received)


def trace_contents(application: Application) -> dict[str, Content]:
    """By task: what it receives and emits on average.

    Where a source emits as fast as it can, its rate relative to other sources is unknown: every
    source then has the same weight.
    """
    counted = all(
        task.flow is not None and task.flow.mean_per_second is not None
        for task in application.sources
    )
    contents: dict[str, Content] = {}
    for task in application.in_order():
        if task.is_source:
            contents[task.name] = _make_source_content(task, counted=counted)
            continue
        copies = task.parallelism if task.routing is Routing.BROADCAST else 1
        rates: dict[tuple[Data, int], float] = defaultdict(float)
        for parent in task.parents:
            for part in contents[parent].emitted:
                rates[part.data, part.size] += part.per_second * copies
        received = _make_parts(rates)
        contents[task.name] = Content(
            received=received, emitted=_list_emitted(task, received, counted)
        )
    return contents


def _make_parts(rates: Mapping[tuple[Data, int], float]) -> tuple[Part, ...]:
    return tuple(
        Part(data=data, size=size, per_second=min(max(rate, LEAST_RATE), MOST_RATE))
        for (data, size), rate in rates.items()
    )


def _make_source_content(task: Task, *, counted: bool) -> Content:
    assert task.data is not None
    assert task.flow is not None
    mean = task.flow.mean_per_second
    rate = mean * task.parallelism if counted and mean is not None else 1.0
    return Content(
        received=(), emitted=(Part(data=task.data, size=task.data.size, per_second=rate),)
    )


def _list_emitted(task: Task, received: tuple[Part, ...], counted: bool) -> tuple[Part, ...]:
    forwarded = task.filtering
    total = sum(part.per_second for part in received)
    if task.window is not None and counted:
        forwarded *= _count_triggers_per_second(task, task.window, total) / total
    cut: dict[tuple[Data, int], float] = defaultdict(float)
    for part in received:
        size = part.size if task.resized_bytes is None else min(part.size, task.resized_bytes)
        cut[part.data, size] += part.per_second * forwarded
    return _make_parts(cut)


def _count_triggers_per_second(task: Task, window: Window, per_second: float) -> float:
    """Windows that are not empty, over all instances: one tuple comes out of each."""
    length, slide = window.length_seconds, window.slide_seconds
    assert length is not None
    assert slide is not None
    return min(task.parallelism / slide, per_second * max(length / slide, 1.0))
