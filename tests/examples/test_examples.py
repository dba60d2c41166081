"""The example jobs load, come back from their written form, and say what their sources say."""

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from streamgauge.profile.behaviour import JoinByParity
from streamgauge.profile.files.jobs import job_to_data, json_schema, load_job, parse_job
from streamgauge.profile.job import Job
from streamgauge.topology.files.document import dump_json, dump_yaml, read_document
from streamgauge.topology.grouping import Fields
from streamgauge.topology.logical_plan import LogicalPlan
from streamgauge.topology.topology import OperatorKind, StreamKey
from streamgauge.topology.workload import Unlimited

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.yaml"))
# Table 5.1 and Appendix E of Cooper 2020: components, worker nodes, messages per second.
COOPER = {
    "fields-to-fields": (4, 2, 16),
    "fields-to-fields-4-nodes": (4, 4, 16),
    "multiplier": (3, 2, 16),
    "windowed": (3, 2, 16),
    "all-in-one": (4, 3, 50),
    "join-split": (6, 4, 50),
    "join-split-time-window": (6, 4, 50),
}

every_example = pytest.mark.parametrize("name", NAMES)
every_cooper_example = pytest.mark.parametrize("name", COOPER)


def load(name: str) -> Job:
    return load_job(EXAMPLES / f"{name}.yaml")


def input_rates(job: Job) -> dict[str, float]:
    """Tuples per second into every operator; what exceeds its capacity is dropped."""
    rates = dict.fromkeys(job.topology.operator_names, 0.0)
    emitted = {one.key: one.per_second or 0.0 for one in job.workload.emissions}
    for operator in job.topology.topological_order():
        behaviour = job.behaviours[operator.name]
        if operator.kind is not OperatorKind.SOURCE:
            units = job.configuration.executors_of(operator.name)
            capacity = units * 1000.0 / behaviour.service.mean_ms
            handled = min(rates[operator.name], capacity)
            for stream, counts in behaviour.outputs.items():
                emitted[StreamKey(operator.name, stream)] = handled * counts.mean
        for stream in job.topology.streams_from(operator.name):
            rates[stream.target] += emitted[stream.key]
    return rates


@every_example
def test_every_example_is_a_complete_job(name):
    job = load(name)
    assert job.about
    assert job.cluster is not None
    assert job.workload is not None


@every_example
def test_the_cluster_has_a_slot_for_every_worker(name):
    job = load(name)
    slots = sum(len(node.ports) for node in job.cluster.nodes)
    assert job.configuration.workers <= slots


@every_example
def test_every_stream_that_a_source_emits_has_a_rate(name):
    job = load(name)
    sources = {operator.name for operator in job.topology.sources}
    emitted = {stream.key for stream in job.topology.streams if stream.source in sources}
    assert {emission.key for emission in job.workload.emissions} == emitted


@every_example
def test_every_operator_has_a_behaviour_that_names_its_origin(name):
    job = load(name)
    assert set(job.behaviours) == set(job.topology.operator_names)
    assert all(behaviour.origin for behaviour in job.behaviours.values())


@every_example
def test_every_processor_takes_time(name):
    job = load(name)
    processors = set(job.topology.operator_names) - {one.name for one in job.topology.sources}
    assert all(job.behaviours[operator].service.mean_ms > 0.0 for operator in processors)


@every_example
def test_every_subscribed_stream_of_a_processor_is_emitted(name):
    job = load(name)
    sources = {operator.name for operator in job.topology.sources}
    for stream in job.topology.streams:
        if stream.source not in sources:
            assert stream.name in job.behaviours[stream.source].emitted_streams()


@every_example
def test_every_fields_grouping_has_keys(name):
    job = load(name)
    keyed = [one for one in job.topology.streams if isinstance(one.grouping, Fields)]
    assert all(stream.name in job.behaviours[stream.source].keys for stream in keyed)


@every_example
@pytest.mark.parametrize("dump", [dump_yaml, dump_json])
def test_writing_and_reading_gives_the_same_job(name, dump):
    job = load(name)
    assert parse_job(dump(job_to_data(job))) == job


@every_example
def test_files_follow_the_schema_that_their_first_line_names(name):
    path = EXAMPLES / f"{name}.yaml"
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.endswith("$schema=../docs/schema/streamgauge-1.schema.json")
    Draft202012Validator(json_schema()).validate(read_document(path).data)


@every_example
def test_only_the_feedback_example_has_a_cycle(name):
    cycle = load(name).topology.cycle()
    assert (cycle is not None) == (name == "feedback")


@every_example
def test_the_readme_lists_every_example(name):
    assert f"| `{name}.yaml` |" in (EXAMPLES / "README.md").read_text(encoding="utf-8")


# Cooper 2020, Appendix E


@every_cooper_example
def test_step_n_has_two_to_the_n_executors_of_every_operator(name):
    job = load(name)
    assert list(job.steps) == [f"step-{number}" for number in range(5)]
    for number, step in enumerate(job.steps.values()):
        assert step.executors == dict.fromkeys(job.topology.operator_names, 2**number)


@every_cooper_example
def test_the_base_configuration_is_step_1(name):
    job = load(name)
    assert job.at_step("step-1").configuration == job.configuration


@every_cooper_example
def test_nodes_have_two_workers_on_two_cores(name):
    job = load(name)
    assert {machine.cores for machine in job.cluster.machines} == {2.0}
    assert {len(node.ports) for node in job.cluster.nodes} == {2}
    assert job.configuration.workers == 2 * len(job.cluster.nodes)


@every_cooper_example
def test_operators_nodes_and_rates_are_those_of_the_thesis(name):
    job = load(name)
    rates = [emission.per_second for emission in job.workload.emissions]
    operators, nodes, per_second = COOPER[name]
    assert (len(job.topology.operators), len(job.cluster.nodes)) == (operators, nodes)
    assert rates == [per_second]


@every_cooper_example
def test_every_operator_has_16_tasks(name):
    assert {operator.tasks for operator in load(name).topology.operators} == {16}


def test_step_4_of_fields_to_fields_has_68_executors():
    job = load("fields-to-fields").at_step("step-4")
    plan = LogicalPlan.of(job.topology, job.configuration)
    assert len(plan.executors) == 4 * 16 + 4


def test_the_jobs_on_two_and_four_nodes_are_the_same_job():
    two, four = load("fields-to-fields"), load("fields-to-fields-4-nodes")
    assert (two.topology, two.behaviours, two.workload, two.steps) == (
        four.topology,
        four.behaviours,
        four.workload,
        four.steps,
    )


def test_key_a_comes_six_times_in_32():
    keys = load("fields-to-fields").behaviours["json-bolt-a"].keys["stream-2"]
    assert "".join(keys.names()) == "ABCDEFGHIJKLMNOP"
    assert (keys.shares() * 32).tolist() == [6, 4, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("name", ["multiplier", "all-in-one", "join-split"])
def test_the_multiplier_makes_ten_of_one(name):
    counts = load(name).behaviours["multiplier-json-bolt"].outputs["stream-2"]
    assert counts.mean == pytest.approx(10.0, abs=1e-3)
    assert (counts.low, counts.high) == (1, 20)


def test_step_1_of_the_multiplier_sends_80_tuples_a_second_to_each_sender():
    job = load("multiplier").at_step("step-1")
    senders = job.configuration.executors_of("sender-bolt")
    assert input_rates(job)["sender-bolt"] / senders == pytest.approx(80.0, abs=0.01)


@pytest.mark.parametrize("name", ["windowed", "all-in-one"])
def test_a_window_of_ten_makes_one(name):
    job = load(name)
    window = job.topology.operator("windowed-json-bolt").window
    function = job.behaviours["windowed-json-bolt"].window
    assert window.length_tuples == 10
    assert window.is_tumbling
    assert [counts.mean for counts in function.outputs.values()] == [1.0]


@pytest.mark.parametrize("name", ["join-split", "join-split-time-window"])
def test_the_join_receives_50_plain_and_500_multiplied_tuples_a_second(name):
    job = load(name)
    (emission,) = job.workload.emissions
    targets = {stream.target for stream in job.topology.streams_from("kafka-spout")}
    assert targets == {"json-bolt", "multiplier-json-bolt"}
    plain = job.behaviours["json-bolt"].outputs["stream-1"].mean
    multiplied = job.behaviours["multiplier-json-bolt"].outputs["stream-2"].mean
    assert emission.per_second * plain == 50.0
    assert emission.per_second * multiplied == pytest.approx(500.0, abs=0.05)


def test_the_time_window_joins_by_parity_every_two_seconds():
    job = load("join-split-time-window")
    window = job.topology.operator("join-split-bolt").window
    assert window.length_seconds == 2.0
    rule = JoinByParity(equal="stream-3", different="stream-4")
    assert job.behaviours["join-split-bolt"].join == rule


# Kalim 2020, section 3.5


def test_one_splitter_saturates_at_11_million_sentences_a_minute():
    splitter = load("word-count").behaviours["splitter"]
    assert 60_000.0 / splitter.service.mean_ms == pytest.approx(11e6, rel=1e-4)
    assert splitter.outputs["words"].mean == 7.638


def test_word_count_runs_at_half_of_its_saturation():
    job = load("word-count")
    rates = input_rates(job)
    busy = rates["splitter"] * job.behaviours["splitter"].service.mean_ms / 1000.0
    assert busy / job.configuration.executors_of("splitter") == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("step", ["splitters-1", "splitters-2", "splitters-3", "splitters-4"])
def test_saturated_splitters_do_not_saturate_the_counters_or_need_more_spouts(step):
    job = load("word-count").at_step(step)
    capacity = {
        name: job.configuration.executors_of(name) * 1000.0 / behaviour.service.mean_ms
        for name, behaviour in job.behaviours.items()
    }
    assert capacity["splitter"] * 7.638 < capacity["counter"]
    assert capacity["splitter"] < capacity["spout"]


# Pagliari 2021, Figure 5.7


@pytest.mark.parametrize(
    ("operator", "load_thousand_cycles"),
    [
        ("event-deserializer", 6.9),
        ("event-filter", 0.7),
        ("event-projection", 2.2),
        ("redis-join", 3.0),
        ("campaign-processor", 2.1),
    ],
)
def test_1350_thousand_cycles_take_a_millisecond(operator, load_thousand_cycles):
    service = load("yahoo-streaming-benchmark").behaviours[operator].service
    assert service.mean_ms == pytest.approx(load_thousand_cycles / 1350.0, rel=1e-5)


def test_a_third_of_the_events_reaches_two_campaign_processors_that_send_nothing_on():
    job = load("yahoo-streaming-benchmark")
    assert job.behaviours["event-filter"].outputs["default"].mean == 0.333
    assert job.behaviours["redis-join"].outputs["default"].mean == 1.0
    assert job.behaviours["campaign-processor"].outputs == {}
    assert job.configuration.executors_of("campaign-processor") == 2


def test_the_projection_leaves_52_of_180_bytes():
    behaviours = load("yahoo-streaming-benchmark").behaviours
    sizes = [one.bytes["default"].mean for one in behaviours.values() if one.bytes]
    assert sizes == [180, 180, 180, 52, 52]


def test_the_source_of_the_yahoo_benchmark_is_unlimited():
    workload = load("yahoo-streaming-benchmark").workload
    assert [one.shape for one in workload.emissions] == [Unlimited()]


# Pagliari 2021, sections 3.5.1 and 3.5.2


@pytest.mark.parametrize(
    ("size", "executors"), [("small", [5, 10, 10, 1]), ("large", [75, 150, 150, 1])]
)
def test_generators_counters_rankers_and_a_merger_have_an_executor_a_task(size, executors):
    job = load(f"word-count-top-3-{size}")
    assert [operator.tasks for operator in job.topology.operators] == executors
    assert list(job.configuration.executors.values()) == executors


@pytest.mark.parametrize("size", ["small", "large"])
def test_a_ranker_emits_its_list_every_two_seconds(size):
    job = load(f"word-count-top-3-{size}")
    lists = input_rates(job)["merger"] / job.configuration.executors_of("ranker")
    assert lists == pytest.approx(1 / 2)


@pytest.mark.parametrize("size", ["small", "large"])
def test_the_name_of_a_step_is_what_its_executors_need(size):
    job = load(f"word-count-top-3-{size}")
    for name, step in job.steps.items():
        hundredths, _, megabytes, _ = name.split("-")
        for need in step.resources.values():
            assert need.cpu_cores * 100 == pytest.approx(int(hundredths))
            assert need.memory_bytes == int(megabytes) * 2**20


# Puttaswamy 2018


def test_the_diamond_has_the_input_rates_of_table_6_3():
    rates = input_rates(load("scale-out-diamond"))
    assert rates == pytest.approx({"1": 0, "2": 500, "3": 500, "4": 600}, rel=1e-6)


def test_the_tree_has_the_input_rates_of_table_6_5_but_for_its_misprint():
    rates = input_rates(load("scale-out-tree"))
    # The table prints 300 for operator 6, as it prints a capacity of 300 for operator 3.
    expected = {"1": 0, "2": 1200, "3": 800, "4": 600, "5": 200, "6": 200}
    assert rates == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("scale-out-diamond", {"2": 400, "3": 200, "4": 900}),
        ("scale-out-tree", {"2": 800, "3": 200, "4": 500, "5": 900, "6": 600}),
    ],
)
def test_service_times_give_the_printed_rates_of_one_unit(name, printed):
    behaviours = load(name).behaviours
    rates = {operator: 1000.0 / behaviours[operator].service.mean_ms for operator in printed}
    assert rates == pytest.approx(printed, rel=1e-6)


@pytest.mark.parametrize("name", ["scale-out-diamond", "scale-out-tree"])
def test_what_an_operator_emits_is_divided_among_its_children(name):
    for behaviour in load(name).behaviours.values():
        parts = [counts.mean for counts in behaviour.outputs.values()]
        assert not parts or sum(parts) == 1.0


# Ours


@pytest.mark.parametrize(
    ("name", "slow"),
    [("henge-linear", "transform"), ("henge-diamond", "transform"), ("henge-star", "hub")],
)
def test_one_operator_is_busier_than_the_0_3_that_henge_calls_congested(name, slow):
    job = load(name)
    capacity = {
        operator: job.configuration.executors_of(operator) * 1000.0 / behaviour.service.mean_ms
        for operator, behaviour in job.behaviours.items()
    }
    busy = {operator: rate / capacity[operator] for operator, rate in input_rates(job).items()}
    assert [operator for operator, part in busy.items() if part > 0.3] == [slow]
    assert busy[slow] < 1.0


def test_feedback_goes_from_parse_back_to_fetch():
    job = load("feedback")
    assert set(job.topology.cycle()) == {"fetch", "parse"}
    assert job.behaviours["parse"].outputs["retry"].mean == 0.05
