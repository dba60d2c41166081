"""Full semantics against a bare event heap, and what each feature of the simulator costs.

Fields-to-fields in step 4 (68 executors): Storm 1.x queues, acks, shared cores, at half load. The
bare loop is a binary heap of as many timers in compiled code, which takes the first and
sets it anew and does nothing else: no event-driven simulator can be faster. Memory is that of a
process of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from numba import njit

from benchmarks.jobs import simulate_job
from benchmarks.processes import Answer, run_apart
from benchmarks.report import Entry, growth
from streamgauge.cli.examples import example_path
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.behaviour import Service
from streamgauge.profile.distribution import Exponential
from streamgauge.profile.files.jobs import load_job
from streamgauge.profile.job import Job
from streamgauge.simulation.random_streams import exponential, make_streams
from streamgauge.simulation.results import SimulationResult
from streamgauge.simulation.timers import (
    Timers,
    first_time,
    first_timer,
    make_timers,
    set_timer,
)
from streamgauge.transport.engine import load_engine

STEP, LOAD, SERVICE = "step-4", 0.5, 0.0002
# The most frequent of the sixteen keys, each of which has a task to itself.
BUSIEST = 6 / 32
RATE = LOAD / (BUSIEST * SERVICE)
FULL = "full semantics"
HEAP_EVENTS = 5_000_000
TUPLES = 60_000.0
LONG_HOPS = {False: 1e7, True: 1e8}
# Simulated time in which sources emit `TUPLES`.
SECONDS = TUPLES / RATE


def run(*, large: bool) -> list[Entry]:
    """Hops per second of the whole semantics and with one thing changed at a time."""
    entry = Entry(
        "full semantics", "68 executors at half load; hops per second, acknowledgements included"
    )
    job = half_loaded_job()
    timers = len(place_job(job).plan.logical.executors)
    _run_heap(timers, 1000)
    heap = entry.time("bare heap", partial(_run_heap, timers, HEAP_EVENTS), repetitions=3)
    heap_rate = entry.cases["bare heap"]["events per second"] = HEAP_EVENTS / heap.seconds
    for name, work in _features(job).items():
        work()  # compiled before the timing
        hops = work().hops
        rate = hops / entry.time(name, work, repetitions=3).seconds
        entry.cases[name] |= {"hops": hops, "hops per second": rate}
        entry.ratios[f"{name} / bare heap, per second"] = rate / heap_rate
    full = entry.cases[FULL]
    longer = entry.time(f"{FULL}, four times as long", _work(job, 4.0 * SECONDS), repetitions=3)
    exponent = growth(full["seconds"], longer.seconds, 4.0)
    entry.ratios["growth of time with simulated time (1 is linear)"] = exponent
    memory = run_apart(_run_long, LONG_HOPS[large] / (full["hops"] / SECONDS))
    entry.cases[f"{memory['hops']:.3g} hops"] = memory
    entry.ratios["memory of that run in MB"] = memory["peak_bytes"] / 1e6
    return [entry]


def half_loaded_job() -> Job:
    """Services and a rate such that the executor of the most frequent key works half of the time.

    Every operator but the source takes an exponential time on a core, of which there are enough.
    """
    job = load_job(example_path("fields-to-fields.yaml")).at_step(STEP)
    assert job.workload is not None
    assert job.cluster is not None
    service = Service(cpu_ms=Exponential(mean=1000 * SERVICE))
    sources = {source.name for source in job.topology.sources}
    behaviours = {
        name: behaviour if name in sources else replace(behaviour, service=service)
        for name, behaviour in job.behaviours.items()
    }
    machines = tuple(replace(machine, cores=16.0) for machine in job.cluster.machines)
    return replace(
        job,
        behaviours=behaviours,
        workload=job.workload.at_rate(RATE),
        cluster=replace(job.cluster, machines=machines),
    )


def _features(job: Job) -> dict[str, Callable[[], SimulationResult]]:
    """The job as it is, then with one thing changed at a time."""
    plain = replace(job, topology=replace(job.topology, acked=False))
    idle = {
        name: replace(behaviour, service=Service()) for name, behaviour in job.behaviours.items()
    }
    storm2 = replace(job, configuration=replace(job.configuration, engine="storm-2"))
    waits = ("bolt_sleep", "bolt_spin", "source_sleep", "transfer_sleep", "poll_cores")
    return {
        FULL: _work(job),
        "without acks": _work(plain),
        "without batches": _work(job, batch=1),
        "without service times": _work(replace(job, behaviours=idle)),
        "Storm 2.x": _work(storm2),
        "Storm 2.x, load-aware off": _work(storm2, load_aware=False),
        "Storm 2.x, no waiting": _work(storm2, **dict.fromkeys(waits, 0.0)),
    }


def _work(job: Job, seconds: float = SECONDS, **changes: Any) -> Callable[[], SimulationResult]:
    """A simulation with some of its engine's mechanics changed."""
    configuration = job.configuration
    mechanics = load_engine(configuration.engine).mechanics(configuration.settings)
    return partial(
        simulate_job,
        job,
        place_job(job).plan,
        seconds=seconds,
        seed=1,
        mechanics=replace(mechanics, **changes),
    )


def _run_long(seconds: float) -> Answer:
    return {"hops": _work(half_loaded_job(), seconds)().hops}


def _run_heap(timers: int, events: int) -> None:
    heap, streams = make_timers(timers), make_streams(1, 1)
    for timer in range(timers):
        set_timer(heap, timer, float(timer))
    _bare_loop(heap, streams, events)


@njit(cache=True)
def _bare_loop(timers: Timers, streams: Any, events: int) -> None:
    for _ in range(events):
        timer = first_timer(timers)
        set_timer(timers, timer, first_time(timers) + exponential(streams, 0))
