"""What executors and workers did and used in a repetition, for costs of phases to be fitted to.

CPU of an executor without its idle time and without what the job declares for its own code is the
engine's: taking a tuple, grouping what comes of it, and serialising what leaves the worker.
Transfer and network threads move messages in batches, and these deserialise them. Acknowledgements
are messages too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

import numpy as np

from streamgauge.experiments.stages import SYSTEM, Names, Sums
from streamgauge.experiments.windows import NANOSECONDS, Placement
from streamgauge.lake.metrics import Metric
from streamgauge.models import phase_fit
from streamgauge.models.byte_flow import count_batches, system_size
from streamgauge.models.engine_costs import Seen
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.profile.job import Job
from streamgauge.topology.topology import ACKER, StreamKey
from streamgauge.transport.engine import load_engine

MS = 1e-3
# Metrics, and what they are summed by beside the window; names of a sum are in this order.
KEYS: Mapping[Metric, tuple[str, ...]] = {
    Metric.EXECUTOR_CPU: ("executor",),
    Metric.EXECUTOR_IDLE_CPU: ("executor",),
    Metric.EXECUTED: ("component", "task", "source_component", "stream"),
    Metric.EMITTED: ("component", "task", "stream"),
    Metric.EMITTED_BYTES: ("component", "stream"),
    Metric.TRANSFERRED: ("source_component", "stream", "source_task", "task"),
    Metric.TRANSFER_THREAD_CPU: ("worker",),
    Metric.NETWORK_THREADS_CPU: ("worker",),
}

Counts = defaultdict[str, defaultdict[str, float]]


def list_phases(sums: Sums, job: Job, placement: Placement, seconds: float) -> list[Seen]:
    """CPU of each executor and worker a second, and what it was for.

    Args:
        sums: Of windows that last so long together, by `KEYS`.
        job: What ran, with the behaviours that it declares.
        placement: Where its executors ran.
        seconds: How long the windows were reported of.
    """
    return list(_Phases(sums, job, placement, seconds).list_seen()) if seconds > 0.0 else []


class _Phases:
    def __init__(self, sums: Sums, job: Job, placement: Placement, seconds: float) -> None:
        self._sums, self._job, self._placement, self._seconds = sums, job, placement, seconds
        self._behaviour = JobBehaviour.from_job(job)
        self._mechanics = load_engine(job.configuration.engine).mechanics(
            job.configuration.settings
        )
        self._worker = {
            task: one.worker
            for one in placement.executors
            for task in range(one.first_task, one.last_task + 1)
        }
        self._counts: Counts = defaultdict(lambda: defaultdict(float))
        self._own: defaultdict[str, float] = defaultdict(float)

    def _of(self, metric: Metric) -> Iterator[tuple[Names, float, float]]:
        for (of, names), (value, count) in self._sums.items():
            if of is metric:
                yield names, value / self._seconds, count

    def list_seen(self) -> Iterator[Seen]:
        """Executors that have no window, then workers."""
        self._count_executed()
        self._count_emitted()
        self._count_messages()
        idle = {names: value for names, value, _ in self._of(Metric.EXECUTOR_IDLE_CPU)}
        for (label,), value, _ in self._of(Metric.EXECUTOR_CPU):
            name = str(label).partition("[")[0]
            if name.startswith(SYSTEM) or self._job.topology.operator(name).window is not None:
                continue
            used = (value - idle.get((label,), 0.0)) / NANOSECONDS - self._own[str(label)]
            counts = {phase_fit.AWAKE: 1.0, **self._counts[str(label)]}
            yield phase_fit.see(max(used, 0.0), counts)
        for (worker,), value, _ in self._of(Metric.TRANSFER_THREAD_CPU):
            sent = self._counts[f"sent by {worker}"]
            yield phase_fit.see(value / NANOSECONDS, {phase_fit.TRANSFER_THREAD: 1.0, **sent})
        for (worker,), value, _ in self._of(Metric.NETWORK_THREADS_CPU):
            moved = self._counts[f"moved by {worker}"]
            if moved:
                yield phase_fit.see(value / NANOSECONDS, dict(moved))

    def _label(self, task: object) -> str | None:
        return self._placement.labels.get(int(str(task)))

    def _count_executed(self) -> None:
        for (component, task, source, stream), rate, _ in self._of(Metric.EXECUTED):
            label = self._label(task)
            if label is None or str(component).startswith(SYSTEM) or source is None:
                continue
            key = StreamKey(str(source), str(stream))
            own = self._behaviour.operators[str(component)].service_of(key)
            self._own[label] += rate * float(own.cpu.mean_ms) * MS
            self._counts[label][phase_fit.READ] += rate

    def _count_emitted(self) -> None:
        topology = self._job.topology
        sources = {one.name for one in topology.sources}
        for (component, task, stream), rate, _ in self._of(Metric.EMITTED):
            label = self._label(task)
            if label is None or str(stream).startswith(SYSTEM):
                continue
            if component in sources:
                own = self._behaviour.operators[str(component)].emit
                self._own[label] += rate * float(own.cpu.mean_ms) * MS
            for one in topology.data_streams:
                if one.key == StreamKey(str(component), str(stream)):
                    self._counts[label][phase_fit.GROUPING + one.grouping.kind] += rate

    def _count_messages(self) -> None:
        """What left its worker: serialised by the sender, moved in batches by both workers."""
        sizes = {
            (str(component), str(stream)): value * self._seconds / count
            for (component, stream), value, count in self._of(Metric.EMITTED_BYTES)
            if count
        }
        pairs: defaultdict[tuple[str, str], float] = defaultdict(float)
        for (source, stream, sender, receiver), rate, _ in self._of(Metric.TRANSFERRED):
            if None in (source, sender, receiver):
                continue
            ends = int(str(sender)), int(str(receiver))
            here, there = (self._worker.get(task) for task in ends)
            if here is None or there is None or here == there:
                continue
            size = self._find_size(StreamKey(str(source), str(stream)), sizes)
            out = self._counts[self._placement.labels[ends[0]]]
            out[phase_fit.SERIALISE] += rate
            out[phase_fit.SERIALISE_BYTE] += rate * size
            self._counts[f"sent by {here}"][phase_fit.HAND_OVER] += rate
            moved = self._counts[f"moved by {there}"]
            moved[phase_fit.DESERIALISE] += rate
            moved[phase_fit.DESERIALISE_BYTE] += rate * size
            pairs[here, there] += rate
        for (here, there), rate in pairs.items():
            batches = float(count_batches(np.asarray(rate), self._mechanics))
            self._counts[f"moved by {here}"][phase_fit.SEND] += batches
            self._counts[f"moved by {there}"][phase_fit.RECEIVE] += batches

    def _find_size(self, key: StreamKey, sizes: Mapping[tuple[str, str], float]) -> float:
        """Bytes of a serialised tuple, with the tree that it belongs to; zero where unknown."""
        own = self._mechanics.message_bytes
        if key.source == ACKER or key.name.startswith(SYSTEM):
            return system_size(key, own)
        tracked = own.root if self._job.topology.acked else 0.0
        return sizes.get((key.source, key.name), 0.0) + tracked
