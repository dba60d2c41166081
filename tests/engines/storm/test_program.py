"""Programs for the Java topology say what their jobs say, and only what Storm can run."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from streamgauge.engines.storm.draws import count_table, drawn, key_rule
from streamgauge.engines.storm.program import program_text, topology_program
from streamgauge.errors import InvalidInput
from streamgauge.profile.distribution import Empirical, Fixed, Gamma, RoundedNormal
from streamgauge.profile.files.jobs import load_job, parse_job
from streamgauge.profile.keys import GivenKeys, LetterKeys, UniformKeys, ZipfKeys

EXAMPLES = Path(__file__).parents[3] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.yaml"))
THESIS = ["fields-to-fields", "multiplier", "windowed", "all-in-one", "join-split"]

SMALL = """
streamgauge: 1
topology:
  name: small
  acked: {acked}
  operators: {{in: {{kind: source, tasks: 2}}, out: {{tasks: 3{window}}}}}
  streams: [{{from: in, to: out, grouping: {grouping}}}]
behaviours: {{{behaviours}}}
configuration: {{workers: 2, executors: {{out: 2}}, settings: {{{settings}}}}}
workload: [{{source: in, per_second: 10, shape: {shape}}}]
"""


def small(
    *,
    acked="true",
    window="",
    grouping="shuffle",
    behaviours="out: {service: {cpu_ms: 1}}",
    settings="",
    shape="poisson",
):
    text = SMALL.format(
        acked=acked,
        window=window,
        grouping=grouping,
        behaviours=behaviours,
        settings=settings,
        shape=shape,
    )
    return parse_job(text)


def program_of(**parts):
    return topology_program(small(**parts), seed=1)


def problem_of(**parts):
    with pytest.raises(InvalidInput) as caught:
        program_of(**parts)
    return str(caught.value)


def by_name(program):
    return {one["name"]: one for one in (*program["sources"], *program["bolts"])}


def mean_of(table):
    return float(np.asarray(table["values"]) @ np.diff([0.0, *table["cumulative"]]))


@pytest.mark.parametrize("name", NAMES)
def test_every_example_becomes_a_program_with_its_structure(name):
    job = load_job(EXAMPLES / f"{name}.yaml")
    program = json.loads(program_text(topology_program(job, seed=3)))
    components = by_name(program)
    assert set(components) == set(job.topology.operator_names)
    for operator in job.topology.operators:
        component = components[operator.name]
        assert component["tasks"] == operator.tasks
        assert component["executors"] == job.configuration.executors_of(operator.name)
        assert {one["name"] for one in component["streams"]} == {
            one.name for one in job.topology.streams_from(operator.name)
        }
    subscriptions = {
        (one["source"], one["stream"], bolt["name"])
        for bolt in program["bolts"]
        for one in bolt["inputs"]
    }
    assert subscriptions == {stream.subscription for stream in job.topology.data_streams}
    assert {bolt["name"] for bolt in program["bolts"] if bolt["sink"]} == {
        one.name for one in job.topology.sinks
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_rates_of_tasks_add_up_to_those_of_the_example(name):
    job = load_job(EXAMPLES / f"{name}.yaml")
    sources = by_name(topology_program(job, seed=3))
    for emission in job.workload.emissions:
        made = next(
            one for one in sources[emission.source]["emissions"] if one["stream"] == emission.stream
        )
        assert math.fsum(made.get("per_second", ())) == pytest.approx(emission.per_second or 0.0)


@pytest.mark.parametrize("name", THESIS)
def test_the_thesis_topologies_keep_their_counts_windows_and_letters(name):
    job = load_job(EXAMPLES / f"{name}.yaml")
    for operator in job.topology.operators:
        made = by_name(topology_program(job, seed=3))[operator.name]
        behaviour = job.behaviours[operator.name]
        window = made.get("window")
        for outputs, counts in (
            *((one["outputs"], behaviour.outputs) for one in made.get("inputs", ()) if not window),
            *(((window["outputs"], behaviour.window.outputs),) if window else ()),
        ):
            means = {one["stream"]: mean_of(one["count"]) for one in outputs}
            assert means == pytest.approx({k: v.mean for k, v in counts.items()})
        if window:
            assert window.get("length_tuples") == operator.window.length_tuples
        for stream in made["streams"]:
            named = stream["name"] in behaviour.keys
            assert stream.get("keys", {}).get("count") == (16 if named else None)


def test_a_small_program_in_full():
    job = small(
        grouping="{fields: [word]}",
        behaviours="in: {keys: {default: {zipf: {count: 9}}}, bytes: {default: 80}}, "
        "out: {service: {cpu_ms: {gamma: {mean: 1, scv: 0.5}}, wait_ms: 2}, fails: 0.1}",
    )
    nothing = {"kind": "constant", "value": 0.0}
    assert topology_program(job, seed=7, trace_every=50) == {
        "streamgauge": 1,
        "topology": "small",
        "acked": True,
        "seed": 7,
        "trace_every": 50,
        "configuration": {"topology.workers": 2, "topology.acker.executors": 2},
        "sources": [
            {
                "name": "in",
                "tasks": 2,
                "executors": 1,
                "relative_service": [1.0, 1.0],
                "streams": [
                    {
                        "name": "default",
                        "keys": {
                            "count": 9,
                            "naming": "numbered",
                            "prefix": "key",
                            "sharing": "zipf",
                            "exponent": 1.0,
                        },
                        "bytes": {"kind": "constant", "value": 80.0},
                    }
                ],
                "service": {"cpu_ms": nothing, "wait_ms": nothing},
                "replays": False,
                "emissions": [{"stream": "default", "shape": "poisson", "per_second": [5.0, 5.0]}],
            }
        ],
        "bolts": [
            {
                "name": "out",
                "tasks": 3,
                "executors": 2,
                "relative_service": [1.0, 1.0, 1.0],
                "streams": [],
                "sink": True,
                "fails": 0.1,
                "exclusive": False,
                "inputs": [
                    {
                        "source": "in",
                        "stream": "default",
                        "copy": 0,
                        "grouping": {"kind": "fields"},
                        "service": {
                            "cpu_ms": {"kind": "gamma", "mean": 1.0, "scv": 0.5},
                            "wait_ms": {"kind": "constant", "value": 2.0},
                        },
                        "outputs": [],
                    }
                ],
            }
        ],
    }


def test_keys_that_nobody_knows_go_anywhere():
    grouping = program_of(grouping="{fields: [word]}")["bolts"][0]["inputs"][0]["grouping"]
    assert grouping["kind"] == "custom"
    assert grouping["cumulative"] == [pytest.approx([1 / 3, 2 / 3, 1.0])]


def test_a_custom_matrix_becomes_cumulative_rows():
    job = program_of(grouping="{custom: [[0.5, 0.25, 0.25], [0, 0, 1]]}")
    grouping = job["bolts"][0]["inputs"][0]["grouping"]
    assert grouping == {"kind": "custom", "cumulative": [[0.5, 0.75, 1.0], [0.0, 0.0, 1.0]]}


def test_a_direct_stream_names_its_addressee():
    (stream,) = program_of(grouping="direct")["sources"][0]["streams"]
    assert stream == {"name": "default", "direct_to": "out"}


def test_without_ackers_nothing_is_tracked_or_pending():
    configuration = program_of(acked="false", settings="topology.max.spout.pending: 5")[
        "configuration"
    ]
    assert configuration == {"topology.workers": 2, "topology.acker.executors": 0}


@pytest.mark.parametrize(
    ("shape", "made"),
    [
        ("regular", {}),
        (
            "{burst: {on_seconds: 1, off_seconds: 3, random: true}}",
            {"random": True, "factors": [4.0, 0.0], "seconds": [1.0, 3.0]},
        ),
        (
            "{modulated: {factors: [1, 3], mean_seconds: [2, 2]}}",
            {"factors": [0.5, 1.5], "seconds": [2.0, 2.0]},
        ),
        (
            "{seasonal: {period_seconds: 60, amplitude: 0.5, phase_seconds: 3}}",
            {"period_seconds": 60.0, "amplitude": 0.5, "phase_seconds": 3.0},
        ),
        (
            "{sawtooth: {period_seconds: 60, reverse: true}}",
            {"period_seconds": 60.0, "reverse": True},
        ),
        (
            "{recorded: {bucket_seconds: 5, values: [1, 3]}}",
            {"factors": [0.5, 1.5], "seconds": [5.0, 5.0]},
        ),
    ],
)
def test_shapes_are_given_in_multiples_of_the_mean(shape, made):
    (emission,) = program_of(shape=shape)["sources"][0]["emissions"]
    kind = emission.pop("shape")
    assert kind in shape
    assert emission == {"stream": "default", "per_second": [5.0, 5.0], **made}


def test_distributions_keep_their_parameters():
    assert drawn(Gamma(mean=2.0, scv=0.5)) == {"kind": "gamma", "mean": 2.0, "scv": 0.5}
    table = drawn(Empirical(values=(3.0, 1.0), weights=(1.0, 3.0)))
    assert table == {"kind": "table", "values": [1.0, 3.0], "cumulative": [0.75, 1.0]}


def test_counts_are_tables_with_the_mean_of_their_distribution():
    assert count_table(Fixed(mean=3.0)) == {"values": [3], "cumulative": [1.0]}
    normal = RoundedNormal(centre=10.0, deviation=1.0, low=1, high=20)
    assert mean_of(count_table(normal)) == pytest.approx(normal.mean)


def test_keys_are_rules_where_there_is_one():
    assert "cumulative" not in key_rule(UniformKeys(count=10_000_000))
    assert key_rule(ZipfKeys(count=5, exponent=0.5))["exponent"] == 0.5
    assert key_rule(LetterKeys(count=30, length=2))["naming"] == "letters"
    given = key_rule(GivenKeys(weights={"A": 3.0, "B": 1.0}))
    assert (given["names"], given["cumulative"]) == (["A", "B"], [0.75, 1.0])


def test_a_table_of_keys_beyond_all_bounds_is_refused():
    keys = "{letters: {count: 200000, length: 6, deviation: 1000}}"
    problem = problem_of(behaviours=f"in: {{keys: {{default: {keys}}}}}, out: {{}}")
    assert problem.startswith("behaviours.in.keys.default: a table of 200000 entries")


WINDOW = "out: {window: {service: {cpu_ms: 1}}}"


def test_windows_are_in_tuples_or_milliseconds():
    window = program_of(
        window=", window: {length_seconds: 2.5, slide_tuples: 7}", behaviours=WINDOW
    )["bolts"][0]["window"]
    extent = {key: value for key, value in window.items() if key.startswith(("length", "slide"))}
    assert extent == {"length_ms": 2500, "slide_tuples": 7}


def test_windows_that_storm_would_not_start_are_refused():
    long = ", window: {length_seconds: 20}"
    assert "at most the 30 s" in problem_of(window=long, behaviours=WINDOW)
    settings = "topology.message.timeout.secs: 60"
    assert program_of(window=long, behaviours=WINDOW, settings=settings)
    many = ", window: {length_tuples: 60}"
    settings = "topology.max.spout.pending: 100"
    assert "120 tuples" in problem_of(window=many, behaviours=WINDOW, settings=settings)


def test_where_nothing_runs_out_of_time_long_windows_get_theirs():
    program = program_of(acked="false", window=", window: {length_seconds: 20}", behaviours=WINDOW)
    assert program["configuration"]["topology.message.timeout.secs"] == 40


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (", window: {length_seconds: 1, event_time: true}", "processing time"),
        (", window: {length_seconds: 0.0001}", "at least a millisecond"),
    ],
)
def test_windows_beyond_storms_means_are_refused(window, expected):
    assert expected in problem_of(window=window, behaviours=WINDOW)


def test_a_join_needs_keys_and_no_window():
    join = "out: {join: {on-key: {within_seconds: 5}}}"
    assert "a join on keys of in/default, which has none" in problem_of(behaviours=join)
    both = f"in: {{keys: {{default: {{uniform: {{count: 3}}}}}}}}, {join[:-1]}, window: {{}}}}"
    problem = problem_of(window=", window: {length_tuples: 5}", behaviours=both)
    assert "nothing says which comes first" in problem


def test_a_direct_stream_has_one_subscriber():
    job = parse_job("""
streamgauge: 1
topology:
  name: two
  operators: {in: {kind: source}, a: {}, b: {}}
  streams: [{from: in, to: a, grouping: direct}, {from: in, to: b, grouping: shuffle}]
behaviours: {a: {}, b: {}}
workload: [{source: in, per_second: 1}]
""")
    with pytest.raises(InvalidInput, match="addressed to one task"):
        topology_program(job, seed=1)


def test_what_is_missing_is_said_all_at_once():
    job = replace(small(), behaviours={}, workload=None)
    with pytest.raises(InvalidInput) as caught:
        topology_program(job, seed=1)
    text = str(caught.value)
    assert "no emission" in text
    assert "no behaviour of 'out'" in text


def test_cycles_run_too():
    program = topology_program(load_job(EXAMPLES / "feedback.yaml"), seed=1)
    sources = {one["source"] for one in by_name(program)["fetch"]["inputs"]}
    assert sources == {"frontier", "parse"}
