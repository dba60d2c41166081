"""A simulation that is measured: while it runs, everything an agent would report is written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

import numpy as np

from streamgauge.engines.deployment import Deployment
from streamgauge.engines.emulator.cluster_samples import Probes, QueueSamples, ThreadSamples
from streamgauge.engines.emulator.outbox import Outbox
from streamgauge.engines.emulator.readings import MICROSECONDS, Bucket, Reading, take_reading
from streamgauge.engines.emulator.subjects import Rows, Subjects
from streamgauge.engines.emulator.task_samples import SinkSamples, TaskSamples
from streamgauge.engines.emulator.traces import Tracer
from streamgauge.engines.runner import TRACE_EVERY
from streamgauge.errors import Findings
from streamgauge.lake.raw import TRACE_BYTES_PER_SECOND
from streamgauge.lake.record_types import MOST_BUCKET_SECONDS
from streamgauge.lake.records import group_samples
from streamgauge.profile.job import Job
from streamgauge.simulation.program import Compiled
from streamgauge.simulation.results import SimulationResult
from streamgauge.simulation.state import State
from streamgauge.simulation.topology_run import Tracing
from streamgauge.topology.field_checks import check_name, check_number, check_whole, format_value
from streamgauge.topology.physical_plan import PhysicalPlan

# Simulated time zero where none is given: fixed, so that the same seed gives the same bytes.
STARTED_AT = datetime(2026, 1, 1, tzinfo=UTC)
BUCKET_SECONDS = 10.0
LEAST_BUCKET_SECONDS = 0.001
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Run(Protocol):
    """A simulation that lacks nothing but its seed and who watches it."""

    def __call__(self, *, seed: int, tracing: Tracing) -> SimulationResult:
        """Simulate."""


def emulate(
    job: Job,
    plan: PhysicalPlan,
    run: Run,
    *,
    folder: str | Path,
    seed: int,
    bucket_seconds: float = BUCKET_SECONDS,
    trace_every: int = TRACE_EVERY,
    started_at: datetime = STARTED_AT,
    cluster: str | None = None,
    step: str | None = None,
) -> SimulationResult:
    """Run a simulation and write what its cluster would have reported.

    The same seed gives the same bytes, and the result is that of the simulation alone. The warm-up
    is written too: an agent knows nothing of it. A simulation that fails leaves no trace.

    Args:
        job: The job.
        plan: Where its executors run.
        run: The simulation of that job on that plan.
        folder: Where files go: new, empty, or of an earlier emulation, which is replaced.
        seed: Of all random numbers, those of sampling and probing included.
        bucket_seconds: Length of a bucket; the last one is as short as the run leaves it.
        trace_every: Every how many-th root is traced; none when zero.
        started_at: When simulated time begins, with its zone.
        cluster: What the cluster is called in the lake, where it needs a name.
        step: What the experiment's step is called, where this is one.

    Raises:
        InvalidInput: Something that was given cannot be; or the folder holds something else.
        UnreadableFile: The folder cannot be written.
    """
    _check(seed, bucket_seconds, trace_every, started_at, {"cluster": cluster, "step": step})
    deployment = Deployment.of(job, plan, cluster)
    began_us = (started_at - _EPOCH) // timedelta(microseconds=1)
    watch: _Watch | None = None

    def look(state: State, compiled: Compiled) -> None:
        nonlocal watch
        if watch is None:
            subjects = Subjects(plan, plan_id=deployment.plan_id, cluster=cluster)
            watch = _Watch(subjects, state, compiled, outbox, began_us=began_us, seed=seed)
        watch.write_bucket(state)

    with Outbox(Path(folder)) as outbox:
        tracing = Tracing(bucket_seconds=bucket_seconds, trace_every=trace_every, look=look)
        result = run(seed=seed, tracing=tracing)
        remarks = ["queues outgrew what can be simulated"] if result.overloaded else []
        if watch is not None and watch.tracer.incomplete:
            remarks.append("more was traced than could be kept: some roots are missing")
        # A plan lasts a microsecond at the least.
        end_us = max(_time_us(began_us, result.warmup + result.seconds), began_us + 1)
        outbox.write(deployment.record(began_us, end_us))
        for event in deployment.events(
            began_us,
            end_us,
            step=step,
            begun=f"simulated with seed {seed}",
            ended="; ".join(remarks) or None,
        ):
            outbox.write(event)
        outbox.commit()
    return result


class _Watch:
    """Writes what happens in a simulation under way, bucket by bucket."""

    def __init__(
        self,
        subjects: Subjects,
        state: State,
        compiled: Compiled,
        outbox: Outbox,
        *,
        began_us: int,
        seed: int,
    ) -> None:
        # Apart from the simulation's own, so that watching changes nothing.
        sampling, probing = np.random.default_rng(seed).spawn(2)
        self._compiled = compiled
        self._outbox = outbox
        self._began_us = began_us
        plan = subjects.plan
        self._rows = rows = Rows(subjects, compiled)
        self._probes = Probes(plan.cluster, plan.nodes, subjects.cluster, probing)
        self._samplers = (
            TaskSamples(subjects, compiled, rows, sampling),
            QueueSamples(subjects, compiled),
            ThreadSamples(subjects, compiled, rows),
            SinkSamples(subjects, compiled),
        )
        self.tracer = Tracer(subjects, compiled, began_us)
        reading = take_reading(state, compiled, rows)
        self._last: Reading = {name: np.zeros_like(values) for name, values in reading.items()}

    def write_bucket(self, state: State) -> None:
        """Write what happened since the last time."""
        before, after = self._last, take_reading(state, self._compiled, self._rows)
        self._last = after
        start_us, end_us = (
            _time_us(self._began_us, reading["time"][0]) for reading in (before, after)
        )
        if end_us <= start_us:
            # A run that ends less than a microsecond after a bucket has nothing more to tell.
            return
        seconds = (end_us - start_us) / MICROSECONDS
        bucket = Bucket(before=before, after=after, start_us=start_us, seconds=seconds)
        samples = (sample for sampler in self._samplers for sample in sampler.of(bucket))
        for group in group_samples(samples):
            self._outbox.write(group)
        self._outbox.end_bucket()
        room = TRACE_BYTES_PER_SECOND * seconds
        for trace in self.tracer.take(state):
            written = self._outbox.write(trace, room)
            room -= written
            self.tracer.incomplete |= not written
        for link in self._probes.at(start_us):
            self._outbox.write(link)


def _time_us(began_us: int, simulated: float) -> int:
    return began_us + round(float(simulated) * MICROSECONDS)


def _check(
    seed: int,
    bucket_seconds: float,
    trace_every: int,
    started_at: datetime,
    names: dict[str, str | None],
) -> None:
    findings = Findings()
    check_number(
        findings,
        bucket_seconds,
        "bucket_seconds",
        least=LEAST_BUCKET_SECONDS,
        most=MOST_BUCKET_SECONDS,
    )
    check_whole(findings, trace_every, "trace_every", least=0)
    check_whole(findings, seed, "seed", least=0)
    for place, name in names.items():
        if name is not None:
            check_name(findings, name, place)
    if started_at.tzinfo is None or started_at < _EPOCH:
        findings.add(
            "started_at",
            seen=format_value(started_at),
            expected="a time from 1970 on, with its zone",
        )
    findings.raise_if_any()
