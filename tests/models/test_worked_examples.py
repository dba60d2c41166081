"""Worked examples of `storm-tracer` section 5 that no other test works through."""

import numpy as np
import pytest
from scipy import special

from streamgauge.engines.emulator.subjects import Rows, Subjects
from streamgauge.models.batching import Connections, batch_size, flush_wait, list_sizes
from streamgauge.models.delays import Part
from streamgauge.models.end_to_end_latency import Ways
from streamgauge.models.network import Network
from streamgauge.models.routing import keyed_shares, route
from streamgauge.models.storm_delays import storm2_delays
from streamgauge.models.traffic_equations import Conversion
from streamgauge.models.windows import age_at_trigger
from streamgauge.profile.behaviour import Behaviour
from streamgauge.profile.figures import OutputFigures, Shares, TaskId, TaskProfile
from streamgauge.profile.keys import GivenKeys
from streamgauge.profile.profile import Profile
from streamgauge.simulation.program import compile_job
from streamgauge.topology import Configuration, Operator, Topology
from streamgauge.topology.grouping import Fields
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.paths import iter_paths
from streamgauge.topology.topology import StreamKey, Window
from streamgauge.topology.workload import Emission, Workload
from streamgauge.transport.engine import load_engine
from tests.models.plans import (
    flow_of,
    per_input,
    rates_of,
    service_of,
    source,
    stream,
    timed,
    traffic_of,
)

BY_WORD = Fields(keys=("word",))
STORM_1 = load_engine("storm-1")
DEFAULTS = STORM_1.mechanics({})


def connections_of(flow, rates):
    """What executors send each other, all streams together."""
    rows = []
    for block in flow.blocks:
        sent = rates.emitted[block.stream.key][:, np.newaxis] * block.shares
        rows += [
            (block.sources[row], block.targets[column], sent[row, column])
            for row, column in np.ndindex(sent.shape)
        ]
    return Connections.between(*zip(*rows, strict=True), worker=flow.plan.placement)


def figure_4_3():
    """Storm-tracer 5.16: S three times, A, B and C twice, D once; what B sends on was measured."""
    flow = flow_of(
        (source("S", 4), *(Operator(name=name, tasks=4) for name in "ABC"), Operator(name="D")),
        (
            stream("S", "A", "Stream-1"),
            stream("A", "B", "Stream-2", BY_WORD),
            stream("B", "C", "Stream-3", BY_WORD),
            stream("B", "D", "Stream-4"),
        ),
        executors={"S": 3, "A": 2, "B": 2, "C": 2},
    )
    figures = OutputFigures(shares={"C": Shares(parts=(0.5, 0.3, 0.1, 0.1))})
    profile = Profile(
        topology=flow.plan.logical.topology,
        configuration=Configuration(),
        tasks={TaskId("B", place): TaskProfile(outputs={"Stream-3": figures}) for place in (0, 1)},
    )
    return route(flow, timed(profile), DEFAULTS).flow


def test_global_routing_is_the_output_shared_out_over_streams_and_executors():
    """5.3: of B[9-10] go 0.8·0.8 and 0.8·0.2 to the executors of C, 0.2 to D."""
    flow = figure_4_3()
    conversions = {
        "A": per_input({("S", "Stream-1", "Stream-2"): 1.0}),
        "B": per_input({("A", "Stream-2", "Stream-3"): 4.0, ("A", "Stream-2", "Stream-4"): 1.0}),
        "C": per_input({}),
        "D": per_input({}),
    }
    found = connections_of(flow, rates_of(flow, {("S", "Stream-1"): 30}, conversions))
    labels = [executor.label for executor in flow.plan.logical.executors]
    shares = {
        labels[target]: share
        for one, target, share in zip(found.source, found.target, found.share, strict=True)
        if labels[one] == "B[9-10]"
    }
    assert shares == pytest.approx({"C[13-14]": 0.64, "C[15-16]": 0.16, "D[17]": 0.20})


def six_in_a_row(workers):
    """Five processors of a millisecond each, all in one worker or every next one elsewhere."""
    names = "abcde"
    ends = list(zip("sabcd", names, strict=True))
    flow = flow_of(
        (source("s"), *(Operator(name=name) for name in names)),
        tuple(stream(*pair) for pair in ends),
        workers=workers,
    )
    conversions = {
        name: per_input({(before, "default", "default"): 1.0}) for before, name in ends
    } | {"e": per_input({})}
    rates = rates_of(flow, {("s", "default"): 1e-6}, conversions)
    service = service_of(flow, dict.fromkeys(names, 0.001))
    traffic = traffic_of(flow, rates, conversions)
    delays = storm2_delays(traffic, service)
    apart = np.where(np.eye(workers, dtype=bool), 0.0, 0.0001)
    network = Network(seconds=apart, variance=np.zeros_like(apart), notes=())
    return Ways(traffic, delays, network).latency()


def test_five_remote_hops_add_a_tenth():
    """5.7: six components, 5 ms in one place; five hops of 0.1 ms are 0.5 ms more."""
    near, far = six_in_a_row(1), six_in_a_row(2)
    assert near.mean == pytest.approx(0.005, rel=1e-6)
    assert near.parts[Part.NETWORK] == 0.0
    assert far.parts[Part.NETWORK] == pytest.approx(0.0005)
    assert far.mean / near.mean == pytest.approx(1.10)


@pytest.mark.parametrize(
    ("rate", "limit", "flush", "printed"),
    [
        (0.016, 100, 1, 0.015873),
        (0.1, 100, 1, 0.095163),
        (1, 100, 1, 0.632121),
        (5, 100, 1, 0.993262),
        (50, 100, 1, 1.0),
        (100, 100, 1, 1.0),
        (200, 100, 1, 0.5),
        (0.016, 100, 1000, 999.999887),
        (2, 3, 1, 1.026327),
        (1, 1, 1, 0.632121),
    ],
)
def test_the_printed_wait_of_a_send_thread_forgets_empty_intervals(rate, limit, flush, printed):
    """5.8, eq. 4.35: E[Y] of eq. 4.23 as if empty intervals took no time; one term more than 4.20.

    Where hardly anything comes it vanishes, and the wait is half an interval all the same.
    """
    options = {"limit": limit, "flush_seconds": flush}
    load = rate * flush
    empty = np.exp(-load)
    full = np.exp(limit * np.log(load) - load - special.gammaln(limit + 1))
    interval = batch_size(rate, **options) / rate
    assert interval * (1 - empty) - flush * empty + limit / rate * full == pytest.approx(
        printed, abs=6e-7
    )
    if load < 0.1:
        assert printed / 2 < 0.05 * flush
        assert flush_wait(rate, **options) == pytest.approx(flush / 2)


def windowed(window):
    """4 tuples a second to each of two tasks of w; results of w and how its tuples age."""
    flow = flow_of(
        (source("s"), Operator(name="w", tasks=2, window=window), Operator(name="b")),
        (stream("s", "w"), stream("w", "b")),
    )
    parts = (np.ones(1), np.ones(1))
    fired = Conversion(per_input={}, per_trigger={"default": 1.0}, task_parts=parts)
    conversions = {"w": fired, "b": per_input({})}
    rates = rates_of(flow, {("s", "default"): 8.0}, conversions)
    operator = flow.plan.logical.topology.operator("w")
    sizes = traffic_of(flow, rates, conversions).window_tuples(operator)
    windows_of_a_tuple = sizes * rates.triggers["w"] / rates.into(flow, "w")
    return windows_of_a_tuple, rates, age_at_trigger(window, np.asarray([4.0])).mean


def test_a_tumbling_window_of_five_seconds_has_every_tuple_once():
    """5.14: one result each 5 s and task; tuples are half of that old."""
    windows, rates, age = windowed(Window(length_seconds=5.0))
    assert windows == pytest.approx([1, 1])
    assert rates.emitted[StreamKey("w", "default")] == pytest.approx([0.2, 0.2])
    assert age == pytest.approx([2.5])


def test_in_ten_seconds_every_five_a_tuple_is_in_two_windows():
    """5.14: as many results, from twice the tuples, which are twice as old."""
    windows, rates, age = windowed(Window(length_seconds=10.0, slide_seconds=5.0))
    assert windows == pytest.approx([2, 2])
    assert rates.emitted[StreamKey("w", "default")] == pytest.approx([0.2, 0.2])
    assert age == pytest.approx([5.0])


def test_words_and_hashtags_go_different_ways():
    """5.16, figure 1.1: S → A → B → {C, D} in three workers; ten words a tweet, one a hashtag."""
    flow = flow_of(
        (source("S"), *(Operator(name=name) for name in "ABCD")),
        (
            stream("S", "A"),
            stream("A", "B"),
            stream("B", "C", "words", BY_WORD),
            stream("B", "D", "hashtags", BY_WORD),
        ),
        workers=3,
    )
    conversions = {
        "A": per_input({("S", "default", "default"): 10.0}),
        "B": per_input({("A", "default", "words"): 0.9, ("A", "default", "hashtags"): 0.1}),
        "C": per_input({}),
        "D": per_input({}),
    }
    assert [path.describe(flow) for path in iter_paths(flow)] == [
        "S[1] → A[2] → B[3] → C[4]",
        "S[1] → A[2] → B[3] → D[5]",
    ]
    rates = rates_of(flow, {("S", "default"): 5}, conversions)
    assert rates.into(flow, "B") == pytest.approx([50])
    assert rates.into(flow, "C") == pytest.approx([45])
    assert rates.into(flow, "D") == pytest.approx([5])


def test_the_sample_path_to_the_third_acker():
    """5.16, figures 2.3 to 4.2: S[1-4] → A[7-8] → B[11] → acker 3, one way of 1 × 2 × 2 × 3."""
    flow = flow_of(
        (source("S", 4), Operator(name="A", tasks=4), Operator(name="B", tasks=3)),
        (stream("S", "A"), stream("A", "B", grouping=BY_WORD)),
        executors={"S": 1, "A": 2, "B": 2},
        acked=True,
        ackers=3,
        workers=2,
    )
    found = [path.describe(flow) for path in iter_paths(flow, to_acker=True)]
    assert len(found) == 12
    assert found.count("S[1-4] → A[7-8] → B[11] → __acker[14]") == 1


def test_a_worker_s_tuples_for_an_executor_come_as_one_list():
    """5.16, figure 4.9: i beside j, k and l in another worker; every batch full, with 10 objects.

    i makes 1000/10 lists a second; maps of k and l have 10 tuples, 10 maps are a list of 100 for j:
    5000/100. So 150 lists of 40 tuples (eq. 4.32 to 4.34).
    """
    i, j, k, m = range(4)
    plan = Connections.between([i, k, m], [j, j, j], [1000, 2000, 3000], worker=[0, 0, 1, 1])
    sizes = list_sizes(plan, limit=10, flush_seconds=1.0)
    assert sizes.executor_map[[k, m]] == pytest.approx([10, 10])
    assert sizes.remote_list[1, j] == pytest.approx(100)
    assert sizes.list_rate[j] == pytest.approx(150)
    assert sizes.list_size[j] == pytest.approx(40)


def test_a_task_keeps_a_counter_for_every_task_that_sends_to_it():
    """5.17: task 13 of C has four counters for Stream-3 of B, where its executions need one."""
    names = "SABC"
    flow = flow_of(
        (source("S", 4), *(Operator(name=name, tasks=4) for name in "ABC")),
        tuple(
            stream(one, other, f"Stream-{number}", BY_WORD)
            for number, (one, other) in enumerate(zip(names, "ABC", strict=False), start=1)
        ),
        executors=dict.fromkeys(names, 1),
    )
    workload = Workload(emissions=[Emission(source="S", stream="Stream-1", per_second=1)])
    behaviours = {name: Behaviour() for name in names}
    compiled = compile_job(flow.plan, behaviours, workload, DEFAULTS, detailed=True)
    rows = Rows(Subjects(flow.plan, plan_id="p", cluster=None), compiled)
    transfers = [rows.transfer(place) for place in range(compiled.program.transfer_first[-1])]
    # 16 pairs of tasks on each of three streams.
    assert len(transfers) == 3 * 16
    ours = [one["source_task"] for one in transfers if one["task"] == 13]
    assert ours == [9, 10, 11, 12]
    assert {one["stream"] for one in transfers if one["task"] == 13} == {"Stream-3"}
    assert [one["stream"] for one in rows.input_subjects if one["task"] == 13] == ["Stream-3"]


@pytest.mark.parametrize(
    ("per_ms", "size", "wait_ms"),
    [(1, 1.581977, 0.5), (50, 50.0, 0.5), (60, 60.0, 0.5), (400, 100.0, 99 / 800)],
)
def test_up_to_a_hundred_a_millisecond_the_timer_releases_batches(per_ms, size, wait_ms):
    """5.18 with the engine's own figures: below k/δ = 100 per ms half a timer, beyond it a batch.

    Poisson arrivals of 60 a flush fill a batch of 100 once in a million times; where batches fill
    (k − 1)/2λ is the mean wait for those behind.
    """
    assert DEFAULTS.batch / DEFAULTS.flush_seconds == pytest.approx(100e3)
    options = {"limit": DEFAULTS.batch, "flush_seconds": DEFAULTS.flush_seconds}
    assert batch_size(per_ms * 1e3, **options) == pytest.approx(size, rel=1e-4)
    # Beyond the limit a free-running timer still cuts one batch in each of its intervals short.
    rel = 1e-4 if per_ms < 100 else 0.05
    assert flush_wait(per_ms * 1e3, **options) == pytest.approx(wait_ms * 1e-3, rel=rel)


@pytest.mark.parametrize(
    ("executors", "host"), [(1, "c[9-15]"), (2, "c[9-12]"), (3, "c[12-13]"), (7, "c[12]")]
)
def test_a_rebalance_moves_keys_with_their_task(executors, host):
    """5.19: "hello" hashes to place 3 of 7, task 12 here, wherever that is hosted."""
    job = Topology(
        name="t",
        operators=(source("s", 4), Operator(name="b", tasks=4), Operator(name="c", tasks=7)),
        streams=(stream("s", "b"), stream("b", "c", grouping=BY_WORD)),
    )
    profile = Profile(
        topology=job,
        configuration=Configuration(),
        keys={StreamKey("b", "default"): GivenKeys(weights={"hello": 1.0})},
    )
    plan = LogicalPlan.of(job, Configuration(executors={"b": 2, "c": executors}))
    shares = keyed_shares(plan, job.streams[1], timed(profile))
    labels = [executor.label for executor in plan.executors_of("c")]
    for row in shares:
        assert dict(zip(labels, row, strict=True)) == {
            label: 1.0 if label == host else 0.0 for label in labels
        }
