"""What the bridge's answers become: the same records as from the UI, with nothing guessed."""

import pytest

from streamgauge.engines.storm.collection.collector import Collector
from streamgauge.engines.storm.collection.nimbus import NimbusSource
from streamgauge.engines.storm.collection.snapshot import Vanished
from streamgauge.errors import InvalidInput, SourceUnreachable
from streamgauge.lake.raw import decode, encode
from streamgauge.lake.records import Plan
from streamgauge.profile.files.jobs import parse_job
from tests.engines.storm.collection.uis import Clock, samples

ID = "shop-1-1794780000"
SUPERVISOR = {"uptime_seconds": 900, "version": "2.8.3", "used_slots": 1, "id": "x"}
RESOURCES = {"cpu.pcore.percent": 200.0, "memory.mb": 1024.0}


def by_source(source, stream, value):
    return {":all-time": [{"source": source, "stream": stream, "value": value}]}


def bolt(executed, mean_ms, *, source="clicks", stream="default", emitted=None):
    return {
        "rate": 0.05,
        "emitted": {":all-time": emitted or {}, "600": {}},
        "transferred": {":all-time": emitted or {}},
        "executed": by_source(source, stream, executed)
        | {"600": [{"source": source, "stream": stream, "value": executed}]},
        "acked": by_source(source, stream, executed),
        "failed": {},
        "execute_ms": by_source(source, stream, mean_ms)
        | {"600": [{"source": source, "stream": stream, "value": mean_ms}]},
        "process_ms": by_source(source, stream, mean_ms),
    }


def spout(emitted):
    return {
        "rate": 0.05,
        "emitted": {":all-time": {"default": emitted, "__ack_init": emitted, "__metrics": 20}},
        "transferred": {":all-time": {"default": emitted}},
        "acked": {":all-time": {"default": emitted}},
        "failed": {":all-time": {}},
        "complete_ms": {":all-time": {"default": 12.25}},
    }


class FakeBridge:
    """Answers from memory; `executors` may be changed between two looks."""

    address = "10.0.0.5:6627"

    def __init__(self):
        self.failure = None
        self.running = True
        self.grouping = {"kind": "fields", "fields": ["customer"]}
        self.counters = {
            "__acker": None,
            "clicks": spout(2000),
            "join": bolt(1000, 5.0, emitted={"default": 500}),
            "store": None,
        }
        self.uptime = 40
        self.ranges = {"__acker": (1, 1), "clicks": (2, 2), "join": (3, 5), "store": (6, 6)}

    def ask(self, verb, **arguments):
        if self.failure is not None:
            raise self.failure
        if verb == "cluster":
            listed = {"id": ID, "name": "shop", "status": "ACTIVE", "uptime_seconds": 100}
            hosts = [
                {**SUPERVISOR, "host": f"10.0.0.{n}", "slots": 2, "resources": RESOURCES}
                for n in (1, 2)
            ]
            return {
                "nimbuses": [{"host": "10.0.0.5", "version": "2.8.3"}],
                "supervisors": hosts,
                "topologies": [listed] if self.running else [],
            }
        if not self.running:
            raise InvalidInput.single((), seen="topology 'shop'", expected="one that runs")
        return self.structure() if verb == "topology" else self.statistics()

    def structure(self):
        def component(kind, tasks, *inputs):
            return {"kind": kind, "tasks": tasks, "executors": 1, "inputs": list(inputs)}

        first = {"source": "clicks", "stream": "default", "grouping": {"kind": "local-or-shuffle"}}
        second = {"source": "join", "stream": "default", "grouping": self.grouping}
        ticks = {"source": "__system", "stream": "__tick", "grouping": {"kind": "all"}}
        return {
            "id": ID,
            "components": {
                "__acker": component("bolt", 1),
                "__system": component("bolt", 0),
                "clicks": component("spout", 1),
                "join": component("bolt", 3, first, ticks),
                "store": component("bolt", 1, second),
            },
            "configuration": {
                "topology.stats.sample.rate": 0.05,
                "topology.max.spout.pending": 500,
                "executor.metrics.frequency.secs": 60,
            },
        }

    def statistics(self):
        executors = []
        for name, (first, last) in self.ranges.items():
            one = {
                "component": name,
                "first_task": first,
                "last_task": last,
                "node": "10.0.0.1" if name == "join" else "10.0.0.2",
                "port": 6700,
                "uptime_seconds": 0,
            }
            if self.counters[name] is not None:
                one |= {"counters": self.counters[name], "uptime_seconds": self.uptime}
            executors.append(one)
        return {"id": ID, "name": "shop", "status": "ACTIVE", "executors": executors}


@pytest.fixture
def bridge():
    return FakeBridge()


@pytest.fixture
def polling(bridge):
    return Collector(source=NimbusSource(bridge), clock=Clock(), every_seconds=60.0)


def test_every_record_is_one_that_receivers_take(polling):
    records = polling.poll().records
    assert [decode(encode(one)) for one in records] == records
    assert len(records) > 10


def test_the_plan_is_known_before_all_have_reported(polling):
    (plan,) = [one for one in polling.poll().records if isinstance(one, Plan)]
    job = parse_job(plan.document)
    assert [(one.component, one.worker) for one in plan.executors] == [
        ("__acker", "10.0.0.2:6700"),
        ("clicks", "10.0.0.2:6700"),
        ("join", "10.0.0.1:6700"),
        ("store", "10.0.0.2:6700"),
    ]
    assert [one.grouping.describe() for one in job.topology.streams] == [
        "local-or-shuffle",
        "fields(customer)",
    ]
    assert job.configuration.settings == {"topology.max.spout.pending": 500}
    assert job.cluster.machine_of("10.0.0.1").cores == 2.0
    assert job.explicit_plan() is not None


@pytest.mark.parametrize(
    ("grouping", "kind"),
    [
        ({"kind": "global"}, "global"),
        ({"kind": "none"}, "shuffle"),
        (
            {"kind": "custom", "class": "org.apache.storm.grouping.PartialKeyGrouping"},
            "partial-key",
        ),
        ({"kind": "custom", "class": "my.Own"}, "custom"),
    ],
)
def test_groupings_by_their_names(bridge, polling, grouping, kind):
    bridge.grouping = grouping
    (plan,) = [one for one in polling.poll().records if isinstance(one, Plan)]
    assert parse_job(plan.document).topology.streams_into("store")[0].grouping.kind == kind


def test_an_executor_s_counters_are_divided_evenly_among_its_tasks(polling):
    found = samples(polling.poll().records, "executed_total", component="join")
    assert [(one.task, one.value, one.count) for one in found] == [
        (3, 340, 17),
        (4, 340, 17),
        (5, 320, 16),
    ]
    assert {one.executor for one in found} == {"join[3-5]"}


def test_tuples_of_the_engine_s_own_are_left_out_but_for_acks(polling):
    found = samples(polling.poll().records, "emitted_total", component="clicks")
    assert [one.stream for one in found] == ["__ack_init", "default"]


def test_who_has_not_reported_has_no_samples(polling):
    assert not samples(polling.poll().records, "executed_total", component="store")


def test_means_of_a_bucket_are_exact_however_old_the_worker_is(bridge, polling):
    bridge.uptime = 10**6
    bridge.counters["join"] = bolt(20_000_000, 5.0)
    polling.poll()
    polling.clock.move(60)
    bridge.uptime += 60
    bridge.counters["join"] = bolt(20_001_200, (20_000_000 * 5.0 + 1200 * 7.0) / 20_001_200)
    found = samples(polling.poll().records, "execute_latency_mean", component="join")
    assert [round(one.value, 3) for one in found] == [7.0, 7.0, 7.0]
    assert sum(one.count for one in found) == 60


def test_capacity_is_the_share_of_time_in_execute(polling):
    (one,) = samples(polling.poll().records, "executor_capacity", component="join")
    assert one.value == 1000 * 5.0 / 40_000


def test_a_topology_killed_between_two_questions_is_gone(bridge):
    source = NimbusSource(bridge)
    (listed,) = source.topologies()
    bridge.running = False
    with pytest.raises(Vanished):
        source.take_snapshot(listed)


def test_a_refusal_of_one_that_runs_is_a_fault(bridge, monkeypatch):
    source = NimbusSource(bridge)
    (listed,) = source.topologies()
    refusal = InvalidInput.single((), seen="nimbus refuses", expected="a request that it takes")
    monkeypatch.setattr(bridge, "structure", lambda: (_ for _ in ()).throw(refusal))
    with pytest.raises(SourceUnreachable, match="nimbus refuses"):
        source.take_snapshot(listed)


def test_a_nimbus_that_does_not_answer_ends_the_poll_with_its_words(bridge, polling):
    bridge.failure = SourceUnreachable("nimbus at 10.0.0.5:6627 does not answer")
    assert polling.poll().failure is bridge.failure
