"""Judged errors of an experiment, as intervals of other jobs take them."""

import math

import pytest

from streamgauge.experiments.judgement import Cell, Judgement
from streamgauge.experiments.quantities import MEAN_SINCE_EMISSION, ROUTING, WORKER_CPU
from streamgauge.experiments.residuals import list_residuals
from streamgauge.models.model_error import Kind


def cell(quantity=MEAN_SINCE_EMISSION, **changes):
    known = {
        "quantity": quantity,
        "model": "analytic",
        "source": "low",
        "proposed": "high",
        "subject": "all",
        "unit": "s",
        "predicted": 2.0,
        "measured": 3.0,
        "floor": None,
    }
    return Cell(**(known | changes))


def residuals_of(*cells):
    judgement = Judgement(
        experiment="burning",
        engine="storm",
        models=("analytic",),
        steps=(),
        cells=cells,
        verdicts={},
        topology="burn",
        windowed=False,
    )
    return list_residuals(judgement).residuals


def test_an_error_is_the_logarithm_of_measured_over_predicted():
    (latency, cpu) = residuals_of(cell(), cell(WORKER_CPU, measured=1.0))
    assert latency.error == pytest.approx(math.log(1.5))
    assert cpu.error == pytest.approx(math.log(0.5))
    assert (latency.kind, cpu.kind) == (Kind.MEAN, Kind.WORKER_CPU)
    assert (latency.job, latency.regime.windowed) == ("burn", False)


def test_steps_predicted_from_themselves_overloaded_ones_and_other_models_do_not_count():
    assert not residuals_of(
        cell(source="high"),
        cell(is_apart=True),
        cell(model="kingman"),
        cell(ROUTING),
        cell(measured=0.0),
        cell(predicted=math.inf),
    )
