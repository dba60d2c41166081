"""Application and platform files: what they mean, and what is said of those that cannot be."""

import pytest

from streamgauge.applications import DataDistribution, FlowKind, Routing
from streamgauge.applications.files.applications import load_application, parse_application
from streamgauge.applications.files.platforms import parse_platform
from streamgauge.errors import InvalidInput, UnreadableFile
from streamgauge.topology.topology import Window

PIPELINE = """\
pipeline:
  tasks:
    - name: in
      flow: {rate: 10}
    - name: out
      parents: [in]
"""


def problems(text: str, parse=parse_application) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        parse(text, "it.yaml")
    return str(caught.value).splitlines()


def workflow(text: str):
    return parse_application(f"workflow:\n  {text}\n")


def windows(text: str) -> list[Window]:
    return [task.window for task in workflow(f"windowing: {{{text}}}").tasks if task.window]


def flow(word: str) -> FlowKind:
    text = f"workflow:\ndatastream: {{synthetic: {{flow: {{distribution: {word}}}}}}}"
    return parse_application(text).sources[0].flow.kind


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("uniform", FlowKind.UNIFORM),
        ("cbr", FlowKind.UNIFORM),
        ("burst", FlowKind.BURST),
        ("sin", FlowKind.SINUSOIDAL),
        ("sinusoidal", FlowKind.SINUSOIDAL),
        ("sawtooth", FlowKind.SAWTOOTH),
        ("revsawtooth", FlowKind.REVERSE_SAWTOOTH),
        ("reverse sawtooth", FlowKind.REVERSE_SAWTOOTH),
        ("reverse-sawtooth", FlowKind.REVERSE_SAWTOOTH),
    ],
)
def test_flows_have_all_the_names_that_the_authors_tools_give_them(word, kind):
    assert flow(word) is kind


@pytest.mark.parametrize("word", ["tumbling", "thumbling"])
def test_tumbling_windows_may_be_misspelled_as_the_thesis_does(word):
    assert windows(f"type: {word}, duration: 5") == [Window(length_seconds=5.0)]


def test_sliding_windows_begin_every_interval():
    sliding = Window(length_seconds=30.0, slide_seconds=10.0)
    assert windows("type: sliding") == [sliding]
    assert windows("type: sliding, enabled: false") == []


@pytest.mark.parametrize("text", ["reliability: false", "workload: {reliability: false}"])
def test_reliability_may_stand_at_either_place(text):
    assert not workflow(text).reliable
    assert workflow(text.replace("false", "true")).reliable


def test_reliability_may_not_be_both():
    text = "workflow:\n  workload: {reliability: true}\n  reliability: false\n"
    assert problems(text)[0].startswith(
        "it.yaml:3: workflow.reliability: different values of reliability"
    )


def test_a_filtering_of_zero_is_no_filter():
    assert {task.filtering for task in workflow("filtering: 0").tasks} == {1.0}


def test_keys_of_earlier_versions_are_understood():
    application = parse_application("dataflow:\n  depth: 4\n  reliable: false\n")
    assert len(application.tasks) == 4
    assert not application.reliable


def test_an_empty_workflow_is_all_defaults():
    (source, *_), data = parse_application("workflow:").tasks, DataDistribution.UNIFORM
    assert (source.data.size, source.data.values, source.data.distribution) == (8, 100, data)
    assert source.flow.rate == 1000.0


def test_a_pipelines_tasks_have_the_defaults_of_the_authors_software():
    source, out = parse_application(PIPELINE).tasks
    assert (source.parallelism, source.processing, source.data.size) == (1, 0.0, 8)
    assert (out.routing, out.processing, out.filtering) == (Routing.NONE, 10.0, 1.0)
    assert out.resized_bytes is None


def test_parents_may_stand_after_their_children():
    text = "pipeline: {tasks: [{name: b, parents: [a]}, {name: a, flow: {rate: 1}}]}"
    assert [task.name for task in parse_application(text).in_order()] == ["a", "b"]


def test_a_pipeline_may_gather_in_windows():
    _, out = parse_application(PIPELINE + "      windowing: {duration: 5}\n").tasks
    assert out.window == Window(length_seconds=5.0)


def test_an_application_is_called_like_its_file_unless_it_has_a_name(tmp_path):
    path = tmp_path / "my app.v2.yaml"
    path.write_text("workflow:")
    assert load_application(path).name == "my-app-v2"
    path.write_text("name: other\nworkflow:")
    assert load_application(path).name == "other"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("depht: 3", "it.yaml:2: workflow.depht: unknown key 'depht'"),
        ("depth: deep", "it.yaml:2: workflow.depth: 'deep'; expected a whole number"),
        (
            "connection: {shape: diamant}",
            "it.yaml:2: workflow.connection.shape: 'diamant'; expected 'linear', 'diamond' or "
            "'star' (did you mean 'diamond'?)",
        ),
        (
            "connection: {routing: fields}",
            "expected 'none', 'balanced', 'hash' or 'broadcast'",
        ),
        ("scalability: {parallelism: 2}", "2 instances for the 3 components of a linear workflow"),
        ("scalability: {variability: 2}", "it.yaml:2: workflow.scalability.variability: 2.0"),
        ("workload: {processing: -1}", "it.yaml:2: workflow.workload.processing: -1.0"),
        ("filtering: 33", "it.yaml:2: workflow.filtering: 33.0; expected a finite number"),
        ("windowing: {duration: 0}", "it.yaml:2: workflow.windowing.duration: 0.0"),
        ("windowing: {type: hopping}", "expected 'tumbling' or 'sliding'"),
    ],
)
def test_problems_of_workflows_have_a_line_a_key_and_what_is_allowed(text, said):
    assert any(said in line for line in problems(f"workflow:\n  {text}\n"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("parallelism: 0", "it.yaml:7: pipeline.tasks[1].parallelism: 0"),
        ("routing: shuffle", "it.yaml:7: pipeline.tasks[1].routing: 'shuffle'"),
        ("filtering: -0.1", "it.yaml:7: pipeline.tasks[1].filtering: -0.1"),
        ("resizeddata: -5", "it.yaml:7: pipeline.tasks[1].resizeddata: -5"),
        (
            "reliability: false",
            "it.yaml:7: pipeline.tasks[1].reliability: different values for 'in' and 'out'",
        ),
        ("resizedata: 5", "unknown key 'resizedata'; expected a key of this section (did you"),
        ("kafka: {topic: t}", "it.yaml:7: pipeline.tasks[1].kafka: an external source, Kafka"),
    ],
)
def test_problems_of_pipelines_have_a_line_and_a_key(text, said):
    assert any(said in line for line in problems(f"{PIPELINE}      {text}\n"))


def test_an_unknown_parent_is_guessed():
    (line,) = problems(PIPELINE.replace("[in]", "[inn]"))
    assert line == (
        "it.yaml:6: pipeline.tasks[1].parents[0]: parent 'inn'; expected the name of a task "
        "(did you mean 'in'?)"
    )


def test_problems_of_several_sections_are_said_together():
    text = "workflow:\n  filtering: 2\ndatastream: {synthetic: {data: {size: 1, values: 100}}}\n"
    said = problems(text)
    assert said[0].startswith("it.yaml:3: datastream.synthetic.data.values: 100 values of size 1")
    assert said[1].startswith("it.yaml:2: workflow.filtering")


def test_problems_of_former_keys_are_blamed_on_the_keys_as_written():
    (line,) = problems("dataflow:\n  depth: 3\n  reliable: 7\n")
    assert line == "it.yaml:3: dataflow.reliable: 7; expected true or false"


def test_a_source_outside_is_understood_and_refused():
    kafka = "external: {kafka: {server: 'localhost:9092', group: test, topic: topic}}"
    (line,) = problems(f"workflow:\ndatastream:\n  {kafka}\n")
    assert line.startswith("it.yaml:3: datastream.external: an external source, Kafka; expected")
    (line,) = problems(f"workflow:\ndatastream:\n  {kafka}\n  synthetic: {{}}\n")
    assert "synthetic and external together" in line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("datastream: {}", "neither workflow nor pipeline"),
        ("workflow: {}\npipeline: {tasks: []}", "it.yaml:2: pipeline: workflow and pipeline"),
        (
            "datastream: {}\npipeline: {tasks: []}",
            "it.yaml:1: datastream: datastream and pipeline together",
        ),
        ("pipeline: {tasks: []}", "it.yaml:1: pipeline.tasks: no source"),
        ("streamgauge: 1\ntopology: {}", "a job; expected the description of an application"),
    ],
)
def test_a_file_is_either_a_workflow_or_a_pipeline(text, said):
    assert said in problems(text)[0]


def test_what_is_no_document_is_unreadable(tmp_path):
    with pytest.raises(UnreadableFile, match="no such file"):
        load_application(tmp_path / "none.yaml")
    with pytest.raises(UnreadableFile):
        parse_application("[]")


def test_a_platform_is_understood_with_the_authors_keys():
    text = "workers: 3\nmaxSpoutPending: 10\ndeployment: cluster\ndebugFrequency: 0.002\n"
    platform = parse_platform(text)
    assert (platform.workers, platform.max_spout_pending, platform.trace_every) == (3, 10, 500)


@pytest.mark.parametrize(("value", "every"), [("false", None), ("0.0005", 2000)])
def test_debug_is_the_frequency_by_its_first_name(value, every):
    assert parse_platform(f"debug: {value}").trace_every == every


def test_a_platform_may_have_a_cluster_and_the_time_of_a_cycle():
    platform = parse_platform("cycle_ns: 0.5\ncluster: {uniform: {nodes: 2, cores: 4}}")
    assert platform.cycle_ns == 0.5
    assert len(platform.cluster.nodes) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("workers: 0", "it.yaml:1: workers: 0"),
        ("worker: 2", "did you mean 'workers'?"),
        ("debug: 7", "it.yaml:1: debug: 7"),
        ("cycle_ns: 0", "it.yaml:1: cycle_ns: 0"),
        ("cluster: {uniform: {nodes: 0}}", "it.yaml:1: cluster.uniform"),
        ("deployment: moon", "expected 'local' or 'cluster'"),
    ],
)
def test_problems_of_platforms_have_a_line_and_a_key(text, said):
    assert said in problems(text, parse_platform)[0]
