"""Raw lines by hand: one source and two sinks, on two machines."""

from datetime import UTC, datetime
from pathlib import Path

from streamgauge.experiments.experiment import Marking
from streamgauge.experiments.figures import compute_figures, list_marks
from streamgauge.experiments.readings import Readings
from streamgauge.experiments.windows import Placement, Span
from streamgauge.lake.raw import encode
from streamgauge.lake.records import Hop, PlacedExecutor, Record, Sample, Trace

START = datetime(2026, 1, 1, tzinfo=UTC)
START_US = round(START.timestamp()) * 1_000_000
SECOND_US = 1_000_000
MILLISECOND_NS = 1_000_000
HERE, THERE = "n1:6700", "n2:6700"
PLACEMENT = Placement(
    executors=(
        PlacedExecutor(component="in", first_task=1, last_task=1, worker=HERE, node="n1"),
        PlacedExecutor(component="near", first_task=2, last_task=2, worker=HERE, node="n1"),
        PlacedExecutor(component="far", first_task=3, last_task=3, worker=THERE, node="n2"),
    ),
    sources=("in",),
    paced=frozenset({"in"}),
)
TASKS = {"in": (1, HERE), "near": (2, HERE), "far": (3, THERE)}
# Two windows of two buckets of a second.
SPAN = Span.of(START, windows=2, window_seconds=2.0, bucket_seconds=1.0)


def sample(metric: str, value: float, at: float = 0.0, *, count: int = 1, **who: object) -> Sample:
    """One sample of a second's bucket that begins `at` seconds after the start."""
    return Sample(
        metric=metric,
        value=value,
        count=count,
        bucket_start_us=START_US + round(at * SECOND_US),
        bucket_seconds=1.0,
        **who,
    )


def of_task(component: str) -> dict[str, object]:
    task, worker = TASKS[component]
    node = worker.partition(":")[0]
    return {"topology": "t", "component": component, "task": task, "worker": worker, "node": node}


def of_worker(worker: str) -> dict[str, object]:
    return {"topology": "t", "worker": worker, "node": worker.partition(":")[0]}


def of_executor(component: str) -> dict[str, object]:
    task, worker = TASKS[component]
    return {**of_worker(worker), "component": component, "executor": f"{component}[{task}]"}


def heartbeats(*workers: str, seconds: int = 4) -> list[Sample]:
    """A heartbeat a second."""
    return [
        sample("worker_heartbeats", 1, at, **of_worker(worker))
        for worker in workers
        for at in range(seconds)
    ]


def latencies(sink: str, bins: dict[int, int], at: float = 0.0) -> list[Sample]:
    """A histogram at a sink."""
    who = {**of_task(sink), "source_component": "in"}
    return [
        sample("end_to_end_latency_bin", n, at, count=n, bin=number, **who)
        for number, n in bins.items()
    ]


def trace(
    sink: str, milliseconds: float, at: float = 0.0, root: str = "1", late_ms: float = 0.0
) -> Trace:
    """A traced tuple that leaves the source `at` seconds after the start, so late."""
    latency = round(milliseconds * MILLISECOND_NS)
    due = -round(late_ms * MILLISECOND_NS)
    hops = [Hop(component="in", task=1, arrived_ns=due, started_ns=0, finished_ns=0)]
    hops.append(
        Hop(
            component=sink,
            task=TASKS[sink][0],
            stream="default",
            arrived_ns=min(latency, 0),
            started_ns=min(latency, 0),
            finished_ns=latency,
        )
    )
    return Trace(
        topology="t",
        root=root,
        path=0,
        started_at_us=START_US + round(at * SECOND_US),
        hops=tuple(hops),
        latency_ns=latency,
        outcome="arrived",
    )


def write_lines(folder: Path, records: list[Record], name: str = "a.jsonl") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(encode(record) + "\n" for record in records))


def read(folder: Path, records: list[Record], placement: Placement = PLACEMENT) -> Readings:
    write_lines(folder, records)
    readings = Readings(placement, SPAN)
    readings.read(folder)
    return readings


def figures(
    folder: Path, records: list[Record], window: int = 0, placement: Placement = PLACEMENT
) -> dict[tuple[str, ...], float]:
    """The figures of a window, by their keys."""
    found = compute_figures(read(folder, records, placement).windows[window], placement, SPAN)
    return {tuple(key): value.value for key, value in found.items()}


def marks(folder: Path, records: list[Record], rule: Marking | None = None) -> list[list[str]]:
    """Why each window is left out."""
    windows = read(folder, records).windows
    return [list(list_marks(one, PLACEMENT, SPAN, rule or Marking())) for one in windows]
