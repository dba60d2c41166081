"""Jobs: parts that fit each other, steps, and plans by hand."""

import pytest
from hypothesis import given, settings

from streamgauge.errors import InvalidInput
from streamgauge.profile.job import Assignment, Job, Step
from streamgauge.topology import (
    Cluster,
    Configuration,
    Emission,
    Operator,
    OperatorKind,
    PhysicalPlan,
    Shuffle,
    Slot,
    Stream,
    TaskOrder,
    Topology,
    Workload,
)
from tests.strategies import placed_topologies

TOPOLOGY = Topology(
    name="pair",
    operators=(Operator(name="s", kind=OperatorKind.SOURCE, tasks=2), Operator(name="a", tasks=4)),
    streams=(Stream(source="s", target="a", grouping=Shuffle()),),
)
CLUSTER = Cluster.uniform(nodes=1)
PLAN = Assignment(workers=[(("n1", 6700), ["s[1-2]", "a[3-6]"])])


def test_a_step_changes_only_what_it_names():
    base = Configuration(executors={"s": 2, "a": 1}, workers=3, ackers=1, settings={"x": 1, "y": 2})
    step = Step(executors={"a": 4}, settings={"y": 3})
    assert step.apply(base) == Configuration(
        executors={"s": 2, "a": 4}, workers=3, ackers=1, settings={"x": 1, "y": 3}
    )


def test_a_step_may_switch_ackers_off():
    assert Step(ackers=0).apply(Configuration(ackers=2)).ackers == 0


def test_a_job_at_a_step_has_its_configuration_and_no_plan():
    job = Job(topology=TOPOLOGY, cluster=CLUSTER, plan=PLAN, steps={"wide": Step(workers=4)})
    wide = job.at_step("wide")
    assert (wide.configuration.workers, wide.plan) == (4, None)


def test_an_unknown_step_is_refused_with_a_suggestion():
    with pytest.raises(InvalidInput, match=r"step 'wdie'.*did you mean 'wide'"):
        Job(topology=TOPOLOGY, steps={"wide": Step()}).at_step("wdie")


def test_a_job_s_own_plan_is_the_one_it_gives():
    plan = Job(topology=TOPOLOGY, cluster=CLUSTER, plan=PLAN).explicit_plan()
    assert plan is not None
    assert [e.label for e in plan.executors_in(Slot("n1", 6700))] == ["s[1-2]", "a[3-6]"]


def test_a_job_without_a_plan_has_none():
    assert Job(topology=TOPOLOGY).explicit_plan() is None


@pytest.mark.parametrize(
    ("parts", "seen"),
    [
        ({"configuration": Configuration(executors={"a": 5})}, "configuration.executors.a: 5 exec"),
        ({"workload": Workload(emissions=[Emission(source="a", per_second=1)])}, "workload"),
        ({"steps": {"x": Step(executors={"a": 5})}}, "steps.x.executors.a: 5 executors"),
        ({"steps": {"x": Step(workers=0)}}, "steps.x.workers: 0"),
        ({"plan": PLAN}, "plan: a plan without a cluster"),
        (
            {"plan": Assignment(workers=[(("n1", 6700), ["s[1-2]"])]), "cluster": CLUSTER},
            r"plan.workers: no worker for executor a\[3-6\]",
        ),
    ],
)
def test_parts_that_do_not_fit_are_refused(parts, seen):
    with pytest.raises(InvalidInput, match=seen):
        Job(topology=TOPOLOGY, **parts)


@given(placed_topologies())
@settings(max_examples=40)
def test_a_written_down_plan_is_the_plan(plan: PhysicalPlan):
    declared = plan.logical.topology
    topology = Topology(
        name=declared.name,
        operators=[op for op in declared.operators if op.kind is not OperatorKind.ACKER],
        streams=declared.data_streams,
        acked=declared.acked,
    )
    job = Job(
        topology=topology,
        configuration=plan.logical.configuration,
        cluster=plan.cluster,
        plan=Assignment.of(plan),
    )
    assert job.explicit_plan() == plan


def test_a_plan_remembers_how_its_tasks_are_numbered():
    plan = Assignment(workers=[(("n1", 6700), ["a[1-4]", "s[5-6]"])], task_order="alphabetical")
    job = Job(topology=TOPOLOGY, cluster=CLUSTER, plan=plan)
    made = job.explicit_plan()
    assert made is not None
    assert Assignment.of(made).task_order is TaskOrder.ALPHABETICAL
