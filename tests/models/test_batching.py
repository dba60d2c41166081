"""Batch sizes, list sizes and waits of Storm 1.x, against worked examples, loops and laws."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import InvalidInput
from streamgauge.models.batching import (
    Connections,
    batch_size,
    conditional_mean,
    flush_wait,
    flush_wait_variance,
    input_lists,
    list_sizes,
)
from streamgauge.transport.batched_queue import BatchedQueue

# λ, k, δ → E[Y], E[Z] (`storm-tracer` 5.8)
BATCHES = [
    (0.016, 100, 1, 63.001333, 1.008021),
    (0.1, 100, 1, 10.508332, 1.050833),
    (1, 100, 1, 1.581977, 1.581977),
    (5, 100, 1, 1.006784, 5.033918),
    (50, 100, 1, 1.0, 50.0),
    (100, 100, 1, 0.960139, 96.0139),
    (200, 100, 1, 0.5, 100.0),
    (0.016, 100, 1000, 1000.000113, 16.000002),
    (2, 3, 1, 1.030447, 2.060894),
    (1, 1, 1, 1.0, 1.0),
]
LIMITS = st.sampled_from([1, 2, 3, 10, 100, 1000])
LOADS = st.floats(-12.0, 9.0).map(lambda power: 10.0**power)


def direct_sums(load, limit):
    """Brackets of eq. 4.23 as they stand there, for δ = 1."""
    p = [math.exp(n * math.log(load) - load - math.lgamma(n + 1)) for n in range(limit + 1)]
    full = limit / load * (1.0 - math.fsum(p))
    return (full + math.fsum(p[:limit])) / (1.0 - p[0])


def observed_waits(rate, limit, *, arrivals=100_000, seed=7):
    """Waits of objects for a flush every 1, or for their batch to fill, event by event."""
    generator = np.random.default_rng(seed)
    waits, batch, now, flush = [], [], 0.0, 1.0
    for gap in generator.exponential(1.0 / rate, arrivals).tolist():
        now += gap
        while flush <= now:
            waits += [flush - arrival for arrival in batch]
            batch = []
            flush += 1.0
        batch.append(now)
        if len(batch) == limit:
            waits += [now - arrival for arrival in batch]
            batch = []
    return np.array(waits)


@pytest.mark.parametrize(("rate", "limit", "flush", "interval", "size"), BATCHES)
def test_batches_of_the_worked_example(rate, limit, flush, interval, size):
    found = batch_size(rate, limit=limit, flush_seconds=flush)
    assert found / rate == pytest.approx(interval, abs=6e-7)
    assert found == pytest.approx(size, abs=6e-5)


@pytest.mark.parametrize("limit", [1, 2, 5, 100])
@pytest.mark.parametrize("load", [0.5, 2.0, 30.0, 120.0])
def test_the_safe_form_is_the_sum_of_the_thesis(load, limit):
    interval = batch_size(load, limit=limit, flush_seconds=1.0) / load
    assert interval == pytest.approx(direct_sums(load, limit), rel=1e-10)


def test_nothing_arrives_in_batches_of_one():
    assert batch_size(0.0, limit=100, flush_seconds=0.001) == 1.0


@pytest.mark.parametrize("load", [0.0, 1e-300, 1e-12, 1e-6])
def test_a_rare_object_waits_half_an_interval(load):
    assert flush_wait(load, limit=100, flush_seconds=1.0) == pytest.approx(0.5, rel=1e-6)
    assert flush_wait(load, limit=2, flush_seconds=1.0) == pytest.approx(0.5, rel=1e-6)


@pytest.mark.parametrize("load", [0.0, 1e-12, 1.0, 30.0])
def test_its_wait_is_uniform_over_the_interval(load):
    found = flush_wait_variance(load, limit=100, flush_seconds=0.2)
    assert found == pytest.approx(0.04 / 12.0, rel=1e-9)


@pytest.mark.parametrize("limit", [2, 100])
def test_where_batches_fill_at_once_objects_wait_for_those_behind_them(limit):
    found = 1e9 * flush_wait(1e9, limit=limit, flush_seconds=1.0)
    assert found == pytest.approx((limit - 1) / 2.0, rel=1e-6)


@pytest.mark.parametrize("limit", [2, 100])
def test_and_the_wait_is_a_random_number_of_gaps(limit):
    # i gaps behind, i uniform on 0 … k − 1: E[W²] = mean of i(i + 1)
    found = 1e18 * flush_wait_variance(1e9, limit=limit, flush_seconds=1.0)
    expected = (limit**2 - 1) / 3.0 - (limit - 1) ** 2 / 4.0
    assert found == pytest.approx(expected, rel=1e-6)


@given(load=LOADS)
def test_batches_of_one_never_wait(load):
    for figure in (flush_wait, flush_wait_variance):
        assert figure(load, limit=1, flush_seconds=1.0) == 0.0


@given(loads=st.lists(LOADS, min_size=2, max_size=5), limit=LIMITS)
def test_more_arrivals_make_larger_batches_that_leave_sooner(loads, limit):
    options = {"limit": limit, "flush_seconds": 1.0}
    loads = np.sort(loads)
    size = batch_size(loads, **options)
    assert np.all((size >= 1.0) & (size <= limit))
    assert all(later >= sooner * (1 - 1e-12) for sooner, later in pairwise(size))
    assert all(later <= sooner * (1 + 1e-12) for sooner, later in pairwise(size / loads))


@given(loads=st.lists(LOADS, min_size=2, max_size=5), limit=LIMITS)
def test_more_arrivals_never_wait_longer_than_fewer_or_half_an_interval(loads, limit):
    found = flush_wait(np.sort(loads), limit=limit, flush_seconds=1.0)
    assert np.all((found >= 0.0) & (found <= 0.5 + 1e-12))
    assert all(later <= sooner * (1 + 1e-12) for sooner, later in pairwise(found))


@given(load=LOADS, limit=LIMITS, scale=st.floats(1e-3, 1e3))
def test_only_the_arrivals_in_an_interval_matter(load, limit, scale):
    for power, figure in ((1, flush_wait), (2, flush_wait_variance)):
        one = figure(load, limit=limit, flush_seconds=1.0)
        other = figure(load / scale, limit=limit, flush_seconds=scale)
        assert other == pytest.approx(one * scale**power, rel=1e-9)


@pytest.mark.parametrize(("rate", "limit"), [(0.5, 3), (2.0, 3), (8.0, 10), (25.0, 10)])
def test_a_loop_over_events_sees_the_same_waits(rate, limit):
    options = {"limit": limit, "flush_seconds": 1.0}
    seen = observed_waits(rate, limit)
    # Objects of one batch wait alike: ten of them tell about as much as one.
    noise = math.sqrt(10.0 * seen.var() / len(seen))
    assert flush_wait(rate, **options) == pytest.approx(seen.mean(), abs=3 * noise)
    assert flush_wait_variance(rate, **options) == pytest.approx(seen.var(), rel=0.03)


@pytest.mark.parametrize("figure", [flush_wait, flush_wait_variance])
@pytest.mark.parametrize("limit", [2, 3, 100, 1001])
def test_both_ways_to_the_periodic_wait_meet(figure, limit):
    # Up to two batches an interval full batches are counted, beyond it harmonics.
    below, above = figure(2.0 * limit * np.array([1.0, 1.0 + 1e-13]), limit=limit, flush_seconds=1)
    assert below == pytest.approx(above, rel=1e-11)


def test_arrays_keep_their_shape():
    rates = np.array([[0.0, 1.0, 50.0], [100.0, 250.0, 1e6]])
    for figure in (batch_size, flush_wait, flush_wait_variance):
        found = figure(rates, limit=100, flush_seconds=1.0)
        each = [float(figure(rate, limit=100, flush_seconds=1.0)) for rate in rates.flat]
        assert found.shape == rates.shape
        assert found.ravel().tolist() == pytest.approx(each, rel=1e-12)


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"rate": -1.0}, "rate"),
        ({"rate": [1.0, math.nan]}, "rate"),
        ({"limit": 0}, "limit"),
        ({"flush_seconds": 0.0}, "flush_seconds"),
    ],
)
def test_impossible_figures_are_refused(wrong, place):
    with pytest.raises(InvalidInput, match=place):
        flush_wait(**{"rate": 1.0, "limit": 100, "flush_seconds": 0.001, **wrong})


@given(batch=st.floats(1.0, 1e3), share=st.floats(0.0, 1.0))
def test_a_list_has_a_tuple_at_least_and_the_batch_at_most(batch, share):
    found = conditional_mean(np.array(batch), np.array(share))
    assert 1.0 <= found <= batch
    assert found >= batch * share * (1 - 1e-12)


def test_a_list_is_counted_only_where_there_is_one():
    # Two tuples, each with even odds: lists of 2, 1 and 0 with odds 1 : 2 : 1, so 4/3 of a list.
    assert conditional_mean(np.array(2.0), np.array(0.5)) == pytest.approx(4.0 / 3.0, rel=1e-12)


# The plan of `storm-tracer` 5.6 and 5.11, in tuples per millisecond.
NAMES = ["S1", "S3", "A5", "A7", "A9", "B11", "B13", "B15", "K1", "K2"]
FIRST_WORKER = {"S1", "A5", "A9", "B13", "K1"}
DELTA = {"limit": 100, "flush_seconds": 100.0}


def worked_plan():
    groups = {kind: [name for name in NAMES if name[0] == kind] for kind in "SABK"}
    flows = [("S", "A", 0.2), ("S", "K", 0.2), ("A", "B", 0.2), ("A", "K", 0.2)]
    flows += [("B", "K", 0.2), ("K", "S", 0.2)]
    rows = [
        (NAMES.index(i), NAMES.index(j), total / len(groups[source]) / len(groups[target]))
        for source, target, total in flows
        for i in groups[source]
        for j in groups[target]
    ]
    worker = [0 if name in FIRST_WORKER else 1 for name in NAMES]
    return Connections.between(*zip(*rows, strict=True), worker=worker)


def plain_mean(batch, share):
    """Eq. 4.26 as printed, which knows no floor."""
    return batch * share


def tuple_weighted_maps(sizes):
    """Eq. 4.30 as printed, which weighs maps by tuples."""
    plan = sizes.connections
    leaving = np.bincount(plan.source, weights=plan.rate * plan.leaves, minlength=plan.executors)
    weighed = np.bincount(plan.worker, weights=sizes.executor_map * leaving)
    return weighed / sizes.transfer_rate


def printed_remote_lists(sizes):
    """Eq. 4.31 as printed, which shares a worker's batch out by sizes of lists."""
    plan = sizes.connections
    lists = np.zeros((plan.workers, plan.executors))
    sent = sizes.batch[plan.source] * plan.share * plan.leaves
    np.add.at(lists, (plan.worker[plan.source], plan.target), sent)
    return sizes.transfer_batch[:, np.newaxis] * lists / lists.sum(axis=1, keepdims=True), lists


def printed_sizes():
    plan = worked_plan()
    plain = list_sizes(plan, **DELTA, list_mean=plain_mean)
    printed = tuple_weighted_maps(plain)
    return plain, list_sizes(plan, **DELTA, list_mean=plain_mean, map_size=printed)


def test_send_batches_of_the_worked_plan():
    sizes = list_sizes(worked_plan(), **DELTA)
    by_kind = {"S": (0.2, 20.0), "A": (0.13333, 13.33335), "B": (0.06667, 6.67516)}
    by_kind["K"] = (0.1, 10.00045)
    for name, rate, batch in zip(NAMES, sizes.connections.output_rate, sizes.batch, strict=True):
        assert (rate, batch) == pytest.approx(by_kind[name[0]], abs=6e-6)


@pytest.mark.parametrize(
    ("source", "targets"),
    [
        ("S1", ["A7", "K2"]),
        ("A5", ["B11", "B15", "K2"]),
        ("A9", ["B11", "B15", "K2"]),
        ("B13", ["K2"]),
        ("K1", ["S3"]),
    ],
)
def test_a_map_holds_what_goes_to_other_workers(source, targets):
    plan = worked_plan()
    sizes = list_sizes(plan, **DELTA, list_mean=plain_mean)
    i = NAMES.index(source)
    shares = {
        NAMES[j]: g for s, j, g in zip(plan.source, plan.target, plan.share, strict=True) if s == i
    }
    expected = sizes.batch[i] * sum(shares[name] for name in targets)
    assert sizes.executor_map[i] == pytest.approx(expected, rel=1e-12)


def test_maps_of_the_worked_plan():
    plain, printed = printed_sizes()
    maps = [8.33333, 11.66667, 7.77779, 5.55556, 7.77779, 3.33758, 3.33758, 3.33758]
    maps += [5.00023, 5.00023]
    assert plain.executor_map.tolist() == pytest.approx(maps, abs=6e-6)
    assert plain.transfer_rate.tolist() == pytest.approx([0.32222, 0.28889], abs=6e-6)
    assert plain.map_size.tolist() == pytest.approx([6.44615, 5.78077], abs=6e-6)
    assert printed.map_size.tolist() == pytest.approx([7.03113, 7.41555], abs=6e-6)
    assert printed.map_rate.tolist() == pytest.approx([0.045828, 0.038957], abs=6e-7)
    assert printed.map_batch.tolist() == pytest.approx([4.63014, 3.97656], abs=6e-6)
    assert printed.transfer_batch.tolist() == pytest.approx([32.55514, 29.48835], abs=6e-6)


def test_lists_of_the_worked_plan():
    _, sizes = printed_sizes()
    remote, lists = printed_remote_lists(sizes)
    assert lists.sum(axis=1).tolist() == pytest.approx([32.22672, 28.89762], abs=6e-6)
    first = {"S3": 5.05118, "A7": 3.36730, "B11": 4.48974, "B15": 4.48974, "K2": 15.15716}
    second = {"S1": 5.10244, "A5": 3.40147, "A9": 3.40147, "B13": 2.26765, "K1": 15.31531}
    for row, expected in zip(remote, (first, second), strict=True):
        found = [expected.get(name, 0.0) for name in NAMES]
        assert row.tolist() == pytest.approx(found, abs=6e-6)
    _, size = input_lists(sizes.connections, sizes.local_list, remote)
    expected = [5.05082, 5.02558, 3.36706, 3.35023, 3.36706, 3.35024, 2.23716, 3.35024]
    expected += [6.02635, 6.01554]
    assert size.tolist() == pytest.approx(expected, abs=6e-6)
    # Where batches are as large as here, sharing out by tuples changes the fourth digit.
    assert sizes.remote_list == pytest.approx(remote, rel=1e-3)
    assert sizes.list_size == pytest.approx(np.array(expected), rel=1e-3)


def random_plan(seed, executors=12, workers=3, connections=40):
    generator = np.random.default_rng(seed)
    ends = generator.integers(0, executors, (2, connections))
    rates = 10.0 ** generator.uniform(-3.0, 5.0, connections)
    worker = generator.integers(0, workers, executors)
    return Connections.between(*ends, rates, worker=worker, workers=workers)


def sums_by(groups, values, size):
    return np.bincount(groups, weights=values, minlength=size)


@given(seed=st.integers(0, 10_000), limit=LIMITS)
def test_maps_carry_what_leaves_and_lists_what_arrives(seed, limit):
    plan = random_plan(seed)
    sizes = list_sizes(plan, limit=limit, flush_seconds=0.001)
    leaving = plan.rate * plan.leaves
    per_worker = sums_by(plan.worker[plan.source], leaving, plan.workers)
    assert sizes.map_rate * sizes.map_size == pytest.approx(per_worker, rel=1e-9)
    arriving = sums_by(plan.target, plan.rate, plan.executors)
    assert sizes.list_rate * sizes.list_size == pytest.approx(arriving, rel=1e-9)


@given(seed=st.integers(0, 10_000), limit=LIMITS)
def test_the_mean_list_is_the_mean_over_lists(seed, limit):
    # eq. 4.34 term by term
    plan = random_plan(seed)
    sizes = list_sizes(plan, limit=limit, flush_seconds=0.001)
    lists, tuples = np.zeros(plan.executors), np.zeros(plan.executors)
    stays = ~plan.leaves
    local = plan.rate[stays] / sizes.local_list[stays]
    np.add.at(lists, plan.target[stays], local)
    np.add.at(tuples, plan.target[stays], local * sizes.local_list[stays])
    for w, j in zip(*np.nonzero(sizes.remote_list), strict=True):
        sent = plan.rate[(plan.worker[plan.source] == w) & (plan.target == j)].sum()
        lists[j] += sent / sizes.remote_list[w, j]
        tuples[j] += sent
    assert sizes.list_rate == pytest.approx(lists, rel=1e-9)
    assert sizes.list_size * lists == pytest.approx(tuples, rel=1e-9)


@given(seed=st.integers(0, 10_000), limit=LIMITS)
def test_every_list_and_map_has_a_tuple(seed, limit):
    plan = random_plan(seed)
    sizes = list_sizes(plan, limit=limit, flush_seconds=0.001)
    arrays = (sizes.local_list, sizes.executor_map, sizes.map_size, sizes.remote_list)
    for array in (*arrays, sizes.list_size):
        assert np.all((array == 0.0) | (array >= 1.0))
    for rate, size in zip(sizes.list_rate, sizes.list_size, strict=True):
        if rate > 0.0:
            # A whole tuple a list, or the executor's queue would refuse it.
            BatchedQueue(lists_per_second=rate, list_size=size, service_seconds=1.0)


def test_without_batches_tuples_travel_alone():
    plan = random_plan(3)
    sizes = list_sizes(plan, limit=1, flush_seconds=0.001)
    assert sizes.map_rate == pytest.approx(sizes.transfer_rate, rel=1e-12)
    arriving = sums_by(plan.target, plan.rate, plan.executors)
    assert sizes.list_rate == pytest.approx(arriving, rel=1e-12)


def test_a_seldom_sender_takes_no_more_of_a_workers_batch_than_it_sends():
    # Executors 0 and 1 send single tuples to 2 and 3, one a hundred times as often.
    plan = Connections.between([0, 1], [2, 3], [0.01, 1.0], worker=[0, 0, 1, 1])
    sizes = list_sizes(plan, limit=100, flush_seconds=0.001, list_mean=plain_mean)
    assert sizes.remote_list[0, 3] == pytest.approx(100 * sizes.remote_list[0, 2], rel=1e-12)


def test_what_is_local_needs_no_maps():
    plan = Connections.between([0], [1], [5.0], worker=[0, 0], workers=2)
    sizes = list_sizes(plan, limit=100, flush_seconds=1.0)
    assert sizes.map_rate.tolist() == [0.0, 0.0]
    assert not sizes.remote_list.any()
    # A single target gets the whole batch as one list.
    assert sizes.list_size.tolist() == pytest.approx([0.0, sizes.batch[0]])


def test_connections_of_several_streams_add_up():
    plan = Connections.between([1, 0, 1, 0], [0, 1, 0, 0], [1.0, 2.0, 3.0, 0.0], worker=[0, 1])
    assert plan.source.tolist() == [0, 1]
    assert plan.target.tolist() == [1, 0]
    assert plan.rate.tolist() == [2.0, 4.0]
    assert plan.share.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("source", "target", "rate", "worker", "place"),
    [
        ([0], [2], [1.0], [0, 0], "target"),
        ([-1], [0], [1.0], [0, 0], "source"),
        ([0], [1], [-1.0], [0, 0], "rate"),
        ([0, 1], [1], [1.0], [0, 0], "rate"),
        ([0], [1], [1.0], [0, -1], "worker"),
    ],
)
def test_connections_that_cannot_be_are_refused(source, target, rate, worker, place):
    with pytest.raises(InvalidInput, match=place):
        Connections.between(source, target, rate, worker=worker)


def test_connections_twice_are_refused_where_nobody_adds_them_up():
    ends = np.array([0, 0])
    with pytest.raises(InvalidInput, match=r"Connections\.between"):
        Connections(worker=np.array([0]), workers=1, source=ends, target=ends, rate=np.ones(2))


def test_a_large_plan_conserves_its_flow():
    generator = np.random.default_rng(1)
    ends = generator.integers(0, 3200, (2, 1_000_000))
    rates = generator.exponential(1.0, 1_000_000)
    plan = Connections.between(*ends, rates, worker=np.arange(3200) % 100)
    sizes = list_sizes(plan, limit=100, flush_seconds=0.001)
    assert sizes.list_rate @ sizes.list_size == pytest.approx(rates.sum(), rel=1e-9)
