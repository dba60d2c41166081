"""What the demonstration measures: emulated metrics of its job, and the truth of another plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge.api.simulator import Say, load_simulator, stay_silent

if TYPE_CHECKING:
    from streamgauge.models.end_to_end_latency import Latency
    from streamgauge.models.prediction import Prediction
    from streamgauge.profile.job import Job
    from streamgauge.simulation.results import SimulationResult
    from streamgauge.topology.physical_plan import PhysicalPlan
    from streamgauge.topology.workload import Workload

MEASURED_RATE = 200.0
MEASURED_SECONDS = 300.0
BUCKET_SECONDS = 5.0
SEED = 1
# Shuffle needs some looks at the loads, one a second, before it has found its way.
TRUTH_SECONDS, TRUTH_WARMUP = 5.0, 12.0
# Threads that sleep for a millisecond at a time keep their phases: several runs show several.
TRUTH_SEEDS = range(2, 10)
LEVELS = (0.5, 0.9, 0.99)


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What the job's own behaviours lead to, in several simulated runs.

    Attributes:
        latency: From source to sink.
        complete: Of whole tuple trees.
    """

    latency: Latency
    complete: Latency


def emulate_metrics(
    job: Job,
    plan: PhysicalPlan,
    folder: Path,
    *,
    progress: Callable[[float, float], None] | None = None,
    say: Say = stay_silent,
) -> SimulationResult:
    """Simulate five minutes at a low rate, and write what the agents of a cluster would have."""
    from streamgauge.engines.emulator import emulate

    assert job.workload is not None
    run = partial(
        load_simulator(say),
        plan,
        job.behaviours,
        job.workload.at_rate(MEASURED_RATE),
        seconds=MEASURED_SECONDS,
        warmup=0.0,
        progress=progress,
    )
    return emulate(job, plan, run, folder=folder, seed=SEED, bucket_seconds=BUCKET_SECONDS)


def simulate_truth(job: Job, plan: PhysicalPlan, workload: Workload) -> Truth:
    """Simulate a plan with the job's true behaviours, which no profile has seen."""
    from streamgauge.models.simulated import combine_latencies

    run = partial(
        load_simulator(),
        plan,
        job.behaviours,
        workload,
        seconds=TRUTH_SECONDS,
        warmup=TRUTH_WARMUP,
    )
    results = [run(seed=seed) for seed in TRUTH_SEEDS]
    return Truth(
        latency=combine_latencies([result.latency for result in results]),
        complete=combine_latencies([result.complete for result in results]),
    )


def compare_latencies(prediction: Prediction, truth: Truth) -> Iterator[tuple[str, float, float]]:
    """What is compared, as predicted and as it is true, in seconds."""
    assert prediction.complete is not None
    for name, ours, theirs in (
        ("source to sink", prediction.latency, truth.latency),
        ("complete", prediction.complete, truth.complete),
    ):
        yield f"{name}, mean", ours.mean, theirs.mean
        for level in LEVELS:
            yield f"{name}, p{100 * level:g}", ours.quantiles[level], theirs.quantiles[level]
