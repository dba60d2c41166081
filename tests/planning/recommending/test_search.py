"""The search finds the fewest executors, and keeps to what it may not touch."""

import itertools
import math
from dataclasses import replace

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.objectives import parse_objective
from streamgauge.planning.recommending.candidates import find_candidates
from streamgauge.planning.recommending.capacity import find_demand
from streamgauge.planning.recommending.problem import Limits, Minimise, Problem
from streamgauge.planning.recommending.search import Search
from streamgauge.planning.recommending.trials import Setup, Trials
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job

CHAIN = """
streamgauge: 1
topology:
  name: chain
  acked: false
  operators:
    in: {kind: source, tasks: 4}
    work: {tasks: 6}
    out: {tasks: 6}
  streams:
    - {from: in, to: work, grouping: shuffle}
    - {from: work, to: out, grouping: shuffle}
behaviours:
  in: {service: {cpu_ms: 0.1}}
  work: {service: {cpu_ms: {gamma: {mean: 4, scv: 1}}}, outputs: {default: 1}}
  out: {service: {cpu_ms: {gamma: {mean: 2, scv: 1}}}}
configuration:
  workers: 2
  executors: {in: 1, work: 2, out: 2}
  settings: {topology.disable.loadaware.messaging: true}
cluster: {uniform: {nodes: 2, slots: 2, cores: 8, latency_ms: 0.1}}
workload: [{source: in, per_second: 400}]
"""


def chain(objective=None, *, limits=None, rate=400.0, **changes):
    job = parse_job(CHAIN)
    job = replace(job, workload=job.workload.at_rate(rate))
    return Problem(
        job=job,
        behaviour=JobBehaviour.from_job(job),
        objective=parse_objective(objective),
        limits=limits or Limits(),
        current=place_job(job).plan,
        **changes,
    )


def executors_of(trial):
    return dict(zip(("in", "work", "out"), trial.counts, strict=True))


def test_capacity_counts_what_executors_could_do_alone():
    # 400/s · 4 ms are 1.6 executors' work, in six tasks of 0.267: two of three tasks have 0.8.
    demand = find_demand(chain())
    assert demand.busiest("work", 2) == pytest.approx(0.8)
    assert (demand.fewest("work", 6), demand.fewest("out", 6)) == (2, 1)


def test_no_number_of_executors_is_enough_where_one_task_has_too_much_to_do():
    assert find_demand(chain(rate=1600.0)).fewest("work", 6) is None


def test_the_next_useful_number_leaves_the_busiest_executor_less():
    # Of six tasks, four executors have one with two, as three have; six have one each.
    assert find_demand(chain()).next_useful("work", 3, 6) == 6
    assert find_demand(chain()).next_useful("work", 6, 6) is None


@pytest.mark.parametrize("objective", ["p99<50ms", "p99<35ms", "mean<9ms", "rate>=700"])
def test_no_plan_with_fewer_executors_meets_the_objective(objective):
    problem, setup = chain(objective), Setup(workers=2)
    found = Search(Trials(problem)).run(setup).met
    trials = Trials(problem)
    ranges = [range(one.least, one.most + 1) for one in problem.bounds]
    fewest = min(
        sum(counts) for counts in itertools.product(*ranges) if trials.look(counts, setup).is_met
    )
    assert found.executors == fewest


def test_fewer_executors_are_found_where_there_are_more_than_needed():
    found = find_candidates(chain("p99<1s", rate=20.0)).best[0]
    assert executors_of(found) == {"in": 1, "work": 1, "out": 1}


def test_an_operator_that_is_kept_stays_as_it_is():
    found = find_candidates(chain("p99<1s", rate=20.0, limits=Limits(keep={"work"}))).best[0]
    assert executors_of(found)["work"] == 2


def test_no_operator_changes_by_more_than_it_may():
    found = find_candidates(chain("p99<30ms", limits=Limits(max_change=1)))
    counts = executors_of(found.chosen)
    assert abs(counts["work"] - 2) <= 1
    assert abs(counts["out"] - 2) <= 1


def test_no_operator_has_more_executors_than_it_may():
    found = find_candidates(chain("p99<30ms", limits=Limits(at_most={"work": 3})))
    assert executors_of(found.chosen)["work"] <= 3


def test_limits_that_contradict_each_other_are_named():
    with pytest.raises(InvalidInput, match="at most 1, but at least 2"):
        chain(limits=Limits(keep={"work"}, at_most={"work": 1}))


def test_a_limit_for_nobody_is_named():
    with pytest.raises(InvalidInput, match="did you mean 'work'"):
        chain(limits=Limits(keep={"wrok"}))


def test_the_fewest_machines_are_used_where_those_count():
    problem = chain("p99<1s", minimise=Minimise.MACHINES)
    assert len(find_candidates(problem).best[0].plan.nodes) == 1


def test_no_machine_is_filled_beyond_what_it_may():
    # 2.44 cores are at work: 30.5 % of one machine with eight, about half of that on each of two.
    problem = chain(limits=Limits(utilisation=0.2), minimise=Minimise.MACHINES)
    assert len(find_candidates(problem).best[0].plan.nodes) == 2


def test_a_margin_asks_for_a_latency_that_is_better_by_as_much():
    problem = chain("p99<100ms")
    for trial in find_candidates(problem, margins=[math.log(2.0)]).best:
        assert trial.prediction.latency.quantiles[0.99] <= 0.05


def test_what_no_plan_reaches_leaves_the_nearest_plan():
    found = find_candidates(chain("p99<1ms"))
    assert found.best == ()
    assert found.nearest.miss > 0.0


def test_an_operator_without_enough_tasks_for_its_load_is_named():
    assert find_candidates(chain(rate=1600.0)).short == ("work",)
