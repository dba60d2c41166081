"""What is said of a cluster by its UI's answers: plans, counters, means, changes between polls."""

import hashlib

from streamgauge.lake.raw import decode, encode
from streamgauge.lake.records import Event, Plan
from streamgauge.profile.files.jobs import parse_job
from tests.engines.storm.collection.uis import ID, NOW_US, collector, samples


def plans(poll):
    return [one for one in poll.records if isinstance(one, Plan)]


def events(poll):
    return [one.kind for one in poll.records if isinstance(one, Event)]


def test_every_record_is_one_that_receivers_take(ui, clock):
    polling = collector(ui, clock, cluster="lab")
    polling.poll()
    ui.grow(60)
    clock.move(60)
    records = polling.poll().records
    assert [decode(encode(one)) for one in records] == records


def test_the_plan_s_document_is_a_job_with_its_placement(ui, clock):
    (plan,) = plans(collector(ui, clock).poll())
    job = parse_job(plan.document)
    placed = job.explicit_plan()
    executor = placed.logical.executors[placed.logical.index_of_task[8]]
    assert placed.worker_of(executor) == ("127.0.0.2", 26720)
    assert [(one.source, one.target, one.grouping.kind) for one in job.topology.streams] == [
        ("spout", "work", "shuffle"),
        ("work", "sink", "fields"),
    ]
    assert (job.topology.acked, job.configuration.ackers) == (True, 2)


def test_counts_are_told_apart_from_what_was_looked_at(ui, clock):
    (one,) = samples(
        collector(ui, clock).poll().records, "executed_total", component="work", task=8
    )
    assert (one.value, one.count) == (6860, 343)
    assert (one.stream, one.source_component, one.worker) == ("default", "spout", "127.0.0.2:26720")


def test_an_idle_executor_is_known_to_have_done_nothing(ui, clock):
    (one,) = samples(
        collector(ui, clock).poll().records, "executed_total", component="work", task=10
    )
    assert (one.value, one.count) == (0, 0)


def test_reports_that_are_not_new_give_nothing(ui, clock):
    polling = collector(ui, clock)
    polling.poll()
    clock.move(30)
    again = polling.poll()
    assert (again.records, again.topologies) == ([], ["demo"])


def test_a_bucket_spans_the_time_between_two_reports_of_the_worker(ui, clock):
    polling = collector(ui, clock)
    (first,) = samples(polling.poll().records, "executed_total", component="work", task=8)
    ui.grow(60)
    clock.move(75)
    (second,) = samples(polling.poll().records, "executed_total", component="work", task=8)
    assert second.bucket_start_us == first.bucket_start_us + first.bucket_seconds * 1e6
    assert (second.bucket_seconds, second.value) == (60, 2 * first.value)
    assert second.bucket_start_us + 60_000_000 <= clock()


def test_after_a_long_gap_it_begins_anew(ui, clock):
    polling = collector(ui, clock)
    polling.poll()
    ui.grow(100_000)
    clock.move(100_000)
    records = polling.poll().records
    assert {one.bucket_seconds for one in samples(records, "executed_total")} == {60}
    assert not samples(records, "execute_latency_mean")


def test_the_mean_of_a_bucket_is_what_was_spent_in_it(ui, clock):
    polling = collector(ui, clock)
    polling.poll()
    ui.grow(60, times=2)
    row = ui.component("work")["executorStats"][0]
    row["executeLatency"] = "7.545"  # 5.545 ms before, so 9.545 ms of the new half
    clock.move(60)
    (one,) = samples(polling.poll().records, "execute_latency_mean", component="work", task=8)
    assert round(one.value, 3) == 9.545
    assert one.count == 343


def test_an_old_worker_s_means_are_those_of_the_last_ten_minutes(ui, clock):
    ui.grow(10_000, times=200)
    polling = collector(ui, clock)
    polling.poll()
    ui.grow(60, times=1)
    for one in ui.components():
        for row in one["executorStats"]:
            if "executed" in row:
                row["executed"] += 1000
    lately = {**ui.component("work")}
    lately["executorStats"] = [
        {**row, "executeLatency": "4.000"} for row in ui.component("work")["executorStats"]
    ]
    ui.lately[f"topology/{ID}/component/work"] = lately
    clock.move(60)
    (one,) = samples(polling.poll().records, "execute_latency_mean", component="work", task=8)
    assert (one.value, one.count) == (4.0, 50)


def test_the_first_look_says_nothing_of_latencies_of_other_times(ui, clock):
    ui.grow(600)
    assert not samples(collector(ui, clock).poll().records, "execute_latency_mean")


def test_a_new_placement_ends_the_plan_and_begins_another(ui, clock):
    polling = collector(ui, clock)
    (old,) = plans(polling.poll())
    ui.move("[7-7]", 26711)
    ui.grow(60)
    clock.move(60)
    poll = polling.poll()
    ended, new = plans(poll)
    assert (ended.plan_id, ended.valid_from_us) == (old.plan_id, old.valid_from_us)
    assert ended.valid_to_us == new.valid_from_us <= clock()
    assert new.plan_id != old.plan_id
    assert events(poll) == ["rebalance"]


def test_other_settings_under_the_same_placement_are_another_record_of_the_same_id(ui, clock):
    polling = collector(ui, clock)
    (old,) = plans(polling.poll())
    ui.documents[f"topology/{ID}"]["configuration"]["topology.max.spout.pending"] = 77
    ui.grow(60)
    clock.move(60)
    ended, new = plans(polling.poll())
    assert ended.plan_id == new.plan_id == old.plan_id
    assert "77" in new.document
    assert ended.document == old.document


def test_plans_are_called_as_the_agent_inside_would_call_them(ui, clock):
    (plan,) = plans(collector(ui, clock).poll())
    labels = ["__acker[1]", "__acker[2]", "sink[3]", "sink[4]"]
    assert [f"{one.component}[{one.first_task}]" for one in plan.executors][:4] == labels
    text = "".join(f"{one.component}[{one.first_task}] {one.worker}\n" for one in plan.executors)
    assert plan.plan_id == hashlib.sha256(text.encode()).hexdigest()[:12]


def test_the_same_placement_again_is_the_same_plan(ui, clock):
    first = plans(collector(ui, clock).poll())
    clock.move(1000)
    assert plans(collector(ui, clock).poll())[0].plan_id == first[0].plan_id


def test_a_worker_that_began_anew_is_told(ui, clock):
    polling = collector(ui, clock)
    polling.poll()
    clock.move(300)
    for one in ui.components():
        for row in one["executorStats"]:
            if row["port"] == 26720:
                row["uptimeSeconds"] = 20
    (event,) = [one for one in polling.poll().records if isinstance(one, Event)]
    assert (event.kind, event.worker) == ("restart", "127.0.0.2:26720")
    assert NOW_US < event.happened_at_us < clock()


def test_a_topology_that_is_gone_ends_its_plan(ui, clock):
    polling = collector(ui, clock)
    polling.poll()
    ui.listing().clear()
    clock.move(60)
    poll = polling.poll()
    assert plans(poll)[0].valid_to_us == clock()
    assert events(poll) == ["stop"]
    assert not polling.poll().records


def test_an_executor_s_counters_are_divided_among_streams_as_its_component_s(ui, clock):
    found = samples(
        collector(ui, clock).poll().records, "executed_total", component="__acker", task=1
    )
    # 1,070 were looked at, of which the component had 13,400, 14,420 and 13,700 of 41,520.
    assert {one.source_component: one.count for one in found} == {
        "sink": 345,
        "work": 372,
        "spout": 353,
    }


def test_divided_counters_never_fall_however_proportions_move(ui, clock):
    polling = collector(ui, clock)
    first = samples(polling.poll().records, "executed_total", component="__acker", task=1)
    ui.grow(60)
    ui.component("__acker")["inputStats"][0]["executed"] = 20
    clock.move(60)
    second = samples(polling.poll().records, "executed_total", component="__acker", task=1)
    assert len(first) == 3
    assert all(later.value >= earlier.value for earlier, later in zip(first, second, strict=True))
    assert sum(one.value for one in second) == 2 * 21_400


def test_means_are_divided_so_that_the_executor_s_is_kept(ui, clock):
    polling = collector(ui, clock)
    polling.poll()
    ui.grow(60)
    clock.move(60)
    found = samples(polling.poll().records, "execute_latency_mean", component="__acker", task=1)
    by_source = {one.source_component: one.value for one in found}
    spent = sum(one.value * one.count for one in found)
    assert by_source["sink"] > by_source["spout"] > by_source["work"]
    assert abs(spent / sum(one.count for one in found) - 0.073) < 0.0005


def test_workers_that_are_silent_for_a_while_leave_the_plan_in_place(ui, clock):
    polling = collector(ui, clock)
    polling.poll()
    del ui.component("work")["executorStats"][0]
    ui.grow(60)
    clock.move(60)
    poll = polling.poll()
    assert len(plans(poll)) == 1
    assert samples(poll.records, "executed_total", component="work", task=9)


def test_a_bolt_that_no_spout_reaches_is_left_out_of_the_file(ui, clock):
    ui.documents[f"topology/{ID}/visualization"]["sink"][":inputs"] = []
    poll = collector(ui, clock).poll()
    assert "sink" not in parse_job(plans(poll)[0].document).topology.operator_names
    assert any("no spout reaches sink" in note for note in poll.notes)


def test_figures_that_are_no_numbers_are_not_known(ui, clock):
    for row in ui.component("work")["executorStats"]:
        row |= {"capacity": "N/A", "executeLatency": None, "executed": "6860"}
    records = collector(ui, clock).poll().records
    assert not samples(records, "executor_capacity", component="work")
    assert samples(records, "executed_total", component="work", task=8)[0].value == 6860
