"""The back-test: what was measured of the measured plan, beside what is predicted of it."""

from dataclasses import replace

import pytest

from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.back_test import COMPLETE, MEAN, back_test
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.measured_plan import measured_plan, measured_workload
from streamgauge.profile.figures import Figure, TaskId, TimeFigures
from streamgauge.profile.files.jobs import load_profile

PROFILE = load_profile("examples/word-count.profile.json")
PREDICTION = AnalyticModel().predict(
    JobBehaviour.from_profile(PROFILE), measured_plan(PROFILE), measured_workload(PROFILE)
)


def by_name(profile):
    return {one.name: one for one in back_test(profile, PREDICTION)}


def test_complete_latency_rates_and_cores_stand_beside_what_was_measured():
    tested = by_name(PROFILE)
    assert tested[COMPLETE].predicted == PREDICTION.complete.mean
    assert tested[COMPLETE].error == pytest.approx(
        PREDICTION.complete.mean / tested[COMPLETE].measured - 1.0
    )
    assert tested["into splitter"].measured == pytest.approx(200.0, rel=0.05)
    assert "CPU of n1:6700" in tested


def test_bytes_of_workers_stand_beside_what_they_sent():
    name = "n1:6700"
    worker = replace(PROFILE.workers[name], bytes_per_second=Figure(value=1e5, samples=60))
    tested = by_name(replace(PROFILE, workers={**PROFILE.workers, name: worker}))
    (sender,) = [one for one in PREDICTION.bytes.workers if one.name == name]
    one = tested[f"bytes from {name}"]
    assert (one.unit, one.measured, one.predicted) == ("B/s", 1e5, sender.sent_bytes_per_second)


def test_sinks_are_pooled_by_their_samples():
    first, second = (
        replace(
            PROFILE.tasks[TaskId("counter", place)],
            end_to_end={"spout": TimeFigures(mean_ms=Figure(value=mean, samples=samples))},
        )
        for place, mean, samples in ((0, 1.0, 300), (1, 5.0, 100))
    )
    tasks = {**PROFILE.tasks, TaskId("counter", 0): first, TaskId("counter", 1): second}
    others = {
        task: replace(one, end_to_end={}) if task not in (("counter", 0), ("counter", 1)) else one
        for task, one in tasks.items()
    }
    assert by_name(replace(PROFILE, tasks=others))[MEAN].measured == pytest.approx(2e-3)


def test_what_was_not_measured_is_not_tested():
    blind = {task: replace(one, end_to_end={}) for task, one in PROFILE.tasks.items()}
    assert MEAN not in by_name(replace(PROFILE, tasks=blind, workers={}))
    assert not any("CPU" in name for name in by_name(replace(PROFILE, workers={})))
