"""Laws that hold for every job, each where it is true, on random small jobs and plans."""

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from streamgauge.models.crowd_levels import find_levels
from streamgauge.models.delays import Delays, Part
from streamgauge.models.end_to_end_latency import Latency, Ways
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.load_limit import Loaded, find_limit, load
from streamgauge.models.network import find_network
from streamgauge.models.parameters import Parameters, find_parameters
from streamgauge.models.prediction import Limit
from streamgauge.models.queueing import BulkQueue, wait
from streamgauge.models.routing import route
from streamgauge.models.traffic_equations import propagate
from streamgauge.profile.figures import (
    Figure,
    InputFigures,
    OutputFigures,
    Shares,
    TaskId,
    TaskProfile,
    TimeFigures,
)
from streamgauge.profile.keys import ZipfKeys
from streamgauge.profile.profile import Profile
from streamgauge.topology import (
    ACKER,
    All,
    Cluster,
    Configuration,
    Emission,
    LogicalPlan,
    OperatorKind,
    PhysicalPlan,
    Topology,
    TupleFlow,
    Workload,
)
from streamgauge.transport.engine import load_engine
from tests.models.plans import per_input
from tests.models.sojourns import sojourn_quantiles
from tests.strategies import PLAIN_NAMES, topologies

PROBABILITIES = (0.1, 0.5, 0.9, 0.99, 0.999)
# Storm 2.x without threads that sleep or poll.
AWAKE = {
    "topology.bolt.wait.progressive.level2.count": 0,
    "topology.bolt.wait.progressive.level3.sleep.millis": 0,
    "topology.spout.wait.progressive.level3.sleep.millis": 0,
}
TIMERS = ("flush_seconds", "bolt_spin", "bolt_sleep", "source_sleep", "transfer_sleep")


@dataclass(frozen=True, kw_only=True)
class Case:
    """What a job, its plan, its load and what was measured of it are made of.

    Attributes:
        topology: The job.
        configuration: Of the plan.
        slots: Where executors are, in turn.
        cores: Of each of two machines.
        emitting_ms: What it takes a source to emit a tuple.
        seed: Of all figures.
        speed: Everything happens so many times as fast.
        load: There are so many times as many tuples.
    """

    topology: Topology
    configuration: Configuration
    slots: tuple[int, ...]
    cores: float
    emitting_ms: float
    seed: int
    speed: float = 1.0
    load: float = 1.0

    @property
    def job(self):
        """The job, with windows by time as short as the speed says."""
        operators = []
        for one in self.topology.operators:
            window = one.window
            for name in ("length_seconds", "slide_seconds"):
                if window is not None and getattr(window, name) is not None:
                    window = replace(window, **{name: getattr(window, name) / self.speed})
            operators.append(replace(one, window=window))
        return replace(self.topology, operators=tuple(operators))

    @property
    def transport(self):
        return load_engine(self.configuration.engine)

    @property
    def plan(self):
        logical = LogicalPlan.of(self.job, self.configuration, task_order=self.transport.task_order)
        cluster = Cluster.uniform(nodes=2, slots=2, cores=self.cores, latency_ms=0.4 / self.speed)
        machines = [replace(one, balance_ms=6.0 / self.speed) for one in cluster.machines]
        cluster = replace(cluster, machines=tuple(machines))
        dealt = [self.slots[n % len(self.slots)] for n in range(len(logical.executors))]
        return PhysicalPlan.from_slots(logical, cluster, cluster.slots, dealt)

    @property
    def workload(self):
        random = np.random.default_rng(self.seed)
        return Workload(
            emissions=[
                Emission(
                    source=key.source,
                    stream=key.name,
                    per_second=random.uniform(1.0, 60.0) * self.speed * self.load,
                )
                for key in sorted(
                    {
                        stream.key
                        for source in self.topology.sources
                        for stream in self.topology.streams_from(source.name)
                    }
                )
            ]
        )

    @property
    def profile(self):
        random = np.random.default_rng(self.seed)
        tasks = {}
        for operator in self.topology.operators:
            tasks |= self._tasks(operator, random)
        if self.topology.acked and self.configuration.acker_count:
            acked = self.topology.with_ackers(1)
            figures = InputFigures(cpu=self._time(0.02, 1.0))
            inputs = {stream.key: figures for stream in acked.streams_into(ACKER)}
            tasks[TaskId(ACKER, 0)] = TaskProfile(inputs=inputs)
        keyed = {stream.key for stream in self.topology.streams if random.random() < 0.3}
        return Profile(
            topology=self.job,
            configuration=self.configuration,
            tasks=tasks,
            keys=dict.fromkeys(sorted(keyed), ZipfKeys(count=20)),
        )

    def _time(self, ms, scv):
        return TimeFigures(mean_ms=Figure(value=ms / self.speed), scv=Figure(value=scv))

    def _tasks(self, operator, random):
        """Figures of an operator's tasks: each its own part of the input and its own shares."""
        cpu, waiting = random.uniform(0.0, 4.0, 2)
        scv = random.uniform(0.0, 2.0)
        parts = random.dirichlet(np.ones(operator.tasks))
        into = {stream.key for stream in self.topology.streams_into(operator.name)}
        out = self.topology.streams_from(operator.name)
        coefficients = {
            (key, name): random.uniform(0.1, 1.5)
            for key in sorted(into)
            for name in sorted({stream.name for stream in out})
        }
        is_source = operator.kind is OperatorKind.SOURCE
        found = {}
        for place in range(operator.tasks):
            slower = random.uniform(0.5, 1.5)
            figures = InputFigures(
                share=Figure(value=parts[place]),
                cpu=self._time(cpu * slower, scv),
                wall=self._time((cpu + waiting) * slower, scv),
            )
            outputs = {}
            for name in sorted({stream.name for stream in out}):
                measured = {
                    stream.target: Shares(parts=random.dirichlet(np.ones(tasks)))
                    for stream in out
                    if stream.name == name
                    and random.random() < 0.7
                    and (tasks := self.topology.operator(stream.target).tasks)
                }
                more = {"cpu": self._time(self.emitting_ms, 1.0)} if is_source else {}
                if operator.window is not None:
                    more["per_trigger"] = Figure(value=random.uniform(0.2, 2.0))
                outputs[name] = OutputFigures(
                    coefficients={key: Figure(value=coefficients[key, name]) for key in into},
                    shares=measured,
                    **more,
                )
            found[TaskId(operator.name, place)] = TaskProfile(
                inputs=dict.fromkeys(sorted(into), figures),
                outputs=outputs,
                window=self._time(2.0 * waiting, 0.5) if operator.window else None,
                window_cpu=self._time(waiting, 0.5) if operator.window else None,
            )
        return found


def by_count(window):
    """Whether the clock has no say in it."""
    return window is None or (window.length_seconds is None and window.slide_seconds is None)


@st.composite
def cases(
    draw,
    *,
    engines=("storm-1", "storm-2"),
    windows=True,
    timed=True,
    acked=None,
    crowded=True,
    spread=True,
    emitting=True,
    setting=None,
    **options,
):
    """A source or two and up to four processors, on up to four workers of two machines."""
    job = draw(
        topologies(
            names=PLAIN_NAMES,
            most=5,
            acked=acked,
            seconds=st.floats(0.5, 5.0),
            **{"cyclic": False, **options},
        )
    )
    operators = [
        one if windows and (timed or by_count(one.window)) else replace(one, window=None)
        for one in job.operators
    ]
    job = replace(job, operators=tuple(operators))
    configuration = Configuration(
        engine=draw(st.sampled_from(engines)),
        executors={one.name: draw(st.integers(1, one.tasks)) for one in job.operators},
        ackers=draw(st.integers(1, 2)),
        settings=setting or {},
    )
    places = st.lists(st.integers(0, 3), min_size=1, max_size=6)
    return Case(
        topology=job,
        configuration=configuration,
        slots=tuple(draw(places)) if spread else (0,),
        cores=draw(st.sampled_from([0.5, 1.0, 4.0])) if crowded else 64.0,
        emitting_ms=draw(st.sampled_from([0.0, 0.1])) if emitting else 0.0,
        seed=draw(st.integers(0, 10_000)),
    )


def routed(case):
    """The case's plan with predicted shares."""
    flow = TupleFlow.of(case.plan, case.transport.hops)
    mechanics = case.transport.mechanics(case.configuration.settings)
    return route(flow, JobBehaviour.from_profile(case.profile), mechanics).flow


@settings(max_examples=30)
@given(cases(cyclic=True))
def test_rows_of_routing_sum_to_one_or_to_the_copies(case):
    """Every grouping on both engines, whatever of it was measured; `all` has a copy a task."""
    for block in routed(case).blocks:
        tasks = case.plan.logical.topology.operator(block.stream.target).tasks
        copies = tasks if isinstance(block.stream.grouping, All) else 1
        assert block.shares.min() >= 0.0
        assert block.shares.sum(axis=1) == pytest.approx(np.full(len(block.sources), copies))


def conversions_of(flow, random, most=None):
    """Random coefficients; `most` tuples out at the most for each in, all subscribers together."""
    found = {}
    for operator in flow.plan.logical.topology.operators:
        into = [one for one in flow.data_blocks if one.stream.target == operator.name]
        out = [one for one in flow.data_blocks if one.stream.source == operator.name]
        names = sorted({one.stream.name for one in out})
        chosen = {(*a.stream.key, name): random.uniform(0.0, 2.0) for a in into for name in names}
        if most is not None:
            copies = sum(float(one.shares.sum(axis=1).max()) for one in out)
            chosen = {key: value / 2.0 * most / copies for key, value in chosen.items()}
        found[operator.name] = per_input(chosen)
    return found


def outputs(flow, conversions, emitted, key):
    """What executors emit on a stream for what comes to them, stream by stream."""
    total = np.zeros(len(flow.plan.logical.spans[key.source]))
    for block in flow.data_blocks:
        if block.stream.target == key.source and block.stream.key in emitted:
            coefficient = conversions[key.source].per_input[block.stream.key, key.name]
            for row, sent in enumerate(emitted[block.stream.key]):
                total += coefficient * sent * block.shares[row]
    return total


def sources_of(flow, random):
    """What every executor of a source emits."""
    logical = flow.plan.logical
    return {
        stream.key: random.uniform(0.0, 20.0, len(logical.spans[source.name]))
        for source in logical.topology.sources
        for stream in logical.topology.streams_from(source.name)
        if not stream.is_system
    }


@settings(max_examples=20)
@given(cases(windows=False))
def test_what_is_emitted_arrives_and_what_arrives_is_emitted_again(case):
    flow = routed(case)
    random = np.random.default_rng(case.seed)
    conversions = conversions_of(flow, random)
    sources = sources_of(flow, random)
    rates = propagate(flow, sources, conversions)
    for key, given_rates in sources.items():
        assert rates.emitted[key] == pytest.approx(given_rates)
    for block in flow.data_blocks:
        sent, came = rates.emitted[block.stream.key], rates.arrived[block.stream.subscription]
        copies = block.shares.sum(axis=1)
        assert came.sum() == pytest.approx(sent @ copies)
    for key, sent in rates.emitted.items():
        if key not in sources:
            assert sent == pytest.approx(outputs(flow, conversions, rates.emitted, key))


@settings(max_examples=20)
@given(cases(cyclic=True, windows=False))
def test_round_a_cycle_flow_is_the_sum_of_all_rounds(case):
    """At most 0.7 tuples out for each in: after 80 rounds 4e-13 of them are left."""
    flow = routed(case)
    random = np.random.default_rng(case.seed)
    conversions = conversions_of(flow, random, most=0.7)
    sources = sources_of(flow, random)
    rates = propagate(flow, sources, conversions)
    others = [key for key in rates.emitted if key not in sources]
    total = {key: np.zeros_like(rates.emitted[key]) for key in others}
    now = dict(sources)
    for _ in range(80):
        now = {key: outputs(flow, conversions, now, key) for key in others}
        total = {key: total[key] + now[key] for key in others}
    for key in others:
        assert rates.emitted[key] == pytest.approx(total[key], rel=1e-9, abs=1e-9)


@settings(max_examples=50)
@given(
    rates=st.lists(st.floats(0.0, 1.3), min_size=2, max_size=6),
    size=st.floats(1.0, 8.0),
    dispersion=st.floats(0.0, 4.0),
    scv=st.floats(0.0, 4.0),
)
def test_a_queue_s_delay_does_not_fall_when_load_rises(rates, size, dispersion, scv):
    """M^X/G/1 without setup: the mean, and as the wait rises stochastically, every quantile."""
    queue = BulkQueue(
        batches_per_second=np.sort(rates) / size,
        batch_mean=size,
        batch_variance=dispersion * (size - 1.0),
        service_seconds=1.0,
        service_scv=scv,
    )
    mean = wait(queue).mean
    assert all(later >= sooner for sooner, later in pairwise(mean))
    assert np.isinf(mean).tolist() == (queue.utilisation >= 1.0).tolist()
    for quantile in sojourn_quantiles(queue, PROBABILITIES):
        # Found to 0.2 %, or 2 % where services are constant and waits have steps.
        near = 0.995 if scv > 0.1 else 0.97
        assert all(later >= near * sooner for sooner, later in pairwise(quantile))


class Answer(NamedTuple):
    """What the analytic model says of a case, step by step."""

    parameters: Parameters
    loaded: Loaded
    delays: Delays
    latency: Latency
    limit: Limit
    since_due: Latency


def analysed(case):
    """The model's answer, with the engine's timers as fast as the job."""
    parameters = find_parameters(JobBehaviour.from_profile(case.profile), case.plan, case.workload)
    faster = {name: getattr(parameters.mechanics, name) / case.speed for name in TIMERS}
    timed = replace(parameters.mechanics, **faster)
    rescaled = parameters.rescaled
    parameters = replace(
        parameters,
        mechanics=timed,
        rescaled=lambda factor: replace(rescaled(factor), mechanics=timed),
    )
    loaded = load(parameters)
    levels = find_levels(parameters, loaded)
    network = find_network(case.plan, parameters.behaviour)
    ways = Ways(parameters, levels, network)
    limit = find_limit(parameters, case.workload)
    latency, since_due = (
        ways.latency(PROBABILITIES, since_due=since_due) for since_due in (False, True)
    )
    return Answer(parameters, loaded, levels.mix_elements(), latency, limit, since_due)


def at_part_of_the_limit(case, part):
    """The case under that part of the highest load that would fit."""
    limit = find_limit(
        find_parameters(JobBehaviour.from_profile(case.profile), case.plan, case.workload),
        case.workload,
    )
    assume(0.0 < limit.factor < math.inf)
    return replace(case, load=part * limit.factor)


@settings(max_examples=8)
@given(
    cases(
        engines=("storm-2",),
        windows=False,
        acked=st.just(False),
        crowded=False,
        spread=False,
        setting=AWAKE,
    )
)
def test_latency_does_not_fall_when_load_rises(case):
    """In one worker with cores to spare, nobody asleep: only queues are left to grow."""
    parts = (0.02, 0.3, 0.45, 0.55, 0.7, 0.85, 0.97, 1.03)
    found = [analysed(at_part_of_the_limit(case, part)) for part in parts]
    for before, after in pairwise(found):
        sooner, later = before.delays.executor_mean, after.delays.executor_mean
        assert np.all(later >= sooner * (1.0 - 1e-9))
        assert after.loaded.service.mean == pytest.approx(before.loaded.service.mean)
        assert after.latency.mean >= before.latency.mean * (1.0 - 1e-9)
        for probability, value in after.latency.quantiles.items():
            # Quantiles of steps are found to 2 %.
            assert value >= 0.98 * before.latency.quantiles[probability]


@settings(max_examples=15)
@given(cases(), st.sampled_from([1e-3, 0.3, 8.0, 1e4]), st.sampled_from([1.0, 4.0, 30.0]))
def test_time_has_no_unit(case, speed, more):
    """All rates times c, all times over c: the same shares and loads, latencies over c."""
    case = replace(case, load=more)
    slow, fast = analysed(case), analysed(replace(case, speed=speed))
    for one, other in zip(slow.parameters.flow.blocks, fast.parameters.flow.blocks, strict=True):
        assert other.shares == pytest.approx(one.shares)
    assert fast.loaded.utilisation == pytest.approx(slow.loaded.utilisation, rel=1e-5)
    assert set(fast.loaded.overloaded) == set(slow.loaded.overloaded)
    assert fast.limit.factor == pytest.approx(slow.limit.factor, rel=2e-3)
    assert fast.limit.per_second == pytest.approx(slow.limit.per_second * speed, rel=2e-3)
    latency, sooner = slow.latency, fast.latency
    if math.isinf(latency.mean):
        assert math.isinf(sooner.mean)
        return
    assert sooner.mean * speed == pytest.approx(latency.mean, rel=1e-5)
    assert sooner.variance * speed**2 == pytest.approx(latency.variance, rel=1e-5)
    for part in latency.parts:
        assert sooner.parts[part] * speed == pytest.approx(latency.parts[part], rel=1e-5, abs=1e-9)
    for probability, value in latency.quantiles.items():
        assert sooner.quantiles[probability] * speed == pytest.approx(value, rel=1e-4)
    assert fast.since_due.mean * speed == pytest.approx(slow.since_due.mean, rel=1e-5)
    for probability, value in slow.since_due.quantiles.items():
        assert fast.since_due.quantiles[probability] * speed == pytest.approx(value, rel=1e-4)


@settings(max_examples=15)
@given(cases(acked=st.just(False), emitting=False), st.sampled_from([0.3, 0.95, 1.05, 10.0]))
def test_a_latency_is_the_sum_of_its_parts_and_finite_where_the_plan_fits(case, part):
    """Without ackers and slow sources, which no tuple waits for on its way to a sink."""
    found = analysed(at_part_of_the_limit(case, part))
    loaded, latency = found.loaded, found.latency
    assert bool(loaded.overloaded) == math.isinf(latency.mean)
    known = [latency.quantiles.get(one, math.inf) for one in PROBABILITIES]
    assert all(map(math.isfinite, known)) == (not loaded.overloaded)
    assert math.fsum(latency.parts.values()) == pytest.approx(latency.mean)
    assert known == sorted(known)
    due = found.since_due
    assert math.isinf(due.mean) == math.isinf(latency.mean)
    if math.isfinite(latency.mean):
        assert math.fsum(due.parts.values()) == pytest.approx(due.mean)
        assert due.mean - due.parts[Part.SOURCE] == pytest.approx(latency.mean)
        assert all(due.quantiles[one] >= latency.quantiles[one] for one in PROBABILITIES)


@settings(max_examples=15)
@given(cases())
def test_up_to_the_limit_a_plan_fits_and_beyond_it_does_not(case):
    """By loads worked out anew."""
    for part, too_much in ((0.99, False), (1.01, True)):
        more = at_part_of_the_limit(case, part)
        loaded = load(
            find_parameters(JobBehaviour.from_profile(more.profile), more.plan, more.workload)
        )
        assert bool(loaded.overloaded) == too_much
