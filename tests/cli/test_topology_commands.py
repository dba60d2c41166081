import json
import xml.etree.ElementTree as ET

import pytest

from streamgauge.profile.files.jobs import parse_job

SVG = "{http://www.w3.org/2000/svg}"


def texts(path):
    root = ET.parse(path).getroot()
    return ["".join(node.itertext()) for node in root.iter(f"{SVG}text")]


def test_show_draws_the_graph_and_lists_every_executor_once(run, job):
    shown = run("topology", "show", job)
    assert shown.code == 0
    assert "tiny: storm-2, acked, 10 executors in 2 workers on 2 nodes" in shown.out
    assert "fields(key)" in shown.out
    for label in ("in[3]", "in[4]", "out[5]", "work[7]", "work[10]", "__acker[1]", "__acker[2]"):
        assert shown.out.count(label) == 1


def test_show_sums_up_connections_and_paths(run, job):
    # 2 × 4 + 4 × 2 connections; 2 · 4 · 2 paths
    shown = " ".join(run("topology", "show", job).out.split())
    assert "16 connections on data streams" in shown
    assert "16 paths from source to sink" in shown


def test_json_is_one_document_whose_job_and_plan_read_back(run, job):
    document = json.loads(run("topology", "show", job, "--json").out)
    assert document["schema_version"] == 1
    again = parse_job(json.dumps({**document["job"], "plan": document["plan"]}))
    assert again.explicit_plan() is not None
    assert document["paths"] == 16
    assert sum(document["connections"].values()) == 16


def test_a_step_changes_the_configuration(run, job):
    document = json.loads(run("topology", "show", job, "--step", "slim", "--json").out)
    assert document["job"]["configuration"]["executors"] == {"in": 1, "work": 1, "out": 1}
    assert document["paths"] == 1


def test_an_unknown_step_names_the_known_ones(run, job):
    outcome = run("topology", "show", job, "--step", "slum")
    assert outcome.code == 2
    assert "did you mean 'slim'?" in outcome.err


def test_an_unknown_scheduler_names_the_known_ones(run, job):
    outcome = run("topology", "show", job, "--scheduler", "odd")
    assert outcome.code == 2
    assert "even" in outcome.err


def test_svg_shows_every_operator_with_its_parallelism_and_grouping(run, job, tmp_path):
    target = tmp_path / "picture.svg"
    outcome = run("topology", "show", job, "--svg", target)
    assert (outcome.code, outcome.out) == (0, "")
    shown = texts(target)
    assert {"in", "work", "out", "shuffle", "fields(key)", "4 executors"} <= set(shown)
    assert "__acker" not in shown


def test_ackers_are_drawn_when_asked_for(run, job, tmp_path):
    target = tmp_path / "picture.svg"
    run("topology", "show", job, "--ackers", "--svg", target)
    assert "__acker" in texts(target)
    assert any(text.startswith("__ack_init") for text in texts(target))


def test_the_physical_picture_has_every_node_worker_and_executor(run, job, tmp_path):
    target = tmp_path / "plan.svg"
    run("topology", "show", job, "--physical", "--svg", target)
    shown = texts(target)
    assert {"node n1", "node n2"} <= set(shown)
    # Tasks 1 and 2 are the ackers', which are not drawn.
    assert sorted(int(text) for text in shown if text.isdecimal()) == list(range(3, 11))


def test_connection_types_differ_in_dash_and_arrow_not_only_in_colour(run, job, tmp_path):
    target = tmp_path / "plan.svg"
    run("topology", "show", job, "--physical", "--svg", target)
    root = ET.parse(target).getroot()
    style = root.find(f"{SVG}style").text
    dashes = {
        kind: style.split(f".{kind} {{")[1].split("}")[0].partition("stroke-dasharray:")[2]
        for kind in ("local", "inter-local", "remote")
    }
    assert len(set(dashes.values())) == 3
    heads = {marker.get("id"): marker[0].attrib for marker in root.iter(f"{SVG}marker")}
    shapes = {(head["d"], head["fill"] == "#ffffff") for head in heads.values()}
    assert len(shapes) == 3


def test_check_is_brief_when_all_is_well(run, job):
    outcome = run("topology", "check", job)
    assert outcome.code == 0
    assert outcome.out.startswith(f"{job}: fine")


def test_check_lists_every_problem_with_file_and_line(run, job):
    job.write_text(
        job.read_text()
        .replace("to: out", "to: uot")
        .replace("work: {tasks: 4}", "work: {tasks: 0}")
    )
    outcome = run("topology", "check", job)
    assert outcome.code == 2
    assert f"{job}:7: topology.operators.work.tasks: 0; expected a whole number" in outcome.err
    assert "Traceback" not in outcome.err


def test_errors_are_documents_too_with_json(run, tmp_path):
    outcome = run("topology", "check", tmp_path / "none.yaml", "--json")
    error = json.loads(outcome.out)["error"]
    assert outcome.code == 2
    assert error["code"] == "unreadable-file"
    assert error["problems"][0]["seen"] == "no such file"


def test_diff_of_a_plan_with_itself_is_empty(run, job):
    assert run("topology", "diff", job, job).out == "The plans are the same.\n"


def test_diff_counts_what_comes_and_goes(run, job):
    change = json.loads(run("topology", "diff", job, job, "--after-step", "slim", "--json").out)
    assert {one["executor"] for one in change["added"]} == {"in[3-4]", "out[5-6]", "work[7-10]"}
    assert len(change["removed"]) == 8


def test_schema_is_the_one_in_the_documentation(run, project):
    committed = (project / "docs/schema/streamgauge-1.schema.json").read_text()
    assert json.loads(run("topology", "schema").out) == json.loads(committed)


@pytest.mark.parametrize("arguments", [["topology", "shw"], ["--nope"], ["topology", "show"]])
def test_usage_errors_leave_with_two(run, arguments):
    assert run(*arguments).code == 2


def test_fewer_slots_than_workers_is_a_warning(run, job):
    job.write_text(job.read_text().replace("workers: 2", "workers: 9"))
    outcome = run("topology", "show", job)
    assert outcome.code == 0
    assert "warning: 9 workers were asked for and 4 slots are free: using 4" in outcome.err


def test_a_picture_that_cannot_be_written_is_said_so(run, job, tmp_path):
    outcome = run("topology", "show", job, "--svg", tmp_path / "no" / "such" / "a.svg")
    assert outcome.code == 2
    assert "expected a file that can be written" in outcome.err


def test_a_job_with_other_operators_is_no_other_plan_of_it(run, job, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text(job.read_text().replace("work: {tasks: 4}", "work: {tasks: 5}"))
    outcome = run("topology", "diff", job, other)
    assert outcome.code == 2
    assert "differ in work" in outcome.err


def test_a_picture_may_go_to_standard_output(run, job):
    assert run("topology", "show", job, "--svg", "-").out.startswith("<svg")


def test_check_places_every_step(run, job):
    job.write_text(job.read_text().replace("slim: {executors: 1}", "slim: {workers: 9}"))
    assert "warning: slim: 9 workers were asked for" in run("topology", "check", job).err


@pytest.mark.parametrize("command", ["show", "check"])
def test_an_unknown_engine_is_refused_with_its_line_and_a_guess(run, job, command):
    text = job.read_text().replace("configuration: {", "configuration: {engine: strom-2, ")
    job.write_text(text)
    line = text[: text.index("strom-2")].count("\n") + 1
    outcome = run("topology", command, job)
    assert outcome.code == 2
    assert f"{job}:{line}: configuration.engine: engine 'strom-2'; expected one of" in outcome.err
    assert "did you mean 'storm-2'?" in outcome.err


def test_a_flood_of_problems_is_cut_short(run, job):
    wrong = "".join(f"    - {{from: in, to: nobody{n}, grouping: shuffle}}\n" for n in range(50))
    job.write_text(job.read_text().replace("configuration:", wrong + "configuration:"))
    outcome = run("topology", "check", job)
    assert len(outcome.err.splitlines()) == 21
    assert "and 30 more" in outcome.err


def test_what_a_terminal_would_obey_is_not_printed(run, job):
    job.write_text('about: "\\u001b[31mred"\n' + job.read_text())
    assert "\x1b" not in run("topology", "show", job).out


def test_a_graph_that_does_not_fit_becomes_an_outline(run, job, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    assert "└─ shuffle → work  ×4" in run("topology", "show", job).out


def test_the_acker_stands_right_of_all_that_it_hears_from(run, job, tmp_path):
    target = tmp_path / "picture.svg"
    run("topology", "show", job, "--ackers", "--svg", target)
    places = {
        "".join(node.itertext()): float(node.get("x"))
        for node in ET.parse(target).getroot().iter(f"{SVG}text")
        if node.get("class") == "name"
    }
    assert max(places, key=places.get) == "__acker"


def test_check_refuses_what_show_could_not_hold(run, job):
    many = "{kind: source, tasks: 20000}"
    text = job.read_text().replace("{kind: source, tasks: 2}", many)
    text = text.replace("work: {tasks: 4}", "work: {tasks: 20000}")
    job.write_text(text.replace("{in: 2, work: 4,", "{in: 20000, work: 20000,"))
    outcome = run("topology", "check", job)
    assert outcome.code == 2
    assert "connections between executors" in outcome.err


def test_diff_writes_a_page(run, job, tmp_path):
    page = tmp_path / "diff.html"
    outcome = run("topology", "diff", job, job, "--after-step", "slim", "--html", page)
    assert outcome.code == 0
    assert "streamgauge topology diff" in page.read_text()


def test_paths_are_listed_from_one_source(run, job):
    shown = run("topology", "paths", job, "--list", 2, "--source", "in")
    assert "in[3] → work[7] → out[5]" in shown.out
    outcome = run("topology", "paths", job, "--list", 2, "--source", "im")
    assert outcome.code == 2
    assert f"{job}: 'im'; expected a source of topology 'tiny' (known: in)" in outcome.err


def test_latency_by_path_needs_a_load(run, project, job):
    shown = run("topology", "paths", project / "examples/word-count.yaml", "--latency", "--json")
    found = json.loads(shown.out)["paths"]["latency"]["by_source"]["spout"]
    assert 0.0 < found["mean"] < found["longest"] < found["complete"]
    outcome = run("topology", "paths", job, "--latency")
    assert outcome.code == 5
    assert "no load is known: give --rate" in outcome.err
