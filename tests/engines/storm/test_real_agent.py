"""What users do on a cluster: a topology of their own, measured from inside and from outside."""

import time
from collections import defaultdict
from dataclasses import replace

import pytest

from benchmarks.agent_overhead import compiled_topology
from streamgauge.engines.storm.agent import agent_settings
from streamgauge.engines.storm.applying import apply_plan, read_assignment
from streamgauge.engines.storm.collection.collector import Collector
from streamgauge.engines.storm.collection.nimbus import NimbusSource
from streamgauge.engines.storm.submitting import submit_jar
from streamgauge.lake.raw import Plan, Rejected, Sample, decode
from streamgauge.lake.records import Event, ungroup
from streamgauge.profile.files.jobs import parse_job
from streamgauge.topology.physical_plan import PhysicalPlan
from tests.engines.storm.deployments import job, listens, running, submitted, until

pytestmark = pytest.mark.storm


@pytest.fixture(scope="module")
def words(jars, storm, bridge, tmp_path_factory):
    """A topology that knows nothing of us, and the folder that the agent writes to."""
    del jars
    folder = tmp_path_factory.mktemp("words")
    jar = compiled_topology(folder)
    settings = agent_settings(folder=folder / "metrics", bucket_seconds=2)
    assert submit_jar(storm, jar, "Words", ("words", "100", "2"), settings=settings) == ("words",)
    yield folder / "metrics"
    slots = set(read_assignment(bridge, "words").slots.values())
    bridge.ask("kill", topology="words", wait_seconds=0)
    until(lambda: "words" not in running(bridge), "the end of words")
    until(lambda: not any(map(listens, slots)), "the end of its workers")


def records(folder):
    files = sorted(folder.glob(".streamgauge-*")) + sorted(folder.glob("streamgauge-*"))
    whole = (path.read_bytes().rpartition(b"\n")[0] for path in files)
    return list(ungroup(decode(line) for data in whole for line in data.splitlines()))


def counts(found, metric):
    """Of the topology's own stream, by component and, of inputs, who sent it."""
    totals = defaultdict(float)
    for one in found:
        if isinstance(one, Sample) and one.metric == metric and one.stream == "default":
            totals[one.component, one.source_component] += one.value
    return totals


def test_two_lines_measure_a_topology_that_knows_nothing_of_us(words):
    def enough():
        found = records(words) if words.is_dir() else []
        return found if counts(found, "executed")["count", "split"] > 2000 else None

    found = until(enough, "metrics of words")
    assert [one for one in found if isinstance(one, Rejected)] == []
    split = counts(found, "executed")["split", "sentences"]
    # Its four sentences have 24 words, and come in turn.
    assert counts(found, "emitted")["split", None] / split == pytest.approx(24 / 4, rel=0.05)
    (document,) = {one.document for one in found if isinstance(one, Plan)}
    assert set(parse_job(document).topology.operator_names) == {"sentences", "split", "count"}


GROUPS = (
    "executor_cpu",
    "transfer_thread_cpu",
    "network_threads_cpu",
    "window_threads_cpu",
    "timer_threads_cpu",
    "agent_cpu",
    "gc_cpu",
    "jit_cpu",
)


def test_groups_of_threads_are_most_of_a_worker_and_every_executor_has_a_run_delay(words):
    spent, delayed = defaultdict(lambda: defaultdict(float)), defaultdict(set)
    for one in records(words):
        if isinstance(one, Sample) and one.worker is not None:
            spent[one.worker][one.metric] += one.value
            if one.executor is not None:
                delayed[one.metric].add(one.executor)
    assert spent
    for worker in spent.values():
        groups = sum(worker[metric] for metric in GROUPS)
        # Processes are counted in steps of 10 ms; the rest is the virtual machine's own.
        assert 0.7 * worker["worker_cpu"] <= groups <= 1.02 * worker["worker_cpu"] + 2e7
    assert delayed["executor_run_delay"] == delayed["executor_cpu"]


def test_a_rebalance_is_seen_from_outside(storm, bridge):
    described = job("moved", executors={"source": 1, "work": 2, "end": 1}, ackers=1)
    collector = Collector(
        source=NimbusSource(bridge),
        clock=lambda: time.time_ns() // 1000,
        every_seconds=10.0,
        names=("moved",),
        cluster=None,
    )

    def seen(kind):
        found = []

        def poll():
            found.extend(collector.poll().records)
            return [one for one in found if isinstance(one, kind)]

        return until(poll, f"{kind.__name__} from nimbus")

    with submitted(storm, bridge, described) as name:
        (first, *_) = seen(Plan)
        plan = read_assignment(bridge, name).plan(
            described.topology, described.configuration, storm.cluster
        )
        configuration = replace(described.configuration, workers=1)
        logical = replace(plan.logical, configuration=configuration)
        one = PhysicalPlan.from_slots(
            logical, storm.cluster, storm.cluster.slots[-1:], [0] * len(logical.executors)
        )
        apply_plan(bridge, storm.layout.plans, name, one)
        rebalance = seen(Event)
        assert "rebalance" in {event.kind for event in rebalance}
        assert first.plan_id
