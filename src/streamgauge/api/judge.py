"""`sg.judge`: how near predictions come to what an experiment measured, each step from each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge.api.models import ALL, DEFAULT, SIMULATION
from streamgauge.api.simulator import Say, load_simulator, stay_silent
from streamgauge.api.spark import HERE, SparkOptions, open_session
from streamgauge.errors import InvalidInput, MissingExtra, NotEnoughData

if TYPE_CHECKING:
    from streamgauge.experiments.cross_prediction import FindIntervals, StepPrediction
    from streamgauge.experiments.journal import Journal, Repetition
    from streamgauge.experiments.judged_steps import JudgedStep
    from streamgauge.experiments.judgement import Judgement
    from streamgauge.experiments.truth import RepetitionTruth, StepTruth
    from streamgauge.models.intervals import Intervals
    from streamgauge.models.prediction import Prediction
    from streamgauge.profile.profile import Profile
    from streamgauge.reports.judgement import JudgementReport
    from streamgauge.topology.physical_plan import PhysicalPlan
    from streamgauge.topology.workload import Workload


def judge(
    folder: str | Path,
    *,
    model: str | Sequence[str] = DEFAULT,
    spark: SparkOptions = HERE,
    say: Say = stay_silent,
) -> JudgementReport:
    """Predict every step of an experiment from every step, and compare with what was measured.

    Profiles and predictions are kept in the folder, under ``judge``: a judgement that was
    interrupted goes on where it stopped. Spark runs only for profiles that are not there.

    Args:
        folder: Of an experiment that has run.
        model: Which model predicts, or several; ``all`` asks every model.
        spark: Where Spark runs.
        say: Takes what is being done, in words.

    Raises:
        InvalidInput: The folder holds no experiment, or judgements of another one.
        NotEnoughData: No repetition is done, or no step can be judged.
        JobFailed: Spark could not finish.
        MissingExtra: What Spark or a model needs is not installed.
    """
    from streamgauge.experiments.controller import lock_folder
    from streamgauge.experiments.journal import read_journal
    from streamgauge.reports.judgement import JudgementReport

    path = Path(folder)
    journal = read_journal(path)
    _check_journal(journal, path)
    models, skipped = _list_models(model, say)
    with lock_folder(path):
        judged = _Judge(journal, path, models, spark, say).judge()
    return JudgementReport(
        judgement=replace(judged, warnings=(*skipped, *judged.warnings)), folder=str(folder)
    )


def _check_journal(journal: Journal, folder: Path) -> None:
    from streamgauge.experiments.journal import VERSION

    if not journal.done:
        raise NotEnoughData(
            f"{folder}: no repetition is done of {len(journal.left)}; expected at least one"
            " (run the experiment again: it continues where it stopped)"
        )
    if journal.version < VERSION:
        raise InvalidInput.single(
            (),
            file=str(folder),
            seen="an experiment that an earlier version of Streamgauge measured",
            expected="one whose latencies count from emission and from when tuples were due",
            remedy="run the experiment again in another folder",
        )


def _list_models(model: str | Sequence[str], say: Say) -> tuple[list[str], list[str]]:
    """Names of the models to ask, and why some are not."""
    from streamgauge.models.contract import load_model, model_names

    names = [model] if isinstance(model, str) else list(dict.fromkeys(model))
    every = ALL in names
    if every:
        names = sorted(model_names(), key=lambda name: name != DEFAULT)
    for name in names:
        load_model(name)
    skipped: list[str] = []
    if SIMULATION in names:
        try:
            load_simulator(say)
        except MissingExtra as error:
            if not every:
                raise
            names.remove(SIMULATION)
            skipped.append(f"model {SIMULATION} is skipped: {error}")
    return names, skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    """A step that has a truth, and the repetition of it that a profile is made of."""

    truth: StepTruth
    source: Repetition


class _Judge:
    """One judgement: what was measured, then profiles, then predictions, then the comparison."""

    def __init__(
        self,
        journal: Journal,
        folder: Path,
        models: Sequence[str],
        spark: SparkOptions,
        say: Say,
    ) -> None:
        from streamgauge.experiments.judge_folder import JudgeFolder

        self._journal, self._folder = journal, folder
        self._models, self._spark, self._say = models, spark, say
        self._kept = JudgeFolder(journal, folder)

    def judge(self) -> Judgement:
        """All of it."""
        from streamgauge.api.intervals import choose_errors
        from streamgauge.experiments.judgement import Judgement, compare_figures

        steps, measured = self._observe()
        if not measured:
            reasons = "; ".join(f"{step.name}: {step.no_truth}" for step in steps)
            raise NotEnoughData(f"{self._folder}: no step can be judged: {reasons}")
        faults = self._make_profiles(measured)
        steps = [replace(step, no_source=faults.get(step.name, step.no_truth)) for step in steps]
        made = {
            (step.name, proposed, model): prediction
            for step in steps
            if not step.no_source
            for proposed, model, prediction in self._predict_from(step.name, measured)
        }
        cells = compare_figures(
            {case: prediction.figures for case, prediction in made.items()},
            {name: one.truth for name, one in measured.items()},
            [step.name for step in steps if step.overloads],
            one_clock=self._has_one_clock(),
        )
        topology = self._journal.experiment.steps[0].job.topology
        return Judgement(
            experiment=self._journal.experiment.name,
            engine=self._journal.engine,
            models=tuple(self._models),
            steps=tuple(steps),
            cells=tuple(cells),
            refusals=tuple((*case, one.refusal) for case, one in made.items() if one.refusal),
            verdicts={case: one.fits for case, one in made.items() if one.fits is not None},
            warnings=tuple(self._list_warnings(steps, made.values())),
            model_errors=choose_errors(None).origin,
            topology=topology.name,
            windowed=any(one.window is not None for one in topology.operators),
        )

    def _observe(self) -> tuple[list[JudgedStep], dict[str, _Measured]]:
        """What each step is good for, and the truth of those that have one."""
        from streamgauge.experiments.judged_steps import judge_step
        from streamgauge.experiments.observing import gather_truth

        truth = gather_truth(self._journal, self._observe_repetition)
        steps: list[JudgedStep] = []
        measured: dict[str, _Measured] = {}
        for step in self._journal.experiment.steps:
            done, found = self._journal.of_step(step.name), truth.step(step.name)
            judged, kept = judge_step(step.name, done, found, self._folder)
            steps.append(judged)
            if kept is not None:
                measured[step.name] = _Measured(truth=kept, source=_choose_source(done, kept))
        return steps, measured

    def _observe_repetition(self, repetition: Repetition) -> RepetitionTruth:
        """What a repetition comes to; read once, however often it is judged."""
        from streamgauge.experiments.observing import observe_repetition

        truth = self._kept.read_truth(repetition)
        if truth is None:
            self._say(f"reading {repetition.folder}")
            truth = observe_repetition(self._journal, repetition, self._folder, stages=True)
            self._kept.keep_truth(repetition, truth)
        return truth

    def _has_one_clock(self) -> bool:
        """Whether the engine's machines share a clock, as simulated ones do."""
        from streamgauge.engines.runner import load_runner

        return load_runner(self._journal.engine).simulates

    def _make_profiles(self, measured: Mapping[str, _Measured]) -> dict[str, str]:
        """Make what profiles are not there, in one session; why some could not be made."""
        missing = [
            name for name, one in measured.items() if not self._kept.has_profile(name, one.source)
        ]
        faults: dict[str, str] = {}
        if not missing:
            return faults
        with open_session("judge", self._spark):
            for name in missing:
                try:
                    self._make_profile(name, measured[name].source)
                except (InvalidInput, NotEnoughData) as error:
                    faults[name] = f"no profile: {error}"
        return faults

    def _make_profile(self, name: str, repetition: Repetition) -> None:
        from streamgauge.api.calibrate import calibrate
        from streamgauge.api.ingest import ingest

        kept = self._kept
        self._say(f"making the profile of {name}, of {repetition.folder}")
        kept.begin_profile(name, repetition)
        ingest([self._folder / repetition.folder], kept.lake(name), spark=self._spark)
        calibrate(
            kept.lake(name),
            self._journal.experiment.step(name).job.topology.name,
            output=kept.profile(name),
            start=repetition.measured_from,
            end=repetition.measured_to,
            warmup_seconds=0.0,
            spark=self._spark,
        )
        kept.end_profile(name, repetition)

    def _predict_from(
        self, source: str, measured: Mapping[str, _Measured]
    ) -> Iterator[tuple[str, str, StepPrediction]]:
        """Every step by every model, from the profile of one step."""
        from streamgauge.api.loading import load_profile
        from streamgauge.experiments.cross_prediction import STAGES, CrossPrediction

        experiment = self._journal.experiment
        profile: Profile | None = None
        for proposed, one in measured.items():
            case: CrossPrediction | None = None
            for model in (STAGES, *self._models):
                made = self._kept.read_prediction(source, proposed, model)
                if made is None:
                    if profile is None:
                        self._say(f"predicting from {source}")
                        profile = load_profile(self._kept.profile(source))
                    case = case or CrossPrediction(
                        profile=profile,
                        experiment=experiment,
                        step=experiment.step(proposed),
                        repetition=one.source,
                        measured={figure.key: figure.value for figure in one.truth.figures},
                        find_intervals=self._bound(source, profile, one.truth),
                    )
                    made = case.predict(model)
                    self._kept.keep_prediction(source, proposed, model, made)
                yield proposed, model, made

    def _bound(self, source: str, profile: Profile, truth: StepTruth) -> FindIntervals:
        """Intervals of what was measured of a step, in all of its windows that count."""
        from streamgauge.api.intervals import ParameterNoise, PlanDraws, choose_errors
        from streamgauge.experiments.predicted_figures import NO_INTERVALS

        noise = ParameterNoise.of(profile, str(self._kept.profile(source).parent))
        counted = [one for repetition in truth.repetitions for one in repetition.counted]

        def find(prediction: Prediction, plan: PhysicalPlan, workload: Workload) -> Intervals:
            if prediction.model != DEFAULT:
                return NO_INTERVALS
            return PlanDraws(
                prediction=prediction,
                plan=plan,
                workload=workload,
                noise=noise,
                errors=choose_errors(None),
                window_seconds=sum(one.seconds for one in counted),
            ).find_intervals()

        return find

    def _list_warnings(
        self, steps: Iterable[JudgedStep], made: Iterable[StepPrediction]
    ) -> Iterator[str]:
        for step in steps:
            for reason in step.left_out:
                yield f"left out: {reason}"
        if self._journal.left:
            yield f"{len(self._journal.left)} repetitions of the experiment are not done yet"
        if self._journal.experiment.repetitions == 1:
            yield "floors are not known from one repetition"
        yield from dict.fromkeys(text for one in made for text in one.warnings)


def _choose_source(done: Sequence[Repetition], truth: StepTruth) -> Repetition:
    """The repetition with the most windows that count; the last of several."""
    best = max(truth.repetitions, key=lambda one: (len(one.counted), one.turn.repetition))
    return next(one for one in done if one.turn == best.turn)
