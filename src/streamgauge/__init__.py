"""Predict how a streaming job would behave under a plan that has never been deployed.

`import streamgauge as sg` loads nothing: each name below is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamgauge.api.calibrate import calibrate
    from streamgauge.api.compare import compare
    from streamgauge.api.cost import cost
    from streamgauge.api.fit_costs import fit_costs
    from streamgauge.api.forecast import forecast
    from streamgauge.api.judge import judge
    from streamgauge.api.load_curve import load_curve
    from streamgauge.api.loading import load_job, load_profile
    from streamgauge.api.outlook import outlook
    from streamgauge.api.outlook_fleet import outlook_all
    from streamgauge.api.pack import pack
    from streamgauge.api.place import place
    from streamgauge.api.predict import predict
    from streamgauge.api.profilers import profile_resources, profile_router
    from streamgauge.api.rank_placements import rank_placements
    from streamgauge.api.rank_scalings import rank_scalings
    from streamgauge.api.recommend import recommend
    from streamgauge.api.replay import replay
    from streamgauge.api.simulate import simulate
    from streamgauge.api.slo_status import slo_status
    from streamgauge.api.sweep import sweep
    from streamgauge.api.timetable import timetable
    from streamgauge.api.update import update
    from streamgauge.errors import StreamgaugeError
    from streamgauge.profile.job import Job
    from streamgauge.profile.profile import Profile
    from streamgauge.reports.calibration import CalibrationReport
    from streamgauge.reports.comparison import ComparisonReport
    from streamgauge.reports.cost import CostReport
    from streamgauge.reports.fitted_costs import FittedCostsReport
    from streamgauge.reports.forecast import ForecastReport
    from streamgauge.reports.judgement import JudgementReport
    from streamgauge.reports.load_curve import LoadCurveReport
    from streamgauge.reports.outlook import OutlookReport
    from streamgauge.reports.outlook_fleet import FleetReport
    from streamgauge.reports.packing import PackingReport
    from streamgauge.reports.placement import PlacementReport
    from streamgauge.reports.placement_ranking import PlacementRanking
    from streamgauge.reports.prediction import PredictionReport
    from streamgauge.reports.profilers import ResourcesReport, RouterReport
    from streamgauge.reports.recommendation import RecommendationReport
    from streamgauge.reports.replay import ReplayReport
    from streamgauge.reports.scaling import ScalingRanking
    from streamgauge.reports.simulation import SimulationReport
    from streamgauge.reports.slo_status import SloStatusReport
    from streamgauge.reports.sweep import SweepReport
    from streamgauge.reports.timetable import TimetableReport
    from streamgauge.reports.update import UpdateReport

__version__ = "0.1.0"

# Where each public name is found.
_MODULES = {
    "calibrate": "api.calibrate",
    "compare": "api.compare",
    "cost": "api.cost",
    "fit_costs": "api.fit_costs",
    "forecast": "api.forecast",
    "judge": "api.judge",
    "load_curve": "api.load_curve",
    "load_job": "api.loading",
    "load_profile": "api.loading",
    "outlook": "api.outlook",
    "outlook_all": "api.outlook_fleet",
    "pack": "api.pack",
    "place": "api.place",
    "predict": "api.predict",
    "profile_resources": "api.profilers",
    "profile_router": "api.profilers",
    "rank_placements": "api.rank_placements",
    "rank_scalings": "api.rank_scalings",
    "replay": "api.replay",
    "recommend": "api.recommend",
    "simulate": "api.simulate",
    "slo_status": "api.slo_status",
    "sweep": "api.sweep",
    "timetable": "api.timetable",
    "update": "api.update",
    "CalibrationReport": "reports.calibration",
    "ComparisonReport": "reports.comparison",
    "CostReport": "reports.cost",
    "FittedCostsReport": "reports.fitted_costs",
    "ForecastReport": "reports.forecast",
    "FleetReport": "reports.outlook_fleet",
    "Job": "profile.job",
    "JudgementReport": "reports.judgement",
    "LoadCurveReport": "reports.load_curve",
    "OutlookReport": "reports.outlook",
    "PackingReport": "reports.packing",
    "PlacementRanking": "reports.placement_ranking",
    "PlacementReport": "reports.placement",
    "PredictionReport": "reports.prediction",
    "Profile": "profile.profile",
    "ReplayReport": "reports.replay",
    "RecommendationReport": "reports.recommendation",
    "ResourcesReport": "reports.profilers",
    "RouterReport": "reports.profilers",
    "ScalingRanking": "reports.scaling",
    "SimulationReport": "reports.simulation",
    "SloStatusReport": "reports.slo_status",
    "StreamgaugeError": "errors",
    "SweepReport": "reports.sweep",
    "TimetableReport": "reports.timetable",
    "UpdateReport": "reports.update",
}

__all__ = [
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
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
