"""Throughput of chains, told by the job's own operators."""

import pytest

from streamgauge.models import chained
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.throughput import predict_throughput
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.transport.chaining import Chaining

JOB = parse_job("""\
streamgauge: 1
topology:
  name: line
  operators: {in: {kind: source}, parse: {}, clean: {}, store: {}}
  streams:
    - {from: in, to: parse, grouping: shuffle}
    - {from: parse, to: clean, grouping: shuffle}
    - {from: clean, to: store, grouping: shuffle}
behaviours:
  in: {service: {cpu_ms: 0.01}}
  parse: {service: {wait_ms: 2}, outputs: {default: 0.5}}
  clean: {service: {wait_ms: 6}, outputs: {default: 3}}
  store: {service: {wait_ms: 0.1}}
cluster: {uniform: {nodes: 1, cores: 8}}
workload: [{source: in, per_second: 320}]
""")


@pytest.fixture
def found(monkeypatch):
    """`parse` and `clean` in one thread, which takes 2 + 0.5·6 ms for a tuple: 200 a second."""
    chains = {"parse+clean": ("parse", "clean")}

    def find(topology, configuration):
        if "parse" not in topology.operator_names:
            return None
        return Chaining(topology=topology, configuration=configuration, chains=chains)

    monkeypatch.setattr(chained, "find_chaining", find)
    return predict_throughput(JobBehaviour.from_job(JOB), place_job(JOB).plan, JOB.workload)


def test_every_operator_of_a_chain_has_its_own_rates(found):
    rates = {name: one.processed_per_second for name, one in found.operators.items()}
    assert rates == pytest.approx({"in": 200, "parse": 200, "clean": 100, "store": 300}, rel=3e-3)
    assert found.operators["clean"].wanted_per_second == pytest.approx(160.0)
    streams = {key.source: rate for key, rate in found.streams.items()}
    assert streams == pytest.approx({"in": 200, "parse": 100, "clean": 300}, rel=3e-3)


def test_what_is_full_is_the_operator_with_most_of_the_chains_work(found):
    assert found.bottlenecks[0].operator == "clean"
    assert found.saturation.by == found.bottlenecks[0].name
    assert found.saturation.by.startswith("clean[")
    assert found.paths[0].operators == ("in", "parse", "clean", "store")
