"""The records of a snapshot of a topology: plan, events and samples since its last known state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from streamgauge.engines.deployment import Deployment
from streamgauge.engines.storm.collection.folder import LastState
from streamgauge.engines.storm.collection.readings import (
    MICROSECONDS,
    Bucket,
    Process,
    Reading,
    Report,
    bucket_of,
    continues,
    process_at,
)
from streamgauge.engines.storm.collection.snapshot import (
    Key,
    ReportedExecutor,
    TopologySnapshot,
)
from streamgauge.lake.metrics import Metric
from streamgauge.lake.records import Event, EventKind, Plan, Record, Sample

_INPUTS = (Metric.EXECUTED_TOTAL, Metric.ACKED_TOTAL, Metric.FAILED_TOTAL)
_OUTPUTS = (Metric.EMITTED_TOTAL, Metric.SENT_TOTAL)
_ROOTS = (Metric.ROOTS_ACKED_TOTAL, Metric.ROOTS_FAILED_TOTAL)


class SnapshotRecords:
    """The records of a snapshot, compared with the last known state of the topology.

    Attributes:
        state: What is known of it from now on, once its records are made.
    """

    def __init__(
        self,
        snapshot: TopologySnapshot,
        before: LastState | None,
        *,
        now_us: int,
        every_seconds: float,
        cluster: str | None,
    ) -> None:
        self._snapshot = snapshot
        self._before = before
        self._now_us = now_us
        self._usual_seconds = max(every_seconds, snapshot.heartbeat_seconds)
        self._cluster = cluster
        self._old = {} if before is None else before.workers
        self._workers = self._processes()
        self._keys = _keys(snapshot)
        self.state: LastState

    def records(self, plan: Deployment | None) -> Iterator[Record]:
        """Plan, events and samples; without a plan that of before holds on."""
        ended, current = self._plans(plan)
        yield from self._plan_records(ended, current)
        yield from self._restarts(current)
        readings = {} if self._before is None or ended else dict(self._before.readings)
        old_readings = {} if self._before is None else self._before.readings
        for worker, process in self._workers.items():
            yield from self._worker_samples(worker, process, current)
        for seen in self._snapshot.executors:
            label = seen.executor.label
            report = self._report(seen, old_readings.get(label))
            if report is None:
                if label in old_readings:
                    readings[label] = old_readings[label]
                continue
            readings[label] = report.reading
            yield from report.samples(self._sample(current, report.bucket))
        used = {one.worker for one in current.executors}
        kept = {worker: one for worker, one in self._old.items() if worker in used}
        workers = {**kept, **self._workers}
        self.state = LastState(plan=current, workers=workers, readings=readings)

    def _plans(self, plan: Deployment | None) -> tuple[Plan | None, Plan]:
        """The plan that ended, if one did, and the one in place."""
        before = None if self._before is None else self._before.plan
        if before is not None and (plan is None or plan.is_that_of(before)):
            return None, before
        assert plan is not None
        # A plan is in place since its last worker began.
        at_us = max((one.began_us for one in self._workers.values()), default=self._now_us)
        if before is None:
            return None, plan.record(at_us)
        reported_us = max((one.reported_us for one in self._old.values()), default=0)
        at_us = max(min(max(at_us, reported_us), self._now_us), before.valid_from_us + 1)
        return replace(before, valid_to_us=at_us), plan.record(at_us)

    def _plan_records(self, ended: Plan | None, current: Plan) -> Iterator[Record]:
        if ended is not None:
            yield ended
            yield event_of(current, EventKind.REBALANCE, current.valid_from_us)
        # Again in every file, so that each can be read without the others.
        yield current
        if self._before is None:
            age_us = round(self._snapshot.listed.uptime_seconds * MICROSECONDS)
            yield event_of(current, EventKind.START, max(self._now_us - age_us, 0))

    def _restarts(self, plan: Plan) -> Iterator[Event]:
        for worker, process in self._workers.items():
            old = self._old.get(worker)
            if old is not None and not old.is_followed_by(process.uptime_seconds):
                restart = event_of(plan, EventKind.RESTART, process.began_us)
                yield replace(restart, worker=worker, node=worker.rpartition(":")[0])

    def _processes(self) -> dict[str, Process]:
        """The processes that reported, by worker: those of the same have the same age."""
        ages: dict[str, int] = {}
        for one in self._snapshot.executors:
            if one.uptime_seconds is not None:
                worker = str(one.slot)
                ages[worker] = max(ages.get(worker, 0), one.uptime_seconds)
        return {
            worker: process_at(
                age,
                self._old.get(worker),
                asked_us=self._now_us,
                heartbeat_seconds=self._snapshot.heartbeat_seconds,
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
        threads = sum(str(one.slot) == worker for one in self._snapshot.executors)
        yield replace(own, metric=Metric.WORKER_HEARTBEATS.label, value=1, count=1)
        yield replace(own, metric=Metric.WORKER_THREADS.label, value=threads, count=1)
        uptime = process.uptime_seconds
        yield replace(own, metric=Metric.WORKER_UPTIME.label, value=uptime, count=1)

    def _report(self, seen: ReportedExecutor, before: Reading | None) -> Report | None:
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
        keys = self._keys.get(seen.executor.operator, {})
        return Report(seen, process, bucket, before, self._snapshot, keys)

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


def event_of(plan: Plan, kind: EventKind, happened_at_us: int) -> Event:
    """Something that happened to the topology of a plan."""
    return Event(
        cluster=plan.cluster,
        topology=plan.topology,
        plan_id=plan.plan_id,
        happened_at_us=happened_at_us,
        kind=kind.value,
    )


def _keys(snapshot: TopologySnapshot) -> dict[str, dict[Metric, tuple[Key, ...]]]:
    """By component and counter what it can be about, by the streams there are."""
    keys: dict[str, dict[Metric, dict[Key, None]]] = {}
    spouts = {one.name for one in snapshot.components if one.is_spout}
    for stream in snapshot.streams:
        source, target = keys.setdefault(stream.source, {}), keys.setdefault(stream.target, {})
        for metric in (*_OUTPUTS, *(_ROOTS if stream.source in spouts else ())):
            source.setdefault(metric, {})[Key(stream.name)] = None
        for metric in _INPUTS:
            target.setdefault(metric, {})[Key(stream.name, stream.source)] = None
    return {
        name: {metric: tuple(found) for metric, found in by_metric.items()}
        for name, by_metric in keys.items()
    }
