"""The experiments that come with Streamgauge."""

from collections import Counter

import pytest

from streamgauge.experiments.files.experiment_file import load_experiment

STEPS = {
    "three-steps": ["even", "apart", "more"],
    "load-sweep": ["task-x1", "task-x2", "task-x2.45", "task-x2.6", "task-x2.8", "task-x4"],
    "bottleneck-search": [
        "as-is",
        "half-event_deserializer",
        "half-event_filter",
        "half-event_projection",
        "half-redis_join",
        "half-campaign_processor",
    ],
    "fidelity": ["original", "imitation"],
    "acker-placement": ["even", "one-per-worker", "isolated-queue"],
}


@pytest.fixture(scope="module")
def examples(project):
    return {path.stem: path for path in (project / "examples" / "experiments").glob("*.yaml")}


def test_every_example_is_known_here(examples):
    assert set(examples) == set(STEPS)


@pytest.mark.parametrize("name", STEPS)
def test_every_example_has_its_steps_and_says_what_it_is_for(examples, name):
    experiment = load_experiment(examples[name])
    assert [step.name for step in experiment.steps] == STEPS[name]
    assert experiment.about and experiment.repetitions >= 2


def test_the_step_apart_has_every_hop_between_nodes(examples):
    experiment = load_experiment(examples["three-steps"])
    plan = experiment.step("apart").schedule(experiment.cluster).plan
    nodes = {one.operator: plan.worker_of(one).node for one in plan.logical.executors}
    assert nodes["events"] == nodes["out"] == "n1"
    assert nodes["work"] == "n2"


@pytest.mark.parametrize(
    ("step", "ackers"),
    [
        ("even", {("n1", 6700): 1, ("n2", 6700): 1}),
        ("one-per-worker", {("n1", 6700): 1, ("n1", 6701): 1}),
        ("isolated-queue", {("n1", 6702): 2}),
    ],
)
def test_ackers_are_where_each_scheduler_puts_them(examples, step, ackers):
    experiment = load_experiment(examples["acker-placement"])
    plan = experiment.step(step).schedule(experiment.cluster).plan
    assert Counter(plan.worker_of(one) for one in plan.logical.executors_of("__acker")) == ackers


def test_the_loads_of_the_sweep_are_those_of_the_paper(examples):
    # 500, 1225 and 2000 thousand cycles at 1350 thousand a millisecond.
    steps = {step.name: step for step in load_experiment(examples["load-sweep"]).steps}
    means = [
        steps[name].job.behaviours["task"].service.mean_ms
        for name in ("task-x1", "task-x2.45", "task-x4")
    ]
    assert means == pytest.approx([500 / 1350, 1225 / 1350, 2000 / 1350], rel=0.01)


def test_the_imitation_has_the_loads_of_the_original(examples):
    original, imitation = load_experiment(examples["fidelity"]).steps
    wanted = original.job.behaviours["deserializer"].service.mean_ms
    found = imitation.job.behaviours["event_deserializer"].service.mean_ms
    assert found == pytest.approx(wanted, rel=0.01)
