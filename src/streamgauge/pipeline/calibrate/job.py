"""Calibration: the samples of topologies become their profiles, in a few Spark jobs for a fleet."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row, SparkSession

from streamgauge.errors import NotEnoughData, did_you_mean
from streamgauge.lake.records import Plan
from streamgauge.lake.schemas import PARTIALS, SAMPLES
from streamgauge.lake.tables import Lake
from streamgauge.pipeline.calibrate.day_cache import keep_days, kept_days, kept_sums
from streamgauge.pipeline.calibrate.extras import extra_rows
from streamgauge.pipeline.calibrate.figures import Source, figures, profiles
from streamgauge.pipeline.calibrate.inventory import inventory, recorded
from streamgauge.pipeline.calibrate.partial_sums import (
    combined,
    day_partials,
    look_back_us,
    partials,
    subject_partials,
)
from streamgauge.pipeline.calibrate.period_choice import ANYTHING, Choice, Wish, choose_all
from streamgauge.pipeline.calibrate.scoping import (
    DAY_US,
    Span,
    days_of,
    moment_of,
    needed_spans,
    whole_days,
)
from streamgauge.pipeline.calibrate.sources import Pinned
from streamgauge.pipeline.calibrate.stretches import (
    Recorded,
    Stretch,
    beats_everywhere,
    needed_labels,
    plan_under,
)
from streamgauge.pipeline.table_files import tasks_for

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
    samples = _of(topology, pinned.frame(SAMPLES.name, topology))
    say("listing what the lake holds")
    held = recorded(inventory(samples).collect())
    plans = pinned.plans(None if topology is None else [topology])
    if not held and not plans:
        raise _nothing(pinned, topology)
    choice = choose_all(plans, pinned.events(), held, wish)
    if topology is not None and not choice.stretches:
        raise next(iter(choice.refused.values()))
    yield from _refused(choice)
    if not choice.stretches:
        return
    say(f"summing up {sum(one.rows for one in held):,} samples")
    if topology is None:
        pinned = _with_days(pinned, choice.stretches, held)
    sums = _sums(pinned, choice.stretches, held, topology)
    ready = subject_partials(sums, choice.stretches)
    tasks = _tasks(spark, held)
    by_job: dict[tuple[str | None, str], list[Plan]] = {}
    for plan in plans:
        by_job.setdefault((plan.cluster, plan.topology), []).append(plan)
    sources = {
        (one.cluster, one.topology): Source(
            plan=plan_under(one, by_job[one.cluster, one.topology]),
            stretch=one,
            bucket_seconds=_longest_bucket(held, one),
        )
        for one in choice.stretches
    }
    seen = figures(ready, tasks=tasks, seed=seed)
    extras = extra_rows(pinned, samples, choice.stretches, held)
    made = profiles(seen, extras, sources, tasks=min(tasks, len(sources)), seed=seed)
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


def _of(topology: str | None, samples: DataFrame) -> DataFrame:
    """The samples of a topology, and of nodes and machines; all where none is named."""
    if topology is None:
        return samples
    return samples.where((samples["topology"] == topology) | samples["topology"].isNull())


def _with_days(pinned: Pinned, stretches: Sequence[Stretch], held: Sequence[Recorded]) -> Pinned:
    """The lake with the sums of all days of stretches, which will be asked for again."""
    spans = needed_spans(stretches)
    days = days_of(spans)
    kept = kept_days(pinned, days)
    missing = [day for day in days if day not in kept]
    if not missing:
        return pinned
    # Counters are compared with the day before.
    samples = _samples(pinned, ((start - DAY_US, end) for start, end in spans))
    sums = day_partials(
        samples, missing, labels=needed_labels(held), all_beat=beats_everywhere(held)
    )
    keep_days(pinned, sums, missing)
    newest = {PARTIALS.name: pinned.lake.table(PARTIALS.name).snapshot()}
    return replace(pinned, snapshots={**pinned.snapshots, **newest})


def _sums(
    pinned: Pinned, stretches: Sequence[Stretch], held: Sequence[Recorded], topology: str | None
) -> DataFrame:
    """The sums of stretches: from days that are kept, and from samples for what is not."""
    spans = needed_spans(stretches)
    kept = kept_days(pinned, days_of(spans))
    if not pinned.has_hosts:
        spans = needed_spans(stretches, cached=kept)
    if not spans:
        return combined(kept_sums(pinned, kept), None, stretches)
    before = look_back_us(stretches)
    fresh = partials(
        _samples(pinned, ((start - before, end) for start, end in spans), topology),
        stretches,
        cached=frozenset(kept),
        labels=needed_labels(held),
        all_beat=beats_everywhere(held),
    )
    return combined(kept_sums(pinned, kept), fresh, stretches) if kept else fresh


def _samples(pinned: Pinned, spans: Iterable[Span], topology: str | None = None) -> DataFrame:
    """The samples of the days of some spans."""
    around = [(moment_of(start), moment_of(end)) for start, end in whole_days(spans)]
    return _of(topology, pinned.during(SAMPLES.name, around, topology))


def _refused(choice: Choice) -> Iterator[Calibrated]:
    for (cluster, topology), error in choice.refused.items():
        yield Calibrated(cluster=cluster, topology=topology, fault=str(error))


def _longest_bucket(held: Sequence[Recorded], stretch: Stretch) -> float:
    job = (stretch.cluster, stretch.topology)
    return max(one.longest_us for one in held if (one.cluster, one.topology) == job) / 1e6


def _tasks(spark: SparkSession, held: Sequence[Recorded]) -> int:
    """As many tasks as keep the sums of each within a few hundred thousand rows."""
    # A block holds five buckets at the least, so sums are a fifth as many as samples.
    return tasks_for(spark, sum(one.rows for one in held) // 5, rows_per_file=300_000)


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
