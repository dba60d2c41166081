"""Judged errors of an experiment, for intervals of predictions of other jobs."""

from __future__ import annotations

import math
from collections.abc import Mapping

from streamgauge.experiments.judgement import Cell, Judgement
from streamgauge.experiments.quantities import (
    MACHINE_CPU,
    OPERATOR_RATES,
    SATURATION,
    SINCE,
    WORKER_CPU,
)
from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.model_error import Kind, ModelErrors, Regime, Residual

_KINDS: Mapping[str, Kind] = {
    OPERATOR_RATES.name: Kind.RATE,
    "throughput": Kind.RATE,
    "service times, wall clock": Kind.SERVICE,
    SATURATION.name: Kind.HIGHEST_RATE,
    WORKER_CPU.name: Kind.WORKER_CPU,
    MACHINE_CPU.name: Kind.MACHINE_CPU,
    **{
        f"{figure} latency {since}": Kind.MEAN if figure == "mean" else Kind.PERCENTILE
        for since in SINCE.values()
        for figure in ("mean", "p50", "p90", "p95", "p99")
    },
    **{
        f"{figure} complete latency": Kind.COMPLETE
        for figure in ("mean", "p50", "p90", "p95", "p99")
    },
}


def list_residuals(judgement: Judgement) -> ModelErrors:
    """What the analytic model got wrong of steps that kept up, predicted from other steps.

    Noise is not taken off: intervals are then too wide rather than too narrow.
    """
    return ModelErrors(
        origin=f"the experiment {judgement.experiment} on {judgement.engine}",
        residuals=tuple(
            Residual(
                job=judgement.topology or judgement.experiment,
                kind=_KINDS[cell.quantity.name],
                error=math.log(cell.measured / cell.predicted),
                regime=Regime(windowed=judgement.windowed),
            )
            for cell in judgement.cells
            if _counts(cell)
        ),
    )


def _counts(cell: Cell) -> bool:
    known = cell.measured > 0.0 and 0.0 < cell.predicted < math.inf
    is_other = cell.source != cell.proposed and not cell.is_apart
    # Service times come from what all models share, and belong to no model.
    by_model = cell.model == AnalyticModel.name or cell.quantity.name == "service times, wall clock"
    return known and is_other and by_model and cell.quantity.name in _KINDS
