"""What is well measured, what is thin, what is missing."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from streamgauge.profile.figures import (
    Figure,
    InputFigures,
    LinkFigures,
    OutputFigures,
    Shares,
    TaskId,
    TaskProfile,
    WorkerFigures,
)
from streamgauge.profile.files.jobs import parse_profile
from streamgauge.profile.profile import Profile
from streamgauge.profile.quality import (
    FEWEST_BUCKETS,
    FEWEST_SAMPLES,
    LARGEST_RELATIVE_ERROR,
    Verdict,
    assess_profile,
    explain_thin,
)
from streamgauge.topology import Configuration
from tests.profile.measured import SENTENCES, WORDS, figure, times, topology, word_count
from tests.profile.texts import FIGURES
from tests.strategies import profiles


def verdicts(profile: Profile, verdict: Verdict) -> list[tuple[str, str, str]]:
    return [
        (one.operator, one.subject, one.what)
        for one in assess_profile(profile)
        if one.verdict is verdict
    ]


def find(profile: Profile, operator: str, what: str, subject: str = ""):
    (found,) = [
        one
        for one in assess_profile(profile)
        if (one.operator, one.what) == (operator, what) and subject in one.subject
    ]
    return found


def with_task(task: TaskId, **changed) -> Profile:
    """Word count with one task's figures changed."""
    profile = word_count()
    return word_count(tasks={**profile.tasks, task: replace(profile.tasks[task], **changed)})


def with_service(place: int, **wall) -> Profile:
    """Word count with another service time of one splitter."""
    return with_task(
        TaskId("splitter", place), inputs={SENTENCES: InputFigures(wall=times(0.4, **wall))}
    )


@pytest.mark.parametrize(
    ("seen", "thin"),
    [
        (Figure(value=1, samples=FEWEST_SAMPLES, buckets=FEWEST_BUCKETS), []),
        (Figure(value=1, samples=99, buckets=8), ["99 observations"]),
        (Figure(value=1, samples=100, buckets=7), ["7 buckets"]),
        (Figure(value=2, samples=100, buckets=8, standard_error=0.2), []),
        (Figure(value=2, samples=100, buckets=8, standard_error=0.21), ["standard error of 10%"]),
        (Figure(value=2, samples=5, buckets=5, standard_error=1), ["50%", "5 buckets", "5 obs"]),
        (Figure(value=0, samples=100, buckets=8, standard_error=1), []),
        (Figure(value=1), ["written by hand"]),
    ],
)
def test_a_figure_is_thin_by_error_buckets_or_observations(seen, thin):
    reasons = explain_thin(seen)
    assert len(reasons) == len(thin)
    assert all(word in reason for word, reason in zip(thin, reasons, strict=True))


def test_half_an_hour_of_metrics_is_well_measured():
    assert LARGEST_RELATIVE_ERROR == 0.10
    assert not verdicts(word_count(), Verdict.THIN)
    assert not verdicts(word_count(), Verdict.MISSING)


def test_every_figure_that_models_need_is_judged():
    good = verdicts(word_count(), Verdict.GOOD)
    assert ("splitter", "from sentences", "service time") in good
    assert ("splitter", "from sentences", "variability of service") in good
    assert ("splitter", "on words from sentences", "tuples out per tuple in") in good
    assert ("splitter", "on words to counter", "routing shares") in good
    assert ("sentences", "on default", "emission rate") in good
    assert ("report", "", "service time of a window") in good
    assert ("", "node-1 → node-2", "latency") in good
    assert ("", "node-1:6700", "cores in use") in good


def test_an_empty_profile_lacks_all_of_them():
    empty = Profile(topology=topology(), configuration=Configuration())
    assert not verdicts(empty, Verdict.GOOD)
    assert not verdicts(empty, Verdict.THIN)
    missing = verdicts(empty, Verdict.MISSING)
    assert ("splitter", "on words to counter", "routing shares") in missing
    assert ("report", "", "service time of a window") in missing
    assert ("", "any worker", "cores in use") in missing
    assert find(empty, "counter", "tasks").why == "no metrics from any of its 3 tasks"


def test_tasks_that_were_not_seen_are_named():
    tasks = {task: one for task, one in word_count().tasks.items() if task.place != 1}
    found = find(word_count(tasks=tasks), "splitter", "tasks")
    assert found.verdict is Verdict.MISSING
    assert found.why == "no metrics from these of its 4 tasks: 1"


def test_a_task_beside_one_that_was_seen_is_idle_and_not_missing():
    """Storm 2's shuffle gives all tuples to the first task of an executor."""
    whole = word_count()
    seen = replace(
        whole,
        configuration=whole.configuration.with_executors({"splitter": 2}),
        tasks={task: one for task, one in whole.tasks.items() if task != TaskId("splitter", 1)},
    )
    assert ("splitter", "", "tasks") not in verdicts(seen, Verdict.MISSING)
    silent = {task: one for task, one in seen.tasks.items() if task != TaskId("splitter", 0)}
    found = find(replace(seen, tasks=silent), "splitter", "tasks")
    assert found.why == "no metrics from these of its 4 tasks: 0, 1"


def test_tasks_are_judged_together():
    """Four splitters with 60,000 samples each: one with few does not make the operator thin."""
    found = find(with_service(2, samples=10), "splitter", "service time")
    assert found.verdict is Verdict.GOOD
    assert found.samples == 180_010
    assert found.why == "thin for tasks 2 by themselves"


def test_a_task_without_the_figure_is_named():
    profile = with_task(TaskId("splitter", 3), inputs={})
    assert "unknown for tasks 3" in find(profile, "splitter", "service time").why


def test_the_relative_error_is_that_of_the_pooled_figure():
    """Equal errors of 1 % in three equal tasks: 1 %/√3."""
    found = find(word_count(), "counter", "service time")
    assert found.relative_standard_error == pytest.approx(0.01 / 3**0.5)


def test_a_variability_that_was_not_recorded_is_missing_and_says_what_counts_instead():
    tasks = {
        task: replace(one, inputs={SENTENCES: InputFigures(wall=times(0.4, None))})
        if task.operator == "splitter"
        else one
        for task, one in word_count().tasks.items()
    }
    found = find(word_count(tasks=tasks), "splitter", "variability of service")
    assert found.verdict is Verdict.MISSING
    assert "exponential" in found.remedy


def test_cpu_time_stands_in_for_the_clock():
    inputs = {WORDS: InputFigures(cpu=times(0.02))}
    tasks = {
        task: replace(one, inputs=inputs) if task.operator == "counter" else one
        for task, one in word_count().tasks.items()
    }
    assert find(word_count(tasks=tasks), "counter", "service time").verdict is Verdict.GOOD


def routed(keys=(), **figures) -> Profile:
    tasks = {
        task: replace(one, outputs={"words": OutputFigures(**figures)})
        if task.operator == "splitter"
        else one
        for task, one in word_count().tasks.items()
    }
    return word_count(tasks=tasks, keys=dict(keys))


def test_routing_by_key_has_to_be_measured():
    assert find(routed(), "splitter", "routing shares").verdict is Verdict.MISSING


def test_routing_follows_from_known_keys():
    known = routed(keys=word_count().keys.items())
    judged = [(one.operator, one.what) for one in assess_profile(known)]
    assert ("splitter", "routing shares") not in judged


def test_an_even_split_need_not_be_measured():
    tasks = {
        task: replace(one, outputs={}) if task.operator == "sentences" else one
        for task, one in word_count().tasks.items()
    }
    missing = verdicts(word_count(tasks=tasks), Verdict.MISSING)
    assert ("sentences", "on default", "emission rate") in missing
    assert not [row for row in missing if row[2] == "routing shares"]


def test_shares_of_few_tuples_are_thin():
    """40 tuples by four tasks, half of them to one: √(0.5 · 0.5 / 40) / 0.5 = 15.8 %."""
    shares = Shares(parts=(0.5, 0.3, 0.2), samples=10, buckets=60)
    found = find(routed(shares={"counter": shares}), "splitter", "routing shares")
    assert (found.verdict, found.samples) == (Verdict.THIN, 40)
    assert found.relative_standard_error == pytest.approx(0.1581, abs=1e-4)


def test_outputs_that_are_not_linear_are_named():
    bent = routed(linear=False, coefficients={SENTENCES: figure(7.6)})
    found = find(bent, "splitter", "linearity")
    assert found.verdict is Verdict.THIN
    assert "4 of 4 tasks" in found.why


def test_too_little_to_tell_is_not_called_bent():
    assert not [one for one in assess_profile(routed()) if one.what == "linearity"]


def test_a_link_that_is_used_and_was_not_measured_is_named():
    found = find(word_count(links=()), "", "latency")
    assert (found.verdict, found.subject) == (Verdict.MISSING, "node-1 – node-2")


def test_one_direction_of_a_link_is_enough():
    (there, _) = word_count().links
    assert isinstance(there, LinkFigures)
    assert not verdicts(word_count(links=(there,)), Verdict.MISSING)


def test_nodes_that_send_each_other_nothing_need_no_link():
    """All on one node: no tuple crosses."""
    placement = dict.fromkeys(word_count().placement, "node-1:6700")
    alone = word_count(placement=placement, links=(), workers={})
    assert not [one for one in assess_profile(alone) if one.what == "latency"]


def test_workers_whose_cores_nobody_measured_are_named():
    workers = {"node-1:6700": WorkerFigures(cores=figure(1.0)), "node-2:6700": WorkerFigures()}
    missing = [
        row for row in verdicts(word_count(workers=workers), Verdict.MISSING) if row[2] != "latency"
    ]
    assert missing == [("", "node-2:6700", "cores in use")]


def test_windows_whose_outputs_were_not_counted_are_judged_by_rates():
    job = topology()
    streams = (*job.streams, replace(job.streams[-1], source="report", target="counter"))
    profile = Profile(
        topology=replace(job, streams=streams),
        configuration=Configuration(),
        tasks={
            TaskId("report", 0): TaskProfile(
                outputs={"default": OutputFigures(per_second=figure(1.0))}
            )
        },
    )
    found = find(profile, "report", "tuples out per window")
    assert (found.verdict, found.why) == (Verdict.GOOD, "from rates, as windows were not counted")


def test_what_is_written_by_hand_is_thin_and_says_so():
    found = find(parse_profile(FIGURES), "a", "service time")
    assert found.verdict is Verdict.THIN
    assert "written by hand" in found.why
    assert found.remedy == "measure it"


def test_a_record_is_flat():
    for one in assess_profile(word_count(links=())):
        record = one.to_dict()
        assert all(isinstance(value, str | int | float | None) for value in record.values())
        assert record["verdict"] in ("good", "thin", "missing")


@given(profiles())
@settings(max_examples=30)
def test_whatever_is_not_good_says_why_and_what_to_do(profile: Profile):
    for one in assess_profile(profile):
        assert one.verdict is Verdict.GOOD or (one.why and one.remedy)
