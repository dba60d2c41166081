"""What observations by task say of operators: plateaus, knees, exponents, and who is to blame."""

from dataclasses import replace

import pytest

from streamgauge.models.measured_capacity import Basis, fit_curves, fit_operators, learn_scaling
from streamgauge.models.observations import list_runs
from streamgauge.profile.figures import Figure, InputFigures, Saturation, TaskId
from streamgauge.profile.observed import Scaling, TaskSteps
from streamgauge.topology.topology import StreamKey
from tests.models.observed_jobs import ALPHA, IN, job, observed, profile_of


def fit(*plans, **executors):
    return fit_operators(profile_of(*plans, **executors))


def test_pressed_observations_tell_the_saturation_point_of_an_executor():
    (curve,) = fit(observed(3))["splitter"].curves
    assert curve.basis is Basis.PRESSURE
    assert curve.instance.value == pytest.approx(200.0, rel=0.01)
    assert curve.amplification.value == pytest.approx(ALPHA)
    assert curve.throughput == pytest.approx(800.0, rel=0.01)
    assert (curve.saturated, curve.free, curve.caution) == (24, 48, "")


def test_ninety_of_a_hundred_intervals_hold_the_saturation_point():
    """What disturbs all executors at once counts once."""
    held = []
    for seed in range(100):
        (curve,) = fit_curves(list_runs(profile_of(observed(3, seed=seed)))["splitter"])
        held.append(abs(curve.instance.value - 200.0) <= curve.instance.half_width)
    assert 0.82 <= sum(held) / len(held) <= 0.98


def test_where_senders_are_not_held_back_a_knee_tells_it():
    (curve,) = fit(observed(3, pressed=False))["splitter"].curves
    assert curve.basis is Basis.KNEE
    assert curve.instance.value == pytest.approx(200.0, rel=0.01)
    assert curve.at_least <= curve.instance.value


def test_without_a_saturated_observation_only_a_lower_bound_is_known():
    fits = fit(observed(3, loads=(0.3, 0.6)))
    (curve,) = fits["splitter"].curves
    assert (curve.basis, curve.instance) == (Basis.UNKNOWN, None)
    assert curve.at_least == pytest.approx(0.6 * 200.0, rel=0.05)
    assert fits["splitter"].capacities(3) is None


def test_without_a_free_observation_it_is_flagged():
    (curve,) = fit(observed(3, loads=(1.5,)))["splitter"].curves
    assert curve.caution == "no observation below saturation"


def test_who_is_held_back_by_others_further_on_is_not_to_blame():
    plan = observed(3)
    full = plan.tasks["splitter"]["0"].backpressure
    counters = {
        place: replace(one, backpressure=full) for place, one in plan.tasks["counter"].items()
    }
    fits = fit(replace(plan, tasks={**plan.tasks, "counter": counters}))
    assert fits["splitter"].curves[0].instance is None
    assert fits["counter"].curves[0].basis is Basis.PRESSURE


def test_an_executor_has_the_tasks_that_its_plan_gave_it():
    """Of twelve tasks over five executors, the first two have three."""
    run = list_runs(profile_of(observed(5, noise=0.0)))["splitter"][0]
    assert run.demand[0] / run.demand[0].sum() * 12 == pytest.approx([3, 3, 2, 2, 2])


def test_dearer_streams_count_for_more():
    profile = profile_of(observed(3))
    other = StreamKey("spout", "other")
    task = profile.tasks[TaskId("splitter", 0)]
    assert other not in task.inputs
    dear = replace(task.inputs[IN].wall, mean_ms=Figure(value=3.0, samples=1000, buckets=20))
    tasks = {
        key: replace(one, inputs={IN: InputFigures(per_second=Figure(value=1.0), wall=dear)})
        if key.operator == "splitter"
        else one
        for key, one in profile.tasks.items()
    }
    # One stream alone always costs one.
    run = list_runs(replace(profile, tasks=tasks))["splitter"][0]
    assert run.demand.sum() == pytest.approx(list_runs(profile)["splitter"][0].demand.sum())


def test_the_exponent_is_learned_from_plans_with_other_parallelisms():
    plans = [observed(p, capacity=200.0 * p**-0.3, seed=p) for p in (1, 2, 4)]
    scaling = learn_scaling(profile_of(*plans))["splitter"]
    assert scaling.exponent == pytest.approx(0.7, abs=0.01)
    assert scaling.executors == (1, 2, 4)
    stored = replace(profile_of(*plans), scaling={"splitter": scaling})
    rules = fit_operators(stored)["splitter"].capacities(8)
    assert rules.curve.executors == 4
    assert rules.linear.value == pytest.approx(8 * 200.0 * 4**-0.3, rel=0.02)
    assert rules.power.value == pytest.approx(200.0 * 8**0.7, rel=0.02)
    assert rules.best is rules.power


def test_one_parallelism_gives_the_linear_rule_alone():
    profile = profile_of(observed(3))
    assert learn_scaling(profile) == {}
    rules = fit_operators(profile)["splitter"].capacities(6)
    assert rules.power is None
    assert rules.best.value == pytest.approx(1200.0, rel=0.01)


def test_an_exponent_that_was_written_by_hand_needs_no_observations():
    fits = fit_operators(replace(job(), scaling={"splitter": Scaling(exponent=0.55)}))
    assert fits["splitter"].scaling.exponent == 0.55


def test_older_profiles_have_observations_by_operator():
    """Before tasks were told apart, profiles kept input, output and back-pressure of operators."""
    rows = [Saturation("p", 3, 1.0, 300.0, 1200.0, 0.0)] * 5
    rows += [Saturation("p", 3, 1.0, 600.0, 2400.0, 0.97)] * 5
    (curve,) = fit_operators(replace(job(), saturation={"splitter": rows}))["splitter"].curves
    assert curve.instance.value == pytest.approx(200.0)
    assert curve.caution == "executors taken as alike"


def test_psi_of_all_loads():
    found = fit(observed(3))["splitter"].output_cpu
    assert found.psi.value == pytest.approx(0.001, rel=0.01)
    assert found.idle_cores == pytest.approx(0.1, rel=0.05)


def test_single_steps_gone_wrong_hardly_count():
    plan = observed(3)
    rows = {}
    for place, one in plan.tasks["splitter"].items():
        wrong = list(one.inputs[IN])
        wrong[-1] *= 20.0
        rows[place] = TaskSteps(
            inputs={IN: tuple(wrong)}, outputs=one.outputs, backpressure=one.backpressure
        )
    (curve,) = fit(replace(plan, tasks={**plan.tasks, "splitter": rows}))["splitter"].curves
    assert curve.instance.value == pytest.approx(200.0, rel=0.02)
