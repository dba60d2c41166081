"""What is kept while a simulation is watched: the last reading, open traces, engine counters."""

from __future__ import annotations

import numpy as np

from streamgauge.engines.emulator.queue_samples import QueueSamples
from streamgauge.engines.emulator.readings import Reading, take_reading
from streamgauge.engines.emulator.sink_samples import SinkSamples
from streamgauge.engines.emulator.subjects import Rows, Subjects
from streamgauge.engines.emulator.task_samples import TaskSamples
from streamgauge.engines.emulator.thread_samples import ThreadSamples
from streamgauge.engines.emulator.traces import Tracer
from streamgauge.simulation.program import Compiled
from streamgauge.simulation.state import State


class Watch:
    """A simulation under way, with what was last read of it.

    Args:
        subjects: Who there is.
        state: Of the simulation, which goes on changing.
        compiled: What its numbers mean.
        sampling: For the engine's sampling.
        started_at_us: Simulated time zero, in microseconds since 1970.

    Attributes:
        state: The latest.
        tracer: Of its traces.
        samplers: What samples are made by.
    """

    def __init__(
        self,
        subjects: Subjects,
        state: State,
        compiled: Compiled,
        sampling: np.random.Generator,
        started_at_us: int,
    ) -> None:
        self.state = state
        self._compiled = compiled
        self._rows = Rows(subjects, compiled)
        self._last: Reading | None = None
        self.tracer = Tracer(subjects, compiled, started_at_us)
        self.samplers = (
            TaskSamples(subjects, compiled, self._rows, sampling),
            QueueSamples(subjects, compiled),
            ThreadSamples(subjects, compiled, self._rows),
            SinkSamples(subjects, compiled),
        )

    def advance(self) -> tuple[Reading, Reading]:
        """The last reading and one of now."""
        after = take_reading(self.state, self._compiled, self._rows)
        before = after.beginning() if self._last is None else self._last
        self._last = after
        return before, after
