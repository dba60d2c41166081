"""Level two: from the figures of one topology to its profile, and its replicas.

Beside what its subjects say, a profile has the latency of links, keys, history, and notes: what is
missing, left out, or not as it seems.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from streamgauge.lake.histogram import quantile
from streamgauge.lake.records import LinkKind, Plan
from streamgauge.models.core_balance import learn_balance
from streamgauge.models.measured_capacity import learn_scaling
from streamgauge.pipeline.estimation.catalogue import PROBABILITIES, FigureName
from streamgauge.pipeline.estimation.juice import measured_juice
from streamgauge.pipeline.estimation.linearity import BLOCKS_TO_JUDGE
from streamgauge.pipeline.estimation.measured import Measured, Recorder, Row
from streamgauge.pipeline.estimation.roster import Roster, Subject, find_cluster
from streamgauge.pipeline.estimation.standard_errors import LEAST_RESAMPLED
from streamgauge.pipeline.estimation.subject_profiles import SubjectProfiles
from streamgauge.profile.figures import (
    Figure,
    LinkFigures,
    Period,
    RateSeries,
    Replicas,
    Saturation,
    TaskId,
    TaskProfile,
    TimeFigures,
)
from streamgauge.profile.keys import GivenKeys
from streamgauge.profile.observed import ObservedPlan, TaskSteps
from streamgauge.profile.profile import Profile
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.topology import ACKER, SYSTEM_PREFIX, StreamKey, Topology

_NANOSECONDS = 1e6


_INPUTS = (FigureName.ARRIVAL_RATE, FigureName.SERVICE_WALL, FigureName.SERVICE_CPU)
_OUTPUTS = (FigureName.EMISSION_RATE, FigureName.TRANSFER)
_MOST_NAMED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCounts:
    """Probes from one node to another in the whole period.

    Attributes:
        source: Who probed.
        target: Who was probed.
        kind: Whether the times span both ways.
        total_ns: Sum of the times of all probes that were answered.
        probes: How many these were.
        measurements: Records they came by.
        bins: Probes by their record's mean time, in bins of nanoseconds; nothing where times were
            negative.
    """

    source: str
    target: str
    kind: LinkKind
    total_ns: int
    probes: int
    measurements: int
    bins: Mapping[int, int] = field(default_factory=FrozenDict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """What a profile holds beside the figures of subjects.

    Attributes:
        links: Probes between nodes.
        keys: How often each key was traced, by stream.
        sources: Emission rates over time, by source stream.
        saturation: By operator, step by step, under all plans.
        observed: By task, step by step, under all plans.
        backpressure_minutes: In which any task held its senders back.
        period: When everything was measured.
        seed: Of the replicas' weights.
        replicas_file: Where the replicas will lie beside the profile.
        notes: What is known already.
    """

    links: tuple[LinkCounts, ...] = ()
    keys: Mapping[StreamKey, Mapping[str, int]] = field(default_factory=FrozenDict)
    sources: Mapping[StreamKey, RateSeries] = field(default_factory=FrozenDict)
    saturation: Mapping[str, tuple[Saturation, ...]] = field(default_factory=FrozenDict)
    observed: tuple[ObservedPlan, ...] = ()
    backpressure_minutes: float | None = None
    period: Period | None = None
    seed: int = 0
    replicas_file: str = ""
    notes: tuple[str, ...] = ()


NOTHING_ELSE = Extras()


def profile_of(
    figures: pa.Table, plan: Plan, extra: Extras = NOTHING_ELSE
) -> tuple[Profile, pa.Table]:
    """The profile of a topology on a plan.

    Args:
        figures: Of that topology alone, with the columns of `FIGURES`, in any order.
        plan: What it ran on.
        extra: What else the profile should hold.

    Returns:
        The profile, and its replicas with the columns of `REPLICAS`.

    Raises:
        InvalidInput: The plan's document is no job file.
    """
    roster, recorder = Roster(plan), Recorder()
    measured = Measured(figures, plan.plan_id)
    subjects = SubjectProfiles(measured, roster, recorder)
    tasks, workers, machines = subjects.tasks(), subjects.workers(), subjects.hosts("machine")
    profile = Profile(
        topology=roster.job.topology,
        configuration=roster.job.configuration,
        cluster=find_cluster(roster.job.cluster, plan, machines, workers),
        tasks=tasks,
        executors=subjects.executors(),
        workers=workers,
        nodes=subjects.hosts("node"),
        machines=machines,
        links=link_figures(extra.links),
        keys=_keys(extra.keys),
        sources=extra.sources,
        juice=measured_juice(measured, roster, recorder, subjects.executed, subjects.emissions),
        saturation=extra.saturation,
        observed=tuple(_of_topology(one, roster.job.topology) for one in extra.observed),
        backpressure_minutes=extra.backpressure_minutes,
        placement=roster.placement,
        plan_id=plan.plan_id,
        period=extra.period,
        replicas=Replicas(
            count=measured.replicas,
            blocks=measured.blocks,
            block_seconds=measured.block_seconds,
            seed=extra.seed,
            file=extra.replicas_file if measured.replicas else "",
        ),
        notes=(*extra.notes, *notes_on(measured, roster, tasks)),
    )
    profile = replace(profile, scaling=learn_scaling(profile), cluster=learn_balance(profile))
    return profile, recorder.table()


def _of_topology(observed: ObservedPlan, topology: Topology) -> ObservedPlan:
    """A plan's steps without operators, tasks and streams that the job has not, or no longer."""
    tasks = {one.name: one.tasks for one in topology.operators}

    def known(name: str, steps: TaskSteps) -> TaskSteps:
        received = {one.key for one in topology.streams_into(name)}
        emitted = {one.name for one in topology.streams_from(name)}
        return replace(
            steps,
            inputs={key: row for key, row in steps.inputs.items() if key in received},
            outputs={key: row for key, row in steps.outputs.items() if key in emitted},
        )

    return replace(
        observed,
        executors={name: count for name, count in observed.executors.items() if name in tasks},
        tasks={
            name: {
                place: known(name, one)
                for place, one in by_place.items()
                if int(place) < tasks[name]
            }
            for name, by_place in observed.tasks.items()
            if name in tasks
        },
        cores={name: row for name, row in observed.cores.items() if name in tasks},
    )


def _keys(counts: Mapping[StreamKey, Mapping[str, int]]) -> dict[StreamKey, GivenKeys]:
    """The most frequent key first."""
    found = {}
    for stream in sorted(counts):
        known = {key: count for key, count in counts[stream].items() if count > 0}
        if known:
            ordered = sorted(known, key=lambda key: (-known[key], key))
            found[stream] = GivenKeys(weights={key: float(known[key]) for key in ordered})
    return found


def link_figures(counts: Iterable[LinkCounts]) -> tuple[LinkFigures, ...]:
    """The latency of every link that was measured, by name."""
    best: dict[tuple[str, str], LinkCounts] = {}
    for one in sorted(counts, key=lambda c: (c.source, c.target, c.kind != LinkKind.ROUND_TRIP)):
        if one.probes > 0 and one.total_ns >= 0:
            best.setdefault((one.source, one.target), one)
    return tuple(_link(one) for one in best.values())


def _link(counts: LinkCounts) -> LinkFigures:
    ways = 2.0 if counts.kind == LinkKind.ROUND_TRIP else 1.0
    quantiles = {}
    if any(counts.bins.values()):
        quantiles = {
            probability: quantile(counts.bins, probability) / ways / _NANOSECONDS
            for probability in PROBABILITIES
        }
    mean = Figure(
        value=counts.total_ns / counts.probes / ways / _NANOSECONDS,
        samples=counts.probes,
        buckets=counts.measurements,
    )
    return LinkFigures(
        source=counts.source,
        target=counts.target,
        latency=TimeFigures(mean_ms=mean, quantiles_ms=quantiles),
    )


def notes_on(
    measured: Measured, roster: Roster, tasks: Mapping[TaskId, TaskProfile]
) -> tuple[str, ...]:
    """Notes on one topology.

    Args:
        measured: All figures.
        roster: Who there should be.
        tasks: What was made of them.
    """
    return (
        *_strangers(measured, roster),
        *_missing(roster, tasks),
        *_streams(measured, roster),
        *_blocks(measured),
        *_outputs(measured, roster),
        *_negative(measured, roster),
    )


def _listed(names: Iterable[object]) -> str:
    """Names in order, a long list cut short."""
    known = [str(name) for name in names]
    more = len(known) - _MOST_NAMED
    return ", ".join(known[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _strangers(measured: Measured, roster: Roster) -> Iterator[str]:
    if measured.left_out:
        yield f"{measured.left_out} figures of other plans were left out"
    if roster.unplaced:
        yield f"in the plan but not in the topology: {_listed(roster.unplaced)}"
    unknown = [
        f"{subject.name} {subject.task}"
        for subject in measured.subjects("task")
        if roster.place_of(subject.name, subject.task) is None
    ]
    unknown += [
        subject.name
        for subject in measured.subjects("executor")
        if subject.name not in roster.placement
    ]
    unknown += [
        subject.name
        for subject in measured.subjects("worker")
        if subject.name not in set(roster.placement.values())
    ]
    if unknown:
        yield f"not in the plan and left out: {_listed(unknown)}"


def _missing(roster: Roster, tasks: Mapping[TaskId, TaskProfile]) -> Iterator[str]:
    for name in roster.topology.operator_names:
        count = roster.task_count(name)
        silent = [place for place in range(count) if TaskId(name, place) not in tasks]
        if not silent or (name == ACKER and len(silent) == count):
            # Few engines say anything of their own ackers.
            continue
        heard = {roster.executor_of[task] for task in tasks if task.operator == name}
        idle = [place for place in silent if roster.executor_of.get(TaskId(name, place)) in heard]
        unheard = [place for place in silent if place not in idle]
        if unheard:
            places = _listed(unheard)
            yield f"no metrics arrived from {len(unheard)} of {count} tasks of {name}: {places}"
        if idle:
            places = _listed(idle)
            yield (
                f"{len(idle)} of {count} tasks of {name} did nothing while others of their"
                f" executors worked: {places}"
            )


def _streams(measured: Measured, roster: Roster) -> Iterator[str]:
    """Streams that tasks report and the topology does not have, the engine's own left out."""
    unknown = set()
    for task, subject in roster.tasks.items():
        for row in _rows(measured, subject, _INPUTS):
            key = StreamKey(row.source, row.stream)
            if not roster.receives(task.operator, key) and not _is_system(key):
                unknown.add(f"{key} into {task.operator}")
        for row in _rows(measured, subject, _OUTPUTS):
            key = StreamKey(task.operator, row.stream)
            if row.stream not in roster.outputs(task.operator) and not _is_system(key):
                unknown.add(str(key))
    if unknown:
        yield f"streams that the topology does not have were left out: {_listed(sorted(unknown))}"


def _is_system(key: StreamKey) -> bool:
    return key.name.startswith(SYSTEM_PREFIX) or key.source.startswith(SYSTEM_PREFIX)


def _rows(measured: Measured, subject: Subject, names: tuple[FigureName, ...]) -> Iterator[Row]:
    for name in names:
        yield from measured.rows(subject, name)


def _blocks(measured: Measured) -> Iterator[str]:
    blocks, seconds = measured.blocks, measured.block_seconds
    if not measured.replicas:
        yield (
            f"no replicas, and errors of shares, capacities and juice are not known: {blocks} "
            f"blocks of {seconds:g} s, {LEAST_RESAMPLED} are needed"
        )
    if blocks < BLOCKS_TO_JUDGE:
        yield (
            f"whether outputs are linear in inputs cannot be decided: {blocks} blocks of "
            f"{seconds:g} s, {BLOCKS_TO_JUDGE} are needed"
        )


def _outputs(measured: Measured, roster: Roster) -> Iterator[str]:
    """Outputs that do not follow from inputs, or not from each input alone."""
    bent: dict[StreamKey, int] = {}
    shared: set[StreamKey] = set()
    for task, subject in roster.tasks.items():
        for row in measured.rows(subject, FigureName.LINEAR):
            if row.mean.value < 0.5:
                key = StreamKey(task.operator, row.stream)
                bent[key] = bent.get(key, 0) + 1
        for row in measured.rows(subject, FigureName.COEFFICIENT):
            if "ridge" in row.flags:
                shared.add(StreamKey(task.operator, row.stream))
    for key, tasks in bent.items():
        count = roster.task_count(key.source)
        yield f"{key} is not linear in its inputs, seen in {tasks} of {count} tasks"
    if shared:
        yield (
            "inputs that always come together cannot be told apart, and share their outputs "
            f"evenly: {_listed(sorted(map(str, shared)))}"
        )


def _negative(measured: Measured, roster: Roster) -> Iterator[str]:
    clocks = sorted(
        {
            f"{row.source} to {task.operator}"
            for task, subject in roster.tasks.items()
            for row in measured.rows(subject, FigureName.END_TO_END)
            if row.mean.value < 0.0
        }
    )
    if clocks:
        yield f"end-to-end latency below zero was left out, clocks differ: {_listed(clocks)}"
