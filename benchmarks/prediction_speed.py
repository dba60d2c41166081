"""How long a prediction by formulas takes: one plan, a thousand plans, and plans of many executors.

A line of four operators, shuffled and dealt by keys in turn, acknowledged, on Storm 2.x: as many
executors as tasks, 32 of them in a worker and 64 on a machine of 16 cores, at about a third of the
load that they carry. Beside it, how long commands take in all, from start to end.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from dataclasses import asdict, replace
from functools import partial

from benchmarks.jobs import chain_job, predict_job
from benchmarks.report import Entry, growth, measure
from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.job import Job
from streamgauge.topology import PhysicalPlan, TupleFlow
from streamgauge.transport.engine import load_engine

# Executors of one operator: 64 with four ackers are the 68 of the largest step of the thesis.
USUAL = 16
SIZES, LARGE_SIZES = (16, 64, 256, 800), (16, 32, 64, 128, 256, 400, 800)
PLANS, MANY_PLANS = 100, 1000
EXECUTORS_PER_NODE, WORKERS_PER_NODE = 16, 2
PER_TASK = 20.0
SERVICE = {"cpu_ms": {"exponential": 1}, "wait_ms": {"exponential": 1}}
PROFILE, JOB = "examples/word-count.profile.json", "examples/word-count.yaml"
# What every command that computes must import, whatever else it does.
YARDSTICK = "import numpy"
COMMANDS = {
    YARDSTICK: ("-c", YARDSTICK),
    "--help": ("-m", "streamgauge", "--help"),
    "predict": ("-m", "streamgauge", "predict", "--profile", PROFILE),
    "compare": ("-m", "streamgauge", "compare", "--profile", PROFILE, JOB),
}


def run(*, large: bool) -> list[Entry]:
    """One plan by size, and many plans of the usual size."""
    entry = Entry("prediction_speed", "time of a prediction by formulas")
    for size in LARGE_SIZES if large else SIZES:
        job = make_line(size)
        behaviour, plan = JobBehaviour.from_job(job), place_job(job).plan
        work = partial(predict_job, job, plan, behaviour)
        work()
        name = f"{len(plan.logical.executors)} executors"
        entry.time(name, work, repetitions=5)
        flow = TupleFlow.of(plan, load_engine("storm-2").hops)
        entry.cases[name]["connections"] = sum(flow.count_types(data_only=False).values())
    smallest, *_, largest = entry.cases.values()
    count = MANY_PLANS if large else PLANS
    job = make_line(USUAL)
    behaviour, brief = JobBehaviour.from_job(job), AnalyticModel(brief=True)
    candidates = _shuffle(place_job(job).plan, count)
    many = entry.time(
        f"{count} plans, brief",
        lambda: [predict_job(job, plan, behaviour, brief) for plan in candidates],
        repetitions=2,
    )
    more = largest["connections"] / smallest["connections"]
    exponent = growth(smallest["seconds"], largest["seconds"], more)
    entry.ratios["power of connections by which time grows"] = exponent
    entry.ratios["seconds of the largest"] = largest["seconds"]
    entry.ratios["seconds for a thousand plans"] = many.seconds * MANY_PLANS / count
    return [entry, time_commands()]


def time_commands() -> Entry:
    """Time of whole commands, over that of a Python that only imports numpy.

    Modules are compiled by a first run, as they are by the first command after an installation.
    """
    entry = Entry("first_answer", "time of a command from its start to its end")
    with tempfile.TemporaryDirectory() as compiled:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for name, words in COMMANDS.items():
            run_command = partial(
                subprocess.run,
                [sys.executable, *words],
                env=environment,
                stdout=subprocess.DEVNULL,
                check=True,
            )
            run_command()
            # The memory of another process is not seen from here.
            timed = asdict(measure(run_command, repetitions=7))
            entry.cases[name] = {key: timed[key] for key in ("seconds", "spread_seconds")}
    shortest = entry.cases[YARDSTICK]["seconds"]
    for name in COMMANDS:
        if name != YARDSTICK:
            entry.ratios[f"{name} over {YARDSTICK}"] = entry.cases[name]["seconds"] / shortest
    return entry


def make_line(size: int) -> Job:
    """The line with so many executors of each operator."""
    nodes = max(size // EXECUTORS_PER_NODE, 2)
    workers = WORKERS_PER_NODE * nodes
    return chain_job(
        dict.fromkeys(("parse", "count", "store"), SERVICE),
        rate=PER_TASK * size,
        tasks=size,
        sources=size,
        acked=True,
        keyed="count",
        configuration={"engine": "storm-2", "workers": workers, "ackers": workers},
        cluster={"nodes": nodes, "slots": WORKERS_PER_NODE, "cores": 16, "latency_ms": 0.2},
    )


def _shuffle(plan: PhysicalPlan, count: int) -> list[PhysicalPlan]:
    """The same executors in other workers."""
    generator, workers = random.Random(1), list(plan.placement)
    plans = []
    for _ in range(count):
        generator.shuffle(workers)
        plans.append(replace(plan, placement=tuple(workers)))
    return plans
