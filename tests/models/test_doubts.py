"""When not to rely on a prediction."""

from dataclasses import replace

import pytest

import streamgauge as sg
from streamgauge.errors import NotEnoughData
from streamgauge.models.doubts import DoubtCode
from streamgauge.profile.figures import Figure, PeriodState
from streamgauge.profile.figures import Period as MeasuredPeriod


@pytest.fixture(scope="module")
def profile(request):
    """The bundled one: 199 tuples/s, executors that are hardly ever busy."""
    return sg.load_profile(request.config.rootpath / "examples/word-count.profile.json")


def codes(profile, **question):
    return {doubt.code for doubt in sg.predict(profile, **question).doubts}


def in_state(profile, state):
    return replace(profile, period=MeasuredPeriod(start="", end="", state=state))


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (PeriodState.STEADY, None),
        (PeriodState.DRAINING, DoubtCode.DRAINING),
        (PeriodState.FILLING, DoubtCode.FILLING),
        (PeriodState.DRIFTING, DoubtCode.DRIFTING),
    ],
)
def test_a_period_that_was_not_steady_is_a_doubt(profile, state, code):
    found = codes(in_state(profile, state)) - codes(profile)
    assert found == (set() if code is None else {code})


def test_a_saturated_executor_is_a_doubt(profile):
    label, executor = next(iter(profile.executors.items()))
    full = replace(executor, capacity=Figure(value=0.99))
    saturated = replace(profile, executors={**profile.executors, label: full})
    assert DoubtCode.SATURATED in codes(saturated)
    assert DoubtCode.SATURATED not in codes(profile)


def test_input_that_was_not_processed_is_a_doubt(profile):
    juice = replace(profile.juice, topology=Figure(value=0.9, standard_error=0.01))
    assert DoubtCode.SATURATED in codes(replace(profile, juice=juice))
    unsure = replace(profile.juice, topology=Figure(value=0.97, standard_error=0.01))
    assert DoubtCode.SATURATED not in codes(replace(profile, juice=unsure))


def test_three_times_the_highest_rate_ever_measured_is_far_away(profile):
    measured = max(rate for one in profile.sources.values() for rate in one.per_second if rate)
    assert DoubtCode.FAR_RATE not in codes(profile, rate=2.5 * measured)
    assert DoubtCode.FAR_RATE in codes(profile, rate=4.0 * measured)


def test_executors_far_busier_than_measured_are_a_doubt(profile, request):
    job = request.config.rootpath / "examples/word-count.yaml"
    question = {"plan": job, "step": "large-buffers"}
    limit = sg.predict(profile, **question).prediction.limit.per_second
    assert DoubtCode.FAR_UTILISATION in codes(profile, **question, rate=0.95 * limit)
    assert DoubtCode.FAR_UTILISATION not in codes(profile)


def test_a_strict_question_is_refused_with_every_code(profile):
    draining = in_state(profile, PeriodState.DRAINING)
    with pytest.raises(NotEnoughData, match="draining-period"):
        sg.predict(draining, strict=True)


def test_doubts_stand_before_the_answer(profile):
    report = sg.predict(in_state(profile, PeriodState.DRAINING))
    text = report.to_text()
    assert text.index("[draining-period]") < text.index("Fits")
    assert report.to_dict()["doubts"][0]["code"] == "draining-period"


def test_what_is_only_declared_is_not_in_doubt(request):
    assert sg.predict(request.config.rootpath / "examples/word-count.yaml").doubts == ()


@pytest.fixture
def more_tasks(request, tmp_path):
    """The bundled job submitted anew, with three times as many tasks that count words."""
    text = (request.config.rootpath / "examples/word-count.yaml").read_text()
    job = sg.load_job(request.config.rootpath / "examples/word-count.yaml")
    tasks = job.topology.operator("counter").tasks
    changed = tmp_path / "more.yaml"
    changed.write_text(text.replace(f"counter: {{tasks: {tasks}", f"counter: {{tasks: {3 * tasks}"))
    assert changed.read_text() != text
    return changed


def test_another_number_of_tasks_is_a_doubt_and_not_the_end(profile, more_tasks, request):
    found = sg.predict(profile, more_tasks)
    same = sg.predict(profile, request.config.rootpath / "examples/word-count.yaml")
    changed = {one.code for one in found.doubts} - {one.code for one in same.doubts}
    assert changed == {DoubtCode.TASKS_CHANGED}
    assert found.prediction.latency.mean == pytest.approx(same.prediction.latency.mean, rel=0.1)
    arrived = found.prediction.operators["counter"].arrived_per_second
    assert arrived == pytest.approx(same.prediction.operators["counter"].arrived_per_second)


def test_a_strict_question_about_other_tasks_is_refused(profile, more_tasks):
    with pytest.raises(NotEnoughData, match=r"counter 36 \(12 measured\).*tasks-changed"):
        sg.predict(profile, more_tasks, strict=True)


def test_of_keys_that_were_traced_the_engine_says_where_they_go(more_tasks, profile):
    """Thirty-six tasks share the words of twelve; executors are as many as before."""
    found = sg.predict(profile, more_tasks).prediction
    counters = [one for one in found.executors if one.name.startswith("counter")]
    assert len(counters) == found.operators["counter"].executors
    shares = [one.arrived_per_second for one in counters]
    assert sum(shares) == pytest.approx(found.operators["counter"].arrived_per_second)
    assert min(shares) > 0.0
