"""What is known of operators, as what is known of the chain that they are."""

from dataclasses import replace

import numpy as np
import pytest

from streamgauge.models.chained import chain_behaviour
from streamgauge.models.job_behaviour import Estimate, JobBehaviour, Origin
from streamgauge.profile.files.jobs import parse_job
from streamgauge.topology.topology import StreamKey
from streamgauge.transport.chaining import Chaining

JOB = parse_job("""\
streamgauge: 1
topology:
  name: line
  operators: {in: {kind: source}, parse: {}, clean: {}, store: {}}
  streams:
    - {from: in, to: parse, grouping: shuffle}
    - {from: parse, to: clean, grouping: shuffle}
    - {from: clean, to: store, grouping: {fields: [user]}}
behaviours:
  in: {}
  parse: {service: {cpu_ms: {exponential: {mean: 2}}}, outputs: {default: 0.5}}
  clean: {service: {cpu_ms: {exponential: {mean: 4}}}, outputs: {default: 3},
          keys: {default: {zipf: {count: 4, exponent: 1}}}}
  store: {service: {cpu_ms: 1}}
""")
CHAINING = Chaining(
    topology=JOB.topology,
    configuration=JOB.configuration,
    chains={"parse+clean": ("parse", "clean")},
)
INTO, OUT_OF = StreamKey("in", "default"), StreamKey("parse+clean", "default")


@pytest.fixture
def behaviour():
    return JobBehaviour.from_job(JOB)


def test_a_chain_takes_the_times_of_all_its_operators(behaviour):
    chain = chain_behaviour(CHAINING, behaviour).operators["parse+clean"]
    cpu = chain.inputs[INTO].service.cpu
    assert float(cpu.mean_ms) == pytest.approx(2 + 0.5 * 4)
    # 2² and half of 4², and that half of all tuples have nothing more to do.
    assert float(cpu.variance) == pytest.approx(4 + 0.5 * 16 + 0.25 * 16)
    assert float(chain.inputs[INTO].outputs["default"].mean) == pytest.approx(1.5)
    assert cpu.mean_ms.origin is Origin.DECLARED


def test_streams_and_keys_are_those_of_the_chain(behaviour):
    chained = chain_behaviour(CHAINING, behaviour)
    assert set(chained.operators) == {"in", "parse+clean", "store"}
    assert set(chained.operators["store"].inputs) == {OUT_OF}
    assert set(chained.keys) == {OUT_OF}
    assert chained.topology.operator_names == ("in", "parse+clean", "store")


def test_errors_and_replicas_of_times_are_carried_on(behaviour):
    operators = dict(behaviour.operators)
    for name, error, replicas in (("parse", 0.3, [2.0, 2.2]), ("clean", 0.8, [4.0, 4.4])):
        key = next(iter(operators[name].inputs))
        one = operators[name].inputs[key]
        mean = Estimate(
            value=np.asarray(replicas), standard_error=np.asarray(error), origin=Origin.MEASURED
        )
        service = replace(one.service, cpu=replace(one.service.cpu, mean_ms=mean))
        operators[name] = replace(operators[name], inputs={key: replace(one, service=service)})
    chained = chain_behaviour(CHAINING, replace(behaviour, operators=operators))
    mean = chained.operators["parse+clean"].inputs[INTO].service.cpu.mean_ms
    assert mean.replicas == 2
    assert mean.value == pytest.approx([4.0, 4.4])
    # √(0.3² + (0.5 · 0.8)²)
    assert mean.error == pytest.approx(0.5)
