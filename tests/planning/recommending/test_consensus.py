"""Plans are the same up to names of equal workers, and votes are counted over such plans."""

from dataclasses import replace

from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.planning.recommending.consensus import canonical_form, find_consensus
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.topology.cluster import Machine

JOB = """
streamgauge: 1
topology:
  name: pair
  acked: false
  operators: {in: {kind: source}, out: {tasks: 2}}
  streams: [{from: in, to: out, grouping: shuffle}]
behaviours: {out: {service: {cpu_ms: 1}}}
configuration: {workers: 2, executors: {out: 2}}
cluster: {uniform: {nodes: 2, slots: 2, cores: 4, latency_ms: 0.1}}
workload: [{source: in, per_second: 100}]
"""


def plan():
    return place_job(parse_job(JOB)).plan


def mirrored(one):
    """The same plan with its nodes exchanged."""
    names = {"n1": "n2", "n2": "n1"}
    return replace(
        one, workers=tuple(worker._replace(node=names[worker.node]) for worker in one.workers)
    )


def moved(one):
    """Another executor alone."""
    return replace(one, placement=tuple(one.placement[-1:] + one.placement[:-1]))


def test_a_plan_on_exchanged_equal_nodes_is_the_same_plan():
    assert canonical_form(mirrored(plan())) == canonical_form(plan())


def test_a_plan_on_exchanged_unequal_nodes_is_another():
    machines = (Machine(name="m1", cores=8.0), Machine(name="m2", cores=4.0))
    unequal = replace(plan(), cluster=replace(plan().cluster, machines=machines))
    assert canonical_form(mirrored(unequal)) != canonical_form(unequal)


def test_a_plan_with_other_executors_together_is_another():
    assert canonical_form(moved(plan())) != canonical_form(plan())


def ask(plans):
    job = parse_job(JOB)
    model, behaviour = AnalyticModel(), JobBehaviour.from_job(job)
    predictions = {
        name: [model.predict(behaviour, one, job.workload)] for name, one in plans.items()
    }
    return find_consensus(plans, predictions, by="mean")


def test_schedulers_that_agree_outvote_one_that_does_not():
    found = ask({"a": moved(plan()), "b": plan(), "c": mirrored(plan())})
    assert found.versions[0] == ("b", "c")
    assert found.agreed == "b"


def test_nobody_wins_where_versions_have_equally_many_votes():
    found = ask(
        {"a": plan(), "b": moved(plan()), "c": mirrored(plan()), "d": mirrored(moved(plan()))}
    )
    leader = found.votes["analytic"]
    # Two schedulers each; the model's vote decides.
    assert found.agreed == leader
    assert found.share == 3 / 5
