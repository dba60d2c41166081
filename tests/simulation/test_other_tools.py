"""Whole jobs against other people's programs: Ciw, and LINE where it is exact."""

import warnings

import ciw
import pytest

from tests.simulation.intervals import RUNS, alike, holds, runs_of
from tests.simulation.jobs import run_text

TANDEM = """
streamgauge: 1
topology:
  name: t
  operators: {s: {kind: source}, a: {}, b: {}}
  streams: [{from: s, to: a, grouping: shuffle}, {from: a, to: b, grouping: shuffle}]
behaviours:
  a: {service: {wait_ms: {exponential: 10}}, outputs: {default: 1}}
  b: {service: {wait_ms: {exponential: 12}}}
configuration: {settings: {topology.disable.loadaware.messaging: true}}
workload: [{source: s, per_second: 45}]
"""
ROOM = 2


def test_a_full_queue_blocks_as_in_ciw():
    """Two servers in a row with room for two between them: blocking after service.

    A source holds what does not fit into the first queue, so that one has no limit; only the time
    from when a tuple was due is the same thing in both.
    """
    ours = runs_of(
        lambda seed: run_text(TANDEM, seconds=1000.0, warmup=50.0, seed=seed, receive_limit=ROOM),
        lambda r: r.since_due.mean,
    )
    blocked = runs_of(
        lambda seed: run_text(TANDEM, seconds=1000.0, warmup=50.0, seed=seed, receive_limit=ROOM),
        lambda r: r.operators["a"].blocked,
    )
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(45.0), None],
        service_distributions=[ciw.dists.Exponential(100.0), ciw.dists.Exponential(1 / 0.012)],
        routing=[[0.0, 1.0], [0.0, 0.0]],
        number_of_servers=[1, 1],
        queue_capacities=[float("inf"), ROOM],
    )
    theirs, theirs_blocked = [], []
    for seed in range(RUNS):
        ciw.seed(seed)
        simulation = ciw.Simulation(network)
        simulation.simulate_until_max_time(250.0)
        records = [one for one in simulation.get_all_records() if one.arrival_date > 20.0]
        first = [one for one in records if one.node == 1]
        second = [one for one in records if one.node == 2]
        spent = sum(one.exit_date - one.arrival_date for one in (*first, *second))
        theirs.append(spent / len(second))
        theirs_blocked.append(sum(one.time_blocked for one in first) / 230.0)
    alike(ours, theirs, within=0.15)
    alike(blocked, theirs_blocked, within=0.15)


BRANCHES = """
streamgauge: 1
topology:
  name: t
  operators: {s: {kind: source}, a: {}, x: {}, y: {}, z: {}}
  streams:
    - {from: s, to: a, grouping: shuffle}
    - {from: a, to: x, stream: left, grouping: shuffle}
    - {from: a, to: y, stream: right, grouping: shuffle}
    - {from: x, to: z, grouping: shuffle}
    - {from: y, to: z, grouping: shuffle}
behaviours:
  a: {service: {wait_ms: {exponential: 5}}, outputs: {left: 0.3, right: 0.7}, exclusive: true}
  x: {service: {wait_ms: {exponential: 15}}, outputs: {default: 1}}
  y: {service: {wait_ms: {exponential: 8}}, outputs: {default: 1}}
  z: {service: {wait_ms: {exponential: 4}}}
configuration: {settings: {topology.disable.loadaware.messaging: true}}
workload: [{source: s, per_second: 80}]
"""


@pytest.fixture(scope="module")
def jackson():
    """Mean populations of the stations of a Jackson network, by LINE's mean value analysis."""
    with warnings.catch_warnings():
        # It uses parts of numpy that are to go away.
        warnings.simplefilter("ignore")
        import line_solver as line

        return _populations(line)


def _populations(line):
    model = line.Network("branches")
    source, sink = line.Source(model, "s"), line.Sink(model, "end")
    means = {"a": 0.005, "x": 0.015, "y": 0.008, "z": 0.004}
    stations = {name: line.Queue(model, name, line.SchedStrategy.FCFS) for name in means}
    tuples = line.OpenClass(model, "tuples")
    source.set_arrival(tuples, line.Exp(80.0))
    for name, mean in means.items():
        stations[name].set_service(tuples, line.Exp(1.0 / mean))
    routing = model.init_routing_matrix()
    routing.set(tuples, tuples, source, stations["a"], 1.0)
    routing.set(tuples, tuples, stations["a"], stations["x"], 0.3)
    routing.set(tuples, tuples, stations["a"], stations["y"], 0.7)
    routing.set(tuples, tuples, stations["x"], stations["z"], 1.0)
    routing.set(tuples, tuples, stations["y"], stations["z"], 1.0)
    routing.set(tuples, tuples, stations["z"], sink, 1.0)
    model.link(routing)
    table = line.MVA(model, verbose=False).avg_table()
    return dict(zip(table["Station"], table["QLen"], strict=True))


@pytest.mark.parametrize("name", ["a", "x", "y", "z"])
def test_a_jackson_network_has_the_populations_that_line_gives(jackson, name):
    def population(result):
        one = result.operators[name]
        return one.queue_length + one.utilisation

    found = runs_of(
        lambda seed: run_text(BRANCHES, seconds=1000.0, warmup=20.0, seed=seed), population
    )
    holds(found, float(jackson[name]))
