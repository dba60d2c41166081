"""Runners: they run a job step by step, and hand back what was measured.

A runner's answer is raw metrics in a folder and the moments between which they count. What is said
of them, from latency quantiles to CPU, is computed from the lines alone, for all runners alike.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import ClassVar, Protocol

from streamgauge.applications.platform import TRACE_SETTING
from streamgauge.errors import Findings
from streamgauge.plugins import resolve, unknown_name
from streamgauge.profile.job import Job
from streamgauge.topology.cluster import Cluster
from streamgauge.topology.field_checks import check_number, check_whole
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.transport.engine import engine_names, load_engine

# Paths that a step traces: enough for quantiles, few enough to be read again one by one.
TRACED_PATHS = 15_000
TRACE_EVERY = 1000
# Runs jobs of any engine; others come with the engines that are installed.
_OF_EVERY_ENGINE = {"emulator": "streamgauge.engines.emulator.session:EmulatorRunner"}

# Part of the step that is done, from 0 to 1, and what is being done, in a few words.
Progress = Callable[[float, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmUp:
    """What happens before the first window counts.

    Attributes:
        seconds: At least this long.
        calls: At least this many executions of every operator that gets tuples at all.
        rate_factor: The load meanwhile, in multiples of the step's; it drains before measuring.
        agreement: Two windows in a row have mean latencies this near to each other, as a part.
        most_seconds: Give up waiting after this long, and say so in the notes.
    """

    seconds: float = 60.0
    calls: int = 20_000
    rate_factor: float = 1.0
    agreement: float = 0.05
    most_seconds: float = 600.0

    def __post_init__(self) -> None:
        findings = Findings()
        check_number(findings, self.seconds, "seconds")
        check_whole(findings, self.calls, "calls", least=0)
        check_number(findings, self.rate_factor, "rate_factor", above=0.0)
        check_number(findings, self.agreement, "agreement", above=0.0)
        check_number(findings, self.most_seconds, "most_seconds", least=self.seconds)
        findings.raise_if_any()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOrder:
    """One repetition of one step: what runs, where, and how long it is measured.

    Repetitions count from one. Windows follow on each other; a bucket is the time that one sample
    spans. Raw metrics go to the folder, which is new or empty.
    """

    name: str
    repetition: int
    job: Job
    plan: PhysicalPlan
    warm_up: WarmUp
    windows: int
    window_seconds: float
    bucket_seconds: float
    folder: Path
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """What became of a step.

    Attributes:
        began_at: When the step's plan was in place, in UTC.
        measured_from: Start of the first window.
        measured_to: End of the last.
        plan: The plan as read back in the middle of measuring.
        notes: What a reader of its figures should know.
    """

    began_at: datetime
    measured_from: datetime
    measured_to: datetime
    plan: PhysicalPlan
    notes: tuple[str, ...] = ()


class RunnerSession(Protocol):
    """A runner that is up."""

    @property
    def cluster(self) -> Cluster:
        """Machines, nodes and slots that plans can use."""

    def run_step(self, order: StepOrder, progress: Progress) -> StepRecord:
        """Bring the job into the order's state, warm it up, measure it.

        Raises:
            SourceUnreachable: The engine went away; what was measured lies in the order's folder.
            Infeasible: The plan could not be applied; the message says what is there instead.
        """


class Runner(Protocol):
    """A way to run jobs: on a cluster of their engine, or in simulated time.

    Attributes:
        name: What ``--engine`` calls it.
        simulates: Whether it runs the simulator, which is compiled when first used.
    """

    name: ClassVar[str]
    simulates: ClassVar[bool]

    def session(self, cluster: Cluster, folder: Path) -> AbstractContextManager[RunnerSession]:
        """Bring the engine up with nodes like these; it goes down with the context.

        The cluster is what experiments ask for, and the session says what they get. The folder is
        for logs and data of the engine itself.
        """


def trace_one_in(job: Job, paths: float | None) -> int:
    """Every how many-th root of a step is traced: as settings say, else as few as suffice.

    `paths` are those that all roots of the step would have; None where that is not known.
    """
    asked = job.configuration.settings.get(TRACE_SETTING)
    if isinstance(asked, int):
        return asked
    if paths is None:
        return TRACE_EVERY
    return min(max(round(paths / TRACED_PATHS), 1), TRACE_EVERY)


def runner_names() -> tuple[str, ...]:
    """The names of all runners."""
    return tuple(sorted(_references()))


def load_runner(name: str) -> Runner:
    """The runner of that name.

    Raises:
        InvalidInput: There is none.
        MissingExtra: What it is built on is not installed.
    """
    references = _references()
    if name not in references:
        raise unknown_name("engine", name, sorted(references))
    runner: Runner = resolve(references[name])()
    return runner


def _references() -> dict[str, str]:
    references = dict(_OF_EVERY_ENGINE)
    for name in engine_names():
        references |= load_engine(name).runners
    return references
