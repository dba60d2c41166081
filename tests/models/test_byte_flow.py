"""Bytes of plans, by hand (Bedini et al. 2013, sections 3.1 and 6.3.2)."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.models.analytic import AnalyticModel
from streamgauge.models.byte_flow import find_byte_flow
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.load_limit import NETWORK_CARD
from streamgauge.models.parameters import find_parameters
from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.behaviour import Behaviour, Service
from streamgauge.profile.distribution import Constant
from streamgauge.profile.files.jobs import parse_job
from streamgauge.topology.cluster import BYTES_OF_GBIT
from streamgauge.transport.storm2 import DEFAULTS

# Section 5.3: two tuple types in, two out; the sinks are there so that C and D are carried.
SEVERAL_TYPES = """
streamgauge: 1
topology:
  name: several-types
  operators: {spout: {kind: source}, bolt: {}, sink: {tasks: 2}, other: {}}
  streams:
    - {from: spout, stream: A, to: bolt, grouping: shuffle}
    - {from: spout, stream: B, to: bolt, grouping: shuffle}
    - {from: bolt, stream: C, to: sink, grouping: all}
    - {from: bolt, stream: D, to: sink, grouping: shuffle}
    - {from: bolt, stream: D, to: other, grouping: global}
behaviours:
  spout: {bytes: {A: 100, B: 40}}
  bolt:
    service: {cpu_ms: 0.01}
    bytes: {C: 60, D: 20}
    inputs:
      spout: {A: {outputs: {C: 0.5, D: 0.25}}, B: {outputs: {C: 2}}}
  sink: {service: {cpu_ms: 0.01}}
  other: {service: {cpu_ms: 0.01}}
configuration:
  {executors: {sink: 2}, workers: 1, settings: {topology.disable.loadaware.messaging: true}}
cluster: {uniform: {nodes: 2, cores: 4}}
workload:
  - {source: spout, stream: A, per_second: 1000}
  - {source: spout, stream: B, per_second: 500}
"""


def byte_flow(text, **changes):
    job = parse_job(text)
    job = replace(job, configuration=replace(job.configuration, **changes))
    parameters = find_parameters(JobBehaviour.from_job(job), place_job(job).plan, job.workload)
    return find_byte_flow(parameters, parameters.behaviour, parameters.crossings)


def test_data_sizes_of_several_tuple_types_are_those_of_the_worked_example():
    """5.3: S.dataSize 120,000 (A1, A2), B.dataSize 95,000 (A5), T.dataSize 215,000 (A6)."""
    flow = byte_flow(SEVERAL_TYPES)
    assert flow.emitted(["spout"]) == pytest.approx(120_000)
    assert flow.emitted(["bolt"]) == pytest.approx(95_000)
    assert flow.emitted() == pytest.approx(215_000)
    emitted = {str(one.key): one.emitted_bytes_per_second for one in flow.streams}
    # C: 1,000·0.5 + 500·2 a second of 60 bytes; D: 1,000·0.25 of 20.
    assert emitted == pytest.approx(
        {"spout/A": 100_000, "spout/B": 20_000, "bolt/C": 90_000, "bolt/D": 5_000}
    )


def test_what_is_delivered_counts_every_copy():
    flow = byte_flow(SEVERAL_TYPES)
    # C goes to both tasks of the sink, D to two subscribers.
    assert flow.total("delivered_bytes_per_second") == pytest.approx(215_000 + 90_000 + 5_000)


def end_of_batch(per_second):
    """Two bytes for all that comes while the transfer thread sleeps; of each message its part."""
    asleep = per_second * DEFAULTS.transfer_sleep
    return 2 * (1 - math.exp(-asleep)) / asleep


@pytest.mark.parametrize(
    ("per_second", "batches"), [(152, 141), (250, 221), (457, 351), (751, 506)]
)
def test_messages_that_leave_together_are_as_many_batches_as_were_counted(per_second, batches):
    """TCP segments between two workers on Storm 2.8.3, of messages with 30 bytes on the mean."""
    assert per_second * end_of_batch(per_second) / 2 == pytest.approx(batches, rel=0.05)


def test_between_workers_a_tuple_has_a_frame_around_it():
    flow = byte_flow(SEVERAL_TYPES, workers=2)
    dealt = {one.stream: one for one in flow.streams}
    # Alphabetically: bolt n1, other n2, sink n1 and n2, spout n1. To n2 go all of C, half of D to
    # the sink and all of D to the other.
    end = end_of_batch(1500 + 125 + 250)
    assert dealt["bolt/D → other"].remote_bytes_per_second == pytest.approx(250 * (20 + 6 + end))
    assert dealt["bolt/C → sink"].remote_bytes_per_second == pytest.approx(1500 * (60 + 6 + end))
    assert dealt["spout/A → bolt"].remote_bytes_per_second == 0.0


def test_nothing_leaves_the_only_worker():
    flow = byte_flow(SEVERAL_TYPES)
    assert flow.total("remote_bytes_per_second") == 0.0
    assert [one.sent_bytes_per_second for one in flow.workers] == [0.0]


@given(workers=st.integers(1, 4))
def test_what_workers_send_is_what_workers_receive_and_what_streams_carry(workers):
    flow = byte_flow(SEVERAL_TYPES.replace("nodes: 2", "nodes: 2, slots: 2"), workers=workers)
    for parts in (flow.workers, flow.nodes, flow.machines):
        sent = sum(one.sent_bytes_per_second for one in parts)
        assert sent == pytest.approx(sum(one.received_bytes_per_second for one in parts))
    far = flow.total("remote_bytes_per_second")
    assert sum(one.sent_bytes_per_second for one in flow.nodes) == pytest.approx(far)
    near = flow.total("inter_worker_bytes_per_second")
    assert sum(one.sent_bytes_per_second for one in flow.workers) == pytest.approx(far + near)


def test_acknowledgements_are_bytes_too():
    acked = SEVERAL_TYPES.replace("topology:", "topology:\n  acked: true")
    flow = byte_flow(acked, ackers=1)
    system = {one.stream: one.emitted_bytes_per_second for one in flow.streams if one.is_system}
    # A root each announced by 27 bytes and answered by 16, for every tuple executed 24.
    executed = {"bolt": 1500, "sink": 2 * 1500 + 250, "other": 250}
    expected = {f"{name}/__ack_ack → __acker": 24 * n for name, n in executed.items()}
    expected |= {"spout/__ack_init → __acker": 27 * 1500, "__acker/__ack_ack → spout": 16 * 1500}
    assert system == pytest.approx(expected)
    assert next(one.message_bytes for one in flow.streams) == 100 + 6 + 2 + 16


def test_streams_of_unknown_size_are_named_and_have_no_figures():
    flow = byte_flow(SEVERAL_TYPES.replace("bytes: {C: 60, D: 20}", "bytes: {C: 60}"))
    assert flow.unknown == ("bolt/D",)
    assert [one.stream for one in flow.streams if one.delivered_bytes_per_second is None] == [
        "bolt/D → sink",
        "bolt/D → other",
    ]


def two_machines(gbit, per_second):
    """A tuple of 994 bytes goes to the other machine: 1,000 with its frame."""
    return parse_job(
        f"""
streamgauge: 1
topology:
  name: card
  operators: {{in: {{kind: source}}, out: {{}}}}
  streams: [{{from: in, to: out, grouping: shuffle}}]
behaviours: {{in: {{bytes: {{default: 994}}}}, out: {{service: {{cpu_ms: 0.001}}}}}}
configuration: {{workers: 2}}
cluster: {{uniform: {{nodes: 2, cores: 4, network_gbit_per_second: {gbit}}}}}
workload: [{{source: in, per_second: {per_second}}}]
"""
    )


def predict(job):
    return AnalyticModel().predict(JobBehaviour.from_job(job), place_job(job).plan, job.workload)


def test_a_message_alone_has_the_end_of_its_batch_to_itself():
    (stream,) = predict(two_machines(1, 0.01)).bytes.streams
    assert stream.message_bytes == pytest.approx(994 + 6 + 2, abs=1e-3)


def test_a_card_that_is_overrun_is_overloaded_and_tuples_wait_without_end():
    found = predict(two_machines(0.1, 25_000))
    assert found.overloaded == pytest.approx(
        {f"{NETWORK_CARD} {name}": 2.0 for name in ("m1", "m2")}, rel=1e-3
    )
    assert found.latency.mean == float("inf")


@given(gbit=st.floats(0.01, 1.0))
def test_the_limit_knows_what_a_card_carries(gbit):
    found = predict(two_machines(gbit, 1_000))
    # Of ends of batches a message has less at the limit than at the load it is found from.
    assert found.limit.per_second == pytest.approx(gbit * BYTES_OF_GBIT / 1000, rel=3e-3)
    assert found.limit.by.startswith(NETWORK_CARD)


def test_nodes_of_one_machine_do_not_use_its_card():
    job = two_machines(0.1, 25_000)
    nodes = tuple(replace(node, machine="m1") for node in job.cluster.nodes)
    found = predict(replace(job, cluster=replace(job.cluster, nodes=nodes)))
    assert found.overloaded == {}
    assert [one.sent_bytes_per_second for one in found.bytes.machines] == [0.0, 0.0]
    assert found.bytes.total("remote_bytes_per_second") == pytest.approx(25e6, rel=1e-3)


def test_sizes_of_a_behaviour_are_means():
    job = two_machines(1, 100)
    behaviours = dict(job.behaviours)
    behaviours["in"] = Behaviour(service=Service(), bytes={"default": Constant(value=44.0)})
    found = predict(replace(job, behaviours=behaviours))
    assert found.bytes.streams[0].tuple_bytes == 44.0
