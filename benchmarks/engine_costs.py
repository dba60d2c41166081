"""What Storm itself costs: the figures of `streamgauge.transport.storm2.COSTS`, on real Storm.

A topology that does next to nothing runs at several rates in one, two and four workers, with the
agent. Its lines say who in a worker used CPU time, and how many tuples and messages there were;
costs are the sums of squares' minimum over all workers of all runs, with hardly any guess. On a
machine that does nothing else this takes 25 minutes.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path

from benchmarks.agent_overhead import QUIET, cleared, compiled_topology
from benchmarks.report import Entry, say
from streamgauge.engines.storm.agent import agent_settings
from streamgauge.engines.storm.cluster import StormCluster
from streamgauge.engines.storm.jars import own_jar, storm_jars
from streamgauge.engines.storm.submitting import submit_jar
from streamgauge.errors import InvalidInput, SourceUnreachable
from streamgauge.lake.raw import Plan, Rejected, Sample, decode
from streamgauge.lake.records import ungroup
from streamgauge.models.engine_costs import Seen, fit_costs, guess_costs
from streamgauge.models.job_behaviour import CostEstimates
from streamgauge.transport.costs import Cost, EngineCosts
from streamgauge.transport.storm2 import DEFAULTS

NANO = 1e-9
WARM_UP_SECONDS, MEASURED_SECONDS = 90.0, 60.0
WORKERS, RATES = (1, 2, 4), (20, 500, 2000)
# Nothing is known before, but that no cost is a core or a millisecond.
UNKNOWN = EngineCosts(
    network_cores=Cost(0.0, 1.0),
    worker_cores=Cost(0.0, 1.0),
    sent_seconds=Cost(0.0, 1e-3),
    received_seconds=Cost(0.0, 1e-3),
    executed_seconds=Cost(0.0, 1e-3),
    handled_seconds=Cost(0.0, 1e-3),
)
# Workers of the same load differ by about this part, and by this many cores.
UNLIKE, LEAST = 0.1, 1e-4


def run(*, large: bool) -> list[Entry]:
    """All runs, and the costs that explain them best."""
    try:
        storm_jars(), own_jar()
    except (InvalidInput, SourceUnreachable) as error:
        say(f"engine_costs is left out: {error}")
        return []
    workers: list[WorkerSums] = []
    with tempfile.TemporaryDirectory() as folder:
        jar = compiled_topology(Path(folder))
        cluster = StormCluster.up(
            Path(folder) / "storm", nodes=2, slots=max(WORKERS), outlives=False
        )
        try:
            for number in range(3 if large else 1):
                for count in WORKERS:
                    for rate in RATES:
                        name = f"words-{count}-{rate}-{number}"
                        metrics = Path(folder) / name
                        _measure(cluster, jar, name, (str(rate), str(count)), metrics)
                        found = list(sum_up(read(metrics), last_seconds=MEASURED_SECONDS))
                        say(f"{name}: {found}")
                        workers += found
        finally:
            cluster.down()
    return [summarise(workers)]


def _measure(
    cluster: StormCluster, jar: Path, name: str, arguments: tuple[str, ...], metrics: Path
) -> None:
    settings = {**QUIET, **agent_settings(folder=metrics, bucket_seconds=5)}
    with cluster.bridge() as bridge, cleared(cluster, bridge):
        submit_jar(cluster, jar, "Words", (name, *arguments, "0"), settings=settings)
        time.sleep(WARM_UP_SECONDS + MEASURED_SECONDS)


def read(folder: Path) -> Iterator[Sample | Plan]:
    """What agents wrote into a folder."""
    for path in sorted(folder.glob("streamgauge-*.jsonl")):
        decoded = map(decode, path.read_bytes().splitlines())
        for one in ungroup(record for record in decoded if not isinstance(record, Rejected)):
            if isinstance(one, Sample | Plan):
                yield one


@dataclass(slots=True, kw_only=True)
class WorkerSums:
    """A worker over some time: seconds, CPU seconds by group of threads, tuples and messages."""

    seconds: float = 0.0
    sent: float = 0.0
    received: float = 0.0
    executed: float = 0.0
    idle: float = 0.0
    cpu: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))


def sum_up(records: Iterable[Sample | Plan], *, last_seconds: float) -> Iterator[WorkerSums]:
    """The workers of a job, of the last seconds before its last whole bucket."""
    found = list(records)
    samples = [one for one in found if isinstance(one, Sample) and one.worker is not None]
    home = {
        task: executor.worker
        for plan in found
        if isinstance(plan, Plan)
        for executor in plan.executors
        for task in range(executor.first_task, executor.last_task + 1)
    }
    longest = max(one.bucket_seconds for one in samples)
    whole = [one for one in samples if math.isclose(one.bucket_seconds, longest)]
    end = max(one.bucket_start_us for one in whole)
    workers: defaultdict[str, WorkerSums] = defaultdict(WorkerSums)
    for one in whole:
        if one.bucket_start_us <= end - last_seconds * 1e6 or one.bucket_start_us == end:
            continue
        assert one.worker is not None
        mine = workers[one.worker]
        if one.metric == "worker_cpu":
            mine.seconds += one.bucket_seconds
        if one.metric.endswith("_cpu"):
            mine.cpu[one.metric] += one.value * NANO
        elif one.metric == "network_messages_sent":
            mine.sent += one.value
        elif one.metric == "worker_executed":
            mine.executed += one.value
        elif one.metric == "executor_idle":
            mine.idle += one.value * NANO
        elif one.metric == "transferred" and one.task in home and home[one.task] != one.worker:
            workers[home[one.task]].received += one.value
    yield from workers.values()


def fit(workers: Iterable[WorkerSums]) -> CostEstimates:
    """The costs that explain what workers used."""
    seen = []
    for one in workers:
        sent, received = one.sent / one.seconds, one.received / one.seconds
        executed = one.executed / one.seconds
        cores = defaultdict(float, {name: it / one.seconds for name, it in one.cpu.items()})
        moving = cores["transfer_thread_cpu"] + cores["network_threads_cpu"]
        own = cores["executor_cpu"] + cores["window_threads_cpu"]
        rest = cores["worker_cpu"] - own - moving - cores["gc_cpu"]
        moved = {"network_cores": 1.0, "sent_seconds": sent, "received_seconds": received}
        seen += [
            _see(moving, moved),
            _see(cores["gc_cpu"], {"executed_seconds": executed}),
            _see(rest, {"worker_cores": 1.0}),
            _see(
                cores["executor_cpu"] - cores["executor_idle_cpu"],
                {"handled_seconds": executed},
            ),
        ]
    return fit_costs(guess_costs(UNKNOWN), seen)


def _see(cores: float, made_of: dict[str, float]) -> Seen:
    return Seen(figure=cores, error=math.hypot(UNLIKE * cores, LEAST), made_of=made_of)


def summarise(workers: list[WorkerSums]) -> Entry:
    """The costs with their errors."""
    costs = fit(workers)
    entry = Entry(
        "engine costs",
        f"CPU time of Storm itself, from {len(workers)} workers; seconds, or cores;"
        " handled_seconds contain what the bolts do, which is next to nothing",
        cases={str(place): vars_of(one) for place, one in enumerate(workers, start=1)},
    )
    for one in fields(EngineCosts):
        if one.name not in ("polling", "waking"):
            place = costs.names.index(one.name)
            entry.ratios[one.name] = costs.value(one.name)
            entry.ratios[f"± {one.name}"] = float(costs.values.standard_error[place])
    idle = sum(one.idle for one in workers)
    waits = sum(one.cpu["executor_idle_cpu"] for one in workers)
    # Less than `Mechanics.wake_seconds`, which is of a thread that sleeps alone on its machine.
    each = waits / idle * DEFAULTS.bolt_sleep if idle else math.nan
    entry.ratios["seconds each time a thread wakes up, beside others"] = each
    return entry


def vars_of(one: WorkerSums) -> dict[str, float]:
    """The sums of a worker as plain numbers."""
    plain = ("seconds", "sent", "received", "executed", "idle")
    return {name: getattr(one, name) for name in plain} | dict(one.cpu)
