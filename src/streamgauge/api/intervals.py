"""Intervals of predictions: replicas read, draws predicted, and every figure's interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from streamgauge.drawing.wording import count
from streamgauge.errors import InvalidInput, MissingExtra, NotEnoughData, UnreadableFile
from streamgauge.extras import require_extra
from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.back_test import BackTested, back_test
from streamgauge.models.changed_tasks import fit_tasks
from streamgauge.models.intervals import (
    LEVEL,
    Difference,
    Interval,
    Intervals,
    Key,
    Predicted,
    find_difference,
    find_interval,
    find_overload,
    find_regime,
)
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.measured_plan import measured_plan, measured_workload
from streamgauge.models.model_error import (
    Kind,
    ModelErrors,
    load_default_errors,
    read_errors,
)
from streamgauge.models.parameter_noise import Draws
from streamgauge.models.sampling_noise import (
    Window,
    scatter_of_count,
    scatter_of_mean,
    scatter_of_quantile,
    scatter_of_work,
)
from streamgauge.profile.resampled import Resampled, find_influences
from streamgauge.reports.prediction_figures import list_prediction_figures, name_latencies

if TYPE_CHECKING:
    from streamgauge.api.loading import ChosenProfile, DescribedJob
    from streamgauge.models.end_to_end_latency import Latency
    from streamgauge.models.job_behaviour import JobBehaviour
    from streamgauge.models.prediction import Prediction
    from streamgauge.profile.profile import Profile
    from streamgauge.topology.physical_plan import PhysicalPlan
    from streamgauge.topology.workload import Workload

WINDOW_SECONDS = 60.0
DECLARED = "the job's behaviour is declared: nothing was measured"
OTHER_MODEL = "only the analytic model has them"
AS_MEASURED = "measured rates and service times are not drawn anew"
NO_REPLICAS = "the profile names no replicas, as one that was written by hand"

# Which kind of figure is which; what is not named has no interval.
_KINDS = {
    ("job", "highest_rate"): Kind.HIGHEST_RATE,
    ("job", "headroom"): Kind.HIGHEST_RATE,
    ("job", "emitted"): Kind.RATE,
    ("machine", "in_use"): Kind.MACHINE_CPU,
    ("machine", "busy"): Kind.MACHINE_CPU,
    ("worker", "cores"): Kind.WORKER_CPU,
    ("worker", "work"): Kind.WORKER_CPU,
    ("worker", "sent_per_second"): Kind.RATE,
    **{
        (subject, figure): kind
        for subject in ("operator", "executor")
        for figure, kind in (
            ("arrived_per_second", Kind.RATE),
            ("emitted_per_second", Kind.RATE),
            ("tuples_out_per_second", Kind.RATE),
            ("utilisation", Kind.SERVICE),
            ("busiest", Kind.SERVICE),
            ("service_seconds", Kind.SERVICE),
            ("delay_seconds", Kind.MEAN),
        )
    },
}


@dataclass(frozen=True, kw_only=True)
class ParameterNoise:
    """The draws of a profile, or why there are none.

    Attributes:
        draws: None where nothing is known of chance.
        reason: Why; empty where there are draws.
        is_warning: Whether that is a fault to warn of, and not just so.
    """

    draws: Draws | None = None
    reason: str = ""
    is_warning: bool = False

    @classmethod
    def of(cls, profile: Profile | None, folder: str | None) -> ParameterNoise:
        """From the replicas beside a profile.

        Args:
            profile: None where nothing was measured.
            folder: Where the profile lies; None where that is not known.
        """
        if profile is None:
            return cls(reason=DECLARED)
        replicas = profile.replicas
        if replicas is None:
            return cls(reason=NO_REPLICAS)
        if replicas.count == 0 or not replicas.file:
            blocks = count(replicas.blocks, "block")
            return cls(reason=f"the profile has no replicas: {blocks} of time are too few")
        if folder is None:
            return cls(reason="where the profile's replicas are is not known: give its file")
        try:
            with require_extra("lake"):
                from streamgauge.lake.replica_files import read_replicas
            return cls.from_replicas(profile, read_replicas(profile, folder))
        except (UnreadableFile, InvalidInput, MissingExtra) as error:
            return cls(reason=str(error), is_warning=True)

    @classmethod
    def from_replicas(cls, profile: Profile, resampled: Resampled) -> ParameterNoise:
        """From replicas that were read."""
        influences = find_influences(resampled, profile)
        if influences is None:
            return cls(reason="the profile does not say which blocks of time its replicas are of")
        return cls(draws=Draws.of(profile, influences))


@dataclass(frozen=True, kw_only=True)
class PlanDraws:
    """What draws say of one plan under one load: each predicted once.

    Attributes:
        band: The ends of the load's own band, where it is forecast.
    """

    prediction: Prediction
    plan: PhysicalPlan
    workload: Workload
    noise: ParameterNoise
    errors: ModelErrors
    window_seconds: float = WINDOW_SECONDS
    link_percentile: float | None = None
    band: tuple[Workload, ...] = ()

    @cached_property
    def figures(self) -> dict[Key, Predicted]:
        """Every figure that has an interval, as predicted and as drawn."""
        drawn = None if self.noise.draws is None else self._predict_draws(self.noise.draws)
        ends = self._predict_ends()
        latencies, window = name_latencies(self.prediction), self._window
        found = {}
        for key, value in _list_values(self.prediction).items():
            kind = _find_kind(key)
            if kind is None or math.isnan(value):
                continue
            found[key] = Predicted(
                value=value,
                drawn=None
                if drawn is None
                else np.asarray([one.get(key, math.nan) for one in drawn]),
                kind=kind,
                scatter=self._find_scatter(key, kind, latencies, window),
                **_find_sides(value, [end.get(key, math.nan) for end in ends]),
            )
        return found

    def find_intervals(self) -> Intervals:
        """The intervals of all figures."""
        draws = self.noise.draws
        limit = Key("job", "", "headroom")
        overload = math.nan
        if limit in self.figures and draws is not None:
            headroom = self.figures[limit]
            known = find_interval(headroom, draws, self.find_model_width(headroom.kind), 0.0)
            reach = math.hypot(known.parameters, known.model, headroom.lower)
            overload = find_overload(headroom.value, reach)
        found: dict[Key, Interval] = {
            key: find_interval(figure, draws, self.find_model_width(figure.kind), overload)
            for key, figure in self.figures.items()
        }
        return Intervals(
            window_seconds=self.window_seconds,
            figures=found,
            overload=overload,
            origin=self.errors.origin,
            unknown=self.noise.reason,
        )

    def find_model_width(self, kind: Kind) -> float:
        """Half-width of a model's error in a kind of figure."""
        return self._model_widths[kind]

    @cached_property
    def _model_widths(self) -> dict[Kind, float]:
        topology = self.plan.logical.topology
        windowed = any(one.window is not None for one in topology.operators)
        regime = find_regime(self.prediction, windowed=windowed)
        return {kind: self.errors.half_width(kind, regime, topology.name, LEVEL) for kind in Kind}

    @cached_property
    def _window(self) -> Window:
        rates = [emission.per_second for emission in self.workload.emissions]
        emitted = math.fsum(rate for rate in rates if rate is not None)
        return Window(seconds=self.window_seconds, roots_per_second=emitted)

    def _make_model(self) -> AnalyticModel:
        if self.link_percentile is None:
            return AnalyticModel()
        return AnalyticModel(link_percentile=self.link_percentile / 100.0)

    def _predict_ends(self) -> list[Mapping[Key, float]]:
        """Every figure at both ends of the load's band."""
        model, draws = self._make_model(), self.noise.draws
        behaviour = JobBehaviour.from_profile(draws.profile) if self.band and draws else None
        if behaviour is None:
            return []
        return [
            _fill(self.prediction, model.predict(behaviour, self.plan, load)) for load in self.band
        ]

    def _predict_draws(self, draws: Draws) -> list[Mapping[Key, float]]:
        model = self._make_model()
        found: list[Mapping[Key, float]] = []
        for behaviour in draws.behaviours:
            try:
                found.append(
                    {}
                    if behaviour is None
                    else _fill(self.prediction, self._predict(model, behaviour))
                )
            except InvalidInput:
                found.append({})
        return found

    def _predict(self, model: AnalyticModel, behaviour: JobBehaviour) -> Prediction:
        fitted = fit_tasks(behaviour, self.plan.logical.topology)
        return model.predict(fitted, self.plan, self.workload)

    def _find_scatter(
        self, key: Key, kind: Kind, latencies: Mapping[str, Latency], window: Window
    ) -> float:
        prediction, operators = self.prediction, self.prediction.operators
        if key.subject == "latency":
            latency = latencies[key.name]
            if key.figure == "mean":
                return scatter_of_mean(latency, operators, window)
            return scatter_of_quantile(latency, float(key.figure[1:]) / 100.0, operators, window)
        if kind is Kind.HIGHEST_RATE:
            return 0.0
        rate = _find_rate(key, prediction) or window.roots_per_second
        if kind is Kind.MEAN:
            return scatter_of_mean(prediction.latency, operators, window)
        return (scatter_of_count if kind is Kind.RATE else scatter_of_work)(rate, window)


def compare_draws(one: PlanDraws, other: PlanDraws, key: Key) -> Difference | None:
    """How far one plan is from another of the same job; None where a figure is not known."""
    if key not in one.figures or key not in other.figures:
        return None
    mine, theirs = one.figures[key], other.figures[key]
    model = max(one.find_model_width(mine.kind), other.find_model_width(theirs.kind))
    return find_difference(mine, theirs, one.noise.draws, model)


def choose_errors(path: str | Path | None) -> ModelErrors:
    """Judged errors of a file, or those that ship with Streamgauge."""
    return load_default_errors() if path is None else read_errors(path)


def find_noise(
    chosen: ChosenProfile, prediction: Prediction, *, measured: bool = False
) -> ParameterNoise:
    """What a prediction owes to chance.

    Args:
        chosen: What it rests on.
        prediction: Which model made it.
        measured: Whether it takes what was measured of its plan as it is.
    """
    if prediction.model != AnalyticModel.name:
        return ParameterNoise(reason=OTHER_MODEL)
    if measured:
        return ParameterNoise(reason=AS_MEASURED)
    return ParameterNoise.of(chosen.profile, chosen.folder)


def find_plan_intervals(
    described: DescribedJob, plan: PhysicalPlan | None, prediction: Prediction | None
) -> Intervals | None:
    """Of a plan that a planner made of a job; None where it has no prediction."""
    workload = described.job.workload
    if plan is None or prediction is None or workload is None:
        return None
    return PlanDraws(
        prediction=prediction,
        plan=plan,
        workload=workload,
        noise=ParameterNoise.of(described.profile, described.folder),
        errors=choose_errors(None),
    ).find_intervals()


def warn_of_noise(noises: Iterable[ParameterNoise]) -> Sequence[str]:
    """What is wrong with replicas, each once."""
    reasons = dict.fromkeys(one.reason for one in noises if one.is_warning)
    return [f"intervals are not known: {reason}" for reason in reasons]


def _find_sides(value: float, at_ends: Sequence[float]) -> dict[str, float]:
    """How far a figure is off at the ends of a band, to each side, as logarithms."""
    known = [end for end in at_ends if end > 0.0]
    if not known or not 0.0 < value < math.inf:
        return {}
    apart = [math.log(end / value) if end < math.inf else math.inf for end in known]
    return {"lower": max(0.0, -min(apart)), "higher": max(0.0, *apart)}


def _list_values(prediction: Prediction) -> dict[Key, float]:
    return {
        Key(row.subject, row.name, row.figure): row.value
        for row in list_prediction_figures(prediction)
    }


def _fill(reference: Prediction, drawn: Prediction) -> Mapping[Key, float]:
    """A draw's figures; of a plan that is overloaded, all percentiles are infinite."""
    values = _list_values(drawn)
    if not drawn.overloaded:
        return values
    levels = {key for key in _list_values(reference) if key.subject == "latency"}
    return dict.fromkeys(levels, math.inf) | values


def _find_kind(key: Key) -> Kind | None:
    if key.subject != "latency":
        return _KINDS.get((key.subject, key.figure))
    if key.figure == "mean":
        return Kind.COMPLETE if key.name.startswith("complete") else Kind.MEAN
    if not key.figure.startswith("p") or not key.figure[1:].replace(".", "").isdecimal():
        return None
    return Kind.COMPLETE if key.name.startswith("complete") else Kind.PERCENTILE


def _find_rate(key: Key, prediction: Prediction) -> float:
    """Tuples a second that a figure is counted from; zero where that is not known."""
    if key.subject == "operator":
        one = prediction.operators[key.name]
        share = one.executors if key.figure == "busiest" else 1
        return max(one.arrived_per_second, one.tuples_out_per_second) / max(share, 1)
    if key.subject == "executor":
        executors = (each for each in prediction.executors if each.name == key.name)
        return max(
            (max(e.arrived_per_second, e.tuples_out_per_second) for e in executors), default=0.0
        )
    return 0.0


def check_window(seconds: float) -> float:
    """The length of a window, where it is one.

    Raises:
        InvalidInput: It is not above zero.
    """
    if not 0.0 < seconds < math.inf:
        raise InvalidInput.single(
            ("--window",), seen=f"{seconds:g}", expected="seconds above zero for which is measured"
        )
    return seconds


def test_model(chosen: ChosenProfile, prediction: Prediction | None) -> tuple[BackTested, ...]:
    """The analytic model on the plan and load that were measured.

    Args:
        chosen: What was measured, if anything.
        prediction: Of that plan and load, where there is one already.
    """
    if chosen.profile is None:
        return ()
    if prediction is None or prediction.model != AnalyticModel.name:
        try:
            plan, workload = measured_plan(chosen.profile), measured_workload(chosen.profile)
            prediction = AnalyticModel().predict(chosen.behaviour, plan, workload)
        except (InvalidInput, NotEnoughData):
            return ()
    return back_test(chosen.profile, prediction)
