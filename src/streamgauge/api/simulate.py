"""Simulate a job tuple by tuple: throughput, latency with percentiles, back-pressure, CPU."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge.api.loading import JobLike, load_plan
from streamgauge.api.rates import Rates, apply_rates
from streamgauge.api.simulator import Say, load_simulator, stay_silent
from streamgauge.errors import InvalidInput, in_file

if TYPE_CHECKING:
    from streamgauge.reports.simulation import SimulationReport

# Told how much of the simulated time is reached, and how much there is in all.
Progress = Callable[[float, float], None]

# Simulated time where none is given; jobs with long windows would otherwise take very long.
LONGEST_SECONDS = 60.0
SECONDS_PER_DAY = 86_400.0
# A run that would take longer to compute is refused, as soon as its pace is known.
MOST_COMPUTING_SECONDS = SECONDS_PER_DAY
SECONDS_TO_TELL = 1.0


def simulate(
    job: JobLike,
    *,
    step: str | None = None,
    rate: Rates = None,
    seconds: float | None = None,
    warmup: float | None = None,
    seed: int = 1,
    replications: int = 1,
    samples: str | Path | None = None,
    bucket_seconds: float = 10.0,
    progress: Progress | None = None,
    say: Say = stay_silent,
) -> SimulationReport:
    """Simulate a job with the behaviours and the workload that it declares.

    Args:
        job: A job file, or a job.
        step: Configure it as in this step of the file.
        rate: Tuples per second of all sources together, or by source; as declared if not given.
        seconds: Simulated time to measure; as long as the job's rates and windows need, and at
            most a minute or ten windows, if not given.
        warmup: Simulated time to leave out before. If not given, a quarter of `seconds` is
            simulated in addition, and the beginning that is not steady is left out.
        seed: Of the random numbers: the same seed gives the same figures.
        replications: Independent runs, on all cores; figures of sinks then have an interval.
        samples: A folder to write what the metrics agent of a cluster would measure.
        bucket_seconds: The time that one sample spans.
        progress: Called now and then with the simulated time reached, and that to be reached.
        say: Called with remarks on the way, such as that the simulator is compiled first.

    Raises:
        InvalidInput: The job cannot be simulated, or would take more than a day to compute.
        MissingExtra: The packages that simulate are not installed.
    """
    from streamgauge.models.run_length import sensible_seconds
    from streamgauge.reports.simulation import SimulationReport

    planned = load_plan(job, step)
    if planned.job is None or planned.job.workload is None:
        raise InvalidInput.single(
            ("workload",), file=planned.file, seen="no workload", expected="what the sources emit"
        )
    if samples is not None and replications != 1:
        raise InvalidInput.single(
            ("--samples",), seen=f"{replications} runs", expected="one run, which is written"
        )
    workload = apply_rates(planned.job.workload, rate)
    loaded = replace(planned.job, workload=workload)
    if seconds is None:
        seconds = sensible_seconds(loaded.topology, workload, longest=LONGEST_SECONDS)
    with in_file(planned.file):
        run = partial(
            load_simulator(say),
            planned.plan,
            loaded.behaviours,
            workload,
            seconds=seconds,
            warmup=warmup,
            progress=_Pace(progress),
        )
        if samples is not None:
            from streamgauge.engines.emulator import emulate

            results = [
                emulate(
                    loaded,
                    planned.plan,
                    run,
                    folder=samples,
                    bucket_seconds=bucket_seconds,
                    seed=seed,
                )
            ]
        elif replications == 1:
            results = [run(seed=seed)]
        else:
            from streamgauge.simulation.replications import replicate

            # Runs that go on side by side report no progress, and each has a pace of its own.
            results = replicate(
                lambda *, seed: run(seed=seed, progress=_Pace(None)),
                seed=seed,
                replications=replications,
            )
    return SimulationReport(
        job=loaded,
        plan=planned.plan,
        results=tuple(results),
        seed=seed,
        seconds=seconds,
        warmup=warmup,
        warnings=planned.warnings,
    )


class _Pace:
    """Watches how fast simulated time passes, and refuses a run that would take days."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        # Wall-clock and simulated time of the first look.
        self._began: tuple[float, float] | None = None

    def __call__(self, reached: float, horizon: float) -> None:
        now = time.monotonic()
        began, start = self._began = self._began or (now, reached)
        if now > began + SECONDS_TO_TELL and reached > start:
            self._check((now - began) / (reached - start), horizon)
        if self._progress is not None:
            self._progress(reached, horizon)

    def _check(self, pace: float, horizon: float) -> None:
        """Raise InvalidInput where so many computed seconds for a simulated one are too many."""
        needed = pace * horizon
        if needed > MOST_COMPUTING_SECONDS:
            most = f"{MOST_COMPUTING_SECONDS / pace:.2g} simulated seconds"
            raise InvalidInput.single(
                ("seconds",),
                seen=f"{horizon:g} s to simulate, about {needed / SECONDS_PER_DAY:,.0f} days of"
                " computing",
                expected=f"at most a day, about {most}",
            )
