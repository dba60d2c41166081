"""A wrong file is refused with its name, line, path, what was seen and what was expected."""

import pytest

from streamgauge.errors import InvalidInput
from streamgauge.profile.figures import Shares
from streamgauge.profile.files.jobs import parse_job, parse_profile
from tests.profile.texts import FIGURES, JOB


def refusal(old: str, new: str) -> str:
    """What is said of the job file when `old` is replaced by `new`."""
    assert old in JOB
    with pytest.raises(InvalidInput) as caught:
        parse_job(JOB.replace(old, new, 1), "job.yaml")
    return str(caught.value)


def test_the_file_itself_is_right():
    assert parse_job(JOB).topology.name == "words"


@pytest.mark.parametrize(
    ("old", "new", "place", "seen"),
    [
        ("streamgauge: 1", "streamgauge: 2", "job.yaml:1: streamgauge", "format version 2"),
        ("streamgauge: 1", "streamgauge: true", "job.yaml:1: streamgauge", "format version True"),
        ("streamgauge: 1", "streamgauge: '1'", "job.yaml:1: streamgauge", "format version '1'"),
        ("streamgauge: 1\n", "", "job.yaml: streamgauge", "no format version"),
        ("workload:", "workloads:", "job.yaml:22: workloads", "unknown section 'workloads'"),
        ("tasks: 4", "task: 4", "job.yaml:6: topology.operators.split.task", "key 'task'"),
        (
            "  workers: 2\n",
            "  resources: {split: {cpu_cores: -1}}\n",
            "job.yaml:17: configuration.resources.split.cpu_cores",
            "-1",
        ),
        (
            "{executors: {split: 4}}",
            "{resources: {split: {memory_bytes: -1}}}",
            "job.yaml:29: steps.wide.resources.split.memory_bytes",
            "-1",
        ),
        ("tasks: 4", "tasks: 0", "job.yaml:6: topology.operators.split.tasks", "0"),
        ("tasks: 4", "tasks: -4", "job.yaml:6: topology.operators.split.tasks", "-4"),
        ("tasks: 4", "tasks: 4.5", "job.yaml:6: topology.operators.split.tasks", "4.5"),
        ("tasks: 4", "tasks: '4'", "job.yaml:6: topology.operators.split.tasks", "'4'"),
        ("to: split,", "to: spilt,", "job.yaml:9: topology.streams[0].to", "operator 'spilt'"),
        ("from: lines, ", "", "job.yaml:9: topology.streams[0]", "no 'from'"),
        ("shuffle", "shufle", "job.yaml:9: topology.streams[0].grouping", "'shufle'"),
        ("cpu_ms: 2", "cpu_ms: -2", "job.yaml:13: behaviours.split.service.cpu_ms", "-2"),
        ("cpu_ms: 2", "cpu_ms: .nan", "job.yaml:13: behaviours.split.service.cpu_ms", ".nan"),
        ("words: 7.6", "wrds: 1", "job.yaml:14: behaviours.split.outputs.wrds", "'wrds'"),
        ("{split: 2}", "{split: 5}", "job.yaml:16: configuration.executors.split", "5 executors"),
        ("{split: 2}", "{x: 1}", "job.yaml:16: configuration.executors.x", "operator 'x'"),
        ("workers: 2", "workers: 0", "job.yaml:17: configuration.workers", "0"),
        ("cores: 4", "cores: 0", "job.yaml:19: cluster.machines.m.cores", "0"),
        ("machine: m,", "machine: k,", "job.yaml:21: cluster.nodes.n.machine", "'k'"),
        ("slots: 2", "slots: 0", "job.yaml:21: cluster.nodes.n.slots: 0", "at least 1"),
        ("source: lines", "source: split", "job.yaml:23: workload[0].source", "'split'"),
        ("per_second: 100", "per_second: -1", "job.yaml:23: workload[0].per_second", "-1"),
        ("per_second: 100", "per_second: 1e999", "job.yaml:23: workload[0].per_second", "inf"),
        (", 'split[3-4]'", "", "job.yaml:25: plan.workers", "no worker for executor split[3-4]"),
        ("'split[5-6]', ", "", "job.yaml:25: plan.workers", "no worker for executor split[5-6]"),
        (
            "'count[7-8]'",
            "'count[7-8]', 'split[3-4]'",
            "job.yaml:27: plan.workers[1].executors[2]",
            "split[3-4] a second time",
        ),
        (
            "'count[7-8]'",
            "'count[7-9]'",
            "job.yaml:27: plan.workers[1].executors[1]",
            "executor count[7-9]",
        ),
        ("port: 6701", "port: 6700", "job.yaml:27: plan.workers[1]", "slot n:6700 twice"),
        ("port: 6701", "port: 9", "job.yaml:27: plan.workers[1].port", "port 9 of 'n'"),
        ("{split: 4}", "{split: 5}", "job.yaml:29: steps.wide.executors.split", "5 executors"),
        ("{split: 4}", "{split: x}", "job.yaml:29: steps.wide.executors", "'x'"),
    ],
)
def test_a_problem_names_file_line_path_and_what_was_seen(old, new, place, seen):
    said = refusal(old, new)
    line = next(line for line in said.splitlines() if line.startswith(place))
    assert seen in line
    assert "expected " in line


@pytest.mark.parametrize(
    ("old", "new", "meant"),
    [
        ("workload:", "workloads:", "workload"),
        ("to: split,", "to: spilt,", "split"),
        ("tasks: 4", "task: 4", "tasks"),
        ("per_second:", "persecond:", "per_second"),
        ("words: 7.6", "wrds: 7.6", "words"),
        ("{split: 2}", "{slpit: 2}", "split"),
        ("  workers: 2\n", "  resources: {splt: {cpu_cores: 1}}\n", "split"),
        ("{source: lines", "{source: line", "lines"),
    ],
)
def test_a_misspelt_name_comes_with_a_suggestion(old, new, meant):
    assert f"did you mean {meant!r}?" in refusal(old, new)


def test_all_problems_are_told_at_once():
    with pytest.raises(InvalidInput) as caught:
        parse_job(JOB.replace("tasks: 4", "tasks: 0").replace("cores: 4", "cores: 0"))
    assert len(caught.value.problems) == 2


def test_a_job_needs_a_topology():
    with pytest.raises(InvalidInput, match="no section 'topology'; expected a file that describes"):
        parse_job("streamgauge: 1\n")


def test_a_profile_needs_figures():
    with pytest.raises(InvalidInput, match="no section 'profile'"):
        parse_profile(JOB)


def test_about_is_a_text():
    with pytest.raises(InvalidInput, match="about"):
        parse_job("about: [1, 2]\n" + JOB)


def test_a_plan_needs_a_cluster():
    without = JOB[: JOB.index("cluster:")] + JOB[JOB.index("workload:") :]
    with pytest.raises(InvalidInput, match="a plan without a cluster"):
        parse_job(without)


def test_slots_and_ports_exclude_each_other():
    assert "both slots and ports" in refusal("slots: 2", "slots: 2, ports: [1]")


def test_a_uniform_cluster_excludes_machines():
    said = refusal("  machines: {m: {cores: 4}}", "  uniform: {nodes: 2}")
    assert "a uniform cluster together with other keys" in said


def test_a_uniform_cluster_is_one_node_a_machine():
    job = JOB.replace("    n: {machine: m, slots: 2}", "").replace("  nodes:\n", "")
    job = job[: job.index("plan:")].replace("machines: {m: {cores: 4}}", "uniform: {nodes: 3}")
    cluster = parse_job(job).cluster
    assert cluster is not None
    assert [node.name for node in cluster.nodes] == ["n1", "n2", "n3"]


def test_one_number_of_executors_is_for_every_operator():
    job = parse_job(JOB.replace("wide: {executors: {split: 4}}", "one: {executors: 1}"))
    assert job.steps["one"].executors == {"lines": 1, "split": 1, "count": 1}


def test_a_name_may_be_written_as_a_number():
    topology = parse_job(
        "streamgauge: 1\ntopology: {name: 7, operators: {1: {kind: source}, 2: {}}, "
        "streams: [{from: 1, to: 2, grouping: shuffle}]}"
    ).topology
    assert topology.operator_names == ("1", "2")


def test_what_was_seen_is_cut_to_a_readable_length():
    assert len(refusal("shuffle", "x" * 5000)) < 500


def figures_refusal(old: str, new: str) -> str:
    assert old in FIGURES
    with pytest.raises(InvalidInput) as caught:
        parse_profile(FIGURES.replace(old, new, 1), "figures.yaml")
    return str(caught.value)


def test_each_means_every_task():
    assert sorted(parse_profile(FIGURES).tasks) == [("a", 0), ("a", 1), ("s", 0)]


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("each:", "2:", "figures.yaml:12: profile.operators.a.2"),
        ("each:", "-1:", "figures.yaml:12: profile.operators.a.-1"),
        ("each:", "all:", "figures.yaml:12: profile.operators.a.all"),
        ("    a:\n", "    b:\n", "figures.yaml:12: profile.operators.b"),
        ("mean_ms: 2", "mean_ms: -2", "figures.yaml:13: profile.operators.a.each.inputs"),
        ("0.9: 4", "0.9: 0.5", "figures.yaml:13: profile.operators.a.each.inputs"),
        ("0.9: 4", "1.9: 4", "figures.yaml:13: profile.operators.a.each.inputs"),
        ("0.9: 4", "x: 4", "figures.yaml:13: profile.operators.a.each.inputs"),
        ("0.9: 4", "nan: 4", "figures.yaml:13: profile.operators.a.each.inputs"),
        ("{s: {default: {wall", "{s: {other: {wall", "figures.yaml:11: profile.operators.a."),
        ("[0.5, 0.5]", "[0.5, 0.4]", "figures.yaml:10: profile.operators.s.0.outputs"),
        ("[0.5, 0.5]", "[1.0]", "figures.yaml:10: profile.operators.s.0.outputs"),
        ("{a: [", "{b: [", "figures.yaml:10: profile.operators.s.0.outputs"),
        ("{default: {per", "{other: {per", "figures.yaml:10: profile.operators.s.0.outputs"),
        ("count: 2", "count: 0", "figures.yaml:14: profile.keys.s.default"),
        ("'a[2]': {cap", "'b[2]': {cap", "figures.yaml:15: profile.executors.b[2]: executor"),
        ("length: 3", "length: -3", "figures.yaml:15: profile.executors.a[2].receive.length.value"),
        ("length: 3", "length: long", "figures.yaml:15: profile.executors.a[2].receive.length"),
        ("length: 3", "lenght: 3", "figures.yaml:15: profile.executors.a[2].receive.lenght"),
        ("n:6700': {cores", "m:6700': {cores", "figures.yaml:16: profile.workers.m:6700"),
        ("sources: {s:", "sources: {a:", "figures.yaml:17: profile.sources.a.default"),
        ("step_seconds: 60", "step_seconds: 0", "figures.yaml:17: profile.sources.s.default.step"),
        ("[10, null]", "[10, -1]", "figures.yaml:17: profile.sources.s.default.per_second[1]"),
        ("    a:\n    - {plan", "    b:\n    - {plan", "figures.yaml:19: profile.saturation.b"),
        ("minutes: 10", "minutes: -1", "figures.yaml:20: profile.saturation.a[0].minutes"),
        ("minutes: 10, ", "", "figures.yaml:20: profile.saturation.a[0]: no 'minutes'"),
        ("{a: 0.9}", "{b: 0.9}", "figures.yaml:22: profile.juice.operators.b: unknown operator"),
        ("0.875", "-1", "figures.yaml:22: profile.juice.topology.value: -1"),
        ("blocks: 5", "blocks: -5", "figures.yaml:23: profile.replicas.blocks"),
    ],
)
def test_a_wrong_figure_is_refused_with_its_place(old, new, place):
    said = figures_refusal(old, new)
    assert any(line.startswith(place) for line in said.splitlines())


@pytest.mark.parametrize("shares", ["[0.5, 0.5]", "{parts: [0.5, 0.5]}"])
def test_shares_may_be_a_bare_list(shares):
    (task,) = parse_profile(FIGURES.replace("[0.5, 0.5]", shares)).tasks_of("s").values()
    assert task.outputs["default"].shares["a"] == Shares(parts=(0.5, 0.5))


def test_shares_may_say_what_they_rest_on():
    text = FIGURES.replace("[0.5, 0.5]", "{parts: [0.5, 0.5], samples: 900, buckets: 9}")
    (task,) = parse_profile(text).tasks_of("s").values()
    assert task.outputs["default"].shares["a"] == Shares(parts=(0.5, 0.5), samples=900, buckets=9)


def test_every_wrong_figure_is_told_at_once():
    said = figures_refusal("cores: 1.5", "cores: -1")
    assert "cores" in said
    two = FIGURES.replace("cores: 1.5", "cores: -1").replace("length: 3", "length: -3")
    with pytest.raises(InvalidInput) as caught:
        parse_profile(two)
    assert len(caught.value.problems) == 2


def test_a_quantile_is_given_once():
    figures_refusal("0.9: 4", "0.50: 4")


def test_a_task_of_thousands_of_digits_is_refused():
    text = (
        '{"streamgauge": 1, "topology": {"name": "t", "operators": {"s": {"kind": "source"}}},'
        '"profile": {"operators": {"s": {"%s": {}}}}}'
    )
    with pytest.raises(InvalidInput):
        parse_profile(text % ("9" * 5000))


@pytest.mark.parametrize(
    "profile",
    [
        "keys: {nobody: {default: {uniform: {count: 2}}}}",
        "keys: {s: {other: {uniform: {count: 2}}}}",
        "operators: {s: {0: {outputs: {default: {coefficients: {nobody: {default: 1}}}}}}}",
    ],
)
def test_a_figure_of_a_stream_nobody_has_is_refused(profile):
    head = FIGURES[: FIGURES.index("profile:")]
    with pytest.raises(InvalidInput):
        parse_profile(f"{head}profile: {{{profile}}}")


@pytest.mark.parametrize("empty", ["{fields: null}", "{fields: }", "{partial-key: }"])
def test_a_kind_without_its_content_is_refused(empty):
    text = JOB.replace("grouping: shuffle", f"grouping: {empty}", 1)
    assert text != JOB
    with pytest.raises(InvalidInput, match="no 'keys'"):
        parse_job(text)


def test_a_key_of_another_part_of_the_file_is_not_proposed_for_itself():
    said = refusal("tasks: 4", "from: 4")
    assert "unknown key 'from'" in said
    assert "(it belongs to another section)" in said
