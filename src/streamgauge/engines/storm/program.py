"""A job as a program: the flat JSON that the Java topology in `java/` runs.

Everything is resolved here, so that the Java side draws, burns, waits and emits, and knows nothing
of jobs: parameters of distributions, tables of counts, a rate for each task, groupings by the
rules of the engine. What the simulator says of a job holds for its program too:

* Keys are drawn for each stream by itself, and a grouping by several fields has one key.
* Fields and partial-key groupings of a stream without keys, and direct ones, go to a random task.
* A source draws its service for each tuple out, all others for each tuple in.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from streamgauge.engines.storm.draws import count_table, cumulative, drawn, key_rule
from streamgauge.errors import Findings
from streamgauge.profile.behaviour import Behaviour, JoinByParity, JoinOnKey, Service
from streamgauge.profile.distribution import CountDistribution
from streamgauge.profile.job import Job
from streamgauge.topology.configuration import Setting
from streamgauge.topology.field_checks import check_whole
from streamgauge.topology.grouping import Custom, Direct, Fields, PartialKey
from streamgauge.topology.topology import Operator, OperatorKind, Stream, Window
from streamgauge.topology.workload import (
    Burst,
    Emission,
    Modulated,
    Recorded,
    Sawtooth,
    Seasonal,
    Unlimited,
    Workload,
)
from streamgauge.transport.storm2 import mechanics

FORMAT = 1
MESSAGE_TIMEOUT = "topology.message.timeout.secs"
MAX_PENDING = "topology.max.spout.pending"
WORKERS = "topology.workers"

Data = dict[str, Any]


def topology_program(job: Job, *, seed: int, trace_every: int = 1000) -> Data:
    """What the Java topology needs to become the job, ready for `json.dumps`.

    Args:
        job: Topology, behaviours, configuration and workload; the rest is not looked at.
        seed: Of everything random in it; each task draws numbers of its own from it.
        trace_every: One root in so many keeps its path; 0 for none.

    Raises:
        InvalidInput: The job lacks something, or has what Storm cannot run.
    """
    workload = job.workload or Workload(emissions=())
    _check(job, workload, trace_every)
    return {
        "streamgauge": FORMAT,
        "topology": job.topology.name,
        "acked": job.topology.acked,
        "seed": seed,
        "trace_every": trace_every,
        "configuration": _configuration(job),
        "sources": [_source(job, one, workload) for one in job.topology.sources],
        "bolts": [
            _bolt(job, one) for one in job.topology.operators if one.kind is OperatorKind.PROCESSOR
        ],
    }


def program_text(program: Mapping[str, Any]) -> str:
    """The program as the text that is handed to Java."""
    return json.dumps(program, indent=1)


def _behaviour(job: Job, operator: str) -> Behaviour:
    return job.behaviours.get(operator, Behaviour())


def _configuration(job: Job) -> dict[str, Setting]:
    """Storm's own settings for the whole topology."""
    settings = dict(job.configuration.settings)
    if not job.topology.acked:
        # Nothing is pending and nothing runs out of time; yet Storm compares windows with both.
        settings.pop(MAX_PENDING, None)
        longest = max((_span_seconds(one.window) for one in job.topology.operators), default=0.0)
        if longest > mechanics(job.configuration.settings).time_out_seconds:
            settings[MESSAGE_TIMEOUT] = math.ceil(longest)
    return {
        **settings,
        WORKERS: job.configuration.workers,
        "topology.acker.executors": job.configuration.acker_count if job.topology.acked else 0,
    }


def _source(job: Job, operator: Operator, workload: Workload) -> Data:
    behaviour = _behaviour(job, operator.name)
    return {
        **_component(job, operator),
        "service": _service(behaviour.service),
        "replays": behaviour.replays,
        "emissions": [
            _emission(one, operator.tasks)
            for one in workload.emissions
            if one.source == operator.name
        ],
    }


def _bolt(job: Job, operator: Operator) -> Data:
    behaviour = _behaviour(job, operator.name)
    bolt = {
        **_component(job, operator),
        "sink": operator in job.topology.sinks,
        "fails": behaviour.fails,
        "exclusive": behaviour.exclusive,
        "inputs": [_input(job, one) for one in job.topology.streams_into(operator.name)],
    }
    if operator.window is not None and behaviour.window is not None:
        bolt["window"] = {
            **_extent(operator.window),
            "service": _service(behaviour.window.service),
            "cpu_ms_per_tuple": behaviour.window.per_tuple_ms,
            "outputs": _outputs(behaviour.window.outputs),
        }
    if isinstance(behaviour.join, JoinOnKey):
        bolt["join_within_seconds"] = behaviour.join.within_seconds
    if isinstance(behaviour.join, JoinByParity):
        bolt["parity"] = {"equal": behaviour.join.equal, "different": behaviour.join.different}
    return bolt


def _component(job: Job, operator: Operator) -> Data:
    """What sources and bolts have alike."""
    relative = _behaviour(job, operator.name).relative_service
    return {
        "name": operator.name,
        "tasks": operator.tasks,
        "executors": job.configuration.executors_of(operator.name),
        "relative_service": list(relative or (1.0,) * operator.tasks),
        "streams": list(_streams(job, operator.name)),
    }


def _streams(job: Job, operator: str) -> Iterator[Data]:
    """What an operator emits on; a direct stream names whose tasks its tuples are addressed to."""
    behaviour = _behaviour(job, operator)
    subscriptions = job.topology.streams_from(operator)
    for name in dict.fromkeys(one.name for one in subscriptions):
        stream: Data = {"name": name}
        if name in behaviour.keys:
            findings = Findings()
            with findings.at("behaviours", operator, "keys", name):
                stream["keys"] = key_rule(behaviour.keys[name])
            findings.raise_if_any()
        if name in behaviour.bytes:
            stream["bytes"] = drawn(behaviour.bytes[name])
        for one in subscriptions:
            if one.name == name and isinstance(one.grouping, Direct):
                stream["direct_to"] = one.target
        yield stream


def _input(job: Job, stream: Stream) -> Data:
    behaviour = _behaviour(job, stream.target)
    windowed = behaviour.window is not None
    subscribers = [one for one in job.topology.streams_from(stream.source) if one.key == stream.key]
    return {
        "source": stream.source,
        "stream": stream.name,
        "copy": subscribers.index(stream),
        "grouping": _grouping(job, stream),
        "service": _service(behaviour.service_of(stream.key)),
        "outputs": [] if windowed else _outputs(behaviour.outputs_of(stream.key)),
    }


def _grouping(job: Job, stream: Stream) -> Data:
    grouping = stream.grouping
    if isinstance(grouping, Custom):
        return {"kind": "custom", "cumulative": [cumulative(row) for row in grouping.matrix]}
    keyed = isinstance(grouping, Fields | PartialKey)
    if keyed and stream.name not in _behaviour(job, stream.source).keys:
        tasks = job.topology.operator(stream.target).tasks
        return {"kind": "custom", "cumulative": [cumulative((1.0 / tasks,) * tasks)]}
    return {"kind": grouping.kind}


def _service(service: Service) -> Data:
    return {"cpu_ms": drawn(service.cpu_ms), "wait_ms": drawn(service.wait_ms)}


def _outputs(outputs: Mapping[str, CountDistribution]) -> list[Data]:
    """Counts by stream; a table says how likely each count is at most."""
    return [{"stream": name, "count": count_table(counts)} for name, counts in outputs.items()]


def _extent(window: Window) -> Data:
    """Length and slide, each in tuples or in whole milliseconds, as Storm takes them."""
    extent: Data = {}
    for name, tuples, seconds in (
        ("length", window.length_tuples, window.length_seconds),
        ("slide", window.slide_tuples, window.slide_seconds),
    ):
        if tuples is not None:
            extent[f"{name}_tuples"] = tuples
        elif seconds is not None:
            extent[f"{name}_ms"] = round(1000 * seconds)
    return extent


def _emission(emission: Emission, tasks: int) -> Data:
    described: Data = {"stream": emission.stream, "shape": emission.shape.kind}
    if emission.per_second is not None:
        shares = emission.task_shares(tasks)
        described["per_second"] = [emission.per_second * share for share in shares]
    return described | _shape(emission)


def _shape(emission: Emission) -> Data:
    """A shape's own figures; rates are multiples of the mean."""
    match emission.shape:
        case Burst(on_seconds=on, off_seconds=off, random=random):
            high = (on + off) / on
            return {"random": random, "factors": [high, 0.0], "seconds": [on, off]}
        case Modulated() as shape:
            factors, seconds = list(shape.scaled_factors), list(shape.mean_seconds)
            return {"factors": factors, "seconds": seconds}
        case Seasonal(period_seconds=period, amplitude=amplitude, phase_seconds=phase):
            return {"period_seconds": period, "amplitude": amplitude, "phase_seconds": phase}
        case Sawtooth(period_seconds=period, reverse=reverse):
            return {"period_seconds": period, "reverse": reverse}
        case Recorded(bucket_seconds=bucket, values=values) as shape:
            middles = [(n + 0.5) * bucket for n in range(len(values))]
            factors = [shape.factor_at(middle) for middle in middles]
            return {"factors": factors, "seconds": [bucket] * len(values)}
        case _:
            return {}


def _check(job: Job, workload: Workload, trace_every: int) -> None:
    findings = Findings()
    check_whole(findings, trace_every, "trace_every", least=0)
    if not workload.emissions:
        findings.add("workload", seen="no emission", expected="at least one")
    unlimited = Counter(e.source for e in workload.emissions if isinstance(e.shape, Unlimited))
    for name in (name for name, streams in unlimited.items() if streams > 1):
        findings.add(
            "workload",
            seen=f"several unlimited streams of {name!r}",
            expected="one, as the order between several is not defined",
        )
    for operator in job.topology.operators:
        _check_operator(findings, job, operator)
        _check_window(findings, job, operator)
    findings.raise_if_any()


def _check_operator(findings: Findings, job: Job, operator: Operator) -> None:
    behaviour = _behaviour(job, operator.name)
    if operator.kind is OperatorKind.PROCESSOR and operator.name not in job.behaviours:
        findings.add(
            "behaviours",
            seen=f"no behaviour of {operator.name!r}",
            expected="a behaviour for every processor",
        )
    if isinstance(behaviour.join, JoinOnKey):
        _check_join(findings, job, operator)
    subscriptions = job.topology.streams_from(operator.name)
    subscribers = Counter(stream.name for stream in subscriptions)
    direct = {one.name for one in subscriptions if isinstance(one.grouping, Direct)}
    for name in sorted(name for name in direct if subscribers[name] > 1):
        findings.add(
            "topology",
            "streams",
            seen=f"{subscribers[name]} subscribers of {name!r} of {operator.name!r}, a direct one "
            "among them",
            expected="one: a tuple of a direct stream is addressed to one task",
            remedy="give the others a stream of their own",
        )


def _check_join(findings: Findings, job: Job, operator: Operator) -> None:
    place = ("behaviours", operator.name, "join")
    if operator.window is not None:
        findings.add(
            *place,
            seen="a join on keys of an operator with a window",
            expected="one of them, as nothing says which comes first",
        )
    for stream in job.topology.streams_into(operator.name):
        if stream.name not in _behaviour(job, stream.source).keys:
            findings.add(
                *place,
                seen=f"a join on keys of {stream.key}, which has none",
                expected=f"keys of stream {stream.name!r} of {stream.source!r}",
            )


def _check_window(findings: Findings, job: Job, operator: Operator) -> None:
    window = operator.window
    if window is None:
        return
    place = ("topology", "operators", operator.name, "window")
    if window.event_time:
        findings.add(
            *place,
            seen="event time",
            expected="processing time",
            remedy="this topology sends no watermarks",
        )
    for name, seconds in (("length", window.length_seconds), ("slide", window.slide_seconds)):
        if seconds is not None and round(1000 * seconds) == 0:
            findings.add(
                *place, f"{name}_seconds", seen=f"{seconds:g}", expected="at least a millisecond"
            )
    if not job.topology.acked:
        return
    limits = mechanics(job.configuration.settings)
    if _span_seconds(window) > limits.time_out_seconds:
        findings.add(
            *place,
            seen=f"{_span_seconds(window):g} s of length and slide",
            expected=f"at most the {limits.time_out_seconds:g} s after which trees run out of time",
            remedy=f"Storm does not start such a window: raise {MESSAGE_TIMEOUT}",
        )
    tuples = (window.length_tuples or 0) + (window.slide_tuples or 0)
    if tuples > limits.max_pending:
        findings.add(
            *place,
            seen=f"{tuples} tuples of length and slide",
            expected=f"at most the {limits.max_pending} of {MAX_PENDING}",
            remedy="Storm does not start such a window, as it might never fill",
        )


def _span_seconds(window: Window | None) -> float:
    """Length and slide together, as far as they are times."""
    if window is None:
        return 0.0
    return (window.length_seconds or 0.0) + (window.slide_seconds or 0.0)


def rate_ratio(running: Mapping[str, Any], wanted: Mapping[str, Any]) -> float | None:
    """By how much the rates of a running program must rise to become those of another.

    None where the programs differ in more than executors, workers and one factor to all rates:
    tasks, behaviours and settings are fixed when a topology is submitted.
    """
    if _fixed(running) != _fixed(wanted):
        return None
    pairs = [pair for pair in zip(_rates(running), _rates(wanted), strict=True) if any(pair)]
    if not pairs:
        return 1.0
    if not all(old > 0.0 for old, _ in pairs):
        return None
    ratios = [new / old for old, new in pairs]
    same = all(math.isclose(ratio, ratios[0], rel_tol=1e-9) for ratio in ratios)
    return ratios[0] if same else None


def _fixed(program: Mapping[str, Any]) -> dict[str, Any]:
    """What a rebalance cannot change, and the seed and traces that need no change."""
    fixed = deepcopy(dict(program))
    for name in ("seed", "trace_every"):
        fixed.pop(name, None)
    fixed.get("configuration", {}).pop(WORKERS, None)
    for component in (*fixed["sources"], *fixed["bolts"]):
        component.pop("executors", None)
        for emission in component.get("emissions", ()):
            emission["per_second"] = len(emission.get("per_second", ()))
    return fixed


def _rates(program: Mapping[str, Any]) -> Iterator[float]:
    for source in program["sources"]:
        for emission in source["emissions"]:
            yield from emission.get("per_second", ())
