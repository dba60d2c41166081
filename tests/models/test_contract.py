"""Which plans a job's behaviour can be used for, and what a refusal says."""

from dataclasses import replace

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.contract import load_model, model_names
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.plan_check import check_plan
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import load_profile, parse_job

JOB = """
streamgauge: 1
topology:
  name: t
  acked: false
  operators:
    s: {kind: source}
    split: {tasks: 4}
    count: {tasks: 4}
  streams:
    - {from: s, to: split, grouping: shuffle}
    - {from: split, to: count, stream: words, grouping: {fields: [word]}}
behaviours:
  s: {service: {cpu_ms: 0.1}}
  split:
    service: {cpu_ms: 2}
    outputs: {words: 3}
    keys: {words: {given: {weights: {a: 5, b: 3, c: 1}}}}
  count: {service: {cpu_ms: 0.5}, relative_service: [1, 2, 3, 4]}
configuration: {engine: ENGINE, executors: {split: 2, count: 2}, workers: 2}
cluster: {uniform: {nodes: 2, cores: 8}}
workload: [{source: s, per_second: 50}]
"""


def job(*changes, engine="storm-1"):
    text = JOB.replace("ENGINE", engine)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse_job(text)


def refusal(*changes):
    with pytest.raises(InvalidInput) as error:
        check_plan(JobBehaviour.from_job(job()), place_job(job(*changes)).plan)
    return str(error.value)


@pytest.mark.parametrize("engine", ["storm-1", "storm-2"])
def test_operators_are_matched_by_name_whatever_their_order(engine):
    """Storm 1.x numbers tasks as operators are declared, so that all numbers differ."""
    mine = job(engine=engine)
    split, count = "    split: {tasks: 4}\n", "    count: {tasks: 4}\n"
    other = job((split + count, count + split), engine=engine)
    behaviour = JobBehaviour.from_job(mine)
    # Every executor where the one with the same tasks of its operator is.
    plan = place_job(mine).plan
    swapped = place_job(other).plan
    worker = {
        (one.operator, one.first_task - plan.logical.tasks_of(one.operator).start): place
        for one, place in zip(plan.logical.executors, plan.placement, strict=True)
    }
    placement = tuple(
        worker[one.operator, one.first_task - swapped.logical.tasks_of(one.operator).start]
        for one in swapped.logical.executors
    )
    swapped = replace(swapped, workers=plan.workers, placement=placement)
    if engine == "storm-1":
        assert swapped.logical.tasks_of("count") == plan.logical.tasks_of("split")
    first, second = (
        AnalyticModel().predict(behaviour, one, mine.workload) for one in (plan, swapped)
    )
    assert second.latency.mean == pytest.approx(first.latency.mean, rel=1e-9)
    busy = [
        sorted((one.operator, round(one.utilisation, 12)) for one in found.executors)
        for found in (first, second)
    ]
    assert busy[0] == busy[1]


def test_a_plan_of_another_name_is_taken_with_a_note():
    other = job(("name: t", "name: copy"))
    found = AnalyticModel().predict(
        JobBehaviour.from_job(job()), place_job(other).plan, other.workload
    )
    assert (
        "the plan is of topology 'copy', which has the same operators and streams as 't'"
        in found.notes
    )


def test_a_refusal_says_what_differs():
    tasks = refusal(
        ("count: {tasks: 4}", "count: {tasks: 8}"), (", relative_service: [1, 2, 3, 4]", "")
    )
    assert "tasks of count: 4 in the job file, 8 in the plan" in tasks
    grouping = refusal(
        ("{from: s, to: split, grouping: shuffle}", "{from: s, to: split, grouping: global}")
    )
    assert "stream s/default → split: shuffle in the job file, global in the plan" in grouping
    keys = refusal(("fields: [word]", "fields: [letter]"))
    assert "split/words → count: fields(word) in the job file, fields(letter) in the plan" in keys
    acked = refusal(("acked: false", "acked: true"))
    assert "acknowledgements: on in the plan, off in the job file" in acked


def test_operators_and_streams_of_one_side_alone_are_named():
    message = refusal(
        ("    count: {tasks: 4}\n", "    count: {tasks: 4}\n    log: {}\n"),
        (
            "grouping: {fields: [word]}}",
            "grouping: {fields: [word]}}\n    - {from: s, to: log, grouping: shuffle}",
        ),
        ("  count: {service", "  log: {}\n  count: {service"),
    )
    assert "operators only in the plan: log" in message
    assert "streams" not in message
    window = refusal(
        ("count: {tasks: 4}", "count: {tasks: 4, window: {length_tuples: 10}}"),
        ("service: {cpu_ms: 0.5}", "service: {cpu_ms: 0.5}, window: {}"),
    )
    assert "window of count: none in the job file, 10 tuples in the plan" in window


def test_of_a_measured_job_it_is_the_profile_that_differs():
    behaviour = JobBehaviour.from_profile(load_profile("examples/word-count.profile.json"))
    with pytest.raises(InvalidInput, match=r"that differs: .* in the profile"):
        check_plan(behaviour, place_job(job()).plan)


def test_a_stream_that_one_side_has_alone_is_named():
    message = refusal(
        (
            "grouping: {fields: [word]}}",
            "grouping: {fields: [word]}}\n    - {from: s, to: count, grouping: shuffle}",
        )
    )
    assert "streams only in the plan: s/default → count" in message


def predict(*changes):
    changed = job(*changes)
    behaviour = JobBehaviour.from_job(changed)
    return AnalyticModel().predict(behaviour, place_job(changed).plan, changed.workload)


@pytest.mark.parametrize("model", model_names())
def test_sources_that_emit_nothing_are_refused(model):
    silent = job(("per_second: 50", "per_second: 0"))
    behaviour, plan = JobBehaviour.from_job(silent), place_job(silent).plan
    with pytest.raises(InvalidInput, match="workload: sources that emit nothing"):
        load_model(model).predict(behaviour, plan, silent.workload)


def test_one_silent_source_of_several_is_no_matter():
    second = ("    s: {kind: source}\n", "    s: {kind: source}\n    r: {kind: source}\n")
    stream = ("    - {from: s,", "    - {from: r, to: split, grouping: shuffle}\n    - {from: s,")
    rates = ("per_second: 50}", "per_second: 50}, {source: r, per_second: 0}")
    assert predict(second, stream, rates).latency.mean == pytest.approx(
        predict().latency.mean, rel=0.05
    )


def test_a_time_of_more_than_thirty_years_is_refused_with_its_place():
    with pytest.raises(InvalidInput, match=r"behaviours.count.service.cpu_ms: 1e\+300; expected"):
        job(("cpu_ms: 0.5", "cpu_ms: 1e300"))


def test_work_beyond_all_numbers_names_its_operator():
    with pytest.raises(
        InvalidInput, match=r"count: an executor with .* seconds of work per second"
    ):
        predict(("cpu_ms: 0.5", "cpu_ms: {gamma: {mean: 1, scv: 1e300}}"))
    with pytest.raises(InvalidInput, match=r"count.relative_service\[3\]: 1e\+300; expected"):
        job(("[1, 2, 3, 4]", "[1, 2, 3, 1e300]"))
