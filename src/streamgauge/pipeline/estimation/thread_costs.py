"""What threads cost beside their work: slowdown of executors, and cost of one tuple more.

Both are made of figures that were estimated by themselves, with replicas from the same blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from streamgauge.pipeline.estimation.catalogue import FigureName
from streamgauge.pipeline.estimation.measured import Estimate, Measured, added, combined
from streamgauge.pipeline.estimation.roster import Subject

MS_PER_SECOND = 1e3
# Fewer blocks say nothing of a line through them.
FEWEST_BLOCKS = 4
# Looking at a wait makes it longer: delays of all waits are known to this part of them.
WAITS_ERROR = 0.1


def find_slowdown(measured: Measured, executor: str) -> Estimate | None:
    """1 + run delay over CPU time, both without what the thread did while it had no tuple.

    Nothing where no run delay was measured, or the thread did no work. Where nobody looked at its
    waits, these are contained in both. What the thread did without a tuple is known from a few
    waits: of a thread that polls on a crowded machine it is nearly all of its delay, and what is
    left when it is taken away says little.
    """
    subject = Subject("executor", executor)

    def find(name: FigureName) -> Estimate | None:
        row = measured.one(subject, name)
        return None if row is None else row.mean

    delay, cores = find(FigureName.RUN_DELAY), find(FigureName.EXECUTOR_CORES)
    if delay is None or cores is None:
        return None
    idle_delay, idle_cores = find(FigureName.IDLE_RUN_DELAY), find(FigureName.IDLE_CORES)
    waited = _difference(delay, idle_delay)
    worked = _difference(cores, idle_cores)
    if worked.value <= 0.0:
        return None
    replicas = None
    if waited.replicas is not None and worked.replicas is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            replicas = 1.0 + np.maximum(waited.replicas, 0.0) / worked.replicas
    value = 1.0 + max(waited.value, 0.0) / worked.value
    found = combined(value, replicas, [waited, worked])
    if found.error is None or idle_delay is None:
        return found
    unsure = WAITS_ERROR * idle_delay.value / worked.value
    return replace(found, error=math.hypot(found.error, unsure))


def _difference(whole: Estimate, part: Estimate | None) -> Estimate:
    if part is None:
        return whole
    replicas = None
    if whole.replicas is not None and part.replicas is not None:
        replicas = whole.replicas - part.replicas
    return combined(whole.value - part.value, replicas, [whole])


def find_cost_of_more(measured: Measured, worker: str, executors: Iterable[str]) -> Estimate | None:
    """Milliseconds of CPU time beside executors and windows, for a tuple more that is executed.

    The line through a worker's blocks. Replicas are means over resampled blocks, so that the line
    through these is the same, and its error follows from how far they are from it: with B blocks,
    the deviation from the line over that along it, over √(B − 2). A steady load has a large error.
    """
    subject = Subject("worker", worker)
    rows = [measured.one(Subject("executor", one), FigureName.EXECUTOR_CORES) for one in executors]
    rows.append(measured.one(subject, FigureName.WINDOW_CORES))
    cores, executed = (
        measured.one(subject, name) for name in (FigureName.WORKER_CORES, FigureName.EXECUTED_RATE)
    )
    if cores is None or executed is None or any(row is None for row in rows[:-1]):
        return None
    own = added([row.mean for row in rows if row is not None])
    blocks = min(cores.mean.blocks, executed.mean.blocks)
    along = executed.mean.replicas
    if own is None or cores.mean.replicas is None or along is None or blocks < FEWEST_BLOCKS:
        return None
    engine = cores.mean.replicas - own
    spread = float(np.var(along))
    if not spread > 0.0:
        return None
    slope = float(np.mean((engine - engine.mean()) * (along - along.mean()))) / spread
    beside = engine - engine.mean() - slope * (along - along.mean())
    error = math.sqrt(float(np.var(beside)) / spread / (blocks - 2))
    return Estimate(
        value=MS_PER_SECOND * max(slope, 0.0),
        error=MS_PER_SECOND * error,
        samples=executed.mean.samples,
        buckets=executed.mean.buckets,
        blocks=blocks,
        replicas=None,
    )
