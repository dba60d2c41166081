"""Laws that hold for every job: nothing is lost, and Little's law, on random topologies.

The sources fall silent half-way, so that everything drains: then whatever came must have left,
every tree must be complete, and every pool must be whole again. Little's law is exact there.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamgauge.planning.scheduling.job_placement import place_job
from streamgauge.profile.files.jobs import parse_job
from streamgauge.simulation.handles import Handle
from streamgauge.simulation.kernel import begin, run
from streamgauge.simulation.program import compile_job
from streamgauge.simulation.records import REACHED
from streamgauge.simulation.topology_run import initial_state
from streamgauge.transport.engine import load_engine

GROUPINGS = [
    "shuffle",
    "local-or-shuffle",
    "all",
    "global",
    "direct",
    "{fields: [k]}",
    "{partial-key: [k]}",
]
SERVICES = [
    "cpu_ms: {exponential: 0.8}",
    "wait_ms: {gamma: {mean: 1, scv: 0.5}}",
    "cpu_ms: 0.3, wait_ms: {lognormal: {mean: 0.5, scv: 2}}",
    "",
]
OUTPUTS = ["1", "0.5", "2", "{poisson: 1.2}", "{empirical: {values: [0, 3]}}"]


@st.composite
def jobs(draw):
    """A source, two to four operators in a row with side ways, on one to three workers."""
    count = draw(st.integers(2, 4))
    names = [f"o{n}" for n in range(count)]
    operators = {"s": draw(st.integers(1, 2))} | {name: draw(st.integers(1, 3)) for name in names}
    streams = [("s", "o0")]
    for n in range(1, count):
        streams.append((draw(st.sampled_from(["s", *names[:n]])), names[n]))
    if draw(st.booleans()) and ("o0", names[-1]) not in streams:
        streams.append(("o0", names[-1]))
    senders = {source for source, _ in streams}
    lines = []
    for name in ["s", *names]:
        parts = [f"service: {{{draw(st.sampled_from(SERVICES))}}}"]
        if name in senders:
            parts.append("keys: {default: {zipf: {count: 5, exponent: 1}}}")
            if name != "s":
                parts.append(f"outputs: {{default: {draw(st.sampled_from(OUTPUTS))}}}")
        if draw(st.booleans()):
            parts.append("costs: {serialise_ms: 0.01, deserialise_ms: 0.01, ack_ms: 0.01}")
        lines.append(f"  {name}: {{{', '.join(parts)}}}")
    engine = draw(st.sampled_from(["storm-1", "storm-2"]))
    chosen = {}
    if engine == "storm-2":
        chosen["topology.producer.batch.size"] = draw(st.sampled_from([1, 1, 3, 100]))
        chosen["topology.executor.receive.buffer.size"] = draw(st.sampled_from([4, 64, 32768]))
        chosen["topology.transfer.buffer.size"] = draw(st.sampled_from([4, 1024]))
        chosen["topology.disable.loadaware.messaging"] = draw(st.sampled_from(["true", "false"]))
    else:
        chosen["topology.disruptor.batch.size"] = draw(st.sampled_from([1, 3, 100]))
        chosen["topology.backpressure.enable"] = draw(st.sampled_from(["true", "false"]))
    if draw(st.booleans()):
        chosen["topology.max.spout.pending"] = draw(st.integers(1, 50))
    workers = draw(st.integers(1, 3))
    kinds = ", ".join(
        f"{name}: {{{'kind: source, ' if name == 's' else ''}tasks: {tasks}}}"
        for name, tasks in operators.items()
    )
    executors = ", ".join(
        f"{name}: {draw(st.integers(1, tasks))}" for name, tasks in operators.items()
    )
    written = ", ".join(f"{name}: {value}" for name, value in chosen.items())
    grouped = ", ".join(
        f"{{from: {a}, to: {b}, grouping: {draw(st.sampled_from(GROUPINGS))}}}" for a, b in streams
    )
    return f"""
streamgauge: 1
topology:
  name: t
  acked: {str(draw(st.booleans())).lower()}
  operators: {{{kinds}}}
  streams: [{grouped}]
behaviours:
{chr(10).join(lines)}
configuration:
  engine: {engine}
  executors: {{{executors}}}
  workers: {workers}
  settings: {{{written}}}
cluster: {{uniform: {{nodes: {workers}, cores: {draw(st.sampled_from([1, 2]))}, latency_ms: 0.5}}}}
workload:
  - source: s
    per_second: {draw(st.sampled_from([3, 20]))}
    shape: {{recorded: {{bucket_seconds: 2, values: [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]}}}}
"""


def drained(text, *, seconds=24.0, seed=5, balance_ms=None):
    """The state at the end, and the program."""
    job = parse_job(text)
    plan = place_job(job).plan
    machines = tuple(replace(one, balance_ms=balance_ms) for one in plan.cluster.machines)
    plan = replace(plan, cluster=replace(plan.cluster, machines=machines))
    configuration = plan.logical.configuration
    mechanics = load_engine(configuration.engine).mechanics(configuration.settings)
    compiled = compile_job(plan, job.behaviours, job.workload, mechanics, detailed=True)
    state = initial_state(plan, compiled, seed, trace_every=7)
    program, handle = Handle(compiled.program), Handle(state)
    begin(program, handle)
    while run(program, handle, seconds, 10_000_000) != REACHED:
        pytest.fail("it should fit into the first pools")
    return state, compiled


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(text=jobs(), balance_ms=st.sampled_from([0.0, 2.0, None]))
def test_what_comes_leaves_and_waits_as_littles_law_says(text, balance_ms):
    s, compiled = drained(text, balance_ms=balance_ms)
    at = compiled.program.at
    # Nothing waits anywhere, and every pool is whole again.
    assert s.queue["length"].sum() == 0
    assert s.link["length"].sum() == 0
    assert s.free[1] == len(s.message)
    assert s.free[3] == len(s.root)
    assert s.free[5] == len(s.anchor)
    # Flow: what was emitted for a task was executed by it.
    data = s.inputs["executed"].sum()
    assert data == s.outputs["sent"].sum() == s.transferred.sum()
    roots = s.outputs["emitted"][: len(s.outputs)].sum()
    assert roots > 0
    assert s.thread["pending"].sum() == 0
    if at.ackers:
        emitted = s.thread["emitted"][s.thread["kind"] == 0].sum()
        assert s.outputs["roots_acked"].sum() == emitted
        assert s.outputs["roots_failed"].sum() == 0
        # Every root: one beginning, one message for each tuple; each answered once.
        trackers = s.thread["executed"][: at.executors][s.thread["kind"][: at.executors] == 2]
        assert trackers.sum() == emitted + data
    # Little: length over time is the sum of the times spent.
    assert s.queue["area"] == pytest.approx(s.queue["sojourn"], rel=1e-6, abs=1e-9)
    # No thread worked longer than there was time, nor a machine more than it has.
    assert (s.thread["busy"] <= 24.0 + 1e-9).all()
    assert (s.cores.busy <= 24.0 * s.cores.capacity + 1e-9).all()
    # Work asked for is work done.
    assert s.cores.busy.sum() == pytest.approx(s.thread["cpu"].sum(), rel=1e-6, abs=1e-9)


@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(text=jobs())
def test_latencies_are_counted_once_for_each_tuple_at_a_sink(text):
    s, compiled = drained(text)
    sinks = np.flatnonzero(compiled.program.operator["sink"] == 1)
    by_operator = compiled.program.task["operator"]
    rows = s.inputs["executed"].reshape(len(by_operator), -1).sum(axis=1)
    arrived = rows[np.isin(by_operator, sinks)].sum()
    at = compiled.program.at
    assert s.latency[: at.path_rows].sum() == arrived
    assert s.latency[at.path_rows + 2 * at.sources :].sum() == arrived


EAGER = """
streamgauge: 1
topology:
  name: t
  operators: {s: {kind: source, tasks: 3}, a: {}}
  streams: [{from: s, to: a, grouping: shuffle}]
behaviours: {s: {service: {cpu_ms: 1}}, a: {}}
configuration: {executors: {s: 1}}
workload: [{source: s, shape: unlimited}]
"""


def test_all_tasks_of_an_executor_are_asked_in_turn():
    s, compiled = drained(EAGER, seconds=3.0)
    sources = compiled.program.task["operator"] == list(compiled.program.operator["kind"]).index(0)
    emitted = s.outputs["emitted"].reshape(len(sources), -1).sum(axis=1)[sources]
    assert emitted.sum() > 2000
    assert emitted.max() - emitted.min() <= 1
