"""One step predicted by the profile of another: stages, and what models say."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.experiments.experiment import Experiment, ExperimentStep
from streamgauge.experiments.figures import Key
from streamgauge.experiments.journal import Repetition
from streamgauge.experiments.judged_plans import StepPlan, plan_step
from streamgauge.experiments.predicted_figures import (
    NO_INTERVALS,
    Predicted,
    PredictedStages,
    list_model_figures,
)
from streamgauge.experiments.predicted_paths import PredictedPaths, find_model_delays
from streamgauge.models.contract import load_model
from streamgauge.models.intervals import Intervals
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.load_limit import load
from streamgauge.models.parameters import Parameters, find_parameters
from streamgauge.models.prediction import Prediction, Verdict
from streamgauge.profile.profile import Profile
from streamgauge.topology.physical_plan import PhysicalPlan
from streamgauge.topology.workload import Workload

# The model of figures that all models share.
STAGES = "stages"

# The intervals of a prediction of a plan under a load.
FindIntervals = Callable[[Prediction, PhysicalPlan, Workload], Intervals]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPrediction:
    """What one model said of one step by the profile of another.

    Attributes:
        figures: Under the keys of measured ones; none is NaN.
        fits: Whether the step carries its load; None of the stages.
        refusal: Why nothing was said; empty where something was.
        warnings: What was assumed.
    """

    figures: tuple[Predicted, ...] = ()
    fits: bool | None = None
    refusal: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CrossPrediction:
    """A step as it ran, and the profile that it is predicted from.

    Attributes:
        experiment: Which describes the cluster, if nothing else does.
        step: The one that is predicted.
        repetition: Who ran where in it.
        measured: Its figures: outputs are predicted from measured inputs.
        find_intervals: Of a model's prediction; None where nobody asks.
    """

    profile: Profile
    experiment: Experiment
    step: ExperimentStep
    repetition: Repetition
    measured: Mapping[Key, float]
    find_intervals: FindIntervals | None = None

    def predict(self, model: str) -> StepPrediction:
        """What a model says, or why it says nothing."""
        try:
            figures, fits = self._ask(model)
            warnings = self._plan.warnings
        except (InvalidInput, NotEnoughData) as error:
            return StepPrediction(refusal=str(error))
        return StepPrediction(figures=figures, fits=fits, warnings=warnings)

    def _ask(self, model: str) -> tuple[tuple[Predicted, ...], bool | None]:
        if model == STAGES:
            stages = PredictedStages(
                parameters=self._parameters, labels=self._plan.labels, measured=self.measured
            )
            return _known(stages.list_figures()), None
        plan, workload = self._plan.plan, self._workload
        prediction = load_model(model).predict(self._behaviour, plan, workload)
        intervals = NO_INTERVALS
        if self.find_intervals is not None:
            intervals = self.find_intervals(prediction, plan, workload)
        figures = [*list_model_figures(prediction, intervals), *self._list_paths(model)]
        return _known(iter(figures)), prediction.verdict is Verdict.FITS

    def _list_paths(self, model: str) -> Iterator[Predicted]:
        delays = find_model_delays(model, self._parameters, load(self._parameters))
        if delays is not None:
            yield from PredictedPaths(self._parameters, delays).list_figures()

    @property
    def _workload(self) -> Workload:
        workload = self.step.job.workload
        assert workload is not None, "every step of an experiment has one"
        return workload

    @cached_property
    def _behaviour(self) -> JobBehaviour:
        return JobBehaviour.from_profile(self.profile)

    @cached_property
    def _plan(self) -> StepPlan:
        described = [self.profile.cluster, self.experiment.cluster]
        known = [cluster for cluster in described if cluster is not None]
        return plan_step(self.step, self.repetition.executors, known)

    @cached_property
    def _parameters(self) -> Parameters:
        return find_parameters(self._behaviour, self._plan.plan, self._workload)


def _known(figures: Iterator[Predicted]) -> tuple[Predicted, ...]:
    return tuple(figure for figure in figures if not math.isnan(figure.value))
