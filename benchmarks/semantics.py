"""Full semantics against a bare event heap, and what each feature of the simulator costs.

Fields-to-fields in step 4 (68 executors): Storm 1.x queues, acks, shared cores, at half load. The
bare loop is a binary heap of as many timers in compiled code, which takes the first and
sets it anew and does nothing else: no event-driven simulator can be faster. Memory is that of a
process of its own.
"""

from __future__ import annotations

import resource
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from numba import njit

from benchmarks.report import Entry, Measurement, growth, measure
from streamgauge.cli.examples import example_path
from streamgauge.planning.scheduling.deploy import place_job
from streamgauge.profile.behaviour import Service
from streamgauge.profile.distribution import Exponential
from streamgauge.profile.files.jobs import load_job
from streamgauge.profile.job import Job
from streamgauge.simulation.random_streams import exponential, make_streams
from streamgauge.simulation.results import SimulationResult
from streamgauge.simulation.timers import Timers, first_timer, make_timers, set_timer
from streamgauge.simulation.topology_run import simulate
from streamgauge.transport.engine import load_engine
from streamgauge.transport.mechanics import Mechanics

STEP, LOAD, SERVICE = "step-4", 0.5, 0.0002
# The most frequent of the sixteen keys, each of which has a task to itself.
BUSIEST = 6 / 32
HEAP_EVENTS = 5_000_000
TUPLES = 60_000.0
LONG_HOPS = {False: 1e7, True: 1e8}


def run(*, large: bool) -> list[Entry]:
    """The entries of this module."""
    job = half_loaded(load_job(example_path("fields-to-fields.yaml")).at_step(STEP))
    timers = len(place_job(job).plan.logical.executors)
    _heap(timers, 1000)
    heap = measure(partial(_heap, timers, HEAP_EVENTS), repetitions=3)
    heap_rate = HEAP_EVENTS / heap.seconds
    seconds = TUPLES / sum(one.per_second or 0.0 for one in _emissions(job))
    cases: dict[str, dict[str, Any]] = {
        "bare heap": {**asdict(heap), "events per second": heap_rate}
    }
    rates: dict[str, float] = {}
    for name, work in _features(job, seconds).items():
        work()  # compiled outside the measurement
        hops = work().hops
        taken = measure(work, repetitions=3)
        rates[name] = hops / taken.seconds
        cases[name] = {**asdict(taken), "hops": hops, "hops per second": rates[name]}
    full = "full semantics"
    short, long = _twice(job, seconds)
    memory = _in_a_process(LONG_HOPS[large] / (cases[full]["hops"] / seconds))
    cases[f"{memory['hops']:.3g} hops"] = memory
    ratios = {f"{name} / bare heap, per second": rate / heap_rate for name, rate in rates.items()}
    ratios["growth of time with simulated time (1 is linear)"] = growth(
        short.seconds, long.seconds, 4.0
    )
    ratios["memory of that run in MB"] = memory["peak_bytes"] / 1e6
    about = "68 executors at half load; hops per second, acknowledgements included"
    return [Entry(name="full semantics", about=about, cases=cases, ratios=ratios)]


def half_loaded(job: Job) -> Job:
    """Services and a rate such that the executor of the most frequent key works half of the time.

    Every operator but the source takes an exponential time on a core, of which there are enough.
    """
    sources = {one.name for one in job.topology.sources}
    behaviours = {
        name: one
        if name in sources
        else replace(one, service=Service(cpu_ms=Exponential(mean=1000 * SERVICE)))
        for name, one in job.behaviours.items()
    }
    assert job.workload is not None
    rate = LOAD / (BUSIEST * SERVICE)
    emissions = tuple(
        replace(one, per_second=rate / len(job.workload.emissions))
        for one in job.workload.emissions
    )
    cluster = job.cluster
    assert cluster is not None
    machines = tuple(replace(one, cores=16.0) for one in cluster.machines)
    return replace(
        job,
        behaviours=behaviours,
        workload=replace(job.workload, emissions=emissions),
        cluster=replace(cluster, machines=machines),
    )


def _emissions(job: Job) -> tuple[Any, ...]:
    assert job.workload is not None
    return job.workload.emissions


def _features(job: Job, seconds: float) -> dict[str, Callable[[], SimulationResult]]:
    """The job as it is, then with one thing changed at a time."""
    plain = replace(job, topology=replace(job.topology, acked=False))
    idle = replace(
        job,
        behaviours={name: replace(one, service=Service()) for name, one in job.behaviours.items()},
    )
    storm2 = replace(job, configuration=replace(job.configuration, engine="storm-2"))
    return {
        "full semantics": _work(job, seconds),
        "without acks": _work(plain, seconds),
        "without batches": _work(job, seconds, batch=1),
        "without service times": _work(idle, seconds),
        "Storm 2.x": _work(storm2, seconds),
        "Storm 2.x, load-aware off": _work(storm2, seconds, load_aware=False),
        "Storm 2.x, no waiting": _work(
            storm2,
            seconds,
            bolt_sleep=0.0,
            bolt_spin=0.0,
            source_sleep=0.0,
            transfer_sleep=0.0,
            poll_cores=0.0,
        ),
    }


def _work(job: Job, seconds: float, **changes: Any) -> Callable[[], SimulationResult]:
    plan = place_job(job).plan
    configuration = plan.logical.configuration
    mechanics: Mechanics = load_engine(configuration.engine).mechanics(configuration.settings)
    assert job.workload is not None
    return partial(
        simulate,
        plan,
        job.behaviours,
        job.workload,
        seconds=seconds,
        seed=1,
        mechanics=replace(mechanics, **changes),
    )


def _twice(job: Job, seconds: float) -> tuple[Measurement, Measurement]:
    """A run, and one four times as long."""
    return (
        measure(_work(job, seconds), repetitions=3),
        measure(_work(job, 4.0 * seconds), repetitions=3),
    )


def _in_a_process(seconds: float) -> dict[str, Any]:
    """Hops and peak memory of one long run in a fresh process."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_peak, (seconds,))


def _peak(seconds: float) -> dict[str, Any]:
    job = half_loaded(load_job(example_path("fields-to-fields.yaml")).at_step(STEP))
    hops = _work(job, seconds)().hops
    status = Path("/proc/self/status")
    if status.exists():
        # What the system counts for a child begins with its parent's.
        (line,) = (one for one in status.read_text().splitlines() if one.startswith("VmHWM"))
        return {"hops": hops, "peak_bytes": int(line.split()[1]) * 1024}
    return {"hops": hops, "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}


def _heap(timers: int, events: int) -> None:
    made = make_timers(timers)
    streams = make_streams(1, 1)
    for timer in range(timers):
        set_timer(made, timer, float(timer))
    _bare_loop(made, streams, events)


@njit(cache=True)
def _bare_loop(timers: Timers, streams: Any, events: int) -> None:
    for _ in range(events):
        timer = first_timer(timers)
        set_timer(timers, timer, timers.time[timer] + exponential(streams, 0))
