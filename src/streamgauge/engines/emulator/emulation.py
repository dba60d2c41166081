"""A simulation that is measured: while it runs, everything an agent would report is written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Protocol, TypedDict, Unpack

import numpy as np

from streamgauge.engines.deployment import Deployment
from streamgauge.engines.emulator.outbox import Outbox
from streamgauge.engines.emulator.probes import Probes
from streamgauge.engines.emulator.readings import MICROSECONDS, Bucket
from streamgauge.engines.emulator.subjects import Subjects
from streamgauge.engines.emulator.watch import Watch
from streamgauge.errors import Findings
from streamgauge.lake.raw import TRACE_BYTES_PER_SECOND
from streamgauge.lake.records import group_samples
from streamgauge.lake.shapes import MOST_BUCKET_SECONDS
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
TRACE_EVERY = 1000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Run(Protocol):
    """A simulation that lacks nothing but its seed and who watches it."""

    def __call__(self, *, seed: int, tracing: Tracing) -> SimulationResult:
        """Simulate."""


class Options(TypedDict, total=False):
    """How a simulation is watched; what is not given is as `Emulator` has it."""

    bucket_seconds: float
    trace_every: int
    started_at: datetime
    cluster: str | None
    step: str | None


def emulate(
    job: Job,
    plan: PhysicalPlan,
    run: Run,
    *,
    folder: str | Path,
    seed: int,
    **options: Unpack[Options],
) -> SimulationResult:
    """Run a simulation and write what its cluster would have reported.

    The same seed gives the same bytes, and the result is that of the simulation alone. The warm-up
    is written too: an agent knows nothing of it.

    Args:
        job: The job.
        plan: Where its executors run.
        run: The simulation of that job on that plan.
        folder: Where files go: new, empty, or of an earlier emulation, which is replaced.
        seed: Of all random numbers, those of sampling and probing included.
        options: See `Emulator`.

    Raises:
        InvalidInput: Something that was given cannot be; or the folder holds something else.
        UnreadableFile: The folder cannot be written.
    """
    with Emulator(job, plan, folder, seed=seed, **options) as emulator:
        result = run(seed=seed, tracing=emulator.tracing)
        emulator.close(result)
    return result


class Emulator:
    """Watches one simulation and writes; used as a context around it.

    Leaving the context without `close` leaves no trace.

    Args:
        job: The job.
        plan: Where its executors run.
        folder: Where files go: new, empty, or of an earlier emulation, which is replaced.
        seed: Of all random numbers, those of sampling and probing included.
        bucket_seconds: Length of a bucket; the last one is as short as the run leaves it.
        trace_every: Every how many-th root is traced; none when zero.
        started_at: When simulated time begins, with its zone.
        cluster: What the cluster is called in the lake, where it needs a name.
        step: What the experiment's step is called, where this is one.

    Attributes:
        tracing: To be handed to `simulate`.
    """

    def __init__(
        self,
        job: Job,
        plan: PhysicalPlan,
        folder: str | Path,
        *,
        seed: int,
        bucket_seconds: float = BUCKET_SECONDS,
        trace_every: int = TRACE_EVERY,
        started_at: datetime = STARTED_AT,
        cluster: str | None = None,
        step: str | None = None,
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
        for place, name in (("cluster", cluster), ("step", step)):
            if name is not None:
                check_name(findings, name, place)
        if started_at.tzinfo is None or started_at < _EPOCH:
            findings.add(
                "started_at",
                seen=format_value(started_at),
                expected="a time from 1970 on, with its zone",
            )
        findings.raise_if_any()
        self.tracing = Tracing(
            bucket_seconds=bucket_seconds, trace_every=trace_every, look=self._look
        )
        self._deployment = Deployment.of(job, plan, cluster)
        self._subjects = Subjects(plan, plan_id=self._deployment.plan_id, cluster=cluster)
        self._started_at_us = (started_at - _EPOCH) // timedelta(microseconds=1)
        self._seed = seed
        self._step = step
        # Apart from the simulation's own, so that watching changes nothing.
        sampling, probing = np.random.default_rng(seed).spawn(2)
        self._sampling = sampling
        self._probes = Probes(plan.cluster, plan.nodes, cluster, probing)
        self._outbox = Outbox(Path(folder))
        self._watch: Watch | None = None

    def __enter__(self) -> Emulator:
        self._outbox.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._outbox.__exit__(kind, error, trace)

    def close(self, result: SimulationResult) -> None:
        """Write what is left, and give the files their names.

        Args:
            result: Of the simulation, which has ended.
        """
        lasted = result.warmup + result.seconds
        # A plan lasts a microsecond at the least.
        end_us = max(self._time_us(lasted), self._started_at_us + 1)
        remarks = ["queues outgrew what can be simulated"] if result.overloaded else []
        if self._watch is not None and self._watch.tracer.incomplete:
            remarks.append("more was traced than could be kept: some roots are missing")
        self._outbox.write(self._deployment.record(self._started_at_us, end_us))
        for event in self._deployment.events(
            self._started_at_us,
            end_us,
            step=self._step,
            begun=f"simulated with seed {self._seed}",
            ended="; ".join(remarks) or None,
        ):
            self._outbox.write(event)
        self._outbox.commit()

    def _look(self, state: State, compiled: Compiled) -> None:
        if self._watch is None:
            self._watch = Watch(
                self._subjects, state, compiled, self._sampling, self._started_at_us
            )
        self._watch.state = state
        self._write_bucket(self._watch)

    def _write_bucket(self, watch: Watch) -> None:
        before, after = watch.advance()
        start_us, end_us = self._time_us(before.time[0]), self._time_us(after.time[0])
        if end_us <= start_us:
            # A run that ends less than a microsecond after a bucket has nothing more to tell.
            return
        bucket = Bucket(
            before=before,
            after=after,
            start_us=start_us,
            seconds=(end_us - start_us) / MICROSECONDS,
        )
        samples = (sample for sampler in watch.samplers for sample in sampler.of(bucket))
        for group in group_samples(samples):
            self._outbox.write(group)
        self._outbox.end_bucket()
        room = TRACE_BYTES_PER_SECOND * bucket.seconds
        for trace in watch.tracer.take(watch.state):
            written = self._outbox.write(trace, room)
            room -= written
            watch.tracer.incomplete |= not written
        for link in self._probes.at(start_us):
            self._outbox.write(link)

    def _time_us(self, simulated: float) -> int:
        return self._started_at_us + round(float(simulated) * MICROSECONDS)
