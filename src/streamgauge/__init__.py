"""Predict how a streaming job would behave under a plan that has never been deployed.

`import streamgauge as sg` loads nothing: each name below is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streamgauge.api.calibrate import calibrate
    from streamgauge.api.compare import compare
    from streamgauge.api.forecast import forecast
    from streamgauge.api.judge import judge
    from streamgauge.api.loading import load_job, load_profile
    from streamgauge.api.place import place
    from streamgauge.api.predict import predict
    from streamgauge.api.rank_placements import rank_placements
    from streamgauge.api.rank_scalings import rank_scalings
    from streamgauge.api.recommend import recommend
    from streamgauge.api.simulate import simulate
    from streamgauge.errors import StreamgaugeError
    from streamgauge.profile.job import Job
    from streamgauge.profile.profile import Profile
    from streamgauge.reports.calibration import CalibrationReport
    from streamgauge.reports.comparison import ComparisonReport
    from streamgauge.reports.forecast import ForecastReport
    from streamgauge.reports.judgement import JudgementReport
    from streamgauge.reports.placement import PlacementReport
    from streamgauge.reports.placement_ranking import PlacementRanking
    from streamgauge.reports.prediction import PredictionReport
    from streamgauge.reports.recommendation import RecommendationReport
    from streamgauge.reports.scaling import ScalingRanking
    from streamgauge.reports.simulation import SimulationReport

__version__ = "0.1.0"

# Where each public name is found.
_MODULES = {
    "calibrate": "api.calibrate",
    "compare": "api.compare",
    "forecast": "api.forecast",
    "judge": "api.judge",
    "load_job": "api.loading",
    "load_profile": "api.loading",
    "place": "api.place",
    "predict": "api.predict",
    "rank_placements": "api.rank_placements",
    "rank_scalings": "api.rank_scalings",
    "recommend": "api.recommend",
    "simulate": "api.simulate",
    "CalibrationReport": "reports.calibration",
    "ComparisonReport": "reports.comparison",
    "ForecastReport": "reports.forecast",
    "Job": "profile.job",
    "JudgementReport": "reports.judgement",
    "PlacementRanking": "reports.placement_ranking",
    "PlacementReport": "reports.placement",
    "PredictionReport": "reports.prediction",
    "Profile": "profile.profile",
    "RecommendationReport": "reports.recommendation",
    "ScalingRanking": "reports.scaling",
    "SimulationReport": "reports.simulation",
    "StreamgaugeError": "errors",
}

__all__ = [
    "CalibrationReport",
    "ComparisonReport",
    "ForecastReport",
    "Job",
    "JudgementReport",
    "PlacementRanking",
    "PlacementReport",
    "PredictionReport",
    "Profile",
    "RecommendationReport",
    "ScalingRanking",
    "SimulationReport",
    "StreamgaugeError",
    "calibrate",
    "compare",
    "forecast",
    "judge",
    "load_job",
    "load_profile",
    "place",
    "predict",
    "rank_placements",
    "rank_scalings",
    "recommend",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
