"""The emulator as a runner of experiments: a step is one emulation, in simulated time."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import ClassVar

from streamgauge.engines.emulator.emulation import STARTED_AT, emulate
from streamgauge.engines.runner import Progress, StepOrder, StepRecord, trace_one_in
from streamgauge.errors import InvalidInput
from streamgauge.profile.behaviour import Behaviour, JoinOnKey
from streamgauge.profile.job import Job
from streamgauge.simulation.topology_run import simulate
from streamgauge.topology.cluster import Cluster
from streamgauge.topology.files.document import write_whole
from streamgauge.topology.topology import StreamKey

# Between two steps, so that none begins in a bucket of the one before.
PAUSE = timedelta(seconds=60)
_CLOCK = "clock.json"


class EmulatorRunner:
    """Runs jobs in the simulator and writes what a cluster would."""

    name: ClassVar[str] = "emulator"
    simulates: ClassVar[bool] = True

    @contextmanager
    def session(self, cluster: Cluster, folder: Path) -> Iterator[EmulatorSession]:
        """An emulated cluster, just as it is asked for."""
        yield EmulatorSession(cluster=cluster, folder=folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmulatorSession:
    """Emulates step after step; time goes on from one to the next, and from session to session.

    The folder keeps the time that the next step begins at.
    """

    cluster: Cluster
    folder: Path

    def run_step(self, order: StepOrder, progress: Progress) -> StepRecord:
        """Emulate the step; of its warm-up the seconds count, as nothing here is ever cold.

        The warm-up is made longer where it would end inside a bucket. A run whose queues outgrow
        all bounds ends there: what follows has no samples, and a note says so.
        """
        job, workload = order.job, order.job.workload
        if workload is None:
            raise InvalidInput.single(
                ("workload",), seen="no workload", expected="what the sources emit"
            )
        buckets = math.ceil(order.warm_up.seconds / order.bucket_seconds * (1.0 - 1e-12))
        warm_up = buckets * order.bucket_seconds
        measured = order.windows * order.window_seconds
        began_at = self._now()

        def told(reached: float, horizon: float) -> None:
            doing = "warming up" if reached < warm_up else "measuring"
            progress(min(reached / horizon, 1.0), doing)

        run = partial(
            simulate,
            order.plan,
            job.behaviours,
            workload,
            seconds=measured,
            warmup=warm_up,
            progress=told,
        )
        result = emulate(
            job,
            order.plan,
            run,
            folder=order.folder,
            seed=order.seed,
            bucket_seconds=order.bucket_seconds,
            trace_every=trace_every(job, warm_up + measured),
            started_at=began_at,
        )
        measured_from = began_at + timedelta(seconds=warm_up)
        measured_to = measured_from + timedelta(seconds=measured)
        self._set(measured_to + PAUSE)
        lasted = result.warmup + result.seconds
        outgrown = (
            f"queues outgrew what can be simulated after {lasted:.3g} s, which ended the step"
        )
        return StepRecord(
            began_at=began_at,
            measured_from=measured_from,
            measured_to=measured_to,
            plan=order.plan,
            notes=(outgrown,) if result.overloaded else (),
        )

    def _now(self) -> datetime:
        try:
            kept = json.loads((self.folder / _CLOCK).read_text())
        except FileNotFoundError:
            return STARTED_AT
        return datetime.fromisoformat(kept["next_step_at"]).astimezone(UTC)

    def _set(self, time: datetime) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"next_step_at": time.isoformat()})
        write_whole(self.folder / _CLOCK, text + "\n")


def trace_every(job: Job, seconds: float) -> int:
    """Every how many-th root a step of that length traces.

    With windows and joins as few as usual: a tuple with several traced parents would count for the
    first of them alone.
    """
    rates = [one.per_second for one in job.workload.emissions] if job.workload else []
    windowed = any(operator.window for operator in job.topology.operators)
    joined = any(isinstance(one.join, JoinOnKey) for one in job.behaviours.values())
    if not rates or None in rates or windowed or joined or job.topology.cycle() is not None:
        return trace_one_in(job, None)
    return trace_one_in(job, seconds * _to_sinks_per_second(job))


def _to_sinks_per_second(job: Job) -> float:
    """Tuples that sinks get when all operators keep up."""
    rates: dict[StreamKey, float] = {}
    for one in job.workload.emissions if job.workload else ():
        rates[one.key] = one.per_second or 0.0
    into = dict.fromkeys(job.topology.operator_names, 0.0)
    for operator in job.topology.topological_order():
        behaviour = job.behaviours.get(operator.name, Behaviour())
        for stream in job.topology.streams_into(operator.name):
            came = rates.get(stream.key, 0.0)
            into[operator.name] += came
            for name, counts in behaviour.outputs_of(stream.key).items():
                key = StreamKey(operator.name, name)
                rates[key] = rates.get(key, 0.0) + came * counts.mean
    return math.fsum(into[operator.name] for operator in job.topology.sinks)
