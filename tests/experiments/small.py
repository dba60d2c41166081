"""Small experiments, and a runner that does what it is told."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from streamgauge.engines.runner import Progress, StepOrder, StepRecord
from streamgauge.experiments.experiment import Experiment
from streamgauge.experiments.files.experiment_file import load_experiment
from streamgauge.topology.cluster import Cluster

JOB = """\
streamgauge: 1
topology:
  name: tiny
  acked: true
  operators: {in: {kind: source, tasks: 2}, work: {tasks: 2}, out: {}}
  streams:
    - {from: in, to: work, grouping: shuffle}
    - {from: work, to: out, grouping: shuffle}
behaviours:
  in: {}
  work: {service: {cpu_ms: 1}, outputs: {default: 1}}
  out: {service: {cpu_ms: 0.5}}
configuration: {workers: 2}
cluster: {uniform: {nodes: 2, slots: 2, cores: 2}}
workload: [{source: in, per_second: 100}]
"""

EXPERIMENT = """\
streamgauge: 1
experiment: small
job: {file: job.yaml}
steps:
  slow: {rate: 50}
  fast: {rate: 200, executors: {work: 2}}
  packed: {placement: {workers: [{node: n1, port: 6700, executors: ["__acker[6]", "__acker[7]",
    "in[1-2]", "work[3-4]", "out[5]"]}]}}
warm_up: {seconds: 1}
windows: 2
window_seconds: 2
repetitions: 2
"""


def write_experiment(folder: Path, text: str = EXPERIMENT, job: str = JOB) -> Path:
    (folder / "job.yaml").write_text(job)
    path = folder / "experiment.yaml"
    path.write_text(text)
    return path


def small_experiment(folder: Path, text: str = EXPERIMENT) -> Experiment:
    return load_experiment(write_experiment(folder, text))


class FakeRunner:
    """Notes what it is asked for; `during` may do anything in the middle of a step."""

    name = "fake"
    simulates = False

    def __init__(self, during: Callable[[StepOrder], None] = lambda order: None) -> None:
        self.during = during
        self.orders: list[StepOrder] = []
        self.sessions = 0
        self.closed = 0

    @contextmanager
    def session(self, cluster: Cluster, folder: Path) -> Iterator["FakeRunner"]:
        self.cluster = cluster
        self.sessions += 1
        try:
            yield self
        finally:
            self.closed += 1

    def run_step(self, order: StepOrder, progress: Progress) -> StepRecord:
        order.folder.mkdir(parents=True)
        (order.folder / "half.jsonl").write_text("{}\n")
        progress(0.5, "measuring")
        self.during(order)
        self.orders.append(order)
        began = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=len(self.orders))
        return StepRecord(
            began_at=began,
            measured_from=began,
            measured_to=began + timedelta(seconds=order.windows * order.window_seconds),
            plan=order.plan,
        )

    @property
    def turns(self) -> list[tuple[str, int]]:
        return [(order.name, order.repetition) for order in self.orders]
