"""Level two: from the figures of one topology to its profile, and its replicas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from streamgauge.lake.records import Plan
from streamgauge.pipeline.estimation.host_profiles import HostProfiles
from streamgauge.pipeline.estimation.juice import measured_juice
from streamgauge.pipeline.estimation.links import LinkCounts, link_figures
from streamgauge.pipeline.estimation.measured import Measured, Recorder
from streamgauge.pipeline.estimation.notes import notes_on
from streamgauge.pipeline.estimation.roster import Roster, seen_cluster
from streamgauge.pipeline.estimation.task_profiles import TaskProfiles
from streamgauge.profile.figures import Period, RateSeries, Replicas, Saturation
from streamgauge.profile.keys import GivenKeys
from streamgauge.profile.profile import Profile
from streamgauge.topology.frozen import FrozenDict
from streamgauge.topology.topology import StreamKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """What a profile holds beside the figures of subjects.

    Attributes:
        links: Probes between nodes.
        keys: How often each key was traced, by stream.
        sources: Emission rates over time, by source stream.
        saturation: By operator, step by step, under all plans.
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
    tasks = TaskProfiles(measured, roster, recorder)
    hosts = HostProfiles(measured, roster, recorder, tasks.arrivals)
    seen, workers, machines = tasks.all(), hosts.workers(), hosts.hosts("machine")
    profile = Profile(
        topology=roster.job.topology,
        configuration=roster.job.configuration,
        cluster=roster.job.cluster or seen_cluster(plan, machines, workers),
        tasks=seen,
        executors=hosts.executors(),
        workers=workers,
        nodes=hosts.hosts("node"),
        machines=machines,
        links=link_figures(extra.links),
        keys=_keys(extra.keys),
        sources=extra.sources,
        juice=measured_juice(measured, roster, recorder, tasks.executed, tasks.emissions),
        saturation=extra.saturation,
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
        notes=(*extra.notes, *notes_on(measured, roster, seen)),
    )
    return profile, recorder.table()


def _keys(counts: Mapping[StreamKey, Mapping[str, int]]) -> dict[StreamKey, GivenKeys]:
    """The most frequent key first."""
    found = {}
    for stream in sorted(counts):
        known = {key: count for key, count in counts[stream].items() if count > 0}
        if known:
            ordered = sorted(known, key=lambda key: (-known[key], key))
            found[stream] = GivenKeys(weights={key: float(known[key]) for key in ordered})
    return found
