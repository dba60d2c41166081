"""Explanation: bottlenecks and sensitivities of a line whose queues have closed forms."""

import math
from dataclasses import replace

import pytest

from streamgauge.models.explanation import explain, with_executors
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.prediction import Drawback
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.figures import (
    Figure,
    InputFigures,
    OutputFigures,
    TaskId,
    TaskProfile,
    TimeFigures,
)
from streamgauge.profile.files.jobs import load_job, parse_job
from streamgauge.profile.profile import Profile
from streamgauge.topology import (
    Cluster,
    Configuration,
    Emission,
    LogicalPlan,
    Operator,
    PhysicalPlan,
    Topology,
    Workload,
)
from streamgauge.topology.topology import StreamKey
from streamgauge.transport.engine import load_engine
from tests.models.plans import source, stream

AWAKE = {
    "topology.bolt.wait.progressive.level2.count": 0,
    "topology.bolt.wait.progressive.level3.sleep.millis": 0,
    "topology.spout.wait.progressive.level3.sleep.millis": 0,
}


def line(*, fast=0.001, slow=0.01, rate=50.0, executors=1):
    """s → fast → slow in one worker with cores to spare; exponential times off the cores."""
    operators = (source("s"), Operator(name="fast"), Operator(name="slow", tasks=4))
    streams = (stream("s", "fast"), stream("fast", "slow"))
    topology = Topology(name="line", operators=operators, streams=streams)
    configuration = Configuration(
        engine="storm-2", executors={"slow": executors}, ackers=0, settings=AWAKE
    )
    logical = LogicalPlan.of(topology, configuration)
    cluster = Cluster.uniform(nodes=1, cores=16.0)
    plan = PhysicalPlan.from_slots(logical, cluster, cluster.slots, [0] * len(logical.executors))
    key, further = StreamKey("s", "default"), StreamKey("fast", "default")
    tasks = {
        TaskId("s", 0): TaskProfile(outputs={"default": OutputFigures(per_second=Figure(value=9))}),
        TaskId("fast", 0): TaskProfile(
            inputs={key: _served(fast)},
            outputs={"default": OutputFigures(coefficients={key: Figure(value=1.0)})},
        ),
        TaskId("slow", 0): TaskProfile(inputs={further: _served(slow)}),
    }
    profile = Profile(topology=topology, configuration=configuration, tasks=tasks)
    return (
        JobBehaviour.from_profile(profile),
        plan,
        Workload(emissions=[Emission(source="s", per_second=rate)]),
    )


def _served(seconds):
    wall = TimeFigures(mean_ms=Figure(value=1e3 * seconds), scv=Figure(value=1.0))
    nothing = TimeFigures(mean_ms=Figure(value=0.0))
    return InputFigures(wall=wall, cpu=nothing)


def test_the_slowest_is_full_first_and_then_the_next():
    """100, 200 and 400 tuples a second of one, two and four executors of 10 ms."""
    found = explain(*line())
    seen = [(one.operator, one.executors) for one in found.bottlenecks]
    assert seen == [("slow", 1), ("slow", 2), ("slow", 4)]
    rates = [one.limit.per_second for one in found.bottlenecks]
    assert rates == pytest.approx([100.0, 200.0, 400.0], rel=2e-3)


def test_an_operator_with_one_task_ends_the_chain():
    found = explain(*line(fast=0.008, slow=0.01))
    seen = [(one.operator, round(one.limit.per_second)) for one in found.bottlenecks]
    assert seen == [("slow", 100), ("fast", 125)]


def test_longer_service_costs_as_in_a_jackson_network():
    """W = b/(1 − λb) of each queue: its derivative by ln b is b/(1 − λb)²."""
    rate, fast, slow = 50.0, 0.001, 0.01
    found = explain(*line(fast=fast, slow=slow, rate=rate)).sensitivities
    whole = sum(b / (1 - rate * b) for b in (fast, slow))
    for name, b in (("fast", fast), ("slow", slow)):
        # Service becomes 5 % longer, which is not nothing: the difference is the exact one.
        longer = 1.05 * b / (1 - 1.05 * rate * b) - b / (1 - rate * b)
        assert found[name].longer_service == pytest.approx(longer / whole / 0.05, rel=2e-3)
    assert found["slow"].longer_service_p99 > found["slow"].longer_service
    assert found["s"].longer_service == pytest.approx(0.0, abs=1e-6)


def test_one_executor_more_halves_the_load():
    rate, slow = 50.0, 0.01
    found = explain(*line(slow=slow, rate=rate)).sensitivities
    gained = slow / (1 - rate * slow / 2) - slow / (1 - rate * slow)
    assert found["slow"].one_more == pytest.approx(gained, rel=2e-3)
    assert found["slow"].one_more_limit == pytest.approx(200.0, rel=2e-3)
    assert found["fast"].one_more is None


def test_an_overloaded_plan_is_explained_too():
    found = explain(*line(rate=150.0))
    assert found.bottlenecks[0].limit.factor == pytest.approx(100 / 150, rel=2e-3)
    assert math.isnan(found.sensitivities["slow"].longer_service)
    assert found.sensitivities["slow"].one_more == -math.inf


def test_executors_are_added_where_there_is_room():
    _, plan, _ = line(executors=2)
    wider = with_executors(plan, "slow", 3)
    assert [one.label for one in wider.logical.executors_of("slow")] == [
        "slow[3-4]",
        "slow[5]",
        "slow[6]",
    ]
    assert wider.logical.configuration.executors_of("slow") == 3
    assert len(wider.placement) == len(plan.placement) + 1


ONE_MORE = """
streamgauge: 1
topology:
  name: t
  operators: {{s: {{kind: source}}, a: {{tasks: {tasks}}}}}
  streams: [{{from: s, to: a, grouping: {grouping}}}]
behaviours:
  s: {{service: {{cpu_ms: 0.001}}}}
  a: {{service: {{cpu_ms: 1}}}}
configuration: {{engine: {engine}, executors: {{a: 2}}, workers: 2}}
cluster: {{uniform: {{nodes: 2, cores: 64}}}}
workload: [{{source: s, per_second: 100}}]
"""


def one_more(tasks, grouping="shuffle", engine="storm-1"):
    """The limit of two executors of a, one beside the source, and what a third would do."""
    job = parse_job(ONE_MORE.format(tasks=tasks, grouping=grouping, engine=engine))
    order = load_engine(engine).task_order
    logical = LogicalPlan.of(job.topology, job.configuration, task_order=order)
    places = {"s": [0], "a": [0, 1]}
    placement = [place for name in logical.spans for place in places[name]]
    plan = PhysicalPlan.from_slots(logical, job.cluster, job.cluster.slots, placement)
    found = explain(JobBehaviour.from_job(job), plan, job.workload)
    return found.bottlenecks[0].limit.per_second, found.sensitivities["a"]


def test_an_executor_more_that_raises_the_limit_has_no_drawback():
    limit, change = one_more(6)
    assert change.one_more_limit > 1.4 * limit
    assert change.one_more_drawback is None
    assert change.one_more_full.startswith("a[")


def test_an_executor_more_may_bring_shuffle_to_keep_to_a_nearer_one():
    """Two executors of six tasks look full to load-aware shuffle, three of four do not."""
    limit, change = one_more(12, engine="storm-2")
    assert change.one_more_limit == pytest.approx(limit / 2, rel=0.01)
    assert change.one_more_drawback is Drawback.NARROWS_SHUFFLE


def test_an_executor_more_may_put_busy_tasks_together():
    """All tuples go to the third and fourth of five tasks: in two executors, then in one."""
    grouping = "{custom: [[0, 0, 0.5, 0.5, 0]]}"
    limit, change = one_more(5, grouping)
    assert change.one_more_limit == pytest.approx(limit / 2, rel=0.01)
    assert change.one_more_drawback is Drawback.REGROUPS_TASKS


def test_an_executor_more_may_crowd_its_machine():
    job = load_job("examples/word-count.yaml").at_step("splitters-2")
    buffers = {"topology.transfer.buffer.size": 8192}
    job = replace(job, configuration=replace(job.configuration, settings=buffers))
    plan = place_job(job).plan
    found = explain(JobBehaviour.from_job(job), plan, job.workload).sensitivities
    assert found["counter"].one_more_drawback is Drawback.CROWDS_MACHINE
    assert found["counter"].one_more_full.startswith("splitter[")
    assert found["splitter"].one_more_drawback is None
