"""Cost models of an engine: the worked examples of Bedini et al. 2013, and laws."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import InvalidInput
from streamgauge.models.byte_flow import find_byte_flow, find_crossings
from streamgauge.models.cost_job import ByDistance, CostConstants, CostJob, TypeCosts
from streamgauge.models.dealt_plans import DealtPlan, Slots
from streamgauge.models.job_behaviour import JobBehaviour
from streamgauge.models.parameters import find_parameters
from streamgauge.models.plan_costs import (
    PHASES,
    Phase,
    Serialising,
    Site,
    correlate_ranks,
    cost_configurations,
    cost_plans,
    transfer_cost,
    transfer_costs,
)
from streamgauge.models.slot_flow import Fractions, pair_fractions
from streamgauge.planning.scheduling.contract import PlacementRequest
from streamgauge.planning.scheduling.even import Cursor, EvenScheduler, SlotOrder
from streamgauge.profile.files.jobs import parse_job
from streamgauge.topology import Cluster, Configuration, Operator, Topology
from streamgauge.topology.logical_plan import TaskOrder
from streamgauge.topology.topology import StreamKey
from tests.models.plans import source, stream
from tests.models.test_byte_flow import SEVERAL_TYPES

TUPLES = StreamKey("spout", "default")

# 5.1: configuration, local, another worker of the node, another node (C4'), active workers.
ALPHAS = """
<1,1,1,1> 1 0 0 1
<1,1,1,2> 0 1 0 2
<1,1,2,2> 0.5 0.5 0 2
<1,2,2,2> 0.5 0.5 0 2
<1,2,2,4> 0 1 0 4
<1,4,4,2> 0.5 0.5 0 2
<1,4,4,4> 0.25 0.75 0 4
<1,4,4,8> 0 1 0 8
<1,8,8,1> 1 0 0 1
<1,8,8,2> 0.5 0.5 0 2
<1,8,8,4> 0.25 0.75 0 4
<1,8,8,8> 0.125 0.875 0 8
<1,8,8,16> 0 1 0 16
<2,1,1,1> 0 0 1 2
<2,2,2,1> 0.5 0 0.5 2
<2,2,2,2> 0 0.5 0.5 4
<2,4,4,2> 0.25 0.25 0.5 4
<2,8,8,4> 0.125 0.375 0.5 8
<2,8,8,8> 0 0.5 0.5 16
<3,3,3,1> 0.3333333333333333 0 0.6666666666666667 3
<3,4,4,1> 0.3125 0 0.6875 3
<3,8,8,1> 0.328125 0 0.671875 3
<3,8,8,2> 0.15625 0.171875 0.671875 6
<4,4,4,1> 0.25 0 0.75 4
<4,8,8,1> 0.25 0 0.75 4
<4,8,8,2> 0.125 0.125 0.75 8
<4,8,8,4> 0 0.25 0.75 16
<4,8,8,16> 0 0.25 0.75 16
<4,1,1,1> 0 0 1 2
"""
ROWS = [line.split() for line in ALPHAS.split("\n") if line]


def deal(text, *, restart=False):
    plan = DealtPlan.parse(text)
    executors = np.asarray([plan.executors])
    return Slots.deal(plan.nodes, plan.workers, executors, restart=restart)


def costs_of(job, *texts, **options):
    plans = [DealtPlan.parse(text) for text in texts]
    return cost_configurations(
        job,
        np.asarray([plan.nodes for plan in plans]),
        np.asarray([plan.executors for plan in plans]),
        np.asarray([plan.workers for plan in plans]),
        **options,
    )


def job_of(text=None, *, rate=10_000.0, tuple_bytes=44.0, constants=None, cpu=(0.0, 0.0)):
    """The paper's job: a spout and a bolt that is fed by shuffle, on an engine without frames."""
    found = parse_job(
        text
        or f"""
streamgauge: 1
topology:
  name: logs
  operators: {{spout: {{kind: source, tasks: 32}}, bolt: {{tasks: 32}}}}
  streams: [{{from: spout, to: bolt, grouping: shuffle}}]
behaviours:
  spout: {{service: {{cpu_ms: {cpu[0]}}}, bytes: {{default: {tuple_bytes - 6}}}}}
  bolt: {{service: {{cpu_ms: {cpu[1]}}}}}
configuration: {{settings: {{topology.disable.loadaware.messaging: true}}}}
workload: [{{source: spout, per_second: {rate}}}]
"""
    )
    return CostJob.of(JobBehaviour.from_job(found), found.workload, constants)


@pytest.mark.parametrize(("text", "local", "node", "remote", "workers"), ROWS)
def test_fractions_of_the_worked_example(text, local, node, remote, workers):
    """5.1, by pairs and by tuples, which are alike where a job has one edge."""
    expected = [float(local), float(node), float(remote)]
    slots = deal(text)
    assert [float(one[0]) for one in pair_fractions(slots, [(0, 1)])] == pytest.approx(expected)
    found = costs_of(job_of(), text)
    assert [float(one[0]) for one in found.tuples] == pytest.approx(expected)
    assert slots.active_workers.tolist() == [int(workers)]
    assert DealtPlan.parse(text).active_workers == int(workers)


@pytest.mark.parametrize(
    ("text", "local", "node", "workers"),
    [("<1,1,1,2>", 1, 0, 1), ("<1,8,8,16>", 0.125, 0.875, 8), ("<3,8,8,1>", 0.34375, 0, 3)],
)
def test_fractions_with_a_restarting_cursor(text, local, node, workers):
    slots = deal(text, restart=True)
    found = pair_fractions(slots, [(0, 1)])
    assert [float(one[0]) for one in found] == pytest.approx([local, node, 1 - local - node])
    assert slots.active_workers.tolist() == [workers]


def test_the_printed_formula_counts_local_tuples_as_remote():
    """5.1, two edges: C4' gives 0.25, 0.25, 0.5; C4 as printed 0.75, which sums to 1.25."""
    slots = Slots.deal(2, 2, np.asarray([[2, 4, 2]]))
    found = pair_fractions(slots, [(0, 1), (1, 2)])
    assert [float(one[0]) for one in found] == pytest.approx([0.25, 0.25, 0.5])
    assert found.printed_remote.tolist() == [0.75]
    everything = pair_fractions(deal("<1,1,1,1>"), [(0, 1)])
    assert (everything.remote.tolist(), everything.printed_remote.tolist()) == ([0.0], [1.0])


configurations = st.tuples(
    st.integers(1, 4), st.lists(st.integers(1, 9), min_size=2, max_size=4), st.integers(1, 5)
)


@given(configurations, st.booleans())
def test_executors_are_dealt_as_the_even_scheduler_deals_them(configuration, restart):
    nodes, executors, workers = configuration
    names = [f"o{place}" for place in range(len(executors))]
    topology = Topology(
        name="t",
        operators=(
            source(names[0], executors[0]),
            *(Operator(name=n, tasks=e) for n, e in zip(names[1:], executors[1:], strict=True)),
        ),
        streams=tuple(stream(*pair) for pair in pairwise(names)),
    )
    scheduler = EvenScheduler(
        task_order=TaskOrder.DECLARED,
        slot_order=SlotOrder.BY_SLOT,
        cursor=Cursor.RESTART if restart else Cursor.CONTINUE,
    )
    wanted = Configuration(
        executors=dict(zip(names, executors, strict=True)), workers=nodes * workers, ackers=0
    )
    cluster = Cluster.uniform(nodes=nodes, slots=workers)
    plan = scheduler.schedule(PlacementRequest(topology, wanted, cluster)).plan
    placed, dealt = (
        pair_fractions(slots, [(0, 1)])
        for slots in (
            Slots.of(plan, names),
            Slots.deal(nodes, workers, np.asarray([executors]), restart=restart),
        )
    )
    assert np.stack(placed) == pytest.approx(np.stack(dealt))


@given(configurations)
def test_fractions_are_parts_of_one(configuration):
    nodes, executors, workers = configuration
    edges = [(place, place + 1) for place in range(len(executors) - 1)]
    found = pair_fractions(Slots.deal(nodes, workers, np.asarray([executors])), edges)
    local, node, remote = (float(one[0]) for one in found)
    assert local + node + remote == pytest.approx(1.0)
    assert min(local, node, remote) >= -1e-12
    assert remote == pytest.approx(0.0) or nodes > 1
    assert local == pytest.approx(1.0) or nodes * workers > 1
    assert node == pytest.approx(0.0) or workers > 1


GROUPED = """
streamgauge: 1
topology:
  name: grouped
  operators: {{spout: {{kind: source, tasks: 4}}, bolt: {{tasks: 3}}, sink: {{tasks: 5}}}}
  streams:
    - {{from: spout, to: bolt, grouping: {first}}}
    - {{from: bolt, to: sink, grouping: {second}}}
behaviours:
  spout: {{service: {{cpu_ms: 0.01}}, bytes: {{default: 100}}}}
  bolt: {{service: {{cpu_ms: 0.02}}, outputs: {{default: 2}}, bytes: {{default: 30}}}}
  sink: {{service: {{cpu_ms: 0.005}}}}
configuration:
  executors: {{spout: 4, bolt: 3, sink: 5}}
  workers: {workers}
  settings: {{topology.disable.loadaware.messaging: {plain}}}
cluster: {{uniform: {{nodes: {nodes}, slots: 3, cores: 8}}}}
workload: [{{source: spout, per_second: 1000}}]
"""
GROUPINGS = ["shuffle", "all", "global", "local-or-shuffle", "{fields: [key]}"]


@given(
    st.sampled_from(GROUPINGS),
    st.sampled_from(GROUPINGS),
    st.integers(1, 3),
    st.integers(1, 9),
    st.booleans(),
)
def test_bytes_of_any_grouping_are_those_of_the_traffic_equations(
    first, second, nodes, workers, plain
):
    text = GROUPED.format(
        first=first, second=second, nodes=nodes, workers=workers, plain=str(plain).lower()
    )
    parsed = parse_job(text)
    behaviour = JobBehaviour.from_job(parsed)
    job = CostJob.of(behaviour, parsed.workload)
    request = PlacementRequest(parsed.topology, parsed.configuration, parsed.cluster)
    plan = EvenScheduler().schedule(request).plan
    found = cost_plans(job, Slots.of(plan, job.operators))
    parameters = find_parameters(behaviour, plan, parsed.workload)
    # Which messages leave together the cost models do not know.
    own = replace(parameters.mechanics.message_bytes, batch=0.0)
    alone = replace(parameters, mechanics=replace(parameters.mechanics, message_bytes=own))
    flow = find_byte_flow(alone, behaviour, find_crossings(alone, behaviour))
    assert found.emitted_bytes[0] == pytest.approx(flow.emitted())
    assert found.delivered_bytes[0] == pytest.approx(flow.total("delivered_bytes_per_second"))
    assert found.remote_bytes[0] == pytest.approx(flow.total("remote_bytes_per_second"), abs=1e-6)
    # And every executor is as busy as the rates that reach it.
    works = parameters.works.tuples
    busiest = float((works.per_second * (works.cpu + works.wait)).max())
    assert found.busy.max() == pytest.approx(busiest)


@pytest.mark.parametrize(
    ("rate", "text", "expected"),
    [
        (5_000, "<2,4,4,2>", 1_966_000),
        (10_000, "<2,4,4,2>", 3_876_000),
        (10_000, "<4,8,8,2>", 3_986_000),
        (50_000, "<1,8,8,1>", 18_056_000),
        (50_000, "<2,8,8,4>", 19_156_000),
        (50_000, "<3,8,8,2>", 19_534_125),
        (50_000, "<4,8,8,2>", 19_706_000),
        (50_000, "<4,1,1,1>", 20_256_000),
    ],
)
def test_total_bandwidth_is_that_of_the_worked_example(rate, text, expected):
    """5.2 (K3): raw events of 360 bytes from outside, tuples of 44, 56,000 for management."""
    constants = CostConstants(raw_bytes={"spout": 360.0}, management_bound=56_000.0)
    found = costs_of(job_of(rate=rate, constants=constants), text)
    assert found.bandwidth[0] == pytest.approx(expected, rel=1e-12)


def test_each_card_gets_its_part_of_raw_events_and_of_tuples():
    """<2,2,2,1>: a node reads half of the events and gets half of the other's tuples."""
    constants = CostConstants(raw_bytes={"spout": 360.0})
    job = job_of(rate=10_000, constants=constants)
    found = costs_of(job, "<2,2,2,1>", site=Site(network_bytes_per_second=1.91e7))
    each = 5_000 * 360 + 2_500 * 44
    assert found.network_bytes[0] == pytest.approx(each)
    assert found.factor[0] == pytest.approx(1.91e7 / each)


PAPER_COSTS = CostConstants(
    types={TUPLES: TypeCosts(read=0.0, serialise=3e-6, deserialise=4e-6)},
    groupings={"shuffle": 1e-6},
)


def phases_job(**options):
    """5.4: the spout reads in 2 µs and transforms in 5, the bolt reads in 1 and executes in 20."""
    return job_of(constants=PAPER_COSTS, cpu=(7e-3, 21e-3), **options)


def test_cpu_of_the_worked_example_where_everything_leaves_its_worker():
    """5.4: 11 µs a tuple in the spout, 25 in the bolt, 0.36 cores for 10,000 tuples/s."""
    found = costs_of(phases_job(), "<1,1,1,2>")
    assert found.cpu.sum(axis=2)[0].tolist() == pytest.approx([0.11, 0.25])
    assert found.cores[0] == pytest.approx(0.36)


def test_cpu_of_the_worked_example_where_everything_is_local():
    found = costs_of(phases_job(), "<1,1,1,1>")
    assert found.cpu.sum(axis=2)[0].tolist() == pytest.approx([0.08, 0.21])
    assert found.cores[0] == pytest.approx(0.29)


def test_reading_is_a_phase_of_its_own():
    constants = CostConstants(types={TUPLES: TypeCosts(read=2e-6)})
    found = costs_of(job_of(constants=constants, cpu=(5e-3, 20e-3)), "<1,1,1,1>")
    read = found.cpu[0, :, PHASES.index(Phase.READ)]
    assert read.tolist() == pytest.approx([0.02, 0.02])
    assert found.cpu.sum(axis=2)[0].tolist() == pytest.approx([0.07, 0.22])


def test_the_flag_serialises_everything_and_the_fraction_what_leaves():
    """<1,2,2,2>: half of the tuples leave; the flag knows only that some do."""
    shares = {}
    for serialising in Serialising:
        found = costs_of(phases_job(), "<1,2,2,2>", serialising=serialising)
        shares[serialising] = found.cpu[0].sum(axis=0)[PHASES.index(Phase.SERIALISE)]
    assert shares == pytest.approx(
        {Serialising.FLAG: 0.03, Serialising.FRACTION: 0.015, Serialising.COPIES: 0.015}
    )


def test_each_copy_that_leaves_may_be_serialised_for_itself():
    """C goes to all three tasks of the sink, each in a worker of its own: two leave."""
    job = job_of(
        SEVERAL_TYPES,
        constants=CostConstants(types={StreamKey("bolt", "C"): TypeCosts(serialise=1e-6)}),
    )
    place, phase = job.operators.index("bolt"), PHASES.index(Phase.SERIALISE)
    found = {
        serialising: costs_of(job, "<1,1,1,3,1,3>", serialising=serialising).cpu[0, place, phase]
        for serialising in (Serialising.FRACTION, Serialising.COPIES)
    }
    assert found == pytest.approx(
        {Serialising.FRACTION: 1500 * 1e-6, Serialising.COPIES: 2 * 1500 * 1e-6}
    )


def test_what_a_byte_costs_grows_with_the_size_of_a_tuple():
    """Of 38 bytes before the frame: 3 µs and 0.1 µs a byte are 6.8 µs."""
    any_type = TypeCosts(serialise=3e-6, serialise_per_byte=0.1e-6)
    found = costs_of(job_of(constants=CostConstants(any_type=any_type)), "<1,1,1,2>")
    assert found.cpu[0].sum(axis=0)[PHASES.index(Phase.SERIALISE)] == pytest.approx(0.068)


def test_costs_of_a_named_type_stand_in_place_of_those_of_any():
    constants = CostConstants(types={TUPLES: TypeCosts()}, any_type=TypeCosts(read=1.0))
    assert costs_of(job_of(constants=constants), "<1,1,1,2>").cores[0] == 0.0


def test_a_tuple_for_two_subscribers_is_serialised_once_and_grouped_twice():
    job = job_of(
        SEVERAL_TYPES,
        constants=CostConstants(
            types={StreamKey("bolt", "D"): TypeCosts(serialise=1e-6)},
            groupings={"shuffle": 1e-6, "global": 10e-6, "all": 100e-6},
        ),
    )
    # Everything in a worker of its own: spout, bolt, sink, other.
    found = costs_of(job, "<1,1,1,1,1,4>")
    bolt = found.cpu[0, job.operators.index("bolt")]
    assert bolt[PHASES.index(Phase.SERIALISE)] == pytest.approx(250 * 1e-6)
    # 250 tuples of D by shuffle and by global, 1,500 of C by all.
    assert bolt[PHASES.index(Phase.GROUPING)] == pytest.approx(250 * 11e-6 + 1500 * 100e-6)


def test_serialising_is_counted_once_wherever_it_is_counted():
    """Γ with serialising inside costs as much as Γ without it and phases with it."""
    apart = CostConstants(
        types=PAPER_COSTS.types, groupings=PAPER_COSTS.groupings, transport=ByDistance(1e-6, 5e-6)
    )
    together = CostConstants(
        types=PAPER_COSTS.types,
        groupings=PAPER_COSTS.groupings,
        transport=ByDistance(1e-6, 12e-6),
        transport_serialises=True,
    )
    cores = [costs_of(job_of(constants=one), "<1,2,2,2>").cores[0] for one in (apart, together)]
    assert cores[0] == pytest.approx(cores[1])


def test_transport_of_the_worked_example():
    """5.6: 11.5 µs a tuple, 115,000 µs a second."""
    alphas = Fractions(*(np.asarray([part]) for part in (0.25, 0.25, 0.5)))
    gamma = ByDistance(1.0, 5.0, 20.0)
    assert transfer_cost(alphas, gamma).tolist() == [11.5]
    constants = CostConstants(transport=ByDistance(1e-6, 5e-6, 20e-6))
    found = costs_of(job_of(constants=constants), "<2,4,4,2>")
    assert found.transport[0] == pytest.approx(0.115)


def test_transport_of_several_types_adds_up():
    alphas = Fractions(*(np.asarray([part]) for part in (0.25, 0.25, 0.5)))
    kinds = {StreamKey("s", "A"): ByDistance(1, 5, 20), StreamKey("s", "B"): ByDistance(2, 10, 40)}
    tuples = dict.fromkeys(kinds, 100.0)
    assert transfer_costs(tuples, alphas, kinds).tolist() == [100 * 11.5 + 100 * 23]


def test_selectivity_is_a_matrix_by_type_in_and_type_out():
    """5.3: selectivity_A = 0.75, so 750 tuples of type A become something, and 1,000 of B."""
    job = job_of(SEVERAL_TYPES)
    made = {
        key.name: job.emitted[key] * sum(job.selectivity["bolt", key].values())
        for key in job.emitted
    }
    assert made == pytest.approx({"A": 750, "B": 1000})
    assert sum(job.selectivity["bolt", StreamKey("spout", "A")].values()) == 0.75


def test_the_floor_of_latency_is_one_way_through_without_waiting():
    """E4 + Γ + F2: grouping 1, serialise 3, network 100, deserialise 4, execute 21 µs."""
    constants = CostConstants(
        types=PAPER_COSTS.types,
        groupings=PAPER_COSTS.groupings,
        latency=ByDistance(2e-6, 10e-6, 100e-6),
    )
    found = costs_of(
        job_of(constants=constants, cpu=(7e-3, 21e-3)), "<1,1,1,1>", "<1,1,1,2>", "<2,1,1,1>"
    )
    assert found.floor_seconds.tolist() == pytest.approx([24e-6, 39e-6, 129e-6])


def test_fewest_executors_and_the_highest_rate_follow_from_cpu():
    """The bolt of 5.4 at 100,000 tuples/s: 2.5 cores, so 3 executors, or 4 at 80 %."""
    job = phases_job(rate=100_000)
    found = costs_of(job, "<1,1,1,2>", site=Site(cores=8))
    assert found.fewest[0].tolist() == [2, 3]
    assert found.factor[0] == pytest.approx(0.4)
    slots = deal("<1,1,1,2>")
    assert cost_plans(job, slots, utilisation=0.8).fewest[0].tolist() == [2, 4]


def test_cores_of_a_node_limit_the_rate_where_executors_do_not():
    job = phases_job(rate=100_000)
    found = costs_of(job, "<1,8,8,2>", site=Site(cores=1))
    # 8 µs and 21 µs, and half of the tuples are serialised: 3.25 cores.
    assert found.factor[0] == pytest.approx(1 / 3.25)
    assert found.full.tolist() == [1]


def test_more_threads_than_cores_are_unstable():
    """Result 3: from <1,8,8,1> on, 16 threads on 8 cores, the paper's latency was erratic."""
    found = costs_of(job_of(), "<1,4,4,1>", "<1,8,8,1>", "<2,8,8,1>", site=Site(cores=8))
    assert found.unstable.tolist() == [False, True, False]
    assert found.threads.tolist() == [8, 16, 8]


def test_rank_correlation_is_that_of_spearman():
    """With ties, by hand: ranks 1, 2.5, 2.5, 4 and 1, 3, 2, 4."""
    first, second = np.asarray([0.0, 0.5, 0.5, 1.0]), np.asarray([3.0, 9.0, 5.0, 40.0])
    assert correlate_ranks(first, second) == pytest.approx(4.5 / np.sqrt(4.5 * 5.0))


@pytest.mark.parametrize("text", ["<2,4,4,2>", " <1, 8, 8, 16> ", "4,8,8,16", "<2,1,2,3,4>"])
def test_a_configuration_is_read_as_it_is_written(text):
    assert DealtPlan.parse(str(DealtPlan.parse(text))) == DealtPlan.parse(text)


@pytest.mark.parametrize("text", ["<2,4>", "<2,0,4,2>", "<a,b,c,d>", "", "<2,4,-1,2>"])
def test_what_is_no_configuration_is_refused(text):
    with pytest.raises(InvalidInput, match="such as <2,4,4,2>"):
        DealtPlan.parse(text)


def test_a_tuple_type_that_no_stream_carries_is_refused():
    constants = CostConstants(types={StreamKey("spout", "defualt"): TypeCosts()})
    with pytest.raises(InvalidInput, match="which no stream carries"):
        job_of(constants=constants)


def test_windows_by_time_are_refused():
    window = "other: {window: {length_seconds: 1}}"
    fires = "other: {service: {cpu_ms: 0.01}, window: {service: {cpu_ms: 1}}}"
    text = SEVERAL_TYPES.replace("other: {}", window)
    with pytest.raises(InvalidInput, match="a window by time"):
        job_of(text.replace("other: {service: {cpu_ms: 0.01}}", fires))


def test_plans_of_several_sizes_keep_their_order():
    job = job_of()
    texts = [row[0] for row in ROWS]
    together = costs_of(job, *texts)
    alone = [float(costs_of(job, text).tuples.remote[0]) for text in texts]
    assert together.tuples.remote.tolist() == pytest.approx(alone)
    assert Counter(together.active_workers.tolist()) == Counter(int(row[-1]) for row in ROWS)
