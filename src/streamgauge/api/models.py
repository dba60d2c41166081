"""Asking models: which ones, what each says of a plan, and why some say nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from streamgauge.api.simulator import Say, load_simulator
from streamgauge.errors import InvalidInput, MissingExtra
from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.contract import Model, load_model, model_names
from streamgauge.models.explanation import explain
from streamgauge.models.parameters import find_parameters
from streamgauge.models.prediction import take_throughput
from streamgauge.models.regimes import swinging_operators
from streamgauge.models.throughput import predict_throughput

if TYPE_CHECKING:
    from streamgauge.models.job_behaviour import JobBehaviour
    from streamgauge.models.prediction import Prediction, Swing
    from streamgauge.profile.profile import Profile
    from streamgauge.topology.physical_plan import PhysicalPlan
    from streamgauge.topology.workload import Workload

ALL = "all"
DEFAULT = "analytic"
SIMULATION = "simulation"


class ModelPanel:
    """The models that are asked, the one that decides first, and what they could not answer.

    Args:
        name: One model, or ``all``.
        link_percentile: Which percentile of the probes between nodes the analytic model takes.
        say: Gets progress messages for long steps.

    Raises:
        InvalidInput: There is no such model, or it takes no percentile.
        MissingExtra: What the only model needs is not installed.
    """

    def __init__(self, name: str, link_percentile: float | None, say: Say) -> None:
        self._say = say
        # What is said of which models; each is kept once, however many plans there are.
        self._warnings: dict[str, dict[str, None]] = {}
        names = [name]
        if name == ALL:
            names = sorted(model_names(), key=lambda known: known != DEFAULT)
        self._models = [model for model in map(load_model, names) if self._is_ready(model, name)]
        if link_percentile is not None:
            self._models[0] = _take_percentile(link_percentile, name)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why models were not asked or say nothing, each reason once."""
        return tuple(
            f"model{'s' if len(models) > 1 else ''} {', '.join(models)} {text}" if models else text
            for text, models in self._warnings.items()
        )

    def _warn(self, text: str, *models: str) -> None:
        self._warnings.setdefault(text, {}).update(dict.fromkeys(models))

    def _is_ready(self, model: Model, name: str) -> bool:
        """Whether a model can be asked; one of several may be missing."""
        if model.name != SIMULATION:
            return True
        try:
            load_simulator(self._say)
        except MissingExtra as error:
            if name != ALL:
                raise
            self._warn(f"is skipped: {error}", model.name)
            return False
        return True

    def ask(
        self, behaviour: JobBehaviour, plan: PhysicalPlan, workload: Workload
    ) -> tuple[Prediction, ...]:
        """What each model says of a plan; those that cannot predict it are left out.

        Raises:
            InvalidInput: No model can; it is the refusal of the one that decides.
        """
        predictions: list[Prediction] = []
        refusals: list[InvalidInput] = []
        for model in self._models:
            try:
                predictions.append(model.predict(behaviour, plan, workload))
            except InvalidInput as error:
                refusals.append(error)
                self._warn(f"cannot predict this plan: {error}", model.name)
        if not predictions:
            raise refusals[0]
        return tuple(predictions)

    def ask_first(
        self, behaviour: JobBehaviour, plan: PhysicalPlan, workload: Workload
    ) -> Prediction:
        """What the model says that decides."""
        return self._models[0].predict(behaviour, plan, workload)

    def explain(
        self,
        prediction: Prediction,
        behaviour: JobBehaviour,
        plan: PhysicalPlan,
        workload: Workload,
    ) -> Prediction:
        """The analytic model's prediction with its reasons; any other as it is."""
        if prediction.model != AnalyticModel.name:
            return prediction
        explained = replace(prediction, explanation=explain(behaviour, plan, workload))
        if not prediction.overloaded:
            return explained
        return replace(explained, swing=self._simulate_swing(behaviour, plan, workload))

    @staticmethod
    def find_throughput(
        prediction: Prediction,
        behaviour: JobBehaviour,
        plan: PhysicalPlan,
        workload: Workload,
    ) -> Prediction:
        """The analytic model's prediction with what the plan really processes; others as they are.

        A simulation has that in its rates.
        """
        if prediction.model != AnalyticModel.name:
            return prediction
        return take_throughput(prediction, predict_throughput(behaviour, plan, workload))

    def repeat_measurement(self, profile: Profile) -> Prediction:
        """The profile's own plan from measured rates and service times only."""
        model = self._models[0]
        assert isinstance(model, AnalyticModel)
        return model.as_measured(profile)

    def _simulate_swing(
        self, behaviour: JobBehaviour, plan: PhysicalPlan, workload: Workload
    ) -> Swing | None:
        """How far latency swings where formulas can only say that it does."""
        from streamgauge.models.simulated import SimulationModel

        if not swinging_operators(find_parameters(behaviour, plan, workload)):
            return None
        try:
            load_simulator(self._say)
        except MissingExtra as error:
            self._warn(f"how far latency swings is not known: {error}")
            return None
        self._say("simulating how latency swings; this takes some seconds")
        return SimulationModel().predict(behaviour, plan, workload).swing


def _take_percentile(percentile: float, model: str) -> Model:
    """The analytic model, the only one that takes other than typical links."""
    if model != DEFAULT:
        raise InvalidInput.single(
            ("--link-percentile",),
            seen=f"model {model!r}",
            expected=f"{DEFAULT!r}, which takes any percentile; the others take the median",
        )
    if not 0.0 <= percentile <= 100.0:
        raise InvalidInput.single(
            ("--link-percentile",), seen=f"{percentile:g}", expected="per cent, from 0 to 100"
        )
    return AnalyticModel(link_percentile=percentile / 100.0)
