"""From an application to a job: topology, behaviours, configuration and workload.

The simulator and the engines' deployers take the job as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from streamgauge.applications.application import Application, Routing, Task
from streamgauge.applications.content import Content, trace_contents
from streamgauge.applications.platform import PENDING_SETTING, TRACE_SETTING, Platform
from streamgauge.profile.behaviour import Behaviour, Service, WindowFunction
from streamgauge.profile.distribution import Constant, Fixed
from streamgauge.profile.job import Job
from streamgauge.topology.configuration import Configuration, Setting
from streamgauge.topology.grouping import All, Fields, Grouping, Shuffle
from streamgauge.topology.topology import (
    DEFAULT_STREAM,
    Operator,
    OperatorKind,
    Stream,
    Topology,
)
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
    found = [
        remark
        for task in application.tasks
        for remark in _list_task_remarks(application, task, contents[task.name])
    ]
    held = _find_held_seconds(application) if application.reliable else 0.0
    pending = (platform or Platform()).max_spout_pending
    for task in application.sources:
        mean = task.flow.mean_per_second if task.flow is not None else None
        if mean is not None and mean * held > pending:
            found.append(
                f"{task.name}: windows keep tuples for up to {held:g} s, and at most {pending} "
                f"tuples may be open per instance, so an instance may not reach its {mean:g} "
                "tuples/s; raise maxSpoutPending, or set reliability to false"
            )
    return tuple(found)


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
