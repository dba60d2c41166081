"""An engine of another package: predicted, simulated and planned without a change of ours."""

import sys
from pathlib import Path

import pytest

import streamgauge as sg
from streamgauge.errors import InvalidInput
from streamgauge.planning.scheduling.contract import scheduler_names
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.simulation.topology_run import simulate
from streamgauge.transport.chaining import find_chaining
from streamgauge.transport.engine import engine_names, load_engine

JOB = """\
streamgauge: 1
topology:
  name: logs
  operators: {in: {kind: source}, parse: {tasks: 2}, clean: {tasks: 2}, store: {}}
  streams:
    - {from: in, to: parse, grouping: shuffle}
    - {from: parse, to: clean, grouping: local-or-shuffle}
    - {from: clean, to: store, grouping: shuffle}
behaviours:
  in: {}
  parse: {service: {cpu_ms: {exponential: {mean: 2}}}, outputs: {default: 0.5}}
  clean: {service: {cpu_ms: {exponential: {mean: 4}}}, outputs: {default: 1}}
  store: {service: {cpu_ms: {exponential: {mean: 1}}}}
configuration: {engine: toy, executors: {parse: 2, clean: 2}, workers: 2}
cluster: {uniform: {nodes: 2, slots: 2, cores: 8}}
workload: [{source: in, per_second: 200}]
"""


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    """Installs the engine, as far as Python can tell."""
    monkeypatch.syspath_prepend(Path(__file__).parent / "toy")
    yield
    load_engine.cache_clear()
    sys.modules.pop("toy_engine", None)


def test_it_is_an_engine_like_any_other():
    assert {"storm-1", "storm-2", "toy"} <= set(engine_names())
    assert load_engine("toy").mechanics({"toy.queue.size": 7}).receive_limit == 7


def test_operators_of_one_size_that_are_connected_directly_are_one():
    job = parse_job(JOB)
    chaining = find_chaining(job.topology, job.configuration)
    assert chaining.chains == {"parse+clean": ("parse", "clean")}
    assert chaining.chained_topology.operator_names == ("in", "parse+clean", "store")
    assert [one.subscription for one in chaining.chained_topology.streams] == [
        ("in", "default", "parse+clean"),
        ("parse+clean", "default", "store"),
    ]
    assert chaining.chained_configuration.executors == {"parse+clean": 2}


def test_operators_of_two_sizes_are_not_chained():
    job = parse_job(JOB.replace("clean: 2}", "clean: 1}"))
    assert find_chaining(job.topology, job.configuration) is None


@pytest.mark.parametrize("scheduler", [None, *scheduler_names()])
def test_every_scheduler_places_chained_executors_together(scheduler):
    plan = place_job(parse_job(JOB), scheduler).plan
    assert plan.logical.topology.operator_names == ("in", "parse", "clean", "store")
    placed = {name: [plan.placement[n] for n in span] for name, span in plan.logical.spans.items()}
    assert placed["parse"] == placed["clean"] and len(placed["parse"]) == 2


def test_a_plan_that_places_a_chain_apart_is_refused():
    apart = """\
plan:
  workers:
    - {node: n1, port: 6700, executors: ["in[1]", "parse[2]", "parse[3]", "clean[4]"]}
    - {node: n2, port: 6700, executors: ["clean[5]", "store[6]"]}
"""
    job = parse_job(JOB + apart)
    with pytest.raises(InvalidInput, match=r"parse\[3\] and clean\[5\] in different workers"):
        simulate(place_job(job).plan, job.behaviours, job.workload, seconds=1.0, seed=1)


def simulated(text, seconds=200.0):
    job = parse_job(text)
    plan = place_job(job).plan
    return simulate(plan, job.behaviours, job.workload, seconds=seconds, warmup=5.0, seed=1)


def test_a_chain_is_simulated_as_one_server_and_split_by_operator():
    result = simulated(JOB)
    parse, clean = result.operators["parse"], result.operators["clean"]
    # A tuple takes 2 ms in parse, every second one 4 ms more in clean. 200 a second over two
    # executors keep each 40 % busy, half with either operator.
    assert parse.utilisation + clean.utilisation == pytest.approx(0.4, rel=0.03)
    assert parse.utilisation == pytest.approx(clean.utilisation)
    assert parse.busiest == pytest.approx(0.4, rel=0.05)
    assert parse.arrived_per_second == pytest.approx(200, rel=0.03)
    assert clean.arrived_per_second == pytest.approx(100, rel=0.03)
    assert clean.emitted_per_second == pytest.approx(100, rel=0.03)
    assert (clean.queue_length, clean.wait_seconds) == (0.0, 0.0)
    assert [one.operators for one in result.ways] == [("in", "parse", "clean", "store")]
    assert {one.name for one in result.executors} == {
        *("in[1]", "parse[2]", "parse[3]", "clean[4]", "clean[5]", "store[6]")
    }


def test_a_chain_waits_as_one_server_does():
    alone = JOB.replace("{parse: 2, clean: 2}", "{parse: 1, clean: 1}").replace("200", "100")
    # Pollaczek and Khinchine with a service of 4 ± 4 ms: 0.1 · (4² + 4²) / (2 · (1 − 0.4)) ms.
    wait_ms = 0.1 * (4**2 + 4**2) / (2 * 0.6)
    assert simulated(alone).operators["parse"].wait_seconds == pytest.approx(
        wait_ms / 1e3, rel=0.06
    )


def test_without_chaining_the_same_job_has_one_server_more():
    chained, apart = simulated(JOB), simulated(JOB.replace("engine: toy", "engine: toy-unchained"))
    assert chained.operators["clean"].executors == apart.operators["clean"].executors
    assert apart.operators["clean"].wait_seconds > 0.0
    assert chained.hops == pytest.approx(apart.hops * 300 / 400, rel=0.03)


def test_a_full_queue_blocks_its_sender():
    text = JOB.replace("{mean: 1}", "{mean: 20}").replace("workers: 2", "workers: 1")
    small = text.replace("engine: toy,", "engine: toy, settings: {toy.queue.size: 4},")
    result = simulated(small, seconds=100.0)
    store, clean = result.operators["store"], result.operators["clean"]
    # The sink takes 50 of the 100 tuples/s that clean would send; the chain waits for room.
    assert store.executed_per_second == pytest.approx(50, rel=0.05)
    assert clean.blocked > 0.3
    assert result.operators["in"].emitted_per_second == pytest.approx(100, rel=0.1)
    queue = next(one.receive for one in result.executors if one.operator == "store")
    assert queue.limit == 4 and queue.peak <= 4


# One executor of each operator in one worker; every tuple goes through all of them.
LINE = (
    JOB.replace("{parse: 2, clean: 2}, workers: 2", "{parse: 1, clean: 1}, workers: 1")
    .replace("default: 0.5", "default: 1")
    .replace("per_second: 200", "per_second: 100")
)
# Of the chain: 6 ms with a variance of 2² + 4², and the wait by Pollaczek and Khinchine.
CHAIN_WAIT_MS = 0.1 * (6**2 + 2**2 + 4**2) / (2 * (1 - 0.6))
STORE_WAIT_MS = 0.1 * 2 / (2 * (1 - 0.1))
TOTAL_MS = CHAIN_WAIT_MS + 6 + STORE_WAIT_MS + 1


def test_the_prediction_is_that_of_one_server_for_the_chain():
    predicted = sg.predict(parse_job(LINE)).predicted.prediction
    assert 1e3 * predicted.latency.mean == pytest.approx(TOTAL_MS, rel=1e-9)
    # The chain is 60 % busy, a third of it with parse.
    parse, clean = predicted.operators["parse"], predicted.operators["clean"]
    assert (parse.utilisation, clean.utilisation) == pytest.approx((0.2, 0.4))
    assert (parse.busiest, clean.busiest) == pytest.approx((0.6, 0.6))
    threads = {one.operator: one.utilisation for one in predicted.executors}
    assert (threads["parse"], threads["clean"]) == pytest.approx((0.6, 0.6))
    assert 1e3 * parse.service_seconds == pytest.approx(2)
    assert 1e3 * clean.service_seconds == pytest.approx(4)
    assert 1e3 * parse.delay_seconds == pytest.approx(CHAIN_WAIT_MS + 2)
    assert 1e3 * clean.delay_seconds == pytest.approx(4)
    assert (clean.arrived_per_second, clean.emitted_per_second) == pytest.approx((100, 100))
    # It is all but full at 100 / 0.6, which clean has most to do with.
    assert predicted.limit.per_second == pytest.approx(100 / 0.6, rel=2e-3)
    assert predicted.limit.by == "clean[4-5]"


def test_the_explanation_speaks_of_the_jobs_own_operators():
    explanation = sg.predict(parse_job(LINE)).predicted.prediction.explanation
    assert set(explanation.sensitivities) == {"in", "parse", "clean", "store"}
    parse, clean = explanation.sensitivities["parse"], explanation.sensitivities["clean"]
    assert clean.longer_service == pytest.approx(2 * parse.longer_service)
    first = explanation.bottlenecks[0]
    assert (first.operator, first.executors, first.tasks) == ("clean", 1, 2)


def test_a_simulated_prediction_agrees():
    report = sg.predict(parse_job(LINE), model="simulation")
    predicted = report.predicted.prediction
    assert 1e3 * predicted.latency.mean == pytest.approx(TOTAL_MS, rel=0.1)
    assert predicted.operators["clean"].utilisation == pytest.approx(0.4, rel=0.05)


def test_an_overloaded_chain_is_named_by_the_operator_with_most_work():
    report = sg.predict(parse_job(LINE), rate=200)
    assert report.predicted.prediction.overloaded == {"clean[4-5]": pytest.approx(1.2)}


def test_placements_are_ranked_with_predictions_and_without_commands():
    report = sg.rank_placements(parse_job(JOB))
    ranking = report.ranking
    assert ranking.unpredicted == () and set(ranking.placements) == set(scheduler_names())
    assert all(one.prediction is not None for one in ranking.placements.values())
    assert "storm" not in str(report.to_dict())


def test_scaling_gives_a_chain_one_executor_more_of_each_operator():
    report = sg.rank_scalings(parse_job(LINE), units=1, rate=300)
    proposal = report.ranking.best
    assert proposal.scaling.allocation == {"parse+clean": 1}
    assert proposal.translation.executors == {"parse": 2, "clean": 2}
    assert proposal.job.configuration.executors == {"parse": 2, "clean": 2}
    # An executor of the chain takes 1000 / 6 tuples a second, two take 333.
    assert proposal.scaling.throughput == pytest.approx(1000 / 6)
    assert proposal.scaling.expected == pytest.approx(300)
    assert proposal.translation.command == ()
    prediction = report.ranking.prediction
    assert prediction.operators["clean"].executors == 2 and not prediction.overloaded
