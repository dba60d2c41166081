"""Calibration: the samples of topologies become their profiles, in a few Spark jobs for a fleet."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row, SparkSession

from streamgauge.errors import NotEnoughData, did_you_mean
from streamgauge.lake.records import Plan
from streamgauge.lake.tables import Lake
from streamgauge.pipeline.calibrate.block_sums import look_back_us
from streamgauge.pipeline.calibrate.estimating import Source, assemble, estimate, sum_series
from streamgauge.pipeline.calibrate.extras import extra_rows
from streamgauge.pipeline.calibrate.history import MOST_RATES, Extent
from streamgauge.pipeline.calibrate.inventory import take_inventory
from streamgauge.pipeline.calibrate.lake_parts import Pinned
from streamgauge.pipeline.calibrate.periods import (
    ANYTHING,
    Choice,
    Held,
    StablePeriod,
    Wish,
    choose_all,
    cuts_of,
    plan_under,
)
from streamgauge.pipeline.calibrate.readings import Scope
from streamgauge.pipeline.table_files import tasks_for
from streamgauge.topology.logical_plan import Executor

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """What calibration gives for one topology.

    Attributes:
        cluster: Where several clusters share a lake.
        topology: Its name.
        profile: The profile's file, as JSON text; nothing where there is none.
        replicas: Name and content of the Parquet file of its replicas; nothing where there were
            too few blocks.
        fault: Why there is no profile.
    """

    cluster: str | None
    topology: str
    profile: str | None = None
    replicas: tuple[str, bytes] | None = None
    fault: str | None = None


def calibrate(
    spark: SparkSession,
    lake: Lake,
    topology: str | None = None,
    wish: Wish = ANYTHING,
    *,
    seed: int = 0,
    say: Say = lambda _: None,
) -> Generator[Calibrated]:
    """The profiles of one topology, or of all in a lake, by cluster and name.

    The session must be open until the generator is closed.

    Args:
        spark: The session.
        lake: Where the samples are.
        topology: Its name; all where none is given.
        wish: Which time or plan is wanted.
        seed: Of the replicas' weights.
        say: Told what is being done.

    Raises:
        NotEnoughData: The lake has nothing of that topology, or no topology at all.
        InvalidInput: The wish cannot be.
    """
    pinned = Pinned.now(spark, lake)
    say("listing what the lake holds")
    parts = pinned.parts(topology)
    plans, events = pinned.plans(None if topology is None else [topology]), pinned.events()
    held = take_inventory(spark, parts, topology, cuts_of(plans, events, wish.period))
    if not held and not plans:
        raise _nothing(pinned, topology)
    choice = choose_all(plans, events, held, wish)
    if topology is not None and not choice.periods:
        raise next(iter(choice.refused.values()))
    yield from _refused(choice)
    if not choice.periods:
        return
    rows = sum(recorded.rows for one in held for recorded in one.recorded)
    say(f"summing up {rows:,} samples")
    by_job = {(one.cluster, one.topology): one for one in held}
    pairs = [(one, by_job[one.cluster, one.topology]) for one in choice.periods]
    scopes = [scope_of(period, one) for period, one in pairs]
    sources = {(one.cluster, one.topology): _source(period, one, plans) for period, one in pairs}
    # Series with their sums are far fewer than samples, but each is handled in many steps.
    tasks = tasks_for(spark, rows // 5, rows_per_file=300_000)
    pieces = estimate(sum_series(spark, parts, scopes, topology), scopes, tasks=tasks, seed=seed)
    extras = extra_rows(pinned, choice.periods)
    if extras is not None:
        pieces = pieces.unionByName(extras)
    made = assemble(pieces, sources, tasks=min(tasks, len(sources)), seed=seed)
    for row in _made(made):
        content = row["replicas"]
        yield Calibrated(
            cluster=row["cluster"],
            topology=row["topology"],
            profile=row["profile"],
            replicas=None if content is None else (row["replicas_file"], bytes(content)),
            fault=row["fault"],
        )


def _made(profiles: DataFrame) -> Iterator[Row]:
    """Rows one after the other, of which all are made at once."""
    kept = profiles.persist(StorageLevel.DISK_ONLY)
    try:
        kept.count()
        yield from kept.toLocalIterator()
    finally:
        kept.unpersist()


def scope_of(period: StablePeriod, held: Held) -> Scope:
    """What is summed of a topology."""
    seats: dict[str, list[tuple[str, int | None, str | None]]] = {}
    for placed in period.executors:
        first, last = placed.first_task, placed.last_task
        label = Executor(first, last, placed.component).label
        who = seats.setdefault(placed.worker, [])
        who.append((placed.component, None, label))
        who += [(placed.component, task, None) for task in range(first, last + 1)]
    return Scope(
        cluster=period.cluster,
        topology=period.topology,
        plan_id=period.plan_id,
        from_us=period.from_us,
        to_us=period.to_us,
        bucket_us=period.bucket_us,
        block_us=period.block_us,
        look_back_us=int(max(look_back_us(np.asarray([one.bucket_us for one in held.recorded])))),
        step_us=_extent(period, held).step_us(MOST_RATES),
        nodes=period.nodes,
        machines=period.machines,
        seats={worker: tuple(who) for worker, who in seats.items()},
        superfluous=held.superfluous,
        beating=held.beating,
    )


def _extent(period: StablePeriod, held: Held) -> Extent:
    return Extent(
        first_us=min(one.first_us for one in held.recorded),
        last_us=max(one.last_us for one in held.recorded),
        bucket_us=period.bucket_us,
    )


def _source(period: StablePeriod, held: Held, plans: Iterable[Plan]) -> Source:
    """What the profile of a topology is made from beside its samples."""
    job = (period.cluster, period.topology)
    mine = [plan for plan in plans if (plan.cluster, plan.topology) == job]
    # A plan that comes back counts once.
    placed = {
        (plan.plan_id, one.component, one.first_task) for plan in mine for one in plan.executors
    }
    executors: dict[tuple[str, str], int] = {}
    for plan_id, component, _ in placed:
        executors[plan_id, component] = executors.get((plan_id, component), 0) + 1
    return Source(
        plan=plan_under(period, mine),
        period=period,
        executors=executors,
        extent=_extent(period, held),
    )


def _refused(choice: Choice) -> Iterator[Calibrated]:
    for (cluster, topology), error in choice.refused.items():
        yield Calibrated(cluster=cluster, topology=topology, fault=str(error))


def _nothing(pinned: Pinned, topology: str | None) -> NotEnoughData:
    if topology is None:
        return NotEnoughData(
            f"{pinned.lake.uri}: no topology; expected samples and plans of at least one:"
            " `streamgauge ingest` takes them"
        )
    known = sorted({plan.topology for plan in pinned.plans(None)})
    guess = did_you_mean(topology, known)
    listed = ", ".join(known[:5]) or "none"
    return NotEnoughData(
        f"{pinned.lake.uri}: nothing of topology {topology!r}; expected one of {listed}"
        + (f" ({guess})" if guess else "")
    )
