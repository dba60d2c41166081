"""``streamgauge profile show``: tables for people, one document for programs."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings

from streamgauge.cli.figure_tables import clipped, print_figures, short_number
from streamgauge.cli.profile_tables import print_operator, print_profile
from streamgauge.profile.figures import InputFigures, TaskId, TaskProfile
from streamgauge.profile.files.jobs import parse_profile, profile_to_data, save
from streamgauge.profile.profile import Profile
from streamgauge.profile.quality import assess_profile
from streamgauge.topology import Configuration
from tests.profile.measured import SENTENCES, figure, times, topology, word_count
from tests.strategies import profiles


@pytest.fixture
def saved(tmp_path):
    def write(profile: Profile):
        path = tmp_path / "profile.json"
        save(profile_to_data(profile), path)
        return path

    return write


def row(text: str, name: str, title: str) -> str:
    """The row of that name in the table of that title, with single blanks."""
    lines = text[text.index(title) :].splitlines()[2:]
    return " ".join(next(line for line in lines if line.strip().startswith(name)).split())


def test_the_head_says_what_was_measured_and_when(run, saved):
    shown = run("profile", "show", saved(word_count()))
    assert shown.code == 0
    assert shown.err == ""
    lines = shown.out.splitlines()
    assert lines[0].startswith("word-count on storm-2, plan a41f, 2026-01-01T00:00:00Z to ")
    assert lines[0].endswith("(30 min)")
    assert "10 executors in 2 workers; 100 replicas from 60 blocks of 30 s" in lines[1]
    assert "juice 0.8750 ± 0.0088" in lines[2]
    assert "back-pressure in 2.5 minutes" in lines[2]


def test_operators_have_the_rates_of_all_their_tasks(run, saved):
    out = run("profile", "show", saved(word_count())).out
    # 4 × 500/s in, 4 × 3,800/s out; capacities 0.22 to 0.25; dispersion 1.1; 2 % of the time.
    assert row(out, "splitter", "Operators") == "splitter 4 2,000 15,200 23.5 % 25.0 % 1.10 2.0 %"


def test_service_times_have_errors_and_sample_sizes(run, saved):
    out = run("profile", "show", saved(word_count())).out
    # The mean of 0.40 to 0.43; four errors of 1 % pooled; 99th percentile of the slowest.
    assert row(out, "splitter ←", "Service times").endswith(
        "sentences 0.4150 ± 0.0021 0.801 1.98 0.3000 ± 0.0015 240,000 180"
    )
    assert "report, a window" in out


def test_streams_have_coefficients_sizes_and_shares(run, saved):
    out = run("profile", "show", saved(word_count())).out
    assert row(out, "splitter/words", "Streams").endswith(
        "→ counter fields(word) 15,200 7.600 ± 0.038 18.0 20–50 %"
    )


def test_the_longest_queue_comes_first(run, saved):
    out = run("profile", "show", saved(word_count())).out
    queues = out[out.index("Receive queues") :].splitlines()
    assert queues[4].split()[0] == "report[10]"


def test_cores_in_use_stand_beside_those_there_are(run, saved):
    out = run("profile", "show", saved(word_count())).out
    assert row(out, "machine", "Cores in use").startswith("machine host-7 3.500 ± 0.035 4 10")
    assert row(out, "node-1 →", "between nodes").endswith("0.2100 ± 0.0021 0.147 0.966 900")


def test_everything_fits_a_hundred_columns(run, saved):
    for splitters in (4, 40):
        out = run("profile", "show", saved(word_count(splitters))).out
        assert max(len(line.rstrip()) for line in out.splitlines()) <= 100


def test_a_good_profile_says_so(run, saved):
    out = run("profile", "show", saved(word_count())).out
    assert "Well measured: 23 of 23 figures" in out
    assert "Thin: nothing" in out
    assert "Missing: nothing" in out
    assert "the first 2 minutes were left out as warm-up" in out


def test_what_is_thin_or_missing_says_why_and_what_to_do(run, saved):
    task = TaskProfile(inputs={SENTENCES: InputFigures(wall=times(0.4, None, samples=50))})
    profile = Profile(
        topology=topology(),
        configuration=Configuration(executors={"splitter": 4}),
        tasks={TaskId("splitter", 1): task},
    )
    out = " ".join(run("profile", "show", saved(profile)).out.split())
    assert "Thin: 1 splitter from sentences: service time: 50 observations, under 100" in out
    assert "of its 4 tasks these were not seen: 0, 2, 3" in out
    assert "period not known" in out
    assert "no replicas" in out


def test_one_operator_is_shown_task_by_task(run, saved):
    out = run("profile", "show", saved(word_count()), "--operator", "counter").out
    assert "counter: 3 of 3 tasks seen" in out
    assert row(out, "0", "counter:").startswith("0 7,600 ")
    assert "sentences" not in out[out.index("Well measured") :]


def test_an_operator_of_many_tasks_is_summarised(run, saved):
    out = run("profile", "show", saved(word_count(40)), "--operator", "splitter").out
    assert "40 of 40 tasks seen; the 20 with the most tuples" in out
    # Service times go from 0.40 in steps of 0.01 to 0.79.
    assert "service ms of tasks: 0.400 to 0.790, median 0.595" in out
    assert "1.10 over 10 s, 1.40 over 60 s" in out
    assert "20 shorter ones left out" in out


def test_a_long_list_of_executors_is_cut(run, saved):
    out = run("profile", "show", saved(word_count(40))).out
    assert "26 shorter ones left out" in out


def test_json_is_the_document_and_its_quality(run, saved):
    profile = word_count(links=())
    document = json.loads(run("profile", "show", saved(profile), "--json").out)
    assert document["schema_version"] == 1
    assert parse_profile(json.dumps(document["profile"])) == profile
    assert document["quality"] == [one.to_dict() for one in assess_profile(profile)]
    assert [one["what"] for one in document["quality"] if one["verdict"] == "missing"] == [
        "latency"
    ]


def test_json_of_one_operator_leaves_the_others_out(run, saved):
    shown = run("profile", "show", saved(word_count()), "--operator", "counter", "--json")
    document = json.loads(shown.out)
    assert list(document["profile"]["profile"]["operators"]) == ["counter"]
    assert {one["operator"] for one in document["quality"]} == {"counter"}


def test_an_unknown_operator_is_refused_with_a_guess(run, saved):
    outcome = run("profile", "show", saved(word_count()), "--operator", "conter")
    assert outcome.code == 2
    assert "did you mean 'counter'?" in outcome.err
    assert "profile.json" in outcome.err


def test_a_wrong_profile_is_refused_with_file_and_line(run, saved):
    path = saved(word_count())
    lines = path.read_text().splitlines()
    line = next(index for index, text in enumerate(lines) if '"backpressure_minutes"' in text)
    lines[line] = '"backpressure_minutes": -1,'
    path.write_text("\n".join(lines))
    outcome = run("profile", "show", path, "--json")
    assert outcome.code == 2
    assert f"profile.json:{line + 1}: profile.backpressure_minutes: -1" in outcome.err
    assert json.loads(outcome.out)["error"]["code"] == "invalid-input"


def test_a_job_without_figures_is_no_profile(run, job):
    outcome = run("profile", "show", job)
    assert outcome.code == 2
    assert "no section 'profile'" in outcome.err


def test_ackers_can_be_looked_at_where_they_were_measured(run, saved):
    acked = replace(topology(), acked=True)
    seen = TaskProfile(
        inputs={SENTENCES._replace(name="__ack_init"): InputFigures(per_second=figure(2000.0))}
    )
    profile = Profile(
        topology=acked, configuration=Configuration(), tasks={TaskId("__acker", 0): seen}
    )
    path = saved(profile)
    assert "__acker: 1 of 1 tasks seen" in run("profile", "show", path, "--operator", "__acker").out
    assert row(run("profile", "show", path).out, "__acker", "Operators") == "__acker 1 2,000"


@given(profiles())
@settings(max_examples=25)
def test_any_profile_can_be_shown(profile: Profile):
    """Even one whose names and numbers are odd, and most of which is missing."""
    assessments = assess_profile(profile)
    print_profile(profile, assessments)
    for operator in profile.topology.operator_names:
        print_operator(profile, operator, assessments)


def test_long_names_give_way_to_numbers(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    print_figures("t", ("operator", "in /s"), [("x" * 80 + "end", "1,234,567")])
    out = capsys.readouterr().out
    assert "1,234,567" in out
    assert "…" in out
    assert max(len(line.rstrip()) for line in out.splitlines()) <= 60


@pytest.mark.parametrize(
    ("name", "width", "shown"),
    [("splitter", 8, "splitter"), ("splitter", 5, "sp…er"), ("splitter", 6, "spl…er")],
)
def test_a_name_is_cut_in_its_middle(name, width, shown):
    assert clipped(name, width) == shown


def test_columns_that_hold_nothing_are_left_out(capsys):
    print_figures("t", ("operator", "known", "unknown"), [("a", "1", "–"), ("b", "2", "–")])
    assert "unknown" not in capsys.readouterr().out


def test_a_table_without_rows_is_no_table(capsys):
    print_figures("t", ("operator",), [])
    assert capsys.readouterr().out == ""


def test_no_number_is_longer_than_a_dozen_characters():
    assert all(len(short_number(10.0**power)) <= 12 for power in range(-9, 300, 3))
