"""The statistics module: juice, latency, capacity and load by samples in a sliding window."""

from dataclasses import replace

import pytest

from streamgauge.lake.metrics import METRICS
from streamgauge.lake.records import PlacedExecutor, Plan
from streamgauge.planning.sharing.job_figures import WatchedJob
from streamgauge.planning.sharing.slo import Slo, Statistic
from streamgauge.planning.sharing.totals import TAKES, Since
from tests.planning.sharing.measurements import (
    BEGUN,
    DIAMOND,
    flow,
    heartbeats,
    latency_samples,
    minute,
    sample,
    statistics,
    take,
    topology,
)


def look(module, at=60.0, name="job"):
    return module.look(BEGUN + at).jobs[name]


def test_every_metric_that_is_used_is_one_of_the_lake():
    assert TAKES.keys() <= METRICS.keys()


def test_h09_example_2_1_in_six_sub_windows_has_juice_0_875():
    status = look(take(statistics(), minute(DIAMOND)))
    assert status.seen.quality.juice == pytest.approx(0.875, abs=1e-3)
    assert status.seen.meets_slo is False
    assert status.until == BEGUN + 60.0


def test_h11_buckets_that_begin_elsewhere_count_with_their_part():
    # Buckets from 3 s to 83 s; the window ends at 80 s, inside one of them.
    module = take(statistics(), minute(DIAMOND, buckets=8, offset=3.0))
    status = look(module, at=83.0)
    assert status.until == BEGUN + 80.0
    assert status.seen.quality.juice == pytest.approx(0.875, abs=1e-3)
    # 10,000 a minute.
    assert status.seen.offered_per_second == pytest.approx(10_000 / 60.0, rel=1e-3)


def test_h11_the_window_forgets_what_is_older():
    lossless = {edge: (out, out) for edge, (out, _) in DIAMOND.items()}
    later = [
        replace(one, bucket_start_us=one.bucket_start_us + 60_000_000) for one in minute(lossless)
    ]
    module = take(statistics(), [*minute(DIAMOND), *later])
    # In the second minute `c` executes all that it is sent.
    assert look(module, 120.0).seen.quality.juice == pytest.approx(1.0, abs=1e-3)
    assert look(module, 120.0).until == BEGUN + 120.0


def test_h11_samples_may_come_in_any_order():
    module = take(statistics(), list(reversed(minute(DIAMOND))), at=60.0)
    assert look(module).seen.quality.juice == pytest.approx(0.875, abs=1e-3)


def test_a_sample_that_comes_again_replaces_the_one_before():
    module = take(statistics(), minute(DIAMOND) * 2)
    assert look(module).seen.offered_per_second == pytest.approx(10_000 / 60.0, rel=1e-3)


def test_h11_a_late_worker_holds_the_window_back():
    early = minute(DIAMOND, buckets=8)
    late = [one for at in range(0, 60, 10) for one in heartbeats(at, workers=("n2:6700",))]
    status = look(take(statistics(), [*early, *late]), at=80.0)
    assert status.until == BEGUN + 60.0
    assert status.unknown == ""
    assert status.seen.quality.juice == pytest.approx(0.875, abs=1e-3)


def test_h30_a_worker_that_is_silent_for_longer_makes_its_job_unknown():
    early = minute(DIAMOND, buckets=20)
    late = [one for at in range(0, 60, 10) for one in heartbeats(at, workers=("n2:6700",))]
    status = look(take(statistics(), [*early, *late]), at=200.0)
    assert status.unknown == "worker n2:6700 has not reported for 140 s"
    assert status.seen.utility is None
    assert status.seen.doubt


def test_nothing_is_known_before_a_whole_window_is_there():
    status = look(take(statistics(), minute(DIAMOND, buckets=3)), at=30.0)
    assert status.unknown == "30 of 60 s are there of worker n1:6700"
    assert status.seen.utility is None


def test_a_gap_in_what_a_worker_reports_makes_its_job_unknown():
    gone = [one for one in minute(DIAMOND) if one.bucket_start_us != round((BEGUN + 20) * 1e6)]
    assert look(take(statistics(), gone)).unknown == "50 of 60 s are there of worker n1:6700"


def test_h11_juice_above_one_is_kept_and_worth_no_more():
    drained = {("s", "a"): (10_000, 12_000)}
    status = look(take(statistics(drained), minute(drained)))
    assert status.seen.quality.juice == pytest.approx(1.2, abs=1e-3)
    assert status.seen.utility == 1.0


def test_h12_acked_roots_count_once():
    roots = [
        sample(
            "roots_acked",
            1500,
            at=at,
            topology="job",
            component="s",
            task=1,
            stream="default",
        )
        for at in range(0, 60, 10)
    ]
    module = take(statistics(acked=True), [*minute(DIAMOND), *roots])
    # 9,000 of 10,000 (5.3).
    assert look(module).seen.quality.juice == pytest.approx(0.7875, abs=1e-3)


def test_h13_sinks_count_by_their_weights():
    edges = {("s", "b"): (10_000, 10_000), ("s", "c"): (10_000, 5_000)}
    juice = look(take(statistics(edges), minute(edges))).seen.quality.juice
    assert juice == pytest.approx(0.75, abs=1e-3)
    # (3 × ½ + 1 × ¼) / (3 × ½ + 1 × ½).
    weighted = statistics(edges, slo=Slo(juice=1.0, sink_weights={"b": 3.0}))
    juice = look(take(weighted, minute(edges))).seen.quality.juice
    assert juice == pytest.approx(0.875, abs=1e-3)


def test_h14_a_source_that_sends_nothing_leaves_juice_unknown():
    idle = [one for at in range(0, 60, 10) for one in heartbeats(at)]
    status = look(take(statistics(), idle))
    assert status.seen.quality.juice is None
    assert status.unknown == "its sources emitted nothing that was counted"


def test_the_first_bucket_of_a_process_may_be_longer():
    first = [*flow(DIAMOND, at=-11.0, seconds=21.0, part=21 / 60), *heartbeats(-11.0, 21.0)]
    later = [one for one in minute(DIAMOND) if one.bucket_start_us >= round((BEGUN + 10) * 1e6)]
    status = look(take(statistics(), [*first, *later]))
    assert status.unknown == ""
    assert status.seen.quality.juice == pytest.approx(0.875, abs=1e-3)


def test_heartbeats_of_a_minute_are_too_coarse_and_that_is_said():
    engine = [
        sample("executor_capacity", 0.4, count=1, at=at, seconds=60.0, topology="job", **who)
        for at in range(0, 180, 60)
        for who in ({"component": "a", "executor": "a[2]"},)
    ]
    beats = [one for at in range(0, 180, 60) for one in heartbeats(at, seconds=60.0)]
    status = look(take(statistics(), [*engine, *beats]), at=180.0)
    assert status.unknown.startswith("metrics come every 60 s")
    # What the engine itself says of its executors is there all the same.
    assert status.seen.operators["a"].capacity == pytest.approx(0.4)


def test_a_worker_of_the_plan_that_never_reported_is_missed():
    where = {"component": "a", "first_task": 2, "last_task": 2}
    plan = Plan(
        topology="job",
        plan_id="p",
        engine="storm-2",
        valid_from_us=round(BEGUN * 1e6),
        document="{}",
        executors=(
            PlacedExecutor(**where, worker="n1:6700", node="n1"),
            PlacedExecutor(**where, worker="n9:6700", node="n9"),
        ),
    )
    module = take(statistics(), minute(DIAMOND))
    module.take_plan(plan)
    assert look(module).unknown == "worker n9:6700 has not reported yet"
    assert look(module).seen.operators["a"].executors == 2


def test_latency_since_due_counts_before_latency_since_emission():
    slo = Slo(latency_seconds=0.1, statistic=Statistic.P95)
    made = minute(DIAMOND)
    for at in range(0, 60, 10):
        made += latency_samples("since_due_latency", [10.0] * 90 + [200.0] * 10, at=at)
        made += latency_samples("end_to_end_latency", [5.0] * 100, at=at)
    status = look(take(statistics(slo=slo), made))
    found = status.seen.quality.latency_seconds
    assert found[Statistic.MEAN] == pytest.approx(0.029)
    # A bin is 9 % wide.
    assert found[Statistic.P50] == pytest.approx(0.010, rel=0.09)
    assert found[Statistic.P95] == pytest.approx(0.200, rel=0.09)
    assert (status.since, status.notes) == (Since.DUE, ())
    assert status.seen.meets_slo is False


def test_latency_since_emission_stands_in_and_is_told():
    slo = Slo(latency_seconds=0.1)
    made = [*minute(DIAMOND), *latency_samples("end_to_end_latency", [5.0] * 100)]
    status = look(take(statistics(slo=slo), made))
    assert status.seen.meets_slo is True
    assert "when tuples were due is not known" in status.notes[0]


@pytest.mark.parametrize(
    ("latencies", "says"), [([], "no sink measures mean latency"), ([-5.0], "clocks of nodes")]
)
def test_an_objective_of_a_latency_that_is_not_known_is_unknown(latencies, says):
    slo = Slo(latency_seconds=0.1)
    who = {"topology": "job", "component": "d", "task": 2, "source_component": "s"}
    made = [sample("end_to_end_latency_sum", one * 1e6, count=1, **who) for one in latencies]
    status = look(take(statistics(slo=slo), [*minute(DIAMOND), *made]))
    assert says in status.unknown
    assert status.seen.utility is None


def test_k1_k2_capacity_is_time_in_execute_of_the_busiest_executor():
    made = minute(DIAMOND)
    for executor, share in (("a[2]", 0.2), ("a[3]", 0.7), ("a[4]", 0.4)):
        who = {"topology": "job", "component": "a", "executor": executor, "task": 2}
        who |= {"stream": "to-a", "source_component": "s"}
        for at in range(0, 60, 10):
            # 6,000 tuples of 5 ms in 60 s are 0.5; here it is `share`.
            made.append(sample("execute_latency_sum", share * 10e9, at=at, count=1000, **who))
    seen = look(take(statistics(), made)).seen
    assert seen.operators["a"].capacity == pytest.approx(0.7)
    assert seen.operators["a"].executors == 3


def test_source_lag_is_told_and_its_growth_is_offered():
    made = minute(DIAMOND)
    for number in range(6):
        who = {"topology": "job", "component": "s", "executor": "s[1]"}
        lag = 100.0 * (number + 1)
        made.append(sample("source_lag", lag, at=number * 10.0, count=1, **who))
    status = look(take(statistics(), made))
    assert status.lag == 600.0
    assert status.seen.lag_per_second == pytest.approx(10.0)
    assert status.seen.offered_per_second == pytest.approx(10_000 / 60.0 + 10.0, rel=1e-3)
    assert look(take(statistics(), minute(DIAMOND))).lag is None


def test_queues_are_those_of_the_receivers_with_what_is_behind_them():
    made = minute(DIAMOND)
    for number in range(6):
        who = {"topology": "job", "component": "a", "executor": "a[2]", "at": number * 10.0}
        made.append(sample("queue_population", 10 * number, count=1, queue="receive", **who))
        made.append(sample("queue_overflow", 5, count=1, queue="receive", **who))
        made.append(sample("queue_population", 1000, count=1, queue="send", **who))
    one = look(take(statistics(), made)).seen.operators["a"]
    assert one.queue == pytest.approx(25.0 + 5.0)
    assert one.queue_per_second == pytest.approx(1.0)


def test_h23_a_machine_s_load_is_threads_that_run_and_threads_that_could():
    made = minute(DIAMOND)
    for at in range(0, 60, 10):
        made.append(sample("machine_cpu", 3.5 * 10e9, at=at, count=1, machine="m1"))
        made.append(sample("machine_cores", 4, at=at, count=1, machine="m1"))
        made.append(sample("node_cpu", 1e9, at=at, count=1, machine="m1", node="n1"))
        who = {"topology": "job", "worker": "n1:6700", "node": "n1"}
        made.append(sample("worker_run_delay", 1.5 * 10e9, at=at, count=1, **who))
    machines = take(statistics(), made).look(BEGUN + 60.0).machines
    assert machines["m1"].load == pytest.approx(5.0)
    assert machines["m1"].is_congested


def test_a_job_without_metrics_is_unknown_and_others_are_named():
    module = take(statistics(name="job"), minute(DIAMOND, name="jobb"))
    status = module.look(BEGUN + 60.0)
    assert status.jobs["job"].seen is None
    assert "no metrics of a topology 'job'" in status.jobs["job"].unknown
    assert status.others == ("jobb",)
    assert not status.as_seen().jobs


def test_h30_without_any_new_metrics_there_is_an_outage():
    module = take(statistics(), minute(DIAMOND))
    assert not module.look(BEGUN + 60.0).as_seen().stale
    assert module.look(BEGUN + 200.0).as_seen().stale
    late = module.look(BEGUN + 1000.0)
    assert late.as_seen().stale
    assert late.jobs["job"].unknown == "no metrics for 940 s"


def test_metrics_may_have_the_name_of_the_topology():
    job = topology(DIAMOND, name="henge-diamond")
    watched = WatchedJob(slo=Slo(juice=0.5), topology=job.topology, configuration=job.configuration)
    module = statistics()
    module.watch("orders", watched)
    take(module, minute(DIAMOND, name="henge-diamond"))
    assert look(module, name="orders").seen.meets_slo is True


LIES = {
    "from the future": lambda one: replace(one, bucket_start_us=one.bucket_start_us + 10**9),
    "huge": lambda one: replace(one, value=1e18, count=1),
    "not a number": lambda one: replace(one, value=float("nan")),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_metric_that_cannot_be_makes_its_job_unknown_for_a_window(lie):
    honest = minute(DIAMOND, buckets=14)
    module = take(statistics(), [one for one in honest if one.bucket_start_us < (BEGUN + 60) * 1e6])
    (false,) = [one for one in flow(DIAMOND, at=50.0) if one.metric == "executed"][:1]
    module.take(lie(false), BEGUN + 60.0)
    status = look(module)
    assert status.unknown.startswith("metrics that cannot be: executed of a")
    assert status.seen.utility is None
    take(module, [one for one in honest if one.bucket_start_us >= (BEGUN + 60) * 1e6])
    assert look(module, 140.0).seen.quality.juice == pytest.approx(0.875, abs=1e-3)
    assert sum(module.look(BEGUN + 140.0).refused.values()) == 1


def test_what_comes_after_its_time_is_counted_and_left_out():
    module = take(statistics(), minute(DIAMOND, buckets=6))
    module.look(BEGUN + 5000.0)
    take(module, flow(DIAMOND, at=0.0), at=5000.0)
    assert module.look(BEGUN + 5000.0).too_late == len(flow(DIAMOND))
