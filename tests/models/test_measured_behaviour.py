"""From what was measured to how operators behave, by hand."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.models.distribution_fitting import from_moments
from streamgauge.models.job_behaviour import JobBehaviour, Origin
from streamgauge.models.simulated_job import simulator_behaviours
from streamgauge.profile.behaviour import Behaviour, check_behaviours
from streamgauge.profile.distribution import Constant, Exponential, Gamma
from streamgauge.profile.figures import (
    Figure,
    InputFigures,
    OutputFigures,
    TaskId,
    TaskProfile,
    TimeFigures,
)
from streamgauge.profile.keys import UniformKeys
from streamgauge.profile.profile import Profile
from streamgauge.topology import (
    Configuration,
    Operator,
    OperatorKind,
    Shuffle,
    Stream,
    StreamKey,
    Topology,
    Window,
)
from tests.strategies import profiles

IN = StreamKey("s", "default")
SANE = st.floats(min_value=1e-3, max_value=1e3)


def time(mean: float, scv: float | None = None, samples: int = 0, **more) -> TimeFigures:
    return TimeFigures(
        mean_ms=Figure(value=mean, samples=samples),
        scv=None if scv is None else Figure(value=scv),
        **more,
    )


def derive(profile: Profile) -> dict[str, Behaviour]:
    """What the simulator makes of a profile's behaviour: distributions with its moments."""
    return simulator_behaviours(JobBehaviour.from_profile(profile))


def derived(*tasks: TaskProfile, **more):
    """The behaviour of `a` in s → a → z, of whose tasks these were seen."""
    return derive(profile_of(*tasks, **more))["a"]


def profile_of(
    *tasks: TaskProfile, window: Window | None = None, count: int | None = None, **more
) -> Profile:
    """A profile of s → a → z with these tasks of a."""
    operators = (
        Operator(name="s", kind=OperatorKind.SOURCE),
        Operator(name="a", tasks=count or len(tasks), window=window),
        Operator(name="z"),
    )
    streams = (
        Stream(source="s", target="a", grouping=Shuffle()),
        Stream(source="a", target="z", name="out", grouping=Shuffle()),
    )
    sink = TaskProfile(inputs={StreamKey("a", "out"): InputFigures(wall=time(1))})
    seen = {TaskId("a", place): task for place, task in enumerate(tasks)}
    return Profile(
        topology=Topology(name="t", operators=operators, streams=streams),
        configuration=Configuration(),
        tasks={**seen, TaskId("z", 0): sink},
        **more,
    )


def received(**figures) -> TaskProfile:
    return TaskProfile(inputs={IN: InputFigures(**figures)})


def emitting(window: TimeFigures | None = None, arrivals: float | None = None, **figures):
    rate = None if arrivals is None else Figure(value=arrivals)
    return TaskProfile(
        inputs={IN: InputFigures(wall=time(1), per_second=rate)},
        outputs={"out": OutputFigures(**figures)},
        window=window,
    )


def test_one_task_is_as_it_was_measured():
    service = derived(received(wall=time(4, scv=0.5))).service_of(IN)
    assert (service.mean_ms, service.scv) == pytest.approx((4.0, 0.5))


def test_a_time_of_unknown_variability_is_exponential():
    assert derived(received(wall=time(4))).service_of(IN).cpu_ms == Exponential(mean=4.0)


def test_tasks_are_pooled_by_what_they_handled():
    """300 tuples of 2 ms and 100 of 6 ms: mean 3 ms."""
    slow, fast = received(wall=time(6, 0.5, 100)), received(wall=time(2, 1.0, 300))
    assert derived(fast, slow).service_of(IN).mean_ms == pytest.approx(3.0)


def test_tasks_without_samples_count_alike():
    assert derived(received(wall=time(2)), received(wall=time(6))).service_of(IN).mean_ms == 4.0


def test_equal_means_pool_to_the_mean_variance():
    """Mean 2, variances 4 × 0.5 and 4 × 1.5, weights 1 and 3: variance 5."""
    service = derived(received(wall=time(2, 0.5, 1)), received(wall=time(2, 1.5, 3))).service_of(IN)
    assert service.cpu_ms.variance == pytest.approx(5.0)


def totals(behaviour: Behaviour, weights: tuple[float, ...]) -> tuple[float, float]:
    """Mean and variance over all tuples, where tasks handle such parts of them."""
    service = behaviour.service_of(IN).cpu_ms
    speeds = behaviour.relative_service or (1.0,) * len(weights)
    parts = [service.scale(speed) for speed in speeds]
    mean = sum(w * part.mean for w, part in zip(weights, parts, strict=True))
    second = sum(w * (part.variance + part.mean**2) for w, part in zip(weights, parts, strict=True))
    return mean, second - mean**2


def test_tasks_together_have_the_mean_and_variance_that_was_measured():
    """Law of total variance: within 0.75·4 + 0.25·18 = 7.5, between 0.75·1 + 0.25·9 = 3."""
    behaviour = derived(received(wall=time(2, 1.0, 300)), received(wall=time(6, 0.5, 100)))
    assert totals(behaviour, (0.75, 0.25)) == pytest.approx((3.0, 10.5))


@pytest.mark.parametrize("samples", [(100, 100), (300, 100), (1, 1000)])
@pytest.mark.parametrize("clock", ["wall", "cpu"])
def test_a_task_s_speed_reproduces_its_mean(clock, samples):
    tasks = [
        received(**{clock: time(mean, 1.0, many)})
        for mean, many in zip((2, 6), samples, strict=True)
    ]
    behaviour = derived(*tasks)
    mean = behaviour.service_of(IN).mean_ms
    assert [speed * mean for speed in behaviour.relative_service or ()] == pytest.approx([2.0, 6.0])


def test_tasks_alike_have_no_speeds():
    assert derived(received(wall=time(2)), received(wall=time(2))).relative_service is None


def test_a_task_that_was_not_seen_is_as_fast_as_all_together():
    behaviour = derived(received(wall=time(2)), received(wall=time(6)), count=3)
    assert behaviour.relative_service == pytest.approx((0.5, 1.5, 1.0))


def test_a_figure_by_hand_beside_a_measured_zero_is_no_error():
    behaviour = derived(received(wall=time(5)), received(wall=time(0, samples=10)))
    assert behaviour.service_of(IN).mean_ms >= 0.0


def test_an_uneven_mix_of_inputs_is_no_difference_in_speed():
    """Both tasks take 1 ms for a tuple of s and 9 ms for one of a, in another mix."""
    topology = Topology(
        name="t",
        operators=(Operator(name="s", kind=OperatorKind.SOURCE), Operator(name="a", tasks=2)),
        streams=(
            Stream(source="s", target="a", grouping=Shuffle()),
            Stream(source="s", target="a", name="rare", grouping=Shuffle()),
        ),
    )
    rare = StreamKey("s", "rare")
    tasks = {
        TaskId("a", place): TaskProfile(
            inputs={
                IN: InputFigures(wall=time(1, 1.0, often)),
                rare: InputFigures(wall=time(9, 1.0, 1000 - often)),
            }
        )
        for place, often in enumerate((900, 100))
    }
    profile = Profile(topology=topology, configuration=Configuration(), tasks=tasks)
    assert derive(profile)["a"].relative_service is None


def test_waiting_is_what_the_clock_shows_beyond_the_core():
    """Wall 5 ± √5, CPU 2 ± √2: waiting 3 ± √3."""
    service = derived(received(wall=time(5, 0.2), cpu=time(2, 0.5))).service_of(IN)
    assert (service.cpu_ms.mean, service.cpu_ms.variance) == pytest.approx((2.0, 2.0))
    assert (service.wait_ms.mean, service.wait_ms.variance) == pytest.approx((3.0, 3.0))


def test_a_core_busier_than_the_clock_leaves_no_waiting():
    service = derived(received(wall=time(2, 0.2), cpu=time(3, 0.5))).service_of(IN)
    assert (service.cpu_ms.mean, service.wait_ms) == (pytest.approx(3.0), Constant(value=0.0))


def test_cpu_time_alone_is_all_there_is():
    service = derived(received(cpu=time(2, 0.5))).service_of(IN)
    assert (service.cpu_ms, service.wait_ms) == (Gamma(mean=2.0, scv=0.5), Constant(value=0.0))


def test_measured_quantiles_keep_the_measured_mean():
    times = time(4, quantiles_ms={0.5: 2.0, 0.9: 6.0, 0.99: 20.0})
    assert derived(received(wall=times)).service_of(IN).mean_ms == pytest.approx(4.0)


def test_measured_quantiles_keep_the_measured_variability():
    times = time(4, scv=0.7, quantiles_ms={0.5: 2.0, 0.9: 6.0, 0.99: 20.0})
    assert derived(received(wall=times)).service_of(IN).scv == pytest.approx(0.7, rel=0.05)


@pytest.mark.parametrize("truth", [stats.expon(), stats.gamma(4, scale=0.25), stats.lognorm(s=0.8)])
def test_measured_quantiles_give_back_about_the_same(truth):
    quantiles = {p: float(truth.ppf(p)) for p in (0.5, 0.9, 0.95, 0.99)}
    times = time(float(truth.mean()), quantiles_ms=quantiles)
    service = derived(received(wall=times)).service_of(IN).cpu_ms
    given_back = {p: service.quantile(p) for p in quantiles}
    assert given_back == pytest.approx(quantiles, rel=0.2)


def test_one_quantile_does_not_make_a_time_constant():
    assert derived(received(wall=time(4, quantiles_ms={0.99: 20.0}))).service_of(IN).scv > 0.1


def test_coefficients_are_pooled_by_samples():
    """30 × 2 and 10 × 5 over 40."""
    tasks = [
        emitting(coefficients={IN: Figure(value=2, samples=30)}),
        emitting(coefficients={IN: Figure(value=5, samples=10)}),
    ]
    assert derived(*tasks).outputs_of(IN)["out"].mean == pytest.approx(2.75)


def test_bytes_are_pooled_by_samples():
    """1 × 100 and 3 × 300 over 4."""
    tasks = [
        emitting(bytes=Figure(value=100, samples=1)),
        emitting(bytes=Figure(value=300, samples=3)),
    ]
    assert derived(*tasks).bytes == {"out": Constant(value=250.0)}


def test_keys_of_a_stream_go_with_it():
    keys = UniformKeys(count=3)
    assert derived(received(wall=time(1)), keys={StreamKey("a", "out"): keys}).keys == {"out": keys}


COUNTED = Window(length_tuples=30, slide_tuples=10)
TIMED = Window(length_seconds=10, slide_seconds=5)


@pytest.mark.parametrize(
    ("window", "arrivals", "emitted"),
    [
        # 40/s in tens are 4 triggers/s; 8/s out are 2 a trigger.
        (COUNTED, 20, 4),
        # Two tasks every 5 s are 0.4 triggers/s; 0.8/s out are 2 a trigger.
        (TIMED, 20, 0.4),
        (TIMED, None, 0.4),
    ],
)
def test_outputs_of_a_window_are_per_trigger(window, arrivals, emitted):
    task = emitting(time(8), arrivals, per_second=Figure(value=emitted))
    function = derived(task, task, window=window).window
    assert function is not None
    assert function.outputs["out"].mean == pytest.approx(2.0)


def test_a_trigger_takes_the_time_that_was_measured():
    function = derived(emitting(time(8, 0.5)), window=COUNTED).window
    assert function is not None
    assert function.service.mean_ms == pytest.approx(8.0)


@pytest.mark.parametrize("trigger", [time(8), None])
def test_a_windowed_operator_gives_nothing_per_tuple(trigger):
    """Its outputs come with the trigger; counted per tuple as well they would come twice."""
    figures = {"per_second": Figure(value=4), "coefficients": {IN: Figure(value=0.2)}}
    behaviour = derived(emitting(trigger, 20, **figures), window=COUNTED)
    assert sum(one.mean for one in behaviour.outputs_of(IN).values()) == 0.0


def test_what_was_counted_per_trigger_beats_what_rates_say():
    """10 triggers of 3 and 30 of 5: 4.5 a trigger, whatever the rates."""
    tasks = [
        emitting(time(8), 20, per_second=Figure(value=99), per_trigger=Figure(value=3, samples=10)),
        emitting(time(8), 20, per_second=Figure(value=99), per_trigger=Figure(value=5, samples=30)),
    ]
    function = derived(*tasks, window=COUNTED).window
    assert function is not None
    assert function.outputs["out"].mean == pytest.approx(4.5)


def test_triggers_that_were_counted_beat_what_the_slide_says():
    """6/s out of 1.5 triggers/s are 4 a trigger; by the slide of 10 of 20/s it would be 3."""
    task = replace(
        emitting(time(8), 20, per_second=Figure(value=6)), triggers_per_second=Figure(value=1.5)
    )
    function = derived(task, window=COUNTED).window
    assert function is not None
    assert function.outputs["out"].mean == pytest.approx(4.0)


def test_a_trigger_waits_for_what_the_clock_shows_beyond_the_core():
    task = replace(emitting(time(8, 0.5)), window_cpu=time(3, 1.0))
    function = derived(task, window=COUNTED).window
    assert function is not None
    assert function.service.cpu_ms.mean == pytest.approx(3.0)
    assert function.service.wait_ms.mean == pytest.approx(5.0)


def test_where_only_the_clock_says_how_times_vary_the_part_on_a_core_varies_alike():
    """Of 8 ms ± 4, six on a core by regression: ± 3, not the ± 6 of an exponential time."""
    service = derived(received(wall=time(8, 0.25), cpu=time(6))).service_of(IN)
    assert service.cpu_ms.scv == pytest.approx(0.25)
    assert service.cpu_ms.variance + service.wait_ms.variance == pytest.approx(16.0)


def test_failures_are_pooled_by_what_was_handled():
    """30 tuples of which a tenth failed, 10 of which half did: 8 of 40."""
    tasks = [
        received(wall=time(1), failed_share=Figure(value=0.1, samples=30)),
        received(wall=time(1), failed_share=Figure(value=0.5, samples=10)),
    ]
    assert derived(*tasks).fails == pytest.approx(0.2)


def test_nothing_fails_where_no_failure_was_seen():
    assert derived(received(wall=time(1))).fails == 0.0


def test_streams_of_the_engine_are_no_behaviour():
    """What a processor sends to the acker is no output, and what it costs no service time."""
    topology = Topology(
        name="t",
        operators=(Operator(name="s", kind=OperatorKind.SOURCE), Operator(name="a")),
        streams=(Stream(source="s", target="a", grouping=Shuffle()),),
        acked=True,
    )
    tasks = {
        TaskId("s", 0): TaskProfile(
            inputs={StreamKey("__acker", "__ack_ack"): InputFigures(wall=time(7))},
            outputs={"__ack_init": OutputFigures(wall=time(9))},
        ),
        TaskId("a", 0): TaskProfile(
            inputs={IN: InputFigures(wall=time(1))},
            outputs={"__ack_ack": OutputFigures(coefficients={IN: Figure(value=1)})},
        ),
    }
    profile = Profile(topology=topology, configuration=Configuration(), tasks=tasks)
    behaviours = derive(profile)
    assert behaviours["s"].service.mean_ms == 0.0
    assert behaviours["a"].outputs_of(IN) == {}


def test_missing_service_times_name_the_operators():
    topology = Topology(
        name="t",
        operators=(
            Operator(name="s", kind=OperatorKind.SOURCE),
            *(Operator(name=name) for name in ("seen", "thin", "bare")),
        ),
        streams=tuple(
            Stream(source="s", target=name, grouping=Shuffle()) for name in ("seen", "thin", "bare")
        ),
    )
    tasks = {
        TaskId("seen", 0): received(wall=time(1)),
        TaskId("thin", 0): received(per_second=Figure(value=1)),
        TaskId("bare", 0): TaskProfile(),
    }
    profile = Profile(topology=topology, configuration=Configuration(), tasks=tasks)
    with pytest.raises(NotEnoughData, match="measured for thin, bare; expected"):
        derive(profile)
    del tasks[TaskId("bare", 0)]
    with pytest.raises(InvalidInput, match="no figures of bare"):
        derive(replace(profile, tasks=tasks))


@pytest.mark.parametrize(
    ("mean", "variance", "made"),
    [
        (0.0, 0.0, Constant(value=0.0)),
        (2.0, 0.0, Constant(value=2.0)),
        (2.0, 4.0, Exponential(mean=2.0)),
        (2.0, 2.0, Gamma(mean=2.0, scv=0.5)),
        (2.0, 8.0, Gamma(mean=2.0, scv=2.0)),
    ],
)
def test_the_simplest_distribution_has_the_moments(mean, variance, made):
    assert from_moments(mean, variance) == made


@given(profiles(values=st.just(0.0) | SANE, seconds=SANE))
@settings(max_examples=40)
def test_derived_behaviours_fit_the_topology(profile: Profile):
    try:
        behaviours = derive(profile)
    except (InvalidInput, NotEnoughData):
        return
    check_behaviours(profile.topology, behaviours)
    assert set(behaviours) == set(profile.topology.operator_names)


def measured_figure(value: float, error: float | None, samples: int = 100) -> Figure:
    return Figure(value=value, samples=samples, standard_error=error)


def test_standard_errors_of_tasks_become_that_of_the_operator():
    """Means 2 ± 0.3 and 2 ± 0.4 of as many tuples: half of √(0.09 + 0.16)."""
    tasks = [
        received(
            cpu=TimeFigures(
                mean_ms=measured_figure(2.0, error), scv=measured_figure(0.5, 0.1 * error)
            )
        )
        for error in (0.3, 0.4)
    ]
    behaviour = JobBehaviour.from_profile(profile_of(*tasks)).operators["a"]
    cpu = behaviour.inputs[IN].service.cpu
    assert cpu.mean_ms.error == pytest.approx(0.25)
    # Each variance is off by 4·0.1·error, and by 2·0.5·2·error.
    assert cpu.variance.error == pytest.approx(0.5 * (0.16 + 4.0) ** 0.5 * 0.5)
    assert cpu.mean_ms.origin is Origin.MEASURED


def test_a_wait_is_as_uncertain_as_both_times_it_is_the_difference_of():
    task = received(
        wall=TimeFigures(mean_ms=measured_figure(5.0, 0.3)),
        cpu=TimeFigures(mean_ms=measured_figure(2.0, 0.4)),
    )
    wait = JobBehaviour.from_profile(profile_of(task)).operators["a"].inputs[IN].service.wait
    assert wait.mean_ms.error == pytest.approx(0.5)
    assert math.isnan(wait.variance.error)


def test_figures_say_where_they_come_from():
    """Nobody measured CPU time, variability, failures, or what z does with another stream."""
    behaviour = JobBehaviour.from_profile(profile_of(received(wall=time(4)))).operators["a"]
    service = behaviour.inputs[IN].service
    assert service.cpu.mean_ms.origin is Origin.ASSUMED
    assert service.cpu.variance.origin is Origin.ASSUMED
    assert behaviour.failed_share.origin is Origin.ASSUMED
    measured = JobBehaviour.from_profile(profile_of(received(cpu=time(4, 0.5)))).operators["a"]
    assert measured.inputs[IN].service.cpu.variance.origin is Origin.MEASURED


def test_coefficients_keep_their_errors_by_task():
    tasks = [
        emitting(coefficients={IN: measured_figure(2.0, 0.1)}),
        emitting(coefficients={IN: measured_figure(4.0, None)}),
    ]
    behaviour = JobBehaviour.from_profile(profile_of(*tasks, count=3)).operators["a"]
    coefficient = behaviour.inputs[IN].outputs["out"]
    assert coefficient.by_task.value.tolist() == [2.0, 4.0, 3.0]
    assert coefficient.by_task.standard_error[0] == pytest.approx(0.1)
    assert math.isnan(coefficient.by_task.standard_error[1])
