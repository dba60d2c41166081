"""Jobs that planners are judged on: random ones of moderate load, and those of the examples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.jobs import make_operators, simulate_job
from streamgauge.cli.examples import example_path
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.load_limit import find_limit
from streamgauge.models.parameters import find_parameters
from streamgauge.planning.scheduling.contract import Expected
from streamgauge.planning.scheduling.job_placement import expected_of_job, place_job
from streamgauge.planning.scheduling.traffic import split_traffic
from streamgauge.profile.behaviour import Behaviour, Costs, Service
from streamgauge.profile.distribution import Constant, Distribution, Exponential, Fixed, Gamma
from streamgauge.profile.files.jobs import load_job
from streamgauge.profile.job import Job
from streamgauge.profile.keys import KeyDistribution, UniformKeys, ZipfKeys
from streamgauge.topology import (
    Cluster,
    Configuration,
    Emission,
    Fields,
    Grouping,
    LocalOrShuffle,
    Shuffle,
    Stream,
    Topology,
    Workload,
)
from streamgauge.topology.configuration import Resources
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.topology import ACKER, DEFAULT_STREAM

ENGINE = "storm-2"
LOAD_AWARE_OFF = "topology.disable.loadaware.messaging"
# Inputs come from operators not farther back than this, so that jobs are long and wide.
REACH = 4
MOST_EXECUTORS = 8
# Jobs are up to twenty times as fast as the slowest.
SHORTEST_PACE = 0.05
FEWEST_NODES, MOST_NODES = 2, 8
FEWEST_CORES, AMPLE_CORES = 2.0, 64.0
# Deliveries from which the use of cores is measured; simulated seconds that any run may take.
MEASURED_DELIVERIES = 40_000
SHORTEST_SECONDS, LONGEST_SECONDS = 3.0, 600.0
# What executors declare to need is this many times what they are seen to use, at least …
RESERVE = 1.25
# … and in steps of this many cores (five of Storm's points).
CORES_STEP = 0.05
# Jobs whose operators take less than this for a tuple are called light.
LIGHT_MS = 0.5
MEMORY_BYTES = 128 * 2**20
# Examples: why some are not placed.
LEFT_OUT = {
    "scale-out-diamond": "overloaded by design: see the scalers",
    "scale-out-tree": "overloaded by design: see the scalers",
    "feedback": "has a cycle, whose rates the analytic model does not solve",
    "yahoo-streaming-benchmark": "its source has no rate: it emits as fast as it can",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A job to be placed.

    Attributes:
        name: What it is called.
        job: With a cluster, a load and needs.
        load: That load as a part of what the even plan carries at most.
        cores: What operators keep busy on the even plan, as simulated: serialising is in it.
    """

    name: str
    job: Job
    load: float
    cores: Mapping[str, float]

    @property
    def expected(self) -> Expected:
        """What schedulers are told."""
        return replace(_expected(self.job), cores=self.cores)

    @property
    def light(self) -> bool:
        """Whether its processors take less than half a millisecond for a tuple, on the mean."""
        others = {ACKER, *(source.name for source in self.job.topology.sources)}
        behaviours = self.job.behaviours.items()
        services = [one.service.mean_ms for name, one in behaviours if name not in others]
        return float(np.mean(services)) < LIGHT_MS


def _expected(job: Job) -> Expected:
    expected = expected_of_job(job)
    assert expected is not None
    return expected


def random_case(seed: int) -> Case:
    """The random job of that seed at 50 to 70 % of what even placement carries.

    By the analytic model, with Storm 2.x's nearness on and off: of the two limits the lower one
    counts, so that even placement is never overloaded by construction. Two to eight nodes of two
    cores or more, of which the job keeps 20 to 70 % busy where it is large enough for that.
    """
    rng = np.random.default_rng([seed, 1])
    load, busy = float(rng.uniform(0.5, 0.7)), float(rng.uniform(0.4, 0.7))
    nodes, latency_ms = int(rng.integers(FEWEST_NODES, MOST_NODES + 1)), rng.uniform(0.1, 0.5)
    workers = int(rng.integers(1, 3))
    ample = _set_load(_set_nodes(random_job(seed), nodes, AMPLE_CORES, latency_ms, workers), load)
    needed = sum(_expected(ample).cores.values()) / busy
    nodes = int(np.clip(round(needed), FEWEST_NODES, nodes))
    cores = float(max(round(needed / nodes), FEWEST_CORES))
    job = _set_load(_set_nodes(ample, nodes, cores, latency_ms, workers), load)
    cores_used = measure_cores(job)
    job = declare_needs(job, cores_used)
    return Case(name=f"random {seed}", job=job, load=load, cores=cores_used)


def _set_nodes(job: Job, nodes: int, cores: float, latency_ms: float, workers: int) -> Job:
    """On equal nodes, with slots for a worker of every operator, one of ackers, and spare ones."""
    return replace(
        job,
        configuration=replace(job.configuration, workers=nodes * workers),
        cluster=Cluster.uniform(
            nodes=nodes,
            slots=-(-(len(job.topology.operators) + 1) // nodes) + 2,
            cores=cores,
            memory_bytes=8 * 2**30,
            latency_ms=latency_ms,
        ),
    )


def _set_load(job: Job, load: float) -> Job:
    assert job.workload is not None
    return replace(job, workload=job.workload.times(load * even_limit(job)))


def example_names() -> list[str]:
    """The examples that can be placed."""
    folder = example_path("word-count.yaml").parent
    return sorted(path.stem for path in folder.glob("*.yaml") if path.stem not in LEFT_OUT)


def example_case(name: str) -> Case:
    """A job of the examples on Storm 2.x under its own load, with needs where it declares none."""
    job = load_job(example_path(f"{name}.yaml"))
    configuration = replace(job.configuration, engine=ENGINE)
    job = replace(job, configuration=configuration, plan=None, steps={})
    cores = measure_cores(job)
    return Case(name=name, job=declare_needs(job, cores), load=1.0 / even_limit(job), cores=cores)


def with_nearness(job: Job, *, near: bool) -> Job:
    """With Storm 2.x's load-aware and locality-aware shuffle, or without."""
    settings = {**job.configuration.settings, LOAD_AWARE_OFF: not near}
    return replace(job, configuration=replace(job.configuration, settings=settings))


def even_limit(job: Job) -> float:
    """By how much all rates may grow until the even plan is full, nearness on or off."""
    jobs = [with_nearness(job, near=near) for near in (False, True)]
    return min(highest_rate(one, place_job(one, "even").plan) for one in jobs)


def highest_rate(job: Job, plan: PhysicalPlan) -> float:
    """By how much all rates of a job may grow until a plan is full, by the analytic model."""
    assert job.workload is not None
    parameters = find_parameters(JobBehaviour.from_job(job), plan, job.workload)
    return find_limit(parameters, job.workload).factor


def measure_cores(job: Job) -> Mapping[str, float]:
    """What each operator keeps busy on the even plan with nearness off, as one would measure it."""
    plan = place_job(with_nearness(job, near=False), "even").plan
    seconds = seconds_for(plan, _expected(job), MEASURED_DELIVERIES)
    result = simulate_job(job, plan, seconds=seconds, warmup=0.0, seed=0)
    return {name: operator.cores for name, operator in result.operators.items()}


def seconds_for(plan: PhysicalPlan, expected: Expected, deliveries: float) -> float:
    """How long to simulate until so many tuples and messages were delivered, within bounds."""
    per_second = split_traffic(plan, expected).total
    return min(max(deliveries / per_second, SHORTEST_SECONDS), LONGEST_SECONDS)


def declare_needs(job: Job, cores: Mapping[str, float]) -> Job:
    """What each executor declares to need: the cores it was seen to use and a reserve.

    128 MB of memory, Storm's default. Operators that declare something keep it.
    """
    configuration = job.configuration
    needs = {}
    for name in job.topology.operator_names:
        used = cores[name] / configuration.executors_of(name)
        steps = max(1, math.ceil(RESERVE * used / CORES_STEP - 1e-9))
        needs[name] = Resources(cpu_cores=round(steps * CORES_STEP, 2), memory_bytes=MEMORY_BYTES)
    declared = replace(configuration, resources={**needs, **configuration.resources})
    return replace(job, configuration=declared)


def random_job(seed: int) -> Job:
    """A job of 3 to 10 operators whose executors follow from its load, without a cluster.

    Sources emit 100 tuples per second each; `random_case` scales that, and finds nodes.
    """
    rng = np.random.default_rng([seed, 0])
    names, streams = _graph(rng)
    sources = [name for name in names if name.startswith("source")]
    behaviours = _behaviours(rng, names, streams)
    work = _work(names, streams, behaviours)
    # As if somebody had sized every operator for its load, more or less.
    most = max(work.values())
    executors = {
        name: int(np.clip(round(MOST_EXECUTORS * part / most * factor), 1, MOST_EXECUTORS))
        for (name, part), factor in zip(
            work.items(), rng.uniform(0.8, 1.6, size=len(work)), strict=True
        )
    }
    executors |= {name: int(rng.integers(1, 4)) for name in sources}
    acked = bool(rng.random() < 0.5)
    if not acked:
        del behaviours[ACKER]
    topology = Topology(
        name=f"random-{seed}",
        operators=make_operators({name: executors[name] for name in names}, sources),
        streams=tuple(streams),
        acked=acked,
    )
    return Job(
        topology=topology,
        behaviours=behaviours,
        configuration=Configuration(engine=ENGINE, executors=executors),
        workload=Workload(
            emissions=tuple(Emission(source=name, per_second=100.0) for name in sources)
        ),
    )


def _graph(rng: np.random.Generator) -> tuple[list[str], list[Stream]]:
    """Names in topological order, and streams; every processor has an input, and sources a use."""
    operators = int(rng.integers(3, 11))
    count = 2 if operators >= 5 and rng.random() < 0.3 else 1
    names = [f"source-{index}" for index in range(count)]
    names += [f"operator-{index}" for index in range(count, operators)]
    pairs: set[tuple[int, int]] = set()
    for index in range(count, operators):
        reach = range(max(0, index - REACH), index)
        wanted = min(len(reach), int(rng.choice((1, 1, 1, 2))))
        pairs |= {(int(one), index) for one in rng.choice(reach, size=wanted, replace=False)}
    for index in range(count):
        if not any(source == index for source, _ in pairs):
            pairs.add((index, count))
    return names, [
        Stream(
            source=names[source],
            target=names[target],
            name=DEFAULT_STREAM,
            grouping=_grouping(rng),
        )
        for source, target in sorted(pairs)
    ]


def _grouping(rng: np.random.Generator) -> Grouping:
    kind = rng.random()
    if kind < 0.55:
        return Shuffle()
    return Fields(keys=("key",)) if kind < 0.85 else LocalOrShuffle()


def _behaviours(
    rng: np.random.Generator, names: list[str], streams: list[Stream]
) -> dict[str, Behaviour]:
    pace = float(np.exp(rng.uniform(np.log(SHORTEST_PACE), 0.0)))
    costs = Costs(serialise_ms=0.02, deserialise_ms=0.02, ack_ms=0.01)
    found = {ACKER: Behaviour(service=Service(cpu_ms=Constant(value=0.01)))}
    for name in names:
        subscribers = sum(stream.source == name for stream in streams)
        size = {DEFAULT_STREAM: Constant(value=float(rng.integers(100, 1000)))}
        keys = {DEFAULT_STREAM: _keys(rng)}
        if name.startswith("source"):
            service = Service(cpu_ms=Constant(value=0.05))
            found[name] = Behaviour(service=service, keys=keys, bytes=size, costs=costs)
            continue
        # Every subscriber gets a copy: who has two emits less, or jobs of ten would swell.
        out = float(rng.choice((0.5, 1.0, 1.0, 1.0, 2.0))) / max(subscribers, 1)
        found[name] = Behaviour(
            service=_service(rng, pace),
            outputs={DEFAULT_STREAM: Fixed(mean=out)} if subscribers else {},
            keys=keys if subscribers else {},
            bytes=size if subscribers else {},
            costs=costs,
        )
    return found


def _service(rng: np.random.Generator, pace: float) -> Service:
    """0.2 to 4 ms on a core, times the job's pace; one in four waits for something besides."""
    cpu = Gamma(
        mean=pace * float(np.exp(rng.uniform(np.log(0.2), np.log(4.0)))),
        scv=float(rng.choice((0.25, 0.5, 1.0))),
    )
    wait: Distribution = Constant(value=0.0)
    if rng.random() < 0.25:
        wait = Exponential(mean=pace * float(rng.uniform(1.0, 8.0)))
    return Service(cpu_ms=cpu, wait_ms=wait)


def _keys(rng: np.random.Generator) -> KeyDistribution:
    if rng.random() < 0.5:
        return UniformKeys(count=1000)
    return ZipfKeys(count=1000, exponent=float(rng.uniform(0.2, 0.8)))


def _work(
    names: list[str], streams: list[Stream], behaviours: dict[str, Behaviour]
) -> dict[str, float]:
    """Busy time of each processor, relative to the others."""
    arrived = dict.fromkeys(names, 0.0)
    work = {}
    for name in names:
        source = name.startswith("source")
        behaviour = behaviours[name]
        out = 1.0
        if not source:
            work[name] = arrived[name] * behaviour.service.mean_ms
            counts = behaviour.outputs.get(DEFAULT_STREAM)
            out = arrived[name] * (0.0 if counts is None else counts.mean)
        for stream in streams:
            if stream.source == name:
                arrived[stream.target] += out
    return work
