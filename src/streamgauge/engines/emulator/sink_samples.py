"""End-to-end latency at sinks.

The simulator keeps it by the way that a tuple came, not by task: it is written for sinks that have
one task.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from streamgauge.engines.emulator.readings import NANOSECONDS, Bucket
from streamgauge.engines.emulator.series import binned, summed
from streamgauge.engines.emulator.subjects import Subject, Subjects
from streamgauge.lake.metrics import Metric
from streamgauge.lake.records import Sample
from streamgauge.simulation.binning import BINS, COARSE_BINS
from streamgauge.simulation.program import Compiled

# Eight of the simulator's bins make one of the lake's; the first is the same.
_COARSE = (np.arange(BINS) + 7) >> 3


class SinkSamples:
    """Samples of the latency from every source to every sink of one task."""

    def __init__(self, subjects: Subjects, compiled: Compiled) -> None:
        logical = subjects.plan.logical
        first_task = logical.executors[0].first_task
        self._ways: dict[tuple[str, str], list[int]] = {}
        for row, way in enumerate(compiled.ways.rows):
            if len(logical.tasks_of(way[-1])) == 1:
                self._ways.setdefault((way[0], way[-1]), []).append(row)
        self._who: list[Subject] = [
            {
                **subjects.tasks[logical.tasks_of(sink).start - first_task],
                "source_component": source,
            }
            for source, sink in self._ways
        ]

    def of(self, bucket: Bucket) -> Iterator[Sample]:
        """All samples of a bucket."""
        if not self._ways:
            return
        sums = bucket.grown_whole("latency_sum", NANOSECONDS)
        fine = bucket.grown("latency")
        histograms = np.zeros((len(self._ways), COARSE_BINS), dtype=np.int64)
        totals = np.zeros(len(self._ways))
        for place, rows in enumerate(self._ways.values()):
            np.add.at(histograms[place], _COARSE, fine[rows].sum(axis=0))
            totals[place] = sums[rows].sum()
        counts = histograms.sum(axis=1)
        yield from summed(bucket, Metric.END_TO_END_LATENCY_SUM, self._who, totals, counts)
        yield from binned(bucket, Metric.END_TO_END_LATENCY_BIN, self._who, histograms)
