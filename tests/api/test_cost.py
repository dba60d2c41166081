"""`sg.cost` and ``streamgauge cost``: what they say, and what they refuse."""

import json
import shlex
import sys

import pytest

import streamgauge as sg
from streamgauge.cli import main
from streamgauge.errors import InvalidInput, NotEnoughData
from streamgauge.models.files.cost_file import load_constants
from streamgauge.profile.files.jobs import load_job

LOGS = """
streamgauge: 1
topology:
  name: logs
  operators: {spout: {kind: source, tasks: 8}, bolt: {tasks: 8}}
  streams: [{from: spout, to: bolt, grouping: shuffle}]
behaviours:
  spout: {service: {cpu_ms: 0.007}, bytes: {default: 38}}
  bolt: {service: {cpu_ms: 0.021}}
configuration:
  executors: {spout: 4, bolt: 4}
  workers: 2
  ackers: 0
  settings: {topology.disable.loadaware.messaging: true}
cluster: {uniform: {nodes: 2, cores: 8, network_gbit_per_second: 1}}
workload: [{source: spout, per_second: 50000}]
"""
CONSTANTS = """
streamgauge: 1
types: {spout/default: {serialise_us: 3, deserialise_us: 4}}
groupings_us: {shuffle: 1}
raw_bytes: {spout: 360}
management: {most_bytes_per_second: 56000}
"""


@pytest.fixture
def logs(tmp_path):
    path = tmp_path / "logs.yaml"
    path.write_text(LOGS)
    return path


@pytest.fixture
def constants(tmp_path):
    path = tmp_path / "constants.yaml"
    path.write_text(CONSTANTS)
    return path


def test_bandwidth_is_that_of_the_paper(logs, constants):
    """K3 for α_remote of a half; 44 bytes with the engine's frame."""
    report = sg.cost(logs, constants=constants)
    own = report.to_dict()["configurations"][0]
    assert own["bandwidth_bytes_per_second"] == pytest.approx(19_156_000)
    assert own["by_pairs"] == pytest.approx({"local": 0.5, "node": 0.0, "remote": 0.5})
    assert own["remote_as_printed"] == 1.0


def test_bytes_between_nodes_are_those_of_a_prediction(logs):
    report = sg.cost(logs)
    predicted = sg.predict(logs, intervals=False).prediction.bytes
    assert report.flow == predicted
    own = report.to_dict()["configurations"][0]
    # But for the ends of batches, of which the cost models know nothing.
    assert own["remote_bytes_per_second"] == pytest.approx(
        predicted.total("remote_bytes_per_second"), rel=4e-3
    )


def test_other_configurations_stand_beside_the_plan(logs, constants):
    report = sg.cost(logs, constants=constants, configurations=["<1,8,8,1>", "<1,4,4,2>=5.1"])
    plan, crowded, measured = report.to_dict()["configurations"]
    assert (crowded["configuration"], crowded["more_threads_than_cores"]) == ("<1,8,8,1>", True)
    assert measured["measured_seconds"] == pytest.approx(0.0051)
    assert plan["operators"]["bolt"]["fewest_executors"] == 2
    assert "<1,8,8,1>" in report.to_text()
    assert "<1,8,8,1>" in report.to_html().replace("&lt;", "<").replace("&gt;", ">")


def test_measured_latencies_are_compared_by_ranks(logs, constants):
    several = ["<1,4,4,1>=1", "<1,4,4,2>=2", "<1,4,4,4>=4", "<1,8,8,4>=90"]
    text = sg.cost(logs, constants=constants, configurations=several).to_text(200)
    assert "Rank correlation of measured latency with the floor: 1.00." in text
    assert "1 configuration with more threads than cores left out" in text


def test_a_card_that_is_overrun_is_bad_news(logs):
    report = sg.cost(logs, rate=8_000_000)
    assert report.verdict.word == "Overloaded"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"configurations": ["<1,2,3>"]}, "executors of each of the 2 operators"),
        ({"configurations": ["<1,2,3,4>=fast"]}, "a latency in milliseconds after ="),
        ({"serialising": "maybe"}, "one of flag, fraction, copies"),
        ({"utilisation": 0.0}, "a part of one, above zero"),
    ],
)
def test_what_makes_no_sense_is_refused(logs, changes, message):
    with pytest.raises(InvalidInput, match=message):
        sg.cost(logs, **changes)


def test_a_tuple_type_that_no_stream_carries_is_named(logs, constants):
    constants.write_text(CONSTANTS.replace("spout/default", "spout/defualt"))
    carried = "the tuple type spout/defualt, which no stream carries"
    with pytest.raises(InvalidInput, match=rf"constants.yaml:3: types.spout/defualt: {carried}"):
        sg.cost(logs, constants=constants)


def test_a_grouping_that_there_is_not_has_the_line_of_its_key(logs, constants):
    constants.write_text(CONSTANTS.replace("shuffle: 1", "shufle: 1"))
    with pytest.raises(InvalidInput, match=r"constants.yaml:4: groupings_us.shufle"):
        sg.cost(logs, constants=constants)


def test_an_unknown_key_of_the_constants_has_its_line(logs, constants):
    constants.write_text(CONSTANTS.replace("groupings_us", "groupings"))
    with pytest.raises(InvalidInput, match=r"constants.yaml:4: groupings"):
        sg.cost(logs, constants=constants)


def test_without_sizes_it_says_so_and_where_to_get_them(tmp_path):
    path = tmp_path / "silent.yaml"
    path.write_text(LOGS.replace(", bytes: {default: 38}", ""))
    text = sg.cost(path).to_text(200)
    assert "How large tuples are is not known of spout/default" in text
    assert "emitted not known" in text


def test_without_a_load_there_is_nothing_to_count(tmp_path):
    path = tmp_path / "idle.yaml"
    path.write_text(LOGS.partition("workload")[0])
    with pytest.raises(NotEnoughData, match="give --rate"):
        sg.cost(path)


def test_the_command_prints_one_document(logs, constants, monkeypatch, capsys):
    command = f"streamgauge cost {logs} --constants {constants} --configuration <2,2,2,1> --json"
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    with pytest.raises(SystemExit):
        main()
    document = json.loads(capsys.readouterr().out)
    assert [one["configuration"] for one in document["configurations"]][1] == "<2,2,2,1>"
    assert document["bytes"]["remote_bytes_per_second"] == pytest.approx(25_000 * 44, rel=4e-3)


def test_the_example_of_constants_is_fine(project):
    report = sg.cost(
        project / "examples/word-count.yaml", constants=project / "examples/costs/word-count.yaml"
    )
    assert "At most 56.0 kB/s for management" in report.to_text()


def test_constants_measured_on_storm_cost_management_as_it_was_measured(project):
    """4 nodes, 8 workers and 80 tasks had 25.5 kB/s; half a percent is rounding."""
    constants = load_constants(
        project / "examples/costs/storm-2.yaml",
        load_job(project / "examples/word-count.yaml").topology,
    )
    assert constants.any_type.read > 0.0
    assert float(constants.management.per_second(4, 8, 80)) == pytest.approx(25_533, rel=0.01)
