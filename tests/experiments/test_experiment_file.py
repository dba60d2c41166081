"""Experiment files: what they become, and what is said of wrong ones."""

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.experiments.files.experiment_file import load_experiment
from streamgauge.experiments.journal import (
    experiment_from_data,
    experiment_to_data,
    list_changes,
)
from streamgauge.experiments.studies import BottleneckSearch, LoadSweep
from streamgauge.topology.cluster import Cluster, Machine, Node
from tests.experiments.small import EXPERIMENT, small_experiment, write_experiment

HEAD = "streamgauge: 1\nexperiment: small\njob: {file: job.yaml}\n"


def problems_of(folder, text):
    with pytest.raises(InvalidInput) as raised:
        load_experiment(write_experiment(folder, text))
    return raised.value.problems


def rate_of(step):
    return sum(one.per_second for one in step.job.workload.emissions)


def test_a_step_changes_only_what_it_names(tmp_path):
    slow, fast, packed = small_experiment(tmp_path).steps
    assert (rate_of(slow), rate_of(fast), rate_of(packed)) == (50, 200, 100)
    assert slow.job.configuration.executors_of("work") == 1
    assert fast.job.configuration.executors_of("work") == 2
    assert slow.job.behaviours == fast.job.behaviours


def test_a_plan_by_hand_is_the_steps_plan(tmp_path):
    experiment = small_experiment(tmp_path)
    plan = experiment.step("packed").schedule(experiment.cluster).plan
    assert [str(worker) for worker in plan.workers] == ["n1:6700"]


def test_a_plan_by_hand_moves_to_the_nodes_that_there_are(tmp_path):
    experiment = small_experiment(tmp_path)
    there = Cluster(
        machines=(Machine(name="box", cores=2),),
        nodes=(Node(name="127.0.0.2", machine="box", ports=(7001,)),),
    )
    plan = experiment.step("packed").schedule(experiment.cluster, there).plan
    assert [str(worker) for worker in plan.workers] == ["127.0.0.2:7001"]


def test_without_steps_those_of_the_job_are_run(tmp_path):
    path = write_experiment(tmp_path, HEAD)
    with (tmp_path / "job.yaml").open("a") as job:
        job.write("steps: {one: {executors: 1}, two: {executors: {work: 2}}}\n")
    assert [step.name for step in load_experiment(path).steps] == ["one", "two"]


def test_a_job_may_stand_in_the_file_itself(tmp_path):
    job = "job:\n  streamgauge: 1\n  topology: {name: t, operators: {in: {kind: source}, out: {}}, "
    job += "streams: [{from: in, to: out, grouping: shuffle}]}\n  behaviours: {out: {}}\n"
    job += "  workload: [{source: in, per_second: 1}]\n"
    experiment = small_experiment(tmp_path, "streamgauge: 1\nexperiment: inline\n" + job)
    assert [step.name for step in experiment.steps] == ["t"]


def test_a_wrong_job_inside_is_told_by_the_line_of_the_experiment(tmp_path):
    text = "streamgauge: 1\nexperiment: x\njob:\n  streamgauge: 1\n  topology:\n    nam: t\n"
    found = {(one.line, one.path) for one in problems_of(tmp_path, text)}
    assert (6, "job.topology.nam") in found


@pytest.mark.parametrize(
    ("lines", "line", "path"),
    [
        ("windows: none\n", 4, "windows"),
        ("window: 3\n", 4, "window"),
        ("windows: 0\n", 4, "windows"),
        ("window_seconds: 2.5\nbucket_seconds: 1\n", 4, "window_seconds"),
        ("order: sideways\n", 4, "order"),
        ("warm_up: {seconds: 60,\n  most_seconds: 1}\n", 5, "warm_up.most_seconds"),
        ("steps:\n  a: {executors: {wrk: 2}}\n", 5, "steps.a.executors.wrk"),
        ("steps:\n  a:\n    rate: -1\n", 6, "steps.a.rate"),
        ("steps:\n  a:\n    rate: {out: 5}\n", 6, "steps.a.rate.out"),
        ("steps:\n  a:\n    service: {work: 0}\n", 6, "steps.a.service.work"),
        ("steps:\n  a:\n    placement: evn\n", 6, "steps.a.placement"),
        ("study: {}\n", 4, "study"),
        ("study: {halving: }\n", 4, "study"),
        ("steps:\n  a:\n    job: {file: 3}\n", 6, "steps.a.job.file"),
        ("base: {job: {file: job.yaml}}\n", 4, "base.job"),
        ("study:\n  sweep: {rates: [1, 1]}\n", 5, "study.sweep.rates[1]"),
        ("study:\n  sweep: {operator: work}\n", 5, "study.sweep"),
        ("study:\n  sweep: {rates: [1], events: {enter: 2, leave: 3}}\n", 5,
         "study.sweep.events.leave"),
        ("study:\n  halving: {operators: [wrk]}\n", 5, "study.halving.operators.wrk"),
        ("study:\n  fidelity: {reference: a}\nsteps: {b: {}, c: {}}\n", 5,
         "study.fidelity.reference"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line_and_key(tmp_path, lines, line, path):
    found = problems_of(tmp_path, HEAD + lines)
    assert [(one.line, one.path) for one in found] == [(line, path)]


def test_a_job_that_cannot_be_read_is_told_by_its_own_file(tmp_path):
    path = write_experiment(tmp_path, HEAD)
    (tmp_path / "job.yaml").write_text("streamgauge: 1\ntopology: {nme: x}\n")
    with pytest.raises(InvalidInput) as raised:
        load_experiment(path)
    assert raised.value.problems[0].file.endswith("job.yaml")


def test_a_step_may_have_another_job_and_an_application_is_one(tmp_path, project):
    application = project / "examples" / "applications" / "one-task.yaml"
    step = f"steps: {{a: {{}}, b: {{job: {{application: {application}}}, rate: 7}}}}\n"
    first, second = small_experiment(tmp_path, HEAD + step).steps
    assert first.job.topology.name == "tiny"
    assert second.job.topology.name == "one-task"
    assert rate_of(second) == 7


def test_what_is_changed_for_all_steps_is_changed_in_all_of_them(tmp_path):
    text = HEAD + "base: {rate: 30, placement: even}\nstudy: {halving: {operators: [work]}}\n"
    steps = small_experiment(tmp_path, text).steps
    assert [(step.name, rate_of(step), step.placement) for step in steps] == [
        ("as-is", 30, "even"),
        ("half-work", 30, "even"),
    ]


def test_the_order_follows_from_the_seed_and_has_every_step_once_a_round(tmp_path):
    first = small_experiment(tmp_path, EXPERIMENT + "seed: 7\n").turns()
    again = small_experiment(tmp_path, EXPERIMENT + "seed: 7\n").turns()
    orders = {
        tuple(small_experiment(tmp_path, f"{EXPERIMENT}seed: {seed}\n").turns())
        for seed in range(5)
    }
    assert first == again and len(orders) > 1
    assert {turn.step for turn in first[:3]} == {"slow", "fast", "packed"}
    assert [turn.repetition for turn in first] == [1, 1, 1, 2, 2, 2]


def test_a_declared_order_is_kept(tmp_path):
    turns = small_experiment(tmp_path, EXPERIMENT + "order: declared\n").turns()
    assert [turn.step for turn in turns] == ["slow", "fast", "packed"] * 2


def test_every_repetition_has_a_seed_of_its_own(tmp_path):
    experiment = small_experiment(tmp_path)
    assert len({experiment.seed_of(turn) for turn in experiment.turns()}) == 6


def test_a_sweep_makes_a_step_for_every_rate_and_the_first_is_the_baseline(tmp_path):
    experiment = small_experiment(tmp_path, HEAD + "study: {sweep: {rates: [10, 20.5]}}\n")
    assert [(step.name, rate_of(step)) for step in experiment.steps] == [
        ("rate-10", 10),
        ("rate-20.5", 20.5),
    ]
    assert isinstance(experiment.study, LoadSweep) and experiment.study.baseline == "rate-10"


def test_halving_makes_a_step_for_every_operator_that_is_no_source(tmp_path):
    experiment = small_experiment(tmp_path, HEAD + "study: {halving: {}}\n")
    means = {
        step.name: [step.job.behaviours[name].service.mean_ms for name in ("work", "out")]
        for step in experiment.steps
    }
    assert means == {"as-is": [1.0, 0.5], "half-work": [0.5, 0.5], "half-out": [1.0, 0.25]}
    assert isinstance(experiment.study, BottleneckSearch)


@pytest.mark.parametrize(
    "study",
    ["", "study: {sweep: {operator: work, factors: [1, 2]}}\n", "study: {halving: {}}\n"],
)
def test_an_experiment_comes_back_from_its_description(tmp_path, study):
    text = HEAD + study if study else EXPERIMENT
    experiment = small_experiment(tmp_path, text)
    assert experiment_from_data(experiment_to_data(experiment)) == experiment


def test_changes_are_named_by_their_place_and_what_it_is_for_may_change(tmp_path):
    before = experiment_to_data(small_experiment(tmp_path))
    other = EXPERIMENT.replace("rate: 50", "rate: 60").replace("windows: 2", "windows: 3")
    now = experiment_to_data(small_experiment(tmp_path, other + "about: again\n"))
    assert list_changes(before, now) == [
        "steps.slow.job.workload[0].per_second: 60.0, was 50.0",
        "windows: 3, was 2",
    ]
