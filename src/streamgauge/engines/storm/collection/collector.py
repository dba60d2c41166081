"""One poll: ask a source what runs, and say it in records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from streamgauge.engines.storm.collection.memory import Memory, Standing
from streamgauge.engines.storm.collection.plans import SeenPlan, seen_plan
from streamgauge.engines.storm.collection.processes import (
    MICROSECONDS,
    Bucket,
    Process,
    bucket_of,
    continues,
    process_at,
)
from streamgauge.engines.storm.collection.readings import Reading, Report
from streamgauge.engines.storm.collection.sighting import (
    Host,
    Key,
    Listed,
    Parts,
    SeenExecutor,
    Sighting,
    StormSource,
    Vanished,
)
from streamgauge.errors import InvalidInput, SourceUnreachable, did_you_mean
from streamgauge.lake.metrics import Metric
from streamgauge.lake.records import Event, EventKind, Plan, Record, Sample

_NO_PARTS = Parts()
_INPUTS = (Metric.EXECUTED_TOTAL, Metric.ACKED_TOTAL, Metric.FAILED_TOTAL)
_OUTPUTS = (Metric.EMITTED_TOTAL, Metric.SENT_TOTAL)
_ROOTS = (Metric.ROOTS_ACKED_TOTAL, Metric.ROOTS_FAILED_TOTAL)


@dataclass(slots=True, kw_only=True)
class Poll:
    """What one poll gave.

    Attributes:
        records: To be written.
        topologies: Names of those that were seen whole.
        notes: For people.
        failure: Why it ended early, where it did; what came before counts.
    """

    records: list[Record] = field(default_factory=list)
    topologies: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failure: SourceUnreachable | None = None


@dataclass(slots=True, kw_only=True)
class Collector:
    """Polls one source.

    Attributes:
        source: Who is asked.
        clock: Microseconds since 1970.
        every_seconds: How often it will be asked.
        names: Of the topologies wanted; all where there are none.
        cluster: What the cluster is called in the lake, where several share one.
        memory: What was seen before; goes on with every poll.
    """

    source: StormSource
    clock: Callable[[], int]
    every_seconds: float
    names: Sequence[str] = ()
    cluster: str | None = None
    memory: Memory = field(default_factory=dict)

    def check(self) -> tuple[str, ...]:
        """The names of what will be collected.

        Raises:
            InvalidInput: A topology that was asked for does not run.
            SourceUnreachable: No answer.
        """
        running = self.source.topologies()
        names = [one.name for one in running]
        for wanted in self.names:
            if not any(wanted in (one.name, one.id) for one in running):
                raise InvalidInput.single(
                    ("topology",),
                    seen=f"topology {wanted!r}",
                    expected=f"one that runs: {', '.join(sorted(names)) or 'there is none'}",
                    remedy=did_you_mean(wanted, names),
                )
        return tuple(one.name for one in running if self._wants(one.name, one.id))

    def poll(self) -> Poll:
        """Look at every topology once."""
        poll = Poll()
        try:
            running = [one for one in self.source.topologies() if self._wants(one.name, one.id)]
            hosts = self.source.hosts()
            alive = {one.id for one in running if self._look(one, hosts, poll)}
            self._end_others(alive, poll)
        except SourceUnreachable as error:
            poll.failure = error
        return poll

    def _wants(self, name: str, topology_id: str) -> bool:
        return not self.names or name in self.names or topology_id in self.names

    def _look(self, listed: Listed, hosts: Sequence[Host], poll: Poll) -> bool:
        """Whether the topology is still there."""
        try:
            sighting = self.source.look(listed)
        except Vanished:
            return False
        standing = self.memory.get(listed.id)
        if sighting.silent and not _at_their_places(sighting, standing):
            poll.notes.append(
                f"{listed.name}: {sighting.silent} executors have not reported yet; left for later"
            )
            return True
        try:
            plan = None if sighting.silent else seen_plan(sighting, hosts)
            look = _Look(sighting, standing, self.clock(), self.every_seconds, self.cluster)
            records = list(look.records(plan))
        except InvalidInput as error:
            poll.notes.append(f"{listed.name}: cannot be described: {error}")
            return True
        if standing is None or len(records) > 1:
            # A plan by itself has been said before.
            poll.records += records
        poll.topologies.append(listed.name)
        if plan is not None:
            poll.notes += [f"{listed.name}: {note}" for note in plan.notes]
        self.memory[listed.id] = look.standing
        return True

    def _end_others(self, alive: set[str], poll: Poll) -> None:
        """Topologies that ran when they were last seen, and do not any more."""
        for topology_id in sorted(self.memory.keys() - alive):
            plan = self.memory[topology_id].plan
            if not self._wants(plan.topology, topology_id):
                continue
            now_us = max(self.clock(), plan.valid_from_us + 1)
            poll.records.append(replace(plan, valid_to_us=now_us))
            poll.records.append(_event(plan, EventKind.STOP, now_us))
            poll.notes.append(f"{plan.topology}: does not run any more")
            del self.memory[topology_id]


class _Look:
    """A sighting beside what was known of the topology before.

    Attributes:
        standing: What is known of it from now on, once its records are made.
    """

    def __init__(
        self,
        sighting: Sighting,
        before: Standing | None,
        now_us: int,
        every_seconds: float,
        cluster: str | None,
    ) -> None:
        self._sighting = sighting
        self._before = before
        self._now_us = now_us
        self._usual_seconds = max(every_seconds, sighting.heartbeat_seconds)
        self._cluster = cluster
        self._old = {} if before is None else before.workers
        self._workers = self._processes()
        self._keys = _keys(sighting)
        self.standing: Standing

    def records(self, plan: SeenPlan | None) -> Iterator[Record]:
        """Plan, events and samples; without a plan that of before holds on."""
        ended, current = self._plans(plan)
        yield from self._plan_records(ended, current)
        yield from self._restarts(current)
        readings = {} if self._before is None or ended else dict(self._before.readings)
        old_readings = {} if self._before is None else self._before.readings
        for worker, process in self._workers.items():
            yield from self._worker_samples(worker, process, current)
        for seen in self._sighting.executors:
            label = seen.executor.label
            report = self._report(seen, old_readings.get(label))
            if report is None:
                if label in old_readings:
                    readings[label] = old_readings[label]
                continue
            reading = report.reading()
            readings[label] = reading
            yield from report.samples(reading, self._sample(current, report.bucket))
        used = {one.worker for one in current.executors}
        kept = {worker: one for worker, one in self._old.items() if worker in used}
        workers = {**kept, **self._workers}
        self.standing = Standing(plan=current, workers=workers, readings=readings)

    def _plans(self, plan: SeenPlan | None) -> tuple[Plan | None, Plan]:
        """The plan that ended, if one did, and the one in place."""
        before = None if self._before is None else self._before.plan
        known = None if before is None else (before.plan_id, before.cluster)
        if before is not None and (plan is None or (plan.plan_id, self._cluster) == known):
            return None, before
        assert plan is not None
        # A plan is in place since its last worker began.
        at_us = max((one.began_us for one in self._workers.values()), default=self._now_us)
        if before is None:
            return None, plan.record(self._cluster, at_us)
        reported_us = max((one.reported_us for one in self._old.values()), default=0)
        at_us = max(min(max(at_us, reported_us), self._now_us), before.valid_from_us + 1)
        return replace(before, valid_to_us=at_us), plan.record(self._cluster, at_us)

    def _plan_records(self, ended: Plan | None, current: Plan) -> Iterator[Record]:
        if ended is not None:
            yield ended
            yield _event(current, EventKind.REBALANCE, current.valid_from_us)
        # Again in every file, so that each can be read without the others.
        yield current
        if self._before is None:
            age_us = round(self._sighting.listed.uptime_seconds * MICROSECONDS)
            yield _event(current, EventKind.START, max(self._now_us - age_us, 0))

    def _restarts(self, plan: Plan) -> Iterator[Event]:
        for worker, process in self._workers.items():
            old = self._old.get(worker)
            if old is not None and not old.is_followed_by(process.uptime_seconds):
                restart = _event(plan, EventKind.RESTART, process.began_us)
                yield replace(restart, worker=worker, node=worker.rpartition(":")[0])

    def _processes(self) -> dict[str, Process]:
        """The processes that reported, by worker: those of the same have the same age."""
        ages: dict[str, int] = {}
        for one in self._sighting.executors:
            if one.uptime_seconds is not None:
                worker = str(one.slot)
                ages[worker] = max(ages.get(worker, 0), one.uptime_seconds)
        return {
            worker: process_at(
                age,
                self._old.get(worker),
                asked_us=self._now_us,
                heartbeat_seconds=self._sighting.heartbeat_seconds,
            )
            for worker, age in ages.items()
        }

    def _worker_samples(self, worker: str, process: Process, plan: Plan) -> Iterator[Sample]:
        old = self._old.get(worker)
        goes_on = continues(process, old, usual_seconds=self._usual_seconds)
        bucket = bucket_of(process, old if goes_on else None, usual_seconds=self._usual_seconds)
        if bucket is None:
            return
        own = replace(self._sample(plan, bucket), worker=worker, node=worker.rpartition(":")[0])
        threads = sum(str(one.slot) == worker for one in self._sighting.executors)
        yield replace(own, metric=Metric.WORKER_HEARTBEATS.label, value=1, count=1)
        yield replace(own, metric=Metric.WORKER_THREADS.label, value=threads, count=1)
        uptime = process.uptime_seconds
        yield replace(own, metric=Metric.WORKER_UPTIME.label, value=uptime, count=1)

    def _report(self, seen: SeenExecutor, before: Reading | None) -> Report | None:
        """The executor's report, where it has made a new one."""
        if seen.uptime_seconds is None:
            return None
        worker = str(seen.slot)
        current, old = self._workers[worker], self._old.get(worker)
        process = replace(current, uptime_seconds=seen.uptime_seconds)
        restarted = old is not None and not old.is_followed_by(current.uptime_seconds)
        if before is not None and (restarted or before.worker != worker):
            before = None
        if before is not None and not before.process.is_followed_by(seen.uptime_seconds):
            # Its worker restarts while it is looked at: some pages are of the old one.
            return None
        last = None if before is None else before.process
        if not continues(process, last, usual_seconds=self._usual_seconds):
            before = last = None
        bucket = bucket_of(process, last, usual_seconds=self._usual_seconds)
        if bucket is None:
            return None
        return Report(
            seen=seen,
            process=process,
            bucket=bucket,
            before=before,
            parts=self._sighting.parts.get(seen.executor.operator, _NO_PARTS),
            keys=self._keys.get(seen.executor.operator, {}),
            sampling=self._sighting.sampling,
            resolution_ms=self._sighting.resolution_ms,
        )

    def _sample(self, plan: Plan, bucket: Bucket) -> Sample:
        return Sample(
            cluster=self._cluster,
            topology=plan.topology,
            plan_id=plan.plan_id,
            metric="",
            bucket_start_us=bucket.start_us,
            bucket_seconds=bucket.seconds,
            value=0.0,
            count=0,
        )


def _event(plan: Plan, kind: EventKind, happened_at_us: int) -> Event:
    return Event(
        cluster=plan.cluster,
        topology=plan.topology,
        plan_id=plan.plan_id,
        happened_at_us=happened_at_us,
        kind=kind.value,
    )


def _at_their_places(sighting: Sighting, standing: Standing | None) -> bool:
    """Whether those who reported are where the plan of before had them."""
    if standing is None:
        return False
    places = {(one.component, one.first_task, one.worker) for one in standing.plan.executors}
    return all(
        (one.executor.operator, one.executor.first_task, str(one.slot)) in places
        for one in sighting.executors
    )


def _keys(sighting: Sighting) -> dict[str, dict[Metric, tuple[Key, ...]]]:
    """By component and counter what it can be about, by the streams there are."""
    keys: dict[str, dict[Metric, dict[Key, None]]] = {}
    spouts = {one.name for one in sighting.components if one.is_spout}
    for stream in sighting.streams:
        source, target = keys.setdefault(stream.source, {}), keys.setdefault(stream.target, {})
        for metric in (*_OUTPUTS, *(_ROOTS if stream.source in spouts else ())):
            source.setdefault(metric, {})[Key(stream.name)] = None
        for metric in _INPUTS:
            target.setdefault(metric, {})[Key(stream.name, stream.source)] = None
    return {
        name: {metric: tuple(found) for metric, found in by_metric.items()}
        for name, by_metric in keys.items()
    }
