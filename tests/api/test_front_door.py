"""`import streamgauge`: exactly these names, and nothing loaded before one is used."""

import subprocess
import sys

import pytest

import streamgauge as sg

PUBLIC = {
    "CalibrationReport",
    "ComparisonReport",
    "CostReport",
    "FittedCostsReport",
    "FleetReport",
    "ForecastReport",
    "Job",
    "JudgementReport",
    "LoadCurveReport",
    "OutlookReport",
    "PackingReport",
    "PlacementRanking",
    "PlacementReport",
    "PredictionReport",
    "Profile",
    "RecommendationReport",
    "ReplayReport",
    "ResourcesReport",
    "RouterReport",
    "ScalingRanking",
    "SimulationReport",
    "SloStatusReport",
    "StreamgaugeError",
    "SweepReport",
    "TimetableReport",
    "UpdateReport",
    "calibrate",
    "compare",
    "cost",
    "fit_costs",
    "forecast",
    "judge",
    "load_curve",
    "load_job",
    "load_profile",
    "outlook",
    "outlook_all",
    "pack",
    "place",
    "predict",
    "profile_resources",
    "profile_router",
    "rank_placements",
    "rank_scalings",
    "recommend",
    "replay",
    "simulate",
    "slo_status",
    "sweep",
    "timetable",
    "update",
}


def test_the_public_names_are_exactly_these():
    assert set(sg.__all__) == PUBLIC
    assert set(dir(sg)) >= PUBLIC


def test_every_public_name_can_be_had():
    assert all(getattr(sg, name) is not None for name in PUBLIC)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="crystal_ball"):
        sg.crystal_ball  # noqa: B018


def test_the_import_loads_neither_numpy_nor_pydantic_nor_typer():
    code = "import sys, streamgauge; print({'numpy', 'pydantic', 'typer'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "set()\n"
